import t from "tap";
import { AssertionFailure } from "../../../src/base/assert.ts";
import { limits } from "../../../src/config/limits.ts";
import { FakeFront } from "../../support/fakefront.ts";
import { FakeLog } from "../../support/fakelog.ts";

const a = { namespace: "n1", name: "a" };
const b = { namespace: "n1", name: "b" };
const c = { namespace: "n2", name: "c" };

/** Tells of what was written, and lets the front work. */
function news(log: FakeLog, front: FakeFront): void {
  log.news();
  front.run();
}

t.test("a watch of everything gets every change once, in order, in one write per pass", (t) => {
  const log = new FakeLog();
  const front = new FakeFront(log);
  const sinks = [front.watch(), front.watch(), front.watch()];
  log.put(a);
  log.put(c);
  log.put(a);
  log.delete(c);
  news(log, front);
  for (const sink of sinks) {
    t.same(sink.seen, ["ADDED a@101", "ADDED c@102", "MODIFIED a@103", "DELETED c@104"]);
    t.equal(sink.chunks.length, 1);
  }
  t.match(front.fanout.counts().get(log.prefix), {
    watchers: 3,
    groups: 1,
    events: 12,
    bytes: sinks.reduce((sum, sink) => sum + sink.text.length, 0),
    initEvents: 0,
    bookmarks: 0,
    terminated: 0,
    expired: 0,
  });
  t.end();
});

t.test("moves are no events", (t) => {
  const log = new FakeLog();
  const front = new FakeFront(log);
  const whole = front.watch();
  const filtered = front.watch({ namespace: "n1" });
  log.put(a);
  log.move(a);
  log.put(b);
  log.move(a);
  log.move(b);
  news(log, front);
  for (const sink of [whole, filtered]) t.same(sink.seen, ["ADDED a@101", "ADDED b@102"]);
  log.put(a);
  news(log, front);
  for (const sink of [whole, filtered]) t.equal(sink.seen.at(-1), "MODIFIED a@103");
  t.end();
});

t.test("filters let through what they select", (t) => {
  const log = new FakeLog();
  const front = new FakeFront(log);
  const cases: readonly (readonly [wishes: Parameters<FakeFront["watch"]>[0], seen: readonly string[]])[] = [
    [{ namespace: "n1" }, ["ADDED a@101", "ADDED b@102", "DELETED b@105"]],
    [{ namespace: "n2" }, ["ADDED c@103", "MODIFIED c@104"]],
    [{ namespace: "n3" }, []],
    [{ fields: "metadata.namespace=n2" }, ["ADDED c@103", "MODIFIED c@104"]],
    [{ namespace: "n1", fields: "metadata.name=b" }, ["ADDED b@102", "DELETED b@105"]],
    [{ fields: "metadata.name=c" }, ["ADDED c@103", "MODIFIED c@104"]],
    [{ fields: "metadata.name!=a" }, ["ADDED b@102", "ADDED c@103", "MODIFIED c@104", "DELETED b@105"]],
    [{ fields: "spec.nodeName=w1" }, ["ADDED b@102", "ADDED c@104", "DELETED b@105"]],
    [{ fields: "spec.nodeName=" }, ["ADDED a@101", "ADDED c@103", "DELETED c@104"]],
    [{ labels: "on=yes" }, ["ADDED a@101", "ADDED c@104"]],
    [{ labels: "on in (yes,no)" }, ["ADDED a@101", "ADDED b@102", "ADDED c@104", "DELETED b@105"]],
    [{ labels: "!on" }, ["ADDED c@103", "DELETED c@104"]],
    [{ labels: "on=yes", namespace: "n2" }, ["ADDED c@104"]],
    [{ labels: "on!=yes" }, ["ADDED b@102", "ADDED c@103", "DELETED c@104", "DELETED b@105"]],
  ];
  const sinks = cases.map(([wishes]) => front.watch(wishes));
  log.put({ ...a, labels: { on: "yes" } });
  log.put({ ...b, labels: { on: "no" }, fields: { "spec.nodeName": "w1" } });
  log.put(c);
  log.put({ ...c, labels: { on: "yes" }, fields: { "spec.nodeName": "w1" } });
  log.delete({ ...b, labels: { on: "no" }, fields: { "spec.nodeName": "w1" } });
  news(log, front);
  for (const [index, [wishes, seen]] of cases.entries()) {
    t.same(sinks[index]?.seen, seen, JSON.stringify(wishes));
    t.ok((sinks[index]?.chunks.length ?? 9) <= 1, "one write");
  }
  t.end();
});

