// Definitions as those of operators are, 40 KB each; and definitions of kinds that look like built-in ones, to compare
// the two.
import { definition, drawSchema, version } from "../../test/support/published.ts";

type Json = Record<string, unknown>;

/** Bytes of the schema of a definition; about 40 KB with all the rest. */
const schemaBytes = 39_000;

/** The group all generated definitions are in. */
export const benchGroup = "bench.example.com";

/** The kinds of one group are checked against each other: operators bring some dozens each. */
const kindsPerGroup = 25;

/** The group of definition `index`. */
export function groupAt(index: number): string {
  return `g${Math.floor(index / kindsPerGroup)}.${benchGroup}`;
}

/** Where objects of definition `index` are. */
export function pathAt(index: number): string {
  return `/apis/${groupAt(index)}/v1/namespaces/default/widget${index}s`;
}

/** Definition `index`: a deep schema of its own, columns, status and scale. */
export function definitionBody(index: number): Json {
  const additionalPrinterColumns = [
    { name: "Field", type: "string", jsonPath: ".spec.f0" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ];
  const more = { additionalPrinterColumns, subresources: { status: {} } };
  const versions = [version("v1", drawSchema(index, schemaBytes), more)];
  return definition(`Widget${index}`, { group: groupAt(index), versions });
}

/** The name of definition `index`. */
export function definitionName(index: number): string {
  return `widget${index}s.${groupAt(index)}`;
}

/** Keywords of OpenAPI that schemas of definitions have as well. */
const keywords = [
  ...["type", "format", "description", "required"],
  ...["x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"],
];

type Schemas = Readonly<Record<string, Json>>;

/** The schema of a definition that says of a kind what OpenAPI (version 2) does; its metadata is set by us. */
export function schemaFrom(definitions: Schemas, name: string): Json {
  const made = inlined(definitions, definitions[name] ?? {});
  (made["properties"] as Json)["metadata"] = { type: "object" };
  return made;
}

function inlined(definitions: Schemas, schema: Json): Json {
  const reference = schema["$ref"] as string | undefined;
  if (reference !== undefined) return inlined(definitions, definitions[reference.slice("#/definitions/".length)] ?? {});
  if (schema["format"] === "int-or-string") return { "x-kubernetes-int-or-string": true };
  const made: Json = {};
  for (const keyword of keywords) if (schema[keyword] !== undefined) made[keyword] = schema[keyword];
  const below = (of: unknown): Json => inlined(definitions, of as Json);
  if (schema["properties"] !== undefined) {
    const properties = Object.entries(schema["properties"] as Json);
    made["properties"] = Object.fromEntries(properties.map(([key, property]) => [key, below(property)]));
  }
  const { additionalProperties, items } = schema;
  if (additionalProperties !== undefined) made["additionalProperties"] = below(additionalProperties);
  if (items !== undefined) made["items"] = below(items);
  made["type"] ??= "object";
  requireKeys(made);
  return made;
}

/** Keys of lists that are maps are required, or have a default. */
function requireKeys(schema: Json): void {
  const items = schema["items"] as { required?: string[]; properties?: Record<string, Json> } | undefined;
  for (const key of (schema["x-kubernetes-list-map-keys"] ?? []) as string[]) {
    const property = items?.properties?.[key];
    if (items === undefined || property === undefined || items.required?.includes(key) === true) continue;
    if (key === "protocol") property["default"] = "TCP";
    else items.required = [...(items.required ?? []), key];
  }
}
