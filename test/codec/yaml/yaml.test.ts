// YAML bodies: what upstream makes of YAML 1.1, and what hostile documents cost.
import t from "tap";
import { stringify } from "yaml";
import type { Value } from "../../../src/api/value.ts";
import { Fault, writeValue } from "../../../src/codec/engine/json.ts";
import { parseYaml } from "../../../src/codec/yaml/yaml.ts";
import { limits } from "../../../src/config/limits.ts";
import { excessOf, leastCostOf } from "../../support/cost.ts";

function read(text: string): string {
  const value = parseYaml(Buffer.from(text));
  return value instanceof Fault ? `! ${value.message}` : writeValue(value);
}

/** Printable ASCII only, because tap's protocol is made of lines. */
function shown(text: string): string {
  return JSON.stringify(text).replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Document, and the JSON it becomes; a fault after `!`. */
const documents: readonly (readonly [yaml: string, json: string])[] = [
  // Scalars.
  ["a: yes\nb: No\nc: on\nd: OFF\ne: y\nf: yEs", '{"a":true,"b":false,"c":true,"d":false,"e":true,"f":"yEs"}'],
  ["a: ~\nb: null\nc:\nd: ''\ne: Null", '{"a":null,"b":null,"c":null,"d":"","e":null}'],
  ["a: 0x1F\nb: 017\nc: 0o17\nd: 0b11\ne: 1_000\nf: -5\ng: +7", '{"a":31,"b":15,"c":15,"d":3,"e":1000,"f":-5,"g":7}'],
  ["a: 08\nb: 1.0\nc: 1e3\nd: .5\ne: 1.5e-7\nf: 1.", '{"a":8,"b":1,"c":1000,"d":0.5,"e":1.5e-7,"f":1}'],
  ["a: 9223372036854775807\nb: 18446744073709551615", '{"a":9223372036854775807,"b":18446744073709551615}'],
  ["a: 123456789012345678901234567890", '{"a":1.2345678901234568e+29}'],
  [
    "a: 1e400\nb: 1.5Gi\nc: 12:30\nd: 2020-01-01\ne: 1.2.3\nf: -",
    "! yaml: line 6: block sequence entries are not allowed in this context",
  ],
  [
    "a: 1e400\nb: 1.5Gi\nc: 12:30\nd: 2020-01-01\ne: 1.2.3",
    '{"a":"1e400","b":"1.5Gi","c":"12:30","d":"2020-01-01","e":"1.2.3"}',
  ],
  ["a: .inf", "! json: unsupported value: +Inf"],
  ["a: -.Inf", "! json: unsupported value: -Inf"],
  ["a: .NaN", "! json: unsupported value: NaN"],
  ["a: '1'\nb: \"yes\"\nc: !!str 12\nd: !!int '12'\ne: !local x", '{"a":"1","b":"yes","c":"12","d":12,"e":"x"}'],
  ["a: !!binary aGk=", '{"a":"hi"}'],
  // Keys.
  ["yes: 1\n1: 2\n1.50: 3\n'n': 4", '{"true":1,"1":2,"1.5":3,"n":4}'],
  ["~: 1", "! yaml: unsupported map key of type: nil"],
  ["[a]: 1", "! yaml: line 0: invalid map key"],
  ["? [a]\n: 1", "! yaml: unsupported map key of type: list"],
  ["a: 1\na: 2", '{"a":2}'],
  ["__proto__: {x: 1}\nconstructor: 2", '{"__proto__":{"x":1},"constructor":2}'],
  ["key with spaces: v # comment\nk: v#none\n'q k': \"x\" # y", '{"key with spaces":"v","k":"v#none","q k":"x"}'],
  ["? a\n: 1\n? b\n? c\n: - 2", '{"a":1,"b":null,"c":[2]}'],
  // Collections.
  ["", "null"],
  ["# only a comment\n", "null"],
  [
    "a:\n- x\n- z\nb:\n  - 1\n  -\n  - q: 1\n    r: 2\n  - - 3\n    - 4\nc:",
    '{"a":["x","z"],"b":[1,null,{"q":1,"r":2},[3,4]],"c":null}',
  ],
  ["- a\n-\n- - -\n", '["a",null,[[null]]]'],
  ["a: {b: [1, {c: d}], e: }\nf: []\ng: {}", '{"a":{"b":[1,{"c":"d"}],"e":null},"f":[],"g":{}}'],
  ["a: [1,\n2,\n   3,]\nb: 2", '{"a":[1,2,3],"b":2}'],
  ['[a: b, c: [d: e], "g":h, i]', '[{"a":"b"},{"c":[{"d":"e"}]},{"g":"h"},"i"]'],
  ["{a, b: , 'c': d, ? e : f}", '{"a":null,"b":null,"c":"d","e":"f"}'],
  ["x: [http://a/b?c=d, e:f]", '{"x":["http://a/b?c=d","e:f"]}'],
  // Text of several lines.
  ["a: one\n  two\n\n  three\nb: 1", '{"a":"one two\\nthree","b":1}'],
  ['a: "one\n  two\n\n  three \\\n  four"', '{"a":"one two\\nthree four"}'],
  ["a: 'it''s\n  ok'", '{"a":"it\'s ok"}'],
  ["a: |\n  x\n   y\n\n  z\n\nb: 1", '{"a":"x\\n y\\n\\nz\\n","b":1}'],
  ["a: |-\n  x\n\nb: |+\n  y\n\nc: |2\n   z\n", '{"a":"x","b":"y\\n\\n","c":" z\\n"}'],
  ["a: >\n  one\n  two\n\n  three\n    four\n  five\n\n", '{"a":"one two\\nthree\\n  four\\nfive\\n"}'],
  ["- |\n lit\n- >-\n fold\n more\n", '["lit\\n","fold more"]'],
  ['a: "\\u00e9\\x41\\U0001F600\\t\\/\\e"', '{"a":"éA😀\\t/\\u001b"}'],
  ["a: 1 \r\nb: |\r\n  x\r\n  y\r\n", '{"a":1,"b":"x\\ny\\n"}'],
  // Documents.
  ["a: 1\n---\nb: 2", '{"a":1}'],
  ["%YAML 1.1\n---\na: 1\n...\n]", '{"a":1}'],
  ["\ufeffa: 1", '{"a":1}'],
  ["--- a: 1", "! yaml: mapping values are not allowed in this context"],
  // Anchors.
  ["a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  e: 2", '{"a":{"b":1},"c":{"b":1},"d":{"b":1,"e":2}}'],
  ["a: &m\n  k: &n v\nb: *n\nc: *m", '{"a":{"k":"v"},"b":"v","c":{"k":"v"}}'],
  ["&a k: v\nx: *a", '{"k":"v","x":"k"}'],
  ["a: &x 1\nb: &x 2\nc: *x", '{"a":1,"b":2,"c":2}'],
  [
    "x: &x {a: 1, b: 1}\nz: &z {b: 2, c: 2}\nm:\n  <<: [*x, *z]\n  a: 9",
    '{"x":{"a":1,"b":1},"z":{"b":2,"c":2},"m":{"b":1,"c":2,"a":9}}',
  ],
  ["<<: 1", "! yaml: map merge requires map or sequence of maps as the value"],
  ["a: *nope", "! yaml: unknown anchor 'nope' referenced"],
  ["a: &x [*x]", "! yaml: anchor 'x' value contains itself"],
  // What upstream reads and stricter readers refuse, js-yaml 5 among them: further lines of flow collections and quoted
  // texts may start in any column, an apostrophe may be escaped, a comment may follow a bracket or a quote at once.
  ["spec:\n  command: [\n    sh, -c\n  ]", '{"spec":{"command":["sh","-c"]}}'],
  ["a: {\nb: c\n}\nd: [\n# e\nf]", '{"a":{"b":"c"},"d":["f"]}'],
  ["a: \"one\ntwo\"\nb: 'three\nfour'", '{"a":"one two","b":"three four"}'],
  ['a: "it\\\'s"', '{"a":"it\'s"}'],
  ['a: "x"#c\nb: [z]#d', '{"a":"x","b":["z"]}'],
  ["a: [-, b]", '{"a":["-","b"]}'],
  // A block text whose last line has no break gets none.
  ["a: |\n  x", '{"a":"x"}'],
  ["a: >\n  x\n  y", '{"a":"x y"}'],
  // Faults.
  ["data: [", "! yaml: line 1: did not find expected node content"],
  ["apiVersion: v1\nkind: [unclosed\n", "! yaml: line 2: did not find expected ',' or ']'"],
  ["a: {b: c", "! yaml: line 1: did not find expected ',' or '}'"],
  ["a: b: c", "! yaml: mapping values are not allowed in this context"],
  ["a: 1\n  b: 2", "! yaml: line 2: mapping values are not allowed in this context"],
  ["\ta: 1", "! yaml: found character that cannot start any token"],
  ["a: @x", "! yaml: found character that cannot start any token"],
  ["a: b\n\tc", "! yaml: line 2: found a tab character that violates indentation"],
  ['a: "\\q"', "! yaml: found unknown escape character"],
  ['a: "\\ud800"', "! yaml: found invalid Unicode character escape code"],
  ['a: "x', "! yaml: found unexpected end of stream"],
  ["a:\n  b: 1\n c: 2", "! yaml: line 2: did not find expected key"],
  ["- a\nb: 1", "! yaml: line 1: did not find expected '-' indicator"],
  ["a: 1\nb", "! yaml: line 2: could not find expected ':'"],
  ["a: ]", "! yaml: did not find expected node content"],
  ["a: \u0001", "! yaml: control characters are not allowed"],
  // JSON under a YAML type.
  ['{"a": 1.0, "b": [1e3], "c": 9223372036854775807}', '{"a":1,"b":[1000],"c":9223372036854775807}'],
  [' {"a":"\\ud83d\\ude00","n":"yes","a":1}', '{"a":1,"n":"yes"}'],
  ['{"a":\t[1,\t2]}', '{"a":[1,2]}'],
];

for (const [yaml, json] of documents) {
  t.test(`parseYaml() reads ${shown(yaml)}`, async (t) => {
    t.equal(read(yaml), json.replace("line 0: ", ""));
  });
}

t.test("parseYaml() refuses bytes that are no UTF-8", async (t) => {
  const value = parseYaml(Buffer.from([0x61, 0x3a, 0x20, 0xff]));
  t.ok(value instanceof Fault);
});

/** Numbers that look random and are the same in every run. */
function randomly(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) % below;
  };
}

