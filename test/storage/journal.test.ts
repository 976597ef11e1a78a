import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { readState } from "../../src/storage/lmdb/copy.ts";
import { frameHeaderBytes, Journal, journalBytes, journalOf, journalRecords } from "../../src/storage/lmdb/journal.ts";
import { encodeRecord, recordBytesMax } from "../../src/storage/lmdb/record.ts";
import { openLmdb } from "../../src/storage/lmdb/store.ts";
import type { Change, Store, StoreError } from "../../src/storage/store.ts";
import { HandClock } from "../contract/store.ts";
import { digest } from "../crash/flip.ts";
import { change, readBody } from "../support/changes.ts";

const root = mkdtempSync(join(tmpdir(), "orch-journal-"));
t.teardown(() => rmSync(root, { recursive: true, force: true }));
const corrupt = { name: "StoreError", kind: "corrupt" };
let places = 0;

function place(): string {
  const path = join(root, `${places++}`);
  mkdirSync(path);
  return path;
}

/** A frame for Journal.append() of creates from a revision on. */
function frame(first: number, names: readonly string[], padding = 0): Buffer {
  const changes = names.map((name) => change("create", name, 0, "", padding));
  const bytes = Buffer.alloc(changes.reduce((sum, one) => sum + recordBytesMax(one, one.key.length), frameHeaderBytes));
  let end = frameHeaderBytes;
  changes.forEach((one, i) => {
    const at = { revision: first + i, previous: 0, createRevision: first + i };
    end = encodeRecord(bytes, end, one, Buffer.from(one.key), at).end;
  });
  return bytes.subarray(0, end);
}

/** A journal with these frames, and its bytes. */
function journalWith(
  frames: readonly (readonly [first: number, names: readonly string[], padding?: number])[],
): Written {
  const path = place();
  const journal = make(path);
  for (const [first, names, padding] of frames) journal.append(frame(first, names, padding), first, names.length);
  journal.close();
  return { bytes: readFileSync(journalOf(path)), name: journal.name };
}

interface Written {
  readonly bytes: Buffer;
  readonly name: string;
}

function make(path: string): Journal {
  const journal = Journal.make(path);
  if (journal === undefined) throw new Error("No room for a journal");
  return journal;
}

const revisions = ({ bytes, name }: Written, tree: number): number[] =>
  journalRecords(bytes, name, tree).map(({ revision }) => revision);

t.test("journal: what the tree has is left out, and what it must have is asked for", async (t) => {
  const written = journalWith([
    [11, ["a", "b"]],
    [13, ["c"], 3000],
    [14, ["d", "e", "f"]],
  ]);
  t.equal(written.bytes.length, journalBytes);
  t.same(revisions(written, 10), [11, 12, 13, 14, 15, 16]);
  t.same(revisions(written, 16), []);
  t.same(revisions(written, 1000), []);
  t.throws(() => revisions(written, 9), corrupt);
  t.same(revisions({ ...written, name: "00".repeat(16) }, 10), [], "another journal's");
  for (const bytes of [0, 39, 40, journalBytes]) t.same(revisions({ ...written, bytes: Buffer.alloc(bytes) }, 10), []);
});

t.test("journal: frames of before lie behind the newer ones and are none of them", async (t) => {
  const path = place();
  const journal = make(path);
  const { name } = journal;
  for (let i = 0; i < 20; i++) journal.append(frame(1 + i, [`k${i}`], 700), 1 + i, 1);
  journal.restart();
  // Ends where one of the others begins.
  journal.append(frame(21, ["x"], 700), 21, 1);
  t.same(revisions({ bytes: readFileSync(journalOf(path)), name }, 20), [21]);
  journal.append(frame(22, ["y", "z"], 100), 22, 2);
  t.same(revisions({ bytes: readFileSync(journalOf(path)), name }, 20), [21, 22, 23]);
  journal.close();
});

t.test("journal: a last frame that was half written is left out, at whatever byte it ends", async (t) => {
  const first = frame(11, ["a", "b"]);
  const last = frame(13, ["c", "d"], 600);
  const { bytes, name } = journalWith([
    [11, ["a", "b"]],
    [13, ["c", "d"], 600],
  ]);
  t.ok(first.length < 4096, "it lies in a sector of its own");
  for (let written = 0; written < last.length; written++) {
    const torn = Buffer.from(bytes).fill(0, 4096 + written);
    t.same(revisions({ bytes: torn, name }, 10), [11, 12], `${written} bytes of it`);
  }
  t.same(revisions({ bytes, name }, 10), [11, 12, 13, 14]);
});

