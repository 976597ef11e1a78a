// What the watchers of a log use of the front they are on.
import type { Gather } from "./gather.ts";
import type { Watcher } from "./watcher.ts";

/** Services of the front that the watchers of a log use. */
export interface Surroundings {
  /** Scratch of the thread: used within one call. */
  readonly gather: Gather;
  /** Runs a log's pass in a later turn of the loop, when it has time for it; asked again when it has run only. */
  readonly defer: (pass: () => void) => void;
  /** Milliseconds of the monotonic clock. */
  readonly now: () => number;
  /** A watcher is no more. */
  readonly ended: (watcher: Watcher) => void;
  /** Events could not be written as watchers want them: a fault of ours, to be logged and counted. */
  readonly failed: (error: unknown) => void;
  /** Milliseconds a pass may take in this turn of the loop, of a log whose synced watchers have been behind for so long. */
  readonly sliceMs: (behindMs: number) => number;
  /** Told how many milliseconds a pass took. */
  readonly spent: (ms: number) => void;
  /** Watchers written to, pages of 4 KiB, or four records looked at or groups found, between two looks at the clock. */
  readonly writesPerLook: number;
}
