// Schemas of custom resources: what a schema may say at all, that it is structural, and that its defaults fit it.
import { at, forbiddenField, invalid, notSupported, required } from "../../../api/fielderror.ts";
import type { JSONSchemaProps } from "../../../api/gen/apiextensions/v1.ts";
import type { Identity } from "../../../api/identity.ts";
import { checkDefaults } from "../../custom/defaults.ts";
import { metaFields } from "../../custom/metadata.ts";
import type { SchemaCompiler } from "../../custom/plan.ts";
import { checkRuleTexts } from "../../custom/rules/check.ts";
import { structuralFaults } from "../../custom/structural.ts";
import { addAll, type Errors, empty, isFull } from "../../validation/check.ts";
import type { Patterns } from "../../validation/pattern.ts";

type Schema = JSONSchemaProps;

/** What of older definitions is not asked of newer ones, and what they are checked with. */
export interface SchemaRules {
  readonly patterns: Patterns;
  readonly identity: Identity;
  /** Whether defaults may not have unknown fields; asked when there are some. */
  readonly requirePruned: () => boolean;
  readonly compiler: SchemaCompiler;
}

/** What holds where a schema stands. */
interface Context extends SchemaRules {
  /** Why there may be no defaults; undefined: there may be. */
  readonly noDefaults: string | undefined;
  /** Within the metadata of an object. */
  readonly inMeta: boolean;
}

const types = ["array", "boolean", "integer", "number", "object", "string"];
const listTypes = ["atomic", "set", "map"];
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
  rules: SchemaRules,
): void {
  if (hasStatus) checkRootOfStatus(out, path, schema);
  if (schema.nullable === true) out.push(forbiddenField(`${path}.nullable`, "nullable cannot be true at the root"));
  checkSchema(out, path, schema, { ...rules, noDefaults: undefined, inMeta: false }, true);
  // Of what is not supported there is no structure to speak of.
  if (!isConvertible(schema)) return;
  const faults = structuralFaults(schema, path);
  addAll(
    out,
    faults.length > 0 ? faults : checkDefaults(schema, path, rules.identity, rules.requirePruned, rules.compiler),
  );
}

/** Where status is written on its own, its rules have to stand in its own schema. */
function checkRootOfStatus(out: Errors, path: string, schema: Schema): void {
  const { type } = schema;
  if (!empty(type) && type !== "object") {
    const why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    out.push(invalid(`${path}.type`, type, why));
    return;
  }
  const extra = Object.entries(schema).filter(([name, value]) => value !== undefined && !rootFields.has(name));
  if (extra.length === 0) return;
  const names = extra.map(([name]) => name).join(", ");
  const why = "only some fields are allowed at the root of the schema if the status subresource is enabled";
  out.push(invalid(path, names, why));
}

/** Whether a schema says only what structural schemas have words for. */
function isConvertible(schema: Schema): boolean {
  if (unsupported.some((name) => isSaid(schema[name]))) return false;
  if (schema["x-kubernetes-preserve-unknown-fields"] === false) return false;
  if ((schema.items?.jSONSchemas?.length ?? 0) > 0) return false;
  let convertible = true;
  eachWithin("", schema, (inner) => {
    convertible &&= isConvertible(inner);
  });
  return convertible;
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== "" && !(value instanceof Map && value.size === 0);
}

/** Calls `visit` with each schema within a schema; `name`: of a property. */
function eachWithin(path: string, schema: Schema, visit: (schema: Schema, path: string, name?: string) => void): void {
  for (const [name, property] of schema.properties ?? []) visit(property, at(`${path}.properties`, name), name);
  const { items, additionalProperties } = schema;
  if (items?.schema !== undefined) visit(items.schema, `${path}.items`);
  if (additionalProperties?.schema !== undefined) visit(additionalProperties.schema, `${path}.additionalProperties`);
  for (const name of ["allOf", "oneOf", "anyOf"] as const) {
    for (const [index, part] of (schema[name] ?? []).entries()) visit(part, at(`${path}.${name}`, index));
  }
  if (schema.not !== undefined) visit(schema.not, `${path}.not`);
}

/** What any schema may say. */
function checkSchema(out: Errors, path: string, schema: Schema, context: Context, isRoot = false): void {
  if (isFull(out)) return;
  checkDefault(out, path, schema, context);
  checkKeywords(out, path, schema, context.patterns);
  checkMarks(out, path, schema, context);
  checkListType(out, path, schema);
  checkRuleTexts(out, path, schema["x-kubernetes-validations"]);
  const isObject = isRoot || schema["x-kubernetes-embedded-resource"] === true;
  eachWithin(path, schema, (inner, where, name) => {
    checkSchema(
      out,
      where,
      inner,
      contextOf(context, schema, inner, isRoot, isObject && name !== undefined ? name : ""),
    );
  });
}

