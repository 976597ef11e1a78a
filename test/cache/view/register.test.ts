// Logs come and go while the server runs: what is registered is there on every front at once, and of what is given up
// nothing is left: no slot, no memory, no watch.
import { MessageChannel } from "node:worker_threads";
import t from "tap";
import { Fanout } from "../../../src/cache/fanout/fanout.ts";
import type { LogView } from "../../../src/cache/view/view.ts";
import { type OpenViews, openViews } from "../../../src/cache/view/views.ts";
import { LogWriter } from "../../../src/cache/writer/writer.ts";
import { limits } from "../../../src/config/limits.ts";
import type { Record } from "../../../src/storage/store.ts";
import { FakeFront, selectorOf, storedForm } from "../../support/fakefront.ts";
import { FakeSink } from "../../support/fakesink.ts";
import { RecordSource, scanAll, TestClock, turn, until } from "../fixture.ts";

const clock = new TestClock();

/** A writer with so many fronts. */
async function setup(
  fronts: number,
): Promise<{ writer: LogWriter; views: OpenViews[]; connect(): Promise<OpenViews> }> {
  const writer = new LogWriter({ prefixes: ["/registry/kept"], clock, historyMs: 1000 });
  const opened: OpenViews[] = [];
  t.teardown(() => {
    for (const views of opened) views.close();
    writer.stop();
  });
  const connect = async (): Promise<OpenViews> => {
    const { port1, port2 } = new MessageChannel();
    writer.connect(port1);
    const views = await openViews({ control: writer.control, port: port2, clock, holdMs: 5000, paceMs: 0 });
    opened.push(views);
    return views;
  };
  const views: OpenViews[] = [];
  for (let made = 0; made < fronts; made += 1) views.push(await connect());
  return { writer, views, connect };
}

/** A record of another prefix than the source's own. */
function under(prefix: string, record: Record): Record {
  return { ...record, prefix, key: `${prefix}/${record.key.slice(record.prefix.length + 1)}` };
}

t.test(
  "10,000 logs are registered and given up, one after the other and many at once, and nothing is left",
  async (t) => {
    const { writer, views } = await setup(2);
    const [one, two] = views as [OpenViews, OpenViews];
    const source = new RecordSource();
    const before = writer.stats();
    const atOnce = 100;
    let refused = 0;
    for (let made = 0; made < 10_000; made += atOnce) {
      const prefixes = Array.from({ length: atOnce }, (_, at) => `/registry/kind-${made + at}`);
      const done = await Promise.all(prefixes.map((prefix, at) => (at % 2 === 0 ? one : two).register(prefix)));
      if (!done.every(Boolean)) t.fail("a log was not registered");
      const records: Record[] = [];
      for (const prefix of prefixes) {
        records.push(under(prefix, source.next("ns", "a", false, 50)), under(prefix, source.next("ns", "a", true, 50)));
      }
      writer.accept(records);
      for (const front of views) {
        for (const prefix of prefixes) {
          const log = front.log(prefix);
          log.drain();
          if (log.head !== 2 || log.count !== 0) t.fail(`${prefix} has ${log.head} entries`);
        }
      }
      await Promise.all(prefixes.map((prefix, at) => (at % 2 === 0 ? two : one).giveUp(prefix)));
      for (const front of views) {
        for (const prefix of prefixes) {
          try {
            front.log(prefix);
          } catch {
            refused += 1;
          }
        }
      }
    }
    t.equal(refused, 20_000, "every front refuses what was given up at once");
    await until(() => writer.stats().usedBytes === before.usedBytes, "the memory of all logs");
    t.equal(writer.stats().logs.length, before.logs.length);
    for (const front of views) t.equal(front.stats().length, 1);
  },
);

t.test("register() says no when every slot is taken, and yes when one is free again", async (t) => {
  const { writer, views } = await setup(1);
  const [front] = views as [OpenViews];
  for (let made = 1; made < limits.logCountMax; made += 1) writer.register(`/registry/kind-${made}`);
  t.equal(await front.register("/registry/more"), false);
  t.equal(await front.register("/registry/kind-7"), true, "what is there is there");
  t.equal(await front.giveUp("/registry/kind-7"), true);
  await until(() => writer.register("/registry/more"), "a slot");
  t.equal(await front.register("/registry/kind-7"), false);
  const late = front.log("/registry/more");
  t.equal(late.drain(), 0);
});

