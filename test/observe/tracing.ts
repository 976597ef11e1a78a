// A tracer for tests, and the spans it was given.
import { type SpanRecord, Tracer } from "../../src/observe/spans.ts";

/** Spans that are over, at once. */
export function openTracing(ratio = 1, random = Math.random): { tracer: Tracer; spans: SpanRecord[]; flush(): void } {
  const spans: SpanRecord[] = [];
  const tracer: Tracer = new Tracer({
    ...{ ratio, random, thread: "front-0", spansMax: 10_000 },
    clock: { now: () => Date.now(), monotonic: () => performance.now() },
    send: (batch) => void spans.push(...batch),
  });
  return { tracer, spans, flush: () => tracer.close() };
}

/** A span as others name it. */
export function namedBy({ traceId, spanId }: Pick<SpanRecord, "traceId" | "spanId">): string {
  return `00-${traceId}-${spanId}-01`;
}
