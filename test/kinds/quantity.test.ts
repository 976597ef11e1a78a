import t from "tap";
import { assert } from "../../src/base/assert.ts";
import { compareQuantities, isInteger, parseQuantity, roundToMilli, signOf } from "../../src/kinds/quantity.ts";

t.test("roundToMilli() rounds away from zero and leaves the rest alone", (t) => {
  const cases: readonly [string, string][] = [
    ["1", "1"],
    ["100m", "100m"],
    ["1u", "1m"],
    ["-1u", "-1m"],
    ["1000001n", "2m"],
    ["999999999n", "1"],
    ["1Ki", "1Ki"],
    ["1e3", "1e3"],
    ["1e-6", "1e-3"],
    ["1500100u", "1501m"],
    ["2Ei", "2Ei"],
  ];
  for (const [text, expected] of cases) t.equal(roundToMilli(text), expected, text);
  t.end();
});

t.test("compareQuantities() orders by value whatever the suffix", (t) => {
  const read = (text: string) => {
    const quantity = parseQuantity(text);
    assert(quantity !== undefined, `${text} is a quantity`);
    return quantity;
  };
  const cases: readonly [string, string, number][] = [
    ["1", "1000m", 0],
    ["1k", "1Ki", -1],
    ["1e3", "1k", 0],
    ["0.5", "499m", 1],
    ["-1", "0", -1],
    ["9223372036854775807", "1E", 1],
  ];
  for (const [a, b, expected] of cases) t.equal(compareQuantities(read(a), read(b)), expected, `${a} ${b}`);
  t.equal(signOf(read("-1n")), -1);
  t.equal(isInteger(read("1000m")), true);
  t.equal(isInteger(read("1500m")), false);
  for (const text of ["", ".", "1x", "m", "1e", "--1", "1KiB"]) t.equal(parseQuantity(text), undefined, text);
  t.end();
});
