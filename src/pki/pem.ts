// PEM blocks (RFC 7468) as the reference's decoder reads them: text around blocks is skipped, headers are kept apart.

/** One block. */
export interface PemBlock {
  /** `CERTIFICATE REQUEST`. */
  readonly type: string;
  readonly hasHeaders: boolean;
  readonly bytes: Buffer;
}

/** A first block and what follows it; undefined when there is none. Looks at each byte a bounded number of times. */
export function nextPemBlock(text: string): { readonly block: PemBlock; readonly rest: string } | undefined {
  const begin = /(?:^|\n)-----BEGIN ([^\n-]{0,100})-----[ \t\r]*\n/g;
  for (let match = begin.exec(text); match !== null; match = begin.exec(text)) {
    const type = match[1] ?? "";
    const endText = `-----END ${type}-----`;
    const end = text.indexOf(endText, begin.lastIndex);
    if (end < 0) continue;
    const body = text.slice(begin.lastIndex, end);
    const blank = /^(?:[^\n:]+:[^\n]*\n)+\r?\n/.exec(body);
    const encoded = body.slice(blank?.[0].length ?? 0).replace(/[ \t\r\n]/g, "");
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(encoded) || encoded.length % 4 !== 0) continue;
    const bytes = Buffer.from(encoded, "base64");
    return { block: { type, hasHeaders: blank !== null, bytes }, rest: text.slice(end + endText.length) };
  }
  return undefined;
}
