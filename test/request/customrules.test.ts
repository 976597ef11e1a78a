// Rules in CEL of custom resources, through the server: behind their gate, on every way to write an object.
import t from "tap";
import { defaultGates } from "../../src/config/gates.ts";
import { definitions, openDefined, widgets } from "../support/definitions.ts";
import { openInProcess } from "../support/inprocess.ts";

const gate = "CustomResourceValidationExpressions";
const path = "/apis/example.com/v1/namespaces/default/widgets";
const merge = { "content-type": "application/merge-patch+json" };
const jsonPatch = { "content-type": "application/json-patch+json" };
const apply = { "content-type": "application/apply-patch+yaml" };

const integer = { type: "integer" };
const notMore = { rule: "self.min <= self.max", message: "min may not be more than max" };
const fixed = { rule: "self == oldSelf", message: "may not change" };

/** A definition whose objects have a spec and a status with rules. */
function ruled(rules: object[] = [notMore], more: object = {}): object {
  const spec = {
    type: "object",
    properties: {
      min: integer,
      max: { ...integer, default: 10 },
      fixed: { type: "string", "x-kubernetes-validations": [fixed] },
      ...more,
    },
    "x-kubernetes-validations": rules,
  };
  const status = {
    type: "object",
    properties: { ready: integer },
    "x-kubernetes-validations": [{ rule: "self.ready >= 0" }],
  };
  const root = {
    type: "object",
    properties: { spec, status },
    "x-kubernetes-validations": [
      { rule: "!has(self.status) || !has(self.spec) || self.status.ready <= self.spec.max", message: "too many ready" },
      { rule: "self.metadata.name.size() < 10", message: "name is too long" },
    ],
  };
  return widgets({ name: "v1", schema: { openAPIV3Schema: root }, subresources: { status: {} } });
}

function widget(name: string, spec: object): object {
  return { apiVersion: "example.com/v1", kind: "Widget", metadata: { name }, spec };
}

const because = (why: string): string => `Widget.example.com "a" is invalid: ${why}`;

t.test("rules hold for creates, updates, patches, applies and status", async (t) => {
  const server = await openDefined(ruled(), "kubernetes", [gate]);
  t.teardown(() => server.stop());
  const moreThanMax = because('spec: Invalid value: "object": min may not be more than max');
  const refused = await server.call("POST", path, widget("a", { min: 11 }));
  t.equal(refused.code, 422);
  t.equal(refused.json.message, moreThanMax, "defaults are filled in before");
  t.strictSame(refused.json.details.causes, [
    { reason: "FieldValueInvalid", message: 'Invalid value: "object": min may not be more than max', field: "spec" },
  ]);
  t.equal((await server.call("POST", path, widget("a", { min: 5, fixed: "x" }))).code, 201);
  const long = await server.call("POST", path, widget("much-too-long", {}));
  t.match(long.json.message, /<nil>: Invalid value: "object": name is too long/);
  const { json: made } = await server.call("GET", `${path}/a`);
  const put = (spec: object) => server.call("PUT", `${path}/a`, { ...made, spec });
  t.equal((await put({ min: 11, max: 10, fixed: "x" })).json.message, moreThanMax);
  const changed = because('spec.fixed: Invalid value: "string": may not change');
  t.equal((await put({ min: 5, max: 10, fixed: "y" })).json.message, changed);
  t.equal((await server.call("PATCH", `${path}/a`, { spec: { min: 12 } }, merge)).json.message, moreThanMax);
  const replace = [{ op: "replace", path: "/spec/min", value: 13 }];
  t.equal((await server.call("PATCH", `${path}/a`, replace, jsonPatch)).json.message, moreThanMax);
  const applied = (min: number) =>
    server.call("PATCH", `${path}/a?fieldManager=m&force=true`, widget("a", { min }), apply);
  t.equal((await applied(14)).json.message, moreThanMax);
  t.equal((await applied(6)).code, 200);
  const status = (ready: number) => server.call("PATCH", `${path}/a/status`, { status: { ready } }, merge);
  const negative = because('status: Invalid value: "object": failed rule: self.ready >= 0');
  t.equal((await status(-1)).json.message, negative);
  t.equal((await status(11)).json.message, because('<nil>: Invalid value: "object": too many ready'));
  t.equal((await status(10)).code, 200);
  t.equal((await server.call("PATCH", `${path}/a?dryRun=All`, { spec: { min: 99 } }, merge)).code, 422);
});

