// What the cache of protobuf keeps: within its bound, the current records before others, and about what fits of a list
// that is larger.
import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import { createScheme } from "../../../src/api/scheme.ts";
import { assert } from "../../../src/base/assert.ts";
import { limits } from "../../../src/config/limits.ts";
import { MessageBlocks } from "../../../src/request/answer/messageblocks.ts";
import { ProtoCache, type ProtoShelf } from "../../../src/request/answer/protocache.ts";
import { threadCpuMs } from "../../support/cost.ts";
import { FakeLog } from "../../support/fakelog.ts";
import { random } from "../../support/random.ts";

const identity = identities.kubernetes;
const leases = createScheme({ identity }).find("coordination.k8s.io", "v1", "leases");

/** Counts how often an object is read to be encoded. */
class CountingLog extends FakeLog {
  reads = 0;

  override copyObject(at: number, from: number, target: Uint8Array, to: number): number {
    this.reads += 1;
    return super.copyObject(at, from, target, to);
  }
}

/** A log, and a cache with room for so many of its records. */
function open(records: number, lengths = 1000): { log: CountingLog; cache: ProtoCache; shelf: ProtoShelf } {
  assert(leases !== undefined, "Leases are served");
  const log = new CountingLog();
  const draw = random(7);
  const messages = new MessageBlocks(
    records * recordBytes,
    recordsPerBlock * recordBytes,
    () => draw(1_000_000) / 1_000_000,
  );
  const cache = new ProtoCache(messages, lengths);
  return { log, cache, shelf: cache.shelf(log, leases, identity) };
}

/** Room for a message of a record below. */
const recordBytes = 88;
const recordsPerBlock = 5;

function put(log: FakeLog, n: number): number {
  log.put({ namespace: "default", name: `lease-${String(n).padStart(30, "0")}` });
  log.drain();
  return log.head;
}

/** Asks for all records as a list does; how many were there. */
function list(shelf: ProtoShelf, locations: readonly number[]): number {
  let hits = 0;
  for (const at of locations) {
    if (shelf.placeOf(at) !== undefined) hits += 1;
    shelf.listed(at);
  }
  return hits;
}

t.test("ProtoCache keeps all that fits, once", (t) => {
  const { log, shelf } = open(100);
  const locations = Array.from({ length: 80 }, (_, n) => put(log, n));
  t.equal(list(shelf, locations), 0);
  t.equal(list(shelf, locations), 80);
  const first = locations[0] ?? 0;
  t.equal(log.reads, 80);
  t.same(shelf.message(first), shelf.listed(first));
  t.match(Buffer.from(shelf.message(first)).toString("latin1"), /lease-0{30}\b/);
  t.equal(shelf.lengthOf(first), shelf.message(first).length);
  t.equal(log.reads, 80);
  t.end();
});

t.test("ProtoCache finds about what fits of a list that is larger, and stays within its bound", (t) => {
  const { log, cache, shelf } = open(100);
  const locations = Array.from({ length: 200 }, (_, n) => put(log, n));
  let hits = 0;
  for (let round = 0; round < 20; round += 1) {
    const found = list(shelf, locations);
    if (round > 0) hits += found;
    t.ok(cache.bytes <= 100 * recordBytes, `${cache.bytes} bytes`);
  }
  const share = hits / 19 / 100;
  t.ok(share > 0.8 && share < 1.3, `${share} of what fits`);
  t.end();
});

t.test("ProtoCache gives the room of records that were replaced to new ones", (t) => {
  const { log, cache, shelf } = open(100);
  const locations = Array.from({ length: 60 }, (_, n) => put(log, n));
  list(shelf, locations);
  // Ten times what fits goes by as events.
  for (let n = 0; n < 1000; n += 1) {
    locations[n % 20] = put(log, n % 20);
    const at = locations[n % 20] ?? 0;
    shelf.message(at);
    t.ok(shelf.placeOf(at) !== undefined, "an event is kept");
  }
  t.ok(cache.bytes <= 100 * recordBytes);
  const hits = list(shelf, locations);
  t.ok(hits >= 48, `${hits} of 60 current records are there`);
  t.end();
});

