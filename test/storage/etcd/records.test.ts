// What an event says too little of: a member that compacts up to now does not tell what a change replaced.
import t from "tap";
import { systemClock } from "../../../src/base/clock.ts";
import { KmsFailure } from "../../../src/storage/encryption/kmsfailure.ts";
import { TransformError } from "../../../src/storage/encryption/transformers.ts";
import { Keys } from "../../../src/storage/etcd/keys.ts";
import type { KeyValue, WatchedEvent } from "../../../src/storage/etcd/messages.ts";
import { PendingWrites } from "../../../src/storage/etcd/pending.ts";
import { RecordReader } from "../../../src/storage/etcd/records.ts";
import { changeTypes, type LastRecord, type Record, StoreError } from "../../../src/storage/store.ts";
import { contentOf, type Values } from "../../../src/storage/values.ts";
import { change, readBody } from "../../support/changes.ts";
import { plainValues } from "../../support/etcd/store.ts";

const reader = new RecordReader(new Keys("/registry"), plainValues);

function kvOf(name: string, revision: number, value: string, version = 2): KeyValue {
  const { key } = change("update", name, 0);
  const stored = plainValues.toStored(change("update", name, 0, value), key) as Uint8Array;
  return { key: Buffer.from(key), createRevision: 3, modRevision: revision, version, value: stored };
}

function deleteOf(name: string, revision: number): WatchedEvent {
  return { deleted: true, kv: { ...kvOf(name, revision, "", 0), value: Buffer.alloc(0) }, before: undefined };
}

/** A record of a key, as it was delivered. */
function lastOf(name: string, revision: number, value: string): LastRecord {
  return { revision, createRevision: 3, ...contentOf(change("update", name, 0, value), revision) };
}

function liveWith(last: (prefix: string, key: string) => LastRecord | undefined): Parameters<RecordReader["read"]>[1] {
  return { pending: new PendingWrites(() => 0), last };
}

t.test("a delete that does not tell what it removed is told from what was delivered", async (t) => {
  const asked: string[] = [];
  const live = liveWith((prefix, key) => {
    asked.push(`${prefix} ${key}`);
    return lastOf("a", 98, "old");
  });
  const [record] = (await reader.read([deleteOf("a", 1005)], live)) as [Record];
  t.match(record, { revision: 1005, createRevision: 3, previous: 98, type: changeTypes.delete });
  t.same(readBody(record.body), { version: "1005", value: "old" });
  t.same(asked, ["/registry/configmaps /registry/configmaps/a"]);
});

t.test("so is one whose object came in the same message", async (t) => {
  const live = liveWith(() => lastOf("a", 98, "older"));
  const put = { deleted: false, kv: kvOf("a", 1004, "new"), before: undefined };
  const [updated, deleted] = (await reader.read([put, deleteOf("a", 1005)], live)) as [Record, Record];
  t.match(updated, { previous: 98, type: changeTypes.update });
  t.match(deleted, { previous: 1004, type: changeTypes.delete });
  t.same(readBody(deleted.body), { version: "1005", value: "new" });
});

t.test("a write of this server is known by its bytes then, too", async (t) => {
  const pending = new PendingWrites(() => 0);
  const own = change("update", "a", 98, "new");
  const sent = pending.add(own, kvOf("a", 0, "new").value, plainValues.generation());
  const put = { deleted: false, kv: kvOf("a", 1004, "new"), before: undefined };
  const [record] = await reader.read([put], { pending, last: () => lastOf("a", 98, "old") });
  t.equal(sent.revision, 1004);
  t.equal(record?.isStale, undefined);
});

t.test("a write during which the key of encryption was exchanged is outdated when it comes back", async (t) => {
  const pending = new PendingWrites(() => 0);
  pending.add(change("update", "a", 98, "new"), kvOf("a", 0, "new").value, plainValues.generation() - 1);
  const put = { deleted: false, kv: kvOf("a", 1004, "new"), before: kvOf("a", 98, "old") };
  const [record] = await reader.read([put], { pending, last: undefined });
  t.match(record, { revision: 1004, isStale: true });
});

t.test("where nothing knows it, history is gone", async (t) => {
  for (const live of [undefined, liveWith(() => undefined)])
    t.throws(() => reader.read([deleteOf("a", 1005)], live), { name: "StoreError", kind: "compacted" });
});

/** Values that cannot be decrypted at the first `failures` tries, because of `cause`. */
function lockedValues(failures: number, cause: unknown): { readonly values: Values; readonly tries: () => number } {
  let tries = 0;
  const toContent: Values["toContent"] = (prefix, key, storedKey, value, revision) => {
    tries += 1;
    if (tries > failures) return plainValues.toContent(prefix, key, storedKey, value, revision);
    const error = new TransformError(storedKey, "open", "no answer", cause);
    throw new StoreError("unavailable", error.message, error);
  };
  return { values: { ...plainValues, toContent }, tries: () => tries };
}

/** A reader whose starts wait for a KMS plugin until `looksMax` looks at the clock. */
function patient(values: Values, looksMax: number): RecordReader {
  let looks = 0;
  const clock = { ...systemClock, monotonic: () => looks++ };
  return new RecordReader(new Keys("/registry"), values, { clock, waitMsMax: looksMax });
}

t.test("a start waits for a KMS plugin that does not answer yet, for objects and for history", async (t) => {
  for (const read of [
    (records: RecordReader) => records.stateOf(kvOf("a", 98, "old")),
    async (records: RecordReader) =>
      (await records.read([{ deleted: false, kv: kvOf("a", 98, "old"), before: undefined }], undefined))[0],
  ]) {
    const { values, tries } = lockedValues(1, new KmsFailure("away", "Unavailable"));
    const record = await read(patient(values, 10));
    t.same(readBody((record as Record).body), { version: "98", value: "old" });
    t.equal(tries(), 2);
  }
});

t.test(
  "it waits no longer than it may, and for no key that is missing; a request for the past waits for nothing",
  async (t) => {
    const refused = { name: "StoreError", kind: "unavailable" };
    const away = lockedValues(Number.POSITIVE_INFINITY, new KmsFailure("away", "Unavailable"));
    await t.rejects(Promise.resolve(patient(away.values, 2).stateOf(kvOf("a", 98, "old"))), refused);
    t.equal(away.tries(), 2);
    const missing = lockedValues(1, undefined);
    await t.rejects(Promise.resolve(patient(missing.values, 10).stateOf(kvOf("a", 98, "old"))), refused);
    const asked = lockedValues(1, new KmsFailure("away", "Unavailable"));
    t.throws(() => patient(asked.values, 10).pastOf(kvOf("a", 98, "old")), refused);
  },
);
