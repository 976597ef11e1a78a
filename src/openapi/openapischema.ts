// OpenAPI schemas of messages, compiled from the same descriptors as the codecs. The two versions of OpenAPI differ in
// where definitions are, in how a reference carries more than itself, and in defaults, which only version 3 shows.

import type { Identity } from "../api/identity.ts";
import { messageOf } from "../api/messages.ts";
import type { Field, Message, RawJson } from "../api/schema.ts";
import { assert } from "../base/assert.ts";
import { definitionName, type ScalarDefinition, scalarDefinitionName } from "./openapinames.ts";
import { fieldText, messageText, scalarTexts } from "./openapitexts.ts";

/** The versions of OpenAPI. */
export type OpenApiVersion = 2 | 3;

/** Group, version and kind, as the extension shows them. */
export interface KindReference {
  readonly group: string;
  readonly kind: string;
  readonly version: string;
}

/** A schema; what is undefined is left out. Those of custom resources have more than those of built-in kinds, and texts for
 * numbers of many digits. */
export interface Schema {
  description?: string | undefined;
  type?: string | undefined;
  format?: string | undefined;
  title?: string | undefined;
  $ref?: string | undefined;
  allOf?: Schema[] | undefined;
  oneOf?: Schema[] | undefined;
  anyOf?: Schema[] | undefined;
  not?: Schema | undefined;
  items?: Schema | undefined;
  additionalProperties?: Schema | boolean | undefined;
  properties?: Record<string, Schema> | undefined;
  required?: string[] | undefined;
  nullable?: boolean | undefined;
  default?: unknown;
  enum?: readonly unknown[] | undefined;
  multipleOf?: number | RawJson | undefined;
  maximum?: number | RawJson | undefined;
  exclusiveMaximum?: boolean | undefined;
  minimum?: number | RawJson | undefined;
  exclusiveMinimum?: boolean | undefined;
  maxLength?: number | RawJson | undefined;
  minLength?: number | RawJson | undefined;
  pattern?: string | undefined;
  maxItems?: number | RawJson | undefined;
  minItems?: number | RawJson | undefined;
  uniqueItems?: boolean | undefined;
  maxProperties?: number | RawJson | undefined;
  minProperties?: number | RawJson | undefined;
  "x-kubernetes-group-version-kind"?: readonly KindReference[] | undefined;
  "x-kubernetes-list-type"?: string | undefined;
  "x-kubernetes-list-map-keys"?: readonly string[] | undefined;
  "x-kubernetes-map-type"?: string | undefined;
  "x-kubernetes-patch-strategy"?: string | undefined;
  "x-kubernetes-patch-merge-key"?: string | undefined;
  "x-kubernetes-preserve-unknown-fields"?: boolean | undefined;
  "x-kubernetes-embedded-resource"?: boolean | undefined;
  "x-kubernetes-int-or-string"?: boolean | undefined;
  "x-kubernetes-validations"?: readonly object[] | undefined;
}

/** What schemas are written for. */
export interface SchemaContext {
  readonly identity: Identity;
  readonly version: OpenApiVersion;
  /** Kinds of a message, for the extension. */
  readonly kindsOf: (message: Message) => readonly KindReference[];
}

/** A reference to a definition. */
export function reference(version: OpenApiVersion, name: string): Schema {
  return { $ref: (version === 2 ? "#/definitions/" : "#/components/schemas/") + name };
}

/** A reference to a message's definition. */
export function messageReference({ version, identity }: SchemaContext, message: Message): Schema {
  return reference(version, definitionName(identity, message.name));
}

