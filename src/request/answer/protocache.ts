// Protobuf of records that were asked for before: encoded once per front and version, for all lists and groups of watchers
// that want it, as long as there is room (recordcache.ts). Of the others lengths are kept, so that a list, whose length
// stands in front of it, encodes each of its items once.
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import { Recent } from "../../base/recent.ts";
import type { Location } from "../../cache/shared/record.ts";
import type { RecordSource } from "../../cache/view/view.ts";
import { limits } from "../../config/limits.ts";
import { messageBytes } from "./protoanswer.ts";
import { RecordCache, RecordShelf, Shelves } from "./recordcache.ts";
import { representRecord } from "./toversion.ts";

/** What an entry costs besides its bytes. */
const overheadBytes = 300;
/** Lengths looked at for one whose record is no longer current. */
const lengthLooksMax = 2;

/** A length that is known. */
interface Noted {
  readonly shelf: ProtoShelf;
  readonly at: Location;
}

/** Messages of records, by log and version. */
export class ProtoCache {
  readonly #messages: RecordCache<Uint8Array>;
  readonly #shelves = new Shelves<ProtoShelf>();
  readonly #lengthsMax: number;
  /**
   * Lengths of messages that are not kept, all shelves together, each in a place of its own. Not in the order of a Map:
   * of one whose first entries were deleted, the first that is left is looked for among all of those.
   */
  readonly #noted: Noted[] = [];
  /** The place that is looked at next. */
  #hand = 0;

  /** Keeps at most `bytesMax`, and `lengthsMax` lengths beyond. `random` draws from [0, 1). */
  constructor(bytesMax: number, lengthsMax: number, random: () => number) {
    this.#messages = new RecordCache(bytesMax, random);
    this.#lengthsMax = lengthsMax;
  }

  /** Bytes kept, with what they cost besides. */
  get bytes(): number {
    return this.#messages.bytes;
  }

  /** The messages of one log at the version of `resource`. */
  shelf(view: RecordSource, resource: Resource, identity: Identity): ProtoShelf {
    return this.#shelves.of(view, resource, () => new ProtoShelf(this, this.#messages, view, resource, identity));
  }

  /**
   * Takes the message of what was just written at `revision`, for when its record is asked for. Kept where messages of this
   * log and version were asked for before.
   */
  expect(view: RecordSource, resource: Resource, revision: number, message: Uint8Array): void {
    this.#shelves.get(view, resource)?.expect(revision, message);
  }

  /** For shelves: keeps the length of a message, if there is room or a record that is no longer current has some. */
  note(shelf: ProtoShelf, at: Location, length: number): void {
    if (shelf.lengths.has(at)) return;
    const place = this.#noted.length < this.#lengthsMax ? this.#noted.length : this.#freed();
    if (place === undefined) return;
    this.#noted[place] = { shelf, at };
    shelf.lengths.set(at, length);
  }

  /** A place whose length was forgotten, of the next few; undefined: there is none, as where nothing may be known. */
  #freed(): number | undefined {
    for (let look = 0; look < lengthLooksMax; look += 1) {
      const place = this.#hand;
      const noted = this.#noted[place];
      if (noted === undefined) return undefined;
      this.#hand = (place + 1) % this.#noted.length;
      if (noted.shelf.view.isCurrent(noted.at)) continue;
      noted.shelf.lengths.delete(noted.at);
      return place;
    }
    return undefined;
  }
}

/** The messages of one log at one version. */
export class ProtoShelf extends RecordShelf<Uint8Array> {
  /** Of messages that are, or were, not kept; for the cache. */
  readonly lengths = new Map<Location, number>();
  readonly #cache: ProtoCache;
  readonly #resource: Resource;
  readonly #identity: Identity;
  /** By revision: messages of what was written of late. */
  readonly #written = new Recent<number, Uint8Array>(limits.protoWrittenMax);

  constructor(
    cache: ProtoCache,
    messages: RecordCache<Uint8Array>,
    view: RecordSource,
    resource: Resource,
    identity: Identity,
  ) {
    super(messages, view);
    this.#cache = cache;
    this.#resource = resource;
    this.#identity = identity;
  }

  /** The message of a record that is an event, without an envelope: many watchers want it. Read only. */
  message(at: Location): Uint8Array {
    return this.get(at) ?? this.#encoded(at, false);
  }

  /** The same for an item of a list. */
  listed(at: Location): Uint8Array {
    return this.get(at) ?? this.#encoded(at, true);
  }

  /** Length of a message that was encoded before; undefined when that was forgotten. */
  lengthOf(at: Location): number | undefined {
    return this.get(at)?.length ?? this.lengths.get(at);
  }

  /** Whether the message of a record is kept. */
  has(at: Location): boolean {
    return this.get(at) !== undefined;
  }

  #encoded(at: Location, isListed: boolean): Uint8Array {
    const encoded = this.#written.get(this.view.revisionOf(at)) ?? this.#made(at);
    if (!this.keep(at, encoded, encoded.length + overheadBytes, isListed)) this.#cache.note(this, at, encoded.length);
    return encoded;
  }

  #made(at: Location): Uint8Array {
    const { message } = this.#resource;
    const json = representRecord(this.view, at, this.#resource, this.#identity);
    return messageBytes(message, json);
  }

  /** For the cache: a message of what was written, until newer ones take its place. */
  expect(revision: number, message: Uint8Array): void {
    this.#written.set(revision, message);
  }

  /** For the cache: a message goes, its length is kept where a list may ask for it. */
  override forget(at: Location, message: Uint8Array): void {
    super.forget(at, message);
    if (this.view.isCurrent(at)) this.#cache.note(this, at, message.length);
  }
}

/** The cache of this front. */
export const protoCache = new ProtoCache(limits.protoCacheBytesMax, limits.protoLengthsMax, Math.random);
