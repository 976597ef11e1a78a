// Rules are an alpha feature of the release: what a definition says of them counts only while their gate is on.
import type { JSONSchemaProps } from "../../../api/gen/apiextensions/v1.ts";

/** The gate of `x-kubernetes-validations`. */
export const rulesGate = "CustomResourceValidationExpressions";

/** Whether a schema has rules, or one within it. */
export function hasRules(schema: JSONSchemaProps): boolean {
  return (schema["x-kubernetes-validations"]?.length ?? 0) > 0 || partsOf(schema).some(hasRules);
}

/** Removes all rules of a schema. */
export function withoutRules(schema: JSONSchemaProps): void {
  delete schema["x-kubernetes-validations"];
  for (const part of partsOf(schema)) withoutRules(part);
}

function partsOf(schema: JSONSchemaProps): JSONSchemaProps[] {
  const { properties, items, additionalProperties, not, allOf = [], anyOf = [], oneOf = [] } = schema;
  const single = [items?.schema, additionalProperties?.schema, not].filter((part) => part !== undefined);
  const maps = [properties, schema.patternProperties, schema.definitions].flatMap((map) => [...(map?.values() ?? [])]);
  return [...single, ...maps, ...(items?.jSONSchemas ?? []), ...allOf, ...anyOf, ...oneOf];
}
