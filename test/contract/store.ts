// What every storage engine must do: one suite, run by test/storage/<engine>.test.ts.
import type { Clock } from "../../src/base/clock.ts";
import { limits } from "../../src/config/limits.ts";
import {
  type Change,
  changeTypes,
  type Outcome,
  type Record,
  type Store,
  StoreError,
} from "../../src/storage/store.ts";
import { change, readBody } from "../support/changes.ts";
import { random } from "../support/random.ts";

/** How the suite gets at an engine. */
export interface Engine {
  readonly name: string;
  /** A place for a store that does not exist yet. */
  place(): string;
  open(options: { path: string; identity: string; clock: Clock; mapBytesMax?: number }): Store | Promise<Store>;
  /** Several stores may be open at one place. */
  readonly isShared?: boolean;
  /** The data are others': a store has no size or time of its own, and its floor moves at once. */
  readonly isRemote?: boolean;
}

/** A clock that stands still until it is told. */
export class HandClock implements Clock {
  time = 1_700_000_000_000;
  now(): number {
    return this.time;
  }
  monotonic(): number {
    return this.time - 1_600_000_000_000;
  }
}

type Test = Pick<typeof import("tap").t, "test">;

async function recordsOf(store: Store): Promise<Record[]> {
  const records: Record[] = [];
  await store.replay((some) => records.push(...some));
  return records;
}

function seen(record: Record): readonly unknown[] {
  return [
    record.revision,
    record.type,
    record.key.slice(record.prefix.length + 1),
    record.previous,
    record.createRevision,
  ];
}

function outcome(result: Outcome | undefined): string {
  if (result === undefined) return "nothing";
  if ("refused" in result) return result.refused;
  if ("guarded" in result) return `guarded ${result.guarded}`;
  return "revision" in result ? `revision ${result.revision}` : `actual ${result.actual}`;
}

/** The contract in its simplest form: everything is remembered, and what is left is computed. */
class Model {
  revision = 0;
  #floor = 0;
  readonly #records: { readonly revision: number; readonly key: string; readonly deleted: boolean }[] = [];

  modOf(key: string): number {
    const last = this.#records.findLast((record) => record.key === key);
    return last === undefined || last.deleted ? 0 : last.revision;
  }

  apply({ key, expected, type }: Change): string {
    const name = key.slice(key.lastIndexOf("/") + 1);
    const actual = this.modOf(name);
    if (actual !== expected) return `actual ${actual}`;
    this.#records.push({ revision: ++this.revision, key: name, deleted: type === changeTypes.delete });
    return `revision ${this.revision}`;
  }

  compact(revision: number): void {
    this.#floor = Math.max(this.#floor, Math.min(revision, this.revision));
  }