const texts = [
  "a",
  "b c",
  "x: y",
  "- z",
  "# no",
  "a # b",
  '"q"',
  "it's",
  "line\nbreak",
  "para\n\npara2\n",
  " lead",
  "trail ",
  "tab\tx",
  "",
  "é",
  "😀",
  "yes",
  "123",
  "0x1",
  "~",
  "a:b",
  "[x]",
  "{y}",
  "@at",
  "%p",
  "!t",
  "&a",
  "*b",
  "|",
  "long ".repeat(30).trim(),
  "\nstart",
  "end\n\n",
  "---",
  "...",
  "?",
  "-",
  ":",
  "a,b",
  "key: val\n- x",
  "1e3",
  "1_0",
];

function randomValue(random: (below: number) => number, depth: number): unknown {
  const kind = depth > 4 ? 0 : random(4);
  if (kind < 2)
    return [texts[random(texts.length)], texts[random(texts.length)], random(1000) - 500, true, null][random(5)];
  const count = random(4);
  if (kind === 2) return Array.from({ length: count }, () => randomValue(random, depth + 1));
  const entries = Array.from({ length: count }, () => [
    texts[random(texts.length)] ?? "",
    randomValue(random, depth + 1),
  ]);
  return Object.fromEntries(entries);
}

const styles: readonly object[] = [
  {},
  { lineWidth: 20 },
  { lineWidth: 0 },
  { indent: 4 },
  { indentSeq: false },
  { defaultStringType: "QUOTE_DOUBLE" },
  { defaultStringType: "QUOTE_SINGLE" },
  { collectionStyle: "flow" },
  { collectionStyle: "flow", lineWidth: 20 },
  { defaultStringType: "BLOCK_LITERAL" },
];

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.entries(value)
    .map(([key, item]) => [key, sorted(item)])
    .sort();
}