t.test(
  "leaving a selector is DELETED with the state before and the new version, entering ADDED with the new state",
  (t) => {
    const log = new FakeLog("/registry/things", 98);
    const front = new FakeFront(log);
    const transform = (object: Uint8Array) => Buffer.from(Buffer.from(object).toString().replace("Thing", "Other"));
    for (const wishes of [{ labels: "on=yes" }, { labels: "on=yes", transform }]) {
      log.put({ ...a, labels: { on: "yes", was: "first" } });
      const sink = front.watch(wishes);
      const leftAt = log.put({ ...a, labels: { on: "no", was: "second" } });
      log.put({ ...a, labels: { on: "no", was: "third" } });
      const backAt = log.put({ ...a, labels: { on: "yes", was: "fourth" } });
      const goneAt = log.delete({ ...a, labels: { on: "yes", was: "fourth" } });
      news(log, front);
      t.same(
        sink.events.map(({ type, revision, labels }) => [type, revision, labels["was"]]),
        [
          ["DELETED", leftAt, "first"],
          ["ADDED", backAt, "fourth"],
          ["DELETED", goneAt, "fourth"],
        ],
      );
      t.equal(sink.text.includes('"kind":"Other"'), "transform" in wishes);
    }
    t.end();
  },
);

t.test("a record is transformed once for all groups that want its other form", (t) => {
  const log = new FakeLog();
  const front = new FakeFront(log);
  let transformed = 0;
  const transform = (object: Uint8Array) => {
    transformed += 1;
    return Buffer.from(Buffer.from(object).toString().replace("Thing", "Other"));
  };
  const sinks = ["", "on=yes", "on"].map((labels) => front.watch({ labels, transform }));
  const plain = front.watch({ labels: "on" });
  log.put({ ...a, labels: { on: "yes" } });
  log.put({ ...b, labels: { on: "no" } });
  news(log, front);
  t.equal(transformed, 2);
  t.same(
    sinks.map(({ seen }) => seen.length),
    [2, 1, 2],
  );
  for (const sink of sinks) t.ok(sink.text.includes('"kind":"Other"') && !sink.text.includes('"kind":"Thing"'));
  t.notOk(plain.text.includes("Other"));
  t.end();
});

t.test("a delete is judged by the state before it", (t) => {
  const log = new FakeLog();
  const front = new FakeFront(log);
  log.put({ ...a, labels: { on: "yes" } });
  const yes = front.watch({ labels: "on=yes" });
  const no = front.watch({ labels: "on=no" });
  log.delete({ ...a, labels: { on: "no" } });
  news(log, front);
  t.same(yes.seen, ["DELETED a@102"]);
  t.same(no.seen, []);
  t.end();
});

t.test("the state at the start comes as ADDED in the order of keys, then the changes", (t) => {
  const log = new FakeLog();
  log.put(c);
  log.put(b);
  log.put(a);
  log.put(a);
  log.delete(b);
  const front = new FakeFront(log);
  const sink = front.watch({ start: { from: "state" } });
  const one = front.watch({ start: { from: "state" }, namespace: "n1", fields: "metadata.name=a" });
  const none = front.watch({ start: { from: "state" }, namespace: "n1", fields: "metadata.name=x" });
  const named = front.watch({ start: { from: "state" }, fields: "metadata.name=c" });
  log.put(b);
  news(log, front);
  t.same(sink.seen, ["ADDED a@104", "ADDED c@101", "ADDED b@106"]);
  t.same(one.seen, ["ADDED a@104"]);
  t.same(none.seen, []);
  t.same(named.seen, ["ADDED c@101"]);
  t.equal(front.fanout.counts().get(log.prefix)?.initEvents, 4);
  t.end();
});

