// The fan-out on real logs with a short history: segments retire, records move, slow watchers fall out of the window.
// Whoever keeps up sees everything; whoever does not sees a prefix of it and a 410.
import { MessageChannel } from "node:worker_threads";
import t from "tap";
import type { Ahead, Transform } from "../../../src/cache/fanout/gather.ts";
import { encodeSelection } from "../../../src/cache/shared/selection.ts";
import { openViews } from "../../../src/cache/view/views.ts";
import { LogWriter } from "../../../src/cache/writer/writer.ts";
import { limits } from "../../../src/config/limits.ts";
import { type ChangeType, changeTypes, type Record } from "../../../src/storage/store.ts";
import { FakeFront, type FakeWatch } from "../../support/fakefront.ts";
import type { FakeSink } from "../../support/fakesink.ts";
import { random } from "../../support/random.ts";
import { prefix, TestClock, turn, until } from "../fixture.ts";

interface Seen {
  readonly type: string;
  readonly name: string;
  readonly revision: number;
  readonly on: string;
}

/** Makes changes and knows which events each value of the label `on` gets. */
class Changes {
  revision = 0;
  readonly #pick: (n: number) => number;
  readonly #live = new Map<string, { on: string; revision: number; createRevision: number }>();
  readonly all: { revision: number; name: string; before: string | undefined; after: string | undefined }[] = [];

  constructor(seed: number) {
    this.#pick = random(seed);
  }

