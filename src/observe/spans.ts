// Spans, as OpenTelemetry has them: one for each request or pass of a controller that is sampled, with children for its
// stages and for what it asks of others, on this thread or on another one. A thread gathers spans of what is over and hands
// them to the main thread, which exports them; nothing waits for that, and what there is no room for is dropped and counted.
import { randomFillSync } from "node:crypto";

/** Kinds of spans, by OpenTelemetry's numbers. */
export const spanKinds = { internal: 1, server: 2, client: 3 } as const;

/** Something known of a span. */
export type SpanAttribute = readonly [name: string, value: string | number];

/** A span that is over: plain data, to be copied between threads. */
export interface SpanRecord {
  /** 32 and 16 hex digits. */
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: it has none. */
  readonly parentId: string;
  readonly name: string;
  readonly kind: (typeof spanKinds)[keyof typeof spanKinds];
  /** Wall clock, milliseconds with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: readonly SpanAttribute[];
  readonly isError: boolean;
  /** A span of another trace that this one has to do with: the client's own, or that of a question it waited for. */
  readonly link?: TraceParent | undefined;
}

/** A span, as the header `traceparent` names it (W3C Trace Context). */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
}

/** Spans one trace may have on a thread, and changes and questions of it that may have spans on the store thread. */
const spansPerTraceMax = 128;
/** How long spans wait for others to be sent along, milliseconds. */
const gatherMs = 1000;
/** Spans that are sent at once. */
const batchSpans = 512;

const traceParent = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/** Reads a `traceparent`; undefined: there is none, or none that may be used. */
export function readTraceParent(header: string | undefined): TraceParent | undefined {
  if (header === undefined || header.length > 512) return undefined;
  const [, version, traceId = "", spanId = "", more] = traceParent.exec(header) ?? [];
  if (version === undefined || (version === "00" && more !== undefined)) return undefined;
  return /^0+$/.test(traceId) || /^0+$/.test(spanId) ? undefined : { traceId, spanId };
}

const pool = new Uint8Array(4096);
let poolAt = pool.length;

/** Random hex digits of so many bytes; randomness is drawn for many at a time. */
function randomHex(bytes: number): string {
  if (poolAt + bytes > pool.length) {
    randomFillSync(pool);
    poolAt = 0;
  }
  const text = Buffer.from(pool.buffer, poolAt, bytes).toString("hex");
  poolAt += bytes;
  // All zeros mean no id.
  return /^0+$/.test(text) ? randomHex(bytes) : text;
}

/** What a tracer needs. */
export interface TracerOptions {
  /** Part of the requests or passes that are sampled, 0 to 1. */
  readonly ratio: number;
  /** Of each span. */
  readonly thread: string;
  readonly clock: { readonly now: () => number; readonly monotonic: () => number };
  /** Sends spans to who exports them, who says taken() when it takes more. */
  readonly send: (spans: readonly SpanRecord[]) => void;
  /** Spans that may wait. */
  readonly spansMax: number;
  readonly random?: () => number;
}

