import t from "tap";
import { Gather } from "../../../src/cache/fanout/gather.ts";
import { limits } from "../../../src/config/limits.ts";

t.test("slices share one buffer, also those that end with an object beyond their size", (t) => {
  const gather = new Gather();
  const object = new Uint8Array(limits.sliceBytesMax - 1).fill(7);
  gather.addBytes(object);
  const { buffer } = gather.bytes();
  for (let slice = 0; slice < 3; slice += 1) {
    gather.reset();
    gather.addBytes(object);
    gather.addBytes(object);
    t.equal(gather.bytes().length, 2 * object.length);
    t.equal(gather.bytes().buffer, buffer);
  }
  t.end();
});

t.test("what had to grow for a huge object is given back", (t) => {
  const gather = new Gather();
  gather.addBytes(Uint8Array.of(1));
  const usual = gather.bytes().buffer.byteLength;
  gather.addBytes(new Uint8Array(4 * limits.sliceBytesMax));
  t.ok(gather.bytes().buffer.byteLength > usual);
  t.equal(gather.bytes()[0], 1);
  gather.reset();
  t.equal(gather.bytes().buffer.byteLength, usual);
  t.end();
});
