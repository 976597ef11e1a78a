// Texts in JSON: where they end, and what is escaped in them.

/** Whether bytes beyond ASCII were seen since the last look: the high bits of all bytes of texts. */
let seen: v128 = i8x16.splat(0);

/** Whether texts had bytes beyond ASCII since this was asked last, or bytes near them had. */
export function hasSeenBeyondAscii(): bool {
  const has = i8x16.bitmask(seen) !== 0;
  seen = i8x16.splat(0);
  return has;
}

/** The first byte from `from` on that is not a text's own: a quote, a backslash, a control character. */
export function textEnd(from: usize): usize {
  let place = from;
  while (true) {
    const block = v128.load(place);
    seen = v128.or(seen, block);
    const special = v128.or(
      v128.or(i8x16.eq(block, i8x16.splat(0x22)), i8x16.eq(block, i8x16.splat(0x5c))),
      i8x16.lt_u(block, i8x16.splat(0x20)),
    );
    const mask = i8x16.bitmask(special);
    if (mask !== 0) return place + <usize>ctz(mask);
    place += 16;
  }
}

/** Writes what the escape at `from` stands for; returns the address behind it, 0 where it is none or half of a pair. */
export function unescaped(from: usize, to: usize): usize {
  const code = load<u8>(from + 1);
  if (code === 0x75) return unescapeUnit(from + 2, to);
  let byte: i32 = 0;
  if (code === 0x22 || code === 0x5c || code === 0x2f) byte = code;
  else if (code === 0x6e) byte = 0x0a;
  else if (code === 0x74) byte = 0x09;
  else if (code === 0x72) byte = 0x0d;
  else if (code === 0x62) byte = 0x08;
  else if (code === 0x66) byte = 0x0c;
  else return 0;
  store<u8>(to, <u8>byte);
  return to + 1;
}

function unescapeUnit(digits: usize, to: usize): usize {
  let unit: i32 = 0;
  for (let index: usize = 0; index < 4; index += 1) {
    const digit = <i32>load<u8>(digits + index);
    let value: i32 = 0;
    if (digit >= 0x30 && digit <= 0x39) value = digit - 0x30;
    else if ((digit | 0x20) >= 0x61 && (digit | 0x20) <= 0x66) value = (digit | 0x20) - 0x57;
    else return 0;
    unit = (unit << 4) | value;
  }
  if (unit < 0x80) {
    store<u8>(to, <u8>unit);
    return to + 1;
  }
  if (unit < 0x800) {
    store<u8>(to, <u8>(0xc0 | (unit >> 6)));
    store<u8>(to + 1, <u8>(0x80 | (unit & 0x3f)));
    return to + 2;
  }
  if (unit >= 0xd800 && unit <= 0xdfff) return 0;
  store<u8>(to, <u8>(0xe0 | (unit >> 12)));
  store<u8>(to + 1, <u8>(0x80 | ((unit >> 6) & 0x3f)));
  store<u8>(to + 2, <u8>(0x80 | (unit & 0x3f)));
  return to + 3;
}
