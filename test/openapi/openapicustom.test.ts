// What is published of the schema of a custom resource, feature by feature. Expected values are what upstream answered
// for the same definitions, but where a row says otherwise.
import t from "tap";
import type { CustomResourceDefinition } from "../../src/api/gen/apiextensions/v1.ts";
import { type IdentityName, identities } from "../../src/api/identity.ts";
import { createScheme, type Resource } from "../../src/api/scheme.ts";
import { decodeStored } from "../../src/codec/engine/stored.ts";
import { resourcesOf } from "../../src/kinds/custom/definition.ts";
import { customDefinitions, type Definition } from "../../src/openapi/openapicustom.ts";
import { customPaths, customPathsJson } from "../../src/openapi/openapicustompaths.ts";
import { type CustomSchema, definedSchema } from "../../src/openapi/openapidefined.ts";
import { definitionJson } from "../../src/openapi/openapijson.ts";
import { encodeDefinition, encodeDefinitionSlowly } from "../../src/openapi/openapiproto.ts";
import type { OpenApiVersion } from "../../src/openapi/openapischema.ts";
import { definition, drawSchema, established } from "../support/published.ts";

type Json = Record<string, unknown>;

/** Stored definitions by what they serve. */
const stored = new WeakMap<Resource, Buffer>();

function resourceOf(body: Json, name: IdentityName = "kubernetes"): Resource {
  return resourceOfText(JSON.stringify(established(body)), name);
}

function resourceOfText(text: string, name: IdentityName = "kubernetes"): Resource {
  const identity = identities[name];
  const group = identity.spell("apiextensions.k8s.io");
  const definitions = createScheme({ identity }).find(group, "v1", "customresourcedefinitions");
  const decoded = decodeStored(definitions?.stored as Resource, Buffer.from(text));
  const resource = resourcesOf(decoded as CustomResourceDefinition, identity)[0] as Resource;
  stored.set(resource, Buffer.from(text));
  return resource;
}

function schemaOf(resource: Resource): CustomSchema | undefined {
  return definedSchema(stored.get(resource) as Buffer, resource.version);
}