t.test("parseYaml() reads what another library writes, in every style", async (t) => {
  const seed = 20_261_121;
  const random = randomly(seed);
  for (let round = 0; round < 1500; round += 1) {
    const value = { root: randomValue(random, 0) };
    const yaml = stringify(value, { version: "1.1", ...styles[round % styles.length] });
    const got = read(yaml);
    if (got.startsWith("!") || JSON.stringify(sorted(JSON.parse(got))) !== JSON.stringify(sorted(value))) {
      t.equal(got, JSON.stringify(value), `seed ${seed} round ${round}: ${shown(yaml)}`);
      return;
    }
  }
});

t.test("parseYaml() stops alias bombs", async (t) => {
  const layers = ["a: &a [x, x, x, x, x, x, x, x, x]"];
  for (let level = 1; level < 9; level += 1) {
    const before = String.fromCharCode(96 + level);
    const name = String.fromCharCode(97 + level);
    layers.push(`${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(", ")}]`);
  }
  const bomb = layers.join("\n");
  const ms = await leastCostOf(250, () => t.equal(read(bomb), "! yaml: document contains excessive aliasing"));
  t.ok(ms <= 250, `${ms} ms`);
  const merges = `a: &a {${Array.from({ length: 1000 }, (_, i) => `k${i}: 1`).join(", ")}}\n${"b: {<<: *a}\n".repeat(100)}`;
  t.equal(read(merges), "! yaml: document contains excessive aliasing");
});

