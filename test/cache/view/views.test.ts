// Holds, releases, news, late logs and restarts: what happens around the records.
import { MessageChannel } from "node:worker_threads";
import t from "tap";
import type { LogView } from "../../../src/cache/view/view.ts";
import { type OpenViews, openViews } from "../../../src/cache/view/views.ts";
import { LogWriter, type LogWriterOptions } from "../../../src/cache/writer/writer.ts";
import type { Record, Store } from "../../../src/storage/store.ts";
import {
  eventOf,
  eventsFrom,
  Model,
  objectOf,
  prefix,
  RecordSource,
  scanAll,
  TestClock,
  textOf,
  turn,
  until,
} from "../fixture.ts";

interface Setup {
  readonly clock: TestClock;
  readonly writer: LogWriter;
  readonly source: RecordSource;
  connect(paceMs?: number): Promise<OpenViews>;
  /** Enough changes of other keys to close at least one segment. */
  fill(): void;
}

function setup(options: Partial<LogWriterOptions> = {}): Setup {
  const clock = new TestClock();
  const writer = new LogWriter({ prefixes: [prefix], clock, historyMs: 1000, ...options });
  const source = new RecordSource();
  const opened: OpenViews[] = [];
  t.teardown(() => {
    for (const views of opened) views.close();
    writer.stop();
  });
  return {
    clock,
    writer,
    source,
    async connect(paceMs = 0) {
      const { port1, port2 } = new MessageChannel();
      writer.connect(port1);
      const views = await openViews({ control: writer.control, port: port2, clock, holdMs: 5000, paceMs });
      opened.push(views);
      return views;
    },
    fill() {
      for (let i = 0; i < 20; i++) writer.accept([source.next("fill", `f-${i % 2}`, false, 20_000)]);
    },
  };
}

function tendAll(writer: LogWriter): void {
  while (writer.tend());
}

function releasing(writer: LogWriter): number {
  return writer.stats().logs[0]?.releasingCount ?? -1;
}

t.test("hold() keeps slices and older states until it is released", async (t) => {
  const { clock, writer, source, connect, fill } = setup();
  const view = (await connect()).log(prefix);
  const record = source.next("ns", "kept", false, 100);
  writer.accept([record]);
  const revision = view.drain();
  const bytes = view.object(view.get("ns", "kept"));
  const hold = view.hold();
  writer.accept([source.next("ns", "kept", true, 100)]);
  fill();
  clock.ms += 2000;
  tendAll(writer);
  clock.ms += 2000;
  tendAll(writer);
  t.ok(releasing(writer) > 0, "segments wait for their release");
  await turn();
  await turn();
  t.ok(view.drain() > revision);
  t.ok(view.floor > revision, "the floor has passed");
  t.equal(textOf(bytes), objectOf(record), "the slice is as it was");
  t.equal(textOf(view.object(view.getAt("ns", "kept", revision))), objectOf(record), "so is the old state");
  t.equal(view.positionAfter(revision), undefined, "but no new reader starts there");
  t.notOk(hold.expired);
  hold.release();
  hold.release();
  await until(() => releasing(writer) === 0, "the release");
  t.equal(view.get("ns", "kept"), 0);
  t.equal(view.getAt("ns", "kept", view.drain()), 0);
});

t.test("hold() expires when it lasts too long, and says so", async (t) => {
  const { clock, writer, source, connect, fill } = setup();
  const view = (await connect()).log(prefix);
  writer.accept([source.next("ns", "a", false, 100)]);
  view.drain();
  const hold = view.hold();
  fill();
  clock.ms += 2000;
  tendAll(writer);
  t.ok(releasing(writer) > 0);
  // The views look at their holds twice a second.
  let looks = 0;
  const timer = setInterval(() => looks++, 600);
  t.teardown(() => clearInterval(timer));
  for (let i = 0; i < 5; i++) await turn();
  clock.ms += 4000;
  const later = view.hold();
  await until(() => looks > 0, "a look at the holds");
  t.notOk(hold.expired, "not before its time");
  clock.ms += 2000;
  await until(() => hold.expired, "the hold to expire");
  t.ok(later.expired, "who came later cannot make it last longer");
  await until(() => releasing(writer) === 0, "the release");
  hold.release();
});

t.test("hold() ends early when too much waits for it", async (t) => {
  const { clock, writer, source, connect, fill } = setup({ historyBytes: 500_000, historyMs: 1e12 });
  const view = (await connect()).log(prefix);
  writer.accept([source.next("ns", "a", false, 100)]);
  view.drain();
  const hold = view.hold();
  for (let i = 0; i < 20 && !hold.expired; i++) {
    fill();
    tendAll(writer);
    await turn();
  }
  t.ok(hold.expired, "the hold ended");
  t.equal(clock.ms, new TestClock().ms, "before its time");
  await until(() => releasing(writer) === 0, "the release");
});

