// Quantities: every form a client may send, and what upstream makes of it (ATTACKS J12).
import t from "tap";
import {
  addQuantities,
  canonical,
  canonicalText,
  compareQuantities,
  exactInteger,
  isInteger,
  isPlainCanonical,
  milliValue,
  negateQuantity,
  parseQuantity,
  type Quantity,
  quantityErrors,
  roundUpToMilli,
  signOf,
} from "../../src/api/quantity.ts";
import { leastCostOf } from "../support/cost.ts";

/** Text sent, text kept; a name of an error where it is refused. */
const texts: readonly (readonly [sent: string, kept: string])[] = [
  ["0", "0"],
  ["-0", "0"],
  ["0n", "0"],
  ["00", "0"],
  ["1", "1"],
  ["1000", "1k"],
  ["1000m", "1"],
  ["1500m", "1500m"],
  ["1.5", "1500m"],
  ["0.5", "500m"],
  [".001", "1m"],
  ["1.", "1."],
  ["+1", "+1"],
  ["1E-3", "1E-3"],
  ["1e3", "1e3"],
  ["1E3", "1E3"],
  ["12e4", "120e3"],
  ["12E", "12E"],
  ["1e999999999", "1e999999999"],
  ["1e-999999999", "1e-9"],
  ["08Gi", "8Gi"],
  ["0.5Mi", "512Ki"],
  ["1.5Gi", "1536Mi"],
  ["1024Mi", "1Gi"],
  ["1024", "1024"],
  ["1023Ki", "1023Ki"],
  ["0.5Ki", "512"],
  ["0.0001Ki", "102400u"],
  ["9Ei", "9223372036854775807"],
  ["7Ei", "7Ei"],
  ["9223372036854775807Ki", "9223372036854775807"],
  ["9223372036854775808", "9223372036854775808"],
  ["12345678901234567890123m", "12345678901234567890123m"],
  ["0.9n", "1n"],
  ["1.1E-9", "2e-9"],
  ["-1.1E-9", "-2e-9"],
  ["1.1111111111n", "2n"],
  ["100u", "100u"],
  ["-5", "-5"],
  ["-1024Mi", "-1Gi"],
  ["1 ", "format"],
  ["", "format"],
  [" ", "format"],
  ["lots", "format"],
  ["1x", "format"],
  ["1.2.3", "format"],
  ["--1", "suffix"],
  ["１", "format"],
  ["1kk", "suffix"],
  ["1ki", "suffix"],
  ["1e", "suffix"],
  ["1e1.5", "format"],
  ["1-1", "suffix"],
  ["1e99999999999999999999", "suffix"],
];

for (const [sent, kept] of texts) {
  t.test(`canonicalText() makes ${kept} of ${JSON.stringify(sent)}`, async (t) => {
    const result = canonicalText(sent);
    t.equal(typeof result === "string" ? result : result.text, kept);
    t.equal(parseQuantity(sent) === undefined, kept in quantityErrors);
    if (isPlainCanonical(sent)) t.equal(sent, kept, "the short cut agrees");
  });
}

t.test("canonicalText() bounds its work on a megabyte of digits", async (t) => {
  for (const text of ["9".repeat(1e6), `${"0".repeat(1e6)}x`, `1.${"1".repeat(1e6)}`, `1e${"9".repeat(1e6)}`]) {
    const ms = await leastCostOf(50, () => t.equal(typeof canonicalText(text), "string"));
    t.ok(ms <= 50, `${ms} ms`);
  }
});

t.test("isPlainCanonical() never says so of a text that changes", async (t) => {
  for (let number = 0; number < 1100; number += 1) {
    for (const suffix of ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3"]) {
      const text = `${number}${suffix}`;
      const result = canonicalText(text);
      if (isPlainCanonical(text) && (typeof result === "string" || result.text !== text)) t.fail(text);
    }
  }
});

function q(text: string): Quantity {
  const quantity = parseQuantity(text);
  if (quantity === undefined) throw new Error(`${text} is no quantity`);
  return quantity;
}

const order = [
  "-1e999999999",
  "-1Ki",
  "-1",
  "-1m",
  "0",
  "1n",
  "1e-8",
  "1m",
  "0.9",
  "1",
  "1.1",
  "1k",
  "1Ki",
  "1e6",
  "1Mi",
  "1E",
  "1Ei",
  "1e999999998",
  "1e999999999",
];

t.test("compareQuantities() orders across suffix families", async (t) => {
  for (const [i, left] of order.entries()) {
    for (const [j, right] of order.entries()) {
      t.equal(compareQuantities(q(left), q(right)), Math.sign(i - j), `${left} and ${right}`);
    }
  }
  t.equal(compareQuantities(q("1000m"), q("1")), 0);
  t.equal(compareQuantities(q("1Ki"), q("1024")), 0);
});

t.test("addQuantities() keeps the format of what it adds to", async (t) => {
  t.equal(canonical(addQuantities(q("1Gi"), q("512Mi"))), "1536Mi");
  t.equal(canonical(addQuantities(q("0"), q("1Ki"))), "1Ki");
  t.equal(canonical(addQuantities(q("1"), q("1m"))), "1001m");
  t.equal(canonical(addQuantities(q("1"), negateQuantity(q("1")))), "0");
  t.equal(canonical(addQuantities(q("1e999999999"), q("1"))), "1e999999999");
});

t.test("milliValue() rounds away from zero and saturates", async (t) => {
  t.equal(milliValue(q("1500m")), 1500n);
  t.equal(milliValue(q("1u")), 1n);
  t.equal(milliValue(q("-1u")), -1n);
  t.equal(milliValue(q("1e999999999")), (1n << 63n) - 1n);
  t.equal(milliValue(q("9Ei")), (1n << 63n) - 1n);
});

t.test("isInteger() and exactInteger() see through suffixes", async (t) => {
  for (const [text, value] of [
    ["1k", 1000n],
    ["1000m", 1n],
    ["2Ki", 2048n],
    ["1500m", undefined],
    ["0", 0n],
  ] as const) {
    t.equal(exactInteger(q(text)), value, text);
    t.equal(isInteger(q(text)), value !== undefined, text);
  }
  t.equal(signOf(q("-1m")), -1);
});

const rounded: readonly (readonly [text: string, kept: string])[] = [
  ["0", "0"],
  ["1", "1"],
  ["1m", "1m"],
  ["1u", "1m"],
  ["-1u", "-1m"],
  ["1500u", "2m"],
  ["1000001n", "2m"],
  ["999999999n", "1"],
  ["1500100u", "1501m"],
  ["1e-6", "1e-3"],
  ["1e3", "1e3"],
  ["2Ei", "2Ei"],
  ["nonsense", "nonsense"],
];

t.test("roundUpToMilli() rounds what a resource list cannot hold", async (t) => {
  for (const [text, kept] of rounded) t.equal(roundUpToMilli(text), kept, text);
});
