// What a structural schema is: the types of all fields stand in the tree of properties and items, and what allOf, anyOf,
// oneOf and not say only narrows values that are declared in that tree. Paths and messages are upstream's, for the faults
// of a definition and for its condition NonStructuralSchema.
import { at, type FieldError, forbiddenField, invalid, required } from "../../api/fielderror.ts";
import type { JSONSchemaProps } from "../../api/gen/apiextensions/v1.ts";
import { compareBytes } from "../../api/gotext.ts";
import { limits } from "../../config/limits.ts";

type Schema = JSONSchemaProps;
/** Where a schema stands. */
type Level = "root" | "field" | "item";

/** What keeps a schema from being structural, sorted by text; `path` is that of the schema. */
export function structuralFaults(schema: Schema, path: string): FieldError[] {
  const out: FieldError[] = [];
  checkNode(out, path, schema, "root");
  checkComplete(out, path, schema, path, schema);
  return out.sort((a, b) => compareBytes(`${a.field}: ${a.text}`, `${b.field}: ${b.text}`));
}

function isFull(out: readonly FieldError[]): boolean {
  return out.length >= limits.fieldErrorsMax;
}

/** The rules of one schema, and of those it declares. */
function checkNode(out: FieldError[], path: string, schema: Schema, level: Level): void {
  if (isFull(out)) return;
  const { items, properties, additionalProperties } = schema;
  if (schema.type === "array" && items?.schema === undefined) out.push(required(`${path}.items`, "must be specified"));
  if (items?.schema !== undefined) checkNode(out, `${path}.items`, items.schema, "item");
  for (const [name, property] of properties ?? []) checkNode(out, at(`${path}.properties`, name), property, "field");
  if (additionalProperties !== undefined) {
    if (level === "root") out.push(forbiddenField(`${path}.additionalProperties`, "must not be used at the root"));
    const of = additionalProperties.schema;
    if (of !== undefined) checkNode(out, `${path}.additionalProperties`, of, "field");
  }
  checkMarks(out, path, schema);
  checkValues(out, path, schema, isEitherByAnyOf(schema), isEitherByAllOf(schema));
  checkType(out, path, schema, level);
  if (level === "root" || embeds(schema)) checkTypeMeta(out, path, schema);
  const metadata = properties?.get("metadata");
  if (metadata !== undefined) checkMetadata(out, at(`${path}.properties`, "metadata"), metadata, level, embeds(schema));
  if (embeds(schema) && !preserves(schema) && (properties?.size ?? 0) === 0) {
    const why =
      "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
    out.push(required(`${path}.properties`, why));
  }
}

function embeds(schema: Schema): boolean {
  return schema["x-kubernetes-embedded-resource"] === true;
}

function preserves(schema: Schema): boolean {
  return schema["x-kubernetes-preserve-unknown-fields"] === true;
}

function isEither(schema: Schema): boolean {
  return schema["x-kubernetes-int-or-string"] === true;
}

function checkMarks(out: FieldError[], path: string, schema: Schema): void {
  if (!isEither(schema)) return;
  const why = "must be false if x-kubernetes-int-or-string is true";
  if (preserves(schema)) out.push(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, true, why));
  if (embeds(schema)) out.push(invalid(`${path}.x-kubernetes-embedded-resource`, true, why));
}

function checkType(out: FieldError[], path: string, schema: Schema, level: Level): void {
  const { type = "" } = schema;
  if (embeds(schema) && type !== "object") {
    const why = "must be object if x-kubernetes-embedded-resource is true";
    out.push(type === "" ? required(`${path}.type`, why) : invalid(`${path}.type`, type, why));
  } else if (type === "" && !isEither(schema) && !preserves(schema)) {
    const where = { root: "at the root", item: "for specified array items", field: "for specified object fields" };
    out.push(required(`${path}.type`, `must not be empty ${where[level]}`));
  }
  if (embeds(schema) && schema.additionalProperties !== undefined) {
    const why = "must not be used if x-kubernetes-embedded-resource is set";
    out.push(forbiddenField(`${path}.additionalProperties`, why));
  }
  if (level === "root" && type !== "" && type !== "object") {
    out.push(invalid(`${path}.type`, type, "must be object at the root"));
  }
}

/** kind and apiVersion are texts, whatever a schema says of them. */
function checkTypeMeta(out: FieldError[], path: string, schema: Schema): void {
  for (const name of ["kind", "apiVersion"]) {
    const property = schema.properties?.get(name);
    if (property === undefined || property.type === "string") continue;
    out.push(invalid(`${at(`${path}.properties`, name)}.type`, property.type ?? "", "must be string"));
  }
}

/** A schema may narrow the names of the object, and nothing else of its metadata. */
function checkMetadata(out: FieldError[], path: string, metadata: Schema, level: Level, embedded: boolean): void {
  if ((level === "root" || embedded) && metadata.type !== "object") {
    out.push(invalid(`${path}.type`, metadata.type ?? "", "must be object"));
  }
  if (level !== "root") return;
  const names = [...(metadata.properties?.keys() ?? [])];
  const isNamesOnly = names.every((name) => name === "name" || name === "generateName");
  const more = Object.entries(metadata).some(([name, value]) => !ignoredOfMetadata.has(name) && isSaid(value));
  if (!more && isNamesOnly) return;
  const why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
  out.push(forbiddenField(path, why));
}

