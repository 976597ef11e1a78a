// The fan-out without sockets: a log in this thread, watchers whose sinks only count. What is left is our own cost per
// record, group and watcher; sockets cost 1-9 us per event on top (perf/load/fanout.ts).
// `node dist/perf/micro/fanout.js [rounds]` prints one JSON line per case, `fanout/<case>`.
// Expected: a few ns per delivered event in whole groups; below 1 us per record with hundreds of indexed groups.
import { MessageChannel } from "node:worker_threads";
import { parseFieldSelector, parseLabelSelector, type Selector } from "../../src/api/selector.ts";
import { BookmarkText } from "../../src/cache/fanout/bookmark.ts";
import { Fanout } from "../../src/cache/fanout/fanout.ts";
import type { Sink } from "../../src/cache/fanout/watcher.ts";
import { encodeSelection } from "../../src/cache/shared/selection.ts";
import type { LogView } from "../../src/cache/view/view.ts";
import { openViews } from "../../src/cache/view/views.ts";
import { LogWriter } from "../../src/cache/writer/writer.ts";
import { changeTypes, type Record } from "../../src/storage/store.ts";

interface Case {
  readonly name: string;
  readonly watchers: number;
  /** Namespace and selectors of watcher number i. */
  readonly wishes: (i: number) => { namespace?: string; labels?: string; fields?: string };
}

function manyTerms(watcher: number): string {
  return Array.from({ length: 400 }, (_, term) => `k${term}!=v${watcher}`).join(",");
}

const prefix = "/registry/pods";
const namespaces = 50;
const nodes = 1000;
const objects = 5000;
const bodyBytes = 2048;
const batch = 128;

const cases: readonly Case[] = [
  { name: "whole/1000", watchers: 1000, wishes: () => ({}) },
  { name: "namespaces/1000-in-50-groups", watchers: 1000, wishes: (i) => ({ namespace: `ns${i % namespaces}` }) },
  { name: "nodes/1000-groups", watchers: 1000, wishes: (i) => ({ fields: `spec.nodeName=node${i}` }) },
  { name: "names/1000-groups", watchers: 1000, wishes: (i) => ({ namespace: "ns1", fields: `metadata.name=pod${i}` }) },
  { name: "labels/100-groups", watchers: 1000, wishes: (i) => ({ labels: `app=app${i % 100}` }) },
  { name: "labels/100-unindexed", watchers: 1000, wishes: (i) => ({ labels: `app!=app${i % 100},tier` }) },
  { name: "labels/400-of-400-terms", watchers: 400, wishes: (i) => ({ labels: manyTerms(i) }) },
  { name: "labels/2-terms", watchers: 1000, wishes: (i) => ({ labels: `app in (app${i % 100},x),tier=t${i % 2}` }) },
];

class CountingSink implements Sink {
  bytes = 0;
  write(chunk: Uint8Array): boolean {
    this.bytes += chunk.length;
    return true;
  }
  onDrain(): void {}
  end(): void {}
  abort(): void {}
}

function selectorOf(labels: string, fields: string): Selector {
  return { labels: parseLabelSelector(labels), fields: parseFieldSelector(fields) } as Selector;
}

class Bench {
  readonly writer = new LogWriter({ prefixes: [prefix], historyBytes: 16 * 1024 * 1024 });
  revision = 0;
  readonly #last = new Map<string, { revision: number; createRevision: number }>();
  readonly #head = '{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"';
  readonly #tail: string;

  constructor() {
    this.#tail = `"},"spec":{"pad":"${"p".repeat(bodyBytes - this.#head.length - 40)}"}}`;
  }

  next(): Record {
    const number = this.revision % objects;
    const namespace = `ns${number % namespaces}`;
    const name = `pod${number}`;
    const key = `${prefix}/${namespace}/${name}`;
    this.revision += 1;
    const before = this.#last.get(key);
    const createRevision = before?.createRevision ?? this.revision;
    this.#last.set(key, { revision: this.revision, createRevision });
    const labels = new Map([
      ["app", `app${number % 100}`],
      ["tier", `t${number % 2}`],
      ["pod-template-hash", "5d59d67564"],
    ]);
    const fields = [
      ["spec.nodeName", `node${number % nodes}`],
      ["status.phase", "Running"],
    ] as const;
    return {
      revision: this.revision,
      createRevision,
      previous: before?.revision ?? 0,
      type: before === undefined ? changeTypes.create : changeTypes.update,
      prefix,
      key,
      selection: encodeSelection(namespace, name, labels, fields),
      body: Buffer.from(`${this.#head}${this.revision}${this.#tail}`),
      versionAt: this.#head.length,
    };
  }

  async settle(view: LogView): Promise<void> {
    while (view.drain() < this.revision) await new Promise((resolve) => setImmediate(resolve));
    for (let turn = 0; turn < 8; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

async function run({ name, watchers, wishes }: Case, rounds: number): Promise<void> {
  const bench = new Bench();
  const { port1, port2 } = new MessageChannel();
  bench.writer.connect(port1);
  bench.writer.start();
  const views = await openViews({ control: bench.writer.control, port: port2 });
  const view = views.log(prefix);
  for (let i = 0; i < objects / batch; i += 1) bench.writer.accept(Array.from({ length: batch }, () => bench.next()));
  await bench.settle(view);
  const control = await measure(bench, view, rounds);
  const fanout = new Fanout();
  const bookmark = new BookmarkText(Buffer.from('{""}'), 2);
  const sinks = Array.from({ length: watchers }, (_, i) => {
    const { namespace = "", labels = "", fields = "" } = wishes(i);
    const sink = new CountingSink();
    fanout.watch({
      view,
      namespaced: true,
      namespace,
      selector: selectorOf(labels, fields),
      representation: { key: "json", transform: undefined, bookmark },
      start: { from: "now" },
      bookmarks: false,
      initialEnd: undefined,
      timeoutMs: undefined,
      sink,
    });
    return sink;
  });
  const cpuUs = (await measure(bench, view, rounds)) - control;
  const events = fanout.counts().get(prefix)?.events ?? 0;
  console.log(
    JSON.stringify({
      case: `fanout/${name}`,
      records: rounds * batch,
      events,
      groups: fanout.counts().get(prefix)?.groups,
      nsPerRecord: Math.round((cpuUs * 1000) / (rounds * batch)),
      nsPerEvent: Math.round(((cpuUs * 1000) / events) * 10) / 10,
      bytes: sinks.reduce((sum, sink) => sum + sink.bytes, 0),
    }),
  );
  await fanout.closeAll(1e9);
  views.close();
  bench.writer.stop();
}

/** CPU in us of `rounds` batches, written and delivered to whoever watches. */
async function measure(bench: Bench, view: LogView, rounds: number): Promise<number> {
  const start = process.cpuUsage();
  for (let round = 0; round < rounds; round += 1) {
    bench.writer.accept(Array.from({ length: batch }, () => bench.next()));
    await bench.settle(view);
  }
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

const rounds = Number(process.argv[2] ?? 100);
for (const each of cases) await run(each, rounds);