t.test("parseYaml() nests to 10,000 and no further", async (t) => {
  const flow = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
  t.equal(read(`a: ${flow(limits.depthMax - 1)}`), `{"a":${flow(limits.depthMax - 1)}}`);
  for (const text of [
    `a: ${flow(10_001)}`,
    "- ".repeat(20_000),
    "{a: ".repeat(20_000),
    "? ".repeat(20_000),
    "[".repeat(1_500_000),
  ]) {
    t.equal(read(text), "! yaml: exceeded max depth of 10000", text.slice(0, 20));
  }
});

/** Texts that cost some readers the square of their length, by number of repetitions. */
const repetitions: readonly (readonly [name: string, make: (count: number) => string])[] = [
  ["block list", (n) => "- a\n".repeat(n)],
  ["flow map", (n) => `{${"a: b, ".repeat(n)}}`],
  ["block map", (n) => Array.from({ length: n }, (_, i) => `k${i}: v`).join("\n")],
  ["double quoted", (n) => `a: "${"x\n ".repeat(n)}"`],
  ["single quotes", (n) => `a: ${"'".repeat(n * 4)}`],
  ["escaped breaks", (n) => `a: "${"\\\n".repeat(n)}"`],
  ["folded", (n) => `a: >\n${"  x y\n".repeat(n)}`],
  ["literal of blanks", (n) => `a: |\n${" \n".repeat(n)}`],
  ["plain", (n) => `a: ${"x\n ".repeat(n)}`],
  ["keys in a line", (n) => "a: ".repeat(n)],
  ["tags", (n) => "- !!str a\n".repeat(n)],
  ["anchors", (n) => "- &a a\n".repeat(n)],
  ["anchors in a line", (n) => "&a ".repeat(n)],
  ["comments", (n) => "# comment\n".repeat(n)],
  ["documents", (n) => "---\n".repeat(n)],
  ["spaces", (n) => " ".repeat(n * 8)],
  ["one word", (n) => "a".repeat(n * 8)],
  ["deep flow with items", (n) => `${"[x, ".repeat(5000)}${"y, ".repeat(n)}`],
];

for (const [name, make] of repetitions) {
  t.test(`parseYaml() takes time linear in ${name}`, async (t) => {
    const excess = await excessOf((count) => Buffer.from(make(count)), parseYaml, 8_000, 64_000);
    t.equal(excess, undefined, JSON.stringify(excess));
    const large = Buffer.from(make(64_000));
    const ms = await leastCostOf(1_000, () => parseYaml(large));
    t.ok(ms < 1_000, `${ms} ms`);
  });
}

t.test("parseYaml() gives every alias a value of its own", async (t) => {
  const value = parseYaml(Buffer.from("a: &x {b: [1]}\nc: *x")) as Map<string, Value>;
  const first = value.get("a") as Map<string, Value>;
  first.set("b", null);
  t.equal(writeValue(value), '{"a":{"b":null},"c":{"b":[1]}}');
});
