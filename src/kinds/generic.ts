// What most kinds have in common, so that a kind's own file says only what is special: status emptied on create and
// kept on update, the generation that counts changes of the spec, the status subresource that changes nothing else.
import type { FieldError } from "../api/fielderror.ts";
import type { ApiObject } from "../api/object.ts";
import type { Field } from "../api/schema.ts";
import type { Resource } from "../api/scheme.ts";
import { assert } from "../base/assert.ts";
import { zeroOf } from "../codec/engine/json.ts";
import type { ClusterFacts, NameFormat, Strategy, StrategyContext, Termination, UpdateStrategy } from "./strategy.ts";
import { equal } from "./validation/equal.ts";

/** What a kind says about itself; everything has the common answer when left out. */
export interface Rules<T extends ApiObject> {
  /** Default: dns1123-subdomain. */
  readonly nameFormat?: NameFormat;
  /** Default: no. */
  readonly allowCreateOnUpdate?: boolean;
  /** Default: yes. */
  readonly allowUnconditionalUpdate?: boolean;
  /** Default: no. */
  readonly returnsDeletedObject?: boolean;
  /**
   * Top-level fields a change of which adds one to metadata.generation, which a create sets to 1.
   * An empty list: 1 on create and never more. Left out: the server does not touch it.
   */
  readonly counts?: readonly string[];
  /** Status as it is on create: emptied unless said otherwise. */
  readonly keepsStatusOnCreate?: boolean;
  /** The status subresource leaves all metadata but managedFields alone. */
  readonly keepsMetaOnStatus?: boolean;
  canonicalize?(object: T): void;
  restore?(object: T, cluster: ClusterFacts): void;
  truncate?(object: T): void;
  prepareForCreate?(context: StrategyContext, object: T): void;
  /** Runs after status is restored and before the generation is counted. */
  prepareForUpdate?(context: StrategyContext, object: T, old: T): void;
  /** Runs after everything but metadata and status is restored. */
  prepareForStatus?(context: StrategyContext, object: T, old: T): void;
  ahead?(object: T): Iterator<undefined>;
  validate?(object: T, context: StrategyContext): FieldError[];
  validateUpdate?(object: T, old: T, context: StrategyContext): FieldError[];
  validateStatus?(object: T, old: T, context: StrategyContext): FieldError[];
  readonly subresources?: ReadonlyMap<string, UpdateStrategy<T>>;
  warnings?(context: StrategyContext, object: T, old: T | undefined): string[];
  selectableFields?(object: T): [field: string, value: string][];
  /** Labels a request may use beyond those of metadata; those that are stored under another name come as pairs. */
  readonly fieldLabels?: readonly (string | readonly [label: string, stored: string])[];
  gracePeriod?(object: T, requested: number | undefined): number | undefined;
  readonly defaultOrphan?: boolean;
  readonly unnamedPolicyWarning?: string;
  readonly termination?: Termination<T>;
  readonly boundsSize?: boolean;
  readonly holdsAddresses?: boolean;
  readonly removesToo?: string;
  readonly settlesLate?: boolean;
  readonly namesItself?: boolean;
  readonly carriers?: readonly string[];
}

type Struct = Record<string, unknown>;

/** The behaviour of `resource` after `rules`. */
export function strategyFor<T extends ApiObject>(resource: Resource, rules: Rules<T>): Strategy<T> {
  const status = resource.message.byJson.get("status");
  const counted = rules.counts?.map((name) => fieldOf(resource, name));
  const hasStatus = resource.subresources.some((subresource) => subresource.name === "status");
  return {
    nameFormat: rules.nameFormat ?? "dns1123-subdomain",
    allowCreateOnUpdate: rules.allowCreateOnUpdate ?? false,
    allowUnconditionalUpdate: rules.allowUnconditionalUpdate ?? true,
    returnsDeletedObject: rules.returnsDeletedObject ?? false,
    prepareForCreate(context, object) {
      if (status?.message && !rules.keepsStatusOnCreate) (object as Struct)["status"] = zeroOf(status.message);
      if (counted !== undefined) object.metadata.generation = 1;
      rules.prepareForCreate?.(context, object);
    },
    validate: (context, object) => rules.validate?.(object, context) ?? [],
    update: {
      prepare(context, object, old) {
        if (status !== undefined) (object as Struct)["status"] = (old as Struct)["status"];
        rules.prepareForUpdate?.(context, object, old);
        if (counted !== undefined) count(counted, object, old);
      },
      validate: (context, object, old) => rules.validateUpdate?.(object, old, context) ?? [],
    },
    ...(hasStatus ? { status: statusStrategy(resource, rules) } : {}),
    ...optional(rules),
  };
}

