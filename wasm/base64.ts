// Base64.

/** The value of a digit of base64; -1: it is none. */
function sixBits(byte: i32): i32 {
  if (byte >= 0x41 && byte <= 0x5a) return byte - 0x41;
  if (byte >= 0x61 && byte <= 0x7a) return byte - 0x61 + 26;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30 + 52;
  return byte === 0x2b ? 62 : byte === 0x2f ? 63 : -1;
}

/** Decodes base64 in its canonical form where it stands; returns the address behind it, 0 where it has another form. */
export function decoded(start: usize, last: usize): usize {
  if (((last - start) & 3) !== 0) return 0;
  let to = start;
  for (let from = start; from < last; from += 4) {
    const isLast = from + 4 === last;
    const padding = isLast && load<u8>(from + 3) === 0x3d ? (load<u8>(from + 2) === 0x3d ? 2 : 1) : 0;
    const a = sixBits(load<u8>(from));
    const b = sixBits(load<u8>(from + 1));
    const c = padding > 1 ? 0 : sixBits(load<u8>(from + 2));
    const d = padding > 0 ? 0 : sixBits(load<u8>(from + 3));
    if ((a | b | c | d) < 0) return 0;
    const all = (a << 18) | (b << 12) | (c << 6) | d;
    // Bits that no byte holds are zero.
    if ((padding === 1 && (c & 3) !== 0) || (padding === 2 && (b & 15) !== 0)) return 0;
    store<u8>(to, <u8>(all >> 16));
    if (padding < 2) store<u8>(to + 1, <u8>(all >> 8));
    if (padding < 1) store<u8>(to + 2, <u8>all);
    to += 3 - padding;
  }
  return to;
}
