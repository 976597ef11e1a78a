import t from "tap";
import { SegmentPool } from "../../../src/cache/shared/memory.ts";
import {
  bytesOfFrame,
  continued,
  indexOf,
  OpenSegment,
  recordsPerSegment,
  Segment,
  segmentOf,
} from "../../../src/cache/shared/segment.ts";
import { encodeSelection } from "../../../src/cache/shared/selection.ts";
import { textOf } from "../fixture.ts";

function entryOf(type: number, revision: number, name = "x") {
  const body = `{"metadata":{"resourceVersion":"${revision}"}}`;
  return {
    type,
    revision,
    createRevision: 1,
    time: 12.5,
    order: revision,
    previousSegment: 2,
    previousIndex: 7,
    selection: encodeSelection("", name, undefined, []),
    body: Buffer.from(body),
    versionAt: body.indexOf(`"${revision}`) + 1,
  };
}

function open(dataBytes: number, metaBytes: number, number = 9): OpenSegment {
  return new OpenSegment(new Segment(number, 100, new SharedArrayBuffer(dataBytes), new SharedArrayBuffer(metaBytes)));
}

t.test("OpenSegment.append() writes frames that are watch events, adjacent and of constant prefix", (t) => {
  const target = open(4096, 4096);
  const revisions = [1, 10, 99, 1000, 9_007_199_254_740_991];
  const types = ["ADDED", "MODIFIED", "DELETED", "ADDED", "MODIFIED"];
  const kinds = [1, 2, 3, 4, 2];
  revisions.forEach((revision, i) => {
    t.equal(target.segment.type(i), 0, "nothing is published before");
    t.equal(target.append(entryOf(kinds[i] ?? 0, revision)), i);
  });
  const reader = new Segment(9, 100, target.segment.data.buffer, target.segment.bytes.buffer);
  const lines = textOf(reader.data.subarray(0, target.dataBytes)).split("\n");
  t.equal(lines.pop(), "");
  lines.forEach((line, i) => {
    const revision = revisions[i] ?? 0;
    const object = { metadata: { resourceVersion: String(revision) } };
    t.strictSame(JSON.parse(line), { type: types[i], object });
    t.equal(line.indexOf(JSON.stringify(object)), 28, "the object starts at byte 28");
    t.equal(reader.frameBytes(i), line.length + 1);
    t.equal(reader.frameBytes(i), bytesOfFrame(JSON.stringify(object).length));
    t.equal(reader.type(i), kinds[i]);
    t.equal(reader.revision(i), revision);
    t.equal(reader.createRevision(i), 1);
    t.equal(reader.time(i), 12.5);
    t.equal(reader.order(i), revision);
    t.equal(reader.previous(i), 2 * recordsPerSegment + 7);
    t.equal(reader.locationOf(i), 9 * recordsPerSegment + i);
    t.equal(reader.byteKey(i), "x");
    const digitsAt = 28 + reader.versionAt(i);
    t.equal(line.slice(digitsAt, digitsAt + String(revision).length), String(revision));
  });
  t.end();
});

t.test("locations keep apart what lies beyond 32 bits", (t) => {
  for (const number of [1, 32_767, 32_768, 65_536, 2_000_000_000]) {
    const segment = new Segment(number, 0, new SharedArrayBuffer(8), new SharedArrayBuffer(128));
    for (const index of [0, 1, recordsPerSegment - 1]) {
      const at = segment.locationOf(index);
      t.equal(segmentOf(at), number);
      t.equal(indexOf(at), index);
    }
    segment.words[5] = number;
    segment.words[6] = 9;
    t.equal(segment.previous(0), segment.locationOf(9));
  }
  t.end();
});

t.test("OpenSegment.fits() leaves room for the closing entry and never lets the two ends of meta meet", (t) => {
  const target = open(1 << 20, 2048);
  let count = 0;
  for (; target.fits(200, 36); count++) target.append(entryOf(1, count + 1, "name"));
  t.ok(count > 10, `${count} records fit`);
  const entriesEnd = (target.count + 1) * 64;
  t.ok(entriesEnd <= target.selectionStart, "the closing entry ends before the tables start");
  target.close(10);
  t.equal(target.segment.type(count), continued);
  t.equal(target.segment.next(count), 10);
  for (let i = 0; i < count; i++) t.equal(target.segment.byteKey(i), "name");
  t.notOk(open(100, 2048).fits(101, 36), "nor lets frames exceed the data");
  t.end();
});

t.test("OpenSegment.move() copies state and links back to where it was", (t) => {
  const source = open(4096, 4096);
  source.append(entryOf(1, 5, "a"));
  const index = source.append(entryOf(2, 6, "b"));
  const target = open(4096, 4096, 10);
  target.append(entryOf(2, 7, "c"));
  const moved = target.move(source.segment, index, 7, 99);
  const { segment } = target;
  t.equal(segment.type(moved), 4);
  t.equal(segment.revision(moved), 6);
  t.equal(segment.order(moved), 7);
  t.equal(segment.byteKey(moved), "b");
  t.equal(segment.previous(moved), source.segment.locationOf(index));
  const start = segment.frameAt(moved);
  const event = JSON.parse(textOf(segment.data.subarray(start, start + segment.frameBytes(moved))));
  t.strictSame(event, { type: "ADDED", object: { metadata: { resourceVersion: "6" } } });
  t.end();
});

t.test("SegmentPool.take() starts small, grows with the log, and finds room for large records", (t) => {
  const pool = new SegmentPool();
  const sizes = [0, 1e6, 4e6, 100e6].map((logBytes) => pool.take(logBytes, 1000, 100).data.byteLength);
  t.strictSame(sizes, [262_144, 262_144, 2_097_152, 8_388_608]);
  t.equal(pool.take(0, 1_000_000, 100).data.byteLength, 2_097_152, "a large object");
  t.ok(pool.take(0, 1000, 3_400_000).meta.byteLength >= 3_400_000, "an object of labels");
  t.throws(() => pool.take(0, 9_000_000, 100), { name: "SharedStateFailure" });
  t.end();
});

t.test("SegmentPool.give() uses memory again, up to its bound", (t) => {
  const pool = new SegmentPool();
  const memory = pool.take(0, 1000, 100);
  pool.give(memory);
  t.equal(pool.usedBytes, 0);
  t.ok(pool.freeBytes > 0);
  t.equal(pool.take(0, 1000, 100), memory);
  t.equal(pool.freeBytes, 0);
  const many = Array.from({ length: 12 }, () => pool.take(100e6, 1000, 100));
  for (const each of many) pool.give(each);
  t.ok(pool.freeBytes <= 64 * 1024 * 1024, "the surplus is let go");
  t.end();
});
