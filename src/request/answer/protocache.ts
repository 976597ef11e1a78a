// Protobuf of records that were asked for before: encoded once per front and version, for all lists and groups of watchers
// that want it, as long as there is room (messageblocks.ts). Of the others lengths are kept, so that a list, whose length
// stands in front of it, encodes each of its items once.
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import { copyOf, type Stretch, viewOf, wholeOf } from "../../base/copy.ts";
import { Recent } from "../../base/recent.ts";
import type { Location } from "../../cache/shared/record.ts";
import type { RecordSource } from "../../cache/view/view.ts";
import { transcodedRecord } from "../../codec/proto/transcode.ts";
import { limits } from "../../config/limits.ts";
import { MessageBlocks, type MessageShelf, type Place } from "./messageblocks.ts";
import { encodedMessage, lentMessage } from "./protoanswer.ts";
import { Shelves } from "./recordcache.ts";
import { isAsStored, representRecord } from "./toversion.ts";

/** Lengths looked at for one whose record is no longer current. */
const lengthLooksMax = 2;

/** Where the message of a record is kept, or the message. */
export type Found = Place | Uint8Array;

/** A length that is known. */
interface Noted {
  readonly shelf: ProtoShelf;
  readonly at: Location;
}

/** Messages of records, by log and version. */
export class ProtoCache {
  readonly #messages: MessageBlocks;
  readonly #shelves = new Shelves<ProtoShelf>();
  readonly #lengthsMax: number;
  /**
   * Lengths of messages that are not kept, all shelves together, each in a place of its own. Not in the order of a Map:
   * of one whose first entries were deleted, the first that is left is looked for among all of those.
   */
  readonly #noted: Noted[] = [];
  /** The place that is looked at next. */
  #hand = 0;

  /** `lengthsMax`: lengths that are known beside messages that are kept. */
  constructor(messages: MessageBlocks, lengthsMax: number) {
    this.#messages = messages;
    this.#lengthsMax = lengthsMax;
  }

  /** Bytes of what is kept. */
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

/** The messages of one log at one version. What is read of them is there in this turn: what it goes into copies it. */
export class ProtoShelf implements MessageShelf {
  readonly view: RecordSource;
  /** Of messages that are, or were, not kept; for the cache. */
  readonly lengths = new Map<Location, number>();
  readonly #cache: ProtoCache;
  readonly #messages: MessageBlocks;
  readonly #number: number;
  readonly #places = new Map<Location, Place>();
  readonly #resource: Resource;
  readonly #identity: Identity;
  /** By revision: messages of what was written of late. Undefined: nothing was. */
  #written: Recent<number, Uint8Array> | undefined;

  constructor(cache: ProtoCache, messages: MessageBlocks, view: RecordSource, resource: Resource, identity: Identity) {
    this.#cache = cache;
    this.#messages = messages;
    this.#number = messages.open(this);
    this.view = view;
    this.#resource = resource;
    this.#identity = identity;
  }

  /** The message of a record that is an event, without an envelope: many watchers want it. */
  message(at: Location): Uint8Array {
    const place = this.#places.get(at);
    if (place !== undefined) return this.#messages.messageAt(place);
    const written = this.#writtenOf(at);
    const found = this.#keep(at, written, false);
    return written ?? this.#viewOf(found);
  }

  /** The same for what is read once. One that is not kept after it is the caller's own. */
  listed(at: Location): Uint8Array {
    return this.#viewOf(this.#places.get(at) ?? this.keep(at));
  }

  /** Where the message of a record is kept: good until the next one is. */
  placeOf(at: Location): Place | undefined {
    return this.#places.get(at);
  }

  /** Encodes the message of an item of a list, which has no place yet, and keeps it, if there is room. */
  keep(at: Location): Found {
    return this.#keep(at, this.#writtenOf(at), true);
  }

  /** Length of a message that was encoded before; undefined when that was forgotten. */
  lengthOf(at: Location): number | undefined {
    const place = this.#places.get(at);
    return place === undefined ? this.lengths.get(at) : this.#messages.lengthAt(place);
  }

  /** Length of the message at a place. */
  lengthAt(place: Place): number {
    return this.#messages.lengthAt(place);
  }

  /** Copies it to byte `to` of `target`; returns the byte after it. */
  copyAt(place: Place, target: Uint8Array, to: number): number {
    return this.#messages.copyAt(place, target, to);
  }

  #viewOf(found: Found): Uint8Array {
    return typeof found === "number" ? this.#messages.messageAt(found) : found;
  }

  #keep(at: Location, written: Uint8Array | undefined, isListed: boolean): Found {
    const message = written === undefined ? this.#encoded(at) : wholeOf(written);
    const place = this.#messages.keep(this.#number, at, message, isListed);
    if (place === undefined) {
      this.#cache.note(this, at, message.end - message.from);
      return written ?? copyOf(viewOf(message));
    }
    this.#places.set(at, place);
    return place;
  }

  /** The message of a record, perhaps in memory that the next one is written to. */
  #encoded(at: Location): Stretch {
    const { view } = this;
    const resource = this.#resource;
    const { message } = resource;
    if (!isAsStored(resource)) return lentMessage(message, representRecord(view, at, resource, this.#identity));
    return transcodedRecord(message, view, at) ?? wholeOf(encodedMessage(message, view.object(at)));
  }

  #writtenOf(at: Location): Uint8Array | undefined {
    return this.#written?.get(this.view.revisionOf(at));
  }

  /** For the cache: a message of what was written, until newer ones take its place. */
  expect(revision: number, message: Uint8Array): void {
    this.#written ??= new Recent(limits.protoWrittenMax);
    this.#written.set(revision, message);
  }

  /** For the cache: a message is elsewhere now. */
  move(at: Location, place: Place): void {
    this.#places.set(at, place);
  }

  /** For the cache: a message goes, its length is kept where a list may ask for it. */
  forget(at: Location, length: number): void {
    this.#places.delete(at);
    if (this.view.isCurrent(at)) this.#cache.note(this, at, length);
  }
}

/** The cache of this front. */
export const protoCache = new ProtoCache(
  new MessageBlocks(limits.protoCacheBytesMax, limits.protoBlockBytes, Math.random),
  limits.protoLengthsMax,
);

/** Keeps nothing: for lists of the past. */
export const noProtoCache = (): ProtoCache =>
  new ProtoCache(new MessageBlocks(0, limits.protoBlockBytes, Math.random), 0);
