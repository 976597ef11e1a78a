// Header fields as HTTP/2 sends them (HPACK, RFC 7541). What is sent stays out of the peer's table: the blocks of calls are
// made once and sent again as they are. What comes is decoded with the table the peer fills.
import { huffmanText } from "./huffman.ts";

/** A name, in lower case, and its value, both Latin-1. */
export type Field = readonly [name: string, value: string];

/** Appendix A: the table both ends know, from index 1 on. */
const staticTable: readonly Field[] = [
  [":authority", ""],
  [":method", "GET"],
  [":method", "POST"],
  [":path", "/"],
  [":path", "/index.html"],
  [":scheme", "http"],
  [":scheme", "https"],
  ...[200, 204, 206, 304, 400, 404, 500].map((code): Field => [":status", String(code)]),
  ["accept-charset", ""],
  ["accept-encoding", "gzip, deflate"],
  ...(
    "accept-language accept-ranges accept access-control-allow-origin age allow authorization cache-control " +
    "content-disposition content-encoding content-language content-length content-location content-range content-type " +
    "cookie date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since " +
    "last-modified link location max-forwards proxy-authenticate proxy-authorization range referer refresh retry-after " +
    "server set-cookie strict-transport-security transfer-encoding user-agent vary via www-authenticate"
  )
    .split(" ")
    .map((name): Field => [name, ""]),
];

/** Bytes an entry of a table counts beside its strings (section 4.1). */
const entryBytes = 32;
/** Bytes a table has at most: the protocol's default. */
export const tableBytesMax = 4096;
/** Bytes of one decoded block, at most. */
const blockBytesMax = 256 * 1024;

/** The peer breaks the protocol; nothing that comes after can be understood. */
export class FieldsError extends Error {
  override name = "FieldsError";
}

/** One block of fields that are sent as they are, never indexed. */
export function encodeFields(fields: readonly Field[]): Buffer {
  const parts: Uint8Array[] = [];
  for (const [name, value] of fields) {
    const whole = staticTable.findIndex(([known, text]) => known === name && text === value);
    const same = staticTable.findIndex(([known]) => known === name);
    if (whole >= 0) parts.push(prefixed(0x80, 7, whole + 1));
    else parts.push(prefixed(0x00, 4, same + 1), ...(same < 0 ? [literal(name)] : []), literal(value));
  }
  return Buffer.concat(parts);
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  return Buffer.concat([prefixed(0x00, 7, bytes.length), bytes]);
}

/** An integer whose first byte shares `bits` bits with a pattern (section 5.1). */
function prefixed(pattern: number, bits: number, value: number): Buffer {
  const max = 2 ** bits - 1;
  if (value < max) return Buffer.from([pattern | value]);
  const bytes = [pattern | max];
  let left = value - max;
  for (; left >= 0x80; left = Math.floor(left / 0x80)) bytes.push((left % 0x80) + 0x80);
  bytes.push(left);
  return Buffer.from(bytes);
}

/** Decodes the blocks of one connection, in the order they come. */
export class FieldDecoder {
  /** Newest first. */
  readonly #table: Field[] = [];
  #tableBytes = 0;
  #tableBytesMax = tableBytesMax;
  #block: Uint8Array = new Uint8Array();
  #at = 0;

  /** The fields of a block. Throws FieldsError. */
  decode(block: Uint8Array): Field[] {
    this.#block = block;
    this.#at = 0;
    const fields: Field[] = [];
    let bytes = 0;
    while (this.#at < block.length) {
      const field = this.#next();
      if (field === undefined) continue;
      bytes += sizeOf(field);
      if (bytes > blockBytesMax) throw new FieldsError(`The fields of a block have more than ${blockBytesMax} bytes`);
      fields.push(field);
    }
    return fields;
  }

  /** Undefined: the size of the table has changed. */
  #next(): Field | undefined {
    const first = this.#block[this.#at] as number;
    if (first >= 0x80) return this.#entry(this.#integer(7));
    if (first >= 0x40) {
      const field = this.#literal(6);
      this.#insert(field);
      return field;
    }
    if (first < 0x20) return this.#literal(4);
    const size = this.#integer(5);
    if (size > tableBytesMax) throw new FieldsError(`A table of ${size} bytes, at most ${tableBytesMax} are allowed`);
    this.#tableBytesMax = size;
    this.#evict();
    return undefined;
  }

  #literal(bits: number): Field {
    const index = this.#integer(bits);
    const name = index === 0 ? this.#string() : this.#entry(index)[0];
    return [name, this.#string()];
  }

  #entry(index: number): Field {
    const field = staticTable[index - 1] ?? this.#table[index - 1 - staticTable.length];
    if (field === undefined) throw new FieldsError(`No field has index ${index}`);
    return field;
  }

  #insert(field: Field): void {
    this.#table.unshift(field);
    this.#tableBytes += sizeOf(field);
    this.#evict();
  }

  #evict(): void {
    while (this.#tableBytes > this.#tableBytesMax) {
      const field = this.#table.pop();
      if (field === undefined) return;
      this.#tableBytes -= sizeOf(field);
    }
  }

  #integer(bits: number): number {
    const max = 2 ** bits - 1;
    const first = this.#byte() & max;
    if (first < max) return first;
    let value = max;
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.#byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new FieldsError("An integer is too long");
  }

  #string(): string {
    const isHuffman = (this.#block[this.#at] ?? 0) >= 0x80;
    const length = this.#integer(7);
    const end = this.#at + length;
    if (end > this.#block.length) throw new FieldsError(`A string of ${length} bytes goes beyond its block`);
    const bytes = this.#block.subarray(this.#at, end);
    this.#at = end;
    if (!isHuffman) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
    const text = huffmanText(bytes);
    if (text === undefined) throw new FieldsError("A string is not encoded in the Huffman code");
    return text;
  }

  #byte(): number {
    const byte = this.#block[this.#at++];
    if (byte === undefined) throw new FieldsError("A block ends within a field");
    return byte;
  }
}

function sizeOf([name, value]: Field): number {
  return name.length + value.length + entryBytes;
}
