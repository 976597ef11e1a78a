// The little of DER (X.690) that reading and writing requests and certificates takes. What is read are elements with their
// bounds: offsets count from the start of the buffer, and nothing is copied. What is written are buffers.

/** One element. */
export interface Element {
  readonly tag: number;
  /** Offset of the element. */
  readonly at: number;
  /** Offset of its content. */
  readonly start: number;
  readonly end: number;
}

/** The element at an offset; undefined when it does not fit. */
export function readElement(der: Buffer, at: number): Element | undefined {
  const tag = der[at];
  const first = der[at + 1];
  if (tag === undefined || first === undefined) return undefined;
  const count = first < 0x80 ? 0 : first & 0x7f;
  if (count > 4 || first === 0x80) return undefined;
  let length = count === 0 ? first : 0;
  for (let index = 0; index < count; index++) length = length * 256 + (der[at + 2 + index] ?? Number.NaN);
  const start = at + 2 + count;
  return start + length <= der.length ? { tag, at, start, end: start + length } : undefined;
}

/** The elements within another; undefined when they do not fill it, or are more than `countMax`. */
export function childrenOf(
  der: Buffer,
  { start, end }: Element,
  countMax = Number.POSITIVE_INFINITY,
): Element[] | undefined {
  const found: Element[] = [];
  for (let at = start; at < end; ) {
    const next = readElement(der, at);
    if (next === undefined || next.end > end || found.length === countMax) return undefined;
    found.push(next);
    at = next.end;
  }
  return found;
}

/** Writes an element: its tag, the least length octets, its content. */
export function element(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const length = content.reduce((sum, part) => sum + part.length, 0);
  const head = [tag];
  if (length < 0x80) head.push(length);
  else {
    const octets: number[] = [];
    for (let left = length; left > 0; left = Math.floor(left / 256)) octets.unshift(left % 256);
    head.push(0x80 | octets.length, ...octets);
  }
  return Buffer.concat([Buffer.from(head), ...content]);
}

/** Writes a SEQUENCE. */
export function sequence(...content: readonly Uint8Array[]): Buffer {
  return element(0x30, ...content);
}

/** Writes a SET OF: its elements in the order of their encoding (X.690 11.6). */
export function setOf(content: readonly Buffer[]): Buffer {
  return element(0x31, ...[...content].sort(Buffer.compare));
}

/** Writes an object identifier given as its content in hexadecimal. */
export function objectIdentifier(hex: string): Buffer {
  return element(0x06, Buffer.from(hex, "hex"));
}

/** Writes a BIT STRING of whole bytes. */
export function bitString(bytes: Uint8Array): Buffer {
  return element(0x03, Buffer.of(0), bytes);
}
