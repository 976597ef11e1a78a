// What the rules of a definition need of its schemas and what takes long: their patterns, and the nodes of those with a
// default or of all where there are expressions, compiled. It is made ahead of the rules, piece by piece, so that others
// get their turn in between; what was not is made by the rules.
import type { CustomResourceDefinitionSpec, JSONSchemaProps } from "../../api/gen/apiextensions/v1.ts";
import { limits } from "../../config/limits.ts";
import { Patterns } from "../validation/pattern.ts";
import { SchemaCompiler } from "./plan.ts";
import { eachSchema, pushParts, rootsOf } from "./schemas.ts";

/** How many schemas a definition has, and what was compiled of them. */
export class SchemaWork {
  readonly patterns = new Patterns();
  readonly compiler = new SchemaCompiler();
  /** Schemas of all versions, those within them included, and the items of their lists, which cost as much. */
  readonly count: number;
  /** Whether some schema has rules (`x-kubernetes-validations`), for which all of it is compiled. */
  readonly hasRules: boolean;

  constructor(spec: CustomResourceDefinitionSpec) {
    let count = 0;
    let rulesCount = 0;
    eachSchema(spec, (schema) => {
      const keys = schema["x-kubernetes-list-map-keys"];
      count += 1 + (schema.enum?.length ?? 0) + (schema.required?.length ?? 0) + (keys?.length ?? 0);
      rulesCount += schema["x-kubernetes-validations"]?.length ?? 0;
    });
    this.count = count + rulesCount;
    this.hasRules = rulesCount > 0;
  }
}

const made = new WeakMap<CustomResourceDefinitionSpec, SchemaWork>();

/** What was made of a definition ahead, or nothing yet; it fits as long as nothing changes the schemas. */
export function schemaWorkOf(spec: CustomResourceDefinitionSpec): SchemaWork {
  return made.get(spec) ?? new SchemaWork(spec);
}

/** Makes ahead what the rules of a definition need; between two steps the thread may do something else. */
export function* workAhead(spec: CustomResourceDefinitionSpec): Generator<undefined> {
  const work = new SchemaWork(spec);
  made.set(spec, work);
  if (work.count > limits.definitionSchemasMax) return;
  for (const [schema, isDefaulted] of innermostFirst(spec)) {
    if (schema.pattern !== undefined && schema.pattern !== "") work.patterns.fault(schema.pattern);
    if (work.hasRules || isDefaulted) work.compiler.compile(schema);
    yield;
  }
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
    pushParts(rest, schema);
    while (within.length < rest.length) within.push(isDefaulted);
  }
  while (found.length > 0) yield [found.pop() as JSONSchemaProps, defaulted.pop() as boolean];
}
