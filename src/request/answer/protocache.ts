// Protobuf of records that were asked for before. A record never changes and its location is never given to another,
// so its message is encoded once per front and version, for all lists and groups of watchers that want it, as long as
// there is room. When there is none, records that no list would contain any more go first. A list that goes on through more than
// fits would throw out each message just before it is asked for again if the oldest or the least used one went: what
// goes is drawn at random, and a list gets room only now and then, so that it finds about what fits. Of the others
// lengths are kept, so that a list, whose length stands in front of it, encodes each of its items once.
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import { Recent } from "../../base/recent.ts";
import type { Location } from "../../cache/shared/record.ts";
import type { RecordSource } from "../../cache/view/view.ts";
import { encodeMessage } from "../../codec/proto/protobuf.ts";
import { limits } from "../../config/limits.ts";
import { objectOf } from "./protoanswer.ts";
import { representRecord } from "./toversion.ts";

/** What an entry costs besides its bytes. */
const overheadBytes = 300;
/** Entries looked at for one that is no longer current. */
const looksMax = 8;
/** Lengths looked at for one whose record is no longer current. */
const lengthLooksMax = 2;
/** One in so many messages of a list gets the room of another one. */
const listShare = 8;

interface Entry {
  readonly shelf: ProtoShelf;
  readonly at: Location;
  readonly message: Uint8Array;
  /** Where the entry stands among all. */
  index: number;
}

/** Messages of records, by log and version. */
export class ProtoCache {
  readonly #bytesMax: number;
  readonly #random: () => number;
  readonly #shelves = new Map<RecordSource, Map<Resource, ProtoShelf>>();
  /** In no order. */
  readonly #entries: Entry[] = [];
  #bytes = 0;
  readonly #lengthsMax: number;
  /** Lengths of messages that are not kept, all shelves together. */
  #lengths = 0;

  /** Keeps at most `bytesMax`, and `lengthsMax` lengths beyond. `random` draws from [0, 1). */
  constructor(bytesMax: number, lengthsMax: number, random: () => number) {
    this.#bytesMax = bytesMax;
    this.#lengthsMax = lengthsMax;
    this.#random = random;
  }

  /** Bytes kept, with what they cost besides. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The messages of one log at the version of `resource`. */
  shelf(view: RecordSource, resource: Resource, identity: Identity): ProtoShelf {
    let byResource = this.#shelves.get(view);
    if (byResource === undefined) {
      byResource = new Map();
      this.#shelves.set(view, byResource);
    }
    let shelf = byResource.get(resource);
    if (shelf === undefined) {
      shelf = new ProtoShelf(this, view, resource, identity);
      byResource.set(resource, shelf);
    }
    return shelf;
  }

  /**
   * Takes the message of what was just written at `revision`, for when its record is asked for. Kept where messages of this
   * log and version were asked for before.
   */
  expect(view: RecordSource, resource: Resource, revision: number, message: Uint8Array): void {
    this.#shelves.get(view)?.get(resource)?.expect(revision, message);
  }

  /** For shelves: keeps a message if there is room, or if it gets the room of another one. */
  keep(shelf: ProtoShelf, at: Location, message: Uint8Array, isListed: boolean): Entry | undefined {
    const bytes = message.length + overheadBytes;
    if (bytes > this.#bytesMax) return undefined;
    for (let look = 0; look < looksMax && this.#bytes + bytes > this.#bytesMax; look += 1) {
      const entry = this.#draw();
      if (!entry.shelf.view.isCurrent(entry.at)) this.#drop(entry);
    }
    if (this.#bytes + bytes > this.#bytesMax && isListed && this.#random() * listShare >= 1) return undefined;
    while (this.#bytes + bytes > this.#bytesMax) this.#drop(this.#draw());
    const entry = { shelf, at, message, index: this.#entries.length };
    this.#entries.push(entry);
    this.#bytes += bytes;
    return entry;
  }

  /** For shelves: keeps the length of a message, if there is room. */
  note(shelf: ProtoShelf, at: Location, length: number): void {
    const { lengths } = shelf;
    for (let look = 0; look < lengthLooksMax && this.#lengths >= this.#lengthsMax; look += 1) {
      for (const [first, known] of lengths) {
        lengths.delete(first);
        // What is current goes behind the others, which are looked at before it comes again.
        if (shelf.view.isCurrent(first)) lengths.set(first, known);
        else this.#lengths -= 1;
        break;
      }
    }
    if (this.#lengths >= this.#lengthsMax || lengths.has(at)) return;
    lengths.set(at, length);
    this.#lengths += 1;
  }

  /** Any entry; there is one. */
  #draw(): Entry {
    return this.#entries[Math.floor(this.#random() * this.#entries.length)] as Entry;
  }

  #drop(entry: Entry): void {
    entry.shelf.forget(entry.at);
    this.note(entry.shelf, entry.at, entry.message.length);
    this.#bytes -= entry.message.length + overheadBytes;
    const last = this.#entries.pop();
    if (last === undefined || last === entry) return;
    this.#entries[entry.index] = last;
    last.index = entry.index;
  }
}

/** The messages of one log at one version. */
export class ProtoShelf {
  readonly view: RecordSource;
  /** Of messages that are, or were, not kept; for the cache. */
  readonly lengths = new Map<Location, number>();
  readonly #cache: ProtoCache;
  readonly #resource: Resource;
  readonly #identity: Identity;
  readonly #entries = new Map<Location, Entry>();
  /** By revision: messages of what was written of late. */
  readonly #written = new Recent<number, Uint8Array>(limits.protoWrittenMax);

  constructor(cache: ProtoCache, view: RecordSource, resource: Resource, identity: Identity) {
    this.#cache = cache;
    this.view = view;
    this.#resource = resource;
    this.#identity = identity;
  }

  /** The message of a record that is an event, without an envelope: many watchers want it. Read only. */
  message(at: Location): Uint8Array {
    return this.#entries.get(at)?.message ?? this.#encoded(at, false);
  }

  /** The same for an item of a list. */
  listed(at: Location): Uint8Array {
    return this.#entries.get(at)?.message ?? this.#encoded(at, true);
  }

  /** Length of a message that was encoded before; undefined when that was forgotten. */
  lengthOf(at: Location): number | undefined {
    return this.#entries.get(at)?.message.length ?? this.lengths.get(at);
  }

  /** Whether the message of a record is kept. */
  has(at: Location): boolean {
    return this.#entries.has(at);
  }

  #encoded(at: Location, isListed: boolean): Uint8Array {
    const encoded = this.#written.get(this.view.revisionOf(at)) ?? this.#made(at);
    const entry = this.#cache.keep(this, at, encoded, isListed);
    if (entry === undefined) this.#cache.note(this, at, encoded.length);
    else this.#entries.set(at, entry);
    return encoded;
  }

  #made(at: Location): Uint8Array {
    const { message } = this.#resource;
    const json = representRecord(this.view, at, this.#resource, this.#identity);
    return encodeMessage(message, objectOf(message, json));
  }

  /** For the cache: a message of what was written, until newer ones take its place. */
  expect(revision: number, message: Uint8Array): void {
    this.#written.set(revision, message);
  }

  /** For the cache: an entry goes. */
  forget(at: Location): void {
    this.#entries.delete(at);
  }
}

/** The cache of this front. */
export const protoCache = new ProtoCache(limits.protoCacheBytesMax, limits.protoLengthsMax, Math.random);
