// CRC-32 (IEEE 802.3, the one of gzip and PNG): finds every flipped bit and every burst of up to 32 bits.
import * as zlib from "node:zlib";

const table = new Uint32Array(256).map((_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** The same sum in JavaScript: Node before 20.15 has none of its own. */
export function crc32Slow(bytes: Uint8Array, seed = 0): number {
  let sum = ~seed;
  for (const byte of bytes) sum = (sum >>> 8) ^ (table[(sum ^ byte) & 0xff] as number);
  return ~sum >>> 0;
}

/** CRC-32 of `bytes`, continued from `seed` (the sum of the bytes before). An unsigned 32-bit number. */
export const crc32: (bytes: Uint8Array, seed?: number) => number = zlib.crc32 ?? crc32Slow;

/** A polynomial times another, modulo that of the sum. */
function times(a: number, b: number): number {
  let product = 0;
  for (let bit = 31, factor = b; bit >= 0; bit--) {
    if ((a >>> bit) & 1) product ^= factor;
    factor = factor & 1 ? (factor >>> 1) ^ 0xedb88320 : factor >>> 1;
  }
  return product >>> 0;
}

/** x to the power of 8·2^index: what so many zero bytes do to a sum. */
const powers: number[] = [0x00800000];

/** CRC-32 of two pieces one after the other, from that of each and the length of the second in bytes. */
export function crc32Joined(first: number, second: number, length: number): number {
  let sum = first;
  for (let index = 0, rest = length; rest > 0; index += 1, rest = Math.floor(rest / 2)) {
    const power = powers[index] ?? times(powers[index - 1] as number, powers[index - 1] as number);
    powers[index] = power;
    if (rest % 2 === 1) sum = times(power, sum);
  }
  return (sum ^ second) >>> 0;
}
