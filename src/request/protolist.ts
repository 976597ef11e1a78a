// A list in protobuf. Its envelope begins with the length of all of it, so every item is encoded before the first byte
// leaves, a few milliseconds at a time. Bytes are kept up to limits.protoListKeptBytesMax; what lies beyond is only
// measured, and encoded again when its turn comes.
import type { ListMeta } from "../api/gen/meta_v1.ts";
import { encodeListItem, listFoot, listHead } from "../codec/protobuf.ts";
import { limits } from "../config/limits.ts";
import { type FormWriter, partialListMessage, partialMessage } from "./form.ts";
import { listMessageOf, objectOf } from "./protoanswer.ts";
import type { ListAnswer, ReadInput } from "./read.ts";
import { represent } from "./represent.ts";
import type { Chunks } from "./stream.ts";

/** The chunks of a list in protobuf. */
export class ProtoList implements Chunks {
  done = false;
  readonly #input: ReadInput;
  readonly #list: ListAnswer;
  /** Undefined: items in their own form; else their metadata alone. */
  readonly #form: FormWriter | undefined;
  /** The first items, encoded. */
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
    for (let bytes = 0; this.#index < items.length && bytes < limits.sliceBytesMax; this.#index += 1) {
      const item = this.#encode(this.#index);
      bytes += item.length;
      this.#itemsBytes += item.length;
      if (this.#keptBytes + item.length > limits.protoListKeptBytesMax || this.#kept.length < this.#index) continue;
      this.#kept.push(item);
      this.#keptBytes += item.length;
    }
    if (this.#index < items.length) return true;
    this.#index = 0;
    return false;
  }

  next(): Uint8Array {
    const { items, metadata } = this.#list;
    const parts: Uint8Array[] = [];
    if (!this.#started) {
      parts.push(this.#head(metadata));
      this.#started = true;
    }
    for (let bytes = 0; this.#index < items.length && bytes < limits.sliceBytesMax; this.#index += 1) {
      const item = this.#kept[this.#index] ?? this.#encode(this.#index);
      bytes += item.length;
      parts.push(item);
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

  #encode(index: number): Uint8Array {
    const { resource, identity } = this.#input;
    const stored = this.#list.view.object(this.#list.items[index] ?? 0);
    if (this.#form !== undefined) {
      return encodeListItem(partialMessage, objectOf(partialMessage, this.#form.item(stored)));
    }
    const { message } = resource;
    return encodeListItem(message, objectOf(message, represent(resource, identity, stored)));
  }
}
