import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import type { Flag } from "../../src/config/flag.ts";
import { flags } from "../../src/config/flags.ts";
import { openMemory } from "../../src/storage/memory/store.ts";
import type { Record } from "../../src/storage/store.ts";
import { engines } from "../../src/storage/table.ts";
import { HandClock, storeContract } from "../contract/store.ts";
import { change } from "../support/changes.ts";

const root = mkdtempSync(join(tmpdir(), "orch-memory-"));
t.teardown(() => rmSync(root, { recursive: true, force: true }));
let places = 0;

storeContract(t, { name: "memory", place: () => join(root, `store-${places++}`), open: openMemory });

t.test("memory: what compaction takes is given back, and records keep nothing of what they came in", async (t) => {
  const store = openMemory({ path: join(root, "size"), identity: "orch", clock: new HandClock() });
  t.equal(store.sizeBytes, 0);
  const message = Buffer.alloc(100_000);
  const one = change("create", "x", 0, "1", 1000);
  message.set(one.body);
  let record: Record | undefined;
  await store.watch(0, (records) => {
    record = records[0];
  });
  await store.commit([{ ...one, body: message.subarray(0, one.body.length) }]);
  message.fill(0);
  t.ok(record !== undefined && Buffer.from(record.body).includes('"resourceVersion":"1"'));
  const size = store.sizeBytes;
  t.ok(size > 1000 && size < 3000, `${size} bytes for one object of 1 KB`);
  await store.commit([change("update", "x", 1, "2", 1000)]);
  t.ok(await store.compact(2));
  t.equal(store.sizeBytes, size, "one record is left");
  await store.commit([change("delete", "x", 2)]);
  t.ok(await store.compact(3));
  t.equal(store.sizeBytes, 0);
  await store.close();
});

t.test("every engine has its name among the choices of --storage-backend", (t) => {
  const table: readonly Flag[] = flags;
  const flag = table.find(({ name }) => name === "storage-backend");
  t.same(
    flag?.choices,
    engines.map(({ name }) => name),
  );
  t.equal(flag?.default, "", "the first, or etcd3 where members are named");
  t.end();
});
