// Schemas of custom resources: what a schema may say at all, and that it is structural, which is to say that the types of
// all fields stand in the tree of properties and items, and nested value rules only narrow what stands there.
// Defaults are not checked against their schema here: that takes the validator of custom resources.
import { at, type FieldError, forbiddenField, invalid, notSupported, required } from "../../../api/fielderror.ts";
import type { JSONSchemaProps } from "../../../api/gen/apiextensions/v1.ts";
import { type Errors, empty, isFull } from "../../validation/check.ts";
import type { Patterns } from "../../validation/pattern.ts";

type Schema = JSONSchemaProps;
/** Where a schema stands. */
type Level = "root" | "field" | "item";

const types = ["array", "boolean", "integer", "number", "object", "string"];
const listTypes = ["atomic", "map", "set"];
const mapTypes = ["atomic", "granular"];

/** What the root may say beside its properties when status is written on its own. */
const rootFields: ReadonlySet<string> = new Set([
  ...["description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"],
  ...["maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "required", "items"],
  ...["properties", "externalDocs", "example", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations"],
]);

/** What is not supported anywhere. */
const unsupported = ["$ref", "id", "additionalItems", "patternProperties", "definitions", "dependencies"] as const;

/** Rules of the schema of a version. */
export function checkRootSchema(
  out: Errors,
  path: string,
  schema: Schema,
  hasStatus: boolean,
  patterns: Patterns,
): void {
  if (hasStatus) {
    const extra = Object.entries(schema).filter(([name, value]) => value !== undefined && !rootFields.has(name));
    if (extra.length > 0) {
      const names = extra.map(([name]) => name).join(", ");
      const why = "only some fields are allowed at the root of the schema if the status subresource is enabled";
      out.push(invalid(path, names, why));
    }
  }
  if (schema.nullable === true) out.push(forbiddenField(`${path}.nullable`, "nullable cannot be true at the root"));
  const before = out.length;
  checkSchema(out, path, schema, patterns);
  // The rest would speak of what is not understood.
  if (out.length === before) checkStructure(out, path, schema, "root");
}

/** Calls `visit` with each schema within a schema, and whether it only narrows values. */
function eachWithin(
  path: string,
  schema: Schema,
  visit: (schema: Schema, path: string, narrows: boolean) => void,
): void {
  for (const [name, property] of schema.properties ?? []) visit(property, at(`${path}.properties`, name), false);
  const { items, additionalProperties } = schema;
  if (items?.schema !== undefined) visit(items.schema, `${path}.items`, false);
  if (additionalProperties?.schema !== undefined) {
    visit(additionalProperties.schema, `${path}.additionalProperties`, false);
  }
  for (const name of ["allOf", "oneOf", "anyOf"] as const) {
    for (const [index, part] of (schema[name] ?? []).entries()) visit(part, at(`${path}.${name}`, index), true);
  }
  if (schema.not !== undefined) visit(schema.not, `${path}.not`, true);
}

/** What any schema may say. */
function checkSchema(out: Errors, path: string, schema: Schema, patterns: Patterns): void {
  if (isFull(out)) return;
  checkKeywords(out, path, schema, patterns);
  checkMarks(out, path, schema);
  checkListType(out, path, schema);
  eachWithin(path, schema, (inner, where) => checkSchema(out, where, inner, patterns));
}

function checkKeywords(out: Errors, path: string, schema: Schema, patterns: Patterns): void {
  const { type, additionalProperties, properties, items, pattern } = schema;
  if (schema.uniqueItems === true) {
    const why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
    out.push(forbiddenField(`${path}.uniqueItems`, why));
  }
  if (additionalProperties !== undefined) {
    const refuse = (why: string): void => void out.push(forbiddenField(`${path}.additionalProperties`, why));
    if (additionalProperties.schema === undefined && !additionalProperties.allows) {
      refuse("additionalProperties cannot be set to false");
    } else if ((properties?.size ?? 0) > 0 && additionalProperties.schema !== undefined) {
      refuse("additionalProperties and properties are mutual exclusive");
    }
  }
  for (const name of unsupported) {
    const value = schema[name];
    const absent = value === undefined || value === "" || (value instanceof Map && value.size === 0);
    if (!absent) out.push(forbiddenField(`${path}.${name}`, `${name} is not supported`));
  }
  if (type === "null") {
    out.push(forbiddenField(`${path}.type`, "type cannot be set to null, use nullable as an alternative"));
  } else if (!empty(type) && !types.includes(type)) out.push(notSupported(`${path}.type`, type, types));
  if (items?.jSONSchemas !== undefined && items.jSONSchemas.length > 0) {
    out.push(forbiddenField(`${path}.items`, "items must be a schema object and not an array"));
  }
  const fault = empty(pattern) ? undefined : patterns.fault(pattern);
  if (fault !== undefined) {
    const why = `must be a valid regular expression, but isn't: ${fault}`;
    out.push(invalid(`${path}.pattern`, pattern, why));
  }
}

/** The marks that make more of a field than its type. */
function checkMarks(out: Errors, path: string, schema: Schema): void {
  const { type } = schema;
  if (schema["x-kubernetes-preserve-unknown-fields"] === false) {
    out.push(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, "must be true or undefined"));
  }
  const needs = (mark: string, wanted: string): void => {
    const why = `must be ${wanted} if ${mark}`;
    if (empty(type)) out.push(required(`${path}.type`, why));
    else if (type !== wanted) out.push(invalid(`${path}.type`, type, why));
  };
  if (schema["x-kubernetes-embedded-resource"] === true) needs("x-kubernetes-embedded-resource is true", "object");
  const [mapType, listType] = [schema["x-kubernetes-map-type"], schema["x-kubernetes-list-type"]];
  if (mapType !== undefined) {
    needs("x-kubernetes-map-type is specified", "object");
    if (!mapTypes.includes(mapType)) out.push(notSupported(`${path}.x-kubernetes-map-type`, mapType, mapTypes));
  }
  if (listType !== undefined) {
    needs("x-kubernetes-list-type is specified", "array");
    if (!listTypes.includes(listType)) out.push(notSupported(`${path}.x-kubernetes-list-type`, listType, listTypes));
  }
}

function checkListType(out: Errors, path: string, schema: Schema): void {
  const listType = schema["x-kubernetes-list-type"];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const items = schema.items?.schema;
  const keysPath = `${path}.x-kubernetes-list-map-keys`;
  if (keys.length > 0 && listType !== "map") {
    const why = "must be map if x-kubernetes-list-map-keys is non-empty";
    const where = `${path}.x-kubernetes-list-type`;
    out.push(listType === undefined ? required(where, why) : invalid(where, listType, why));
  }
  if ((listType === "set" || listType === "map") && items?.nullable === true) {
    out.push(forbiddenField(`${path}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${listType}`));
  }
  if (listType !== "map") return;
  if (keys.length === 0) out.push(required(keysPath, "must not be empty if x-kubernetes-list-type is map"));
  if (items === undefined) {
    out.push(required(`${path}.items`, "must have a schema if x-kubernetes-list-type is map"));
    return;
  }
  if (items.type !== "object") {
    const why = "must be object if parent array's x-kubernetes-list-type is map";
    out.push(invalid(`${path}.items.type`, items.type ?? "", why));
  }
  const seen = new Set<string>();
  for (const [index, key] of keys.entries()) {
    if (isFull(out)) return;
    if (seen.has(key)) out.push(invalid(at(keysPath, index), key, "must not contain duplicate entries"));
    seen.add(key);
    checkKey(out, path, items, key, keys);
  }
}

/** A key that tells items of a list apart. */
function checkKey(out: Errors, path: string, items: Schema, key: string, keys: readonly string[]): void {
  const property = items.properties?.get(key);
  if (property === undefined) {
    const why = "entries must all be names of item properties";
    out.push(invalid(`${path}.x-kubernetes-list-map-keys`, keys, why));
    return;
  }
  const where = at(`${path}.items.properties`, key);
  if (property.type === "array" || property.type === "object") {
    const why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
    out.push(invalid(`${where}.type`, property.type, why));
  }
  const is = "this property is in x-kubernetes-list-map-keys, so it";
  if (property.default === undefined && items.required?.includes(key) !== true) {
    out.push(required(`${where}.default`, `${is} must have a default or be a required property`));
  }
  if (property.nullable === true) out.push(forbiddenField(`${where}.nullable`, `${is} cannot be nullable`));
}

/** Every field has a type where it stands. */
function checkStructure(out: Errors, path: string, schema: Schema, level: Level): void {
  if (isFull(out)) return;
  const embeds = schema["x-kubernetes-embedded-resource"] === true;
  checkType(out, path, schema, level);
  if (schema.type === "array" && schema.items?.schema === undefined) {
    out.push(required(`${path}.items`, "must be specified"));
  }
  if (schema.additionalProperties?.schema !== undefined && (level === "root" || embeds)) {
    const why =
      level === "root" ? "must not be used at the root" : "must not be used if x-kubernetes-embedded-resource is set";
    out.push(forbiddenField(`${path}.additionalProperties`, why));
  }
  if (level === "root" || embeds) checkMetadata(out, path, schema);
  eachWithin(path, schema, (inner, where, narrows) => {
    if (!narrows) checkStructure(out, where, inner, where === `${path}.items` ? "item" : "field");
    else if (!isIntOrString(schema, inner)) checkNarrowing(out, where, inner, schema, path);
  });
}

function checkType(out: Errors, path: string, schema: Schema, level: Level): void {
  const { type } = schema;
  const anything = schema["x-kubernetes-preserve-unknown-fields"] === true;
  const either = schema["x-kubernetes-int-or-string"] === true;
  if (either && anything) {
    const why = "must be false if x-kubernetes-int-or-string is true";
    out.push(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, true, why));
  }
  if (either && !empty(type)) {
    out.push(invalid(`${path}.type`, type, "must be empty if x-kubernetes-int-or-string is true"));
  }
  if (level === "root") {
    if (empty(type)) out.push(required(`${path}.type`, "must not be empty at the root"));
    else if (type !== "object") out.push(invalid(`${path}.type`, type, "must be object at the root"));
  } else if (empty(type) && !either && !anything) {
    out.push(
      required(`${path}.type`, `must not be empty for specified ${level === "item" ? "array items" : "object fields"}`),
    );
  }
}

