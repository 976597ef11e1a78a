// Writer and views in one thread against a tiny model, with seeded random operations.
import { MessageChannel } from "node:worker_threads";
import t, { type Test } from "tap";
import { identities } from "../../../src/api/identity.ts";
import { createScheme } from "../../../src/api/scheme.ts";
import { countStore } from "../../../src/boot/count.ts";
import type { LogView } from "../../../src/cache/view/view.ts";
import { openViews } from "../../../src/cache/view/views.ts";
import { LogWriter } from "../../../src/cache/writer/writer.ts";
import { Registry } from "../../../src/observe/metrics.ts";
import type { Store } from "../../../src/storage/store.ts";
import {
  eventOf,
  eventsFrom,
  Model,
  objectOf,
  prefix,
  RecordSource,
  randomSource,
  runsFrom,
  scanAll,
  TestClock,
  turn,
} from "../fixture.ts";

const seed = Number(process.env["ORCH_SEED"] ?? 20_261_121);

async function connect(writer: LogWriter, clock: TestClock) {
  const { port1, port2 } = new MessageChannel();
  writer.connect(port1);
  return openViews({ control: writer.control, port: port2, clock });
}

function check(t: Test, view: LogView, model: Model, random: () => number): void {
  const revision = view.drain();
  const head = model.records.at(-1)?.revision ?? 0;
  t.equal(revision, head, "drain() returns the newest revision");
  const now = new Map([...model.stateAt(head)].map(([key, record]) => [key, objectOf(record)]));
  t.strictSame([...scanAll(view, 0)], [...now], "the present state, in key order");
  t.equal(view.count, now.size, "the number of live objects");
  const [some = ""] = [...now.keys()].slice(Math.floor(random() * now.size));
  const namespace = some.slice(0, Math.max(0, some.indexOf("/")));
  for (const after of ["", some]) {
    t.equal(view.countAfter("", after), scanAll(view, 0, "", after).size, `live objects after "${after}"`);
    t.equal(view.countAfter(namespace, after), scanAll(view, 0, namespace, after).size, `of ${namespace}`);
  }
  // Revision 0 stands for now.
  const from = Math.max(1, view.floor + Math.floor(random() * (head - view.floor + 1)));
  const then = model.stateAt(from);
  const texts = [...then].map(([key, record]) => [key, objectOf(record)]);
  t.strictSame([...scanAll(view, from)], texts, `the state at ${from} (floor ${view.floor}, head ${head})`);
  for (const [key, record] of then) {
    const slash = key.indexOf("/");
    const at = view.getAt(key.slice(0, Math.max(0, slash)), key.slice(slash + 1), from);
    if (view.revisionOf(at) !== record.revision) t.fail(`getAt(${key}, ${from})`);
    if (view.createRevisionOf(at) !== record.createRevision) t.fail(`createRevisionOf(${key}, ${from})`);
    const isNewest = model.stateAt(head).get(key)?.revision === record.revision;
    if (view.isCurrent(at) !== isNewest) t.fail(`isCurrent(${key}, ${from})`);
  }
  const position = view.positionAfter(from);
  if (position === undefined) {
    t.fail(`No position after ${from}`);
    return;
  }
  const events = model.after(from);
  const wanted = events.map((record) => ({ revision: record.revision, event: eventOf(record) }));
  t.strictSame(eventsFrom(view, position), wanted, `the events after ${from}`);
  t.strictSame(
    runsFrom(view, position, 20_000),
    wanted.map(({ event }) => event),
    "the same events in runs",
  );
  if (view.floor > 0) t.equal(view.positionAfter(view.floor - 1), undefined, "nothing below the floor");
}

interface Traffic {
  readonly name: string;
  readonly keys: number;
  readonly padBytes: number;
  readonly deletes: number;
  readonly historyMs: number;
  readonly historyBytes: number;
  readonly stepMs: number;
}

const traffics: readonly Traffic[] = [
  { name: "no retention", keys: 50, padBytes: 3000, deletes: 0.2, historyMs: 1e12, historyBytes: 1e12, stepMs: 10 },
  { name: "by time", keys: 300, padBytes: 9000, deletes: 0.2, historyMs: 2000, historyBytes: 1e12, stepMs: 100 },
  { name: "by bytes", keys: 120, padBytes: 9000, deletes: 0.1, historyMs: 1e12, historyBytes: 1.5e6, stepMs: 1 },
  {
    name: "everything at once",
    keys: 40,
    padBytes: 30_000,
    deletes: 0.4,
    historyMs: 300,
    historyBytes: 3e6,
    stepMs: 50,
  },
];

