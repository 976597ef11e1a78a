// When a controller works: in passes, one at a time. Whoever asks while one runs gets another one after it, because what
// they know of may have come too late for the first.
import type { Status } from "../api/status.ts";
import type { LogView } from "../cache/view/view.ts";

/** Told what went wrong: a refusal, or an error of ours. The controller tries again. */
export type Report = (message: string, cause: Status | unknown) => void;

/** The passes of one controller. */
export class Reconciler {
  readonly #pass: () => Promise<void>;
  readonly #failed: (error: unknown) => void;
  readonly #unfollow: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** When the timer goes off; performance.now(). */
  #dueMs = Number.POSITIVE_INFINITY;
  #asked = false;
  #running = false;
  #stopped = false;

  /** `failed` hears of a pass that threw; the next one that is asked for starts as if nothing had been. */
  constructor(pass: () => Promise<void>, failed: (error: unknown) => void) {
    this.#pass = pass;
    this.#failed = failed;
  }

  /** No pass starts any more; one that runs had better look here now and then. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Asks for a pass now and whenever there is news of these logs. */
  follow(views: readonly LogView[]): void {
    for (const view of views) this.#unfollow.push(view.onNews(() => void this.ask()));
    void this.ask();
  }

  /** Asks for a pass now. Resolves when nobody asks for another one, at once for all but the first who asked. */
  async ask(): Promise<void> {
    this.#asked = true;
    if (this.#running) return;
    this.#running = true;
    try {
      while (this.#asked && !this.#stopped) {
        this.#asked = false;
        this.#forget();
        await this.#pass();
      }
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#running = false;
    }
  }

  /** Asks for one in `ms`, unless there is one before. A process does not stay alive for it. */
  askIn(ms: number): void {
    const dueMs = performance.now() + ms;
    if (this.#stopped || dueMs >= this.#dueMs) return;
    this.#forget();
    this.#dueMs = dueMs;
    this.#timer = setTimeout(() => {
      this.#forget();
      void this.ask();
    }, ms);
    this.#timer.unref();
  }

  /** Ends it: nothing starts after this. */
  stop(): void {
    this.#stopped = true;
    this.#forget();
    for (const unfollow of this.#unfollow.splice(0)) unfollow();
  }

  #forget(): void {
    clearTimeout(this.#timer);
    this.#dueMs = Number.POSITIVE_INFINITY;
  }
}
