// Spans on their way to a collector that takes them, refuses them, or is not there.
import { status } from "@grpc/grpc-js";
import t from "tap";
import { limits } from "../../src/config/limits.ts";
import type { SpanRecord } from "../../src/observe/spans.ts";
import { SpanExporter } from "../../src/outbound/otlp.ts";
import { until } from "../support/inprocess.ts";
import { openCollector } from "./collector.ts";

const span: SpanRecord = {
  traceId: "0af7651916cd43dd8448eb211c80319c",
  spanId: "b7ad6b7169203331",
  parentId: "00f067aa0ba902b7",
  name: "commit",
  kind: 1,
  startMs: 1_800_000_000_000.125,
  endMs: 1_800_000_000_001.5,
  attributes: [
    ["http.target", "/a/ü"],
    ["http.status_code", 201],
  ],
  isError: true,
  link: { traceId: "1af7651916cd43dd8448eb211c80319c", spanId: "c7ad6b7169203331" },
};

t.test("SpanExporter sends spans as OTLP has them", async (t) => {
  const collector = await openCollector();
  const exporter = new SpanExporter({
    endpoint: collector.endpoint,
    resource: [["service.name", "apiserver"]],
    failed: (why) => t.fail(why),
  });
  await exporter.take([span, { ...span, parentId: "", isError: false, link: undefined }]);
  await exporter.close();
  collector.close();
  const [first, second] = collector.spans;
  t.same([...collector.resource], [["service.name", "apiserver"]]);
  t.match(first, {
    ...{ traceId: span.traceId, spanId: span.spanId, parentId: span.parentId, name: "commit", kind: 1, isError: true },
    links: [span.link?.traceId],
  });
  t.same([...(first?.attributes ?? [])], span.attributes);
  t.ok(Math.abs((first?.startMs ?? 0) - span.startMs) < 0.001, "to the microsecond");
  t.ok(Math.abs((first?.endMs ?? 0) - span.endMs) < 0.001);
  t.match(second, { parentId: "", isError: false, links: [] });
  t.same(exporter.counts, { exported: 2, refused: 0 });
});

t.test("SpanExporter tries again while a collector is away, and keeps no more than it may", async (t) => {
  const collector = await openCollector();
  const why: string[] = [];
  const exporter = new SpanExporter({
    endpoint: collector.endpoint,
    resource: [],
    failed: (text) => void why.push(text),
    pauseMs: 5,
  });
  collector.code = status.UNAVAILABLE;
  const batch = Array<SpanRecord>(512).fill(span);
  let taken = 0;
  const all = Array.from({ length: limits.spansWaitingMax / 512 + 1 }, async () => {
    await exporter.take(batch);
    taken += 1;
  });
  await until(() => collector.asked >= 3);
  t.equal(taken, limits.spansWaitingMax / 512 - 1, "who has more than there is room for waits");
  t.match(why, [/UNAVAILABLE: not now/]);
  collector.code = 0;
  await Promise.all(all);
  await until(() => collector.spans.length === limits.spansWaitingMax + 512);
  await exporter.close();
  t.equal(collector.spans.length, limits.spansWaitingMax + 512);
  t.equal(why.length, 1, "told once");
  collector.close();
});

t.test("SpanExporter gives up what a collector refuses for good, and what it has no time for at its end", async (t) => {
  const collector = await openCollector();
  const exporter = new SpanExporter({ endpoint: collector.endpoint, resource: [], failed: () => undefined });
  collector.code = status.INVALID_ARGUMENT;
  await exporter.take([span]);
  await until(() => exporter.counts.refused === 1);
  t.equal(collector.asked, 1);
  collector.code = status.UNAVAILABLE;
  await exporter.take([span]);
  await until(() => collector.asked === 2);
  await exporter.close();
  t.equal(exporter.counts.refused, 2);
  t.equal(await exporter.take([span]), undefined, "nothing is taken any more");
  collector.close();
});