  /** Everything above the floor, and of each key what was alive at it. */
  get left(): number[] {
    const newest = new Map<string, number>();
    for (const { revision, key, deleted } of this.#records) {
      if (revision <= this.#floor) newest.set(key, deleted ? 0 : revision);
    }
    return this.#records
      .filter(({ revision, key }) => revision > this.#floor || newest.get(key) === revision)
      .map(({ revision }) => revision);
  }
}

/** Runs the suite. */
export function storeContract(t: Test, engine: Engine): void {
  const clock = new HandClock();
  const { isRemote = false } = engine;
  // A store of one process, which decides alone how it is compacted, bounded and kept.
  const ofOne: Test["test"] = isRemote ? ((() => undefined) as unknown as Test["test"]) : t.test.bind(t);
  // What others may have compacted is not pointed to.
  const forgotten = (revision: number): number => (isRemote ? 0 : revision);
  const fresh = (): { path: string; open: (mapBytesMax?: number) => Promise<Store> } => {
    const path = engine.place();
    const open = async (mapBytesMax?: number): Promise<Store> =>
      engine.open({ path, identity: "orch", clock, ...(mapBytesMax === undefined ? {} : { mapBytesMax }) });
    return { path, open };
  };

  t.test(`${engine.name}: await commit() decides each change by the revision its key has`, async (t) => {
    const steps: readonly (readonly [Change, string])[] = [
      [change("create", "a/x", 0, "1"), "revision 1"],
      [change("create", "a/x", 0, "2"), "actual 1"],
      [change("update", "a/x", 1, "3"), "revision 2"],
      [change("update", "a/x", 1, "4"), "actual 2"],
      [change("update", "a/y", 1, "5"), "actual 0"],
      [change("delete", "a/y", 1, "6"), "actual 0"],
      [change("delete", "a/x", 1, "7"), "actual 2"],
      [change("delete", "a/x", 2, "8"), "revision 3"],
      [change("delete", "a/x", 3, "9"), "actual 0"],
      [change("update", "a/x", 3, "10"), "actual 0"],
      [change("create", "a/x", 0, "11"), "revision 4"],
    ];
    const wanted = steps.map(([, result]) => result);
    const batched = await fresh().open();
    t.same((await batched.commit(steps.map(([step]) => step))).map(outcome), wanted, "in one batch");
    const single = await fresh().open();
    const alone: string[] = [];
    for (const [step] of steps) alone.push(outcome((await single.commit([step]))[0]));
    t.same(alone, wanted, "in batches of one");
    for (const store of [batched, single]) {
      t.equal(store.revision, 4);
      t.same((await recordsOf(store)).map(seen), [
        [1, 1, "a/x", 0, 1],
        [2, 2, "a/x", 1, 1],
        [3, 3, "a/x", 2, 1],
        [4, 1, "a/x", forgotten(3), 4],
      ]);
      t.same(
        (await recordsOf(store)).map(({ body }) => readBody(body)),
        [
          { version: "1", value: "1" },
          { version: "2", value: "3" },
          // What is deleted is the last state there was, where the store has no other record of a delete.
          { version: "3", value: isRemote ? "3" : "8" },
          { version: "4", value: "11" },
        ],
      );
      await store.close();
    }
  });

  t.test(
    `${engine.name}: watch() tells the records of a commit as replay() gives them, also after a reopen`,
    async (t) => {
      const { open } = fresh();
      const store = await open();
      const keys = ["b", "a", "a/b", "a0", "ä", "\u{1f600}", "�", "constructor", "__proto__", "with\u0000zero"];
      const records: Record[] = [];
      await store.watch(0, (some) => records.push(...some));
      const results = await store.commit(keys.map((key) => change("create", key, 0, `value of ${key}`)));
      t.same(
        results,
        records.map(({ revision }) => ({ revision })),
      );
      t.same(
        records.map(({ key }) => key),
        keys.map((key) => `/registry/configmaps/${key}`),
      );
      t.same(
        records.map(({ body }) => readBody(body).value),
        keys.map((key) => `value of ${key}`),
      );
      t.same(
        records.map(({ body, versionAt }) => Buffer.from(body).toString("latin1", versionAt, versionAt + 1)),
        keys.map((_, i) => String(i + 1).slice(0, 1)),
      );
      t.same(await recordsOf(store), records);
      await store.close();
      const again = await open();
      t.equal(again.revision, keys.length);
      t.same(await recordsOf(again), records);
      t.equal(outcome((await again.commit([change("update", "a/b", 3)]))[0]), `revision ${keys.length + 1}`);
      t.equal(outcome((await again.commit([change("update", "__proto__", 9)]))[0]), `revision ${keys.length + 2}`);
      await again.close();
    },
  );

  t.test(
    `${engine.name}: watch() tells each record above a revision once, in order, before its commit resolves`,
    async (t) => {
      const store = await fresh().open();
      const count = 2500;
      const names = Array.from({ length: count }, (_, i) => `k${i}`);
      await store.commit(names.map((name) => change("create", name, 0)));
      const told = new Map<number, number[]>();
      const watch = async (after: number): Promise<() => void> => {
        const revisions: number[] = [];
        told.set(after, revisions);
        return store.watch(after, (records) => revisions.push(...records.map(({ revision }) => revision)));
      };
      const upTo = (after: number, end: number): number[] =>
        Array.from({ length: end - after }, (_, i) => after + 1 + i);
      // One that is still told of the past while more is committed.
      const early = watch(7);
      await store.commit([change("update", "k0", 1)]);
      await early;
      const ends = [await watch(0), await watch(count), await watch(count + 1)];
      for (const [after, revisions] of told) t.same(revisions, upTo(after, count + 1), `after ${after}`);
      t.equal(await store.currentRevision(), count + 1);
      const results = await store.commit([
        change("create", "k0", 0),
        change("update", "k0", count + 1),
        change("create", "big", 0, "", 2_000_000),
        change("delete", "k1", 2),
      ]);
      t.same(results.map(outcome), [
        `actual ${count + 1}`,
        `revision ${count + 2}`,
        "too-large",
        `revision ${count + 3}`,
      ]);
      for (const [after, revisions] of told) t.same(revisions, upTo(after, count + 3), `after ${after}, at once`);
      t.equal(store.revision, count + 3);
      t.equal(await store.currentRevision(), count + 3);
      ends[0]?.();
      await store.commit([change("create", "last", 0)]);
      t.equal(told.get(0)?.at(-1), count + 3, "one that ended hears nothing more");
      t.equal(told.get(count)?.at(-1), count + 4);
      for (let done = false; !done; ) done = await store.compact(100);
      t.equal(await store.currentRevision(), count + 4, "compact() moves the floor only");
      await t.rejects(watch(99), { name: "StoreError", kind: "compacted" });
      await watch(100);
      t.same(told.get(100), upTo(100, count + 4));
      const thrown = new Error("the taker's own");
      await t.rejects(
        store.watch(100, () => {
          throw thrown;
        }),
        thrown,
      );
      await store.close();
    },
  );

  t.test(`${engine.name}: replay() resolves with where a watch goes on`, async (t) => {
    const { open } = fresh();
    const store = await open();
    t.equal(await store.replay(() => undefined), 0);
    await store.commit([change("create", "a", 0), change("delete", "a", 1)]);
    for (let done = false; !done; ) done = await store.compact(2);
    await store.close();
    const again = await open();
    const records: Record[] = [];
    const after = await again.replay((some) => records.push(...some));
    t.same([after, records.length], [2, 0], "the revision, although no record has it");
    await again.watch(after, (some) => records.push(...some));
    await again.commit([change("create", "b", 0)]);
    t.same(
      records.map(({ revision }) => revision),
      [3],
    );
    await again.close();
  });

  t.test(
    `${engine.name}: replay() and watch() wait for who takes records later, and end with their error`,
    async (t) => {
      const { open } = fresh();
      const store = await open();
      for (let at = 0; at < 30; at++) await store.commit([change("create", `k${at}`, 0, "x", 300_000)]);
      const feeds: ((take: (records: readonly Record[]) => unknown) => Promise<unknown>)[] = [
        (take) => store.replay(take),
        (take) => store.watch(store.floor, take).then((end) => end()),
      ];
      for (const feed of feeds) {
        let [inWork, most, taken] = [0, 0, 0];
        await feed(async (records) => {
          most = Math.max(most, ++inWork);
          await new Promise((resolve) => setTimeout(resolve, 5));
          taken += records.length;
          inWork--;
        });
        t.same([most, taken, inWork], [1, 30, 0]);
        const thrown = new Error("not taken");
        await t.rejects(
          feed(() => Promise.reject(thrown)),
          thrown,
        );
      }
      await store.close();
    },
  );

  t.test(`${engine.name}: a key of any length is its own`, async (t) => {
    const { open } = fresh();
    const store = await open();
    const names = [1, 1900, 1957, 1958, 1977, 1978, 1979, 5000, 70_000].flatMap((n) => [
      "k".repeat(n),
      `${"k".repeat(n - 1)}l`,
      "é".repeat(n),
    ]);
    const results = await store.commit(names.map((name) => change("create", name, 0, "long")));
    t.same(
      results.map(outcome),
      names.map((_, i) => `revision ${i + 1}`),
    );
    t.same(
      (await store.commit(names.map((name) => change("create", name, 0)))).map(outcome),
      names.map((_, i) => `actual ${i + 1}`),
    );
    t.same(
      (await recordsOf(store)).map(({ key }) => key),
      names.map((name) => `/registry/configmaps/${name}`),
    );
    await store.commit(names.map((name, i) => change("delete", name, i + 1)));
    await store.close();
    const again = await open();
    for (let done = false; !done; ) done = await again.compact(again.revision);
    t.same(await recordsOf(again), []);
    t.same(
      (await again.commit(names.map((name) => change("create", name, 0)))).map(outcome),
      names.map((_, i) => `revision ${2 * names.length + i + 1}`),
    );
    await again.close();
  });

  t.test(`${engine.name}: a change that cannot be stored is refused alone`, async (t) => {
    const store = await fresh().open();
    const room = limits.objectBytesMax - change("create", "big", 0).body.length - "/registry/configmaps/big".length;
    const results = await store.commit([
      change("create", "before", 0),
      change("create", "big", 0, "", room + 1),
      change("create", "lone\ud800surrogate", 0),
      { ...change("create", "elsewhere", 0), key: "/registry/secrets/elsewhere" },
      { ...change("create", "", 0), key: "/registry/configmaps" },
      // What others share may bound a request, the key and all around it included.
      change("create", "big", 0, "", isRemote ? room - 4096 : room),
      change("update", "big", 2, "", room + 1),
      change("delete", "big", 2, "", room + 1),
      change("create", "after", 0),
    ]);
    t.same(results.map(outcome), [
      "revision 1",
      "too-large",
      "invalid-key",
      "invalid-key",
      "invalid-key",
      "revision 2",
      "too-large",
      "revision 3",
      "revision 4",
    ]);
    t.equal(store.revision, 4);
    t.equal((await recordsOf(store)).length, 4);
    await store.close();
  });

  t.test(`${engine.name}: await compact() forgets what lies behind the floor and nothing else`, async (t) => {
    const { open } = fresh();
    let store = await open();
    await store.commit([
      change("create", "kept", 0, "1"),
      change("create", "changed", 0, "2"),
      change("update", "changed", 2, "3"),
      change("create", "gone", 0, "4"),
      change("delete", "gone", 4, "5"),
      change("create", "back", 0, "6"),
      change("delete", "back", 6, "7"),
      change("create", "back", 0, "8"),
      change("update", "changed", 3, "9"),
      change("delete", "kept", 1, "10"),
    ]);
    // After a floor of n, the revisions that are left.
    const left: readonly (readonly [number, readonly number[]])[] = [
      [0, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
      [1, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
      [3, [1, 3, 4, 5, 6, 7, 8, 9, 10]],
      [4, [1, 3, 4, 5, 6, 7, 8, 9, 10]],
      [5, [1, 3, 6, 7, 8, 9, 10]],
      [7, [1, 3, 8, 9, 10]],
      [8, [1, 3, 8, 9, 10]],
      [9, [1, 8, 9, 10]],
      [10, [8, 9]],
      [99, [8, 9]],
    ];
    for (const [floor, revisions] of left) {
      t.ok(await store.compact(floor));
      t.equal(store.floor, Math.min(floor, 10));
      t.same(
        (await recordsOf(store)).map(({ revision }) => revision),
        revisions,
        `floor ${floor}`,
      );
      await store.close();
      store = await open();
      t.same(
        (await recordsOf(store)).map(({ revision }) => revision),
        revisions,
        `floor ${floor}, reopened`,
      );
      t.equal(store.floor, Math.min(floor, 10));
    }
    t.equal(store.revision, 10, "A revision is not handed out again when its record is gone");
    t.same((await store.commit([change("create", "kept", 0), change("create", "back", 0)])).map(outcome), [
      "revision 11",
      "actual 8",
    ]);
    t.same(
      (await recordsOf(store)).map(({ previous }) => previous),
      [forgotten(7), forgotten(3), 0],
    );
    await store.close();
  });

  ofOne(`${engine.name}: await compact() does bounded work per call and says when it is done`, async (t) => {
    const { open } = fresh();
    const store = await open();
    const count = 3 * limits.compactRecordsMax + 10;
    await store.commit([change("create", "x", 0)]);
    for (let i = 1; i < count; i++) await store.commit([change("update", "x", i)]);
    // Whether the create, which supersedes nothing, is counted is the engine's own.
    t.ok(await store.compact(1));
    const floors: number[] = [];
    while (!(await store.compact(count - 1))) {
      floors.push(store.floor);
      await recordsOf(store);
    }
    t.same(
      floors,
      [1, 2, 3].map((n) => 1 + n * limits.compactRecordsMax),
    );
    t.same(
      (await recordsOf(store)).map(({ revision }) => revision),
      [count - 1, count],
    );
    await store.close();
  });

  ofOne(
    `${engine.name}: await compact() goes on after a reopen with what was written before and after it`,
    async (t) => {
      const { open } = fresh();
      let store = await open();
      // Even, and x has the odd revisions.
      const half = 2 * limits.compactRecordsMax + 10;
      const newest = 2 * half;
      const update = (revision: number): Change =>
        change("update", revision % 2 === 0 ? "y" : "x", revision - 2, `${revision}`);
      await store.commit([change("create", "x", 0), change("create", "y", 0)]);
      for (let revision = 3; revision <= half; revision++) await store.commit([update(revision)]);
      await store.compact(limits.compactRecordsMax / 2);
      await store.close();
      store = await open();
      await store.commit([change("delete", "x", half - 1), update(half + 2), change("create", "x", 0)]);
      for (let revision = half + 4; revision <= newest; revision++) await store.commit([update(revision)]);
      while (!(await store.compact(newest - 2))) await recordsOf(store);
      t.same(
        (await recordsOf(store)).map(({ revision }) => revision),
        [newest - 3, newest - 2, newest - 1, newest],
      );
      await store.close();
    },
  );

  ofOne(`${engine.name}: revisionAged() finds the revision of a time, also after a reopen`, async (t) => {
    const { open } = fresh();
    let store = await open();
    const minute = 60_000;
    t.equal(store.revisionAged(0), 0);
    // One change per second for ten minutes.
    await store.commit([change("create", "x", 0)]);
    for (let second = 1; second < 600; second++) {
      clock.time += 1000;
      await store.commit([change("update", "x", second)]);
    }
    const check = (name: string): void => {
      for (const age of [1 * minute, 5 * minute, 9 * minute]) {
        const wanted = 600 - age / 1000;
        const got = store.revisionAged(age);
        t.ok(got <= wanted, `${name}: ${got} is at least ${age} ms old`);
        t.ok(got >= wanted - 12, `${name}: ${got} is not much older than ${age} ms`);
      }
    };
    check("open");
    await store.close();
    store = await open();
    check("reopened");
    for (let done = false; !done; ) done = await store.compact(store.revisionAged(5 * minute));
    t.equal(store.floor, store.revisionAged(5 * minute));
    await store.close();
    store = await open();
    t.equal(store.floor, store.revisionAged(5 * minute));
    // Changes have stopped: an empty commit notes the time once, and all of them grow old.
    clock.time += minute;
    t.same(await store.commit([]), []);
    clock.time += 5 * minute;
    t.equal(store.revisionAged(5 * minute), 600);
    await store.close();
    // The wall clock was an hour ahead: what was noted then counts from now on, and nothing is forgotten early.
    clock.time -= 60 * minute;
    store = await open();
    t.equal(store.revisionAged(5 * minute), 0);
    await store.commit([change("create", "y", 0)]);
    clock.time += 6 * minute;
    t.equal(store.revisionAged(5 * minute), 600);
    await store.close();
  });

  ofOne(
    `${engine.name}: a full store takes deletes, answers reads, and takes changes again when there is room`,
    async (t) => {
      const { open } = fresh();
      const store = await open(4 * 1024 * 1024);
      const made: number[] = [];
      let last: Outcome | undefined;
      for (let i = 0; i < 100; i++) {
        last = (await store.commit([change("create", `k${i}`, 0, "", 100_000)]))[0];
        if (last === undefined || !("revision" in last)) break;
        made.push(last.revision);
      }
      t.equal(outcome(last), "full");
      t.ok(store.nearlyFull);
      t.ok(made.length >= 20, `${made.length} objects fit`);
      t.equal(outcome((await store.commit([change("update", "k0", 1, "", 100_000)]))[0]), "full");
      t.equal((await recordsOf(store)).length, made.length);
      const deleted = await store.commit(made.map((revision, i) => change("delete", `k${i}`, revision, "", 100)));
      t.ok(deleted.every((result) => "revision" in result));
      t.ok(await store.compact(store.revision));
      t.notOk(store.nearlyFull);
      t.equal(
        outcome((await store.commit([change("create", "again", 0, "", 100_000)]))[0]),
        `revision ${store.revision}`,
      );
      await store.close();
    },
  );

  t.test(`${engine.name}: random batches, compactions and reopens end as a simple model says`, async (t) => {
    const { open } = fresh();
    let store = await open();
    const seed = Number(process.env["ORCH_SEED"] ?? Date.now() % 1_000_000);
    const pick = random(seed);
    const model = new Model();
    const wrong: string[] = [];
    for (let step = 0; step < (isRemote ? 60 : 300); step++) {
      const changes = Array.from({ length: pick(12) }, () => {
        const key = `k${pick(10)}`;
        const mod = pick(5) === 0 ? pick(model.revision + 2) : model.modOf(key);
        return change(mod === 0 ? "create" : pick(3) === 0 ? "delete" : "update", key, mod, "", pick(3) * 2500);
      });
      const wanted = changes.map((one) => model.apply(one));
      const got = (await store.commit(changes)).map(outcome);
      if (String(got) !== String(wanted)) wrong.push(`step ${step}: ${got} instead of ${wanted}`);
      if (pick(4) === 0) {
        const floor = pick(model.revision + 1);
        for (let done = false; !done; ) done = await store.compact(floor);
        model.compact(floor);
      }
      if (pick(20) === 0) {
        await store.close();
        store = await open();
      }
      const left = (await recordsOf(store)).map(({ revision }) => revision);
      if (String(left) !== String(model.left)) wrong.push(`step ${step}: ${left} are left instead of ${model.left}`);
    }
    t.same(wrong.slice(0, 3), [], `ORCH_SEED=${seed}`);
    t.ok(store.floor > 0);
    await store.close();
  });

  t.test(`${engine.name}: await commit() makes a guarded change only while its guard is where it was`, async (t) => {
    const store = await fresh().open();
    const guarded = (step: Change, key: string, revision: number): Change => ({
      ...step,
      guard: { key: `/registry/namespaces/${key}`, revision },
    });
    const namespace = (type: "create" | "update" | "delete", expected: number): Change =>
      change(type, "a", expected, "", 0, "/registry/namespaces");
    const steps: readonly (readonly [Change, string])[] = [
      [guarded(change("create", "a/x", 0), "a", 1), "guarded 0"],
      [guarded(change("create", "a/x", 0), "a", 0), "revision 1"],
      [namespace("create", 0), "revision 2"],
      [guarded(change("create", "a/y", 0), "a", 0), "guarded 2"],
      [guarded(change("create", "a/y", 0), "a", 2), "revision 3"],
      [guarded(change("create", "a/y", 0), "a", 1), "actual 3"],
      [namespace("update", 2), "revision 4"],
      [guarded(change("update", "a/y", 3), "a", 2), "guarded 4"],
      [namespace("delete", 4), "revision 5"],
      [guarded(change("create", "a/z", 0), "a", 4), "guarded 0"],
      [guarded(change("create", "a/z", 0), "a", 0), "revision 6"],
    ];
    const wanted = steps.map(([, result]) => result);
    t.same((await store.commit(steps.map(([step]) => step))).map(outcome), wanted, "in one batch");
    const alone: string[] = [];
    const single = await fresh().open();
    for (const [step] of steps) alone.push(outcome((await single.commit([step]))[0]));
    t.same(alone, wanted, "in batches of one");
    t.equal((await recordsOf(store)).length, 6, "nothing else was made");
    await store.close();
    await single.close();
  });

  t.test(`${engine.name}: a store belongs to one identity and one owner`, async (t) => {
    const { path, open } = fresh();
    const store = await open();
    const kindOf = async (work: () => unknown): Promise<string> => {
      try {
        await work();
      } catch (error) {
        if (error instanceof StoreError) return error.kind;
      }
      return "opened";
    };
    let second: Store | undefined;
    const twice = await kindOf(async () => (second = await open()));
    t.equal(twice, engine.isShared === true ? "opened" : "locked");
    await second?.close();
    await store.close();
    t.equal(await kindOf(() => engine.open({ path, identity: "kubernetes", clock })), "identity");
    const last = await open();
    t.equal(last.revision, 0);
    await last.close();
  });
}
