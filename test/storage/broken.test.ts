// What the store thread and the fronts share of the durable log is checked where it is used: each row breaks one thing,
// and the assertion that finds it ends the thread.
import t, { type Test } from "tap";
import { SharedStateFailure } from "../../src/base/assert.ts";
import { Ages } from "../../src/storage/ages.ts";
import { checkChange } from "../../src/storage/check.ts";
import { Feed } from "../../src/storage/feed.ts";
import { encodeCurrent, encodeNumberKey, encodeRecord } from "../../src/storage/lmdb/record.ts";
import { type Change, changeTypes, type Record } from "../../src/storage/store.ts";
import { ReplyWriter, RequestWriter, readReply, readRequest } from "../../src/storage/wire.ts";

type Row = readonly [message: string, breakIt: () => unknown];

function check(t: Test, rows: readonly Row[]): void {
  for (const [message, breakIt] of rows) t.throws(breakIt, new SharedStateFailure(message), message);
  t.end();
}

const key = Buffer.from("/registry/pods/a");

function change(changes: Partial<Change> = {}): Change {
  const body = Buffer.from('{"resourceVersion":""}');
  const selection = new Uint8Array(0);
  const prefix = "/registry/pods";
  return {
    prefix,
    key: key.toString(),
    expected: 0,
    type: changeTypes.create,
    selection,
    body,
    versionAt: 20,
    ...changes,
  };
}

function record(revision: number): Record {
  return { ...change(), revision, createRevision: revision, previous: 0 };
}

t.test("Ages.note() finds revisions that go back", (t) => {
  let now = 0;
  const ages = new Ages({ now: () => now, monotonic: () => now });
  ages.note(0, 5);
  now = 1;
  check(t, [["Revision 4 is noted after 5", () => ages.note(1, 4)]]);
});

t.test("Feed finds records that are told twice, out of order, or not of the store", async (t) => {
  const store = { revision: 5, floor: 0 };
  const feed = new Feed(store, (after) => [record(after)]);
  feed.tell([record(4), record(5)]);
  await t.rejects(
    feed.watch(3, () => undefined),
    new SharedStateFailure("Records after 3 begin before it"),
  );
  check(t, [
    ["Revision 5 is told after 5", () => feed.tell([record(5)])],
    ["Revision 6 is told of 5", () => feed.tell([record(6)])],
  ]);
});

t.test("checkChange() finds a key that was changed before it was created", (t) => {
  check(t, [
    ["A key created at 3 was changed at 2", () => checkChange(change(), key, { mod: 2, create: 3 })],
    ["A key created at 3 was changed at 2", () => encodeCurrent(key, 2, 3)],
  ]);
});

t.test("records and keys of the durable log are written only where they follow what was there", (t) => {
  const bytes = Buffer.alloc(200);
  const encode =
    (place: Partial<Record>, size = 200) =>
    () =>
      encodeRecord(bytes.subarray(0, size), 0, change(), key, {
        revision: 5,
        previous: 0,
        createRevision: 5,
        ...place,
      });
  check(t, [
    ["Revision 5 follows 5", encode({ previous: 5 })],
    ["Revision 5 of 6", encode({ createRevision: 6 })],
    ["A record ends at byte 83 of 80", encode({}, 80)],
    ["Key -1 is no number of 53 bits", () => encodeNumberKey(-1)],
    ["Key 9007199254740992 is no number of 53 bits", () => encodeNumberKey(2 ** 53)],
  ]);
});

t.test("messages between fronts and the store are read only where they are whole", (t) => {
  const posted = () => {
    const writer = new RequestWriter();
    writer.add(change());
    return writer.take(1);
  };
  check(t, [
    [
      "Change of unknown type 9",
      () => {
        const request = posted();
        Buffer.from(request.bytes).writeUInt32LE(9, 0);
        readRequest(request);
      },
    ],
    ["Fewer outcomes than changes", () => new ReplyWriter(1).take(1)],
    ["A reply of 1 numbers", () => readReply({ outcomes: new Float64Array(1), messages: [] })],
    ["0 refusals with 1 messages", () => readReply({ outcomes: new Float64Array(2), messages: ["full"] })],
  ]);
});
