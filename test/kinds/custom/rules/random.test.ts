// Random rules over a small schema, and random objects: each rule is refused or evaluated, within its budget, and nothing
// throws. Rules that were made by type compile; what compiles and leaves no type open never lacks a function.
import t from "tap";
import { limits } from "../../../../src/config/limits.ts";
import { typeOfRoot } from "../../../../src/kinds/custom/rules/declared.ts";
import { compileRule, RuleFault } from "../../../../src/kinds/custom/rules/program.ts";
import { type CelValue, Fault, Frame, OverBudget, viewOf } from "../../../../src/kinds/custom/rules/values.ts";
import { type Draws, draws, fuzzRun } from "../../../support/random.ts";
import { compiled, documentOf } from "../build.ts";
import { integer, list, object, text } from "./build.ts";

const schema = object({
  i: integer,
  j: integer,
  s: text,
  u: { ...text, nullable: true },
  d: { type: "number" },
  b: { type: "boolean" },
  li: list(integer),
  ls: list(text),
  set: list(text, { "x-kubernetes-list-type": "set" }),
  lo: list(object({ s: text, i: integer })),
  m: { type: "object", additionalProperties: integer },
  e: { "x-kubernetes-int-or-string": true },
  at: { ...text, format: "date-time" },
  span: { ...text, format: "duration" },
  data: { ...text, format: "byte" },
});

type Kind = "bool" | "int" | "string" | "double" | "ints" | "strings";
type Forms = Readonly<Record<Kind, readonly string[]>>;

/** What each type is made of: `<kind>` is another expression of that type. */
const leaves: Forms = {
  bool: ["true", "false", "self.b", "has(self.s)", "has(self.u)", "('k' in self.m)"],
  int: ["0", "1", "-7", "9223372036854775807", "self.i", "self.j", "oldSelf.i", "self.m['k']", "self.lo[0].i"],
  string: ["''", "'a'", "'\u{1f600}b'", "self.s", "self.u", "oldSelf.s", "self.lo[0].s", "r'^[a-z]*$'"],
  double: ["0.0", "1.5", "-2e300", "self.d"],
  ints: ["[]", "[1, 2]", "self.li", "oldSelf.li", "self.lo.map(o, o.i)"],
  strings: ["['a']", "self.ls", "self.set", "self.lo.map(o, o.s)", "self.m.map(k, k)"],
};
const forms: Forms = {
  bool: [
    ...["(<int> < <int>)", "(<string> == <string>)", "(<bool> && <bool>)", "(<bool> || <bool>)", "!<bool>"],
    ...["(<double> >= <double>)", "(<ints> == <ints>)", "(<strings> != <strings>)", "(<int> in <ints>)"],
    ...["(<string> in <strings>)", "<ints>.all(x, x > <int>)", "<strings>.exists(x, x == <string>)"],
    ...["<ints>.exists_one(x, x == <int>)", "<string>.contains(<string>)", "<string>.startsWith(<string>)"],
    ...["<string>.matches(<string>)", "(<bool> ? <bool> : <bool>)", "<ints>.isSorted()", "(self.set == <strings>)"],
    ...["isURL(<string>)", "isQuantity(<string>)", "(<int> <= <double>)", "cel.bind(y, <int>, y == <int>)"],
    ...["(self == oldSelf)", "self.lo.all(o, o.i > <int>)", "(self.lo == oldSelf.lo)"],
    ...["(type(self.e) == int ? self.e > <int> : self.e == <string>)", "(self.at > timestamp(<string>))"],
    ...["sets.contains(<ints>, <ints>)", "(self.span < duration(<string>))"],
  ],
  int: [
    ...[
      "(<int> + <int>)",
      "(<int> - <int>)",
      "(<int> * <int>)",
      "(<int> / <int>)",
      "(<int> % <int>)",
      "size(<string>)",
    ],
    ...[
      "<ints>.size()",
      "<ints>[<int>]",
      "<ints>.sum()",
      "<ints>.max()",
      "<string>.indexOf(<string>)",
      "int(<string>)",
    ],
    ...[
      "(<bool> ? <int> : <int>)",
      "int(<double>)",
      "self.?m.k.orValue(<int>)",
      "<ints>.lastIndexOf(<int>)",
      "-(<int>)",
    ],
    ...["self.at.getHours()", "self.span.getSeconds()", "size(self.data)", "<strings>.size()"],
  ],
  string: [
    ...["(<string> + <string>)", "<strings>[<int>]", "string(<int>)", "string(<double>)", "<string>.substring(<int>)"],
    ...["<string>.replace(<string>, <string>)", "<strings>.join(<string>)", "<string>.lowerAscii()", "<string>.trim()"],
    ...["<string>.charAt(<int>)", "<string>.find(<string>)", "(<bool> ? <string> : <string>)", "<string>.reverse()"],
    ...["self.?u.orValue(<string>)", "url(<string>).getHost()", "string(self.at)", "string(self.data)"],
    ...["<string>.substring(<int>, <int>)", "strings.quote(<string>)"],
  ],
  double: ["(<double> + <double>)", "(<double> / <double>)", "double(<int>)", "double(<string>)", "-<double>"],
  ints: [
    ...["(<ints> + <ints>)", "<ints>.filter(x, x != <int>)", "<ints>.map(x, x + <int>)", "[<int>, <int>]"],
    ...["<ints>.map(x, <bool>, x)", "(<bool> ? <ints> : <ints>)", "<ints>.map(x, <ints>.size())"],
  ],
  strings: [
    ...["(<strings> + <strings>)", "<string>.split(<string>)", "<string>.findAll(<string>)", "[<string>, <string>]"],
    ...["<strings>.map(x, x + <string>)", "<strings>.filter(x, <bool>)"],
  ],
};

