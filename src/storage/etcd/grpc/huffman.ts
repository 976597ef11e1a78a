// The Huffman code of header strings (RFC 7541, appendix B). It is canonical: codes of one length are consecutive and in
// the order of their symbols, so the lengths are all there is to know.

/** Bits of the code of each byte, and of the end of a string, which must not occur. */
const lengths = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
  28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6,
  5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23,
  22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22,
  23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26,
  20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27,
  27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27,
  27, 27, 27, 26, 30,
];
const endSymbol = 256;
const bitsMax = Math.max(...lengths);

/** Codes of one length. */
interface SameLength {
  readonly first: number;
  readonly symbols: readonly number[];
}

/** By length in bits. */
const codes: readonly SameLength[] = makeCodes();

function makeCodes(): SameLength[] {
  const made: SameLength[] = [{ first: 0, symbols: [] }];
  let next = 0;
  for (let bits = 1; bits <= bitsMax; bits++) {
    next *= 2;
    const symbols = lengths.flatMap((length, symbol) => (length === bits ? [symbol] : []));
    made.push({ first: next, symbols });
    next += symbols.length;
  }
  return made;
}

/** The string that `bytes` encode, as Latin-1; undefined: they are no such code. */
export function huffmanText(bytes: Uint8Array): string | undefined {
  const symbols: number[] = [];
  let code = 0;
  let bits = 0;
  for (const byte of bytes) {
    for (let mask = 0x80; mask !== 0; mask >>= 1) {
      code = 2 * code + ((byte & mask) === 0 ? 0 : 1);
      bits++;
      const same = codes[bits];
      if (same === undefined) return undefined;
      const symbol = same.symbols[code - same.first];
      if (symbol === undefined) continue;
      if (symbol === endSymbol) return undefined;
      symbols.push(symbol);
      code = 0;
      bits = 0;
    }
  }
  // The last byte is filled up with ones, which begin the code of the end.
  const isFilled = bits < 8 && code === 2 ** bits - 1;
  return isFilled ? Buffer.from(symbols).toString("latin1") : undefined;
}
