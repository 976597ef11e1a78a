import t from "tap";
import { crc32 } from "../../src/base/crc32.ts";
import {
  decodeCurrent,
  decodeMeta,
  decodeNumberKey,
  decodeRecord,
  decodeTime,
  encodeCurrent,
  encodeCurrentKey,
  encodeMeta,
  encodeNumberKey,
  encodeRecord,
  encodeTime,
  headerBytes,
  lmdbKeyBytesMax,
  newMeta,
  recordBytesMax,
  withJournal,
} from "../../src/storage/lmdb/record.ts";
import { change, readBody } from "../support/changes.ts";

const damage = { name: "StoreError", kind: "corrupt" };
const one = change("update", "default/é", 41, "value");
const key = Buffer.from(one.key);

function encoded(revision: number, at = 0): Buffer {
  const bytes = Buffer.alloc(at + recordBytesMax(one, key.length));
  const { end } = encodeRecord(bytes, at, one, key, { revision, previous: 41, createRevision: 7 });
  return bytes.subarray(at, end);
}

t.test("encodeRecord() splices the revision in, whatever its length", async (t) => {
  for (const revision of [42, 99_999, 2 ** 32, Number.MAX_SAFE_INTEGER]) {
    const record = decodeRecord(revision, encoded(revision, 13));
    t.same(readBody(record.body), { version: String(revision), value: "value" });
    t.match(record, {
      revision,
      previous: 41,
      createRevision: 7,
      type: 2,
      prefix: one.prefix,
      key: one.key,
      versionAt: one.versionAt,
    });
    t.equal(Buffer.from(record.selection).toString(), "selection of default/é");
  }
});

t.test("encodeRecord() keeps what is encrypted as it is, and tells what it was encrypted from", async (t) => {
  const sealed = Buffer.from("encrypted");
  const bytes = Buffer.alloc(recordBytesMax({ ...one, sealed }, key.length));
  const place = { revision: 42, previous: 41, createRevision: 7 };
  const { record, end } = encodeRecord(bytes, 0, { ...one, sealed }, key, place);
  t.same(readBody(record.body), { version: "42", value: "value" });
  t.notOk("isSealed" in record);
  t.notOk(bytes.includes("value"));
  const read = decodeRecord(42, bytes.subarray(0, end));
  t.match(read, { isSealed: true, versionAt: one.versionAt, key: one.key, previous: 41 });
  t.same(Buffer.from(read.body), sealed);
  // A release that knows of no flags refuses it.
  t.equal(bytes.readUInt16LE(6), 1);
  const other = Buffer.from(bytes.subarray(0, end));
  other.writeUInt16LE(2, 6);
  other.writeUInt32LE(crc32(other.subarray(4), crc32(encodeNumberKey(42))), 0);
  t.throws(() => decodeRecord(42, other), { ...damage, message: /unknown format/ });
});

t.test("encodeRecord() asserts that the version stands between quotes", async (t) => {
  const bytes = Buffer.alloc(1000);
  for (const versionAt of [0, 5, one.versionAt - 1, one.versionAt + 1, one.body.length]) {
    const place = { revision: 1, previous: 0, createRevision: 1 };
    t.throws(() => encodeRecord(bytes, 0, { ...one, versionAt }, key, place), { name: "SharedStateFailure" });
  }
});

t.test("decodeRecord() refuses every flipped bit, every other length and every other revision", async (t) => {
  const bytes = encoded(42);
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const flipped = Buffer.from(bytes);
    flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
    if (bit % 97 === 0) t.throws(() => decodeRecord(42, flipped), damage, `bit ${bit}`);
  }
  for (const length of [0, 1, headerBytes - 1, headerBytes, bytes.length - 1]) {
    t.throws(() => decodeRecord(42, bytes.subarray(0, length)), damage, `${length} bytes`);
  }
  t.throws(() => decodeRecord(42, Buffer.concat([bytes, Buffer.alloc(1)])), damage);
  t.throws(() => decodeRecord(43, bytes), damage);
});

t.test("number keys sort as their numbers do and come back", async (t) => {
  const numbers = [0, 1, 255, 256, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 2 ** 48, Number.MAX_SAFE_INTEGER];
  const keys = numbers.map((number) => encodeNumberKey(number));
  t.same([...keys].reverse().sort(Buffer.compare).map(decodeNumberKey), numbers);
  t.throws(() => decodeNumberKey(Buffer.alloc(7)), damage);
  t.throws(() => decodeNumberKey(Buffer.alloc(8, 0xff)), damage);
});

t.test("encodeCurrentKey() hashes only what is too long, and never meets another key", async (t) => {
  const longest = Buffer.alloc(lmdbKeyBytesMax, "k");
  t.same(encodeCurrentKey(longest), longest);
  const hashed = encodeCurrentKey(Buffer.alloc(lmdbKeyBytesMax + 1, "k"));
  t.equal(hashed.length, 33);
  t.equal(hashed[0], 0xff);
  t.notSame(encodeCurrentKey(Buffer.alloc(lmdbKeyBytesMax + 2, "k")), hashed);
});

t.test("index, time and description entries come back, or are refused under another key or damaged", async (t) => {
  const entry = encodeCurrent(key, 2 ** 40, 12);
  t.same(decodeCurrent(key, entry), { mod: 2 ** 40, create: 12 });
  t.throws(() => decodeCurrent(Buffer.from("other"), entry), damage);
  t.throws(() => decodeCurrent(key, entry.subarray(1)), damage);
  const timeKey = encodeNumberKey(1_700_000_000_000);
  const time = encodeTime(timeKey, 5);
  t.equal(decodeTime(timeKey, time), 5);
  t.throws(() => decodeTime(encodeNumberKey(1), time), damage);
  t.throws(() => decodeTime(timeKey, time.subarray(1)), damage);
  const meta = { ...newMeta("orch"), floor: 3, revision: 9 };
  t.same(decodeMeta(encodeMeta(meta)), meta);
  t.throws(() => decodeMeta(encodeMeta({ ...meta, format: 3 })), { ...damage, message: /format 3/ });
  const journaled = withJournal(meta, "0123456789abcdef0123456789abcdef");
  t.same(decodeMeta(encodeMeta(journaled)), { ...meta, format: 2, journal: "0123456789abcdef0123456789abcdef" });
  t.same(withJournal(journaled, undefined), meta);
  t.throws(() => decodeMeta(encodeMeta({ ...journaled, format: 1 })), damage);
  t.throws(() => decodeMeta(Buffer.from("{}")), damage);
});
