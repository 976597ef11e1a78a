// Where the time of one request went, for `?trace=1` and for the console's slow requests: each stage says when it is done,
// and the time since the last one is its. What is no request of a client carries a trace that does nothing, so that a
// stage need not check.

import type { TraceSpans } from "./spans.ts";

/** The stages of a request, in the order most requests pass them. */
export type Stage =
  | "resolve"
  | "authenticate"
  | "queue"
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
  /** The times so far, to be shown to the client; undefined when it did not ask. */
  readonly timing: Timing | undefined;
  /** The times so far, for the server's own eyes; undefined when not traced. */
  readonly stages: Timing | undefined;
  /** The spans of a request that is sampled; undefined: it is not. */
  readonly spans: TraceSpans | undefined;
}

/** Stages that are kept apart, each as often as it is done. */
const stagesOfTry = 16;

/** The trace of requests that are not traced. */
export const noTrace: Trace = { done: () => undefined, timing: undefined, stages: undefined, spans: undefined };

/** Takes the time of one request's stages. */
export class StageTrace implements Trace {
  readonly #now: () => number;
  readonly #startMs: number;
  /** Stages in the order they were done, and the time of each beside it; those of a try after others are added up. */
  readonly #stages: Stage[] = [];
  readonly #times: number[] = [];
  readonly #isShown: boolean;
  readonly spans: TraceSpans | undefined;
  #lastMs: number;

  /**
   * `now` is a monotonic clock in milliseconds; `startMs` its value when the request began. `isShown`: the client asked
   * for the times. `spans`: those of the request, each stage is one.
   */
  constructor(now: () => number, startMs: number, isShown = true, spans?: TraceSpans) {
    this.spans = spans;
    this.#isShown = isShown;
    this.#now = now;
    this.#startMs = startMs;
    this.#lastMs = startMs;
  }

  done(stage: Stage): void {
    const nowMs = this.#now();
    this.spans?.stage(stage, this.#lastMs, nowMs);
    // A try has fewer, and a search costs more than the rest of this.
    const at = this.#stages.length < stagesOfTry ? -1 : this.#stages.lastIndexOf(stage);
    if (at === -1) {
      this.#stages.push(stage);
      this.#times.push(nowMs - this.#lastMs);
    } else this.#times[at] = (this.#times[at] ?? 0) + nowMs - this.#lastMs;
    this.#lastMs = nowMs;
  }

  get timing(): Timing | undefined {
    return this.#isShown ? this.stages : undefined;
  }

  /** By stage, and the `total` from the beginning to now. */
  get stages(): Timing {
    const times = new Map<string, number>();
    this.#stages.forEach((stage, at) => times.set(stage, (times.get(stage) ?? 0) + (this.#times[at] ?? 0)));
    return Object.fromEntries([...times, ["total", this.#now() - this.#startMs]]);
  }

  /** The same trace, of which the client is shown nothing. */
  get hidden(): Trace {
    return new HiddenTrace(this);
  }
}

/** A trace that is not shown to the client. */
class HiddenTrace implements Trace {
  readonly timing = undefined;
  readonly #trace: StageTrace;

  constructor(trace: StageTrace) {
    this.#trace = trace;
  }

  done(stage: Stage): void {
    this.#trace.done(stage);
  }

  get stages(): Timing {
    return this.#trace.stages;
  }

  get spans(): TraceSpans | undefined {
    return this.#trace.spans;
  }
}

/** The value of a Server-Timing header: durations in milliseconds, to the microsecond. Source: W3C Server Timing. */
export function serverTiming(timing: Timing): string {
  return Object.entries(timing)
    .map(([stage, ms]) => `${stage};dur=${ms.toFixed(3)}`)
    .join(", ");
}
