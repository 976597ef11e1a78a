// Reads the wire format of protobuf: numbers, lengths, texts, and skipped fields. Nothing about the bytes is
// trusted; the faults are those of upstream's generated readers.
import { wireTypes } from "./wireplan.ts";

/** Texts of the generated readers. */
export const texts = {
  eof: "unexpected EOF",
  overflow: "proto: integer overflow",
  negative: "proto: negative length found during unmarshaling",
  group: "proto: unexpected end of group",
  depth: "exceeded max depth",
  many: "too many values",
} as const;

/** Bytes of a text that is cut, and of a message of which texts are: each keeps the whole. */
const cutMax = 96;
const latinMax = 16 * 1024;

/** Where the bytes are being read. The first fault ends the reading: every reader returns at once behind it. */
export class ProtoReader {
  readonly #bytes: Buffer;
  /** Each byte as a character, once it is asked for. */
  #latin: string | undefined;
  at: number;
  depth = 0;
  fault: string | undefined = undefined;
  /** Messages, items and entries that may still come. */
  left: number;

  constructor(bytes: Uint8Array, valuesMax = Number.POSITIVE_INFINITY) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
    this.left = valuesMax;
  }

  /** Counts a message, an item or an entry: they take memory however few bytes they have. */
  count(): void {
    this.left -= 1;
    if (this.left < 0) this.fail(texts.many);
  }

  /** Notes the first fault. */
  fail(text: string): void {
    this.fault ??= text;
  }

  /** An unsigned number; beyond 2^53 it is inexact. */
  varint(end: number): number {
    const first = this.#bytes[this.at];
    if (first !== undefined && first < 0x80 && this.at < end) {
      this.at += 1;
      return first;
    }
    let value = 0;
    let scale = 1;
    for (let index = 0; index < 10; index += 1) {
      const byte = this.at < end ? this.#bytes[this.at] : undefined;
      if (byte === undefined) {
        this.fail(texts.eof);
        return 0;
      }
      this.at += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 0x80;
    }
    this.fail(texts.overflow);
    return 0;
  }

  /** A 64-bit number, exact: a bigint beyond 2^53. */
  integer(end: number, signed: boolean): number | bigint {
    const start = this.at;
    const quick = this.varint(end);
    if (quick <= Number.MAX_SAFE_INTEGER && this.at - start < 9) return quick;
    let value = 0n;
    for (let index = this.at - 1; index >= start; index -= 1) {
      value = (value << 7n) | BigInt((this.#bytes[index] ?? 0) & 0x7f);
    }
    const exact = signed ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value);
    const number = Number(exact);
    return Number.isSafeInteger(number) ? number : exact;
  }

  /** A 32-bit number: the low bits of the sent number, as Go converts. */
  int32(end: number, signed: boolean): number {
    const value = this.integer(end, true);
    const low = typeof value === "bigint" ? Number(BigInt.asUintN(32, value)) : value % 4_294_967_296;
    return signed ? low | 0 : low >>> 0;
  }

  /** The end of the bytes a length announces; `end` when it lies beyond. */
  span(end: number): number {
    const length = this.varint(end);
    // Go reads lengths as signed numbers.
    if (length >= 2 ** 63) this.fail(texts.negative);
    if (this.at + length <= end) return this.at + length;
    this.fail(texts.eof);
    return end;
  }

  /** Text up to `end`. Bytes that are no UTF-8 become U+FFFD, as they would in JSON. */
  text(end: number): string {
    const start = this.at;
    this.at = end;
    return this.#isShortAscii(start, end)
      ? (this.#latin ??= this.#bytes.toString("latin1")).substring(start, end)
      : this.#bytes.toString("utf8", start, end);
  }

  /** A short text of ASCII is cut from the text of all bytes: a call out of JavaScript for each would cost more. */
  #isShortAscii(start: number, end: number): boolean {
    if (end - start > cutMax || this.#bytes.length > latinMax) return false;
    const bytes = this.#bytes;
    for (let index = start; index < end; index += 1) if ((bytes[index] as number) >= 0x80) return false;
    return true;
  }

  /** Bytes up to `end`. */
  slice(end: number): Buffer {
    const start = this.at;
    this.at = end;
    return this.#bytes.subarray(start, end);
  }

  /** A floating point number. */
  float(end: number, single: boolean): number {
    const size = single ? 4 : 8;
    if (this.at + size > end) {
      this.fail(texts.eof);
      return 0;
    }
    const at = this.at;
    this.at += size;
    return single ? this.#bytes.readFloatLE(at) : this.#bytes.readDoubleLE(at);
  }

  /** Passes over a field of a wire type; groups are passed over whole, whatever their depth. */
  skip(wireType: number, end: number): void {
    let open = 0;
    let type = wireType;
    for (;;) {
      if (type === wireTypes.varint) this.varint(end);
      else if (type === wireTypes.bytes) this.at = this.span(end);
      else if (type === wireTypes.startGroup) open += 1;
      else if (type === wireTypes.endGroup) {
        if (open === 0) this.fail(texts.group);
        open -= 1;
      } else if (type === wireTypes.fixed64 || type === wireTypes.fixed32) this.float(end, type === wireTypes.fixed32);
      else this.fail(`proto: illegal wireType ${type}`);
      if (open <= 0 || this.fault !== undefined) return;
      type = this.varint(end) & 7;
    }
  }
}