t.test("drain() shows nothing above the committed revision", async (t) => {
  const { writer, source, connect } = setup({ prefixes: [prefix, "/registry/others"] });
  const views = await connect();
  const view = views.log(prefix);
  writer.accept([source.next("ns", "a", false, 100)]);
  t.equal(view.drain(), 1);
  writer.append(source.next("ns", "b", false, 100));
  writer.append({ ...source.next("ns", "c", false, 100), prefix: "/registry/others", key: "/registry/others/ns/c" });
  t.equal(view.drain(), 1, "a batch that is being written");
  t.equal(view.head, 1);
  t.equal(view.get("ns", "b"), 0);
  writer.publish(3);
  t.equal(views.log("/registry/others").drain(), 3);
  t.equal(view.drain(), 3);
  t.equal(view.head, 2);
  t.equal(view.positionAfter(1), 1);
  t.equal(view.positionAfter(3), 2);
});

t.test("drain() in the middle of a turn does not take away what the turn has read", async (t) => {
  const { clock, writer, source, connect, fill } = setup();
  const view = (await connect()).log(prefix);
  const record = source.next("ns", "a", false, 100);
  writer.accept([record]);
  view.drain();
  const at = view.get("ns", "a");
  const position = view.head - 1;
  fill();
  clock.ms += 2000;
  tendAll(writer);
  writer.accept([source.next("ns", "b", false, 100)]);
  view.drain();
  t.equal(textOf(view.object(at)), objectOf(record), "a location of this turn");
  t.equal(view.at(position), at);
  await turn();
  await until(() => releasing(writer) === 0, "the release");
  t.equal(view.at(position), 0, "in a later turn it is recycled");
  t.equal(view.run(position, view.head, 1000), undefined);
  t.throws(() => view.object(at), { name: "SharedStateFailure" });
  t.equal(textOf(view.object(view.get("ns", "a"))), objectOf(record), "the object itself has moved on");
});

t.test("at() and run() do not show moved records as events", async (t) => {
  const { clock, writer, source, connect, fill } = setup();
  const view = (await connect()).log(prefix);
  writer.accept([source.next("ns", "a", false, 100)]);
  fill();
  clock.ms += 2000;
  tendAll(writer);
  await until(() => view.drain() > 0 && releasing(writer) === 0, "the release");
  const position = view.positionAfter(view.floor) ?? -1;
  const at = view.get("ns", "a");
  t.equal(view.typeOf(at), 4, "the object was moved");
  t.equal(view.revisionOf(at), 1, "and kept its revision");
  t.equal(view.createRevisionOf(at), 1);
  t.equal(view.keyOf(at), "ns/a");
  const line = JSON.parse(textOf(view.frame(at)));
  t.equal(line.type, "ADDED", "as an initial event it reads ADDED");
  const types = new Set(eventsFrom(view, position).map(({ revision }) => revision));
  t.notOk(types.has(1), "it is no event");
});

t.test("hold() covers what its turn read before a segment was retired", async (t) => {
  const { clock, writer, source, connect, fill } = setup();
  const view = (await connect()).log(prefix);
  const record = source.next("ns", "a", false, 100);
  writer.accept([record]);
  view.drain();
  const at = view.get("ns", "a");
  fill();
  clock.ms += 2000;
  tendAll(writer);
  fill();
  view.drain();
  const hold = view.hold();
  for (let i = 0; i < 10; i++) await turn();
  t.equal(textOf(view.object(at)), objectOf(record));
  hold.release();
  await until(() => releasing(writer) === 0, "the release");
});

t.test("close() releases everything the front still had", async (t) => {
  const { clock, writer, source, connect, fill } = setup();
  const leaving = await connect();
  const staying = await connect();
  writer.accept([source.next("ns", "a", false, 100)]);
  leaving.log(prefix).drain();
  leaving.log(prefix).hold();
  fill();
  clock.ms += 2000;
  tendAll(writer);
  for (let i = 0; i < 10; i++) await turn();
  t.ok(releasing(writer) > 0, "one front holds");
  t.equal(writer.stats().frontCount, 2);
  leaving.close();
  await until(() => releasing(writer) === 0, "the release");
  t.equal(writer.stats().frontCount, 1);
  t.equal(scanAll(staying.log(prefix), 0).size, 3);
});

