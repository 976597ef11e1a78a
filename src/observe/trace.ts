// Where the time of one request went, for `?trace=1`: each stage says when it is done, and the time since the last
// one is its. An untraced request carries the one trace that does nothing, so that a stage need not check.

/** The stages of a request, in the order most requests pass them. */
export type Stage =
  | "resolve"
  | "authenticate"
  | "authorize"
  | "negotiate"
  | "body"
  | "decode"
  | "current"
  | "merge"
  | "default"
  | "managers"
  | "admit"
  | "validate"
  | "encode"
  | "commit"
  | "find"
  | "answer";

/** Milliseconds by stage. */
export type Timing = Readonly<Record<string, number>>;

/** Receives the reports of stages. */
export interface Trace {
  /** The stage is done; done again (a write that starts over), its times add up. */
  done(stage: Stage): void;
  /** The times so far; undefined when not traced. */
  readonly timing: Timing | undefined;
}

/** The trace of every untraced request. */
export const noTrace: Trace = { done: () => undefined, timing: undefined };

/** Takes the time of one request's stages. */
export class StageTrace implements Trace {
  readonly #now: () => number;
  readonly #startMs: number;
  readonly #stages = new Map<Stage, number>();
  #lastMs: number;

  /** `now` is a monotonic clock in milliseconds; `startMs` its value when the request began. */
  constructor(now: () => number, startMs: number) {
    this.#now = now;
    this.#startMs = startMs;
    this.#lastMs = startMs;
  }

  done(stage: Stage): void {
    const nowMs = this.#now();
    this.#stages.set(stage, (this.#stages.get(stage) ?? 0) + nowMs - this.#lastMs);
    this.#lastMs = nowMs;
  }

  /** By stage, and the `total` from the beginning to now. */
  get timing(): Timing {
    return Object.fromEntries([...this.#stages, ["total", this.#now() - this.#startMs]]);
  }
}

/** The value of a Server-Timing header: durations in milliseconds, to the microsecond. Source: W3C Server Timing. */
export function serverTiming(timing: Timing): string {
  return Object.entries(timing)
    .map(([stage, ms]) => `${stage};dur=${ms.toFixed(3)}`)
    .join(", ");
}
