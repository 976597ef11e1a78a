import t from "tap";
import { parse } from "yaml";
import type { Value } from "../../../src/api/value.ts";
import { parseJson, writeValue } from "../../../src/codec/engine/json.ts";
import { yamlText } from "../../../src/codec/yaml/printer.ts";
import { random } from "../../support/random.ts";

function yaml(json: unknown): string {
  return yamlText(parseJson(Buffer.from(JSON.stringify(json))) as Value);
}

t.test("yamlText() writes texts as the reference does", (t) => {
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