/** Definitions by name, in the order of their names: of the messages and of everything their fields lead to. */
export function definitionsOf(context: SchemaContext, roots: Iterable<Message>): Map<string, () => Schema> {
  const found = new Map<string, () => Schema>();
  const visit = (message: Message): void => {
    const name = definitionName(context.identity, message.name);
    if (found.has(name)) return;
    found.set(name, () => messageSchema(context, message));
    if (!isObject(message)) return;
    for (const { field } of fieldsOf(message)) {
      if (field.message !== undefined && field.message.special !== "List") visit(field.message);
      const scalar = scalarOf(field, message);
      if (scalar !== undefined) addScalar(context, found, scalar);
    }
  };
  for (const root of roots) visit(root);
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Adds the definition of a scalar. */
export function addScalar(
  { identity, version }: SchemaContext,
  definitions: Map<string, () => Schema>,
  scalar: ScalarDefinition,
): void {
  definitions.set(scalarDefinitionName(identity, scalar), () => scalarSchema(scalar, version));
}

/** Its JSON is an object of its fields. */
function isObject(message: Message): boolean {
  return message.special === undefined;
}

/** A field and the message it is written in. */
interface Owned {
  readonly owner: Message;
  readonly field: Field;
}

/** Fields as JSON shows them: those of inlined messages in their place. */
function fieldsOf(message: Message): Owned[] {
  return message.fields.flatMap((field) => {
    if (!field.inline) return [{ owner: message, field }];
    assert(field.message !== undefined, "Only messages are inlined");
    return fieldsOf(field.message);
  });
}

function scalarSchema(scalar: ScalarDefinition, version: OpenApiVersion): Schema {
  const description = scalarTexts[scalar];
  switch (scalar) {
    case "Time":
    case "MicroTime":
      return { description, type: "string", format: "date-time" };
    case "IntOrString":
      if (version === 2) return { description, type: "string", format: "int-or-string" };
      return { description, format: "int-or-string", oneOf: [{ type: "integer" }, { type: "string" }] };
    case "Quantity":
      if (version === 2) return { description, type: "string" };
      return { description, oneOf: [{ type: "string" }, { type: "number" }] };
    case "Duration":
      return { description, type: "string" };
    case "JSON":
      return { description };
    default:
      return { description, type: "object" };
  }
}

function messageSchema(context: SchemaContext, message: Message): Schema {
  const kinds = context.kindsOf(message);
  const schema: Schema = { description: messageText(message.name) };
  if (!isObject(message)) return schema;
  schema.type = "object";
  const required: string[] = [];
  const properties: Record<string, Schema> = {};
  if (message.typeMeta) {
    for (const name of ["apiVersion", "kind"]) {
      properties[name] = { description: fieldText(message.name, name), type: "string" };
    }
  }
  for (const { owner, field } of fieldsOf(message)) {
    properties[field.json] = fieldSchema(context, message, owner, field);
    if (field.required) required.push(field.json);
  }
  if (Object.keys(properties).length > 0) schema.properties = sorted(properties);
  if (required.length > 0) schema.required = required.sort();
  if (kinds.length > 0) schema["x-kubernetes-group-version-kind"] = kinds;
  if (message.structType === "atomic") schema["x-kubernetes-map-type"] = "atomic";
  return schema;
}

function sorted(properties: Record<string, Schema>): Record<string, Schema> {
  return Object.fromEntries(Object.entries(properties).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function fieldSchema(context: SchemaContext, parent: Message, owner: Message, field: Field): Schema {
  const { version } = context;
  const own = fieldText(parent.name, field.json) ?? fieldText(owner.name, field.json);
  const description = own ?? (field.message === undefined ? undefined : messageText(field.message.name));
  const one = valueSchema(context, parent, field);
  const schema = field.cardinality === "one" ? described(version, one) : collection(field, one);
  if (description !== undefined) schema.description = description;
  if (version === 3 && field.default !== undefined) schema.default = JSON.parse(field.default);
  if (field.listType !== undefined) schema["x-kubernetes-list-type"] = field.listType;
  if (field.listMapKeys.length > 0) schema["x-kubernetes-list-map-keys"] = field.listMapKeys;
  if (field.mapType === "atomic") schema["x-kubernetes-map-type"] = "atomic";
  if (field.patchStrategy.length > 0) schema["x-kubernetes-patch-strategy"] = field.patchStrategy.join(",");
  if (field.patchMergeKey !== undefined) schema["x-kubernetes-patch-merge-key"] = field.patchMergeKey;
  return schema;
}

function collection(field: Field, items: Schema): Schema {
  return field.cardinality === "list" ? { type: "array", items } : { type: "object", additionalProperties: items };
}

/** In version 3 nothing may stand beside a reference but in an allOf. */
function described(version: OpenApiVersion, schema: Schema): Schema {
  return version === 3 && schema.$ref !== undefined ? { allOf: [schema] } : schema;
}

function valueSchema(context: SchemaContext, parent: Message, field: Field): Schema {
  const { identity, version } = context;
  const scalar = scalarOf(field, parent);
  if (scalar !== undefined) return reference(version, scalarDefinitionName(identity, scalar));
  switch (field.type) {
    case "bool":
      return { type: "boolean" };
    case "bytes":
      return { type: "string", format: "byte" };
    case "int32":
    case "uint32":
      return { type: "integer", format: "int32" };
    case "int64":
    case "uint64":
      return { type: "integer", format: "int64" };
    case "float":
    case "double":
      return { type: "number", format: field.type };
    case "message":
      assert(field.message !== undefined, "Messages have a message");
      if (field.message.special === "List") return { type: "array", items: { type: "string" } };
      return messageReference(context, field.message);
    default:
      return { type: "string" };
  }
}

/** The definition a scalar field refers to; undefined for plain scalars and messages. */
function scalarOf(field: Field, parent: Message): ScalarDefinition | undefined {
  switch (field.type) {
    case "Time":
    case "MicroTime":
    case "Duration":
    case "Quantity":
    case "IntOrString":
      return field.type;
    case "raw":
      if (field.json === "fieldsV1") return "FieldsV1";
      return parent.name.startsWith("apiextensions/") && parent.shortName.startsWith("JSON") ? "JSON" : "RawExtension";
    default:
      return undefined;
  }
}

/** The messages every API refers to: answers of deletes and refusals, and the bodies of deletes. */
export const commonMessages = {
  deleteOptions: messageOf("meta/v1.DeleteOptions"),
  status: messageOf("meta/v1.Status"),
  watchEvent: messageOf("meta/v1.WatchEvent"),
  resourceList: messageOf("meta/v1.APIResourceList"),
  group: messageOf("meta/v1.APIGroup"),
  groupList: messageOf("meta/v1.APIGroupList"),
  versions: messageOf("meta/v1.APIVersions"),
} as const;
