// What a definition of a custom resource says of its schema, read from its stored text for OpenAPI alone: the typed object
// costs three times as much to read, and is not needed afterwards.
import { RawJson } from "../api/schema.ts";
import { NumberText, type Value } from "../api/value.ts";
import { assert } from "../base/assert.ts";
import { Fault, parseOwn, textOf } from "../codec/engine/json.ts";

/** A schema of a definition as JSON. Where isExact says so, numbers may be texts. */
export interface SchemaJson {
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly title?: string;
  readonly default?: unknown;
  readonly maximum?: number | RawJson;
  readonly exclusiveMaximum?: boolean;
  readonly minimum?: number | RawJson;
  readonly exclusiveMinimum?: boolean;
  readonly maxLength?: number | RawJson;
  readonly minLength?: number | RawJson;
  readonly pattern?: string;
  readonly maxItems?: number | RawJson;
  readonly minItems?: number | RawJson;
  readonly uniqueItems?: boolean;
  readonly multipleOf?: number | RawJson;
  readonly enum?: readonly unknown[];
  readonly maxProperties?: number | RawJson;
  readonly minProperties?: number | RawJson;
  readonly required?: readonly string[];
  readonly items?: SchemaJson;
  readonly allOf?: readonly SchemaJson[];
  readonly oneOf?: readonly SchemaJson[];
  readonly anyOf?: readonly SchemaJson[];
  readonly not?: SchemaJson;
  readonly properties?: Readonly<Record<string, SchemaJson>>;
  readonly additionalProperties?: SchemaJson | boolean;
  readonly nullable?: boolean;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-list-type"?: string;
  readonly "x-kubernetes-map-type"?: string;
  readonly "x-kubernetes-validations"?: readonly object[];
}

/** What a definition says of one of its versions. */
export interface CustomSchema {
  /** Undefined: nothing that can be published (upstream: a schema that is not structural). */
  readonly schema: SchemaJson | undefined;
  /** The definition keeps fields that no schema names (preserveUnknownFields of older definitions). */
  readonly keepsUnknown: boolean;
  /** It has numbers of so many digits that they are kept as texts. */
  readonly isExact: boolean;
}

interface DefinitionJson {
  readonly spec: {
    readonly preserveUnknownFields?: boolean;
    readonly versions: readonly {
      readonly name: string;
      readonly schema?: { readonly openAPIV3Schema?: SchemaJson };
    }[];
  };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** A number a double may not hold, or not show as it was written. */
const manyDigits = /[:,[]-?(?:\d{15}|\d+(?:\.\d+)?[eE]|\d*\.\d{14})/;

/** What the stored bytes of a definition say of a version; undefined: there is none of that name. */
export function definedSchema(stored: Uint8Array, version: string): CustomSchema | undefined {
  const text = textOf(stored);
  const isExact = manyDigits.test(text);
  const { spec, status } = (isExact ? exact(text) : JSON.parse(text)) as DefinitionJson;
  const found = spec.versions.find(({ name }) => name === version);
  if (found === undefined) return undefined;
  const conditions = status?.conditions ?? [];
  const isLoose = conditions.some(
    (condition) => condition.type === "NonStructuralSchema" && condition.status === "True",
  );
  const schema = isLoose ? undefined : found.schema?.openAPIV3Schema;
  return { schema, keepsUnknown: spec.preserveUnknownFields === true, isExact };
}

function exact(text: string): unknown {
  const value = parseOwn(text);
  assert(!(value instanceof Fault), "A stored object is not JSON");
  return plain(value);
}

function plain(value: Value): unknown {
  if (typeof value === "bigint") return new RawJson(String(value));
  if (value instanceof NumberText) return new RawJson(value.text);
  if (Array.isArray(value)) return value.map(plain);
  if (!(value instanceof Map)) return value;
  return Object.fromEntries([...value].map(([key, item]) => [key, plain(item)]));
}