t.test("giveUp() refuses a log with objects, ends its watches and waits for who holds it", async (t) => {
  const { writer, views, connect } = await setup(1);
  const [front] = views as [OpenViews];
  const prefix = "/registry/things";
  const source = new RecordSource();
  await front.register(prefix);
  writer.accept([under(prefix, source.next("ns", "a", false, 5000))]);
  t.equal(await front.giveUp(prefix), false, "it holds an object");
  const log = front.log(prefix);
  log.drain();
  const fanout = new Fanout();
  const sink = new FakeSink();
  const watch = { view: log, namespaced: true, namespace: "", selector: selectorOf("", "") };
  const rest = { representation: storedForm, bookmarks: false, initialEnd: undefined, timeoutMs: undefined };
  fanout.watch({ ...watch, ...rest, start: { from: "now" }, sink });
  const at = log.get("ns", "a");
  const bytes = log.object(at);
  const text = Buffer.from(bytes).toString();
  const hold = log.hold();
  writer.accept([under(prefix, source.next("ns", "a", true, 10))]);
  await until(() => sink.seen.length > 0, "the event");
  t.equal(await front.giveUp(prefix), true);
  t.throws(() => front.log(prefix), /No log is registered/);
  await until(() => sink.ended, "the end of the watch");
  t.same([sink.seen, sink.ended, fanout.watcherCount], [["DELETED a@2"], true, 0]);
  // The same prefix again, in another slot, while the old one is held.
  t.equal(await front.register(prefix), true);
  const again = front.log(prefix);
  t.not(again, log);
  t.same([log.gone, again.gone], [true, false]);
  t.equal(again.positionAfter(1), undefined, "what was watched before is gone: 410");
  writer.accept([under(prefix, source.next("ns", "b", false, 5000))]);
  again.drain();
  t.equal(scanAll(again, 0).size, 1);
  await turn();
  t.equal(Buffer.from(bytes).toString(), text, "what is held stays");
  t.equal(writer.stats().usedBytes > 0, true);
  const late = await connect();
  late.log(prefix).drain();
  t.equal(late.log(prefix).count, 1, "a front that comes late knows the new one only");
  hold.release();
  await until(() => log.count === 0 && log.head === 0, "the end of the log");
  t.same(
    [log.drain(), log.get("ns", "a"), log.positionAfter(99)],
    [3, 0, undefined],
    "it is empty for who still has it",
  );
  const later = new FakeSink();
  fanout.watch({ ...watch, ...rest, start: { from: "now" }, sink: later });
  t.equal(later.ended, true, "a watch of it ends at once");
});

t.test(
  "watchers that are behind when their log is given up get the rest of it, for as long as it is held",
  async (t) => {
    const { writer, views } = await setup(1);
    const [front] = views as [OpenViews];
    const fanout = new Fanout({ clock });
    const prefix = "/registry/things";
    const source = new RecordSource();
    const open = (log: LogView, accepts: number): FakeSink => {
      const sink = new FakeSink();
      sink.accepts = accepts;
      const watch = { view: log, namespaced: true, namespace: "", selector: selectorOf("", "") };
      const rest = { representation: storedForm, bookmarks: false, initialEnd: undefined, timeoutMs: undefined };
      fanout.watch({ ...watch, ...rest, start: { from: "now" }, sink });
      return sink;
    };
    await front.register(prefix);
    const log = front.log(prefix);
    const [slow, never, quick] = [open(log, 1), open(log, 1), open(log, Number.POSITIVE_INFINITY)];
    for (const name of ["a", "b"]) writer.accept([under(prefix, source.next("ns", name, false, 10))]);
    await until(() => slow.behind && never.behind && quick.seen.length === 2, "the first events");
    for (const name of ["a", "b"]) writer.accept([under(prefix, source.next("ns", name, true, 10))]);
    t.equal(await front.giveUp(prefix), true);
    await until(() => log.gone && quick.seen.length === 4, "events of who keeps up");
    t.same([slow.ended, never.ended], [false, false], "the others are waited for");
    slow.drain();
    await until(() => slow.seen.length === 4, "what was left");
    const told = ["ADDED a@1", "ADDED b@2", "DELETED a@3", "DELETED b@4"];
    t.same([slow.seen, quick.seen], [told, told]);
    t.ok(log.head > 0, "it is held");
    clock.ms += limits.holdMsMax + 1000;
    await until(() => log.head === 0, "the end of the log");
    fanout.tick();
    await until(() => fanout.watcherCount === 0, "the ends of the watches");
    t.same([slow.ended, quick.ended, never.seen.length < 4], [true, true, true]);
    never.drain();
    await turn();
  },
);

