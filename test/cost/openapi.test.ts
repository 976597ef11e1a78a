// What OpenAPI of definitions costs, as there are more of them and as they grow.
import t from "tap";
import type { CustomResourceDefinition } from "../../src/api/gen/apiextensions/v1.ts";
import { identities } from "../../src/api/identity.ts";
import { Registry } from "../../src/api/registry.ts";
import { createScheme, type Resource } from "../../src/api/scheme.ts";
import { decodeStored } from "../../src/codec/engine/stored.ts";
import { resourcesOf } from "../../src/kinds/custom/definition.ts";
import { definedSchema } from "../../src/openapi/openapidefined.ts";
import { type DefinedSchema, documentsOf } from "../../src/request/pages/openapidocuments.ts";
import { excessOf } from "../support/cost.ts";
import { definition, drawSchema, established } from "../support/published.ts";

const identity = identities.kubernetes;
const scheme = createScheme({ identity });
const stored = scheme.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")?.stored as Resource;

type Definitions = readonly { readonly decoded: CustomResourceDefinition; readonly bytes: Buffer }[];

/** Definitions whose schemas have so many bytes. */
function definitionsOf(sizes: readonly number[]): Definitions {
  return sizes.map((bytes, index) => {
    const body = established(definition(`Widget${index}`, { schema: drawSchema(index, bytes) }));
    const text = Buffer.from(JSON.stringify(body));
    return { decoded: decodeStored(stored, text) as CustomResourceDefinition, bytes: text };
  });
}

/** What is served of them, none of it told before. */
function registryOf(definitions: Definitions): Registry {
  const registry = new Registry(scheme);
  let fresh = definitions.map((one, index) => [String(index), resourcesOf(one.decoded, identity)] as const);
  registry.follow(() => {
    const found = fresh;
    fresh = [];
    return found;
  });
  return registry;
}

const cases: readonly (readonly [name: string, make: (size: number) => Definitions, from: number, to: number])[] = [
  ["so many definitions", (count) => definitionsOf(Array.from({ length: count }, () => 4_000)), 16, 1024],
  ["a definition of so many bytes", (bytes) => definitionsOf([bytes]), 16 * 1024, 1024 * 1024],
];

for (const [name, make, from, to] of cases) {
  for (const form of ["v2", "v2 protobuf"] as const) {
    t.test(`OpenAPI of definitions costs what they are: ${name}, ${form}`, async (t) => {
      const work = (definitions: Definitions) => {
        const defined: DefinedSchema = ({ resource, version }) => {
          const found = definitions[Number(/\d+/.exec(resource)?.[0])];
          return found && definedSchema(found.bytes, version);
        };
        return documentsOf(registryOf(definitions), "", defined).v2(form);
      };
      // The built-in kinds are written before.
      await work([]);
      t.equal(await excessOf(make, work, from, to), undefined);
    });
  }
}