t.test("a long initial state is written in steps under backpressure, as of its start", (t) => {
  const log = new FakeLog();
  const padding = Math.floor(limits.sliceBytesMax / 10);
  const names = Array.from({ length: 100 }, (_, index) => `o${String(index).padStart(3, "0")}`);
  for (const name of names) log.put({ namespace: "n1", name, padding });
  const front = new FakeFront(log);
  const sink = front.watch({ start: { from: "state" }, accepts: 1, initialEnd: true });
  const end = log.revision;
  t.equal(sink.chunks.length, 1);
  for (const name of names.slice(50)) log.delete({ namespace: "n1", name });
  log.put({ namespace: "n0", name: "early" });
  news(log, front);
  t.equal(sink.chunks.length, 1, "nothing while behind");
  for (let turn = 0; turn < 100 && sink.behind; turn += 1) {
    sink.drain(1);
    front.run();
  }
  const seen = sink.seen;
  t.same(
    seen.slice(0, 100),
    names.map((name, index) => `ADDED ${name}@${101 + index}`),
  );
  t.equal(seen[100], `BOOKMARK @${end}`);
  t.same(seen.slice(101), [...names.slice(50).map((name, i) => `DELETED ${name}@${201 + i}`), "ADDED early@251"]);
  t.ok(sink.chunks.every((chunk) => chunk.length < limits.sliceBytesMax * 2));
  t.end();
});

/** Objects that fill a slice each, so that a watch of all of them has some steps to go. */
function fill(log: FakeLog): void {
  for (let index = 0; index < 4; index += 1) log.put({ ...a, name: `a${index}`, padding: limits.sliceBytesMax });
}

t.test("watches that read their state take turns by user", (t) => {
  const log = new FakeLog();
  fill(log);
  log.put(c);
  // Four looks at the clock are all of a turn's time.
  const front = new FakeFront(log, 1);
  const heavy = Array.from({ length: 20 }, () => front.watch({ start: { from: "state" }, user: "heavy" }));
  const light = front.watch({ start: { from: "state" }, namespace: "n2", user: "light" });
  t.same(light.seen, [], "others read theirs");
  front.run(1);
  t.same(light.seen, ["ADDED c@105"], "its turn is the next one");
  t.ok(heavy.filter(({ seen }) => seen.length > 0).length < 5, "the others have most of theirs to come");
  front.run();
  for (const { seen } of heavy) t.equal(seen.length, 5);
  t.equal(front.fanout.late(100).length, 0);
  t.end();
});

t.test("watches that left before their turn are passed over", (t) => {
  const log = new FakeLog();
  fill(log);
  const front = new FakeFront(log, 1);
  const all = Array.from({ length: 6 }, (_, index) =>
    front.watch({ start: { from: "state" }, user: index % 2 === 0 ? "even" : "odd" }),
  );
  front.run(1);
  for (const { gone } of all.slice(0, 5)) gone();
  front.run();
  t.equal(all[5]?.seen.length, 4);
  const again = front.watch({ start: { from: "state" }, user: "even" });
  front.run();
  t.equal(again.seen.length, 4);
  t.equal(front.fanout.watcherCount, 2);
  t.end();
});

t.test("peers that take bytes again all at once get theirs in the time of as many turns as it takes", (t) => {
  const log = new FakeLog();
  fill(log);
  const front = new FakeFront(log, 1);
  const all = Array.from({ length: 20 }, () => front.watch({ start: { from: "state" }, accepts: 1 }));
  front.run();
  for (const sink of all) {
    t.equal(sink.seen.length, 1);
    sink.drain();
  }
  t.equal(all.filter(({ seen }) => seen.length > 1).length, 0, "nothing at once");
  front.run(1);
  t.ok(all.filter(({ seen }) => seen.length > 1).length < 5);
  front.run();
  for (const { seen } of all) t.equal(seen.length, 4);
  t.end();
});