t.test("a front that hangs on to a log for too long, or leaves, does not keep its slot", async (t) => {
  const { writer, views, connect } = await setup(1);
  const [front] = views as [OpenViews];
  const other = await connect();
  await front.register("/registry/a");
  const held = other.log("/registry/a");
  const hold = held.hold();
  t.equal(await front.giveUp("/registry/a"), true);
  await until(() => held.gone, "the news");
  clock.ms += 6000;
  await until(() => hold.expired, "the end of the hold");
  await front.register("/registry/b");
  other.log("/registry/b").hold();
  await front.giveUp("/registry/b");
  other.close();
  for (let made = 1; made < limits.logCountMax; made += 1) writer.register(`/registry/kind-${made}`);
  await until(() => writer.register(`/registry/kind-${limits.logCountMax - 1}`), "every slot can be used");
});

t.test("giveUp() waits for changes that are under way, and expect() refuses what has no log", async (t) => {
  const { writer, views } = await setup(1);
  const [front] = views as [OpenViews];
  const prefix = "/registry/things";
  const source = new RecordSource();
  t.equal(writer.expect(prefix), false);
  await front.register(prefix);
  t.same([writer.expect(prefix), writer.expect(prefix)], [true, true]);
  t.equal(await front.giveUp(prefix), false, "two changes are under way");
  writer.settled(prefix);
  t.equal(await front.giveUp(prefix), false, "one is");
  writer.accept([under(prefix, source.next("ns", "a", false, 10))]);
  writer.settled(prefix);
  t.equal(await front.giveUp(prefix), false, "it made an object");
  t.same(writer.keysOf(prefix), [`${prefix}/ns/a`]);
  writer.accept([under(prefix, source.next("ns", "a", true, 10))]);
  t.same(writer.keysOf(prefix), []);
  t.equal(await front.giveUp(prefix), true);
  t.throws(() => writer.settled(prefix), /given up while a change of it was under way/);
  t.same(writer.keysOf(prefix), []);
});

t.test("load() fills the logs of a store whose history has more kinds than there are slots", async (t) => {
  const writer = new LogWriter({ prefixes: ["/registry/kept"], clock, historyMs: 1000 });
  t.teardown(() => writer.stop());
  const source = new RecordSource();
  const gone = limits.logCountMax + 100;
  const records: Record[] = [under("/registry/alive", source.next("ns", "a", false, 10))];
  for (let made = 0; made < gone; made += 1) {
    const prefix = `/registry/kind-${made}`;
    records.push(under(prefix, source.next("ns", "b", false, 10)), under(prefix, source.next("ns", "b", true, 10)));
  }
  // The last one comes again, and stays.
  const last = `/registry/kind-${gone - 1}`;
  records.push(under(last, source.next("ns", "c", false, 10)));
  const revision = source.revision;
  const replay = async (take: (batch: readonly Record[]) => void | Promise<void>): Promise<number> => {
    for (let from = 0; from < records.length; from += 1000) await take(records.slice(from, from + 1000));
    return revision;
  };
  t.equal(await writer.load({ floor: 0, replay }), revision);
  t.ok(writer.stats().logs.length < limits.logCountMax);
  writer.giveUpEmpty((prefix) => prefix === `/registry/kind-${gone - 2}`);
  const kept = writer.stats().logs.map(({ prefix, liveCount }) => [prefix, liveCount]);
  t.same(kept.sort(), [
    ["/registry/alive", 1],
    ["/registry/kept", 0],
    [`/registry/kind-${gone - 2}`, 0],
    [last, 1],
  ]);
  const { port1, port2 } = new MessageChannel();
  writer.connect(port1);
  const views = await openViews({ control: writer.control, port: port2, clock, holdMs: 5000, paceMs: 0 });
  t.teardown(() => views.close());
  const log = views.log(last);
  t.equal(log.drain(), revision);
  t.equal(scanAll(log, 0).size, 1);
  t.equal(views.log("/registry/alive").drain(), revision);
});

