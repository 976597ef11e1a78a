import t from "tap";
import type { CustomResourceDefinition } from "../../../../src/api/gen/apiextensions/v1.ts";
import { limits } from "../../../../src/config/limits.ts";
import {
  validateDefinition,
  validateDefinitionUpdate,
} from "../../../../src/kinds/apiextensions/validation/customresourcedefinition.ts";
import { workAhead } from "../../../../src/kinds/custom/schemawork.ts";
import { contextOf, type Json, lines, make } from "../../build.ts";

const context = contextOf("apiextensions.k8s.io");

function definition(spec: Json, more: Json = {}): CustomResourceDefinition {
  const whole = { group: "example.com", scope: "Namespaced", names: names(), versions: [version()], ...spec };
  const status = { storedVersions: ["v1"] };
  const metadata = { name: "things.example.com" };
  return make("CustomResourceDefinition", { metadata, status, spec: whole, ...more }, "apiextensions.k8s.io");
}

function names(more: Json = {}): Json {
  return { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList", ...more };
}

function version(more: Json = {}, schema: Json = { type: "object" }): Json {
  return { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema }, ...more };
}

/** The faults of a definition whose only version has this field in its schema. */
function field(schema: Json): string[] {
  const found = lines(validateDefinition(definition({ versions: [version({}, object({ a: schema }))] }), context));
  return found.map((line) => line.replaceAll("spec.validation.openAPIV3Schema.properties[a]", "a"));
}

function object(properties: Json): Json {
  return { type: "object", properties };
}

t.test("validateDefinition() checks names, versions, columns and conversion", (t) => {
  const label = /a DNS-1035 label must consist of lower case/;
  const rows: readonly (readonly [why: string, spec: Json, expected: readonly (string | RegExp)[]])[] = [
    ["a plain one", {}, []],
    [
      "another group than in the name",
      { group: "other.com" },
      ['metadata.name: Invalid value: "things.example.com": must be spec.names.plural+"."+spec.group'],
    ],
    ["a group without a dot", { group: "example" }, [/metadata.name/, /spec.group: .*at least one dot/]],
    ["no scope", { scope: "" }, ["spec.scope: Required value"]],
    [
      "a wrong scope",
      { scope: "World" },
      ['spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"'],
    ],
    [
      "names",
      { names: names({ kind: "no_kind", shortNames: ["A"], categories: ["all", "-"] }) },
      [/spec.names.kind: .*may have mixed case, but/, /shortNames\[0\].*DNS-1035/, /categories\[1\].*DNS-1035/],
    ],
    ["one name for both kinds", { names: names({ listKind: "Thing" }) }, [/kind and listKind may not be the same/]],
    ["names left out", { names: { plural: "things" } }, [/singular: Req/, /names.kind: Req/, /listKind: Req/]],
    [
      "no storage version",
      { versions: [version({ storage: false })] },
      [/spec.versions: .*exactly one version marked/],
    ],
    [
      "a version twice",
      { versions: [version(), version({ storage: false })] },
      ['spec.versions: Invalid value: []string{"v1", "v1"}: must contain unique version names'],
    ],
    ["a version's name", { versions: [version({ name: "V 1" })] }, [label, /storedVersions/, /storedVersions\[0\]/]],
    [
      "no schema",
      { versions: [version({ schema: {} })] },
      ["spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required"],
    ],
    ["a warning on a sound version", { versions: [version({ deprecationWarning: "x" })] }, [/only be set for deprec/]],
    [
      "a warning of two lines",
      { versions: [version({ deprecated: true, deprecationWarning: "ä\nb" })] },
      [/must only contain printable UTF-8 characters; non-printable character found at index 2/],
    ],
    [
      "unknown fields for all",
      { preserveUnknownFields: true },
      [/spec.preserveUnknownFields: .*cannot set to true, set x-preserve-unknown-fields to true in spec.versions/],
    ],
    [
      "scale",
      { versions: [version({ subresources: { scale: { specReplicasPath: ".a.b", statusReplicasPath: "" } } })] },
      [/specReplicasPath: .*under .spec/, /statusReplicasPath: Required/],
    ],
    [
      "columns",
      {
        versions: [
          version({
            additionalPrinterColumns: [{ name: "A", type: "text", format: "x", jsonPath: "spec" }, { name: "" }],
          }),
        ],
      },
      [
        /\[0\].type: .*one of boolean,date/,
        /\[0\].format: .*one of byte/,
        /\[0\].JSONPath: .*starting with \./,
        /\[1\].name/,
        /\[1\].type/,
        /\[1\].JSONPath/,
      ],
    ],
    ["no strategy", { conversion: { strategy: "" } }, [/spec.conversion.strategy: Required/]],
    [
      "a webhook without anything",
      { conversion: { strategy: "Webhook" } },
      [/webhookClientConfig: Required value: required when/, /conversionReviewVersions: Required/],
    ],
    [
      "a webhook of unknown versions",
      {
        conversion: {
          strategy: "Webhook",
          webhook: { clientConfig: { url: "https://a.b" }, conversionReviewVersions: ["v7", "v7"] },
        },
      },
      [/duplicate version/, /must include at least one of v1, v1beta1/],
    ],
    ["unknown fields everywhere", { preserveUnknownFields: true }, [/preserveUnknownFields: Invalid value: true/]],
  ];
  for (const [why, spec, expected] of rows) {
    const found = lines(validateDefinition(definition(spec), context));
    t.equal(found.length, expected.length, `${why}: ${found.join("; ")}`);
    for (const [index, line] of expected.entries()) t.match(found[index], line, why);
  }
  t.end();
});