t.test("rules are not asked about values that are not what their schema says", async (t) => {
  const server = await openDefined(ruled(), "kubernetes", [gate]);
  t.teardown(() => server.stop());
  const { code, json } = await server.call("POST", path, widget("a", { min: "x", max: 1 }));
  t.equal(code, 422);
  t.match(json.message, 'spec.min: Invalid value: "string": spec.min in body must be of type integer: "string"');
  t.match(
    json.message,
    '<nil>: Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  );
  t.notMatch(json.message, "min may not be more");
});

t.test("an object that a later rule is against has to follow it at its next write", async (t) => {
  const server = await openDefined(ruled([]), "kubernetes", [gate]);
  t.teardown(() => server.stop());
  await server.call("POST", path, widget("a", { min: 50 }));
  const name = "widgets.example.com";
  const { json: definition } = await server.call("GET", `${definitions}/${name}`);
  const next = ruled() as { spec: object };
  const update = { ...definition, spec: { ...definition.spec, ...next.spec } };
  t.equal((await server.call("PUT", `${definitions}/${name}`, update)).code, 200);
  const label = { metadata: { labels: { a: "b" } } };
  t.match((await server.call("PATCH", `${path}/a`, label, merge)).json.message, "min may not be more than max");
  t.equal((await server.call("PATCH", `${path}/a`, { spec: { min: 1 }, ...label }, merge)).code, 200);
});

t.test("without their gate rules are dropped, unless a definition had some", async (t) => {
  const off = await openDefined(ruled());
  t.teardown(() => off.stop());
  const name = "widgets.example.com";
  const stored = await off.call("GET", `${definitions}/${name}`);
  t.notMatch(stored.text, "x-kubernetes-validations");
  t.equal((await off.call("POST", path, widget("a", { min: 11 }))).code, 201);
  const broken = await off.call("POST", `${definitions}?dryRun=All`, { ...ruled([{ rule: "self.nope" }]) });
  t.equal(broken.code, 409, "what is dropped is not looked at");

  const on = await openInProcess("kubernetes", { gates: new Set([...defaultGates, gate]) });
  const made = await on.call("POST", definitions, ruled());
  t.match(made.text, "x-kubernetes-validations");
  on.close();
});

t.test("definitions with rules that cannot be are refused", async (t) => {
  const server = await openInProcess("kubernetes", { gates: new Set([...defaultGates, gate]) });
  t.teardown(() => server.close());
  const root = "spec.validation.openAPIV3Schema";
  const at = (field: string): string => `${root}.properties[spec].x-kubernetes-validations[0].${field}`;
  const printed = (rule: string): string => `apiextensions.ValidationRule{Rule:"${rule}", Message:""}`;
  const rows: [rule: object, field: string, text: string][] = [
    [{ rule: "" }, at("rule"), "Required value: rule is not specified"],
    [{ rule: " \n" }, at("rule"), "Required value: rule is not specified"],
    [{ rule: "true", message: "  " }, at("message"), 'Invalid value: "  ": must be non-empty if specified'],
    [{ rule: "true", message: "a\nb" }, at("message"), 'Invalid value: "a\\nb": must not contain line breaks'],
    [
      { rule: "true &&\ntrue" },
      at("message"),
      "Required value: message must be specified if rule contains line breaks",
    ],
    [
      { rule: "self.nope" },
      at("rule"),
      `Invalid value: ${printed("self.nope")}: compilation failed: ERROR: <input>:1:5: undefined field 'nope'\n | self.nope\n | ....^`,
    ],
    [{ rule: "self.min" }, at("rule"), `Invalid value: ${printed("self.min")}: cel expression must evaluate to a bool`],
  ];
  for (const [rule, field, text] of rows) {
    const { code, json } = await server.call("POST", definitions, ruled([rule]));
    t.equal(code, 422, text);
    t.strictSame(
      json.details.causes.map((cause: { field: string; message: string }) => [cause.field, cause.message]),
      [[field, text]],
    );
  }
  const inItems = ruled([], { l: { type: "array", items: { type: "string", "x-kubernetes-validations": [fixed] } } });
  const { json } = await server.call("POST", definitions, inItems);
  t.match(
    json.message,
    `${root}.properties[spec].properties[l].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within ${root}.properties[spec].properties[l]`,
  );
  const narrowed = ruled([], { n: { ...integer, allOf: [{ "x-kubernetes-validations": [{ rule: "true" }] }] } });
  const where = `${root}.properties[spec].properties[n].allOf[0].x-kubernetes-validations`;
  t.match(
    (await server.call("POST", definitions, narrowed)).json.message,
    `${where}: Forbidden: must be empty to be structural`,
  );
  const later = ruled([{ ...notMore, reason: "FieldValueForbidden", messageExpression: "'x'", fieldPath: ".min" }]);
  const made = await server.call("POST", definitions, later);
  t.equal(made.code, 201);
  t.notMatch(made.text, "messageExpression", "fields of later releases are dropped");
});

t.test("an object that costs too much is refused, and said why", async (t) => {
  const all = "self.l.all(a, self.l.all(b, self.l.exists(c, a + b == c) || true))";
  const server = await openDefined(ruled([{ rule: all }], { l: { type: "array", items: integer } }), "kubernetes", [
    gate,
  ]);
  t.teardown(() => server.stop());
  t.equal((await server.call("POST", path, widget("a", { l: [1, 2, 3] }))).code, 201);
  const { code, json } = await server.call(
    "POST",
    path,
    widget("b", { l: Array.from({ length: 2_000 }, (_, i) => i) }),
  );
  t.equal(code, 422);
  t.match(json.message, "actual cost limit exceeded");
});