t.test("a slow watcher of a log that was given up ends, also when its peer reads on before that", async (t) => {
  const { writer, views } = await setup(1);
  const [views1] = views as [OpenViews];
  const prefix = "/registry/things";
  const source = new RecordSource();
  await views1.register(prefix);
  const log = views1.log(prefix);
  // Two looks at the clock end the time of a turn: one watcher is ended in it, the next one in a turn the test takes.
  const front = new FakeFront(log, 3);
  const quick = front.watch();
  const slow = front.watch({ accepts: 1 });
  for (const remove of [false, false, true]) {
    writer.accept([under(prefix, source.next("ns", "a", remove, 10))]);
    await until(() => front.run(1) === 0 && log.head === source.revision, "the change");
  }
  t.equal(slow.behind, true);
  t.equal(await views1.giveUp(prefix), true);
  await until(() => front.run(1) === 0 && quick.ended, "the end of who has all of it");
  t.same([slow.ended, log.head > 0], [false, true]);
  clock.ms += limits.holdMsMax + 1000;
  await until(() => log.head === 0, "the end of the log");
  slow.drain();
  t.equal(front.fanout.watcherCount, 1);
  await until(() => front.run(1) === 0 || slow.ended, "its end");
  t.end();
});

t.test("records of a kind that is not registered here have a log while there are objects of it", async (t) => {
  const { writer, views } = await setup(2);
  const [one] = views as [OpenViews];
  const source = new RecordSource();
  const stray = "/registry/stray";
  writer.accept([under(stray, source.next("ns", "a", false, 50))]);
  t.equal(one.log(stray).drain(), 1);
  t.equal(one.log(stray).count, 1);
  writer.accept([under(stray, source.next("ns", "a", true, 50))]);
  t.equal(one.find(stray), undefined, "its last object takes the log along");
  // One that is given up takes another server's late object, too, and is registered while it has it.
  t.ok(await one.register(stray));
  t.ok(await one.giveUp(stray));
  writer.accept([under(stray, source.next("ns", "b", false, 50))]);
  t.notOk(await one.giveUp(stray), "there is an object");
  t.ok(await one.register(stray));
  writer.accept([under(stray, source.next("ns", "b", true, 50))]);
  t.equal(one.log(stray).drain(), 4);
  t.equal(one.log(stray).count, 0, "what was registered stays");
});

t.test("records of one transaction have one revision, and a revision without a record is published", async (t) => {
  const { writer, views } = await setup(1);
  const [one] = views as [OpenViews];
  await one.register("/registry/a");
  const source = new RecordSource();
  const first = [source.next("ns", "a", false, 50), source.next("ns", "b", false, 50)].map((record) =>
    under("/registry/a", record),
  );
  writer.accept(first);
  const both = [source.next("ns", "a", true, 50), source.next("ns", "b", true, 50)].map((record) => ({
    ...under("/registry/a", record),
    revision: 4,
  }));
  const view = one.log("/registry/a");
  view.drain();
  const position = view.positionAfter(2);
  writer.accept(both, 9);
  t.equal(view.drain(), 9);
  t.equal(view.count, 0);
  t.equal(view.head - (position ?? 0), 2, "both are events");
  t.equal(view.positionAfter(3), position);
  t.equal(view.positionAfter(4), view.head);
  writer.accept([], 12);
  t.equal(view.drain(), 12);
  t.equal(one.revision, 12);
  t.throws(
    () =>
      writer.accept([under("/registry/a", { ...source.next("ns", "c", false, 50), revision: 12, createRevision: 12 })]),
    {
      name: "SharedStateFailure",
    },
  );
});

t.test("load() takes records of one transaction together, also where the log is over its limit", async (t) => {
  const writer = new LogWriter({ prefixes: ["/registry/pods"], clock, historyBytes: 50_000 });
  t.teardown(() => writer.stop());
  const source = new RecordSource();
  const records: Record[] = [];
  for (let revision = 1; revision <= 400; revision += 1) {
    for (const name of ["a", "b", "c"]) {
      const record = source.next("ns", name, false, 5000);
      records.push({ ...record, revision, createRevision: 1, previous: revision - 1 });
    }
  }
  const replay = async (take: (some: readonly Record[]) => void): Promise<number> => {
    take(records);
    return 400;
  };
  t.equal(await writer.load({ floor: 0, replay }), 400);
  const { port1, port2 } = new MessageChannel();
  writer.connect(port1);
  const views = await openViews({ control: writer.control, port: port2, clock });
  t.teardown(() => views.close());
  const view = views.log("/registry/pods");
  view.drain();
  t.equal(view.count, 3);
  t.ok(view.floor > 0, "some history was forgotten");
});
