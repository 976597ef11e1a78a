// Rules where they stand: what a definition may say, which values its rules are about, and what they compare with.
import t from "tap";
import type { Json } from "../build.ts";
import { broken, checked, integer, list, object, text } from "./build.ts";

const rules = (...of: (string | Json)[]): Json => ({
  "x-kubernetes-validations": of.map((rule) => (typeof rule === "string" ? { rule } : rule)),
});
const map = (values: Json, more: Json = {}): Json => ({ type: "object", additionalProperties: values, ...more });
const byKey = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] };
const unchanged = { rule: "self == oldSelf", message: "may not change" };

t.test("faults of rules are told at the rule, as upstream prints it", (t) => {
  const bad = rules("true", { rule: 'self.a == "x"', message: "a" });
  const fault = "compilation failed: ERROR: <input>:1:5: undefined field 'a'\n | self.a == \"x\"\n | ....^";
  const printed = 'Invalid value: apiextensions.ValidationRule{Rule:"self.a == \\"x\\"", Message:"a"}';
  const path = "x-kubernetes-validations[1].rule";
  t.strictSame(checked(object({ b: text }, bad)), [`S.${path}: ${printed}: ${fault}`]);
  const nested = object({ l: list(map(object({ b: text }, bad))) });
  t.strictSame(checked(nested), [`S.properties[l].items.additionalProperties.${path}: ${printed}: ${fault}`]);
  const two = checked(object({ b: integer }, rules("self.x > 0 &&\n self.b == 'y'")))[0];
  t.match(
    two,
    "<input>:1:5: undefined field 'x'\n | self.x > 0 &&\n | ....^\nERROR: <input>:2:9: found no matching overload",
  );
  t.end();
});

t.test("rules stand where a type is declared", (t) => {
  const open = { "x-kubernetes-preserve-unknown-fields": true };
  const why =
    "rule declared on schema that does not support validation rules type: '' x-kubernetes-preserve-unknown-fields: 'true'";
  t.strictSame(checked(object({ a: { ...open, ...rules("true") } })), [
    `S.properties[a].x-kubernetes-validations[0].rule: Forbidden: ${why}`,
  ]);
  const everywhere = object(
    {
      a: { ...integer, ...rules("self > 0") },
      b: list({ ...text, ...rules("self != ''") }, rules("self.size() > 0")),
      c: map({ ...text, ...rules("self != ''") }, rules("self.size() > 0")),
      d: { "x-kubernetes-int-or-string": true, ...rules("self != ''") },
      e: { type: "object", ...open, ...rules("true") },
      f: { type: "boolean", ...rules("self") },
      g: { type: "number", ...rules("self > 0.5") },
    },
    rules("self.metadata.name != '' && self.kind == 'K' && self.apiVersion == 'g/v1'"),
  );
  t.strictSame(checked(everywhere), []);
  t.end();
});

t.test("oldSelf may be used where the former value can be found", (t) => {
  const at = (where: string, within: string): string =>
    `${where}.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within ${within}`;
  const item = object({ k: text, v: { ...text, ...rules("self == oldSelf") } }, { required: ["k"] });
  const value = { ...text, ...rules("self == oldSelf") };
  const rows: [schema: Json, want: string[]][] = [
    [object({ a: value }), []],
    [object({ a: map(value) }), []],
    [object({ a: list(item, byKey) }), []],
    [object({ a: list(text, rules("self == oldSelf")) }), []],
    [object({ a: list(value) }), [at("S.properties[a].items", "S.properties[a]")]],
    [object({ a: list(value, { "x-kubernetes-list-type": "set" }) }), [at("S.properties[a].items", "S.properties[a]")]],
    [
      object({ a: list(object({ b: list(item, byKey) })) }),
      [at("S.properties[a].items.properties[b].items.properties[v]", "S.properties[a]")],
    ],
  ];
  for (const [schema, want] of rows) t.strictSame(checked(schema), want);
  t.end();
});

t.test("rules are about each value of their schema, outermost first", (t) => {
  const schema = object({
    a: object({ b: integer }, rules("self.b > 1")),
    l: list({ ...integer, ...rules({ rule: "self > 1", message: " too small " }) }, rules("self.size() > 5")),
    m: map({ ...text, ...rules("self != 'x'") }),
    e: { "x-kubernetes-int-or-string": true, ...rules("self != 'x'") },
    n: { ...text, nullable: true, ...rules("false") },
  });
  t.strictSame(broken(schema, { a: { b: 1 }, l: [1, 2, 0], m: { p: "x", "q.r": "x" }, e: "x", n: null }), [
    'a: Invalid value: "object": failed rule: self.b > 1',
    'l: Invalid value: "array": failed rule: self.size() > 5',
    'l[0]: Invalid value: "integer": too small',
    'l[2]: Invalid value: "integer": too small',
    "m[p]: Invalid value: \"string\": failed rule: self != 'x'",
    "m[q.r]: Invalid value: \"string\": failed rule: self != 'x'",
    "e: Invalid value: \"\": failed rule: self != 'x'",
  ]);
  t.strictSame(broken(object({ a: text }, rules("self.a == 'y'")), { a: "x" }), [
    "<nil>: Invalid value: \"object\": failed rule: self.a == 'y'",
  ]);
  t.strictSame(broken(schema, {}), [], "nothing is said of what is absent");
  t.end();
});

