// When what a service leads to began to change: the earliest of the changes since the last look, for the annotation that
// tells network proxies how long it took until they heard of it (upstream: trigger_time_tracker.go).
import { formatTime, parseTime } from "../../api/time.ts";
import type { Backend } from "./backends.ts";

/** What was known of one service at the last look. */
export class TriggerTimes {
  /** When each pod became ready or not ready, by name, in milliseconds since 1970. */
  #pods: ReadonlyMap<string, number> | undefined;
  #serviceMs = 0;

  /** The text of the annotation, or undefined where nothing that has a time changed. */
  next(created: string | undefined, backends: readonly Backend[]): string | undefined {
    const before = this.#pods;
    const pods = new Map<string, number>();
    const createdMs = (created === undefined ? undefined : parseTime(created)) ?? 0;
    let earliestMs = createdMs > this.#serviceMs ? createdMs : Number.POSITIVE_INFINITY;
    for (const { name, changedMs } of backends) {
      if (changedMs === 0) continue;
      pods.set(name, changedMs);
      if (changedMs > (before?.get(name) ?? 0)) earliestMs = Math.min(earliestMs, changedMs);
    }
    this.#pods = pods;
    this.#serviceMs = createdMs;
    // The first look at a service tells nothing of when its pods changed.
    if (before === undefined) return created;
    return earliestMs === Number.POSITIVE_INFINITY ? undefined : formatTime(earliestMs);
  }
}
