// Raw JSON, which is copied as it is.

const plain: u8 = 0;
const bad: u8 = 1;
const opens: u8 = 2;
const closes: u8 = 3;
const quotes: u8 = 4;
/** What a byte is in raw JSON: our encoder escapes `<`, `>` and `&`; space and what is beyond ASCII are left alone. */
const kinds = memory.data(128);

for (let byte = 0; byte < 128; byte += 1) {
  let kind = plain;
  if (byte <= 0x20 || byte === 0x7f || byte === 0x3c || byte === 0x3e || byte === 0x26 || byte === 0x5c) kind = bad;
  else if (byte === 0x7b || byte === 0x5b) kind = opens;
  else if (byte === 0x7d || byte === 0x5d) kind = closes;
  else if (byte === 0x22) kind = quotes;
  store<u8>(kinds + <usize>byte, kind);
}

/**
 * The address behind raw JSON, an object or a list; 0: there is none, or our encoder would write something of it in another
 * way.
 */
export function rawEnd(start: usize): usize {
  if (load<u8>(start) !== 0x7b && load<u8>(start) !== 0x5b) return 0;
  let open: i32 = 0;
  let from = start;
  while (true) {
    const byte = load<u8>(from);
    from += 1;
    const kind = byte < 0x80 ? load<u8>(kinds + <usize>byte) : bad;
    if (kind === quotes) {
      from = rawTextEnd(from);
      if (from === 0) return 0;
    } else if (kind === opens) open += 1;
    else if (kind === closes) {
      open -= 1;
      if (open > 0) continue;
      return from;
    } else if (kind === bad) return 0;
  }
}

/** The first byte from `from` on that ends a text in raw JSON, escapes, or is not as our encoder writes it. */
function rawStop(from: usize): usize {
  let place = from;
  while (true) {
    const block = v128.load(place);
    // As signed numbers, bytes beyond ASCII are below zero.
    const special = v128.or(
      v128.or(i8x16.lt_s(block, i8x16.splat(0x21)), i8x16.eq(block, i8x16.splat(0x7f))),
      v128.or(
        v128.or(i8x16.eq(block, i8x16.splat(0x22)), i8x16.eq(block, i8x16.splat(0x5c))),
        v128.or(i8x16.eq(v128.and(block, i8x16.splat(0x7d)), i8x16.splat(0x3c)), i8x16.eq(block, i8x16.splat(0x26))),
      ),
    );
    const mask = i8x16.bitmask(special);
    if (mask !== 0) return place + <usize>ctz(mask);
    place += 16;
  }
}

/** Behind the string in raw JSON whose text begins at `start`; 0: it is not as our encoder writes it. */
function rawTextEnd(start: usize): usize {
  let from = start;
  while (true) {
    from = rawStop(from);
    const byte = load<u8>(from);
    if (byte === 0x22) return from + 1;
    const next = load<u8>(from + 1);
    if (byte !== 0x5c || (next !== 0x22 && next !== 0x5c)) return 0;
    from += 2;
  }
}
