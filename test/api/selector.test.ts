import t from "tap";
import {
  formatFieldSelector,
  formatLabelSelector,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
} from "../../src/api/selector.ts";

const nameText =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
  "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
  "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const v64 = "v".repeat(64);

t.test("parseLabelSelector() reads every operator and one canonical spelling comes back", (t) => {
  const cases: readonly (readonly [text: string, canonical: string])[] = [
    ["", ""],
    ["  ", ""],
    ["tier=web", "tier=web"],
    ["tier==web", "tier=web"],
    [" tier = web ", "tier=web"],
    ["tier!=web", "tier!=web"],
    ["tier in (web,db)", "tier in (db,web)"],
    ["tier in (web, web)", "tier=web"],
    ["tier in(web)", "tier=web"],
    ["tier in ()", "tier="],
    ["tier in (web,)", "tier in (,web)"],
    ["tier in (,web)", "tier in (,web)"],
    ["tier in (web,,db)", "tier in (,db,web)"],
    ["tier in (in,notin)", "tier in (in,notin)"],
    ["tier notin (web)", "tier!=web"],
    ["tier notin (web,db)", "tier notin (db,web)"],
    ["tier", "tier"],
    ["!tier", "!tier"],
    ["! tier", "!tier"],
    ["in", "in"],
    ["tier=", "tier="],
    ["tier==", "tier="],
    ["tier!=,n", "n,tier!="],
    ["n>4", "n>4"],
    ["n<6", "n<6"],
    ["x.example/y=z", "x.example/y=z"],
    ["tier=web,env!=dev", "env!=dev,tier=web"],
    ["tier=web\0,=", "tier=web"],
    ["\ttier\r\n=\tweb", "tier=web"],
  ];
  for (const [text, canonical] of cases) {
    const parsed = parseLabelSelector(text);
    if ("error" in parsed) throw new Error(`${text}: ${parsed.error}`);
    t.equal(formatLabelSelector(parsed), canonical, text);
    t.same(parseLabelSelector(canonical), parseLabelSelector(formatLabelSelector(parsed)), `${text} again`);
  }
  t.end();
});

t.test("parseLabelSelector() refuses with upstream's text", (t) => {
  const requirement = "unable to parse requirement: ";
  const cases: readonly (readonly [text: string, error: string])[] = [
    ["tier=web,", "found '', expected: identifier after ','"],
    ["tier=web,=", "found '=', expected: identifier after ','"],
    ["tier=web env=dev", "found 'env', expected: ',' or 'end of string'"],
    ["=web", "found '=', expected: !, identifier, or 'end of string'"],
    [",", "found ',', expected: !, identifier, or 'end of string'"],
    ["tier in web", `${requirement}found 'web' expected: '('`],
    ["tier in", `${requirement}found '' expected: '('`],
    ["tier in (web", `${requirement}found '', expected: ',' or ')'`],
    ["tier in (web db)", `${requirement}found 'db', expected: ',' or ')'`],
    ["tier in (,", `${requirement}found '', expected: ',', or identifier`],
    ["tier in (=", `${requirement}found '=', expected: ',', ')' or identifier`],
    ["tier~web", `${requirement}<nil>: Invalid value: "tier~web": ${nameText}`],
    ["!tier=web", "found '=', expected: ',' or 'end of string'"],
    ["tier===web", `${requirement}found '=', expected: identifier`],
    ["a b", `${requirement}found 'b', expected: in, notin, =, ==, !=, gt, lt`],
    ["!!", `${requirement}found '!', expected: identifier`],
    ["!", `${requirement}found '', expected: identifier`],
    ["/x", `${requirement}<nil>: Invalid value: "/x": prefix part must be non-empty`],
    ["x/", `${requirement}<nil>: Invalid value: "x/": name part must be non-empty; ${nameText}`],
    [v64, `${requirement}<nil>: Invalid value: "${v64}": name part must be no more than 63 characters`],
    [`tier=${v64}`, `${requirement}values[0][tier]: Invalid value: "${v64}": must be no more than 63 characters`],
    ["n>a", `${requirement}values[0]: Invalid value: "a": for 'Gt', 'Lt' operators, the value must be an integer`],
    [
      "n>9223372036854775808",
      `${requirement}values[0]: Invalid value: "9223372036854775808": ` +
        "for 'Gt', 'Lt' operators, the value must be an integer",
    ],
  ];
  for (const [text, error] of cases) t.same(parseLabelSelector(text), { error }, text);
  t.end();
});

