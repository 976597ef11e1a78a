// What stands behind selection tables: owners, and what a deletion waits for. Objects without either have nothing there.
import t from "tap";
import { kindHash, type OwnedMeta, ownersBehind, withOwners } from "../../../src/cache/shared/owners.ts";
import {
  decodeSelection,
  encodeSelection,
  hashOfText,
  keyBytesOf,
  selectionSource,
  selectionText,
} from "../../../src/cache/shared/selection.ts";
import { Selections } from "../../../src/cache/shared/selections.ts";
import { changeTypes, type Record } from "../../../src/storage/store.ts";

const uid = "0b5f7c4e-93a5-4f2f-9a39-6a1f0c9dfb11";

function owner(name: string, more: object = {}) {
  return { apiVersion: "apps/v1", kind: "ReplicaSet", name, uid, ...more };
}

function table(name = "a"): Uint8Array<ArrayBuffer> {
  return encodeSelection("default", name, new Map([["app", "x"]]), [["spec.nodeName", "n"]], 7);
}

t.test("objects that have no owner and wait for no other have nothing behind their table", async (t) => {
  const plain = table();
  for (const meta of [
    {},
    { ownerReferences: [] },
    { deletionTimestamp: "x" },
    { finalizers: ["orphan"] },
  ] as OwnedMeta[])
    t.equal(withOwners(plain, meta), plain);
  t.equal(ownersBehind(plain), undefined);
});

t.test("owners are found behind tables of any length, and the table reads as before", async (t) => {
  for (const name of ["a", "ab", "abc", "abcd"]) {
    const plain = table(name);
    const names = ["web-5d4f5b7c9d", "ü", "x"];
    const references = names.map((each, at) => owner(each, at === 1 ? { blockOwnerDeletion: true } : {}));
    const whole = withOwners(plain, { ownerReferences: references });
    t.equal(whole.length % 4, 0);
    t.same(decodeSelection(selectionSource(Uint8Array.from(whole)), 0), decodeSelection(selectionSource(plain), 0));
    t.equal(keyBytesOf(whole), keyBytesOf(plain));
    // At any alignment.
    const shifted = new Uint8Array(whole.length + 3).subarray(3);
    shifted.set(whole);
    const owners = ownersBehind(shifted);
    t.equal(owners?.count, 3);
    t.equal(owners?.isDeleted, false);
    for (const [at, each] of names.entries()) {
      t.equal(owners?.name(at), each);
      t.equal(owners?.nameHash(at), hashOfText(each));
      t.equal(owners?.uidHash(at), hashOfText(uid));
      t.equal(owners?.kindHash(at), kindHash("apps/v1", "ReplicaSet"));
      t.equal(owners?.blocks(at), at === 1);
    }
  }
});

t.test("what a deletion waits for stands there, with owners and without", async (t) => {
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const read = (finalizers: string[], ownerReferences: OwnedMeta["ownerReferences"] = []) => {
    const owners = ownersBehind(withOwners(table(), { deletionTimestamp, finalizers, ownerReferences }));
    return [owners?.count, owners?.isDeleted, owners?.isForeground, owners?.isOrphaning];
  };
  t.same(read(["foregroundDeletion"]), [0, true, true, false]);
  t.same(read(["x", "orphan"]), [0, true, false, true]);
  t.same(read(["x"], [owner("a")]), [1, true, false, false]);
  t.same(read(["foregroundDeletion"], [owner("a")]), [1, true, true, false]);
});

t.test("hashOfText() is the hash of texts to look for, of one piece and of several", async (t) => {
  for (const text of ["", "a", "default", "ü€😀", "x\u0000y"]) t.equal(hashOfText(text), selectionText(text).hash);
  t.equal(hashOfText("b", hashOfText("a")), selectionText("ab").hash);
});

t.test("a record that was written before has its owners when its log is loaded, whatever its kind", async (t) => {
  const deriving = () => Promise.reject(new Error("No kind is at these places"));
  const selections = new Selections(new Map([["/registry/configmaps", 0]]), deriving);
  const freshOf = async (record: Record): Promise<Record> => {
    const [fresh, ...more] = await selections.fresh([record]);
    if (fresh === undefined || more.length > 0) throw new Error("One record became none, or several");
    return fresh;
  };
  const recordOf = (prefix: string, metadata: object): Record => {
    const place = { prefix, key: `${prefix}/default/a`, revision: 7, createRevision: 7, previous: 0 };
    const body = Buffer.from(JSON.stringify({ metadata, spec: {} }));
    const selection = encodeSelection("default", "a", undefined, []);
    return { ...place, type: changeTypes.create, selection, body, versionAt: 0 };
  };
  for (const prefix of ["/registry/configmaps", "/registry/example.com/widgets"]) {
    const old = recordOf(prefix, { name: "a", namespace: "default", ownerReferences: [owner("o")] });
    const fresh = await freshOf(old);
    t.equal(ownersBehind(fresh.selection)?.name(0), "o");
    t.equal(await freshOf(fresh), fresh);
    const ending = { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["foregroundDeletion"] };
    t.equal(ownersBehind((await freshOf(recordOf(prefix, ending))).selection)?.isForeground, true);
    for (const metadata of [{}, { ...ending, finalizers: ["x"] }, { ownerReferences: [] }]) {
      const plain = recordOf(prefix, metadata);
      t.equal(await freshOf(plain), plain);
    }
  }
});