t.test("onNews() tells of changes and of a floor that moved, until stopped", async (t) => {
  const { clock, writer, source, connect, fill } = setup();
  const views = await connect();
  const view = views.log(prefix);
  const heads: number[] = [];
  const stop = view.onNews(() => heads.push(view.head));
  writer.accept([source.next("ns", "a", false, 100)]);
  await until(() => heads.includes(1), "news of the first change");
  writer.accept([source.next("ns", "a", false, 100)]);
  t.equal(view.drain(), 2, "another reader takes it in");
  await until(() => heads.includes(2), "news of it all the same");
  fill();
  await until(() => heads.at(-1) === view.drain(), "news of all");
  const floors: number[] = [];
  view.onNews(() => floors.push(view.floor));
  clock.ms += 2000;
  tendAll(writer);
  await until(() => (floors.at(-1) ?? 0) > 0, "news of the floor");
  stop();
  const count = heads.length;
  writer.accept([source.next("ns", "a", false, 100)]);
  await until(() => views.revision === source.revision && view.head > (heads.at(-1) ?? 0), "the next change");
  t.equal(heads.length, count, "a stopped follower hears nothing");
});

t.test("onNews() at a pace tells seldom of many changes, and of the last one", async (t) => {
  const { writer, source, connect } = setup();
  const views = await connect(20);
  const view = views.log(prefix);
  const heads: number[] = [];
  view.onNews(() => heads.push(view.head));
  const changes = 200;
  for (let n = 0; n < changes; n++) {
    writer.accept([source.next("ns", "a", false, 100)]);
    await turn();
  }
  await until(() => heads.includes(changes), "news of the last change");
  t.ok(heads.length < changes / 2, `${heads.length} times for ${changes} changes`);
});

t.test("log() finds prefixes registered later and throws on others", async (t) => {
  const { writer, connect } = setup();
  const views = await connect();
  t.throws(() => views.log("/registry/widgets"), { message: "No log is registered for /registry/widgets" });
  writer.register("/registry/widgets");
  writer.register("/registry/widgets");
  t.equal(views.log("/registry/widgets").count, 0);
  t.equal(views.log("/registry/widgets").positionAfter(0), 0);
  const later = await connect();
  t.equal(later.log("/registry/widgets").prefix, "/registry/widgets");
});

t.test("scan() keeps to its namespace and starts after a key", async (t) => {
  const { writer, source, connect } = setup();
  const view = (await connect()).log(prefix);
  const keys = ["a/x", "a/y", "a-b/x", "ab/x", "b/1", "b/2", "b/é", "b/𝄞", "b/\uffff"];
  for (const key of keys) writer.accept([source.next(key.split("/")[0] ?? "", key.split("/")[1] ?? "", false, 10)]);
  view.drain();
  const cases: { namespace: string; after: string; found: string[] }[] = [
    { namespace: "", after: "", found: ["a-b/x", "a/x", "a/y", "ab/x", "b/1", "b/2", "b/é", "b/\uffff", "b/𝄞"] },
    { namespace: "a", after: "", found: ["a/x", "a/y"] },
    { namespace: "a", after: "a/x", found: ["a/y"] },
    { namespace: "a", after: "a/y", found: [] },
    { namespace: "a", after: "ab/x", found: [] },
    { namespace: "b", after: "a/x", found: ["b/1", "b/2", "b/é", "b/\uffff", "b/𝄞"] },
    { namespace: "", after: "b/2", found: ["b/é", "b/\uffff", "b/𝄞"] },
    { namespace: "", after: "b/é", found: ["b/\uffff", "b/𝄞"] },
    { namespace: "c", after: "", found: [] },
  ];
  for (const { namespace, after, found } of cases) {
    t.strictSame([...scanAll(view, 0, namespace, after).keys()], found, `${namespace} after ${after}`);
  }
  const at = view.get("b", "𝄞");
  t.equal(view.keyOf(at), "b/𝄞");
  t.equal(view.getAt("b", "𝄞", view.drain()), at);
});

/** A store that has what a test gives it. */
function storeOf(records: readonly Record[], floor: number, revision: number): Pick<Store, "floor" | "replay"> {
  return {
    floor,
    replay: (take) => {
      for (let at = 0; at < records.length; at += 7) take(records.slice(at, at + 7));
      return Promise.resolve(revision);
    },
  };
}

t.test("load() makes state of what the durable log compacted and history of the rest", async (t) => {
  const source = new RecordSource();
  const model = new Model();
  for (let i = 0; i < 400; i++) model.records.push(source.next("ns", `p-${i % 23}`, i % 5 === 0, 3000));
  const floor = 250;
  const state = new Set([...model.stateAt(floor).values()]);
  const kept = model.records.filter((record) => record.revision > floor || state.has(record));
  const { writer, connect } = setup({ prefixes: [] });
  await writer.load(storeOf(kept, floor, 405));
  const views = await connect();
  const view: LogView = views.log(prefix);
  t.equal(view.drain(), 405, "the store's revision, although no record has it");
  t.equal(views.revision, 405);
  t.equal(view.floor, floor);
  t.equal(view.positionAfter(floor - 1), undefined);
  for (const revision of [floor, floor + 1, 333, 400, 405]) {
    const wanted = [...model.stateAt(revision)].map(([key, record]) => [key, objectOf(record)]);
    t.strictSame([...scanAll(view, revision)], wanted, `the state at ${revision}`);
    const events = model.after(revision).map((record) => ({ revision: record.revision, event: eventOf(record) }));
    t.strictSame(eventsFrom(view, view.positionAfter(revision) ?? -1), events, `the events after ${revision}`);
  }
  writer.register("/registry/others");
  t.equal(views.log("/registry/others").floor, floor, "a log without records has the same floor");
  source.revision = 405;
  writer.accept([source.next("ns", "p-1", false, 10)]);
  t.equal(view.drain(), 406);
});

