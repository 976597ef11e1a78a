// A list in protobuf. Its envelope begins with the length of all of it, so every item is encoded before the first byte
// leaves, a few milliseconds at a time. Messages are kept up to limits.protoListKeptBytesMax; beyond, only their lengths
// count, and they are encoded again when their turn comes (unless the front's cache has them).
import type { ListMeta } from "../api/gen/meta_v1.ts";
import { encodeMessage, listFoot, listHead, listItemHead } from "../codec/protobuf.ts";
import { limits } from "../config/limits.ts";
import { type FormWriter, partialListMessage, partialMessage } from "./form.ts";
import { listMessageOf, objectOf } from "./protoanswer.ts";
import { protoCache } from "./protocache.ts";
import type { ListAnswer, ReadInput } from "./read.ts";
import type { Chunks } from "./stream.ts";

/** The chunks of a list in protobuf. */
export class ProtoList implements Chunks {
  done = false;
  readonly #input: ReadInput;
  readonly #list: ListAnswer;
  /** Undefined: items in their own form; else their metadata alone. */
  readonly #form: FormWriter | undefined;
  /** Messages of the first items. */
  readonly #kept: Uint8Array[] = [];
  #itemsBytes = 0;
  #keptBytes = 0;
  /** Items measured, later items written. */
  #index = 0;
  #started = false;

  constructor(input: ReadInput, list: ListAnswer, form: FormWriter | undefined) {
    this.#input = input;
    this.#list = list;
    this.#form = form;
  }

  /** Encodes the next items to know their length; false when all are known. Called before next(), turn by turn. */
  measure(): boolean {
    const { items } = this.#list;
    const until = performance.now() + limits.sliceMsMax;
    while (this.#index < items.length) {
      // Looking at the clock costs as much as a cached item: once in sixteen is enough.
      const batch = Math.min(this.#index + 16, items.length);
      for (; this.#index < batch; this.#index += 1) this.#measureItem();
      if (performance.now() > until) return true;
    }
    this.#index = 0;
    return false;
  }

  #measureItem(): void {
    const message = this.#message(this.#index);
    this.#itemsBytes += message.length + listItemHead(message.length).length;
    // The kept ones are the first ones: after one that does not fit none is kept.
    const fits = this.#kept.length === this.#index;
    if (!fits || this.#keptBytes + message.length > limits.protoListKeptBytesMax) return;
    this.#kept.push(message);
    this.#keptBytes += message.length;
  }

  next(): Uint8Array {
    const { items, metadata } = this.#list;
    const parts: Uint8Array[] = [];
    if (!this.#started) {
      parts.push(this.#head(metadata));
      this.#started = true;
    }
    const until = performance.now() + limits.sliceMsMax;
    for (let bytes = 0; this.#index < items.length && bytes < limits.sliceBytesMax; this.#index += 1) {
      if (bytes > 0 && performance.now() > until) break;
      const message = this.#kept[this.#index] ?? this.#message(this.#index);
      bytes += message.length;
      parts.push(listItemHead(message.length), message);
    }
    if (this.#index === items.length) {
      parts.push(listFoot);
      this.done = true;
    }
    return Buffer.concat(parts);
  }

  #head(metadata: ListMeta): Uint8Array {
    if (this.#form !== undefined) {
      const { kind, apiVersion } = this.#form.listType;
      return listHead(partialListMessage, { apiVersion, kind, metadata }, this.#itemsBytes);
    }
    const { apiVersion, listKind } = this.#input.resource;
    const message = listMessageOf(this.#input.resource);
    return listHead(message, { apiVersion, kind: listKind, metadata }, this.#itemsBytes);
  }

  #message(index: number): Uint8Array {
    const { resource, identity } = this.#input;
    const { items, view } = this.#list;
    const at = items[index] ?? 0;
    if (this.#form === undefined) return protoCache.message(view, at, resource, identity);
    return encodeMessage(partialMessage, objectOf(partialMessage, this.#form.item(view.object(at))));
  }
}