/** Metadata has its own rules; a schema may only narrow the name. */
function checkMetadata(out: Errors, path: string, schema: Schema): void {
  const metadata = schema.properties?.get("metadata");
  if (metadata === undefined) return;
  const known = new Set(["type", "properties", "description"]);
  const more = Object.entries(metadata).some(([name, value]) => value !== undefined && !known.has(name));
  const names = [...(metadata.properties?.keys() ?? [])];
  if (more || names.some((name) => name !== "name" && name !== "generateName")) {
    const why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
    out.push(forbiddenField(at(`${path}.properties`, "metadata"), why));
  }
}

/** The usual way to say "a number or a text": an anyOf of the two types. */
function isIntOrString(schema: Schema, part: Schema): boolean {
  if (schema["x-kubernetes-int-or-string"] !== true) return false;
  return (
    schema.anyOf?.includes(part) === true ||
    schema.allOf?.[0]?.anyOf?.includes(part) === true ||
    part.anyOf !== undefined
  );
}

/** What stands in allOf, anyOf, oneOf and not narrows values; it declares nothing. */
function checkNarrowing(out: Errors, path: string, part: Schema, outside: Schema, outsidePath: string): void {
  if (isFull(out)) return;
  const refuse = (field: string, why: string): FieldError =>
    forbiddenField(`${path}.${field}`, `must be ${why} to be structural`);
  if (!empty(part.type)) out.push(refuse("type", "empty"));
  if (!empty(part.description)) out.push(refuse("description", "empty"));
  if (!empty(part.title)) out.push(refuse("title", "empty"));
  if (part.default !== undefined) out.push(refuse("default", "undefined"));
  if (part.additionalProperties !== undefined) out.push(refuse("additionalProperties", "undefined"));
  if (part.nullable === true) out.push(refuse("nullable", "false"));
  const marks = ["preserve-unknown-fields", "embedded-resource", "int-or-string"] as const;
  for (const mark of marks) {
    if (part[`x-kubernetes-${mark}`] === true) out.push(refuse(`x-kubernetes-${mark}`, "false"));
  }
  for (const [name, property] of part.properties ?? []) {
    const found = outside.properties?.get(name) ?? outside.additionalProperties?.schema;
    narrowWithin(out, at(`${path}.properties`, name), property, found, at(`${outsidePath}.properties`, name));
  }
  if (part.items?.schema !== undefined) {
    narrowWithin(out, `${path}.items`, part.items.schema, outside.items?.schema, `${outsidePath}.items`);
  }
  for (const name of ["allOf", "oneOf", "anyOf"] as const) {
    for (const [index, inner] of (part[name] ?? []).entries()) {
      checkNarrowing(out, at(`${path}.${name}`, index), inner, outside, outsidePath);
    }
  }
  if (part.not !== undefined) checkNarrowing(out, `${path}.not`, part.not, outside, outsidePath);
}

function narrowWithin(out: Errors, path: string, part: Schema, outside: Schema | undefined, outsidePath: string): void {
  if (outside === undefined) out.push(required(outsidePath, `because it is defined in ${path}`));
  else checkNarrowing(out, path, part, outside, outsidePath);
}