function contextOf(context: Context, schema: Schema, inner: Schema, isRoot: boolean, name: string): Context {
  if (metaFields.has(name)) {
    return { ...context, inMeta: true, noDefaults: isRoot ? `in top-level ${name}` : context.noDefaults };
  }
  if (!context.inMeta || schema.additionalProperties?.schema !== inner) return context;
  return { ...context, noDefaults: "inside additionalProperties applying to object metadata" };
}

function checkDefault(out: Errors, path: string, schema: Schema, { noDefaults }: Context): void {
  if (schema.default === undefined || noDefaults === undefined) return;
  out.push(forbiddenField(`${path}.default`, `must not be set ${noDefaults}`));
}

function checkKeywords(out: Errors, path: string, schema: Schema, patterns: Patterns): void {
  const { type, additionalProperties, properties, items, pattern } = schema;
  if (schema.uniqueItems === true) {
    const why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
    out.push(forbiddenField(`${path}.uniqueItems`, why));
  }
  if (additionalProperties !== undefined) {
    const narrows = additionalProperties.schema !== undefined || !additionalProperties.allows;
    if ((properties?.size ?? 0) > 0 && narrows) {
      const why = "additionalProperties and properties are mutual exclusive";
      out.push(forbiddenField(`${path}.additionalProperties`, why));
    }
  }
  for (const name of unsupported) {
    if (isSaid(schema[name])) out.push(forbiddenField(`${path}.${name}`, `${name} is not supported`));
  }
  if (!empty(type) && !types.includes(type)) out.push(notSupported(`${path}.type`, type, types));
  if (type === "null") {
    out.push(forbiddenField(`${path}.type`, "type cannot be set to null, use nullable as an alternative"));
  }
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
function checkMarks(out: Errors, path: string, schema: Schema, { inMeta }: Context): void {
  const { type } = schema;
  if (schema["x-kubernetes-preserve-unknown-fields"] === false) {
    out.push(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, "must be true or undefined"));
  }
  const needs = (mark: string, wanted: string): void => {
    const why = `must be ${wanted} if ${mark}`;
    if (empty(type)) out.push(required(`${path}.type`, why));
    else if (type !== wanted) out.push(invalid(`${path}.type`, type, why));
  };
  if (inMeta && schema["x-kubernetes-embedded-resource"] === true) {
    out.push(forbiddenField(`${path}.x-kubernetes-embedded-resource`, "must not be used inside of resource meta"));
  }
  const [mapType, listType] = [schema["x-kubernetes-map-type"], schema["x-kubernetes-list-type"]];
  if (mapType !== undefined) {
    needs("x-kubernetes-map-type is specified", "object");
    if (!mapTypes.includes(mapType)) out.push(notSupported(`${path}.x-kubernetes-map-type`, mapType, mapTypes));
  }
  if (listType !== undefined) {
    needs("x-kubernetes-list-type is specified", "array");
    if (type === "array" && listType === "set" && schema.items?.schema !== undefined) {
      checkSetItems(out, `${path}.items`, schema.items.schema);
    }
    if (!listTypes.includes(listType)) out.push(notSupported(`${path}.x-kubernetes-list-type`, listType, listTypes));
  }
}

/** Items of a set are compared as a whole. */
function checkSetItems(out: Errors, path: string, items: Schema): void {
  const why = "must be atomic as item of a list with x-kubernetes-list-type=set";
  const [listType, mapType] = [items["x-kubernetes-list-type"], items["x-kubernetes-map-type"]];
  if (items.type === "array" && listType !== undefined && listType !== "atomic") {
    out.push(invalid(`${path}.x-kubernetes-list-type`, listType, why));
  }
  if (items.type === "object" && mapType !== "atomic") {
    // Upstream shows the list type here.
    out.push(invalid(`${path}.x-kubernetes-map-type`, listType ?? null, why));
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
  for (const key of keys) {
    if (isFull(out)) return;
    if (seen.has(key)) out.push(invalid(keysPath, keys, "must not contain duplicate entries"));
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
    out.push(invalid(`${where}.type`, items.type ?? "", why));
  }
  const is = "this property is in x-kubernetes-list-map-keys, so it";
  if (property.default === undefined && items.required?.includes(key) !== true) {
    out.push(required(`${where}.default`, `${is} must have a default or be a required property`));
  }
  if (property.nullable === true) out.push(forbiddenField(`${where}.nullable`, `${is} cannot be nullable`));
}
