// The schema of one version of a custom resource, compiled: what the request path asks of it.
import type { FieldError } from "../../api/fielderror.ts";
import { invalid } from "../../api/fielderror.ts";
import type { JSONSchemaProps } from "../../api/gen/apiextensions/v1.ts";
import { compareBytes } from "../../api/gotext.ts";
import type { Identity } from "../../api/identity.ts";
import type { ValueMap } from "../../api/value.ts";
import { pruneDefaults } from "./defaults.ts";
import { type Node, SchemaCompiler } from "./plan.ts";
import { jobs, TooManySteps, Walk } from "./walk.ts";

/** A compiled schema. Immutable; shared by all requests. */
export interface CompiledSchema {
  readonly root: Node;
  readonly identity: Identity;
  /** Unknown fields are dropped, which is so unless the definition says otherwise (`preserveUnknownFields`). */
  readonly prunes: boolean;
}

/** What became of an object on its way in. */
export interface Settled {
  /** Fields that were dropped because the schema does not know them: sorted, at most as many as an answer names. */
  readonly dropped: readonly string[];
  /** An embedded object that cannot be read as one: upstream answers 400 with `<field>: <text>`. */
  readonly misfit: FieldError | undefined;
}

/** What validation found. Upstream tells faults of the scale subresource's paths between the two. */
export interface Faulty {
  /** Of values. */
  readonly values: readonly FieldError[];
  /** Of embedded objects, sets and maps. */
  readonly shapes: readonly FieldError[];
}

/**
 * Compiles the schemas of a definition's versions, in their order; what they share is compiled once. `compiler`: one that
 * may have compiled some of them before, and compiles nothing after.
 */
export function compileSchemas(
  schemas: readonly JSONSchemaProps[],
  identity: Identity,
  prunes = true,
  compiler = new SchemaCompiler(),
): CompiledSchema[] {
  return schemas.map((schema) => {
    const root = compiler.compile(schema);
    pruneDefaults(root, identity);
    return { root, identity, prunes };
  });
}

/**
 * An object that a client sent, or that a patch or webhook made of one: unknown fields and misplaced nulls go, embedded
 * objects get their form, defaults are filled in. The object is changed. Its own metadata is not touched.
 */
export function settle(schema: CompiledSchema, object: ValueMap): Settled {
  const prune = schema.prunes ? jobs.prune : 0;
  return settled(run(schema, object, prune | jobs.coerce | jobs.default));
}

/** As settle(), of what was stored by some earlier schema: what does not fit any more is dropped. */
export function settleStored(schema: CompiledSchema, object: ValueMap): Settled {
  const prune = schema.prunes ? jobs.prune : 0;
  return settled(run(schema, object, prune | jobs.coerce | jobs.drop | jobs.default));
}

/** As settleStored(), of what a webhook converted: what it left out stays so. */
export function settleConverted(schema: CompiledSchema, object: ValueMap): Settled {
  const prune = schema.prunes ? jobs.prune : 0;
  return settled(run(schema, object, prune | jobs.coerce | jobs.drop));
}

/** The faults of a settled object. `old`: what it replaces, whose duplicates in sets and maps excuse those of it. */
export function validate(schema: CompiledSchema, object: ValueMap, old?: ValueMap): Faulty {
  return faultyOf(schema, run(schema, object, jobs.validate | jobs.shapes), old);
}

/** settle() and validate() in one walk, where nothing may change the object in between. */
export function settleAndValidate(schema: CompiledSchema, object: ValueMap, old?: ValueMap): Settled & Faulty {
  const prune = schema.prunes ? jobs.prune : 0;
  const walk = run(schema, object, prune | jobs.coerce | jobs.default | jobs.validate | jobs.shapes);
  return { ...settled(walk), ...faultyOf(schema, walk, old) };
}

interface Run {
  readonly walk: Walk;
  /** Cut short, since it cost too much. */
  readonly excess: FieldError | undefined;
}

function run(schema: CompiledSchema, object: ValueMap, todo: number): Run {
  const walk = new Walk(todo, schema.identity);
  try {
    walk.runRoot(object, schema.root);
    return { walk, excess: undefined };
  } catch (error) {
    if (!(error instanceof TooManySteps)) throw error;
    return { walk, excess: invalid("<nil>", "", "takes too many steps to be checked by its schema") };
  }
}

function settled({ walk, excess }: Run): Settled {
  return { dropped: walk.dropped.sort(compareBytes), misfit: excess ?? walk.misfit };
}

function faultyOf(schema: CompiledSchema, { walk, excess }: Run, old: ValueMap | undefined): Faulty {
  if (excess !== undefined) return { values: [...walk.faults.list, excess], shapes: [] };
  const excused = walk.lists.length > 0 && old !== undefined && hadDuplicates(schema, old);
  return { values: walk.faults.list, shapes: excused ? walk.embedded : [...walk.embedded, ...walk.lists] };
}

function hadDuplicates(schema: CompiledSchema, old: ValueMap): boolean {
  return run(schema, old, jobs.shapes).walk.lists.length > 0;
}
