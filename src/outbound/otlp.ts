// Spans on their way to an OpenTelemetry collector: OTLP over gRPC, without TLS, as upstream exports them. One request is
// under way at a time; one that the collector was not there for is sent again, later each time, while what waits behind
// it is bounded: who has more is told to keep it.
import { Client, credentials, type ServiceError, status } from "@grpc/grpc-js";
import protobuf from "protobufjs/minimal.js";
import { askUnary } from "../base/grpc.ts";
import { within } from "../base/within.ts";
import { limits } from "../config/limits.ts";
import type { SpanAttribute, SpanRecord } from "../observe/spans.ts";

const { Writer } = protobuf;
type Writes = protobuf.Writer;

const method = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/** Codes after which the same request may succeed (OTLP's specification). */
const passing: ReadonlySet<number> = new Set([
  ...[status.CANCELLED, status.DEADLINE_EXCEEDED, status.ABORTED, status.OUT_OF_RANGE, status.UNAVAILABLE],
  ...[status.DATA_LOSS, status.RESOURCE_EXHAUSTED],
]);

/** What an exporter needs. */
export interface ExporterOptions {
  /** A name gRPC resolves: `host:port`, `dns:…`, `unix:…`. */
  readonly endpoint: string;
  /** Of the server that spans are of. */
  readonly resource: readonly SpanAttribute[];
  /** Told why spans could not be exported, at most once a minute. */
  readonly failed: (why: string) => void;
  /** The first pause after a failure, milliseconds. */
  readonly pauseMs?: number;
}

/** Exports the spans of all threads. */
export class SpanExporter {
  /** Spans a collector took, and those it refused. */
  readonly counts = { exported: 0, refused: 0 };
  readonly #client: Client;
  readonly #options: ExporterOptions;
  #batches: (readonly SpanRecord[])[] = [];
  #waiting = 0;
  /** Threads whose batch is not taken yet. */
  #askers: (() => void)[] = [];
  #running: Promise<void> | undefined;
  #isClosed = false;
  #wake: (() => void) | undefined;
  #saidMs = Number.NEGATIVE_INFINITY;

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#client = new Client(options.endpoint, credentials.createInsecure());
  }

  /** Takes a batch; resolves when there is room for another. */
  take(spans: readonly SpanRecord[]): Promise<void> {
    if (this.#isClosed || spans.length === 0) return Promise.resolve();
    this.#batches.push(spans);
    this.#waiting += spans.length;
    this.#running ??= this.#run();
    if (this.#waiting < limits.spansWaitingMax) return Promise.resolve();
    return new Promise((resolve) => this.#askers.push(resolve));
  }

  async #run(): Promise<void> {
    for (let batch = this.#batches.shift(); batch !== undefined; batch = this.#batches.shift()) {
      await this.#export(batch);
      this.#waiting -= batch.length;
      if (this.#waiting >= limits.spansWaitingMax) continue;
      for (const resolve of this.#askers.splice(0)) resolve();
    }
    this.#running = undefined;
  }

  async #export(batch: readonly SpanRecord[]): Promise<void> {
    const request = encodeSpans(this.#options.resource, batch);
    for (let pauseMs = this.#options.pauseMs ?? 1_000; ; pauseMs = Math.min(2 * pauseMs, limits.spansPauseMsMax)) {
      const failure = await this.#ask(request);
      if (failure === undefined) {
        this.counts.exported += batch.length;
        return;
      }
      this.#tell(`${status[failure.code] ?? failure.code}: ${failure.details}`);
      if (!passing.has(failure.code) || this.#isClosed) {
        this.counts.refused += batch.length;
        return;
      }
      await this.#pause(pauseMs);
    }
  }

  #ask(request: Buffer): Promise<ServiceError | undefined> {
    const asked = askUnary(this.#client, method, request, limits.spansExportMsMax);
    return asked.then(
      () => undefined,
      (error: ServiceError) => error,
    );
  }

  /** Waits, or until the exporter is closed. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      timer.unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #tell(why: string): void {
    const nowMs = performance.now();
    if (nowMs - this.#saidMs < limits.spansFailureSaidMs) return;
    this.#saidMs = nowMs;
    this.#options.failed(why.slice(0, 300).replaceAll(/\s/g, " "));
  }

  /** Exports what waits, for a short time, and ends. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wake?.();
    await within(this.#running ?? Promise.resolve(), limits.spansEndMsMax);
    this.#client.close();
  }
}

/** An ExportTraceServiceRequest; field numbers are those of OTLP's proto files. */
export function encodeSpans(resource: readonly SpanAttribute[], spans: readonly SpanRecord[]): Buffer {
  const writer = Writer.create();
  // resource_spans
  writer.uint32(10).fork();
  // resource
  writer.uint32(10).fork();
  for (const attribute of resource) writeAttribute(writer, 1, attribute);
  writer.ldelim();
  // scope_spans, and its scope
  writer.uint32(18).fork();
  writer.uint32(10).fork().uint32(10).string("orch").ldelim();
  for (const span of spans) writeSpan(writer, span);
  writer.ldelim().ldelim();
  return Buffer.from(writer.finish());
}

function writeSpan(writer: Writes, span: SpanRecord): void {
  writer.uint32(18).fork();
  writer.uint32(10).bytes(Buffer.from(span.traceId, "hex"));
  writer.uint32(18).bytes(Buffer.from(span.spanId, "hex"));
  if (span.parentId !== "") writer.uint32(34).bytes(Buffer.from(span.parentId, "hex"));
  writer.uint32(42).string(span.name);
  writer.uint32(48).int32(span.kind);
  writer.uint32(57).fixed64(nanoseconds(span.startMs));
  writer.uint32(65).fixed64(nanoseconds(Math.max(span.startMs, span.endMs)));
  for (const attribute of span.attributes) writeAttribute(writer, 9, attribute);
  if (span.link !== undefined) {
    writer.uint32(106).fork();
    writer.uint32(10).bytes(Buffer.from(span.link.traceId, "hex"));
    writer.uint32(18).bytes(Buffer.from(span.link.spanId, "hex"));
    writer.ldelim();
  }
  // status: an error
  if (span.isError) writer.uint32(122).fork().uint32(24).int32(2).ldelim();
  writer.ldelim();
}

/** To the microsecond: a number holds no more of the present. */
function nanoseconds(ms: number): number {
  return Math.round(ms * 1000) * 1000;
}

function writeAttribute(writer: Writes, field: number, [name, value]: SpanAttribute): void {
  writer.uint32(8 * field + 2).fork();
  writer.uint32(10).string(name);
  writer.uint32(18).fork();
  if (typeof value === "string") writer.uint32(10).string(value);
  else writer.uint32(24).int64(value);
  writer.ldelim().ldelim();
}
