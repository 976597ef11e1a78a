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

/** CRC-32 of `bytes`, continued from `seed` (the sum of what came before). An unsigned 32-bit number. */
export const crc32: (bytes: Uint8Array, seed?: number) => number = zlib.crc32 ?? crc32Slow;
