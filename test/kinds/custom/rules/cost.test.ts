// What hostile rules and objects cost: each is refused, or ended in time.
import t from "tap";
import type { Value } from "../../../../src/api/value.ts";
import { assert } from "../../../../src/base/assert.ts";
import { limits } from "../../../../src/config/limits.ts";
import { ruleFaults } from "../../../../src/kinds/custom/rules/evaluate.ts";
import { settle } from "../../../../src/kinds/custom/schema.ts";
import { costOf } from "../../../support/cost.ts";
import { compiled, documentOf, type Json, lines } from "../build.ts";
import { checked, integer, list, object, text } from "./build.ts";

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

const fields = {
  numbers: list(integer),
  names: list(text),
  long: text,
  wide: text,
  objects: list(object({ a: text, b: integer })),
  pairs: list(object({ a: text, b: integer }, { required: ["a"] }), {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["a"],
  }),
  set: list(text, { "x-kubernetes-list-type": "set" }),
  texts: list(text),
  map: { type: "object", additionalProperties: text },
  times: list({ ...text, format: "date-time" }),
  data: { ...text, format: "byte" },
  raw: open,
};

const big = {
  numbers: many(20_000, (index) => index),
  names: many(20_000, (index) => `item${index}`),
  long: "a".repeat(200_000),
  wide: "\u{1f600}".repeat(50_000),
  objects: many(10_000, (index) => ({ a: `n${index}`, b: index })),
  pairs: many(5_000, (index) => ({ a: `n${index}`, b: index })),
  set: many(10_000, (index) => `s${index}`),
  texts: many(200, () => "b".repeat(1_000)),
  map: Object.fromEntries(many(5_000, (index) => [`k${index}`, "v"])),
  times: many(5_000, () => "2024-01-01T00:00:00Z"),
  data: Buffer.alloc(100_000).toString("base64"),
  raw: { a: many(20_000, (index) => ({ x: index })) },
};

