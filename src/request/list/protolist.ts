// A list in protobuf. Its envelope begins with the length of all of it, so every item is measured before the first byte
// leaves, a few milliseconds at a time. Lengths the front's cache does not know take encoding; what it does not keep of
// that is kept here up to limits.protoListKeptBytesMax, and beyond encoded again when its turn comes.
import { refuse, type Status } from "../../api/status.ts";
import { assert } from "../../base/assert.ts";
import { copyBytes } from "../../base/copy.ts";
import type { Location } from "../../cache/shared/record.ts";
import type { Hold } from "../../cache/view/view.ts";
import { envelopeFoot, listHead, listItemHeadBytesMax, putListItemHead } from "../../codec/proto/protobuf.ts";
import { limits } from "../../config/limits.ts";
import type { FormWriter } from "../answer/form.ts";
import { partialListMessage } from "../answer/partial.ts";
import { listMessageOf } from "../answer/protoanswer.ts";
import { type Found, noProtoCache, type ProtoShelf, protoCache } from "../answer/protocache.ts";
import { sharedScratch } from "../answer/stream.ts";
import { formBytes, isAsStored } from "../answer/toversion.ts";
import type { ListAnswer, ReadInput } from "../read/read.ts";
import type { ListChunks } from "./chunks.ts";
import { convertedItems } from "./conversion.ts";

/** Between two looks at the clock: items, and bytes of those that are encoded as they are stored. */
const itemsPerLook = 16;
const bytesPerLook = 64 * 1024;

/** The chunks of a list in protobuf. */
export class ProtoList implements ListChunks {
  done = false;
  readonly #input: ReadInput;
  readonly #list: ListAnswer;
  readonly #hold: Hold;
  /** Undefined: items in their own form; else their metadata alone. */
  readonly #form: FormWriter | undefined;
  readonly #shelf: ProtoShelf;
  /** Messages the cache does not have, by location. */
  readonly #kept = new Map<Location, Uint8Array>();
  #keptBytes = 0;
  /** What follows the list's head, without its foot. */
  #itemsBytes = 0;
  /** Items are not encoded as they are stored: what that costs does not follow from their bytes. */
  readonly #dear: boolean;
  /** Bytes of objects that were encoded since the last look at the clock. */
  #encodedBytes = 0;
  /** Items measured, later items written. */
  #index = 0;
  /** Known with the first chunk. */
  length: number | undefined;
  /** What chunks are gathered in; there since the first one. */
  #scratch: Uint8Array | undefined;

  constructor(input: ReadInput, list: ListAnswer, form: FormWriter | undefined, hold: Hold) {
    this.#input = input;
    this.#list = list;
    this.#hold = hold;
    this.#form = form;
    this.#dear = form !== undefined || !isAsStored(input.resource);
    const cache = list.isPast ? noProtoCache() : protoCache;
    this.#shelf = cache.shelf(list.view, input.resource, input.identity);
  }

