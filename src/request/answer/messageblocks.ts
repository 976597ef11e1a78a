// Messages that are kept, one behind another in blocks of memory. Of a message that is an object of its own, V8 marks the
// object, counts the memory and frees both, each for itself: of 10,000 pods a third of what the first list costs. A block
// is shared memory, which V8 does not count.
//
// Where there is no room, the block goes in which the fewest bytes are of records that lists would still contain; while
// they are few, they move to its place. Else they go as well. A list that goes on through more than fits would throw out
// each message just before it is asked for again: of its messages only a share gets room of such, so that it finds about
// what fits.
import { copyRange, type Stretch } from "../../base/copy.ts";
import type { Location } from "../../cache/shared/record.ts";
import type { RecordSource } from "../../cache/view/view.ts";
import { listShare } from "./recordcache.ts";

/** In front of each message: its length and the number of its shelf, four bytes each, and its record, eight. */
const headBytes = 16;
/** Of a block, one message in so many bytes is asked whether its record is current. */
const markBytes = 16 * 1024;
/** Blocks that are looked at for the one with the least of such. */
const looksMax = 16;
/** Up to this part of a block, what is current moves. */
const movedPartMax = 0.75;
/** Blocks that wait to be used again; more are given back. */
const spareMax = 2;

/** Whose messages they are. */
export interface MessageShelf {
  readonly view: RecordSource;
  /** A message is no longer kept. */
  forget(at: Location, length: number): void;
  /** A message is elsewhere now. */
  move(at: Location, place: Place): void;
}

/** Where a message is: one number, of its block and its first byte in there. */
export type Place = number;

/** What a message takes, with its head, in eights. */
function sizeOf(length: number): number {
  return (headBytes + length + 7) & ~7;
}

/** One block, and how messages lie in it. A message is named by the byte its head begins with. */
class Block {
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  /** Where the messages are that are asked for all. */
  readonly marks: number[] = [];
  used = 0;
  readonly #words: Uint32Array;
  readonly #doubles: Float64Array;

  constructor(bytes: number) {
    const memory = new SharedArrayBuffer(bytes);
    this.bytes = new Uint8Array(memory);
    this.#words = new Uint32Array(memory);
    this.#doubles = new Float64Array(memory);
  }

  lengthAt(from: number): number {
    return this.#words[from >> 2] as number;
  }

  shelfAt(from: number): number {
    return this.#words[(from >> 2) + 1] as number;
  }

  recordAt(from: number): Location {
    return this.#doubles[(from >> 3) + 1] as number;
  }

  endAt(from: number): number {
    return from + sizeOf(this.lengthAt(from));
  }

  /** Puts a message behind the others; there is room. */
  put(shelf: number, at: Location, message: Stretch): number {
    const length = message.end - message.from;
    const from = this.#take(sizeOf(length));
    this.#words[from >> 2] = length;
    this.#words[(from >> 2) + 1] = shelf;
    this.#doubles[(from >> 3) + 1] = at;
    copyRange(this.bytes, from + headBytes, message.bytes, message.from, message.end);
    return from;
  }

  /** The same with one of another block. */
  putOf({ bytes }: Block, from: number, end: number): number {
    const to = this.#take(end - from);
    copyRange(this.bytes, to, bytes, from, end);
    return to;
  }

  empty(): void {
    this.marks.length = 0;
    this.used = 0;
  }

  #take(bytes: number): number {
    const from = this.used;
    const last = this.marks[this.marks.length - 1];
    if (last === undefined || from - last >= markBytes) this.marks.push(from);
    this.used = from + bytes;
    return from;
  }
}

/** The messages of one front, of all logs. */
export class MessageBlocks {
  readonly #blockBytes: number;
  readonly #blocksMax: number;
  readonly #random: () => number;
  readonly #afterTurn: (work: () => void) => void;
  readonly #blocks: Block[] = [];
  readonly #spare: Block[] = [];
  readonly #shelves: MessageShelf[] = [];
  /** The block that is written to. */
  #current = -1;
  /** Messages of current records went for its room: items of lists get of it now and then only. */
  #tookCurrent = false;
  /** Items of lists before the next look for a block with little of current records: there was none. */
  #passes = 0;

  /**
   * Keeps at most `bytesMax`, in blocks of `blockBytes` (a multiple of eight). `random` draws from [0, 1). `afterTurn`
   * calls when all that this turn reads was read: setImmediate by default.
   */
  constructor(
    bytesMax: number,
    blockBytes: number,
    random: () => number,
    afterTurn: (work: () => void) => void = setImmediate,
  ) {
    this.#blockBytes = blockBytes;
    this.#blocksMax = Math.floor(bytesMax / blockBytes);
    this.#random = random;
    this.#afterTurn = afterTurn;
  }

