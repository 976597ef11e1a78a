// A question whose answer many wait for at the same time. Those who ask share the next one that is sent, never one that
// was sent before they asked: its answer may be older than what they have to see.
import { type SharedAnswer, type TraceSpans, waiting } from "../observe/spans.ts";

/** The question that is sent next; its trace is that of the first request that asked. */
interface Next<T> extends SharedAnswer<T> {
  readonly start: () => void;
}

/**
 * Asks with `send`, for all that asked since it was called last; at most `max` questions are without an answer. `send` is
 * given the trace of the first of them, and the others of those that are sampled show that they waited.
 */
export class SharedQuestion<T> {
  readonly #send: (spans: TraceSpans | undefined) => Promise<T>;
  readonly #max: number;
  readonly #soon: (work: () => void) => void;
  /** For those who ask now, and what sends it; undefined: none waits to be sent. */
  #next: Next<T> | undefined;
  #sent = 0;

  /** `soon` calls what it is given in this turn or the next: until then others share the question. */
  constructor(send: (spans: TraceSpans | undefined) => Promise<T>, max: number, soon: (work: () => void) => void) {
    this.#send = send;
    this.#max = max;
    this.#soon = soon;
  }

  /** Resolves or rejects as `send` does when it is called the next time. */
  ask(spans?: TraceSpans): Promise<T> {
    const asked = this.#next;
    if (asked !== undefined) return waiting(spans, "wait for the newest revision", asked);
    let start = (): void => undefined;
    const answer = new Promise<void>((resolve) => {
      start = resolve;
    }).then(() => this.#ask(spans));
    // Those who asked may have given up by then.
    answer.catch(() => undefined);
    this.#next = { answer, start, spans };
    this.#soon(() => this.#tryNext());
    return answer;
  }

  async #ask(spans: TraceSpans | undefined): Promise<T> {
    try {
      return await this.#send(spans);
    } finally {
      this.#sent--;
      this.#tryNext();
    }
  }

  #tryNext(): void {
    const next = this.#next;
    if (next === undefined || this.#sent === this.#max) return;
    this.#next = undefined;
    this.#sent++;
    next.start();
  }
}
