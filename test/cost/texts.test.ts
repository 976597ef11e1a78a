// Texts that a client may send as long as a body is, to every reader of one value.
import t from "tap";
import { parseDuration as parseNanos } from "../../src/api/duration.ts";
import { canonicalText } from "../../src/api/quantity.ts";
import { parseJson } from "../../src/codec/engine/json.ts";
import { Fault, TooManyValues } from "../../src/codec/json/fault.ts";
import { parseYaml } from "../../src/codec/yaml/yaml.ts";
import { parseDuration } from "../../src/config/duration.ts";
import { limits } from "../../src/config/limits.ts";
import { compileCost, Patterns } from "../../src/kinds/validation/pattern.ts";
import { costOf, excessOf } from "../support/cost.ts";

const bytes = (text: string): Buffer => Buffer.from(text);

/** What was slow, or is of the kind: a text of so many characters for a reader. */
const cases: readonly (readonly [name: string, make: (size: number) => string, read: (text: string) => unknown])[] = [
  ["F02: blanks in quoted YAML", (n) => `a: "x${" ".repeat(n)}y\n z"`, (text) => parseYaml(bytes(text))],
  ["F02: blanks in plain YAML", (n) => `a: x${" ".repeat(n)}y\nb: c`, (text) => parseYaml(bytes(text))],
  [
    "F02: tabs and blanks in YAML lines",
    (n) => `a: 'x${"\t ".repeat(n / 2)}y\n\n z'`,
    (text) => parseYaml(bytes(text)),
  ],
  ["F06: zeros of a quantity", (n) => `${"0".repeat(n)}!`, canonicalText],
  ["F06: digits of a duration in a query", (n) => "1".repeat(n), parseDuration],
  ["F06: parts of a duration in a query", (n) => `${"1s".repeat(n / 2)}!`, parseDuration],
  ["F06: digits of a duration in an object", (n) => "1".repeat(n), parseNanos],
  ["F06: fractions of a duration in an object", (n) => `${"1.1h".repeat(n / 4)}x`, parseNanos],
];

for (const [name, make, read] of cases) {
  t.test(`${name} cost what their length costs`, async (t) => {
    t.equal(await excessOf(make, read, 1024, 2 ** 20), undefined);
  });
}

t.test("F06: quantities that fill a body cost what their bytes cost, whatever they say", async (t) => {
  const long = limits.quantityCharsMax;
  const wild = [
    `${"0".repeat(long - 1)}!`,
    `1${"0".repeat(long - 1)}`,
    `1${"0".repeat(long - 3)}Ki`,
    `0.${"0".repeat(long - 3)}1`,
    "1e-8000",
    "1e-4096",
    "1e4096",
    "9e2147483647",
    "1E-99999999",
  ];
  const plain = "123456789m";
  const rate = async (text: string): Promise<number> => {
    const count = Math.ceil((256 * 1024) / text.length);
    const all = async (): Promise<void> => {
      for (let index = 0; index < count; index += 1) canonicalText(text);
    };
    return costOf(all, 3);
  };
  await rate(plain);
  const usual = await rate(plain);
  for (const text of wild) t.ok((await rate(text)) < usual * 10 + 20, `${text.slice(0, 12)}… of ${text.length}`);
});

t.test("patterns of a schema have RE2's syntax, and cost what one definition may spend on them", (t) => {
  const patterns = new Patterns();
  t.equal(patterns.fault("^(a+)+$"), undefined);
  t.equal(patterns.fault("(?P<name>[[:alpha:]])\\pL+"), undefined);
  t.match(patterns.fault("(?=a)"), /invalid or unsupported Perl syntax/);
  t.match(patterns.fault("(a)\\1"), /invalid escape sequence/);
  t.match(patterns.fault("a{2000}"), /invalid repeat count/);
  t.match(patterns.fault("a".repeat(limits.schemaPatternCharsMax + 1)), /longer than/);
  const bomb = (index: number): string => `((a{10}){10}){10}${index}`;
  const other = new Patterns();
  const kept = Array.from({ length: 100 }, (_, index) => other.fault(bomb(index)));
  t.equal(kept[0], undefined);
  t.match(kept[99], /more than 10000 instructions/);
  t.equal(kept.filter((fault) => fault === undefined).length, 9, "each is a thousand and its end");
  t.equal(other.fault(bomb(0)), undefined, "what was looked at is known");
  t.end();
});

t.test("compileCost() is about what RE2 compiles", (t) => {
  t.equal(compileCost("abc"), 3);
  t.equal(compileCost("a{10}"), 10);
  t.equal(compileCost("((a{10}){10}){10}"), 1000);
  t.equal(compileCost("\\pL{100}\\p{Greek}{1,2}"), 2040);
  t.end();
});

t.test("a JSON document of too many values is refused as YAML for what reading it once costs", async (t) => {
  const max = 100_000;
  const document = bytes(`[${"{},".repeat(max)}{}]`);
  const once = await costOf(() => t.type(parseJson(document, max), Fault), 5);
  const whole = await costOf(() => t.type(parseYaml(document, undefined, max), TooManyValues), 5);
  t.ok(whole < 2 * once + 5, `${whole.toFixed(1)} ms as YAML, ${once.toFixed(1)} as JSON`);
});

t.test("a YAML document of too many values is refused where it has too many, not at its end", async (t) => {
  const max = 10_000;
  for (const [head, item] of [
    ["", "- a\n"],
    ["x: [", "{},"],
    ["", "- &a {b: c}\n"],
  ] as const) {
    const refused = bytes(head + item.repeat((3 * 2 ** 20) / item.length));
    const needed = bytes(head + item.repeat(max));
    const once = await costOf(() => parseYaml(needed), 5);
    const cost = await costOf(() => t.type(parseYaml(refused, undefined, max), TooManyValues), 5);
    // Both are made a string and looked through for control characters, which takes a few milliseconds for 3 MiB.
    t.ok(cost < 2 * once + 20, `${item.trim()}: ${cost.toFixed(1)} ms, ${once.toFixed(1)} for so many`);
  }
});
