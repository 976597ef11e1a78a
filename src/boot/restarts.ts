// When a thread that crashed is started again: at once the first time, then after pauses that double, so that a thread
// that crashes at its start does not keep a core busy. One that ran well for a while begins anew.
import { limits } from "../config/limits.ts";

/** The crashes of one thread in a row. */
interface Streak {
  crashes: number;
  /** When it was started last, milliseconds of the monotonic clock. */
  startedMs: number;
}

/** Pauses before restarts, by the name of the thread. */
export class Restarts {
  readonly #streaks = new Map<string, Streak>();

  /** A thread is being started at `nowMs`. */
  started(name: string, nowMs: number): void {
    const streak = this.#streaks.get(name);
    if (streak === undefined) this.#streaks.set(name, { crashes: 0, startedMs: nowMs });
    else streak.startedMs = nowMs;
  }

  /** It crashed at `nowMs`: so many milliseconds must pass before it is started again. */
  pauseMs(name: string, nowMs: number): number {
    const streak = this.#streaks.get(name) ?? { crashes: 0, startedMs: nowMs };
    this.#streaks.set(name, streak);
    if (nowMs - streak.startedMs >= limits.frontSteadyMs) streak.crashes = 0;
    const pause = streak.crashes === 0 ? 0 : limits.frontPauseMsMin * 2 ** Math.min(streak.crashes - 1, 30);
    streak.crashes += 1;
    return Math.min(pause, limits.frontPauseMsMax);
  }

  /** Whether the thread has crashed so often in a row that its pauses grow no more. */
  isHopeless(name: string): boolean {
    const crashes = this.#streaks.get(name)?.crashes ?? 0;
    return limits.frontPauseMsMin * 2 ** Math.max(0, crashes - 2) >= limits.frontPauseMsMax;
  }
}
