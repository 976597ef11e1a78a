// The end of a run before its time: a signal, or a process of the load that died. What was measured until then is kept,
// and told as not finished.

/** Signals that end a run. */
export const endSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** A terminal sends SIGINT to all processes of a command, and those that forward signals send it once more. */
const repeatMs = 1000;

/** Exit code of a run that was ended. */
export const unfinishedCode = 2;

/** Listens for signals: the first one aborts, another one ends the process at once. */
export class Interruption {
  readonly #controller = new AbortController();
  readonly #take: (signal: NodeJS.Signals) => void;

  constructor() {
    let firstAt = 0;
    this.#take = (signal) => {
      if (firstAt === 0) {
        firstAt = performance.now();
        this.#controller.abort(new Error(`ended by ${signal}`));
      } else if (performance.now() - firstAt > repeatMs) process.exit(unfinishedCode);
    };
    for (const signal of endSignals) process.on(signal, this.#take);
  }

  /** Its reason is an Error that names the signal. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Signals have their usual effect again. */
  end(): void {
    for (const signal of endSignals) process.off(signal, this.#take);
  }
}

/** Rejects when a signal is aborted or `failed` rejects, else with what the work comes to. */
export async function unlessHalted<T>(signal: AbortSignal, failed: Promise<never>, work: Promise<T>): Promise<T> {
  let halt: (() => void) | undefined;
  const halted = new Promise<never>((_, reject) => {
    halt = () => reject(signal.reason as Error);
    if (signal.aborted) halt();
    else signal.addEventListener("abort", halt, { once: true });
  });
  try {
    return await Promise.race([work, failed, halted]);
  } finally {
    if (halt !== undefined) signal.removeEventListener("abort", halt);
  }
}
