// Defaults in schemas: a definition is refused unless they fit what they stand in, and those of older definitions are
// pruned before they are used.
import { type FieldError, forbiddenField, invalid } from "../../api/fielderror.ts";
import type { JSONSchemaProps } from "../../api/gen/apiextensions/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { Value } from "../../api/value.ts";
import { limits } from "../../config/limits.ts";
import { coerceEmbedded, metaFields, validateEmbedded } from "./metadata.ts";
import { type Node, SchemaCompiler } from "./plan.ts";
import { copyValue, shown } from "./texts.ts";
import { jobs, TooManySteps, Walk } from "./walk.ts";

/** Drops from the defaults of a compiled schema what the schema does not know. */
export function pruneDefaults(root: Node, identity: Identity): void {
  const seen = new Set<Node>();
  const rest: Node[] = [root];
  for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
    if (seen.has(node)) continue;
    seen.add(node);
    // Defaults are this compiler's own, and walked once.
    if (isContainer(node.default)) new Walk(jobs.prune | jobs.coerce | jobs.drop, identity).run(node.default, node);
    for (const below of node.properties?.values() ?? []) rest.push(below);
    if (node.items !== undefined) rest.push(node.items);
    if (typeof node.additional === "object") rest.push(node.additional);
  }
}

function isContainer(value: Value | undefined): value is Value {
  return value instanceof Map || Array.isArray(value);
}

/** Where a default stands. */
interface Context {
  readonly compiler: SchemaCompiler;
  readonly identity: Identity;
  readonly requirePruned: () => boolean;
  /** What the walks of all defaults may still cost. */
  readonly budget: { left: number };
  /** Within the metadata, apiVersion or kind of an object: the steps from it. */
  readonly inside: readonly (string | number)[] | undefined;
}

/**
 * The faults of a structural schema's defaults. `path` is that of the schema; with `requirePruned`, which is asked when
 * there are some, defaults may have no unknown fields.
 */
export function checkDefaults(
  schema: JSONSchemaProps,
  path: string,
  identity: Identity,
  requirePruned: () => boolean,
  compiler = new SchemaCompiler(),
): FieldError[] {
  if (!hasDefaults(schema)) return [];
  const out: FieldError[] = [];
  const context = {
    compiler,
    identity,
    requirePruned,
    budget: { left: limits.schemaDefaultStepsMax },
    inside: undefined,
  };
  visit(out, schema, path, context, true);
  return out;
}

/** Whether a structural schema has a default with fields it does not know. */
export function hasUnknownInDefaults(schema: JSONSchemaProps, identity: Identity): boolean {
  if (!hasDefaults(schema)) return false;
  const faults = (isStrict: boolean): number => checkDefaults(schema, "", identity, () => isStrict).length;
  return faults(true) > faults(false);
}

/** Whether some schema within one has a default. */
export function hasDefaults(schema: JSONSchemaProps): boolean {
  if (schema.default !== undefined) return true;
  if (schema.items?.schema !== undefined && hasDefaults(schema.items.schema)) return true;
  const of = schema.additionalProperties?.schema;
  if (of !== undefined && hasDefaults(of)) return true;
  for (const property of schema.properties?.values() ?? []) if (hasDefaults(property)) return true;
  return false;
}

function visit(out: FieldError[], schema: JSONSchemaProps, path: string, context: Context, isRoot: boolean): void {
  const embeds = isRoot || schema["x-kubernetes-embedded-resource"] === true;
  const inside = embeds ? undefined : context.inside;
  if (schema.default !== undefined) {
    const where = `${path}.default`;
    const node = context.compiler.compile(schema);
    // null is no default.
    if (node.default !== undefined && inside === undefined) checkDefault(out, node, node.default, where, context);
    if (node.default !== undefined && inside !== undefined)
      checkWithin(out, node, node.default, where, context, inside);
  }
  const below = (step: string | number, of = inside): Context => ({
    ...context,
    inside: of === undefined ? undefined : [...of, step],
  });
  if (schema.items?.schema !== undefined) visit(out, schema.items.schema, `${path}.items`, below(0), false);
  for (const [name, property] of schema.properties ?? []) {
    const enters = embeds && metaFields.has(name);
    const next = below(name, enters ? [] : inside);
    visit(out, property, `${path}.properties[${name}]`, next, false);
  }
}

/** A default is what any value in its place has to be. */
function checkDefault(out: FieldError[], node: Node, value: Value, path: string, context: Context): void {
  const { identity } = context;
  const { budget } = context;
  const prunes = new Walk(jobs.prune, identity, path, budget);
  const forms = new Walk(jobs.coerce, identity, path, budget);
  const shapes = new Walk(jobs.shapes, identity, path, budget);
  const values = new Walk(jobs.validate, identity, path, budget);
  attempt(out, path, () => {
    prunes.run(
      copyValue(value, () => prunes.spend(1)),
      node,
    );
    if (prunes.droppedCount > 0 && context.requirePruned()) {
      out.push(invalid(path, shown(value), "must not have unknown fields"));
    }
    const given = copyValue(value, () => forms.spend(1));
    forms.run(given, node);
    if (forms.misfit !== undefined) out.push(forms.misfit);
    else {
      shapes.run(given, node);
      if (shapes.embedded.length === 0) values.run(given, node);
      for (const error of [...shapes.embedded, ...values.faults.list]) out.push(error);
    }
  });
}

/** A default in metadata has to make sound metadata. */
function checkWithin(
  out: FieldError[],
  node: Node,
  value: Value,
  path: string,
  context: Context,
  steps: NonNullable<Context["inside"]>,
): void {
  const walk = new Walk(jobs.validate, context.identity, path, context.budget);
  attempt(out, path, () => {
    for (const error of faultsWithin(walk, node, value, path, context, steps)) out.push(error);
  });
}

function faultsWithin(
  walk: Walk,
  node: Node,
  value: Value,
  path: string,
  context: Context,
  steps: readonly (string | number)[],
): readonly FieldError[] {
  const copied = (): Value => copyValue(value, () => walk.spend(1));
  const object = surrounding(copied(), steps);
  const nameOf = (name: string): string => name;
  const misfit = coerceEmbedded(object, false, nameOf);
  const faults = misfit === undefined ? validateEmbedded(object, context.identity, nameOf) : [misfit];
  if (faults.length > 0) {
    const texts = [...new Set(faults.map(({ field, text }) => `${field}: ${text}`))];
    const list = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
    return [invalid(path, shown(value), `must result in valid metadata: ${list}`)];
  }
  walk.run(copied(), node);
  return walk.faults.list;
}

/** An object that has nothing but a value in its place, and what every object has. */
function surrounding(value: Value, steps: readonly (string | number)[]): Map<string, Value> {
  let object = value;
  for (const step of steps.toReversed()) object = typeof step === "number" ? [object] : new Map([[step, object]]);
  const root = object instanceof Map ? object : new Map<string, Value>();
  if (!root.has("kind")) root.set("kind", "Validation");
  if (!root.has("apiVersion")) root.set("apiVersion", "validation/v1");
  return root;
}

function attempt(out: FieldError[], path: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof TooManySteps)) throw error;
    out.push(forbiddenField(path, "takes too many steps to be checked by its schema"));
  }
}