  /** Bytes in use, with heads. */
  get bytes(): number {
    return this.#blocks.reduce((sum, { used }) => sum + used, 0);
  }

  /** The number of a new shelf. */
  open(shelf: MessageShelf): number {
    return this.#shelves.push(shelf) - 1;
  }

  /** Keeps a copy of a message, of an item of a list or else of an event; undefined: there is no room for it. */
  keep(shelf: number, at: Location, message: Stretch, isListed: boolean): Place | undefined {
    const block = this.#blockFor(sizeOf(message.end - message.from), isListed);
    return block && this.#current * this.#blockBytes + block.put(shelf, at, message);
  }

  /** Length of the message at a place. */
  lengthAt(place: Place): number {
    return this.#blockOf(place).lengthAt(place % this.#blockBytes);
  }

  /** Copies the message at a place to byte `to` of `target`; returns the byte after it. */
  copyAt(place: Place, target: Uint8Array, to: number): number {
    const block = this.#blockOf(place);
    const from = place % this.#blockBytes;
    const begin = from + headBytes;
    return copyRange(target, to, block.bytes, begin, begin + block.lengthAt(from));
  }

  /** The message at a place: to be read in this turn. */
  messageAt(place: Place): Uint8Array {
    const block = this.#blockOf(place);
    const from = place % this.#blockBytes;
    return new Uint8Array(block.bytes.buffer, from + headBytes, block.lengthAt(from));
  }

  #blockOf(place: Place): Block {
    return this.#blocks[Math.floor(place / this.#blockBytes)] as Block;
  }

  /** The block a message goes to. */
  #blockFor(needed: number, isListed: boolean): Block | undefined {
    if (needed > this.#blockBytes || this.#blocksMax === 0) return undefined;
    const current = this.#blocks[this.#current];
    if (current !== undefined && current.used + needed <= this.#blockBytes) {
      return this.#tookCurrent && isListed && !this.#mayTake() ? undefined : current;
    }
    if (this.#blocks.length < this.#blocksMax) {
      this.#current = this.#blocks.push(new Block(this.#blockBytes)) - 1;
    } else if (!this.#makeRoom(needed, isListed)) return undefined;
    return this.#blocks[this.#current];
  }

  /** Whether an item of a list may have room of current records. */
  #mayTake(): boolean {
    return this.#random() * listShare < 1;
  }

  /** Takes the block with the least of current records, of some; any of those that have equally little. */
  #makeRoom(needed: number, isListed: boolean): boolean {
    if (isListed && this.#passes > 0) {
      this.#passes -= 1;
      return false;
    }
    const { length } = this.#blocks;
    const first = Math.floor(this.#random() * length);
    let least = first;
    let leastPart = Number.POSITIVE_INFINITY;
    for (let n = 0; n < Math.min(length, looksMax); n += 1) {
      const index = (first + n) % length;
      const part = this.#currentPart(this.#blocks[index] as Block);
      if (part < leastPart) [least, leastPart] = [index, part];
    }
    const takes = leastPart > movedPartMax;
    if (takes && isListed && !this.#mayTake()) {
      this.#passes = listShare;
      return false;
    }
    this.#tookCurrent = takes;
    this.#current = least;
    this.#replace(least, takes ? this.#blockBytes : needed);
    return true;
  }

  /** About what part of a block is of current records. */
  #currentPart(block: Block): number {
    const { marks, used } = block;
    let bytes = 0;
    for (const [n, from] of marks.entries()) {
      if (this.#shelfOf(block, from).view.isCurrent(block.recordAt(from))) bytes += (marks[n + 1] ?? used) - from;
    }
    return bytes / used;
  }

  #shelfOf(block: Block, from: number): MessageShelf {
    return this.#shelves[block.shelfAt(from)] as MessageShelf;
  }

  /**
   * Gives a block other memory, into which its messages of current records move as long as `free` bytes are left. What this
   * turn reads of the old one stays.
   */
  #replace(index: number, free: number): void {
    const old = this.#blocks[index] as Block;
    const block = this.#spare.pop() ?? new Block(this.#blockBytes);
    this.#blocks[index] = block;
    for (let from = 0; from < old.used; ) {
      const shelf = this.#shelfOf(old, from);
      const at = old.recordAt(from);
      const end = old.endAt(from);
      const hasRoom = block.used + end - from + free <= this.#blockBytes;
      if (hasRoom && shelf.view.isCurrent(at)) shelf.move(at, index * this.#blockBytes + block.putOf(old, from, end));
      else shelf.forget(at, old.lengthAt(from));
      from = end;
    }
    this.#afterTurn(() => {
      old.empty();
      if (this.#spare.length < spareMax) this.#spare.push(old);
    });
  }
}