for (const traffic of traffics) {
  t.test(`Log answers as the model does under random changes, ${traffic.name}`, async (t) => {
    t.comment(`ORCH_SEED=${seed}`);
    const random = randomSource(seed);
    const clock = new TestClock();
    const { historyMs, historyBytes } = traffic;
    const writer = new LogWriter({ prefixes: [prefix], clock, historyMs, historyBytes });
    const views = [await connect(writer, clock)];
    const source = new RecordSource();
    const model = new Model();
    let retired = 0;
    for (let step = 0; step < 250; step++) {
      const changes = 1 + Math.floor(random() * 12);
      for (let i = 0; i < changes; i++) {
        // Few keys change often, as in life.
        const key = Math.floor(random() ** 2 * traffic.keys);
        const pad = Math.floor(random() * traffic.padBytes);
        const record = source.next(`ns-${key % 3}`, `pod-${key}`, random() < traffic.deletes, pad);
        model.records.push(record);
        writer.append(record);
      }
      writer.publish(source.revision);
      clock.ms += traffic.stepMs;
      for (let i = 0; i < 20 && writer.tend(); i++) if (random() < 0.3) break;
      if (random() < 0.2) await turn();
      // Fronts that come late see the same.
      if (step % 100 === 99) views.push(await connect(writer, clock));
      if (step % 25 === 0) for (const each of views) check(t, each.log(prefix), model, random);
      retired = Math.max(retired, writer.stats().logs[0]?.floor ?? 0);
    }
    for (const each of views) check(t, each.log(prefix), model, random);
    const state = model.stateAt(source.revision);
    for (let key = 0; key < traffic.keys; key++) {
      const name = `ns-${key % 3}/pod-${key}`;
      const [last, wanted] = [writer.last(prefix, `${prefix}/${name}`), state.get(name)];
      if (wanted === undefined || last === undefined) t.equal(last, wanted, `${name} is not there`);
      else if (objectOf(wanted) !== Buffer.from(last.body).toString() || wanted.revision !== last.revision)
        t.fail(`last(${name})`);
      else if (wanted.createRevision !== last.createRevision || wanted.versionAt !== last.versionAt) t.fail(name);
    }
    t.equal(retired > 0, historyMs < 1e12 || historyBytes < 1e12, "the floor rises where it should");
    const stats = writer.stats();
    t.ok((stats.logs[0]?.usedBytes ?? 0) < historyBytes * 2 + 20e6, "memory stays within bounds");
    for (const each of views) each.close();
    t.comment(JSON.stringify(stats));
  });
}

t.test("LogWriter keeps a good part of its byte limit as history while old records go on dying", (t) => {
  const random = randomSource(seed);
  const historyBytes = 24e6;
  const writer = new LogWriter({ prefixes: [prefix], clock: new TestClock(), historyBytes, historyMs: 1e12 });
  const source = new RecordSource();
  const shares: number[] = [];
  for (let i = 0; i < 40_000; i++) {
    writer.append(source.next("", `pod-${Math.floor(random() * 1000)}`, false, 4000));
    writer.publish(source.revision);
    while (writer.tend());
    if (i > 20_000 && i % 1000 === 0) {
      const [log] = writer.stats().logs;
      if (log !== undefined) shares.push(((log.head - log.floor) * 4300) / historyBytes);
    }
  }
  const least = Math.min(...shares);
  t.ok(least > 0.4, `at least 0.4 of the limit, found ${least}`);
  const registry = new Registry();
  const scheme = createScheme({ identity: identities.kubernetes });
  countStore(registry, { store: { revision: 0, floor: 0, sizeBytes: 0 } as Store, writer, queued: () => 0, scheme });
  const figures = new Map(registry.snapshot().map(({ name, values }) => [name, values[0] ?? 0]));
  const [grown = 0, shrunk = 0] = ["increase", "decrease"].map((way) =>
    figures.get(`watch_cache_capacity_${way}_total`),
  );
  t.ok(shrunk > 0, "segments were retired");
  t.equal(grown + 1 - shrunk, figures.get("orch_log_segments"), "what was added and not retired is there");
  t.ok((figures.get("watch_cache_capacity") ?? 0) > 1000);
  t.end();
});