  next(padBytes: number): Record {
    const name = `pod-${this.#pick(this.#pick(10) === 0 ? 200 : 20)}`;
    const before = this.#live.get(name);
    const remove = before !== undefined && this.#pick(6) === 0;
    const on = remove ? before.on : (["yes", "no", "maybe"][this.#pick(3)] as string);
    const revision = ++this.revision;
    const createRevision = before?.createRevision ?? revision;
    if (remove) this.#live.delete(name);
    else this.#live.set(name, { on, revision, createRevision });
    this.all.push({ revision, name, before: before?.on, after: remove ? undefined : on });
    const type: ChangeType =
      before === undefined ? changeTypes.create : remove ? changeTypes.delete : changeTypes.update;
    const head = `{"kind":"Pod","metadata":{"name":"${name}","namespace":"ns","resourceVersion":"`;
    const tail = `"},"spec":{"labels":{"on":"${on}"}},"pad":"${"x".repeat(this.#pick(padBytes))}"}`;
    return {
      revision,
      createRevision,
      previous: before?.revision ?? 0,
      type,
      prefix,
      key: `${prefix}/ns/${name}`,
      selection: encodeSelection("ns", name, new Map([["on", on]]), []),
      body: Buffer.from(`${head}${revision}${tail}`),
      versionAt: head.length,
    };
  }

  expected(on: string | undefined, from: number): Seen[] {
    const events: Seen[] = [];
    for (const { revision, name, before, after } of this.all) {
      if (revision <= from) continue;
      const was = before !== undefined && (on === undefined || before === on);
      const is = after !== undefined && (on === undefined || after === on);
      if (!was && !is) continue;
      const type = !was ? "ADDED" : is ? "MODIFIED" : "DELETED";
      events.push({ type, name, revision, on: (is ? after : before) as string });
    }
    return events;
  }
}

function seenBy(sink: FakeSink): { events: Seen[]; expired: boolean } {
  const events = sink.events.map(({ type, name, revision, labels }) => ({
    type,
    name,
    revision,
    on: labels["on"] ?? "",
  }));
  const expired = events.at(-1)?.type === "ERROR";
  return { events: expired ? events.slice(0, -1) : events, expired };
}

/** A form whose objects are there some time after they were asked for, and are forgotten again. */
class LateForm {
  waits = 0;
  readonly #ready = new Set<number>();
  #waiting: (() => void)[] = [];

  get isAwaited(): boolean {
    return this.#waiting.length > 0;
  }

  readonly transform: Transform = (object, view, at) => {
    if (at !== 0 && !this.#ready.has(view.revisionOf(at))) throw new Error("An object was written that is not there");
    return object;
  };

  readonly ahead: Ahead = (view, records) => {
    const missing = records.map((at) => view.revisionOf(at)).filter((revision) => !this.#ready.has(revision));
    if (missing.length === 0) return undefined;
    this.waits += 1;
    return new Promise((resolve) => {
      this.#waiting.push(() => {
        for (const revision of missing) this.#ready.add(revision);
        resolve(undefined);
      });
    });
  };

  provide(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  forget(): void {
    this.#ready.clear();
  }
}

const histories = [
  { padBytes: 400, historyMs: 3000, historyBytes: 1e9 },
  { padBytes: 12_000, historyMs: 1e9, historyBytes: 12e6 },
];

for (const { padBytes, historyMs, historyBytes } of histories) {
  t.test(`watchers of a real log see everything or a 410, history ${historyMs} ms and ${historyBytes} B`, async (t) => {
    const seed = 20_261_121 + padBytes;
    const pick = random(seed);
    const clock = new TestClock();
    const writer = new LogWriter({ prefixes: [prefix], clock, historyMs, historyBytes });
    const { port1, port2 } = new MessageChannel();
    writer.connect(port1);
    const views = await openViews({ control: writer.control, port: port2, clock });
    const front = new FakeFront(views.log(prefix));
    const changes = new Changes(seed);
    const open: { sink: FakeSink; on: string | undefined; from: number; slow: boolean }[] = [];
    const late = new LateForm();
    const watch = (from: number, on: string | undefined, slow: boolean): void => {
      const isLate = pick(4) === 0;
      const wishes: FakeWatch = {
        ...(on === undefined ? {} : { labels: `on=${on}` }),
        ...(slow ? { accepts: 1 } : {}),
        ...(isLate ? { transform: late.transform, ahead: late.ahead } : {}),
        bookmarks: false,
        start: { from: "revision", revision: from },
      };
      // What waits is behind, too.
      open.push({ sink: front.watch(wishes), on, from, slow: slow || isLate });
    };
    for (let step = 0; step < 400; step += 1) {
      if (step % 8 === 0)
        watch(Math.max(0, changes.revision - pick(20)), [undefined, "yes", "no"][pick(3)], pick(2) === 0);
      for (let count = 1 + pick(30); count > 0; count -= 1) writer.append(changes.next(padBytes));
      writer.publish(changes.revision);
      clock.ms += 50;
      for (let i = 0; i < 20 && writer.tend(); i += 1);
      if (pick(3) === 0) await turn();
      if (pick(3) === 0) front.run(1);
      if (pick(2) === 0) late.provide();
      if (pick(8) === 0) late.forget();
      for (const { sink } of open) if (pick(20) === 0) sink.drain(1);
      if (pick(10) === 0) front.pass(limits.watchSweepMs);
    }
    await until(() => views.log(prefix).drain() === changes.revision, "the last change");
    await turn();
    await turn();
    for (let round = 0; round < 1000; round += 1) {
      const turns = front.run();
      late.provide();
      await turn();
      if (turns === 0 && !late.isAwaited && !open.some(({ sink }) => sink.behind)) break;
      for (const { sink } of open) sink.drain();
    }
    let expiries = 0;
    for (const { sink, on, from, slow } of open) {
      const { events, expired } = seenBy(sink);
      const wanted = changes.expected(on, Math.max(from, 0));
      if (expired) expiries += 1;
      // Who starts in the past may find it gone; who is in step never does.
      if (expired) t.ok(slow || events.length === 0, `410 only behind: ${JSON.stringify({ on, from, slow })}`);
      t.same(events, expired ? wanted.slice(0, events.length) : wanted, JSON.stringify({ on, from, slow, expired }));
    }
    t.ok(late.waits > 10, "some had to wait");
    t.ok(expiries > 0, "some fell out of the window");
    t.ok(expiries < open.length / 2, "most did not");
    t.ok(views.log(prefix).floor > 0, "the history was cut");
    views.close();
    writer.stop();
  });
}
