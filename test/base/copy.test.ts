import t from "tap";
import { copyBytes, copyOf } from "../../src/base/copy.ts";

t.test("copyBytes() copies exactly the source, shared or not, at every alignment and size", (t) => {
  for (const Memory of [ArrayBuffer, SharedArrayBuffer]) {
    for (const size of [0, 1, 7, 255, 256, 257, 5000]) {
      for (const shift of [0, 1, 3]) {
        const source = new Uint8Array(new Memory(size + shift)).subarray(shift);
        for (let i = 0; i < size; i++) source[i] = (i * 31 + 1) & 0xff;
        const target = new Uint8Array(new Memory(size + 20));
        t.equal(copyBytes(target, 9, source), 9 + size, `${size} bytes`);
        const whole = Buffer.concat([Buffer.alloc(9), Buffer.from(source), Buffer.alloc(11)]);
        t.ok(whole.equals(Buffer.from(target)), "nothing beside it changes");
        t.ok(Buffer.from(source).equals(copyOf(source)), "copyOf() too");
      }
    }
  }
  t.end();
});

t.test("copyBytes() throws when the source does not fit", (t) => {
  t.throws(() => copyBytes(new Uint8Array(10), 1, new Uint8Array(10)), RangeError);
  t.throws(() => copyBytes(new Uint8Array(1000), 1, new Uint8Array(1000)), RangeError);
  t.end();
});