t.test("slices are the smaller the more watches are behind, and whole where time is left for one alone", (t) => {
  const object = 16 * 1024;
  for (const lookMs of [0, 5]) {
    const log = new FakeLog();
    for (let index = 10; index < 74; index += 1) log.put({ ...a, name: `a${index}`, padding: object });
    const front = new FakeFront(log, lookMs);
    const [, ...others] = Array.from({ length: 30 }, () => front.watch({ start: { from: "state" } }));
    // The first one has had a slice, and has the first of the turns.
    front.run(lookMs === 0 ? 1 : 2);
    const sizes = others.flatMap(({ chunks }) => chunks.map(({ length }) => length));
    const expected = lookMs === 0 ? limits.catchUpBytesMax / 30 : limits.sliceBytesMax;
    t.ok(lookMs === 0 ? sizes.length > 20 : sizes.length === 1, `${sizes.length} slices`);
    for (const size of sizes) t.ok(size >= expected && size < expected + 2 * object, `${size} bytes`);
    front.run();
    for (const { seen } of others) t.equal(seen.length, 64);
  }
  t.end();
});

t.test("logs share the time of a turn, and those that find none left are the first ones of the next", (t) => {
  const logs = Array.from({ length: 10 }, (_, index) => new FakeLog(`/registry/things${index}`));
  const front = new FakeFront(logs[0] as FakeLog, 1);
  const watches = logs.map((log) => {
    fill(log);
    return [0, 1].map(() => front.watch({ start: { from: "state" }, log }));
  });
  const steps = (): number => watches.flat().reduce((sum, { seen }) => sum + seen.length, 0);
  const first = steps();
  t.equal(first, 10, "the first watch of each has its first slice");
  for (let turn = 1; turn <= 10; turn += 1) {
    front.run(1);
    t.ok(steps() - first <= 4 * turn, `${steps() - first} slices in ${turn} turns`);
  }
  t.ok(
    watches.every(([one, other]) => (one?.seen.length ?? 0) + (other?.seen.length ?? 0) > 1),
    "each log has had a turn",
  );
  front.run();
  for (const { seen } of watches.flat()) t.equal(seen.length, 4);
  t.end();
});

t.test("a watch resumes from a revision it saw, and one too old ends with 410", (t) => {
  const log = new FakeLog();
  log.put(a);
  log.put(b);
  log.put(a);
  const front = new FakeFront(log);
  const resumed = front.watch({ start: { from: "revision", revision: 101 } });
  const newest = front.watch({ start: { from: "revision", revision: 103 } });
  const floor = front.watch({ start: { from: "revision", revision: 100 }, namespace: "n1" });
  const old = front.watch({ start: { from: "revision", revision: 99 } });
  log.delete(b);
  news(log, front);
  t.same(resumed.seen, ["ADDED b@102", "MODIFIED a@103", "DELETED b@104"]);
  t.same(newest.seen, ["DELETED b@104"]);
  t.same(floor.seen, ["ADDED a@101", "ADDED b@102", "MODIFIED a@103", "DELETED b@104"]);
  t.same(JSON.parse(old.text), {
    type: "ERROR",
    object: {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: "too old resource version: 99 (100)",
      reason: "Expired",
      code: 410,
    },
  });
  t.ok(old.ended);
  t.equal(front.fanout.counts().get(log.prefix)?.expired, 1);
  t.equal(front.fanout.watcherCount, 3);
  t.end();
});

t.test("a watch of the future starts when its revision has passed", (t) => {
  const log = new FakeLog();
  const front = new FakeFront(log);
  const sink = front.watch({ start: { from: "revision", revision: 102 }, bookmarks: true });
  log.put(a);
  log.put(a);
  news(log, front);
  front.pass(70_000);
  t.same(sink.seen, []);
  log.put(a);
  news(log, front);
  t.same(sink.seen, ["MODIFIED a@103"]);
  t.end();
});

