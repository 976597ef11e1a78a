// Fields of protobuf messages, as far as a client of the harness looks at them.

/** Where something begins and ends among bytes. */
export type Span = readonly [start: number, end: number];

const lengthDelimited = 2;
/** Bytes of a value by its wire type; varints have as many as they say. */
const fixedBytes: ReadonlyMap<number, number> = new Map([
  [1, 8],
  [5, 4],
]);

/** Where the first field of a message with a number has its content; undefined: it has none, or is torn before it. */
export function fieldIn(bytes: Buffer, [start, end]: Span, number: number): Span | undefined {
  let at = start;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; at < end; factor *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
    return Number.NaN;
  };
  while (at < end) {
    const key = varint();
    const type = key % 8;
    const length = type === 0 ? 0 : (fixedBytes.get(type) ?? (type === lengthDelimited ? varint() : Number.NaN));
    if (type === 0) varint();
    if (!(at + length <= end)) return undefined;
    if (type === lengthDelimited && Math.floor(key / 8) === number) return [at, at + length];
    at += length;
  }
  return undefined;
}

/** A text; undefined: there is none. */
export function textAt(bytes: Buffer, span: Span | undefined): string | undefined {
  return span && bytes.toString("utf8", ...span);
}
