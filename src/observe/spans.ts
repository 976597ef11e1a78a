// Spans of requests, as OpenTelemetry has them: one of the server for each request that is sampled, with children for its
// stages and for what it asks of others. A front gathers spans of requests that are over and hands them to the main
// thread, which exports them; nothing waits for that, and what there is no room for is dropped and counted.
import { randomFillSync } from "node:crypto";
import type { RequestRecord } from "./requests.ts";

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
  /** The client's own span, which this one belongs to without being part of it. */
  readonly link?: TraceParent | undefined;
}

/** Who asks, as the header `traceparent` names it (W3C Trace Context). */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
}

/** Spans one request may have. */
const spansPerRequestMax = 128;
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
  /** Part of the requests that are sampled, 0 to 1. */
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
   * Begins the trace of a request, if it is sampled. The client's own trace, which `header` names, is linked to and
   * decides nothing: whoever reaches the server could have everything traced (upstream: a public endpoint).
   */
  begin(header: string | undefined): RequestSpans | undefined {
    const { ratio, clock, thread } = this.#options;
    if (ratio < 1 && this.#random() >= ratio) return undefined;
    return new RequestSpans(clock, thread, readTraceParent(header), (spans) => this.#take(spans));
  }

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
  /** Names it to who is asked. */
  readonly traceparent: string;
  /** It is over; only the first call counts. */
  end(attributes?: readonly SpanAttribute[], isError?: boolean): void;
}

/** The spans of one request that is sampled. */
export class RequestSpans {
  readonly #traceId = randomHex(16);
  readonly #rootId = randomHex(8);
  readonly #clock: TracerOptions["clock"];
  readonly #thread: string;
  readonly #client: TraceParent | undefined;
  readonly #report: (spans: readonly SpanRecord[]) => void;
  /** What is added to the monotonic clock to have the wall clock, for all spans of the request. */
  readonly #offsetMs: number;
  readonly #startMs: number;
  readonly #spans: SpanRecord[] = [];
  #isOver = false;

  constructor(
    clock: TracerOptions["clock"],
    thread: string,
    client: TraceParent | undefined,
    report: (spans: readonly SpanRecord[]) => void,
  ) {
    this.#clock = clock;
    this.#thread = thread;
    this.#client = client;
    this.#report = report;
    this.#startMs = clock.monotonic();
    this.#offsetMs = clock.now() - this.#startMs;
  }

  /** A stage took from one time of the monotonic clock to another. */
  stage(name: string, fromMs: number, toMs: number): void {
    this.#add(this.#recordOf(name, spanKinds.internal, randomHex(8), fromMs, toMs, [], false));
  }

  /** Begins a span of something that another server is asked. */
  begin(name: string): OpenSpan {
    const spanId = randomHex(8);
    const fromMs = this.#clock.monotonic();
    let isOver = false;
    return {
      traceparent: `00-${this.#traceId}-${spanId}-01`,
      end: (attributes = [], isError = false) => {
        if (isOver) return;
        isOver = true;
        const toMs = this.#clock.monotonic();
        this.#add(this.#recordOf(name, spanKinds.client, spanId, fromMs, toMs, attributes, isError));
      },
    };
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
    const ids = { traceId: this.#traceId, spanId, parentId: this.#rootId };
    const times = { startMs: fromMs + this.#offsetMs, endMs: toMs + this.#offsetMs };
    return { ...ids, name, kind, ...times, attributes, isError };
  }

  #add(span: SpanRecord): void {
    // A stream may outlast its request's record.
    if (this.#isOver) this.#report([span]);
    else if (this.#spans.length < spansPerRequestMax) this.#spans.push(span);
  }

  /** The request is over. */
  end(record: RequestRecord): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const endMs = this.#clock.monotonic();
    const attributes: SpanAttribute[] = [...attributesOf(record), ["thread.name", this.#thread]];
    const isError = record.code >= 500;
    // The name is upstream's.
    const root = this.#recordOf(
      "KubernetesAPI",
      spanKinds.server,
      this.#rootId,
      this.#startMs,
      endMs,
      attributes,
      isError,
    );
    this.#report([{ ...root, parentId: "", link: this.#client }, ...this.#spans]);
  }
}

/** What is said of a request: nothing of its query, headers or bodies but the client's name for itself. */
function attributesOf({ method, path, code, agent, remote, verb, group, version, resource, ...rest }: RequestRecord) {
  const { subresource, id, user } = rest;
  const all: readonly SpanAttribute[] = [
    ["http.method", method],
    ["http.target", path],
    ["http.status_code", code],
    ["http.user_agent", agent],
    ["net.peer.ip", remote],
    ["enduser.id", user],
    ["audit-id", id],
    ["k8s.verb", verb],
    ["k8s.group", group],
    ["k8s.version", version],
    ["k8s.resource", resource],
    ["k8s.subresource", subresource],
  ];
  return all.filter(([, value]) => value !== "");
}