t.test("journal: a flipped bit in a frame with others behind it is found out", async (t) => {
  const lengths = [frame(11, ["a", "b"]).length, frame(13, ["c"]).length];
  const { bytes, name } = journalWith([
    [11, ["a", "b"]],
    [13, ["c"]],
    [14, ["d"]],
  ]);
  const wrong: number[] = [];
  const damaged = Buffer.from(bytes);
  const flip = (bit: number): void => {
    damaged.writeUInt8(damaged.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
  };
  for (let bit = 0; bit < 8 * 2 * 4096; bit++) {
    flip(bit);
    let found = "";
    try {
      found = revisions({ bytes: damaged, name }, 10).join();
    } catch (error) {
      found = (error as StoreError).kind;
    }
    flip(bit);
    const matters = (bit >> 3) % 4096 < (lengths[bit >> 15] as number);
    if (found !== (matters ? "corrupt" : "11,12,13,14")) wrong.push(bit);
  }
  t.same(wrong, []);
});

t.test("journal: nothing a client has stored passes for a frame", async (t) => {
  const path = place();
  const store = openLmdb({ path, identity: "orch", clock: new HandClock() });
  await store.commit([change("create", "first", 0)]);
  // Frames as another journal has them, of records that were never made, at each place where one may begin.
  const { bytes } = journalWith([[5, ["forged"]]]);
  for (const [name, selection] of [
    ["next", bytes.subarray(0, 64 * 1024)],
    ["later", journalWith([[1000, ["forged"]]]).bytes.subarray(0, 64 * 1024)],
  ] as const) {
    const sectors = Buffer.alloc(selection.length + 4096);
    const ahead = frameHeaderBytes + 44 + `/registry/configmaps/${name}`.length;
    for (let at = 4096 - ahead; at + 512 < sectors.length; at += 4096) sectors.set(selection.subarray(0, 512), at);
    await store.commit([{ ...change("create", name, 0), selection: sectors }]);
    await store.commit([]);
  }
  await store.commit([change("create", "last", 0)]);
  const state = await readState(path);
  t.equal(state.revision, 4);
  await state.close();
  const copy = openLmdb({ path: copyOf(path), identity: "orch", clock: new HandClock() });
  t.equal(copy.revision, 4);
  await copy.close();
  await store.close();
});

/** A copy of a store's directory that another process would find after the end of this one. */
function copyOf(path: string): string {
  const copy = place();
  for (const name of ["data.mdb", "journal"]) copyFileSync(join(path, name), join(copy, name));
  return copy;
}

/** A store with changes that are in its journal alone. */
async function opened(): Promise<{ store: Store; path: string }> {
  const path = place();
  const store = openLmdb({ path, identity: "orch", clock: new HandClock() });
  const all: (readonly Change[])[] = [
    ["a", "b", "c"].map((name) => change("create", name, 0)),
    [change("update", "a", 1, "new"), change("delete", "b", 2)],
    [change("update", "a", 4, "newer"), change("create", "b", 0)],
    [{ ...change("create", "d", 0), guard: { key: "/registry/configmaps/a", revision: 6 } }],
    [change("delete", "c", 3)],
  ];
  for (const changes of all) await store.commit(changes);
  return { store, path };
}

t.test("journal: a store that was not closed comes back whole", async (t) => {
  const { store, path } = await opened();
  t.equal(store.revision, 9);
  const copy = copyOf(path);
  // What is read while it is open is what another process finds, and what is there when it was closed.
  t.equal(await digest(copy), await digest(copyOf(path)));
  await store.close();
  t.equal(await digest(copy), await digest(path));
});

t.test("journal: one that begins with a compaction is one as well", async (t) => {
  const { store, path } = await opened();
  await store.close();
  const again = openLmdb({ path, identity: "orch", clock: new HandClock() });
  await again.compact(5);
  await again.commit([change("update", "a", 6, "last")]);
  const copy = copyOf(path);
  await again.close();
  t.equal(await digest(copy), await digest(path));
});

t.test("journal: a store that came back is whole without it once it is closed", async (t) => {
  const { store, path } = await opened();
  const copy = copyOf(path);
  await store.close();
  const wanted = await digest(copy);
  rmSync(join(copy, "journal"));
  t.equal(await digest(copy), wanted);
});

t.test("journal: another process that opens the store loses nothing that was acknowledged", async (t) => {
  const path = place();
  const open = (): Store => openLmdb({ path, identity: "orch", clock: new HandClock() });
  const store = open();
  await store.commit([change("create", "first", 0)]);
  await store.commit([]);
  // As another process would that ignores the lock.
  rmSync(join(path, "owner"));
  const other = open();
  await t.rejects(store.commit([change("create", "second", 0)]), { message: /another process/ });
  t.same(await other.commit([change("create", "other", 0)]), [{ revision: 2 }]);
  t.same(await other.commit([change("create", "another", 0)]), [{ revision: 3 }]);
  await t.rejects(store.commit([change("create", "second", 0)]), { message: /another process/ });
  const copy = openLmdb({ path: copyOf(path), identity: "orch", clock: new HandClock() });
  t.equal(copy.revision, 3);
  await copy.close();
  await other.close();
  await store.close();
});

t.test("journal: changes are checked against what is in it", async (t) => {
  const { store } = await opened();
  const guard = { key: "/registry/configmaps/b", revision: 2 };
  t.same(
    await store.commit([
      change("update", "a", 1),
      change("create", "b", 0),
      change("delete", "c", 3),
      { ...change("create", "e", 0), guard },
    ]),
    [{ actual: 6 }, { actual: 7 }, { actual: 0 }, { guarded: 7 }],
  );
  t.equal(store.revision, 9, "nothing of it is made");
  await store.close();
});

t.test("journal: a watch is given what is in it", async (t) => {
  const { store } = await opened();
  const seen: number[] = [];
  const end = await store.watch(4, (records) => seen.push(...records.map(({ revision }) => revision)));
  t.same(seen, [5, 6, 7, 8, 9]);
  await store.commit([change("create", "e", 0)]);
  t.same(seen, [5, 6, 7, 8, 9, 10]);
  end();
  await store.close();
});

t.test("journal: a copy that is read beside the server has what is in it", async (t) => {
  const { store, path } = await opened();
  const state = await readState(path);
  t.equal(state.revision, 9);
  t.same(
    [...state.records()].map(({ revision }) => revision),
    [6, 7, 8],
  );
  await state.close();
  await store.close();
  const closed = await readState(path);
  t.same(
    [...closed.records()].map(({ revision }) => revision),
    [6, 7, 8],
  );
  await closed.close();
});

t.test(
  "journal: a store that was not closed is refused without it, with a damaged one, or with another's",
  async (t) => {
    const { store, path } = await opened();
    const without = copyOf(path);
    rmSync(join(without, "journal"));
    await t.rejects(digest(without), { ...corrupt, message: /journal is gone/ });
    const damaged = copyOf(path);
    const bytes = readFileSync(join(damaged, "journal"));
    bytes.writeUInt8(bytes.readUInt8(100) ^ 1, 100);
    writeFileSync(join(damaged, "journal"), bytes);
    await t.rejects(digest(damaged), { ...corrupt, message: /revision 6 is in its journal, and 4 is not/ });
    // An older state of the tree, which the newer journal goes on from.
    const old = copyOf(path);
    for (let i = 0; i < 2; i++) await store.commit([]);
    await store.commit([change("create", "later", 0)]);
    copyFileSync(join(path, "journal"), join(old, "journal"));
    await t.rejects(digest(old), { ...corrupt, message: /revision 10 is in its journal, and 4 is not/ });
    await store.close();
    // Closed, it is whole without.
    rmSync(join(path, "journal"));
    t.match(await digest(path), /^[0-9a-f]{64}$/);
  },
);

t.test("journal: what does not fit goes to the tree with all that is in it", async (t) => {
  const path = place();
  const store = openLmdb({ path, identity: "orch", clock: new HandClock() });
  let made = 0;
  for (const padding of [200, 100_000, 3000, 300_000, 10]) {
    for (let i = 0; i < 40; i++) await store.commit([change("create", `k${made++}`, 0, `${made}`, padding)]);
    const copy = openLmdb({ path: copyOf(path), identity: "orch", clock: new HandClock() });
    const values: string[] = [];
    await copy.replay((records) => void values.push(...records.map(({ body }) => readBody(body).value)));
    t.same(
      values,
      Array.from({ length: made }, (_, i) => `${i + 1}`),
    );
    await copy.close();
  }
  await store.close();
});