const doubled = `${many(30, (index) => `cel.bind(x${index + 1}, x${index} + x${index}, `).join("")}x30.size() > 0${")".repeat(30)}`;

/** Rules that would take long, each by another way. */
const hostile: readonly string[] = [
  "self.numbers.all(a, self.numbers.all(b, self.numbers.all(c, true)))",
  "self.objects.all(a, self.objects.exists_one(b, a.a == b.a) || true)",
  "self.numbers.all(a, self.numbers.map(b, b + a).sum() > 0 || true)",
  `cel.bind(x0, self.long, ${doubled})`,
  `cel.bind(x0, self.numbers, ${doubled})`,
  "self.numbers.all(a, self.long.matches('^(a|aa)*b$') || true)",
  "self.numbers.all(a, self.long.matches('(a?){50}b') || true)",
  "self.numbers.all(a, self.long.findAll('a*b|a').size() >= 0)",
  "self.numbers.all(a, 'x'.matches('(x{100}){' + string(a % 10) + '}') || true)",
  "self.numbers.all(a, self.long.contains('aaaaaaaaaaaaaaaaaaaabaaaaaaaaaaaaaaaaaaaa') || true)",
  "self.numbers.all(a, self.long.contains(self.long.substring(1) + 'b') || true)",
  "self.numbers.all(a, self.long.split('').size() > 0)",
  "self.numbers.all(a, self.long.replace('', self.long).size() > 0)",
  "self.numbers.all(a, self.wide.substring(a).size() > 0)",
  "self.numbers.all(a, self.long < self.long + 'b')",
  "self.numbers.all(a, self.numbers == self.numbers)",
  "self.numbers.all(a, self.set == self.set)",
  "self.numbers.all(a, self.pairs == self.pairs)",
  "self.numbers.all(a, (self.pairs + self.pairs).size() > 0)",
  "self.numbers.all(a, self.map == self.map)",
  "self.numbers.all(a, self.raw == self.raw)",
  "self.numbers.all(a, self == self)",
  "self.texts.all(a, self.texts.all(b, a <= b))",
  "self.names.join(self.long).size() > 0",
  "self.times.all(a, self.times.all(b, a == b))",
  "self.times.all(a, a.getHours('Europe/Berlin') == 1 || true)",
  "self.numbers.all(a, size(self.data) > 0)",
  "self.numbers.all(a, duration('1h2m3s4ms5us6ns') > duration('1s'))",
  "self.numbers.all(a, quantity('1E4000').add(quantity('1n')).isGreaterThan(quantity('1')))",
  "self.numbers.all(a, url('https://example.com/%20?a=b&c=d').getQuery().size() > 0)",
  "self.numbers.all(a, sets.equivalent(self.names, self.names))",
];

function withRule(rule: string): Json {
  return object(fields, { "x-kubernetes-validations": [{ rule }] });
}

function bigDocument(): Map<string, Value> {
  return documentOf(JSON.stringify(big));
}

/** What a turn may take, in milliseconds of CPU. */
const turnMs = 20;

t.test("rules that cost too much are ended in time, and say so", async (t) => {
  const document = bigDocument();
  for (const rule of hostile) {
    t.strictSame(checked(withRule(rule)), [], rule);
    const { root } = compiled(withRule(rule));
    const faults = lines(ruleFaults(root, document, undefined));
    const over =
      "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule";
    const ended = faults.every((line) => line === `<nil>: Invalid value: "object": ${over}: ${rule}`);
    t.ok(ended && faults.length <= 1, `${rule}: ${faults[0]}`);
    const ms = await costOf(() => ruleFaults(root, document, undefined), 3);
    t.ok(ms < turnMs, `${rule} takes ${ms} ms`);
  }
});

t.test("all rules of an object have one budget", async (t) => {
  const item = {
    ...integer,
    "x-kubernetes-validations": [{ rule: "self >= 0 && self + 1 > self && self * 2 >= self" }],
  };
  const { root } = compiled(object({ numbers: list(item) }));
  const few = documentOf(JSON.stringify({ numbers: many(5_000, (index) => index) }));
  t.strictSame(ruleFaults(root, few, undefined), []);
  const all = documentOf(JSON.stringify({ numbers: many(100_000, (index) => index) }));
  const faults = ruleFaults(root, all, undefined);
  t.equal(faults.length, 1);
  t.match(faults[0]?.text, /running out of cost budget, no further validation rules will be run$/);
  const ms = await costOf(() => ruleFaults(root, all, undefined), 3);
  t.ok(ms < turnMs, `${ms} ms`);
});

t.test("faults are told until there are more than an answer names", (t) => {
  const { root } = compiled(object({ a: list({ ...integer, "x-kubernetes-validations": [{ rule: "self < 0" }] }) }));
  const document = documentOf(JSON.stringify({ a: many(5_000, (index) => index) }));
  t.equal(ruleFaults(root, document, undefined).length, limits.fieldErrorsMax);
  t.end();
});

t.test("rules that are too long, too deep or too many are refused", async (t) => {
  const tooDeep = /expression nests too deeply|Exceeded maxDepth|Exceeded maxAstNodes|longer than/;
  const rows: [name: string, rule: string][] = [
    ["signs", `${"!".repeat(8_000)}true`],
    ["spaced signs", `${"! ".repeat(4_000)}true`],
    ["signs with comments", `${"!//\n".repeat(2_000)}true`],
    ["minus", `1 == ${"-".repeat(7_999)}1`],
    ["brackets", `${"(".repeat(4_000)}true${")".repeat(4_000)}`],
    ["lists", `${"[".repeat(4_000)}1${"]".repeat(4_000)} == []`],
    ["sums", `${"1+".repeat(4_000)}1 == 1`],
    ["fields", `self${".a".repeat(4_000)}`],
    ["indices", `self${"[0]".repeat(2_600)}`],
    ["calls", `self${".map(x,x)".repeat(900)}`],
    ["choices", `${"true?".repeat(1_000)}true${":true".repeat(1_000)}`],
    ["macros within macros", `${"[1].all(x,".repeat(700)}true${")".repeat(700)}`],
    ["a long text", `'${"a".repeat(9_000)}' == ''`],
  ];
  for (const [name, rule] of rows) {
    let faults: string[] = [];
    const json = { ...object({ a: list(integer) }), "x-kubernetes-validations": [{ rule, message: "x" }] };
    const ms = await costOf(() => (faults = checked(json)), 3);
    t.match(faults[0], tooDeep, name);
    t.ok(ms < turnMs, `${name}: ${ms} ms`);
  }
  const chain = `${"true && ".repeat(900)}true`;
  t.strictSame(checked(object({}, { "x-kubernetes-validations": [{ rule: chain }] })), [], "chains are no nesting");
});

t.test("types of rules do not grow beyond what the rules are", async (t) => {
  const bombs = [
    `[1]${many(60, (index) => `.map(x${index}, {'a': x${index}})`).join("")}.size() == 1`,
    `[1]${many(150, (index) => `.map(x${index}, [x${index}, x${index}])`).join("")}.size() == 1`,
    `${many(40, (index) => `cel.bind(x${index + 1}, [x${index}, x${index}], `).join("")}x40 == x40${")".repeat(40)}`,
  ].map((rule, index) => (index === 2 ? `cel.bind(x0, 1, ${rule})` : rule));
  for (const rule of bombs) {
    const json = object({}, { "x-kubernetes-validations": [{ rule }] });
    const ms = await costOf(() => checked(json), 3);
    t.ok(ms < turnMs, `${rule.slice(0, 30)}: ${ms} ms`);
    t.strictSame(checked(json), []);
    const { root } = compiled(json);
    const evaluation = await costOf(() => ruleFaults(root, new Map(), undefined), 3);
    t.ok(evaluation < turnMs, `${rule.slice(0, 30)}: ${evaluation} ms`);
  }
});

t.test("the rules of a definition are bounded together", (t) => {
  const rule = `${"self.a > 0 || ".repeat(200)}true`;
  const part = (index: number): Json =>
    object({ a: integer, [`own${index}`]: text }, { "x-kubernetes-validations": [{ rule }] });
  const json = object(Object.fromEntries(many(100, (index) => [`p${index}`, part(index)])));
  const faults = checked(json);
  t.equal(faults.length, 1);
  t.match(faults[0], /Forbidden: it and the rules before it make more than \d+ expressions/);
  const same = object(Object.fromEntries(many(100, (index) => [`p${index}`, part(0)])));
  t.strictSame(checked(same), [], "rules of schemas that are the same are compiled once");
  t.end();
});

t.test("rules that are not used cost an object nothing", async (t) => {
  const { root } = compiled(object(fields));
  assert(!root.hasExpressions, "There are none");
  const document = bigDocument();
  settle(compiled(object(fields)), document);
  t.ok((await costOf(() => ruleFaults(root, document, undefined), 3)) < 1);
});
