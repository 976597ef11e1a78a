import t from "tap";
import { parse } from "yaml";
import type { Value } from "../../../src/api/value.ts";
import { parseJson, writeValue } from "../../../src/codec/engine/json.ts";
import { yamlText } from "../../../src/codec/yaml/printer.ts";
import { random } from "../../support/random.ts";

function yaml(json: unknown): string {
  return yamlText(parseJson(Buffer.from(JSON.stringify(json))) as Value);
}

t.test("yamlText() writes texts as upstream does", (t) => {
  const cases: readonly (readonly [unknown, string])[] = [
    [{}, "{}\n"],
    [{ b: [], a: {} }, "a: {}\nb: []\n"],
    [{ b: [{ y: 1, x: [2, [3]] }], a: { c: null } }, 'a:\n  c: null\nb:\n- x:\n  - 2\n  - - 3\n  "y": 1\n'],
    [["plain text", "a: b", "a #b", "- a", "-a", " a", "it's", "", "yes", "1e3", "0x1F", "2021-01-01"], ""],
    [{ a: "one\ntwo\n", b: "one", c: "\n", d: "x\n\n" }, "a: |\n  one\n  two\nb: one\nc: |2+\n\nd: |+\n  x\n\n"],
    [["a\tb", "😀", "\u2028", 'say "x"\n '], '- "a\\tb"\n- "\\U0001F600"\n- "\\L"\n- "say \\"x\\"\\n "\n'],
    [{ ["k".repeat(130)]: { a: 1 } }, `? ${"k".repeat(130)}\n: a: 1\n`],
  ];
  for (const [value, expected] of cases) {
    if (expected !== "") t.equal(yaml(value), expected);
    t.strictSame(parse(yaml(value), { version: "1.1" }), value);
  }
  t.end();
});

t.test("yamlText() orders keys as upstream does: numbers by value, other signs before letters", (t) => {
  const orders: readonly (readonly string[])[] = [
    ["key-9", "key-10", "key-100", "key-a"],
    ["LOG", "LOG_LEVEL", "LOGS", "log"],
    ["", "$x", "_", "~", "A", "a", "a-b", "a.b", "a/b", "a_b", "aB", "ab", "é"],
    ["1", "01", "2", "02", "10"],
    ["v1", "v2", "v10", "v10beta1"],
    ["a100", "a101", "a110"],
    ["x😀", "x😁", "xy"],
  ];
  for (const keys of orders) {
    const text = yaml(Object.fromEntries(keys.toReversed().map((key) => [key, 1])));
    const read = parse(text, { version: "1.1", mapAsMap: true }) as Map<string, number>;
    t.strictSame([...read.keys()], keys);
  }
  t.end();
});

/** Texts, and how upstream prints them. */
const styles: readonly (readonly [text: string, printed: string])[] = [
  ["yEs", "yEs"],
  ["Yes", '"Yes"'],
  ["<<", "<<"],
  ["=", "="],
  [".inf", '".inf"'],
  ["-.NaN", "-.NaN"],
  ["2021-01-01", '"2021-01-01"'],
  ["2021-01-01T10:00:00Z", '"2021-01-01T10:00:00Z"'],
  ["2021-01-01 10:00:00", '"2021-01-01 10:00:00"'],
  ["2021-01-01-backup", "2021-01-01-backup"],
  ["2021-13-01", "2021-13-01"],
  ["12:30", '"12:30"'],
  ["12:60", "12:60"],
  ["1".repeat(70), `"${"1".repeat(70)}"`],
  ["1e400", "1e400"],
  ["0b102", "0b102"],
  ["key\u00a0#", "key\u00a0#"],
  ["key #", "'key #'"],
];

for (const [text, printed] of styles) {
  t.test(`yamlText() prints the text ${JSON.stringify(text)} as upstream does`, async (t) => {
    t.equal(yaml([text]), `- ${printed}\n`);
  });
}

t.test("yamlText() prints numbers as upstream does", async (t) => {
  const numbers =
    "[1.5e-7,0.0001,0.00001,123456.5,1234567.5,1e20,1500000,1500000.0,18446744073709551615,18446744073709551616]";
  const printed = ["1.5e-07", "0.0001", "1e-05", "123456.5", "1.2345675e+06", "1e+20", "1500000", "1.5e+06"];
  const expected = [...printed, "18446744073709551615", "1.8446744073709552e+19"];
  t.equal(yamlText(parseJson(Buffer.from(numbers)) as Value), expected.map((text) => `- ${text}\n`).join(""));
});

t.test("yamlText() announces keys of several lines", async (t) => {
  t.equal(yaml({ "a\nb": 1 }), "? |-\n  a\n  b\n: 1\n");
});

t.test("yamlText() folds at the first single space behind column 80", (t) => {
  const words = (count: number) => Array.from({ length: count }, () => "fivec").join(" ");
  t.equal(yaml({ a: words(20) }), `a: ${words(13)} fivec\n  ${words(6)}\n`);
  const quoted = `x: ${words(16)}`;
  t.equal(yaml({ a: quoted }), `a: 'x: ${words(13)}\n  ${words(3)}'\n`);
  t.equal(yaml({ a: "x".repeat(200) }), `a: ${"x".repeat(200)}\n`);
  t.end();
});

t.test("yamlText() is read back as what it was made of", (t) => {
  const next = random(7);
  const pick = (from: string) => from[next(from.length)] ?? "";
  for (let round = 0; round < 3000; round++) {
    const text = Array.from({ length: next(130) }, () => pick("ab \n:#-'\"\\?{}[],&*é\t")).join("");
    const value = { [text.slice(0, 20)]: [text, { a: text }] };
    t.strictSame(parse(yaml(value), { version: "1.1" }), value, writeValue(text));
  }
  t.end();
});
