// Objects on their way from one store to another, over stores in memory.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { systemClock } from "../../src/base/clock.ts";
import { fillStore, type LiveObject, liveObjects } from "../../src/storage/liveobjects.ts";
import { openMemory } from "../../src/storage/memory/store.ts";
import type { Record, Store } from "../../src/storage/store.ts";
import { change } from "../support/changes.ts";

const root = mkdtempSync(join(tmpdir(), "orch-objects-"));
t.teardown(() => rmSync(root, { recursive: true, force: true }));
let places = 0;

function open(firstRevision = 0): Store {
  return openMemory({ path: join(root, `${places++}`), identity: "orch", clock: systemClock, firstRevision });
}

async function stateOf(store: Store): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  await (await liveObjects(store)).each(async (some) => {
    for (const { key, body } of some) found.set(key, Buffer.from(body).toString());
  });
  return found;
}

t.test("liveObjects() hands out the newest state of each object once, and nothing that was deleted", async (t) => {
  const store = open();
  for (let at = 0; at < 1500; at++) await store.commit([change("create", `k${at}`, 0, "one")]);
  for (let at = 0; at < 500; at++) await store.commit([change("update", `k${at}`, at + 1, "two")]);
  for (let at = 400; at < 600; at++) {
    await store.commit([change("delete", `k${at}`, at < 500 ? 1500 + at + 1 : at + 1)]);
  }
  const objects = await liveObjects(store);
  t.same([objects.count, objects.revision], [1300, 2200]);
  const other = open(10_000);
  const told: number[] = [];
  t.equal(await fillStore(other, objects.each, (done) => told.push(done)), 1300);
  t.equal(told.at(-1), 1300);
  t.same(await stateOf(other), await stateOf(store));
  t.equal(other.revision, 11_300);
  const again = await liveObjects(store);
  await t.rejects(fillStore(other, again.each), {
    name: "StoreError",
    message: /k\d+ is not taken: it is there already/,
  });
});

t.test("liveObjects() does not overlook who writes meanwhile", async (t) => {
  const store = open();
  await store.commit([change("create", "a", 0), change("create", "b", 0)]);
  const objects = await liveObjects(store);
  await store.commit([change("create", "c", 0)]);
  await t.rejects(
    objects.each(() => Promise.resolve()),
    { name: "StoreError", kind: "unavailable", message: /stop every server/ },
  );
});

t.test("liveObjects() gives objects of one transaction revisions of their own", async (t) => {
  const inner = open();
  await inner.commit(["a", "b", "c"].map((name) => change("create", name, 0)));
  const shared = (records: readonly Record[]): Record[] => records.map((record) => ({ ...record, revision: 3 }));
  const store: Store = Object.assign(Object.create(inner) as Store, {
    replay: (take: (records: readonly Record[]) => unknown) => inner.replay((records) => take(shared(records))),
    watch: inner.watch.bind(inner),
    currentRevision: inner.currentRevision.bind(inner),
  });
  const seen: LiveObject[] = [];
  await (await liveObjects(store)).each(async (some) => void seen.push(...some));
  t.same(seen.map(({ revision }) => revision).sort(), [3, 4, 5]);
});
