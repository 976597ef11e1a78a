// What a front made of records for lists (the cells of a row), for when it is asked for again. A record never changes and
// its location is never given to another, so that what is made of it is made once for all who want it, as long as there is
// room. When there is none, what is of records that no list would contain any more goes first. A list that goes on through
// more than fits would throw out each value just before it is asked for again if the oldest or the least used one went:
// what goes is drawn at random, and a list gets room only now and then, so that it finds about what fits.
import { type Listed, Roster } from "../../base/roster.ts";
import type { Location } from "../../cache/shared/record.ts";
import type { RecordSource } from "../../cache/view/view.ts";

/** Entries looked at for one that is no longer current. */
const looksMax = 8;
/** One in so many values of a list gets the room of another one. */
export const listShare = 8;

interface Entry<T> extends Listed {
  readonly shelf: RecordShelf<T>;
  readonly at: Location;
  readonly value: T;
  readonly bytes: number;
}

/** The room that shelves share. */
export class RecordCache<T> {
  readonly #bytesMax: number;
  readonly #random: () => number;
  readonly #entries = new Roster<Entry<T>>();
  #bytes = 0;

  /** Keeps at most `bytesMax`. `random` draws from [0, 1). */
  constructor(bytesMax: number, random: () => number) {
    this.#bytesMax = bytesMax;
    this.#random = random;
  }

  /** Bytes kept, as shelves count them. */
  get bytes(): number {
    return this.#bytes;
  }

  /** For shelves: an entry of a value if there is room, or if it gets the room of another one. */
  entry(shelf: RecordShelf<T>, at: Location, value: T, bytes: number): Entry<T> | undefined {
    if (bytes > this.#bytesMax) return undefined;
    for (let look = 0; look < looksMax && this.#bytes + bytes > this.#bytesMax; look += 1) {
      const entry = this.#draw();
      if (!entry.shelf.view.isCurrent(entry.at)) this.#drop(entry);
    }
    if (this.#bytes + bytes > this.#bytesMax && this.#random() * listShare >= 1) return undefined;
    while (this.#bytes + bytes > this.#bytesMax) this.#drop(this.#draw());
    const entry = { shelf, at, value, bytes, listedAt: -1 };
    this.#entries.add(entry);
    this.#bytes += bytes;
    return entry;
  }

  /** Any entry; there is one. */
  #draw(): Entry<T> {
    return this.#entries.members[Math.floor(this.#random() * this.#entries.size)] as Entry<T>;
  }

  #drop(entry: Entry<T>): void {
    entry.shelf.forget(entry.at);
    this.#bytes -= entry.bytes;
    this.#entries.delete(entry);
  }
}

/** What is kept of the records of one log, in one form. */
export class RecordShelf<T> {
  readonly view: RecordSource;
  readonly #cache: RecordCache<T>;
  readonly #entries = new Map<Location, Entry<T>>();

  constructor(cache: RecordCache<T>, view: RecordSource) {
    this.#cache = cache;
    this.view = view;
  }

  /** What is kept of a record. */
  get(at: Location): T | undefined {
    return this.#entries.get(at)?.value;
  }

  /** Keeps a value that costs so many bytes, if there is room. */
  keep(at: Location, value: T, bytes: number): void {
    const entry = this.#cache.entry(this, at, value, bytes);
    if (entry !== undefined) this.#entries.set(at, entry);
  }

  /** For the cache: a value goes. */
  forget(at: Location): void {
    this.#entries.delete(at);
  }
}

/** The shelves of a cache, by log and resource. */
export class Shelves<S> {
  readonly #shelves = new Map<RecordSource, Map<object, S>>();

  /** The shelf that is there. */
  get(view: RecordSource, resource: object): S | undefined {
    return this.#shelves.get(view)?.get(resource);
  }

  /** The shelf that is there, or is made. */
  of(view: RecordSource, resource: object, make: () => S): S {
    let byResource = this.#shelves.get(view);
    if (byResource === undefined) this.#shelves.set(view, (byResource = new Map()));
    let shelf = byResource.get(resource);
    if (shelf === undefined) byResource.set(resource, (shelf = make()));
    return shelf;
  }
}