/** The spans of one thread. */
export class Tracer {
  /** Spans that were handed on, and those there was no room for. */
  readonly counts = { sent: 0, dropped: 0 };
  readonly #options: TracerOptions;
  readonly #random: () => number;
  #waiting: SpanRecord[] = [];
  /** A batch was sent and is not taken yet. */
  #isSending = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: TracerOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
  }

  /**
   * Begins a trace, if it is sampled. The client's own trace, which `header` names, is linked to and decides nothing:
   * whoever reaches the server could have everything traced (upstream: a public endpoint).
   */
  begin(header?: string): TraceSpans | undefined {
    const { ratio } = this.#options;
    if (ratio < 1 && this.#random() >= ratio) return undefined;
    const own = { traceId: randomHex(16), spanId: randomHex(8) };
    return new TraceSpans(this.#options, own, this.#report, { link: readTraceParent(header) });
  }

  /** Goes on with a trace of another thread, within a span of it. */
  within(parent: TraceParent): TraceSpans {
    return new TraceSpans(this.#options, parent, this.#report, { isElsewhere: true });
  }

  readonly #report = (spans: readonly SpanRecord[]): void => this.#take(spans);

  #take(spans: readonly SpanRecord[]): void {
    const room = Math.max(0, this.#options.spansMax - this.#waiting.length);
    this.counts.dropped += Math.max(0, spans.length - room);
    for (const span of spans.slice(0, room)) this.#waiting.push(span);
    if (this.#waiting.length >= batchSpans) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), gatherMs).unref();
  }

  /** The last batch was taken: the next one may be sent. */
  taken(): void {
    this.#isSending = false;
    if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => this.#send(), gatherMs).unref();
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isSending || this.#waiting.length === 0) return;
    const batch = this.#waiting.slice(0, batchSpans);
    this.#waiting = this.#waiting.slice(batch.length);
    this.#isSending = true;
    this.counts.sent += batch.length;
    this.#options.send(batch);
  }

  /** Sends what waits: the thread ends. */
  close(): void {
    this.#isSending = false;
    while (this.#waiting.length > 0) {
      this.#send();
      this.#isSending = false;
    }
  }
}

/** A span that is not over. */
export interface OpenSpan {
  /** Names it to the server that is asked. */
  readonly traceparent: string;
  /** For what is to be within this span. */
  spans(): TraceSpans;
  /** It is over; only the first call counts. */
  end(attributes?: readonly SpanAttribute[], isError?: boolean): void;
}

/** What a span is besides its name. */
export interface SpanAbout {
  /** Default: client. */
  readonly kind?: SpanRecord["kind"];
  readonly link?: TraceParent | undefined;
}

/** Where the spans of a trace stand. */
interface TracePlace {
  /** The client's own span. */
  readonly link?: TraceParent | undefined;
  /** The span they are within is of another thread, or has its own end: they are reported when they are over. */
  readonly isElsewhere?: boolean;
  /** Spans within one of another object of the same trace share its count. */
  readonly count?: { handedOn: number };
}

/** The spans of one trace on this thread: of a request or a pass that is sampled, or of what was asked on its behalf. */
export class TraceSpans {
  /** The span all others are within. */
  readonly own: TraceParent;
  readonly #options: Pick<TracerOptions, "clock" | "thread">;
  readonly #link: TraceParent | undefined;
  readonly #report: (spans: readonly SpanRecord[]) => void;
  /** What is added to the monotonic clock to have the wall clock, for all spans of the trace. */
  readonly #offsetMs: number;
  readonly #startMs: number;
  readonly #count: { handedOn: number };
  readonly #spans: SpanRecord[] = [];
  #isOver: boolean;

  constructor(
    options: Pick<TracerOptions, "clock" | "thread">,
    own: TraceParent,
    report: (spans: readonly SpanRecord[]) => void,
    { link, isElsewhere = false, count = { handedOn: 0 } }: TracePlace = {},
  ) {
    const { clock } = options;
    this.own = own;
    this.#options = options;
    this.#link = link;
    this.#report = report;
    this.#isOver = isElsewhere;
    this.#count = count;
    this.#startMs = clock.monotonic();
    this.#offsetMs = clock.now() - this.#startMs;
  }

  /** A stage took from one time of the monotonic clock to another. */
  stage(name: string, fromMs: number, toMs: number, attributes: readonly SpanAttribute[] = []): void {
    this.#add(this.#recordOf(name, spanKinds.internal, randomHex(8), fromMs, toMs, attributes, false));
  }

  /** Begins a span of something that another server is asked, or that is waited for. */
  begin(name: string, { kind = spanKinds.client, link }: SpanAbout = {}): OpenSpan {
    const own = { traceId: this.own.traceId, spanId: randomHex(8) };
    const { clock } = this.#options;
    const fromMs = clock.monotonic();
    const inner = (spans: readonly SpanRecord[]): void => {
      for (const span of spans) this.#add(span);
    };
    let isOver = false;
    return {
      traceparent: `00-${own.traceId}-${own.spanId}-01`,
      spans: () => new TraceSpans(this.#options, own, inner, { isElsewhere: true, count: this.#count }),
      end: (attributes = [], isError = false) => {
        if (isOver) return;
        isOver = true;
        const record = this.#recordOf(name, kind, own.spanId, fromMs, clock.monotonic(), attributes, isError);
        this.#add(link === undefined ? record : { ...record, link });
      },
    };
  }

  /** What names it to another thread, which adds spans; undefined: it has had enough of them. */
  handOn(): TraceParent | undefined {
    return this.#count.handedOn++ < spansPerTraceMax ? this.own : undefined;
  }

  #recordOf(
    name: string,
    kind: SpanRecord["kind"],
    spanId: string,
    fromMs: number,
    toMs: number,
    attributes: readonly SpanAttribute[],
    isError: boolean,
  ): SpanRecord {
    const ids = { traceId: this.own.traceId, spanId, parentId: this.own.spanId };
    const times = { startMs: fromMs + this.#offsetMs, endMs: toMs + this.#offsetMs };
    return { ...ids, name, kind, ...times, attributes, isError };
  }

  #add(span: SpanRecord): void {
    // A stream may outlast its request's record.
    if (this.#isOver) this.#report([span]);
    else if (this.#spans.length < spansPerTraceMax) this.#spans.push(span);
  }

  /** The request or the pass is over; only the first call counts. */
  end(name: string, kind: SpanRecord["kind"], attributes: readonly SpanAttribute[], isError: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { clock, thread } = this.#options;
    const all: SpanAttribute[] = [...attributes, ["thread.name", thread]];
    const root = this.#recordOf(name, kind, this.own.spanId, this.#startMs, clock.monotonic(), all, isError);
    this.#report([{ ...root, parentId: "", link: this.#link }, ...this.#spans]);
  }
}

/** An answer that others may wait for, too. */
export interface SharedAnswer<T> {
  readonly answer: Promise<T>;
  /** The trace of the request that asked; undefined: it is not sampled, or none asked. */
  readonly spans?: TraceSpans | undefined;
}

/** Waits for a shared answer; a request that is sampled shows that it did, with a link to the one that asked. */
export function waiting<T>(spans: TraceSpans | undefined, name: string, asked: SharedAnswer<T>): Promise<T> {
  if (spans === undefined) return asked.answer;
  const span = spans.begin(name, { kind: spanKinds.internal, link: asked.spans?.own });
  return asked.answer.finally(() => span.end());
}
