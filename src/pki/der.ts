// The little of DER (X.690) that reading requests and certificates takes: elements with their bounds. Offsets count from
// the start of the buffer; nothing is copied.

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

/** The elements within another; undefined when they do not fill it. */
export function childrenOf(der: Buffer, { start, end }: Element): Element[] | undefined {
  const found: Element[] = [];
  for (let at = start; at < end; ) {
    const next = readElement(der, at);
    if (next === undefined || next.end > end) return undefined;
    found.push(next);
    at = next.end;
  }
  return found;
}
