// Random traffic against a model: every watcher, whatever it selects and however slowly it reads, sees exactly the
// events the selection's meaning gives it, in order, without gap or duplicate, and no bookmark ahead of an event.
import t, { type Test } from "tap";
import { matchesFields, matchesLabels } from "../../src/api/selector.ts";
import { FakeFront, type FakeWatch, selectorOf } from "../support/fakefront.ts";
import { FakeLog, type FakeObject } from "../support/fakelog.ts";
import type { FakeSink } from "../support/fakesink.ts";
import { random } from "../support/random.ts";

interface Change {
  readonly revision: number;
  readonly before: FakeObject | undefined;
  /** Undefined: deleted. */
  readonly after: FakeObject | undefined;
}

interface Watched {
  readonly sink: FakeSink;
  readonly wishes: FakeWatch;
  readonly from: number;
  readonly initial: readonly string[];
}

const wishlist: readonly FakeWatch[] = [
  {},
  { namespace: "n1" },
  { labels: "on=yes" },
  { labels: "on in (yes,maybe)", namespace: "n2" },
  { labels: "!on" },
  { labels: "on notin (yes)" },
  { labels: "n>2" },
  { fields: "spec.node=w1" },
  { fields: "spec.node!=w1" },
  { fields: "spec.node=" },
  { fields: "spec.node=w2", namespace: "n1", labels: "on=yes" },
  { fields: "metadata.name=o3" },
  { fields: "metadata.name=o3", namespace: "n1" },
  { fields: "metadata.name=o3,metadata.namespace=n2", labels: "on" },
];

function selects(wishes: FakeWatch, object: FakeObject | undefined): boolean {
  if (object === undefined) return false;
  const selector = selectorOf(wishes.labels ?? "", wishes.fields ?? "");
  const fields = new Map(Object.entries(object.fields ?? {}));
  fields.set("metadata.name", object.name).set("metadata.namespace", object.namespace);
  return (
    (wishes.namespace === undefined || wishes.namespace === object.namespace) &&
    matchesLabels(selector.labels, new Map(Object.entries(object.labels ?? {}))) &&
    matchesFields(selector.fields, fields)
  );
}

function expected(wishes: FakeWatch, changes: readonly Change[], from: number): string[] {
  const events: string[] = [];
  for (const { revision, before, after } of changes) {
    if (revision <= from) continue;
    const was = selects(wishes, before);
    const is = selects(wishes, after);
    const shown = is ? after : before;
    if (!was && !is) continue;
    const type = !was ? "ADDED" : is ? "MODIFIED" : "DELETED";
    events.push(`${type} ${shown?.namespace}/${shown?.name}@${revision} ${JSON.stringify(shown?.labels)}`);
  }
  return events;
}

class Traffic {
  readonly log = new FakeLog();
  readonly front: FakeFront;
  readonly changes: Change[] = [];
  readonly live = new Map<string, FakeObject>();
  readonly watched: Watched[] = [];
  readonly pick: (n: number) => number;

  constructor(seed: number) {
    this.pick = random(seed);
    // Two of three are in a hurry: their passes give way after a few records, groups or watchers.
    this.front = new FakeFront(this.log, [0, 1, 4][seed % 3]);
    this.log.runRecords = 1 + this.pick(20);
  }

  step(): void {
    const { pick, front, log } = this;
    const dice = pick(20);
    if (dice < 10) this.write();
    else if (dice < 12) log.drain();
    else if (dice < 14) log.news();
    else if (dice < 15) front.run(1 + pick(3));
    else if (dice < 16) this.open();
    else if (dice < 17) this.move();
    else if (dice < 18) front.pass(pick(3) === 0 ? 70_000 : 100);
    else if (dice < 19) this.readSome();
    else if (pick(4) === 0) log.revision += 1;
  }

  write(): void {
    const { pick, log, live } = this;
    const key = `n${1 + pick(3)}/o${pick(6)}`;
    const [namespace = "", name = ""] = key.split("/");
    const before = live.get(key);
    const labels: Record<string, string> = {};
    if (pick(4) > 0) labels["on"] = ["yes", "no", "maybe"][pick(3)] ?? "";
    if (pick(2) > 0) labels["n"] = String(pick(5));
    const fields = { "spec.node": ["", "w1", "w2"][pick(3)] ?? "" };
    if (before !== undefined && pick(3) === 0) {
      this.changes.push({ revision: log.delete(before), before, after: undefined });
      live.delete(key);
      return;
    }
    const after: FakeObject = { namespace, name, labels, fields, padding: pick(10) === 0 ? 60_000 : 0 };
    this.changes.push({ revision: log.put(after), before, after });
    live.set(key, after);
  }

  move(): void {
    const object = [...this.live.values()][this.pick(Math.max(this.live.size, 1))];
    if (object !== undefined) this.log.move(object);
  }

  open(): void {
    const { pick, log, front } = this;
    const kind = pick(3);
    const revision = kind === 1 ? log.floor + pick(log.revision - log.floor + 3) : log.revision;
    const wishes: FakeWatch = {
      ...wishlist[pick(wishlist.length)],
      bookmarks: pick(2) === 0,
      accepts: pick(2) === 0 ? Number.POSITIVE_INFINITY : 1 + pick(4),
      start: kind === 0 ? { from: "state" } : kind === 1 ? { from: "revision", revision } : { from: "now" },
    };
    const state = [...this.live.values()].filter((object) => kind === 0 && selects(wishes, object));
    const initial = state.map(({ namespace, name }) => `${namespace}/${name}`).sort();
    this.watched.push({ sink: front.watch(wishes), wishes, from: revision, initial });
  }

  readSome(): void {
    for (const { sink } of this.watched) if (this.pick(2) === 0) sink.drain(1 + this.pick(4));
  }

  /** All readers read, everything is delivered. */
  settle(): void {
    this.log.news();
    this.front.run();
    for (let round = 0; round < 10_000; round += 1) {
      const behind = this.watched.filter(({ sink }) => sink.behind);
      if (behind.length === 0) return;
      for (const { sink } of behind) sink.drain();
      this.front.run();
    }
  }

  check(t: Test, { sink, wishes, from, initial }: Watched): void {
    const events = sink.events;
    const about = JSON.stringify({ ...wishes, from });
    if (sink.aborted) return t.comment(`cut off: ${about}`);
    const first = events.splice(0, initial.length);
    const names = first.map(({ type, namespace, name }) => (type === "ADDED" ? `${namespace}/${name}` : type));
    t.same(names, initial, `initial state of ${about}`);
    let seen = from;
    const changes: string[] = [];
    for (const { type, namespace, name, revision, labels } of events) {
      if (type === "BOOKMARK") t.ok(revision >= seen, `a bookmark is not behind an event, ${about}`);
      else if (revision <= seen) t.fail(`${type}@${revision} after ${seen}, ${about}`);
      else changes.push(`${type} ${namespace}/${name}@${revision} ${JSON.stringify(labels)}`);
      seen = revision;
    }
    t.same(changes, expected(wishes, this.changes, from), `events of ${about}`);
  }
}

t.test("watchers see exactly what the model says, through slow reading, moves and bookmarks", (t) => {
  for (let seed = 1; seed <= 90; seed += 1) {
    const traffic = new Traffic(seed);
    for (let step = 0; step < 400; step += 1) traffic.step();
    traffic.settle();
    for (const watched of traffic.watched) traffic.check(t, watched);
    if (!t.passing()) {
      t.comment(`seed ${seed}`);
      break;
    }
  }
  t.end();
});