  /**
   * Has the objects converted by the webhook of their definition, if it has one. Their metadata alone has a form in
   * protobuf: all of it is kept until it is written. A Status says why that failed.
   */
  async prepareAll(): Promise<Status | undefined> {
    const { items } = this.#list;
    const form = this.#form;
    const converted = convertedItems(this.#input, this.#list, () => this.#hold.expired);
    if (converted === undefined || form === undefined) return undefined;
    for (let index = 0; index < items.length; ) {
      const refused = await converted.prepare(index);
      if (refused !== undefined) return refused;
      for (; index < converted.end; index += 1) {
        const message = partialOf(form, converted.take(index));
        this.#kept.set(items[index] ?? 0, message);
        this.#keptBytes += message.length;
      }
      if (this.#keptBytes > limits.protoListKeptBytesMax) return tooLarge;
    }
    return undefined;
  }

  /** Encodes the next items to know their length. */
  measure(): boolean {
    const { items } = this.#list;
    const until = performance.now() + limits.sliceMsMax;
    for (; this.#index < items.length; this.#index += 1) {
      if (this.#isLate(until)) return true;
      this.#measureItem(items[this.#index] ?? 0);
    }
    this.#index = 0;
    return false;
  }

  /** Whether a turn is over. Looking at the clock costs as much as an item that is there: once in a while is enough. */
  #isLate(until: number): boolean {
    if (this.#encodedBytes < bytesPerLook && this.#index % itemsPerLook !== 0) return false;
    this.#encodedBytes = 0;
    return performance.now() > until;
  }

  #measureItem(at: Location): void {
    const known = this.#form === undefined ? this.#shelf.lengthOf(at) : this.#kept.get(at)?.length;
    const length = known ?? this.#encodeFirst(at);
    this.#itemsBytes += length + putListItemHead(itemHead, 0, length);
  }

  /** Encodes an item whose length is not known. */
  #encodeFirst(at: Location): number {
    const found = this.#encode(at);
    if (typeof found === "number") return this.#shelf.lengthAt(found);
    const { length } = found;
    if (this.#keptBytes + length <= limits.protoListKeptBytesMax) {
      this.#kept.set(at, found);
      this.#keptBytes += length;
    }
    return length;
  }

  get isLong(): boolean {
    return this.#itemsBytes > limits.listChunkBytes;
  }

  next(): Uint8Array {
    const { items } = this.#list;
    const first = this.#scratch === undefined;
    const head = first ? this.#head() : nothing;
    const rest = head.length + this.#itemsBytes + envelopeFoot.length;
    if (first) this.length = rest;
    const isLarge = rest > limits.listChunkBytes && head.length < limits.listChunkBytes;
    this.#scratch ??= isLarge
      ? sharedScratch()
      : new Uint8Array(Math.max(Math.min(limits.listChunkBytes, rest), head.length));
    const scratch = this.#scratch;
    scratch.set(head);
    let used = head.length;
    const until = performance.now() + limits.sliceMsMax;
    for (; this.#index < items.length; this.#index += 1) {
      if (used > 0 && this.#isLate(until)) return scratch.subarray(0, used);
      const found = this.#find(items[this.#index] ?? 0);
      const length = typeof found === "number" ? this.#shelf.lengthAt(found) : found.length;
      const needed = length + listItemHeadBytesMax;
      if (used + needed + envelopeFoot.length > scratch.length && rest > scratch.length) {
        if (used > 0) return scratch.subarray(0, used);
        return this.#large(found, length);
      }
      used = this.#put(scratch, used, found, length);
    }
    scratch.set(envelopeFoot, used);
    this.done = true;
    return scratch.subarray(0, used + envelopeFoot.length);
  }

  /** An item larger than the scratch gets a buffer of its own. */
  #large(found: Found, length: number): Uint8Array {
    const own = new Uint8Array(length + listItemHeadBytesMax);
    this.#index += 1;
    return own.subarray(0, this.#put(own, 0, found, length));
  }

  /** Writes an item's head and message; returns the byte after them. */
  #put(target: Uint8Array, at: number, found: Found, length: number): number {
    const from = putListItemHead(target, at, length);
    if (typeof found === "number") return this.#shelf.copyAt(found, target, from);
    return copyBytes(target, from, found);
  }

  #head(): Uint8Array {
    const { metadata } = this.#list;
    if (this.#form !== undefined) {
      const { kind, apiVersion } = this.#form.listType;
      return listHead(partialListMessage, { apiVersion, kind, metadata }, this.#itemsBytes);
    }
    const { apiVersion, listKind } = this.#input.resource;
    const message = listMessageOf(this.#input.resource);
    return listHead(message, { apiVersion, kind: listKind, metadata }, this.#itemsBytes);
  }

  #find(at: Location): Found {
    const kept = this.#kept.size > 0 ? this.#kept.get(at) : undefined;
    return kept ?? (this.#form === undefined ? this.#shelf.placeOf(at) : undefined) ?? this.#encode(at);
  }

  #encode(at: Location): Found {
    this.#encodedBytes += this.#dear ? bytesPerLook : this.#list.view.objectBytes(at);
    if (this.#form === undefined) return this.#shelf.keep(at);
    const { resource, identity } = this.#input;
    return partialOf(this.#form, formBytes(this.#list.view, at, resource, identity));
  }
}

function partialOf(form: FormWriter, object: Uint8Array): Uint8Array {
  assert(form.message !== undefined, "A list in protobuf of a form without messages");
  return form.message(object);
}

const tooLarge = refuse("RequestEntityTooLarge", "the list is too large to be converted in one piece: use limit", {});
const nothing = new Uint8Array(0);
/** Where heads are written only to be measured. */
const itemHead = new Uint8Array(listItemHeadBytesMax);
