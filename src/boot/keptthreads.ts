// Threads of one kind that are started again when they crash, after pauses that grow (restarts.ts); others go on
// meanwhile. What a crash means besides is the caller's.
import { Restarts } from "./restarts.ts";
import { Thread, type ThreadKind } from "./thread.ts";

/** A crash of a kept thread. */
export interface KeptCrash {
  readonly name: string;
  readonly text: string;
  /** It had been open; otherwise it could not be started again. */
  readonly wasOpen: boolean;
  /** It is started again after so many milliseconds. */
  readonly pauseMs: number;
  /** It crashed so often in a row that its pauses grow no more. */
  readonly isHopeless: boolean;
}

/** Makes the kind of a thread anew for each start: ports are used once. */
export type KindOf<Own extends { readonly kind: string }> = (name: string) => Omit<ThreadKind<Own>, "ended">;

/** Kept threads, by name. */
export class KeptThreads<To, Own extends { readonly kind: string }> {
  readonly #kindOf: KindOf<Own>;
  readonly #crashed: (crash: KeptCrash) => boolean;
  readonly #threads = new Map<string, Thread<To, Own>>();
  readonly #restarts = new Restarts();
  readonly #timers = new Set<NodeJS.Timeout>();
  #isStopped = false;

  /** `crashed` hears of each crash before the pause, and says whether the thread is started again. */
  constructor(kindOf: KindOf<Own>, crashed: (crash: KeptCrash) => boolean) {
    this.#kindOf = kindOf;
    this.#crashed = crashed;
  }

  /** Those that were started and have not ended. */
  get all(): readonly Thread<To, Own>[] {
    return [...this.#threads.values()];
  }

  /** The one of a name; undefined: it has ended. */
  get(name: string): Thread<To, Own> | undefined {
    return this.#threads.get(name);
  }

  /** Starts one. Rejects when it cannot be opened, and then it is not kept. */
  async start(name: string): Promise<void> {
    this.#restarts.started(name, performance.now());
    const thread = new Thread<To, Own>({
      ...this.#kindOf(name),
      ended: (crash) => this.#ended(name, crash?.text ?? "its thread ended", true),
    });
    this.#threads.set(name, thread);
    await thread.opened;
  }

  #ended(name: string, text: string, wasOpen: boolean): void {
    if (this.#isStopped) return;
    this.#threads.delete(name);
    const pauseMs = this.#restarts.pauseMs(name, performance.now());
    if (!this.#crashed({ name, text, wasOpen, pauseMs, isHopeless: this.#restarts.isHopeless(name) })) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (this.#isStopped) return;
      this.start(name).catch((error: Error) => this.#ended(name, error.message, false));
    }, pauseMs);
    this.#timers.add(timer);
  }

  /** From here on no crash leads to a new thread. */
  stopStarting(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
