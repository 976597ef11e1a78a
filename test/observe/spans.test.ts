// Spans of requests: who is believed to ask, which requests are sampled, and that nothing piles up.
import t from "tap";
import type { RequestRecord } from "../../src/observe/requests.ts";
import { endRequest } from "../../src/observe/requestspan.ts";
import { readTraceParent, type SpanRecord, Tracer } from "../../src/observe/spans.ts";
import { StageTrace } from "../../src/observe/trace.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";

const record = { method: "GET", path: "/api/v1/pods", code: 200, agent: "kubectl", user: "bob", verb: "LIST" };

function tracerOf(ratio: number, spansMax = 100, random = () => 0.5): { tracer: Tracer; sent: SpanRecord[][] } {
  const sent: SpanRecord[][] = [];
  let ms = 1_000;
  const clock = { now: () => ms + 5_000, monotonic: () => ms++ };
  const send = (spans: readonly SpanRecord[]): void => void sent.push([...spans]);
  return { tracer: new Tracer({ ratio, thread: "front-0", clock, send, spansMax, random }), sent };
}

t.test("readTraceParent() takes what W3C Trace Context allows, and nothing else", (t) => {
  const good = `00-${traceId}-${spanId}-01`;
  t.same(readTraceParent(good), { traceId, spanId });
  t.same(readTraceParent(`01-${traceId}-${spanId}-00-more`), { traceId, spanId }, "of a later version");
  for (const bad of [
    undefined,
    "",
    `00-${traceId}-${spanId}`,
    `${good}-more`,
    `ff-${traceId}-${spanId}-01`,
    good.toUpperCase(),
    `00-${"0".repeat(32)}-${spanId}-01`,
    `00-${traceId}-${"0".repeat(16)}-01`,
    `01-${traceId}-${spanId}-01-${"x".repeat(10_000)}`,
  ])
    t.equal(readTraceParent(bad), undefined, bad?.slice(0, 80) ?? "none");
  t.end();
});

t.test("Tracer.begin() samples by its ratio, whatever the client's trace says", (t) => {
  const header = `00-${traceId}-${spanId}-01`;
  t.equal(tracerOf(0, 100, () => 0).tracer.begin(header), undefined, "a client that is sampled itself does not decide");
  t.equal(tracerOf(0.4).tracer.begin(header), undefined);
  t.ok(tracerOf(0.6).tracer.begin(undefined));
  t.ok(tracerOf(1, 100, () => 0.999_999).tracer.begin(undefined));
  t.end();
});

t.test("a request is one span with a child for each stage and each question to others", (t) => {
  const { tracer, sent } = tracerOf(1);
  const spans = tracer.begin(`00-${traceId}-${spanId}-00`);
  if (spans === undefined) throw new Error("It is not sampled");
  let ms = 1_010;
  const trace = new StageTrace(() => ms++, 1_000, false, spans);
  trace.done("resolve");
  trace.hidden.spans?.stage("authenticate", 1_010, 1_012);
  const asked = spans.begin("webhook w");
  asked.end([["http.status_code", 500]], true);
  asked.end();
  endRequest(spans, { ...record, code: 503 } as RequestRecord);
  endRequest(spans, record as RequestRecord);
  tracer.close();
  const [[root, ...children] = []] = sent;
  t.match(root, { name: "KubernetesAPI", kind: 2, parentId: "", isError: true, link: { traceId, spanId } });
  t.not(root?.traceId, traceId, "a trace of its own");
  t.ok((root?.startMs ?? 0) > 5_000, "on the wall clock");
  const attributes = new Map(root?.attributes);
  t.equal(attributes.get("http.target"), "/api/v1/pods");
  t.equal(attributes.get("http.status_code"), 503);
  t.equal(attributes.get("thread.name"), "front-0");
  t.same(
    children.map(({ name, parentId, traceId: of }) => [name, parentId === root?.spanId, of === root?.traceId]),
    [
      ["resolve", true, true],
      ["authenticate", true, true],
      ["webhook w", true, true],
    ],
  );
  t.match(children[2], { kind: 3, isError: true, attributes: [["http.status_code", 500]] });
  t.equal(asked.traceparent, `00-${root?.traceId}-${children[2]?.spanId}-01`);
  t.end();
});

t.test("Tracer keeps so many spans until the ones before are taken, and drops and counts the rest", (t) => {
  const { tracer, sent } = tracerOf(1, 600);
  const one = (): void => {
    const spans = tracer.begin(undefined);
    for (let at = 0; at < 200; at++) spans?.stage("s", 0, 1);
    if (spans !== undefined) endRequest(spans, record as RequestRecord);
  };
  for (let at = 0; at < 4; at++) one();
  t.same(
    sent.map(({ length }) => length),
    [512],
    "128 of each request and its own, 512 at once",
  );
  for (let at = 0; at < 10; at++) one();
  t.equal(sent.length, 1, "none before they are taken");
  t.equal(tracer.counts.dropped, 14 * 129 - 512 - 600);
  tracer.taken();
  tracer.close();
  t.equal(sent.flat().length, 512 + 600);
  t.equal(tracer.counts.sent, 512 + 600);
  t.end();
});
