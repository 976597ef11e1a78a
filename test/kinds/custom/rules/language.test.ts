// What rules may say, and what they come to: rows of a rule and its verdict.
import t, { type Test } from "tap";
import { identifierOf } from "../../../../src/kinds/custom/rules/types.ts";
import { integer, list, object, text, verdict } from "./build.ts";

const pair = object({ k: text, v: integer }, { required: ["k"] });
const byKey = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] };
const asSet = { "x-kubernetes-list-type": "set" };
const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

const fields = {
  name: text,
  min: integer,
  max: integer,
  ratio: { type: "number" },
  on: { type: "boolean" },
  items: list(object({ name: text, n: integer })),
  map: { type: "object", additionalProperties: object({ n: integer }) },
  either: { "x-kubernetes-int-or-string": true },
  at: { ...text, format: "date-time" },
  day: { ...text, format: "date" },
  span: { ...text, format: "duration" },
  data: { ...text, format: "byte" },
  set: list(text, asSet),
  other: list(text, asSet),
  pairs: list(pair, byKey),
  turned: list(pair, byKey),
  "a-b.c/d__e": text,
  namespace: text,
  "not a name": text,
  raw: open,
  some: { ...text, nullable: true },
  pod: { ...open, "x-kubernetes-embedded-resource": true },
  numbers: list(integer),
  nothing: { "x-kubernetes-preserve-unknown-fields": true },
  holes: list({ ...text, nullable: true }),
};

const spec = {
  name: "abc",
  min: 1,
  max: 5,
  ratio: 2,
  on: true,
  items: [
    { name: "x", n: 1 },
    { name: "y", n: 2 },
  ],
  map: { k: { n: 3 }, "a b": { n: 4 } },
  either: "50%",
  at: "2024-01-15T14:30:45.123Z",
  day: "2024-02-29",
  span: "1h",
  data: "aGVsbG8=",
  set: ["a", "b"],
  other: ["b", "a"],
  pairs: [
    { k: "a", v: 1 },
    { k: "b", v: 2 },
  ],
  turned: [
    { k: "b", v: 2 },
    { k: "a", v: 1 },
  ],
  "a-b.c/d__e": "escaped",
  namespace: "own",
  "not a name": "hidden",
  raw: { x: 1 },
  some: null,
  pod: { apiVersion: "v1", kind: "Pod", metadata: { name: "p", labels: {} } },
  numbers: [3, 1, 2],
  nothing: 1,
  holes: [null, "x"],
};

function check(t: Test, rows: readonly (readonly [rule: string, want: string])[]): void {
  for (const [rule, want] of rows) t.equal(verdict(rule, fields, spec), want, rule);
}

const faultAt = (column: number, why: string): string => `compilation failed: ERROR: <input>:1:${column}: ${why}`;
const noOverload =
  "'no such overload': call arguments did not match a supported operator, function or macro signature for rule";

t.test("rules that cannot be compiled are told where and why", (t) => {
  check(t, [
    ["self.nme", faultAt(5, "undefined field 'nme'")],
    ["(!(has(self.nope) && true))", faultAt(7, "undefined field 'nope'")],
    ["self.name + 1 == 'x'", faultAt(11, "found no matching overload for '_+_' applied to '(string, int)'")],
    ["missing", faultAt(1, "undeclared reference to 'missing' (in container '')")],
    ["missing(1)", faultAt(8, "undeclared reference to 'missing' (in container '')")],
    ["self.min == self.ratio", faultAt(10, "found no matching overload for '_==_' applied to '(int, double)'")],
    ["self.name == null", faultAt(11, "found no matching overload for '_==_' applied to '(string, null)'")],
    ["self.name.contains(1)", faultAt(19, "found no matching overload for 'contains' applied to 'string.(int)'")],
    ["size(1) == 1", faultAt(5, "found no matching overload for 'size' applied to '(int)'")],
    ["true ? 1 : 'a'", faultAt(6, "found no matching overload for '_?_:_' applied to '(bool, int, string)'")],
    ["[1, 'a'] == []", faultAt(5, "expected type 'int' but found 'string'")],
    ["!self.min", faultAt(1, "found no matching overload for '!_' applied to '(int)'")],
    ["true && self.min", faultAt(6, "found no matching overload for '_&&_' applied to '(bool, int)'")],
    ["self.min.foo", faultAt(9, "type 'int' does not support field selection")],
    [
      "self.items['a'].n == 1",
      faultAt(11, "found no matching overload for '_[_]' applied to '(list(object), string)'"),
    ],
    ["self.items.all(x, x.n)", faultAt(19, "expected type 'bool' but found 'int'")],
    [
      "self.name.all(x, true)",
      faultAt(1, "expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)"),
    ],
    ["has(self)", faultAt(4, "invalid argument to has() macro")],
    ["{[1]: 2}.size() == 1", faultAt(2, "unsupported key type: list(int)")],
    ["self.", faultAt(6, "Syntax error: Expected IDENTIFIER, got EOF")],
    ["b'\u00e9' == b''", faultAt(1, "bytes beyond ASCII have to be escaped (\\x..)")],
    ["9223372036854775808 > 0", faultAt(1, "invalid int literal")],
    ["self.name", "cel expression must evaluate to a bool"],
    ["dyn(true)", "cel expression must evaluate to a bool"],
    ["self.name.matches('(')", "program instantiation failed: error parsing regexp: missing closing ): `(`"],
  ]);
  t.end();
});