t.test("validateDefinition() wants a word for groups of the community's domains", (t) => {
  const of = (annotations: Json) =>
    lines(
      validateDefinition(
        definition({ group: "x.k8s.io" }, { metadata: { name: "things.x.k8s.io", annotations } }),
        context,
      ),
    );
  t.match(of({}), [/api-approved.kubernetes.io\]: Required/]);
  t.match(of({ "api-approved.kubernetes.io": "yes" }), [/Invalid value: "yes"/]);
  t.strictSame(of({ "api-approved.kubernetes.io": "https://a.b/c" }), []);
  t.strictSame(of({ "api-approved.kubernetes.io": "unapproved, a test" }), []);
  t.end();
});

t.test("validateDefinition() takes structural schemas only", (t) => {
  const either = { "x-kubernetes-int-or-string": true };
  const map = (keys: string[], items: Json) => ({
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": keys,
    items,
  });
  const key = { type: "object", required: ["k"], properties: { k: { type: "string" } } };
  const rows: readonly (readonly [schema: Json, expected: readonly string[]])[] = [
    [{ type: "string", pattern: "^(?i)[a-z]+$", nullable: true }, []],
    [{ "x-kubernetes-preserve-unknown-fields": true }, []],
    [{ ...either, anyOf: [{ type: "integer" }, { type: "string" }] }, []],
    [map(["k"], key), []],
    [{ type: "object", additionalProperties: { type: "array", items: { type: "string" } } }, []],
    [{}, ["a.type: Required value: must not be empty for specified object fields"]],
    [{ type: "array" }, ["a.items: Required value: must be specified"]],
    [{ type: "array", items: {} }, ["a.items.type: Required value: must not be empty for specified array items"]],
    [
      { type: "null" },
      [
        'a.type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string"',
        "a.type: Forbidden: type cannot be set to null, use nullable as an alternative",
      ],
    ],
    [{ $ref: "#/x", type: "object" }, ["a.$ref: Forbidden: $ref is not supported"]],
    [
      { type: "array", uniqueItems: true, items: { type: "string" } },
      ["a.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"],
    ],
    [
      { type: "object", properties: { b: { type: "string" } }, additionalProperties: { type: "string" } },
      ["a.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
    ],
    [{ type: "object", additionalProperties: false }, []],
    [
      { type: "object", properties: { b: { type: "string" } }, additionalProperties: false },
      ["a.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
    ],
    [
      { type: "string", pattern: "(?=a)" },
      [
        'a.pattern: Invalid value: "(?=a)": must be a valid regular expression, but isn\'t: error parsing regexp: invalid or unsupported Perl syntax: `(?=`',
      ],
    ],
    [
      { type: "string", allOf: [{ type: "string", minLength: 1 }] },
      ["a.allOf[0].type: Forbidden: must be empty to be structural"],
    ],
    // Upstream looks for what is declared nowhere at the root only.
    [{ type: "object", anyOf: [{ properties: { b: { minLength: 1 } } }] }, []],
    [
      map([], key),
      ["a.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map"],
    ],
    [
      map(["k", "k", "l"], key),
      [
        'a.x-kubernetes-list-map-keys: Invalid value: []string{"k", "k", "l"}: must not contain duplicate entries',
        'a.x-kubernetes-list-map-keys: Invalid value: []string{"k", "k", "l"}: entries must all be names of item properties',
      ],
    ],
    [
      { type: "string", "x-kubernetes-list-type": "bag" },
      [
        'a.type: Invalid value: "string": must be array if x-kubernetes-list-type is specified',
        'a.x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"',
      ],
    ],
    [{ ...either, type: "string" }, []],
    [
      { ...either, "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
      [
        "a.type: Required value: must be object if x-kubernetes-embedded-resource is true",
        "a.x-kubernetes-embedded-resource: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
        "a.x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
      ],
    ],
    [
      { type: "array", "x-kubernetes-list-type": "set", items: object({ k: { type: "string" } }) },
      [
        'a.items.x-kubernetes-map-type: Invalid value: "null": must be atomic as item of a list with x-kubernetes-list-type=set',
      ],
    ],
    [
      {
        type: "array",
        "x-kubernetes-list-type": "set",
        items: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
      },
      [
        'a.items.x-kubernetes-list-type: Invalid value: "set": must be atomic as item of a list with x-kubernetes-list-type=set',
      ],
    ],
  ];
  for (const [schema, expected] of rows) t.strictSame(field(schema), expected, JSON.stringify(schema));
  const root = (schema: Json, more: Json = {}) =>
    lines(validateDefinition(definition({ versions: [version(more, schema)] }), context)).map((line) =>
      line.replaceAll("spec.validation.openAPIV3Schema", "root"),
    );
  t.strictSame(root({}), ["root.type: Required value: must not be empty at the root"]);
  t.strictSame(root({ type: "string" }), ['root.type: Invalid value: "string": must be object at the root']);
  t.match(root({ type: "object", nullable: true }), [/root.nullable: Forbidden: nullable cannot be true at the root/]);
  t.match(root({ type: "object", nullable: true }, { subresources: { status: {} } }), [/only some fields/, /nullable/]);
  t.strictSame(root({ type: "object", anyOf: [{ properties: { b: { minLength: 1 } } }] }), [
    "root.properties[b]: Required value: because it is defined in root.anyOf[0].properties[b]",
  ]);
  t.match(root(object({ metadata: object({ labels: { type: "object" } }) })), [/name and generateName/]);
  t.strictSame(root(object({ metadata: object({ name: { type: "string", maxLength: 3 } }) })), []);
  t.end();
});

t.test("validateDefinition() takes defaults that fit their schema and have nothing it does not know", (t) => {
  const embedded = { type: "object", "x-kubernetes-embedded-resource": true };
  const open = { "x-kubernetes-preserve-unknown-fields": true };
  const rows: readonly (readonly [schema: Json, expected: readonly string[]])[] = [
    [{ type: "string", default: "x" }, []],
    [{ type: "string", default: null }, []],
    [{ "x-kubernetes-int-or-string": true, default: "5%" }, []],
    [{ type: "array", items: { type: "integer" }, default: [1, 2] }, []],
    [{ ...object({ b: { type: "string", default: "y" } }), default: {} }, []],
    [{ type: "object", additionalProperties: { type: "string", default: "x" } }, []],
    [{ ...open, default: { anything: [1, { goes: null }] } }, []],
    [
      { type: "string", default: 5 },
      ['a.default: Invalid value: "integer":  in body must be of type string: "integer"'],
    ],
    [
      { ...object({ b: { type: "string" } }), default: { b: 7, c: 1 } },
      [
        'a.default: Invalid value: map[string]interface {}{"b":7, "c":1}: must not have unknown fields',
        'a.default.b: Invalid value: "integer": b in body must be of type string: "integer"',
      ],
    ],
    [{ ...object({ b: { type: "string" } }), required: ["b"], default: {} }, ["a.default.b: Required value"]],
    [
      { type: "array", items: { type: "string", default: 1 } },
      ['a.items.default: Invalid value: "integer":  in body must be of type string: "integer"'],
    ],
    [
      { ...embedded, ...open, default: {} },
      ["a.default.apiVersion: Required value: must not be empty", "a.default.kind: Required value: must not be empty"],
    ],
    [{ ...embedded, ...open, default: { apiVersion: "v1", kind: "K", metadata: { name: "n" } } }, []],
    [
      { ...embedded, ...open, default: { apiVersion: 1, kind: "K" } },
      ["a.default.apiVersion: Invalid value: 1: must be a string"],
    ],
    [
      { ...embedded, properties: { metadata: object({ labels: { type: "object", default: { "#": "x" } } }) } },
      [
        /^a.properties\[metadata\].properties\[labels\].default: Invalid value: map.* must result in valid metadata: metadata.labels: Invalid value: "#": name part/,
      ] as unknown as string[],
    ],
    [
      {
        ...embedded,
        properties: {
          metadata: {
            ...embedded,
            properties: { labels: { type: "object", additionalProperties: { type: "string", default: "x" } } },
          },
        },
      },
      [
        "a.properties[metadata].x-kubernetes-embedded-resource: Forbidden: must not be used inside of resource meta",
        "a.properties[metadata].properties[labels].additionalProperties.default: Forbidden: must not be set inside additionalProperties applying to object metadata",
      ],
    ],
  ];
  for (const [schema, expected] of rows) {
    const found = field(schema);
    t.equal(found.length, expected.length, `${JSON.stringify(schema)}: ${found.join("; ")}`);
    for (const [index, line] of expected.entries()) t.match(found[index], line);
  }
  const top = (properties: Json) =>
    lines(validateDefinition(definition({ versions: [version({}, object(properties))] }), context));
  t.match(top({ apiVersion: { type: "string", default: "v1" } }), [
    /default: Forbidden: must not be set in top-level apiV/,
  ]);
  t.match(top({ metadata: object({ name: { type: "string", default: "x" } }) }), [
    /must not be set in top-level metadata/,
  ]);
  t.end();
});

t.test("validateDefinitionUpdate() lets defaults stay that were taken before they were checked", (t) => {
  const of = (value: Json) =>
    definition({ versions: [version({}, object({ a: { ...object({ b: { type: "string" } }), default: value } }))] });
  const unpruned = of({ b: "x", c: 1 });
  t.match(lines(validateDefinitionUpdate(unpruned, of({}), context)), [/must not have unknown fields/]);
  t.strictSame(lines(validateDefinitionUpdate(unpruned, unpruned, context)), []);
  t.match(lines(validateDefinitionUpdate(of({ b: 1 }), unpruned, context)), [/must be of type string/]);
  t.end();
});

t.test("validateDefinitionUpdate() keeps what objects are stored by", (t) => {
  const conditions = [{ type: "Established", status: "True" }];
  const old = definition({}, { status: { storedVersions: ["v1"], conditions } });
  const changed = (spec: Json, from = old) => lines(validateDefinitionUpdate(definition(spec), from, context));
  t.strictSame(changed({ names: names({ shortNames: ["th"] }) }), []);
  t.strictSame(changed({ scope: "Cluster" }), ['spec.scope: Invalid value: "Cluster": field is immutable']);
  t.strictSame(changed({ scope: "Cluster" }, definition({})), []);
  t.strictSame(changed({ names: names({ kind: "Ball" }) }), [
    'spec.names.kind: Invalid value: "Ball": field is immutable',
  ]);
  t.match(changed({ group: "other.com" }), [/spec.group: .*immutable/]);
  const stored = (storedVersions: string[]) => {
    const object = definition({});
    return lines(validateDefinitionUpdate({ ...object, status: { ...object.status, storedVersions } }, old, context));
  };
  t.match(stored([]), [/must have at least one stored version/]);
  t.match(stored(["v2"]), [/must have the storage version v1/, /\[0\]: .*must appear in spec.versions/]);
  t.end();
});

t.test("validateDefinition() tells faults of what all versions share once, and of others at their version", (t) => {
  const columns = [{ name: "a", type: "text", jsonPath: ".a" }];
  const scale = { specReplicasPath: "", statusReplicasPath: ".status.n" };
  const schema = object({ a: { type: "string", nullable: true, pattern: "(" } });
  const faulty = (more: Json) =>
    version({ additionalPrinterColumns: columns, subresources: { scale }, ...more }, schema);
  const fieldsOf = (...versions: Json[]) =>
    validateDefinition(definition({ versions }), context).map(({ field: at }) => at);
  const shared = [
    "spec.validation.openAPIV3Schema.properties[a].pattern",
    "spec.subresources.scale.specReplicasPath",
    "spec.additionalPrinterColumns[0].type",
  ];
  const second = { name: "v2", storage: false };
  t.strictSame(fieldsOf(faulty({})), shared);
  t.strictSame(fieldsOf(faulty({}), faulty(second)), shared);
  t.strictSame(fieldsOf(faulty({}), version({ ...second, additionalPrinterColumns: columns })), [
    "spec.versions[0].schema.openAPIV3Schema.properties[a].pattern",
    "spec.versions[0].subresources.scale.specReplicasPath",
    "spec.additionalPrinterColumns[0].type",
  ]);
  t.end();
});

t.test("a definition of more schemas than there may be is refused, unless it was stored and does not grow", (t) => {
  const large = (count: number): CustomResourceDefinition => {
    const properties = Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`f${index}`, { type: "string" }]),
    );
    return definition({ versions: [version({}, object(properties))] });
  };
  const most = limits.definitionSchemasMax;
  t.same(lines(validateDefinition(large(most - 1), context)), []);
  t.match(lines(validateDefinition(large(most), context)).join(), `not have more than ${most} schemas`);
  t.same(lines(validateDefinitionUpdate(large(most + 5), large(most + 5), context)), []);
  t.same(lines(validateDefinitionUpdate(large(most + 4), large(most + 5), context)), []);
  t.match(
    lines(validateDefinitionUpdate(large(most + 6), large(most + 5), context)).join(),
    /^spec\.versions: Forbidden/,
  );
  t.end();
});

t.test("what was compiled ahead of the rules changes nothing of what they say", (t) => {
  const wrong = { type: "string", pattern: "(", default: 1 };
  const schemas = [object({ a: wrong }), object({ a: { type: "object", default: { b: 1 } } }), { type: "object" }];
  for (const schema of schemas) {
    const make = (): CustomResourceDefinition => definition({ versions: [version({}, schema)] });
    const ahead = make();
    for (const _ of workAhead(ahead.spec));
    t.same(lines(validateDefinition(ahead, context)), lines(validateDefinition(make(), context)));
  }
  t.end();
});
