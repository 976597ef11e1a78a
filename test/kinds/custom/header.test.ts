// What is read of definitions without their schemas.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import type { CustomResourceDefinition } from "../../../src/api/gen/apiextensions/v1.ts";
import { identities } from "../../../src/api/identity.ts";
import { createScheme, type Resource } from "../../../src/api/scheme.ts";
import { encode } from "../../../src/codec/engine/json.ts";
import { decodeStored } from "../../../src/codec/engine/stored.ts";
import { hasSchema, resourcesOf } from "../../../src/kinds/custom/definition.ts";
import { readEstablished, readHeader } from "../../../src/kinds/custom/header.ts";
import { behaviourOf, strategyOf } from "../../../src/kinds/table.ts";
import { definition, drawSchema, established, version } from "../../support/published.ts";

const identity = identities.kubernetes;
const scheme = createScheme({ identity });
const stored = scheme.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")?.stored as Resource;

type Json = Record<string, unknown>;

/** A definition's stored bytes. */
function storedBytes(body: Json): Buffer {
  const object = decodeStored(stored, Buffer.from(JSON.stringify(body)));
  return Buffer.from(encode(stored.message, object));
}

function read(bytes: Uint8Array): CustomResourceDefinition {
  return decodeStored(stored, bytes) as unknown as CustomResourceDefinition;
}

/** What a header is to be. */
function withoutSchemas(bytes: Uint8Array): CustomResourceDefinition {
  const whole = read(bytes);
  delete (whole.metadata as { managedFields?: unknown }).managedFields;
  for (const each of whole.spec.versions ?? []) if (each.schema !== undefined) each.schema = {};
  const { annotations } = whole.metadata;
  const applied = "kubectl.kubernetes.io/last-applied-configuration";
  if (annotations?.has(applied) === true) annotations.set(applied, "");
  return whole;
}

/** Texts that look like what a header is cut at. */
const tricky = {
  type: "object",
  description: 'said: "schema":{"a": }}} and \\" "spec":{',
  properties: {
    schema: { type: "object", properties: { schema: { type: "string", default: '"schema":{' } } },
    spec: { type: "object", enum: [{ schema: { a: "}" } }, "{"] },
  },
};

const bodies: readonly (readonly [name: string, body: Json])[] = [
  ["one version", definition("Widget", { schema: drawSchema(1, 4000) })],
  [
    "several versions",
    definition("Widget", {
      versions: [
        version("v2", tricky, { subresources: { status: {} } }),
        version("v1", tricky, {
          storage: false,
          additionalPrinterColumns: [{ name: '"schema":{', type: "string", jsonPath: ".a" }],
        }),
        { name: "v0", served: false, storage: false },
      ],
    }),
  ],
  [
    "tricky annotations",
    {
      ...definition("Widget", { schema: tricky }),
      metadata: {
        name: "widgets.example.com",
        labels: { schema: "x" },
        annotations: {
          "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({ spec: { schema: { a: '"' } } }),
          schema: '{"schema":{',
        },
        managedFields: [
          {
            manager: "m",
            operation: "Update",
            apiVersion: "apiextensions.k8s.io/v1",
            fieldsType: "FieldsV1",
            fieldsV1: { "f:spec": { "f:versions": {}, "f:schema": {} } },
          },
        ],
      },
    },
  ],
];

for (const [name, body] of bodies) {
  t.test(`readHeader() reads all but schemas: ${name}`, (t) => {
    const bytes = storedBytes(established(body));
    const header = readHeader(stored, bytes);
    t.strictSame(JSON.parse(encode(stored.message, header)), JSON.parse(encode(stored.message, withoutSchemas(bytes))));
    t.same(readEstablished(stored, bytes), header);
    t.equal(readEstablished(stored, storedBytes(body)), undefined, "one that is not established serves nothing");
    t.end();
  });
}

t.test("resourcesOf() reads schemas when the first is needed, once, and says when they are gone", (t) => {
  const bytes = storedBytes(established(bodies[1]?.[1] ?? {}));
  const header = readHeader(stored, bytes) as unknown as CustomResourceDefinition;
  let reads = 0;
  const served = (whole: CustomResourceDefinition | undefined) =>
    resourcesOf(header, identity, {
      whole: () => {
        reads += 1;
        return whole;
      },
    });
  const [v2, v1] = served(read(bytes));
  t.match([v2, v1], [{ version: "v2" }, { version: "v1" }]);
  t.equal(reads, 0);
  t.equal(hasSchema(v1 as Resource), true);
  t.equal(strategyOf(v2 as Resource, identity), strategyOf(v2 as Resource, identity));
  t.equal(hasSchema(v2 as Resource), true);
  t.equal(reads, 1);
  t.equal(hasSchema(served(undefined)[0] as Resource), false, "the definition is gone");
  const other = read(bytes);
  other.metadata.uid = "another";
  t.equal(hasSchema(served(other)[0] as Resource), false, "another one has its name");
  const fewer = read(bytes);
  fewer.spec.versions = fewer.spec.versions?.slice(0, 1) ?? [];
  t.equal(hasSchema(served(fewer)[1] as Resource), false, "the version is gone");
  t.equal(hasSchema(stored), true, "what is built in has no schema to lose");
  t.end();
});

t.test("nothing of a definition is kept but what was made of it", async (t) => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const bytes = storedBytes(established(definition("Widget", { schema: drawSchema(1, 4000) })));
  const known: WeakRef<object>[] = [];
  const noted = <T extends object>(object: T): T => {
    known.push(new WeakRef(object));
    return object;
  };
  const header = (): CustomResourceDefinition =>
    noted(readHeader(stored, bytes) as unknown as CustomResourceDefinition);
  const whole = (): CustomResourceDefinition => {
    const definition = read(bytes);
    noted(definition.spec.versions?.[0]?.schema?.openAPIV3Schema ?? {});
    return noted(definition);
  };
  const [served] = resourcesOf(header(), identity, { whole });
  t.equal(hasSchema(served as Resource), true);
  t.equal(known.length, 3);
  // What a WeakRef gave out stays to the end of the turn.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  t.strictSame(
    known.map((ref) => ref.deref()),
    [undefined, undefined, undefined],
  );
  t.equal(behaviourOf(served as Resource, identity).strategy.nameFormat, "dns1123-subdomain");
});