t.test("fields are reached as the schema declares them", (t) => {
  check(t, [
    ["self.name == 'abc' && self.min <= self.max && self.on", "ok"],
    ["self.a__dash__b__dot__c__slash__d__underscores__e == 'escaped' && self.__namespace__ == 'own'", "ok"],
    ["self.namespace == 'own'", faultAt(5, "undefined field 'namespace'")],
    ["self.nothing == 1", faultAt(5, "undefined field 'nothing'")],
    ["has(self.raw)", "ok"],
    ["self.raw.x == 1", faultAt(9, "undefined field 'x'")],
    ["self.pod.kind == 'Pod' && self.pod.apiVersion == 'v1' && self.pod.metadata.name == 'p'", "ok"],
    ["has(self.pod.metadata.generateName)", "failed"],
    ["self.pod.metadata.labels.size() == 0", faultAt(18, "undefined field 'labels'")],
    ["has(self.some)", "failed"],
    ["self.some == 'x'", "no such key: some"],
    ["type(self.holes[0]) == null_type && self.holes[1] == 'x'", "ok"],
    ["self.map['k'].n == 3 && self.map.k.n == 3 && self.map['a b'].n == 4", "ok"],
    ["self.map['zz'].n == 1", "no such key: zz"],
    ["self.items[5].n == 1", "index out of bounds: 5"],
    ["self.items[-1].n == 1", "index out of bounds: -1"],
    ["self.either == '50%' && type(self.either) == string", "ok"],
    ["self.either > 5", `${noOverload}: self.either > 5`],
    ["type(self.either) == int ? self.either > 5 : self.either.matches('^[0-9]+%$')", "ok"],
    ["self.ratio == 2.0 && self.ratio > 1", "ok"],
    ["self.data == b'hello' && string(self.data) == 'hello'", "ok"],
    ["dyn(self).name == 'abc' && dyn(self).map.k.n == 3", "ok"],
    ["dyn(self).zz == 1", "no such key: zz"],
  ]);
  t.end();
});

t.test("operators compute as CEL's do, and fail as they do", (t) => {
  check(t, [
    ["1 + 2 * 3 == 7 && 7 / 2 == 3 && -7 / 2 == -3 && 7 % 4 == 3 && -7 % 4 == -3", "ok"],
    ["1u + 2u == 3u && 5u - 2u == 3u && 2u * 3u == 6u && 7u / 2u == 3u && 7u % 4u == 3u", "ok"],
    ["1.5 + 1.5 == 3.0 && 3.0 - 1.5 == 1.5 && 2.0 * 1.5 == 3.0 && 1.0 / 0.0 > 1.0 && -(1.5) < 0.0", "ok"],
    ["'a' + 'b' == 'ab' && b'a' + b'b' == b'ab' && [1] + [2] == [1, 2]", "ok"],
    ["1 / 0 == 1", "division by zero"],
    ["1 % 0 == 1", "modulus by zero"],
    ["1u / 0u == 1u || 1u % 0u == 1u", "division by zero"],
    ["9223372036854775807 + 1 > 0", "integer overflow"],
    ["-9223372036854775808 - 1 < 0", "integer overflow"],
    ["-(-9223372036854775808) < 0", "integer overflow"],
    ["0u - 1u > 0u", "unsigned integer overflow"],
    ["-9223372036854775808 < 0 && 18446744073709551615u > 0u", "ok"],
    ["1 < 1.5 && 2u > 1 && 1.0 <= 1u", "ok"],
    ["dyn(1) == 1.0 && dyn(1u) == 1 && dyn(1) != 'a'", "ok"],
    ["'a' < 'b' && 'b' >= 'a' && false < true && b'a' < b'b' && '\\u00e9' > 'z'", "ok"],
    ["true || self.map['zz'].n == 1", "ok"],
    ["self.map['zz'].n == 1 || true", "ok"],
    ["self.map['zz'].n == 1 || false", "no such key: zz"],
    ["self.map['zz'].n == 1 && false", "failed"],
    ["false ? self.map['zz'].n == 1 : true", "ok"],
    ["1 in [1, 2] && !(3 in [1, 2]) && 'k' in self.map && !('q' in self.map) && 'a' in {'a': 1}", "ok"],
    ["{'a': 1, 'b': 2} == {'b': 2, 'a': 1} && {1: 'x'}[1] == 'x' && {true: 1}[true] == 1", "ok"],
    ["{'a': 1, 'a': 2}.size() == 1", "insertion of duplicate key: a"],
    ["{1: 'a'}[dyn(1.0)] == 'a' && {1: 'a'}[dyn(1u)] == 'a'", "ok"],
    ["0.0 / 0.0 != 0.0 / 0.0", "ok"],
    ["[[1], []] == [[1], []] && [] == []", "ok"],
    ["self == null", "failed"],
    ["0x1F == 31 && 1e3 == 1000.0 && r'\\d' == '\\\\d' && '''a\nb''' == 'a\\nb'", "ok"],
    ["true // a comment", "ok"],
  ]);
  t.end();
});

