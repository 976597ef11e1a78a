// What is kept in blocks: what a turn reads stays in it, what goes is the block with the least that lists would contain.
import t from "tap";
import { wholeOf } from "../../../src/base/copy.ts";
import { MessageBlocks, type MessageShelf, type Place } from "../../../src/request/answer/messageblocks.ts";
import { FakeLog } from "../../support/fakelog.ts";

const blockBytes = 1024;
/** With its head a quarter of a block. */
const messageBytes = 240;

/** A shelf that knows the places of what is kept, and blocks whose turns the test ends. */
function open(blocks: number): {
  messages: MessageBlocks;
  places: Map<number, Place>;
  current: Set<number>;
  keep: (at: number, isListed?: boolean) => Place | undefined;
  endTurn: () => void;
} {
  const waiting: (() => void)[] = [];
  const messages = new MessageBlocks(
    blocks * blockBytes,
    blockBytes,
    () => 0.5,
    (work) => waiting.push(work),
  );
  const places = new Map<number, Place>();
  const current = new Set<number>();
  const view = new FakeLog();
  view.isCurrent = (at) => current.has(at);
  const shelf: MessageShelf = {
    view,
    forget: (at) => void places.delete(at),
    move: (at, place) => void places.set(at, place),
  };
  const number = messages.open(shelf);
  const keep = (at: number, isListed = false): Place | undefined => {
    current.add(at);
    const place = messages.keep(number, at, wholeOf(new Uint8Array(messageBytes).fill(at)), isListed);
    if (place !== undefined) places.set(at, place);
    return place;
  };
  const endTurn = (): void => waiting.splice(0).forEach((work) => work());
  return { messages, places, current, keep, endTurn };
}

t.test("MessageBlocks has what was put in, by its place", (t) => {
  const { messages, places, keep } = open(3);
  for (let at = 1; at <= 12; at += 1) keep(at);
  const target = Buffer.alloc(messageBytes + 1);
  for (let at = 1; at <= 12; at += 1) {
    const place = places.get(at) ?? -1;
    t.equal(messages.lengthAt(place), messageBytes);
    t.same(messages.messageAt(place), new Uint8Array(messageBytes).fill(at));
    t.equal(messages.copyAt(place, target, 1), messageBytes + 1);
    t.same(new Uint8Array(target.subarray(1)), messages.messageAt(place));
  }
  t.equal(messages.bytes, 3 * blockBytes);
  t.end();
});

t.test("MessageBlocks gives up the block with the least of current records, which move", (t) => {
  const { messages, places, current, keep } = open(3);
  for (let at = 1; at <= 12; at += 1) keep(at);
  for (const at of [5, 7]) current.delete(at);
  current.delete(9);
  keep(13);
  // A block of a few messages is asked by its first one.
  t.same(
    [...places.keys()].sort((a, b) => a - b),
    [1, 2, 3, 4, 6, 8, 9, 10, 11, 12, 13],
  );
  for (const at of [6, 8, 13]) {
    t.same(messages.messageAt(places.get(at) ?? -1), new Uint8Array(messageBytes).fill(at), "moved, or new");
  }
  t.end();
});

t.test("MessageBlocks lets what a turn has read stay in it, and uses the memory again after it", (t) => {
  const { messages, places, current, keep, endTurn } = open(2);
  for (let at = 1; at <= 8; at += 1) keep(at);
  for (const at of [1, 2, 3, 4]) current.delete(at);
  const read = messages.messageAt(places.get(1) ?? -1);
  for (let at = 9; at <= 12; at += 1) keep(at);
  t.notOk(places.has(1));
  t.same(read, new Uint8Array(messageBytes).fill(1));
  endTurn();
  for (const at of [5, 6, 7, 8]) current.delete(at);
  keep(13);
  t.same(read, new Uint8Array(messageBytes).fill(13), "its memory was taken again");
  t.equal(messages.bytes, blockBytes + 256);
  t.end();
});

t.test("MessageBlocks takes room of current records for one in eight items of lists, and for each event", (t) => {
  const { keep, endTurn } = open(2);
  for (let at = 1; at <= 8; at += 1) t.ok(keep(at, true) !== undefined, "there is room");
  t.equal(keep(9, true), undefined);
  t.ok(keep(10) !== undefined);
  t.equal(keep(11, true), undefined, "the room is that of others");
  endTurn();
  t.end();
});

t.test("MessageBlocks keeps nothing that is larger than a block", (t) => {
  const { messages } = open(2);
  const number = messages.open({ view: new FakeLog(), forget: () => undefined, move: () => undefined });
  t.equal(messages.keep(number, 1, wholeOf(new Uint8Array(blockBytes)), false), undefined);
  t.ok(messages.keep(number, 2, wholeOf(new Uint8Array(blockBytes - 16)), false) !== undefined);
  t.equal(messages.bytes, blockBytes);
  t.end();
});
