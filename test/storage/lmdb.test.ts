import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { readState, writeState } from "../../src/storage/lmdb/copy.ts";
import { openLmdb } from "../../src/storage/lmdb/store.ts";
import { HandClock, storeContract } from "../contract/store.ts";
import { change } from "../support/changes.ts";

const root = mkdtempSync(join(tmpdir(), "orch-lmdb-"));
t.teardown(() => rmSync(root, { recursive: true, force: true }));
let places = 0;

storeContract(t, { name: "lmdb", place: () => join(root, `store-${places++}`), open: openLmdb });

t.test("lmdb: the file stops growing when compaction keeps pace", async (t) => {
  const path = join(root, "churn");
  const store = openLmdb({ path, identity: "orch", clock: new HandClock() });
  const names = Array.from({ length: 100 }, (_, i) => `k${i}`);
  await store.commit(names.map((name) => change("create", name, 0, "", 4000)));
  const sizes: number[] = [];
  for (let round = 0; round < 120; round++) {
    await store.commit(names.map((name, i) => change("update", name, round * 100 + i + 1, "", 4000)));
    for (let done = false; !done; ) done = await store.compact(store.revision - 200);
    if (round % 20 === 19) sizes.push(statSync(join(path, "data.mdb")).size);
  }
  t.equal(store.revision, 12_100);
  t.ok((sizes[5] as number) < 1.05 * (sizes[1] as number), `${sizes.join(", ")} bytes`);
  await store.close();
});

t.test("lmdb: records fill the pages they come to", async (t) => {
  const path = join(root, "dense");
  const store = openLmdb({ path, identity: "orch", clock: new HandClock() });
  for (let first = 0; first < 2000; first += 8) {
    await store.commit(Array.from({ length: 8 }, (_, i) => change("create", `k${first + i}`, 0, "", 1300)));
  }
  const pagesOf = (place: string): number => statSync(join(place, "data.mdb")).size / 4096;
  const state = await readState(path);
  const restored = join(root, "restored");
  await writeState(restored, { identity: "orch", revision: state.revision }, state.records());
  await state.close();
  await store.close();
  // Two of them in each page; a page for each would be twice as much.
  const pages = pagesOf(path);
  t.ok(pages < 1300, `${pages} pages for 2,000 records`);
  t.ok(pagesOf(restored) < 1300, `${pagesOf(restored)} pages of a store that begins with them`);
});

t.test("lmdb: another process's write is noticed before anything of ours follows it", async (t) => {
  const path = join(root, "shared");
  const store = openLmdb({ path, identity: "orch", clock: new HandClock() });
  await store.commit([change("create", "x", 0)]);
  // As another process would that ignores the lock.
  rmSync(join(path, "owner"));
  const other = openLmdb({ path, identity: "orch", clock: new HandClock() });
  await other.commit([change("update", "x", 1)]);
  await t.rejects(store.commit([change("update", "x", 1)]), { name: "SharedStateFailure", message: /another process/ });
  await t.rejects(store.commit([change("create", "y", 0)]), { name: "SharedStateFailure" }, "and it stays closed");
  await other.close();
  await store.close();
});
