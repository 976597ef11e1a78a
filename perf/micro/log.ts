// Costs of the shared log on one thread: append, taking in, scanning with a gather, looking up, filtering.
// Run: node --expose-gc dist/perf/micro/log.js [rounds]. One line of JSON per case, ns of CPU time per operation: median,
// least and greatest. CPU time, because this machine is shared.
import { MessageChannel } from "node:worker_threads";
import { copyBytes } from "../../src/base/copy.ts";
import { encodeSelection, hasLabel, selectionPair } from "../../src/cache/shared/selection.ts";
import type { LogView } from "../../src/cache/view/view.ts";
import { type OpenViews, openViews } from "../../src/cache/view/views.ts";
import { LogWriter } from "../../src/cache/writer/writer.ts";
import type { ChangeType, Record } from "../../src/storage/store.ts";

const rounds = Number(process.argv[2] ?? 5);
const prefix = "/registry/pods";
const objects = 10_000;
const updates = 50_000;

const labels = new Map([
  ["app", "web"],
  ["tier", "front"],
  ["pod-template-hash", "6d4cf56db6"],
  ["team", "payments"],
]);

function recordOf(revision: number, number: number, type: ChangeType, bodyBytes: number): Record {
  const name = `web-6d4cf56db6-${String(number).padStart(5, "0")}`;
  const head = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"${name}","namespace":"ns-${number % 50}","resourceVersion":"`;
  const tail = '"},"spec":{"x":"';
  const body = Buffer.from(`${head}${revision}${tail}${"x".repeat(bodyBytes - head.length - tail.length - 3)}"}}`);
  const fields = [["spec.nodeName", `node-${number % 100}`] as const, ["status.phase", "Running"] as const];
  return {
    revision,
    createRevision: 1,
    previous: 0,
    type,
    prefix,
    key: `${prefix}/ns-${number % 50}/${name}`,
    selection: encodeSelection(`ns-${number % 50}`, name, labels, fields),
    body,
    versionAt: head.length,
  };
}

const results = new Map<string, number[]>();

function measure(name: string, count: number, work: () => unknown): void {
  const start = process.cpuUsage();
  const consumed = work();
  const spent = process.cpuUsage(start);
  const each = ((spent.user + spent.system) * 1000) / count;
  if (consumed === undefined) throw new Error("A case must give a result");
  results.set(name, [...(results.get(name) ?? []), each]);
}

function gather(view: LogView, revision: number): number {
  const chunk = new Uint8Array(1024 * 1024);
  let used = 0;
  let total = 0;
  view.scan("", "", revision, (at) => {
    const object = view.object(at);
    if (used + object.length > chunk.length) used = 0;
    used = copyBytes(chunk, used, object);
    total += object.length;
    return true;
  });
  return total;
}

async function open(writer: LogWriter): Promise<OpenViews> {
  const { port1, port2 } = new MessageChannel();
  writer.connect(port1);
  return openViews({ control: writer.control, port: port2 });
}

async function round(bodyBytes: number): Promise<void> {
  const fixture = `${bodyBytes / 1024}KiB`;
  const writer = new LogWriter({ prefixes: [prefix] });
  const views = await open(writer);
  const view = views.log(prefix);
  const creates = Array.from({ length: objects }, (_, i) => recordOf(i + 1, (i * 7919) % objects, 1, bodyBytes));
  measure(`append/create ${fixture}`, objects, () => {
    for (const record of creates) writer.append(record);
    writer.publish(objects);
    return writer;
  });
  measure(`drain/create ${fixture}`, objects, () => view.drain());
  const changes = Array.from({ length: updates }, (_, i) => {
    return { ...(creates[i % objects] as Record), revision: objects + i + 1, type: 2 as ChangeType };
  });
  measure(`append/update ${fixture}`, updates, () => {
    for (const record of changes) {
      writer.append(record);
    }
    writer.publish(objects + updates);
    return writer;
  });
  measure(`drain/update ${fixture}`, updates, () => view.drain());
  measure(`drain/nothing ${fixture}`, 100_000, () => {
    let sum = 0;
    for (let i = 0; i < 100_000; i++) sum += view.drain();
    return sum;
  });
  measure(`publish/one record, no reader asleep ${fixture}`, 10_000, () => {
    for (let i = 0; i < 10_000; i++) {
      const record = changes[i] as Record;
      writer.append({ ...record, revision: objects + updates + i + 1 });
      writer.publish(objects + updates + i + 1);
    }
    return view.drain();
  });
  measure(`scan+gather/now, per object ${fixture}`, objects, () => gather(view, 0));
  measure(`scan+gather/20,000 changes ago, per object ${fixture}`, objects, () => gather(view, objects + 30_000));
  measure(`scan/now, no gather, per object ${fixture}`, objects, () => {
    let count = 0;
    view.scan("", "", 0, () => ++count > 0);
    return count;
  });
  measure(`get ${fixture}`, 100_000, () => {
    let sum = 0;
    for (let i = 0; i < 100_000; i++) {
      const number = (i * 31) % objects;
      sum += view.get(`ns-${number % 50}`, `web-6d4cf56db6-${String(number).padStart(5, "0")}`);
    }
    return sum;
  });
  const pair = selectionPair("team", "payments");
  const other = selectionPair("team", "other");
  measure(`filter/two label terms, per record ${fixture}`, updates, () => {
    let count = 0;
    for (let position = view.head - updates; position < view.head; position++) {
      const at = view.at(position);
      const source = view.selectionSource(at);
      const table = view.selectionAt(at);
      if (hasLabel(source, table, pair) && !hasLabel(source, table, other)) count++;
    }
    return count;
  });
  measure(`run/64 KiB slices, per record ${fixture}`, updates, () => {
    let count = 0;
    for (let position = view.head - updates; position < view.head; ) {
      const run = view.run(position, view.head, 64 * 1024);
      position = run?.next ?? view.head;
      count++;
    }
    return count;
  });
  measure("encodeSelection, 4 labels 2 fields", 10_000, () => {
    let bytes = 0;
    for (let i = 0; i < 10_000; i++) {
      bytes += encodeSelection(`ns-${i % 50}`, `web-6d4cf56db6-${i}`, labels, [["spec.nodeName", "n"]]).length;
    }
    return bytes;
  });
  views.close();
  writer.stop();
}

/** Heap of one more front's index. */
async function memory(): Promise<void> {
  const writer = new LogWriter({ prefixes: [prefix] });
  for (let i = 0; i < 100_000; i++) writer.append(recordOf(i + 1, i, 1, 512));
  writer.publish(100_000);
  const { gc } = globalThis;
  const heap = () => {
    gc?.();
    gc?.();
    return process.memoryUsage().heapUsed;
  };
  const before = heap();
  const views = await open(writer);
  views.log(prefix).drain();
  const bytes = (heap() - before) / views.log(prefix).count;
  console.log(
    JSON.stringify({ case: "index/bytes per object and front", bytes: gc ? Math.round(bytes) : "needs --expose-gc" }),
  );
  views.close();
  writer.stop();
}

for (let i = 0; i < rounds; i++) await round(2048);
for (const [name, values] of results) {
  const sorted = values.toSorted((a, b) => a - b).map((value) => Math.round(value * 10) / 10);
  const row = { case: name, median: sorted[sorted.length >> 1], least: sorted[0], greatest: sorted.at(-1) };
  console.log(JSON.stringify(row));
}
await memory();