t.test("rules see defaults", (t) => {
  const schema = object({ a: object({ b: { ...integer, default: 7 } }, { ...rules("self.b == 7"), default: {} }) });
  t.strictSame(broken(schema, {}), []);
  t.end();
});

t.test("transition rules compare with the value that is replaced, and are skipped where there is none", (t) => {
  const schema = object({
    a: { ...text, ...rules(unchanged) },
    n: { ...integer, ...rules({ rule: "self >= oldSelf", message: "may not shrink" }) },
    m: map({ ...text, ...rules(unchanged) }),
    l: list(object({ k: text, v: { ...text, ...rules(unchanged) } }, { required: ["k"] }), byKey),
    s: list(text, { "x-kubernetes-list-type": "set", ...rules(unchanged) }),
    t: list(text, rules({ rule: "oldSelf.all(x, x in self)", message: "may not lose items" })),
    z: { ...text, nullable: true, ...rules(unchanged) },
  });
  const told = (value: Json, old?: Json): string[] =>
    broken(schema, value, old).map((line) => line.replace(/ Invalid value: "\w+":/, ""));
  const rows: [old: Json | undefined, value: Json, want: string[]][] = [
    [undefined, { a: "x", n: 1, m: { k: "v" }, l: [{ k: "a", v: "1" }], s: ["a"], t: ["a"] }, []],
    [{ a: "x" }, { a: "x" }, []],
    [{ a: "x" }, { a: "y" }, ["a: may not change"]],
    [{ a: "x" }, {}, []],
    [{ n: 3 }, { n: 2 }, ["n: may not shrink"]],
    [{ m: { k: "v" } }, { m: { k: "w", q: "new" } }, ["m[k]: may not change"]],
    [
      {
        l: [
          { k: "a", v: "1" },
          { k: "b", v: "2" },
        ],
      },
      {
        l: [
          { k: "c", v: "new" },
          { k: "b", v: "other" },
          { k: "a", v: "1" },
        ],
      },
      ["l[1].v: may not change"],
    ],
    [{ s: ["a", "b"] }, { s: ["b", "a"] }, []],
    [{ s: ["a", "b"] }, { s: ["b", "c"] }, ["s: may not change"]],
    [{ t: ["a", "b"] }, { t: ["b"] }, ["t: may not lose items"]],
    [{ z: null }, { z: "x" }, []],
    [{ z: "x" }, { z: null }, []],
  ];
  for (const [old, value, want] of rows) t.strictSame(told(value, old), want, JSON.stringify([old, value]));
  t.end();
});

t.test("rules of the kind that published definitions have", (t) => {
  const listener = object({ name: text, port: integer, protocol: text, hostname: text });
  const unique =
    "self.all(l1, self.exists_one(l2, l1.port == l2.port && l1.protocol == l2.protocol && (has(l1.hostname) && has(l2.hostname) ? l1.hostname == l2.hostname : !has(l1.hostname) && !has(l2.hostname))))";
  const route = object(
    {
      listeners: list(listener, {
        maxItems: 64,
        ...rules(
          { rule: unique, message: "port, protocol and hostname must be unique" },
          "self.all(l, l.protocol == 'TCP' ? !has(l.hostname) : true)",
        ),
      }),
      timeouts: object(
        { request: text, backend: text },
        rules(
          "!(has(self.request) && has(self.backend) && duration(self.request) != duration('0s') && duration(self.backend) > duration(self.request))",
        ),
      ),
      issuer: object(
        { name: text, kind: text, days: integer, renew: integer },
        rules(
          "!has(self.renew) || has(self.days)",
          "!has(self.renew) || self.renew < self.days",
          "self.name.matches('^[a-z]+$')",
        ),
      ),
      quota: object(
        { nominal: { "x-kubernetes-int-or-string": true }, limit: text },
        rules("isQuantity(self.limit) && quantity(self.limit).isGreaterThan(quantity(string(self.nominal)))"),
      ),
      groups: list(
        object(
          { flavors: list(object({ resources: list(text) })), covered: list(text) },
          rules(
            "self.flavors.all(f, f.resources.size() == self.covered.size() && f.resources.all(r, r in self.covered))",
          ),
        ),
      ),
    },
    rules(unchanged),
  );
  t.strictSame(checked(route), []);
  const good = {
    listeners: [
      { name: "a", port: 443, protocol: "TLS", hostname: "a.b" },
      { name: "b", port: 443, protocol: "TLS", hostname: "c.d" },
      { name: "c", port: 443, protocol: "TLS" },
    ],
    timeouts: { request: "10s", backend: "2s" },
    issuer: { name: "ca", days: 90, renew: 30 },
    quota: { nominal: 5, limit: "6" },
    groups: [{ covered: ["cpu", "memory"], flavors: [{ resources: ["memory", "cpu"] }] }],
  };
  t.strictSame(broken(route, good, good), []);
  const bad = {
    listeners: [
      { name: "a", port: 1, protocol: "TCP", hostname: "a.b" },
      { name: "b", port: 1, protocol: "TCP", hostname: "a.b" },
    ],
    timeouts: { request: "1s", backend: "2s" },
    issuer: { name: "CA", renew: 30 },
    quota: { nominal: 5, limit: "500m" },
    groups: [{ covered: ["cpu"], flavors: [{ resources: ["gpu"] }] }],
  };
  t.strictSame(
    broken(route, bad, good).map((line) => line.split(":")[0]),
    ["<nil>", "listeners", "listeners", "timeouts", "issuer", "issuer", "issuer", "quota", "groups[0]"],
  );
  t.end();
});
