// A list in protobuf. Its envelope begins with the length of all of it, so every item is encoded before the first byte
// leaves, a few milliseconds at a time. Bytes are kept up to limits.protoListKeptBytesMax; what lies beyond is only
// measured, and encoded again when its turn comes.
import { encodeListItem, listFoot, listHead } from "../codec/protobuf.ts";
import { limits } from "../config/limits.ts";
import { listMessageOf, objectOf } from "./protoanswer.ts";
import type { ListAnswer, ReadInput } from "./read.ts";
import { represent } from "./represent.ts";
import type { Chunks } from "./stream.ts";

/** The chunks of a list in protobuf. */
export class ProtoList implements Chunks {
  done = false;
  readonly #input: ReadInput;
  readonly #list: ListAnswer;
  /** The first items, encoded. */
  readonly #kept: Uint8Array[] = [];
  #itemsBytes = 0;
  #keptBytes = 0;
  /** Items measured, later items written. */
  #index = 0;
  #started = false;

  constructor(input: ReadInput, list: ListAnswer) {
    this.#input = input;
    this.#list = list;
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
      const { apiVersion, listKind } = this.#input.resource;
      const message = listMessageOf(this.#input.resource);
      parts.push(listHead(message, { apiVersion, kind: listKind, metadata }, this.#itemsBytes));
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

  #encode(index: number): Uint8Array {
    const { resource, identity } = this.#input;
    const stored = this.#list.view.object(this.#list.items[index] ?? 0);
    const { message } = resource;
    return encodeListItem(message, objectOf(message, represent(resource, identity, stored)));
  }
}
