// Compiled schemas and their answers, for tests of custom resources.
import type { FieldError } from "../../../src/api/fielderror.ts";
import type { JSONSchemaProps } from "../../../src/api/gen/apiextensions/v1.ts";
import { identities } from "../../../src/api/identity.ts";
import { messageOf } from "../../../src/api/messages.ts";
import type { ValueMap } from "../../../src/api/value.ts";
import { assert } from "../../../src/base/assert.ts";
import { decode, isFault, parseText } from "../../../src/codec/engine/json.ts";
import { type CompiledSchema, compileSchemas, settle, validate } from "../../../src/kinds/custom/schema.ts";
import { canonicalText } from "../../../src/kinds/custom/texts.ts";

export type Json = Record<string, unknown>;

/** The identity texts are in. */
export const identity = identities.kubernetes;

/** A schema as definitions hold it, from JSON. */
export function schemaOf(json: unknown): JSONSchemaProps {
  return schemaOfText(JSON.stringify(json));
}

/** The same from text, for numbers that JSON literals have no room for. */
export function schemaOfText(text: string): JSONSchemaProps {
  const value = parseText(text);
  assert(!isFault(value), "The schema is JSON");
  const schema = decode<JSONSchemaProps>(messageOf("apiextensions/v1.JSONSchemaProps"), value);
  assert(!isFault(schema), "The schema is one");
  return schema;
}

/** A compiled schema, from JSON. */
export function compiled(json: unknown): CompiledSchema {
  const [schema] = compileSchemas([schemaOf(json)], identity);
  assert(schema !== undefined, "There is a schema");
  return schema;
}

/** The schema of objects whose spec has one field `a`. */
export function withField(schema: Json, more: Json = {}): CompiledSchema {
  return compiled({ type: "object", properties: { spec: { type: "object", properties: { a: schema }, ...more } } });
}

/** A document from its text. */
export function documentOf(text: string): ValueMap {
  const value = parseText(text);
  assert(value instanceof Map, "The document is an object");
  return value;
}

/** Errors as they stand in messages. */
export function lines(errors: readonly FieldError[]): string[] {
  return errors.map(({ field, text }) => `${field}: ${text}`);
}

/** All faults of an object that was settled before. */
export function faultsOf(schema: CompiledSchema, text: string): string[] {
  const object = documentOf(text);
  settle(schema, object);
  const { values, shapes } = validate(schema, object);
  return lines([...values, ...shapes]);
}

/** What an object is when it is settled. */
export function settledText(schema: CompiledSchema, text: string): string {
  const object = documentOf(text);
  settle(schema, object);
  return canonicalText(object, false);
}
