// Messages that are kept, one behind another in large blocks of memory. Of a message that is an object of its own, V8
// marks the object, counts the memory and frees both, each for itself: of 10,000 pods a third of what the first list
// costs. A block is shared memory, which V8 does not count, and goes as a whole: the one in which the fewest bytes are of
// records that lists would still contain. A list that goes on through more than fits would throw out each message just
// before it is asked for again: of its messages only a share gets room of others, so that it finds about what fits.
import { copyBytes, copyRange } from "../../base/copy.ts";
import type { Location } from "../../cache/shared/record.ts";
import type { RecordSource } from "../../cache/view/view.ts";

/** In front of each message: its length and the number of its shelf, four bytes each, and its record, eight. */
const headBytes = 16;
/** One in so many messages of a list gets the room of others. */
const listShare = 8;
/** Of the messages of a block, one in so many is asked whether its record is current. */
const looksShare = 8;
/** Blocks that wait to be used again; more are given back. */
const spareMax = 2;

/** Whose messages they are. */
export interface MessageShelf {
  readonly view: RecordSource;
  /** A message is no longer kept. */
  forget(at: Location, length: number): void;
}

/** Where a message is: one number, of its block and its first byte in there. */
export type Place = number;

/** Memory of one block, as the numbers of heads and as bytes. */
class Block {
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  readonly words: Uint32Array;
  readonly doubles: Float64Array;
  used = 0;

  constructor(bytes: number) {
    const memory = new SharedArrayBuffer(bytes);
    this.bytes = new Uint8Array(memory);
    this.words = new Uint32Array(memory);
    this.doubles = new Float64Array(memory);
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
  /** It had messages of current records before. */
  #isTaken = false;

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
  keep(shelf: number, at: Location, message: Uint8Array, isListed: boolean): Place | undefined {
    const { length } = message;
    const needed = (headBytes + length + 7) & ~7;
    const block = this.#blockFor(needed, isListed);
    if (block === undefined) return undefined;
    const { used } = block;
    block.words[used >> 2] = length;
    block.words[(used >> 2) + 1] = shelf;
    block.doubles[(used >> 3) + 1] = at;
    copyBytes(block.bytes, used + headBytes, message);
    block.used = used + needed;
    return this.#current * this.#blockBytes + used;
  }

  /** Length of the message at a place. */
  lengthAt(place: Place): number {
    const { words } = this.#blockOf(place);
    return words[(place % this.#blockBytes) >> 2] as number;
  }

  /** Copies the message at a place to byte `to` of `target`; returns the byte after it. */
  copyAt(place: Place, target: Uint8Array, to: number): number {
    const { bytes, words } = this.#blockOf(place);
    const from = place % this.#blockBytes;
    const begin = from + headBytes;
    return copyRange(target, to, bytes, begin, begin + (words[from >> 2] as number));
  }

  /** The message at a place: to be read in this turn. */
  messageAt(place: Place): Uint8Array {
    const { bytes, words } = this.#blockOf(place);
    const from = place % this.#blockBytes;
    return new Uint8Array(bytes.buffer, from + headBytes, words[from >> 2] as number);
  }

  #blockOf(place: Place): Block {
    return this.#blocks[Math.floor(place / this.#blockBytes)] as Block;
  }

  /** The block a message goes to. An item of a list takes room of others now and then only. */
  #blockFor(needed: number, isListed: boolean): Block | undefined {
    if (needed > this.#blockBytes || this.#blocksMax === 0) return undefined;
    const current = this.#blocks[this.#current];
    const hasRoom = current !== undefined && current.used + needed <= this.#blockBytes;
    if (hasRoom && !this.#isTaken) return current;
    const isFull = this.#blocks.length === this.#blocksMax;
    if (isFull && isListed && this.#random() * listShare >= 1) return undefined;
    if (hasRoom) return current;
    if (isFull) this.#current = this.#take();
    else this.#current = this.#blocks.push(new Block(this.#blockBytes)) - 1;
    return this.#blocks[this.#current];
  }

  /** Empties the block with the fewest bytes of current records: any of those that have equally few. */
  #take(): number {
    const { length } = this.#blocks;
    const first = Math.floor(this.#random() * length);
    let least = first;
    let leastBytes = Number.POSITIVE_INFINITY;
    for (let n = 0; n < length; n += 1) {
      const index = (first + n) % length;
      const bytes = this.#currentBytes(this.#blocks[index] as Block, leastBytes);
      if (bytes < leastBytes) [least, leastBytes] = [index, bytes];
    }
    this.#isTaken = leastBytes > 0;
    this.#clear(least);
    return least;
  }

  /** About how many bytes of a block are of current records; or `enough`, where it is more. */
  #currentBytes({ words, doubles, used }: Block, enough: number): number {
    let bytes = 0;
    let looks = 0;
    for (let from = 0; from < used && bytes < enough; looks += 1) {
      const length = words[from >> 2] as number;
      if (looks % looksShare === 0) {
        const shelf = this.#shelves[words[(from >> 2) + 1] as number] as MessageShelf;
        if (shelf.view.isCurrent(doubles[(from >> 3) + 1] as number)) bytes += length;
      }
      from += (headBytes + length + 7) & ~7;
    }
    return bytes;
  }

  /** Forgets what a block holds. What this turn reads of it stays: the block gets other memory. */
  #clear(index: number): void {
    const old = this.#blocks[index] as Block;
    this.#blocks[index] = this.#spare.pop() ?? new Block(this.#blockBytes);
    for (let from = 0; from < old.used; ) {
      const length = old.words[from >> 2] as number;
      const shelf = this.#shelves[old.words[(from >> 2) + 1] as number] as MessageShelf;
      shelf.forget(old.doubles[(from >> 3) + 1] as number, length);
      from += (headBytes + length + 7) & ~7;
    }
    this.#afterTurn(() => {
      old.used = 0;
      if (this.#spare.length < spareMax) this.#spare.push(old);
    });
  }
}