const ignoredOfMetadata: ReadonlySet<string> = new Set(["type", "properties", "default", "externalDocs", "example"]);

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== false && value !== "";
}

/** What narrows the values of a schema; `skipAnyOf`, `skipFirst`: the usual way to say "an integer or a text". */
function checkValues(out: FieldError[], path: string, schema: Schema, skipAnyOf: boolean, skipFirst: boolean): void {
  if (!skipAnyOf) eachPart(schema.anyOf, `${path}.anyOf`, (part, where) => checkNarrowing(out, where, part, false));
  eachPart(schema.allOf, `${path}.allOf`, (part, where, index) => {
    checkNarrowing(out, where, part, skipFirst && index === 0);
  });
  eachPart(schema.oneOf, `${path}.oneOf`, (part, where) => checkNarrowing(out, where, part, false));
  if (schema.not !== undefined) checkNarrowing(out, `${path}.not`, schema.not, false);
}

function eachPart(
  parts: readonly Schema[] | undefined,
  path: string,
  visit: (part: Schema, path: string, index: number) => void,
): void {
  for (const [index, part] of (parts ?? []).entries()) visit(part, at(path, index), index);
}

/** What stands in allOf, anyOf, oneOf and not declares nothing. */
function checkNarrowing(out: FieldError[], path: string, part: Schema, skipAnyOf: boolean): void {
  if (isFull(out)) return;
  checkValues(out, path, part, skipAnyOf, false);
  if (part.items?.schema !== undefined) checkNarrowing(out, `${path}.items`, part.items.schema, false);
  for (const [name, property] of part.properties ?? []) {
    checkNarrowing(out, at(`${path}.properties`, name), property, false);
  }
  for (const [name, said, instead] of declarations) {
    if (said(part)) out.push(forbiddenField(`${path}.${name}`, `must be ${instead} to be structural`));
  }
  if (part.properties?.has("metadata") === true) {
    out.push(forbiddenField(at(`${path}.properties`, "metadata"), "must not be specified in a nested context"));
  }
}

const isPresent = (value: unknown): boolean => value !== undefined && value !== "";

/** Keywords that declare something, and what they have to be where nothing is declared. */
const declarations: readonly (readonly [name: string, said: (part: Schema) => boolean, instead: string])[] = [
  ["type", (part) => isPresent(part.type), "empty"],
  ["additionalProperties", (part) => part.additionalProperties !== undefined, "undefined"],
  ["default", (part) => part.default !== undefined, "undefined"],
  ["title", (part) => isPresent(part.title), "empty"],
  ["description", (part) => isPresent(part.description), "empty"],
  ["nullable", (part) => part.nullable === true, "false"],
  ["x-kubernetes-preserve-unknown-fields", preserves, "false"],
  ["x-kubernetes-embedded-resource", embeds, "false"],
  ["x-kubernetes-int-or-string", isEither, "false"],
  ["x-kubernetes-list-map-keys", (part) => (part["x-kubernetes-list-map-keys"]?.length ?? 0) > 0, "empty"],
  ["x-kubernetes-list-type", (part) => part["x-kubernetes-list-type"] !== undefined, "undefined"],
  ["x-kubernetes-map-type", (part) => part["x-kubernetes-map-type"] !== undefined, "undefined"],
  ["x-kubernetes-validations", (part) => (part["x-kubernetes-validations"]?.length ?? 0) > 0, "empty"],
];

function isEitherByAnyOf({ anyOf }: Schema): boolean {
  return (
    anyOf !== undefined && anyOf.length === 2 && isTypeAlone(anyOf[0], "integer") && isTypeAlone(anyOf[1], "string")
  );
}

function isEitherByAllOf({ allOf }: Schema): boolean {
  const [first] = allOf ?? [];
  return first !== undefined && isEitherByAnyOf(first);
}

/** A schema that says a type and nothing else. */
function isTypeAlone(part: Schema | undefined, type: string): boolean {
  if (part?.type !== type) return false;
  return Object.entries(part).every(([name, value]) => name === "type" || !isSaid(value));
}

/** Each field that is narrowed has to be declared; `outside` is what declares, `part` what narrows. */
function checkComplete(out: FieldError[], path: string, part: Schema, outsidePath: string, outside: Schema): void {
  if (isFull(out)) return;
  const check = (narrow: Schema, where: string): void => checkFields(out, where, narrow, outsidePath, outside);
  if (part.not !== undefined) check(part.not, `${path}.not`);
  for (const name of ["allOf", "anyOf", "oneOf"] as const) eachPart(part[name], `${path}.${name}`, check);
}

function checkFields(out: FieldError[], path: string, part: Schema, outsidePath: string, outside: Schema): void {
  checkComplete(out, path, part, outsidePath, outside);
  const below = (where: string, narrow: Schema, found: Schema | undefined, foundPath: string): void => {
    if (found === undefined) out.push(required(foundPath, `because it is defined in ${where}`));
    else checkFields(out, where, narrow, foundPath, found);
  };
  const items = part.items?.schema;
  if (items !== undefined) below(`${path}.items`, items, outside.items?.schema, `${outsidePath}.items`);
  for (const [name, property] of part.properties ?? []) {
    const where = at(`${path}.properties`, name);
    below(where, property, outside.properties?.get(name), at(`${outsidePath}.properties`, name));
  }
}
