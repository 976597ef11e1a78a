// What the rules of a definition need of its schemas and what takes long: their patterns, and the nodes of those with a
// default or of all where there are expressions, compiled. It is made ahead of the rules, piece by piece, so that others
// get their turn in between; what was not is made by the rules.
import type { CustomResourceDefinitionSpec, JSONSchemaProps } from "../../api/gen/apiextensions/v1.ts";
import { limits } from "../../config/limits.ts";
import { Patterns } from "../validation/pattern.ts";
import { SchemaCompiler } from "./plan.ts";

/** What was compiled of the schemas of one definition. */
export class SchemaWork {
  readonly patterns = new Patterns();
  readonly compiler = new SchemaCompiler();
}

const made = new WeakMap<CustomResourceDefinitionSpec, SchemaWork>();

/** What was made of a definition ahead, or nothing yet; what is in it fits as long as nothing changes the schemas. */
export function schemaWorkOf(spec: CustomResourceDefinitionSpec): SchemaWork {
  return made.get(spec) ?? new SchemaWork();
}

/** Makes ahead what the rules of a definition need; between two steps the thread may do something else. */
export function* workAhead(spec: CustomResourceDefinitionSpec): Generator<undefined> {
  if (schemaCount(spec) > limits.definitionSchemasMax) return;
  const work = new SchemaWork();
  made.set(spec, work);
  const isWhole = hasExpressions(spec);
  for (const [schema, isDefaulted] of innermostFirst(spec)) {
    if (schema.pattern !== undefined && schema.pattern !== "") work.patterns.fault(schema.pattern);
    if (isWhole || isDefaulted) work.compiler.compile(schema);
    yield;
  }
}

/** Whether some schema has `x-kubernetes-validations`, for which all of it is compiled. */
export function hasExpressions(spec: CustomResourceDefinitionSpec): boolean {
  const rest = rootsOf(spec);
  for (let schema = rest.pop(); schema !== undefined; schema = rest.pop()) {
    if ((schema["x-kubernetes-validations"]?.length ?? 0) > 0) return true;
    pushWithin(rest, schema);
  }
  return false;
}

/** Compiles the schemas of a definition that was accepted, step by step; `compiler` has what is done so far. */
export function workOn(spec: CustomResourceDefinitionSpec): {
  readonly compiler: SchemaCompiler;
  readonly steps: Iterable<undefined>;
} {
  const compiler = new SchemaCompiler();
  return { compiler, steps: compiling(spec, compiler) };
}

function* compiling(spec: CustomResourceDefinitionSpec, compiler: SchemaCompiler): Generator<undefined> {
  for (const [schema] of innermostFirst(spec)) {
    compiler.compile(schema);
    yield;
  }
}

/**
 * The schemas of a definition, each after those within it: it is compiled of theirs. With each, whether it has a default or
 * stands in one that has.
 */
function* innermostFirst(
  spec: CustomResourceDefinitionSpec,
): Generator<readonly [schema: JSONSchemaProps, isDefaulted: boolean]> {
  const rest = rootsOf(spec);
  // Beside `rest`, of each whether it stands in one that has a default.
  const within: boolean[] = rest.map(() => false);
  const found: JSONSchemaProps[] = [];
  const defaulted: boolean[] = [];
  for (let schema = rest.pop(); schema !== undefined; schema = rest.pop()) {
    const isDefaulted = within.pop() === true || schema.default !== undefined;
    found.push(schema);
    defaulted.push(isDefaulted);
    pushWithin(rest, schema);
    while (within.length < rest.length) within.push(isDefaulted);
  }
  while (found.length > 0) yield [found.pop() as JSONSchemaProps, defaulted.pop() as boolean];
}

/** Schemas of all versions, those within them included, and the items of their lists, which cost as much. */
export function schemaCount(spec: CustomResourceDefinitionSpec): number {
  let count = 0;
  const rest = rootsOf(spec);
  for (let schema = rest.pop(); schema !== undefined; schema = rest.pop()) {
    count += 1 + (schema.enum?.length ?? 0) + (schema.required?.length ?? 0);
    count += (schema["x-kubernetes-list-map-keys"]?.length ?? 0) + (schema["x-kubernetes-validations"]?.length ?? 0);
    pushWithin(rest, schema);
  }
  return count;
}

function rootsOf({ versions = [] }: CustomResourceDefinitionSpec): JSONSchemaProps[] {
  return versions.flatMap(({ schema }) => schema?.openAPIV3Schema ?? []);
}

function pushWithin(rest: JSONSchemaProps[], schema: JSONSchemaProps): void {
  const { properties, items, additionalProperties, allOf, anyOf, oneOf, not } = schema;
  for (const property of properties?.values() ?? []) rest.push(property);
  for (const parts of [allOf, anyOf, oneOf, items?.jSONSchemas]) for (const part of parts ?? []) rest.push(part);
  for (const one of [items?.schema, additionalProperties?.schema, not]) if (one !== undefined) rest.push(one);
}