t.test("a slow watcher leaves the group, catches up from the log and joins again; no other watcher notices", (t) => {
  for (const wishes of [{}, { namespace: "n1" }]) {
    const log = new FakeLog();
    const front = new FakeFront(log);
    const slow = front.watch({ ...wishes, accepts: 1 });
    const fast = front.watch(wishes);
    for (let round = 0; round < 20; round += 1) {
      for (let write = 0; write < 50; write += 1) log.put(a);
      news(log, front);
      t.equal(fast.events.length, 50 * (round + 1));
    }
    t.equal(slow.events.length, 50);
    slow.drain(2);
    front.run();
    t.ok(slow.behind, "two writes and it is behind again");
    slow.drain();
    front.run();
    t.same(slow.seen, fast.seen);
    log.put(a);
    news(log, front);
    t.same(slow.seen.at(-1), fast.seen.at(-1));
    t.equal(front.fanout.counts().get(log.prefix)?.groups, 1);
  }
  t.end();
});

t.test("a watcher the log has passed ends with 410 when it can be written to again", (t) => {
  for (const wishes of [{}, { labels: "!x" }]) {
    const log = new FakeLog();
    const front = new FakeFront(log);
    const slow = front.watch({ ...wishes, accepts: 1 });
    for (let write = 0; write < 10; write += 1) {
      log.put(a);
      news(log, front);
    }
    log.recycle(5, 105);
    front.pass(1000);
    t.notOk(slow.ended);
    slow.drain();
    front.run();
    t.same(slow.seen, ["ADDED a@101", "ERROR too old resource version: 101 (105)@410"]);
    t.ok(slow.ended);
    t.equal(front.fanout.watcherCount, 0);
  }
  t.end();
});

t.test("a watcher that never drains is cut off, by time and by lag", (t) => {
  const log = new FakeLog();
  const front = new FakeFront(log);
  const stuck = front.watch({ accepts: 1 });
  const fine = front.watch();
  log.put(a);
  news(log, front);
  front.pass(limits.watchStallMsMax - 1000);
  t.notOk(stuck.aborted);
  front.pass(2000);
  t.ok(stuck.aborted);
  const lagging = front.watch({ accepts: 1 });
  const padding = 1024 * 1024;
  for (let written = 0; written <= limits.watchLagBytesMax + 3 * padding; written += padding) {
    log.put({ ...a, padding });
    news(log, front);
  }
  front.pass(1000);
  t.ok(lagging.aborted);
  t.notOk(fine.aborted || fine.ended);
  t.equal(front.fanout.counts().get(log.prefix)?.terminated, 2);
  t.end();
});

t.test("a pass is bounded in records and bytes and never skips", (t) => {
  const log = new FakeLog();
  const front = new FakeFront(log);
  const whole = front.watch();
  const filtered = front.watch({ namespace: "n1" });
  for (let write = 0; write < 2000; write += 1) log.put({ ...a, padding: 3000 });
  log.news();
  t.equal(whole.chunks.length, 1, "one write, then the loop gets a turn");
  front.run();
  for (const sink of [whole, filtered]) {
    t.equal(sink.events.length, 2000);
    t.same(
      sink.events.map((event) => event.revision),
      Array.from({ length: 2000 }, (_, i) => 101 + i),
    );
    t.ok(sink.chunks.every((chunk) => chunk.length <= limits.sliceBytesMax + 4000));
  }
  const alone = new FakeFront(log);
  const only = alone.watch({ namespace: "n1", start: { from: "revision", revision: 100 } });
  alone.run();
  t.equal(only.events.length, 2000);
  t.end();
});

t.test(
  "a pass gives way between records, groups and watchers, and each watcher gets each change once, in order",
  (t) => {
    const log = new FakeLog();
    const front = new FakeFront(log, 1);
    const sinks = [
      ...Array.from({ length: 40 }, () => front.watch()),
      ...Array.from({ length: 40 }, (_, index) => front.watch({ labels: `x!=${index}` })),
      ...Array.from({ length: 10 }, () => front.watch({ namespace: "n1", accepts: 1 })),
    ];
    front.run();
    for (let write = 0; write < 10; write += 1) log.put(a);
    log.news();
    const unwritten = sinks.filter(({ chunks }) => chunks.length === 0);
    t.ok(unwritten.length > 60, "one turn does not write to all");
    const leaver = unwritten[0];
    leaver?.gone();
    const late = front.watch();
    t.same(late.seen, [], "a watch from now on gets no older change");
    t.ok(front.run() > 10, "many turns do");
    log.put(a);
    log.news();
    front.run();
    for (const sink of sinks) sink.drain();
    front.run();
    const revisions = Array.from({ length: 11 }, (_, index) => 101 + index);
    for (const sink of sinks) {
      const seen = sink.events.map(({ revision }) => revision);
      if (sink === leaver) t.same(seen, []);
      else t.same(seen, revisions);
    }
    t.same(
      late.events.map(({ revision }) => revision),
      [111],
    );
    t.end();
  },
);

