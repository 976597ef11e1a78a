// Requests that wait until the watch has told a revision. While one does and nothing comes, the watch is made to tell how
// far it is. While the watch is not connected all wait: etcd may have been restored, and have other data at a revision that
// was told.
import { limits } from "../../config/limits.ts";

interface Waiting {
  readonly revision: number;
  readonly end: (isTold: boolean) => void;
}

/** How far the watch of one store is. */
export class Reached {
  readonly #nudge: () => void;
  /** By revision. */
  readonly #waiting: Waiting[] = [];
  #revision: number;
  #timer: NodeJS.Timeout | undefined;
  #held = false;
  #ended = false;

  /** `revision`: what was told before. `nudge`: makes the watch tell how far it is. */
  constructor(revision: number, nudge: () => void) {
    this.#revision = revision;
    this.#nudge = nudge;
  }

  /** Newest revision that was told. */
  get revision(): number {
    return this.#revision;
  }

  /** Everything up to a revision was told. */
  reach(revision: number): void {
    this.#revision = revision;
    if (!this.#held) this.#release();
  }

  /** Whether the watch is not connected: no wait ends before it is again, or before its time is over. */
  set isHeld(isHeld: boolean) {
    this.#held = isHeld;
    if (!isHeld) this.#release();
  }

  /** Resolves when a revision was told; false: it was not in time, or the store has ended. */
  wait(revision: number, timeoutMs: number): Promise<boolean> {
    // A store that failed on an older state has told more than is there.
    if (this.#ended) return Promise.resolve(false);
    if (revision <= this.#revision && !this.#held) return Promise.resolve(true);
    return new Promise((resolve) => {
      const waiting: Waiting = {
        revision,
        end: (isTold) => {
          clearTimeout(timer);
          resolve(isTold);
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        resolve(false);
      }, timeoutMs);
      // Most wait for the newest revision.
      let at = this.#waiting.length;
      while (at > 0 && (this.#waiting[at - 1] as Waiting).revision > revision) at -= 1;
      this.#waiting.splice(at, 0, waiting);
      this.#nudgeAfter(limits.etcdNudgeMs);
    });
  }

  /** Nothing more is told. */
  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    for (const { end } of this.#waiting.splice(0)) end(false);
  }

  #release(): void {
    let done = 0;
    while (done < this.#waiting.length && (this.#waiting[done] as Waiting).revision <= this.#revision) done += 1;
    if (done > 0) for (const { end } of this.#waiting.splice(0, done)) end(true);
  }

  #nudgeAfter(afterMs: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#waiting.length === 0) return;
      this.#nudge();
      this.#nudgeAfter(Math.min(2 * afterMs, limits.etcdNudgeMs * 20));
    }, afterMs);
  }
}
