import t from "tap";
import { crc32, crc32Joined, crc32Slow } from "../../src/base/crc32.ts";
import { random } from "../support/random.ts";

t.test("crc32() gives the sums of the standard", async (t) => {
  const cases: readonly (readonly [string, number])[] = [
    ["", 0],
    ["a", 0xe8b7be43],
    ["123456789", 0xcbf43926],
    ["The quick brown fox jumps over the lazy dog", 0x414fa339],
  ];
  for (const [text, sum] of cases) {
    t.equal(crc32(Buffer.from(text)), sum, text);
    t.equal(crc32Slow(Buffer.from(text)), sum, text);
  }
});

t.test("crc32() continues from a sum, in JavaScript as well as natively", async (t) => {
  const pick = random(1);
  const bytes = Buffer.from(Array.from({ length: 1000 }, () => pick(256)));
  for (const cut of [0, 1, 7, 500, 1000]) {
    const head = bytes.subarray(0, cut);
    const tail = bytes.subarray(cut);
    t.equal(crc32(tail, crc32(head)), crc32(bytes));
    t.equal(crc32Slow(tail, crc32Slow(head)), crc32(bytes));
  }
});

t.test("crc32Joined() is the sum of both pieces", async (t) => {
  const pick = random(2);
  const bytes = Buffer.from(Array.from({ length: 70_000 }, () => pick(256)));
  for (const cut of [0, 1, 255, 4096, 65_537, 70_000]) {
    const tail = bytes.subarray(cut);
    t.equal(crc32Joined(crc32(bytes.subarray(0, cut)), crc32(tail), tail.length), crc32(bytes), String(cut));
  }
});