/** Takes all steps; what they come to. */
function finish<T>(steps: Generator<unknown, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

function definitionsOf(resource: Resource, version: OpenApiVersion, name: IdentityName = "kubernetes") {
  return finish(customDefinitions({ identity: identities[name], version }, resource, schemaOf(resource)));
}

const textOf = (of: Definition): string => [...definitionJson(of)].join("");

/** The definitions as clients read them. */
function shown(resource: Resource, version: OpenApiVersion, name?: IdentityName): Record<string, Json> {
  return JSON.parse(`{${definitionsOf(resource, version, name).map(textOf).join()}}`) as Record<string, Json>;
}

/** What is published of a field's schema. */
function field(schema: Json, version: OpenApiVersion): unknown {
  const resource = resourceOf(definition("Widget", { schema: { type: "object", properties: { field: schema } } }));
  const [kind] = Object.values(shown(resource, version));
  return (kind?.["properties"] as Json | undefined)?.["field"];
}

const text = { type: "string" };
const either = [{ type: "integer" }, { type: "string" }];
const same = Symbol("same");

/** A field's schema, and what versions 2 and 3 make of it. */
const rows: readonly (readonly [what: string, schema: Json, v2: unknown, v3: unknown])[] = [
  ["a text", { ...text, description: "d", title: "t" }, same, same],
  ["rules of texts", { ...text, minLength: 0, maxLength: 5, pattern: "^<a>$", format: "date-time" }, same, same],
  ["an enum", { ...text, enum: ["a", "<b>"] }, same, same],
  [
    "rules of numbers",
    { type: "number", minimum: 0.5, maximum: 1e21, exclusiveMinimum: true, exclusiveMaximum: true, multipleOf: 0.1 },
    same,
    same,
  ],
  [
    "what is false",
    { type: "integer", exclusiveMinimum: false, nullable: false },
    { type: "integer" },
    { type: "integer" },
  ],
  ["nullable", { ...text, nullable: true }, {}, same],
  [
    "nullable with parts",
    { type: "object", nullable: true, properties: { a: text }, required: ["a"] },
    { required: ["a"] },
    same,
  ],
  [
    "nullable list",
    { type: "array", nullable: true, items: text, maxItems: 3, "x-kubernetes-list-type": "set" },
    { maxItems: 3, "x-kubernetes-list-type": "set" },
    same,
  ],
  [
    "required and nullable",
    { type: "object", required: ["n", "m"], properties: { n: { ...text, nullable: true }, m: text } },
    { type: "object", required: ["m"], properties: { n: {}, m: text } },
    same,
  ],
  ["default", { type: "boolean", default: false }, { type: "boolean" }, same],
  [
    "default with nulls",
    { type: "object", default: { a: [null, "x"] }, "x-kubernetes-preserve-unknown-fields": true },
    { "x-kubernetes-preserve-unknown-fields": true },
    same,
  ],
  [
    "junctors",
    { ...text, anyOf: [{ pattern: "^a" }], oneOf: [{ enum: ["a"] }], allOf: [{ maxLength: 9 }], not: { enum: ["z"] } },
    text,
    same,
  ],
  [
    "junctors about parts",
    { type: "object", properties: { a: text }, allOf: [{ properties: { a: { minLength: 2 } }, required: ["a"] }] },
    { type: "object", properties: { a: text } },
    same,
  ],
  [
    "int or string",
    { "x-kubernetes-int-or-string": true },
    { "x-kubernetes-int-or-string": true },
    { anyOf: either, "x-kubernetes-int-or-string": true },
  ],
  [
    "int or string, said",
    { "x-kubernetes-int-or-string": true, anyOf: either, pattern: "^a" },
    { "x-kubernetes-int-or-string": true, pattern: "^a" },
    same,
  ],
  [
    "int or string, said below allOf",
    { "x-kubernetes-int-or-string": true, allOf: [{ anyOf: either }, { maximum: 4 }] },
    { "x-kubernetes-int-or-string": true },
    same,
  ],
  [
    "unknown fields",
    { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { a: text } },
    { "x-kubernetes-preserve-unknown-fields": true },
    same,
  ],
  ["anything", { "x-kubernetes-preserve-unknown-fields": true, description: "u" }, same, same],
  [
    "a list of anything",
    { type: "array", items: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    { type: "array", items: { "x-kubernetes-preserve-unknown-fields": true } },
    same,
  ],
  ["a map", { type: "object", additionalProperties: { type: "integer" }, maxProperties: 3 }, same, same],
  ["a map of anything", { type: "object", additionalProperties: true }, same, same],
  [
    // Upstream: false, which it makes of {} when it reads its own answer.
    "a map with nulls",
    { type: "object", additionalProperties: { ...text, nullable: true }, required: ["x"] },
    { type: "object", additionalProperties: {} },
    same,
  ],
  [
    "a list with keys",
    {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
      items: { type: "object", required: ["k"], properties: { k: text } },
    },
    same,
    same,
  ],
  ["an atomic map", { type: "object", "x-kubernetes-map-type": "atomic", properties: { a: text } }, same, same],
  ["what is not published", { ...text, externalDocs: { url: "http://x" }, example: { a: 1 } }, text, text],
];

t.test("the schema of a custom resource is published feature by feature", (t) => {
  for (const [what, schema, v2, v3] of rows) {
    t.same(field(schema, 2), v2 === same ? schema : v2, `${what}, version 2`);
    t.same(field(schema, 3), v3 === same ? schema : v3, `${what}, version 3`);
  }
  t.end();
});

t.test("numbers are published with all their digits", (t) => {
  const field = { type: "integer", maxLength: "A", enum: ["B", "C"], default: { a: ["D"] }, minimum: 2, maximum: "E" };
  const body = established(definition("Widget", { schema: { type: "object", properties: { field } } }));
  const digits = {
    A: "9007199254740993",
    B: "1e30",
    C: "12345678901234567890",
    D: "0.12345678901234567890",
    E: "-1e5",
  };
  const text = JSON.stringify(body).replaceAll(/"([A-E])"/g, (_all, letter: keyof typeof digits) => digits[letter]);
  const [kind] = definitionsOf(resourceOfText(text), 3);
  t.equal(kind?.isPlain, false);
  const published = textOf(kind as Definition);
  t.match(published, `"maxLength":${digits.A}`);
  t.match(published, `"enum":[${digits.B},${digits.C}]`);
  t.match(published, `"default":{"a":[${digits.D}]}`);
  t.match(published, `"minimum":2`);
  t.match(published, `"maximum":${digits.E}`);
  const bytes = Buffer.from(encodeDefinition("a", (kind as Definition).schema)).toString("latin1");
  t.match(bytes, digits.C, "as text");
  t.match(bytes, Buffer.from([11 * 8, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10]).toString("latin1"), "as int64");
  t.end();
});

t.test("an embedded resource has what every object has, unless it keeps unknown fields", (t) => {
  const embedded = { type: "object", "x-kubernetes-embedded-resource": true, required: ["kind"] };
  const schema = { ...embedded, properties: { spec: { type: "object" }, apiVersion: { ...text, pattern: "x" } } };
  for (const version of [2, 3] as const) {
    const published = field(schema, version) as { properties: Record<string, Json>; required: string[] };
    t.same(published.required, ["kind", "apiVersion"]);
    t.same(Object.keys(published.properties), ["apiVersion", "kind", "metadata", "spec"]);
    t.match(published.properties["apiVersion"]?.["description"], /^apiVersion defines/);
    t.notOk("pattern" in (published.properties["apiVersion"] ?? {}), "said by the server");
    t.match(published.properties["metadata"]?.["$ref"], /\.meta\.v1\.ObjectMeta$/);
  }
  const free = { ...embedded, "x-kubernetes-preserve-unknown-fields": true };
  t.notOk("properties" in (field(free, 2) as object));
  t.ok("properties" in (field(free, 3) as object));
  t.end();
});

t.test("a kind has what every kind has, and its list", (t) => {
  const schema = {
    type: "object",
    description: "A widget.",
    required: ["spec"],
    properties: { metadata: { type: "object" }, spec: { type: "object" }, apiVersion: { ...text, description: "own" } },
  };
  const resource = resourceOf(definition("Widget", { schema, group: "a.example.com" }));
  for (const [version, prefix] of [
    [2, "#/definitions/"],
    [3, "#/components/schemas/"],
  ] as const) {
    const all = shown(resource, version);
    t.same(Object.keys(all), ["com.example.a.v1.Widget", "com.example.a.v1.WidgetList"]);
    const [kind, list] = Object.values(all);
    t.match(kind, {
      description: "A widget.",
      type: "object",
      required: ["spec"],
      properties: {
        apiVersion: { type: "string", description: /^APIVersion defines/ },
        kind: { type: "string" },
        metadata: { $ref: `${prefix}io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta` },
      },
      "x-kubernetes-group-version-kind": [{ group: "a.example.com", kind: "Widget", version: "v1" }],
    });
    t.match(list, {
      description: "WidgetList is a list of Widget",
      required: ["items"],
      properties: {
        items: { type: "array", items: { $ref: `${prefix}com.example.a.v1.Widget` } },
        metadata: { $ref: `${prefix}io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta` },
      },
      "x-kubernetes-group-version-kind": [{ group: "a.example.com", kind: "WidgetList", version: "v1" }],
    });
  }
  const branded = JSON.stringify(shown(resourceOf(definition("Widget", { schema }), "orch"), 2, "orch"));
  t.notMatch(branded, /k8s\.io|io\.k8s/);
  t.end();
});

t.test("a kind that keeps unknown fields says nothing in version 2", (t) => {
  const schema = { type: "object", description: "all", "x-kubernetes-preserve-unknown-fields": true };
  const resource = resourceOf(definition("Widget", { schema }));
  const [v2] = Object.values(shown(resource, 2));
  t.same(Object.keys(v2 ?? {}), ["type", "x-kubernetes-group-version-kind"]);
  const [v3] = Object.values(shown(resource, 3));
  t.match(v3, { description: "all", properties: { kind: { type: "string" } } });
  t.end();
});

t.test("a schema that is not structural is not published", (t) => {
  const body = established(definition("Widget", { schema: { type: "object", properties: { a: text } } }));
  const { conditions } = body["status"] as { conditions: Json[] };
  conditions.push({ ...conditions[0], type: "NonStructuralSchema" });
  const resource = resourceOfText(JSON.stringify(body));
  for (const version of [2, 3] as const) {
    const [kind] = Object.values(shown(resource, version));
    t.same(Object.keys(kind ?? {}), ["type", "x-kubernetes-group-version-kind"]);
  }
  t.end();
});

t.test("large schemas are written in pieces that come to the same", (t) => {
  const resource = resourceOf(definition("Widget", { schema: drawSchema(1, 300_000) }));
  for (const version of [2, 3] as const) {
    const [kind] = definitionsOf(resource, version);
    const slow = [...definitionJson({ ...(kind as Definition), isPlain: false })];
    t.ok(slow.length > 3, "in pieces");
    const plain = JSON.parse(`{${textOf({ ...(kind as Definition), isPlain: true })}}`) as unknown;
    t.same(JSON.parse(`{${slow.join("")}}`), plain, `version ${version}`);
  }
  const [kind] = definitionsOf(resource, 2);
  const { name, schema } = kind as Definition;
  t.ok(Buffer.from(finish(encodeDefinitionSlowly(name, schema))).equals(Buffer.from(encodeDefinition(name, schema))));
  let pauses = 0;
  const steps = customDefinitions({ identity: identities.kubernetes, version: 2 }, resource, schemaOf(resource));
  while (steps.next().done !== true) pauses += 1;
  t.ok(pauses > 3, "others get a chance");
  t.end();
});

t.test("paths from a template are those written one by one", (t) => {
  const both = { status: {}, scale: { specReplicasPath: ".spec.a", statusReplicasPath: ".status.a" } };
  const bodies = [
    definition("Widget", { subresources: both }),
    definition("Apple", { scope: "Cluster", group: "9-a.my-group.k8s.io" }),
    definition("Class", { subresources: { status: {} } }),
    definition("Things", { scope: "Cluster", subresources: { scale: both.scale } }),
  ];
  for (const identity of Object.values(identities)) {
    for (const body of bodies) {
      const resource = resourceOf(body, identity.identity);
      for (const version of [2, 3] as const) {
        const context = { identity, version };
        const written = JSON.stringify(Object.fromEntries(customPaths(context, resource)));
        t.equal(`{${customPathsJson(context, resource)}}`, written, `${resource.kind} ${version}`);
      }
    }
  }
  t.end();
});