t.test("what a pass takes of a turn grows while watchers in step are behind, and shrinks when they are not", (t) => {
  const log = new FakeLog();
  const front = new FakeFront(log, 1);
  for (let made = 0; made < 400; made += 1) front.watch();
  front.run();
  const turn = (): number => {
    const before = front.time;
    front.run(1);
    return front.time - before;
  };
  log.put(a);
  log.news();
  t.ok(turn() < 10, "at first a turn is short");
  const turns = Array.from({ length: 20 }, turn);
  t.ok(Math.max(...turns) > limits.passMsMax - 2, "it grows");
  t.ok(Math.max(...turns) < 20, "to less than a turn may be");
  front.run();
  log.put(a);
  log.news();
  t.ok(turn() < 10, "and is short again once all had everything");
  front.run();
  t.end();
});

t.test("one object above the size of a slice goes out whole", (t) => {
  const log = new FakeLog();
  const front = new FakeFront(log);
  const padding = limits.sliceBytesMax * 3;
  const sinks = [front.watch(), front.watch({ namespace: "n1" }), front.watch({ labels: "!x" })];
  log.put(a);
  log.put({ ...a, padding });
  log.put(a);
  news(log, front);
  for (const sink of sinks) t.same(sink.seen, ["ADDED a@101", "MODIFIED a@102", "MODIFIED a@103"]);
  t.end();
});

t.test("bookmarks come about each minute, tell of what was sent, and only who asked gets them", (t) => {
  const log = new FakeLog();
  const front = new FakeFront(log);
  const asked = front.watch({ bookmarks: true });
  const silent = front.watch();
  const filtered = front.watch({ bookmarks: true, namespace: "n9" });
  front.pass(limits.bookmarkMs * 1.2);
  t.same(asked.seen, [], "nothing new since the start");
  log.put(a);
  news(log, front);
  log.revision += 5;
  front.pass(limits.bookmarkMs * 1.2);
  t.same(asked.seen, ["ADDED a@101", "BOOKMARK @106"]);
  t.same(filtered.seen, ["BOOKMARK @106"]);
  t.same(silent.seen, ["ADDED a@101"]);
  t.end();
});

t.test("a bookmark is never ahead of events that wait", (t) => {
  const log = new FakeLog();
  const front = new FakeFront(log);
  const slow = front.watch({ bookmarks: true, accepts: 1 });
  log.put(a);
  log.put(a);
  news(log, front);
  log.put(b);
  news(log, front);
  front.pass(limits.watchStallMsMax - 1000);
  slow.drain(1);
  front.pass(limits.watchStallMsMax - 1000);
  slow.drain();
  front.pass(limits.bookmarkMs);
  t.same(slow.seen, ["ADDED a@101", "MODIFIED a@102", "ADDED b@103", "BOOKMARK @103"]);
  t.end();
});

t.test("a watch ends by its timeout with a last bookmark, and by itself between 30 and 60 minutes", (t) => {
  const log = new FakeLog();
  const front = new FakeFront(log);
  const short = front.watch({ timeoutMs: 1000, bookmarks: true });
  const plain = front.watch({ timeoutMs: 1000 });
  const long = front.watch();
  log.put(a);
  news(log, front);
  front.pass(900);
  t.notOk(short.ended);
  front.pass(200);
  t.ok(short.ended);
  t.ok(plain.ended);
  t.same(short.seen, ["ADDED a@101", "BOOKMARK @101"]);
  t.same(plain.seen, ["ADDED a@101"]);
  front.time += limits.watchMsMin;
  front.pass(1000);
  t.notOk(long.ended);
  front.time += limits.watchMsMin / 2;
  front.pass(1000);
  t.ok(long.ended);
  t.end();
});