function statusStrategy<T extends ApiObject>(resource: Resource, rules: Rules<T>): UpdateStrategy<T> {
  const kept = resource.message.fields.map((field) => field.json).filter((f) => f !== "metadata" && f !== "status");
  return {
    prepare(context, object, old) {
      for (const name of kept) (object as Struct)[name] = (old as Struct)[name];
      if (rules.keepsMetaOnStatus) keepMeta(object, old);
      rules.prepareForStatus?.(context, object, old);
    },
    validate: (context, object, old) => rules.validateStatus?.(object, old, context) ?? [],
  };
}

/** The parts of a Strategy that are absent unless the kind has them. */
function optional<T extends ApiObject>(rules: Rules<T>): Partial<Strategy<T>> {
  const { ahead, canonicalize, restore, truncate, subresources, warnings, selectableFields } = rules;
  const { fieldLabels, gracePeriod } = rules;
  const { defaultOrphan, unnamedPolicyWarning } = rules;
  const { termination, boundsSize, holdsAddresses, removesToo, carriers, namesItself, settlesLate } = rules;
  return {
    ...(ahead && { ahead }),
    ...(canonicalize && { canonicalize }),
    ...(restore && { restore }),
    ...(truncate && { truncate }),
    ...(subresources && { subresources }),
    ...(warnings && { warnings }),
    ...(selectableFields && { selectableFields }),
    ...(fieldLabels && {
      fieldLabels: new Map(fieldLabels.map((label) => (typeof label === "string" ? [label, label] : label))),
    }),
    ...(gracePeriod && { gracePeriod }),
    ...(defaultOrphan === undefined ? {} : { defaultOrphan }),
    ...(unnamedPolicyWarning === undefined ? {} : { unnamedPolicyWarning }),
    ...(termination && { termination }),
    ...(boundsSize === undefined ? {} : { boundsSize }),
    ...(holdsAddresses === undefined ? {} : { holdsAddresses }),
    ...(removesToo === undefined ? {} : { removesToo }),
    ...(namesItself === undefined ? {} : { namesItself }),
    ...(settlesLate === undefined ? {} : { settlesLate }),
    ...(carriers && { carriers }),
  };
}

/** Puts back all metadata but managedFields, and the version the write is conditional on; the same object stays in use. */
export function keepMeta({ metadata }: ApiObject, old: ApiObject): void {
  const { managedFields, resourceVersion } = metadata;
  for (const key of Object.keys(metadata) as (keyof typeof metadata)[]) delete metadata[key];
  Object.assign(metadata, old.metadata, { managedFields, resourceVersion });
}

/** One more than the stored generation. */
export function countUp(object: ApiObject, old: ApiObject): void {
  const generation = old.metadata.generation ?? 0;
  object.metadata.generation = typeof generation === "bigint" ? generation + 1n : generation + 1;
}

/** Whether a field of two objects differs, nothing and an empty list or map being the same. */
export function differs(field: Field, object: object, old: object): boolean {
  const [now, before] = [(object as Struct)[field.json], (old as Struct)[field.json]];
  if (now === before) return false;
  if (field.message === undefined) return now !== before;
  if (field.cardinality === "one")
    return !equal(field.message.name, now as object | undefined, before as object | undefined);
  assert(field.cardinality === "list", "Maps of messages are not compared");
  const [items, olds] = [(now ?? []) as object[], (before ?? []) as object[]];
  const name = field.message.name;
  return items.length !== olds.length || items.some((item, index) => !equal(name, item, olds[index]));
}

/** The field `name` of a resource's own message. */
export function fieldOf(resource: Resource, name: string): Field {
  const field = resource.message.byJson.get(name);
  assert(field !== undefined, `${resource.kind} has no field ${name}`);
  return field;
}

function count(counted: readonly Field[], object: ApiObject, old: ApiObject): void {
  if (counted.some((field) => differs(field, object, old))) countUp(object, old);
}
