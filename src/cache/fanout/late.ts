// Watchers that are not in step with their log, for people to see: which, whose, how far behind and for how long.
import type { LogView } from "../view/view.ts";
import { type Watcher, watcherStates } from "./watcher.ts";

/** A watcher that is not in step. */
export interface LateWatcher {
  readonly user: string;
  /** Of its log. */
  readonly prefix: string;
  readonly state: "initial" | "waiting" | "lagging" | "blocked";
  /** Entries of its log it has not looked at. */
  readonly behind: number;
  /** Since when its sink takes nothing, milliseconds; 0: it does. */
  readonly blockedMs: number;
}

/** A log, as far as its late watchers are looked at. */
export interface LateLog {
  readonly view: LogView;
  behind(): readonly Watcher[];
}

/** Watchers that are looked at: when more are late, these say enough. */
const looksMax = 10_000;

/** The latest watchers of `logs`, at most `max`, worst first. Those in step cost nothing. */
export function lateWatchers(logs: Iterable<LateLog>, nowMs: number, max: number): readonly LateWatcher[] {
  const late: LateWatcher[] = [];
  let looks = looksMax;
  for (const log of logs) {
    for (const watcher of log.behind()) {
      if (looks-- === 0) return keepWorst(late, max);
      late.push(lateWatcher(watcher, log.view, nowMs));
      // Kept short on the way: all watchers of a front may be late at once.
      if (late.length >= 4 * max) keepWorst(late, max);
    }
  }
  return keepWorst(late, max);
}

function keepWorst(late: LateWatcher[], max: number): LateWatcher[] {
  late.sort((a, b) => b.blockedMs - a.blockedMs || b.behind - a.behind);
  late.splice(max);
  return late;
}

function lateWatcher(watcher: Watcher, { prefix, head }: LogView, nowMs: number): LateWatcher {
  const { user, state, blocked, position, blockedAt } = watcher;
  const isSynced = state === watcherStates.synced;
  const name = blocked ? "blocked" : state === watcherStates.initial ? "initial" : "lagging";
  return {
    user,
    prefix,
    state: state === watcherStates.waiting ? "waiting" : name,
    behind: isSynced || state === watcherStates.waiting ? 0 : Math.max(0, head - position),
    blockedMs: blocked ? Math.max(0, nowMs - blockedAt) : 0,
  };
}