t.test("ProtoCache: lists get the room of records that were replaced, and lose none that were not", (t) => {
  const { log, shelf } = open(100);
  const locations = Array.from({ length: 90 }, (_, n) => put(log, n));
  list(shelf, locations);
  for (let n = 0; n < 81; n += 1) locations[n] = put(log, n);
  const hits = Array.from({ length: 6 }, () => list(shelf, locations));
  t.ok((hits[0] ?? 0) <= 9 && (hits[3] ?? 0) >= 80 && (hits[5] ?? 0) >= 85, `of 90: ${hits.join(", ")}`);
  // Events of two thirds of them go by, again and again.
  for (let n = 0; n < 1_000; n += 1) {
    const at = put(log, n % 60);
    locations[n % 60] = at;
    shelf.message(at);
  }
  const after = list(shelf, locations);
  t.ok(after >= 75, `${after} of 90 are there`);
  t.end();
});

t.test("ProtoCache does not keep what exceeds its bound", (t) => {
  const { log, cache, shelf } = open(0.5);
  t.equal(shelf.placeOf(put(log, 1)), undefined);
  t.ok(shelf.message(log.head).length > 0);
  t.equal(cache.bytes, 0);
  t.end();
});

t.test("ProtoCache knows how long messages are that it does not keep, as far as there is room", (t) => {
  const { log, shelf } = open(100, 150);
  const locations = Array.from({ length: 200 }, (_, n) => put(log, n));
  list(shelf, locations);
  log.reads = 0;
  for (const at of locations) t.equal(shelf.lengthOf(at), shelf.listed(at).length);
  t.ok(log.reads < 150, `${log.reads} of 200 were encoded again`);
  // Records that were replaced make room.
  for (let n = 0; n < 200; n += 1) locations[n] = put(log, n);
  for (let round = 0; round < 3; round += 1) list(shelf, locations);
  const known = locations.filter((at) => shelf.lengthOf(at) !== undefined);
  t.equal(known.length, 200);
  t.end();
});

t.test("ProtoCache without any room keeps nothing, and encodes all the same", (t) => {
  const { log, cache, shelf } = open(0, 0);
  const locations = Array.from({ length: 3 }, (_, n) => put(log, n));
  for (const at of [...locations, ...locations]) t.ok(shelf.listed(at).length > 0);
  t.same([cache.bytes, ...locations.map((at) => shelf.lengthOf(at))], [0, undefined, undefined, undefined]);
  t.end();
});

t.test("ProtoCache forgets a length at the same cost however many it knows", (t) => {
  const changes = 20_000;
  const cost = (lengths: number): number => {
    const { log, cache, shelf } = open(10, lengths);
    for (let n = 0; n < lengths; n += 1) cache.note(shelf, put(log, n), 100);
    const newer = Array.from({ length: changes }, (_, n) => put(log, n % lengths));
    const begun = threadCpuMs();
    for (const at of newer) cache.note(shelf, at, 100);
    const ms = threadCpuMs() - begun;
    t.equal(shelf.lengthOf(newer.at(-1) ?? 0), 100);
    return ms;
  };
  cost(1_000);
  const [few, many] = [cost(1_000), cost(40_000)];
  // Where the first entry of a Map was looked for each time, it was eleven times as much.
  t.ok(many < 5 * few + 20, `${few.toFixed(1)} ms with 1,000 lengths, ${many.toFixed(1)} ms with 40,000`);
  t.end();
});

t.test("ProtoCache has what was just written at hand, for those who asked before, and not for long", (t) => {
  const { log, cache, shelf } = open(100);
  assert(leases !== undefined, "Leases are served");
  const at = put(log, 1);
  const made = Uint8Array.of(1, 2, 3);
  cache.expect(log, leases, log.revisionOf(at), made);
  log.reads = 0;
  t.equal(shelf.message(at), made);
  t.equal(log.reads, 0);
  const first = put(log, 2);
  cache.expect(log, leases, log.revisionOf(first), made);
  for (let n = 1; n <= limits.protoWrittenMax; n += 1) cache.expect(log, leases, log.revisionOf(first) + n, made);
  t.not(shelf.message(first), made, "newer ones took its place");
  t.equal(log.reads, 1);
  const other = new CountingLog();
  cache.expect(other, leases, 1, made);
  put(other, 1);
  t.not(cache.shelf(other, leases, identity).message(other.head), made, "no list or watch had asked");
  t.end();
});