t.test("sets and list maps are equal in any order, and + unites them", (t) => {
  check(t, [
    ["self.set == self.other && self.set == ['b', 'a'] && self.set != ['a', 'c']", "ok"],
    ["self.set + ['c', 'a'] == ['c', 'b', 'a'] && (self.set + self.other).size() == 2", "ok"],
    ["self.pairs == self.turned && (self.pairs + self.turned).size() == 2", "ok"],
    ["self.pairs == self.turned.filter(p, p.k == 'a')", "failed"],
    ["self.items == self.items.map(x, x) && self.items != self.items.filter(x, x.n > 1)", "ok"],
    ["self.numbers == [1, 2, 3]", "failed"],
    ["self.raw == self.raw && self == self && self.map == self.map", "ok"],
  ]);
  t.end();
});

t.test("macros go over lists and the keys of maps", (t) => {
  check(t, [
    ["self.items.all(a, self.items.exists_one(b, a.name == b.name))", "ok"],
    ["self.items.exists(x, x.n == 2) && !self.items.exists(x, x.n == 3)", "ok"],
    ["self.items.exists_one(x, x.n > 0)", "failed"],
    ["self.items.map(x, x.name) == ['x', 'y'] && self.items.map(x, x.n > 1, x.name) == ['y']", "ok"],
    ["self.items.filter(x, x.n > 1).size() == 1", "ok"],
    [
      "self.map.all(k, self.map[k].n > 2) && self.map.exists(k, k == 'a b') && self.map.filter(k, k == 'k') == ['k']",
      "ok",
    ],
    ["self.items.all(x, x.n / 0 == 1)", "division by zero"],
    ["self.items.exists(x, 1 / (x.n - 1) == 1)", "ok"],
    ["self.items.all(x, 1 / (x.n - 1) == 2)", "failed"],
    ["self.items.map(x, 1 / (x.n - 1)) == []", "division by zero"],
    ["self.items.exists_one(x, 1 / (x.n - 1) == 1)", "division by zero"],
    ["self.items.exists(self, self.n == 2)", "ok"],
    ["[].all(x, false) && ![].exists(x, true)", "ok"],
    ["cel.bind(x, self.min + 1, x * x == 4)", "ok"],
    ["has(self.items[0].name) && has(self.map.k) && !has(self.map.q)", "ok"],
    ["dyn([1, 2]).all(x, x > 0)", "ok"],
    ["dyn(1).all(x, x > 0)", `${noOverload}: dyn(1).all(x, x > 0)`],
  ]);
  t.end();
});

t.test("optional values", (t) => {
  check(t, [
    ["self.?name.orValue('x') == 'abc' && self.?some.orValue('x') == 'x'", "ok"],
    ["self.?some.hasValue() || self.map[?'q'].hasValue() || self.items[?7].hasValue()", "failed"],
    ["self.map[?'k'].n.value() == 3 && self.?map.k.n.orValue(0) == 3 && self.?map.q.n.orValue(7) == 7", "ok"],
    ["self.?some.value() == 'x'", "optional.none() dereference"],
    ["optional.of(3).optMap(x, x + 1).value() == 4 && !optional.none().optMap(x, x).hasValue()", "ok"],
    ["optional.of(3).optFlatMap(x, optional.of(x + 1)) == optional.of(4)", "ok"],
    ["self.?some.or(self.?name).value() == 'abc' && optional.none() == optional.none()", "ok"],
    ["optional.ofNonZeroValue('').hasValue() || optional.ofNonZeroValue(0).hasValue()", "failed"],
    ["has(self.?map.k)", "ok"],
    [
      "self.?name.orValue(self.map['zz'].n) == 'x'",
      faultAt(19, "found no matching overload for 'orValue' applied to 'optional_type(string).(int)'"),
    ],
    ["self.?name.orValue(self.some) == 'abc'", "ok"],
  ]);
  t.end();
});

t.test("identifierOf() escapes names as upstream does", (t) => {
  const rows: [name: string, want: string | undefined][] = [
    ["plain", "plain"],
    ["a.b-c/d", "a__dot__b__dash__c__slash__d"],
    ["a__b", "a__underscores__b"],
    ["___", "__underscores___"],
    ["in", "__in__"],
    ["namespace", "__namespace__"],
    ["int", "int"],
    [".", "__dot__"],
    ["1a", undefined],
    ["a b", undefined],
    ["", undefined],
    ["__proto__", "__underscores__proto__underscores__"],
  ];
  for (const [name, want] of rows) t.equal(identifierOf(name), want, name);
  t.end();
});
