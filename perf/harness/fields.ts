// Fields of protobuf messages, as far as a client of the harness looks at them.

/** Where something begins and ends among bytes. */
export type Span = readonly [start: number, end: number];

/** The wire type of texts, bytes and messages. */
export const lengthDelimited = 2;

/**
 * Fields of a message: number, wire type, and where the content is, which of a torn message may end behind it. The last
 * one is that of a wire type that has no end.
 */
export function* fieldsIn(bytes: Buffer, [start, end]: Span): Generator<[number: number, type: number, content: Span]> {
  let at = start;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; at < end; scale *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    return Number.NaN;
  };
  const lengthOf = (type: number): number => {
    if (type === 0) return Number.isNaN(varint()) ? Number.NaN : 0;
    if (type === 1) return 8;
    if (type === 5) return 4;
    return type === lengthDelimited ? varint() : Number.NaN;
  };
  while (at < end) {
    const tag = varint();
    const length = lengthOf(tag % 8);
    yield [Math.floor(tag / 8), tag % 8, [at, at + length]];
    at += length;
  }
}

/** Where the first text, bytes or message of a number has its content; undefined: it has none, or is torn before it. */
export function fieldIn(bytes: Buffer, message: Span, number: number): Span | undefined {
  for (const [found, type, content] of fieldsIn(bytes, message)) {
    if (!(content[1] <= message[1])) return undefined;
    if (type === lengthDelimited && found === number) return content;
  }
  return undefined;
}

/** A text; undefined: there is none. */
export function textAt(bytes: Buffer, span: Span | undefined): string | undefined {
  return span && bytes.toString("utf8", ...span);
}