t.test("closeAll() ends all watches, oldest first, at the rate given, each with a last bookmark", async (t) => {
  const log = new FakeLog();
  const front = new FakeFront(log);
  const ends: number[] = [];
  const sinks = Array.from({ length: 25 }, (_, index) => {
    const sink = front.watch({ bookmarks: index % 2 === 0 });
    sink.end = () => {
      sink.ended = true;
      ends.push(index);
    };
    return sink;
  });
  log.put(a);
  const start = performance.now();
  await front.fanout.closeAll(100);
  t.ok(performance.now() - start >= 2 * limits.watchTickMs - 20);
  t.same(
    ends,
    sinks.map((_, index) => index),
  );
  t.same(sinks[0]?.seen, ["ADDED a@101", "BOOKMARK @101"]);
  t.same(sinks[1]?.seen, ["ADDED a@101"]);
  t.equal(log.followers, 0, "no watcher follows the log any more");
  t.end();
});

t.test("a client that goes away leaves nothing behind", (t) => {
  const log = new FakeLog();
  const front = new FakeFront(log);
  const [first, second, third] = [front.watch(), front.watch(), front.watch({ labels: "x" })];
  first?.gone();
  log.put(a);
  news(log, front);
  t.same(first?.seen, []);
  t.same(second?.seen, ["ADDED a@101"]);
  second?.gone();
  third?.gone();
  third?.gone();
  t.equal(front.fanout.watcherCount, 0);
  t.equal(log.followers, 0);
  t.equal(front.fanout.counts().get(log.prefix)?.events, 1, "the counts stay");
  t.end();
});

t.test("a client that goes away while it is written to disturbs no other watcher", (t) => {
  const log = new FakeLog();
  const front = new FakeFront(log);
  const sinks = [front.watch(), front.watch(), front.watch(), front.watch()];
  const [first, second] = sinks;
  if (first === undefined || second === undefined) throw new Error("No sinks");
  const write = first.write.bind(first);
  first.write = (chunk) => {
    second.gone();
    first.gone();
    return write(chunk);
  };
  for (let round = 0; round < 3; round += 1) {
    log.put(a);
    news(log, front);
  }
  t.same(second.seen, []);
  t.same(first.seen, ["ADDED a@101"]);
  for (const sink of sinks.slice(2)) t.same(sink.seen, ["ADDED a@101", "MODIFIED a@102", "MODIFIED a@103"]);
  t.equal(front.fanout.watcherCount, 2);
  t.end();
});

t.test("a record that cannot be written as some watchers want it ends them with 500, and no others", (t) => {
  const log = new FakeLog();
  const front = new FakeFront(log);
  const failed: unknown[] = [];
  const put = (name: string): void => {
    log.put({ namespace: "ns", name, labels: { on: "yes" } });
    log.news();
  };
  front.failed = (error) => failed.push(error);
  const transform = (object: Uint8Array): Uint8Array => {
    if (Buffer.from(object).includes('"name":"bad"')) throw new AssertionFailure("An object of some watchers");
    return object;
  };
  const plain = front.watch();
  const other = front.watch({ transform });
  const filtered = front.watch({ transform, labels: "on=yes" });
  put("good");
  front.run();
  for (const sink of [plain, other, filtered]) t.match(sink.text, /"name":"good"/);
  put("bad");
  front.run();
  for (const sink of [other, filtered]) {
    t.match(sink.text, /{"type":"ERROR","object":{[^\n]*"code":500}}\n$/);
    t.ok(sink.ended);
  }
  put("later");
  front.run();
  t.match(plain.text, /"name":"later"/);
  const state = front.watch({ transform, start: { from: "state" } });
  front.run();
  t.match(state.text, /"code":500}}\n$/, "nor does one that begins with the state hold up others");
  t.ok(state.ended);
  t.equal(failed.length, 3);
  t.equal(front.fanout.watcherCount, 1);
  t.end();
});