t.test("load() keeps within the byte limit while it fills the logs", async (t) => {
  const source = new RecordSource();
  const records = Array.from({ length: 3000 }, (_, i) => source.next("ns", `p-${i % 50}`, false, 3000));
  const { writer } = setup({ historyBytes: 2e6 });
  await writer.load(storeOf(records, 0, 3000));
  const [log] = writer.stats().logs;
  t.ok((log?.usedBytes ?? 0) < 4e6, `${log?.usedBytes} bytes of nine million are kept`);
  t.ok((log?.floor ?? 0) > 0);
  t.equal(log?.liveCount, 50);
});

t.test("fronts know up to which revision a log may be stored otherwise than it would be now", async (t) => {
  const source = new RecordSource();
  const records = Array.from({ length: 5 }, (_, i) => source.next("ns", `p-${i}`, false, 10));
  const stale = records.map((record, i) => (i === 2 ? { ...record, isStale: true as const } : record));
  const { writer, connect } = setup({ prefixes: [prefix, "/registry/others"] });
  await writer.load(storeOf(stale, 0, 5));
  const [one, two] = [await connect(), await connect()].map((views) => views.log(prefix));
  const other = (await connect()).log("/registry/others");
  const seen = (): readonly unknown[] => [one?.staleRevision, two?.staleRevision, other.staleRevision];
  t.same(seen(), [3, 3, 0]);
  writer.accept([source.next("ns", "p-1", false, 10)]);
  t.same(seen(), [3, 3, 0], "what is written now is not");
  writer.outdate((each) => each === prefix, 0);
  t.same(seen(), [6, 6, 0]);
  writer.accept([{ ...source.next("ns", "p-2", false, 10), isStale: true }]);
  t.same(seen(), [7, 7, 0]);
  // A log that takes the slot of another has nothing of it.
  for (const name of ["p-0", "p-1", "p-2", "p-3", "p-4"]) writer.accept([source.next("ns", name, true, 10)]);
  t.ok(writer.giveUp(prefix));
  await until(() => writer.stats().usedBytes === 0, "the memory of the log");
  for (let i = 0; i < 10; i++) writer.register(`/registry/new-${i}`);
  const views = await connect();
  for (let i = 0; i < 10; i++) t.equal(views.log(`/registry/new-${i}`).staleRevision, 0);
});

t.test("append() refuses what would break the log", (t) => {
  const { writer, source } = setup();
  const record = source.next("ns", "a", false, 10);
  writer.accept([record]);
  const assertion = { name: "SharedStateFailure" };
  t.throws(() => writer.append(record), assertion, "a revision again");
  t.throws(() => writer.append({ ...record, revision: 5, key: `${prefix}/ns/other` }), assertion, "another key");
  t.throws(() => writer.append({ ...record, revision: 5, selection: new Uint8Array(8) }), assertion, "no table");
  const unknown = { ...source.next("ns", "b", false, 10), type: 2 as const };
  t.throws(() => writer.append(unknown), assertion, "an update of nothing");
  t.throws(() => writer.publish(0), assertion, "a publication that goes back");
  t.end();
});

t.test("segments are used again without a trace of what they held", async (t) => {
  // Many small records after few with large tables: entries come to lie where tables were.
  const { clock, writer, source, connect } = setup({ historyBytes: 400_000, historyMs: 1e12 });
  const view = (await connect()).log(prefix);
  const model = new Model();
  for (let i = 0; i < 6000; i++) {
    const record = source.next(
      "ns",
      `p-${i % 10}${"n".repeat(i % 1000 < 100 ? 200 : 0)}`,
      false,
      i % 1000 < 100 ? 2000 : 1,
    );
    model.records.push(record);
    writer.accept([record]);
    clock.ms += 1;
    tendAll(writer);
    if (i % 50 === 0) await turn();
    if (i % 500 !== 0) continue;
    const revision = view.drain();
    const wanted = [...model.stateAt(revision)].map(([key, each]) => [key, objectOf(each)]);
    t.strictSame([...scanAll(view, 0)], wanted);
  }
  t.ok(writer.stats().usedBytes + writer.stats().freeBytes < 4e6, "memory is used again");
});