function expression(rule: Draws, kind: Kind, depth: number): string {
  const form = rule.pick(depth === 0 ? leaves[kind] : forms[kind]);
  return form.replace(/<(\w+)>/g, (_, inner: string) =>
    expression(rule, inner as Kind, depth - 1 - rule.next(2) < 0 ? 0 : depth - 1),
  );
}

function randomObject(rule: Draws): string {
  const words = ["", "a", "abc", "\u{1f600}", "1h", "2024-01-01T00:00:00Z", "https://a.b/c", "10Mi", "("];
  const ints = () => Array.from({ length: rule.next(4) }, () => rule.next(5) - 2);
  const strings = () => Array.from({ length: rule.next(4) }, () => rule.pick(words));
  const all = {
    i: rule.next(9) - 4,
    j: rule.next(3),
    s: rule.pick(words),
    u: rule.pick([null, ...words]),
    d: rule.pick([0, 1, 1.5, -2, 1e300]),
    b: rule.chance(50),
    li: ints(),
    ls: strings(),
    set: [...new Set(strings())],
    lo: ints().map((i) => ({ i, s: rule.pick(words) })),
    m: rule.chance(50) ? { k: 1 } : { "a.b": 2 },
    e: rule.pick([5, "50%", 1.5]),
    at: rule.pick(["2024-01-15T14:30:45.123Z", "x"]),
    span: rule.pick(["1h", "-5s", "x"]),
    data: rule.pick(["aGVsbG8=", "x"]),
  };
  return JSON.stringify(Object.fromEntries(Object.entries(all).filter(() => rule.chance(90))));
}

const { root } = compiled(schema);
const type = typeOfRoot(root);

/** Evaluates a rule that was compiled; the text of a fault, or what it came to. */
function evaluate(rule: Draws, program: Exclude<ReturnType<typeof compileRule>, RuleFault>): string {
  const [self, oldSelf] = [viewOf(documentOf(randomObject(rule)), type), viewOf(documentOf(randomObject(rule)), type)];
  const frame = new Frame([self, oldSelf] as CelValue[], program.patterns, limits.ruleUnitsMax);
  try {
    const found = program.run(frame);
    return found instanceof Fault ? found.text : String(found);
  } catch (error) {
    if (!(error instanceof OverBudget)) throw error;
    return "over budget";
  }
}

t.test("random rules compile, and come to a truth value or a fault", (t) => {
  const { seed, rounds } = fuzzRun(3_000);
  const outcomes = new Map<string, number>();
  for (let round = 0; round < rounds; round++) {
    const rule = draws(seed + round);
    const made = expression(rule, "bool", 1 + rule.next(5));
    const program = compileRule(made, type);
    if (program instanceof RuleFault) {
      // Long ones grow beyond what a rule may be.
      if (!/longer than|Exceeded|too deeply|expected type/.test(program.text))
        t.fail(`${seed + round}: ${made}: ${program.text}`);
      continue;
    }
    for (let time = 0; time < 3; time++) {
      const found = evaluate(rule, program);
      const kind = /^(?:true|false|over budget)$/.test(found) ? found : "fault";
      outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
      // Integers and texts of one field are told apart by the rule; everything else has a type.
      if (found === "no such overload" && !made.includes("self.e")) t.fail(`${seed + round}: ${made}: ${found}`);
    }
  }
  for (const kind of ["true", "false", "fault"])
    t.ok((outcomes.get(kind) ?? 0) > rounds / 20, `${kind}: ${outcomes.get(kind)}`);
  t.end();
});

t.test("random texts are rules or told why not", (t) => {
  const { seed, rounds } = fuzzRun(3_000);
  const pieces = [
    ...[
      "self",
      ".",
      ".?",
      "i",
      "lo",
      "(",
      ")",
      "[",
      "]",
      "{",
      "}",
      ",",
      ":",
      "?",
      "!",
      "-",
      "+",
      "&&",
      "||",
      "==",
      "<",
    ],
    ...[
      "in",
      "has(",
      "all(x,",
      "map(",
      "1",
      "1u",
      "0x",
      "1e",
      "'",
      '"',
      "'''",
      "\\",
      "b'a'",
      "r'",
      "//",
      "\n",
      " ",
      "\u{1f600}",
    ],
    ...["null", "true", "size(", "matches(", "optional.none()", "cel.bind(", "__proto__", "constructor", "\u0000"],
  ];
  for (let round = 0; round < rounds; round++) {
    const rule = draws(seed + round);
    const garbled = expression(rule, "bool", 2).split(/(?=[.( ])/);
    const parts = Array.from({ length: 1 + rule.next(12) }, () => rule.pick(rule.chance(50) ? pieces : garbled));
    const program = compileRule(parts.join(rule.chance(50) ? "" : " "), type);
    if (!(program instanceof RuleFault)) evaluate(rule, program);
  }
  t.pass("nothing was thrown");
  t.end();
});