t.test("matchesLabels() selects as the operators mean", (t) => {
  const objects = new Map([
    [
      "s0",
      new Map([
        ["tier", "web"],
        ["env", "dev"],
      ]),
    ],
    [
      "s1",
      new Map([
        ["tier", "web"],
        ["env", "prod"],
      ]),
    ],
    ["s2", new Map([["tier", "db"]])],
    ["s3", new Map([["n", "5"]])],
    ["s4", undefined],
    [
      "s5",
      new Map([
        ["tier", ""],
        ["x.example/y", "z"],
      ]),
    ],
  ]);
  const cases: readonly (readonly [text: string, names: string])[] = [
    ["tier=web", "s0 s1"],
    ["tier!=web", "s2 s3 s4 s5"],
    ["tier in (web,db)", "s0 s1 s2"],
    ["tier in (web,)", "s0 s1 s5"],
    ["tier notin (web)", "s2 s3 s4 s5"],
    ["tier", "s0 s1 s2 s5"],
    ["!tier", "s3 s4"],
    ["tier=", "s5"],
    ["n>4", "s3"],
    ["n>5", ""],
    ["n<6", "s3"],
    ["tier>1", ""],
    ["tier=web,tier=db", ""],
    ["tier in (web),env notin (prod,dev)", ""],
    ["", "s0 s1 s2 s3 s4 s5"],
  ];
  for (const [text, names] of cases) {
    const parsed = parseLabelSelector(text);
    if ("error" in parsed) throw new Error(`${text}: ${parsed.error}`);
    const found = [...objects].filter(([, labels]) => matchesLabels(parsed, labels)).map(([name]) => name);
    t.equal(found.join(" "), names, text);
  }
  t.end();
});

t.test("parseFieldSelector() reads terms, operators and escapes", (t) => {
  const cases: readonly (readonly [text: string, canonical: string])[] = [
    ["", ""],
    [",", ""],
    ["a=b", "a=b"],
    ["a==b", "a=b"],
    ["a!=b", "a!=b"],
    ["a=", "a="],
    ["=b", "=b"],
    ["b=2,a=1", "a=1,b=2"],
    ["a=x\\,y\\=z\\\\", "a=x\\,y\\=z\\\\"],
    ["metadata.name= x ", "metadata.name= x "],
  ];
  for (const [text, canonical] of cases) {
    const parsed = parseFieldSelector(text);
    if ("error" in parsed) throw new Error(`${text}: ${parsed.error}`);
    t.equal(formatFieldSelector(parsed), canonical, text);
  }
  t.same(parseFieldSelector("a=x\\,y"), [{ field: "a", operator: "=", value: "x,y" }]);
  t.end();
});

t.test("parseFieldSelector() refuses with upstream's text", (t) => {
  const cases: readonly (readonly [text: string, error: string])[] = [
    ["a", "invalid selector: 'a'; can't understand 'a'"],
    ["a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"],
    ["a=b=c", "invalid field selector: unescaped character in value: 61"],
    ["a=b\\c", "invalid field selector: invalid escape sequence: \\c"],
    ["a=b\\", "invalid field selector: invalid escape sequence: \\"],
  ];
  for (const [text, error] of cases) t.same(parseFieldSelector(text), { error }, text);
  t.end();
});

t.test("matchesFields() takes an absent field as empty", (t) => {
  const fields = new Map([["spec.nodeName", "n1"]]);
  const holds = (text: string): boolean => {
    const parsed = parseFieldSelector(text);
    return !("error" in parsed) && matchesFields(parsed, fields);
  };
  t.ok(holds("spec.nodeName=n1"));
  t.notOk(holds("spec.nodeName!=n1"));
  t.ok(holds("status.phase="));
  t.ok(holds("status.phase!=Running"));
  t.end();
});
