// What a kind does beyond having a shape, as one value. Code that handles objects of a resource asks this value; nothing
// else is looked up by the name of a kind. Pure: no I/O, no clock of its own.
import type { FieldError } from "../api/fielderror.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { crc32 } from "../base/crc32.ts";
import { zeroOf } from "../codec/engine/json.ts";
import type { FieldSet } from "../merge/fieldset.ts";
import { type Columns, plainColumns } from "./columns.ts";
import { strategyFor } from "./generic.ts";
import { commonMetaRules, type MetaRules } from "./metarules.ts";
import { countEvaluator, type Evaluator } from "./quota/evaluator.ts";
import { resetFieldsWith } from "./resetfields.ts";
import type { Scaling } from "./scale.ts";
import type { Strategy } from "./strategy.ts";

/** To the shape in which all versions of a kind meet, and back. Objects that are given are used up. */
export interface Conversion {
  toHub(object: never): ApiObject;
  fromHub(object: never): ApiObject;
}

/** What bringing an object into shape found. */
export interface Settled {
  /** Fields that were dropped because the kind does not have them. */
  readonly dropped: readonly string[];
  /** What cannot be brought into any shape. */
  readonly misfit: FieldError | undefined;
}

/** What a kind does, at the version of its resource. */
export interface Behaviour {
  /** Names, preparation, validation, deletion, selectable fields. */
  readonly strategy: Strategy<ApiObject>;
  /** How objects are shown as a Table. Cells read the stored version: ask the stored resource, where there is one. */
  readonly columns: Columns;
  /** Fields a write never comes to own, by the subresource it is made through; empty: the object itself. */
  readonly resetFields: ReadonlyMap<string, FieldSet>;
  /** What an object uses of a quota; undefined: no quota counts it. */
  readonly evaluator: Evaluator | undefined;
  /** How often the rules of metadata run. */
  readonly metaRules: MetaRules;
  /** Undefined: the version has the shape all versions meet in. */
  readonly conversion: Conversion | undefined;
  /** The scale subresource; undefined: there is none. */
  readonly scale: Scaling | undefined;
  /**
   * Brings an object into the shape its definition gives: drops fields it does not have, fills in defaults. Left out: the
   * shape is the message's. Idempotent. `isStored`: it was kept by some other definition, and what does not fit goes.
   */
  readonly settle?: ((object: ApiObject, isStored: boolean) => Settled) | undefined;
  /** As `settle`, without defaults and faults: what a webhook converted to this version. Left out with it. */
  readonly prune?: ((object: ApiObject) => Settled) | undefined;
  /**
   * What is derived of objects and kept beside them (selectable fields) is derived by, as 24 bits: objects kept by another
   * form have it derived again. 0: nothing is.
   */
  readonly form: number;
}

/** What sets a kind apart, as its file says it; what is left out is as for every kind. */
export interface OwnBehaviour {
  /** Left out: any name that can stand in a path, and no rules. */
  readonly strategy?: Strategy<ApiObject>;
  /** Left out: the name, and when the object was created. */
  readonly columns?: Columns<never>;
  /** Exceptions to the common rule of `resetfields.ts`. */
  readonly resetFields?: ReadonlyMap<string, FieldSet>;
  /** Left out: objects that are stored are counted. */
  readonly evaluator?: Evaluator | "uncounted";
  /** Left out: the rules of a change of metadata run once more. */
  readonly metaRules?: MetaRules;
  readonly conversion?: Conversion | undefined;
  readonly scale?: Scaling;
}

/** The behaviour of a resource: what its kind says, and what is common to all kinds where it says nothing. */
export function completed(resource: Resource, own: OwnBehaviour): Behaviour {
  const strategy = own.strategy ?? strategyFor(resource, { nameFormat: "path-segment" });
  return {
    strategy,
    // Cells are called with objects of the kind only.
    columns: (own.columns as Columns | undefined) ?? plainColumns,
    resetFields: resetFieldsWith(own.resetFields, strategy.status !== undefined),
    evaluator: evaluatorWith(own.evaluator, resource),
    metaRules: own.metaRules ?? commonMetaRules,
    conversion: own.conversion,
    scale: own.scale,
    form: formWith(strategy, resource),
  };
}

/** The names of the selectable fields, which are the same for all objects of a kind, and told from what is stored. */
function formWith({ selectableFields }: Strategy<ApiObject>, resource: Resource): number {
  const fields = resource.stored === resource ? (selectableFields?.(zeroOf(resource.message)) ?? []) : [];
  return fields.length === 0 ? 0 : formOf(fields.map(([name]) => name).join());
}

/** The form of what a text says: 24 bits, not all 0. */
export function formOf(text: string): number {
  return crc32(Buffer.from(text)) & 0xffffff || 1;
}

function evaluatorWith(own: OwnBehaviour["evaluator"], resource: Resource): Evaluator | undefined {
  if (own !== undefined) return own === "uncounted" ? undefined : own;
  return commonEvaluator(resource);
}

/** How objects are counted of a kind that says nothing of it: what is stored is, by its number. */
export function commonEvaluator(resource: Resource): Evaluator | undefined {
  return resource.stored === undefined ? undefined : countEvaluator(resource);
}
