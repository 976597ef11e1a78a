// The beginning of a value this server wrote, found without reading the rest: kind, version, and the gap for the resource
// version. @hot: every event of another server, and every object at a start, passes here.
//
//   {"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"b","uid":"c","resourceVersion":"","labels":{…
//                                  │            only texts come before the gap          │└─ versionAt
//                                  └─ metadataAt                                        └─ always there, always empty
//
// Upstream leaves an empty resource version out, so that no value of its own looks like this.

/** Where things are in a value, in bytes. */
export interface Head {
  readonly kind: string;
  readonly apiVersion: string;
  /** The brace that opens metadata. */
  readonly metadataAt: number;
  /** Between the two quotes of metadata.resourceVersion. */
  readonly versionAt: number;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openMap = 0x7b;
const closeMap = 0x7d;

const kindKey = Buffer.from('{"kind":"');
const apiVersionKey = Buffer.from(',"apiVersion":"');
const metadataKey = Buffer.from(',"metadata":');
const gap = Buffer.from('"resourceVersion":""');

/** The head of a value of ours; undefined: it is none. */
export function headOf(bytes: Buffer): Head | undefined {
  if (!isAt(bytes, 0, kindKey) || bytes[bytes.length - 1] !== closeMap) return undefined;
  const kindEnd = endOfText(bytes, kindKey.length);
  if (!isAt(bytes, kindEnd, apiVersionKey)) return undefined;
  const versionStart = kindEnd + apiVersionKey.length;
  const versionEnd = endOfText(bytes, versionStart);
  if (!isAt(bytes, versionEnd, metadataKey)) return undefined;
  const metadataAt = versionEnd + metadataKey.length;
  const versionAt = gapIn(bytes, metadataAt);
  if (versionAt < 0) return undefined;
  const kind = bytes.toString("latin1", kindKey.length, kindEnd - 1);
  return { kind, apiVersion: bytes.toString("latin1", versionStart, versionEnd - 1), metadataAt, versionAt };
}

/** Where the digits go in the metadata that begins at `start`; -1: something else than texts comes first. */
function gapIn(bytes: Buffer, start: number): number {
  if (bytes[start] !== openMap) return -1;
  let at = start + 1;
  while (bytes[at] === quote) {
    if (isAt(bytes, at, gap)) return at + gap.length - 1;
    at = endOfText(bytes, at + 1);
    if (bytes[at] !== colon || bytes[at + 1] !== quote) return -1;
    at = endOfText(bytes, at + 2);
    if (bytes[at] !== comma) return -1;
    at += 1;
  }
  return -1;
}

/** The byte after the quote that ends a text whose first byte is at `start`; the length where none does. */
function endOfText(bytes: Buffer, start: number): number {
  const { length } = bytes;
  for (let at = start; at < length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) return at + 1;
    if (byte === backslash) at += 1;
  }
  return length;
}

function isAt(bytes: Buffer, at: number, text: Buffer): boolean {
  const { length } = text;
  if (at + length > bytes.length) return false;
  for (let index = 0; index < length; index += 1) if (bytes[at + index] !== text[index]) return false;
  return true;
}
