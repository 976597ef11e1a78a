// PEM blocks (RFC 7468) as upstream's decoder reads them: text around blocks is skipped, headers are kept apart.
// Every byte is looked at a bounded number of times, whatever comes in: a request body may be three megabytes of it.

/** One block. */
export interface PemBlock {
  /** `CERTIFICATE REQUEST`. */
  readonly type: string;
  readonly hasHeaders: boolean;
  readonly bytes: Buffer;
}

const endMark = "-----END ";
const beginMark = "-----BEGIN ";
const dashes = "-----";

/** The first block and the text after it; undefined when there is none. */
export function nextPemBlock(text: string): { readonly block: PemBlock; readonly rest: string } | undefined {
  let from = 0;
  for (let end = text.indexOf(endMark); end >= 0; end = text.indexOf(endMark, from)) {
    // A block begins at the last such line before its end: whatever comes before was none.
    const block = readBlock(text.slice(from, end));
    const close = block && `${endMark}${block.type}${dashes}`;
    if (block && close && text.startsWith(close, end)) return { block, rest: text.slice(end + close.length) };
    from = end + endMark.length;
  }
  return undefined;
}

function readBlock(region: string): PemBlock | undefined {
  const begin = region.lastIndexOf(beginMark);
  if (begin < 0 || (begin > 0 && region[begin - 1] !== "\n")) return undefined;
  const line = region.indexOf("\n", begin);
  if (line < 0) return undefined;
  const head = region.slice(begin + beginMark.length, line).trimEnd();
  if (!head.endsWith(dashes)) return undefined;
  const lines = region.slice(line + 1).split("\n");
  const headers = lines.findIndex((text) => !text.includes(":"));
  const encoded = lines
    .slice(headers)
    .join("")
    .replace(/[ \t\r]/g, "");
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(encoded) || encoded.length % 4 !== 0) return undefined;
  return { type: head.slice(0, -dashes.length), hasHeaders: headers > 0, bytes: Buffer.from(encoded, "base64") };
}
