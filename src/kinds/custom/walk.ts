// One walk over an object by its plan: on the way down it drops what the schema does not know, fills in defaults and gives
// embedded objects their form; on the way up it validates. It goes as deep as the schema says something, which is bounded
// by the nesting of definitions, and never into what a schema leaves open.
import type { FieldError } from "../../api/fielderror.ts";
import type { Identity } from "../../api/identity.ts";
import type { Value, ValueMap } from "../../api/value.ts";
import { limits } from "../../config/limits.ts";
import { Faults } from "./faults.ts";
import { checkOwn } from "./junctors.ts";
import {
  type Check,
  checkEnum,
  checkListSize,
  checkNoOthers,
  checkNull,
  checkObjectSize,
  checkRequired,
} from "./keywords.ts";
import { checkListType } from "./listtypes.ts";
import { coerceEmbedded, metaFields, validateEmbedded } from "./metadata.ts";
import { Place } from "./place.ts";
import type { Node } from "./plan.ts";
import { copyValue } from "./texts.ts";

/** What a walk does, as bits. */
export const jobs = {
  /** Drops unknown fields, and nulls where there may be none and no default steps in. */
  prune: 1,
  /** Gives embedded objects their form; what does not fit is refused. */
  coerce: 2,
  /** With `coerce`: what does not fit is dropped instead. */
  drop: 4,
  /** Fills in defaults. */
  default: 8,
  /** Validates values. */
  validate: 16,
  /** Validates embedded objects and lists that are sets or maps. */
  shapes: 32,
} as const;

/** The walk costs more than any object it is meant for. */
export class TooManySteps extends Error {}

/** One walk, and what it found. */
export class Walk implements Check {
  readonly place: Place;
  readonly faults = new Faults();
  /** Of embedded objects. */
  readonly embedded: FieldError[] = [];
  /** Of sets and maps. */
  readonly lists: FieldError[] = [];
  /** Paths of what was dropped; not all, where there are more than an answer names. */
  readonly dropped: string[] = [];
  /** What was dropped, the fields of metadata at the root included. */
  droppedCount = 0;
  /** The first embedded object that could not be given its form. */
  misfit: FieldError | undefined = undefined;
  readonly #jobs: number;
  readonly #identity: Identity;
  /** What is walked is an object of its own, whose metadata is not the schema's to prune. */
  #isWhole = false;
  readonly #budget: { left: number };

  /** `budget`: steps that are left for this walk and others. */
  constructor(todo: number, identity: Identity, prefix = "", budget = { left: limits.schemaStepsMax as number }) {
    this.#jobs = todo;
    this.#budget = budget;
    this.#identity = identity;
    this.place = new Place(prefix);
  }

  spend(steps: number): void {
    this.#budget.left -= steps;
    if (this.#budget.left < 0) throw new TooManySteps("Too much work for one object");
  }

  /** Walks a value by its node. `isEmbedded`: as an object of the API, whatever the schema says. */
  run(value: Value, node: Node, isEmbedded = false): void {
    this.#visit(value, isEmbedded && !node.embeds ? { ...node, embeds: true } : node, node.preserves, this.#jobs);
  }

  /** Walks a whole object, whose own apiVersion, kind and metadata are only validated. */
  runRoot(object: ValueMap, node: Node): void {
    this.#isWhole = true;
    this.#object(object, node, node.preserves, this.#jobs);
  }

  /** `node` undefined: nothing is known of the value. `open`: unknown fields are kept here. */
  #visit(value: Value, node: Node | undefined, open: boolean, todo: number): void {
    this.spend(1);
    if (node === undefined) {
      if ((todo & jobs.prune) !== 0) this.#dropAll(value);
    } else if (value instanceof Map) this.#object(value, node, open, todo);
    else if (Array.isArray(value)) this.#list(value, node, open, todo);
    else if ((todo & jobs.validate) !== 0) {
      if (value === null) checkNull(this, node);
      else checkOwn(this, node, value);
      checkEnum(this, node.rules, value);
    }
  }

  #object(object: ValueMap, node: Node, open: boolean, todo: number): void {
    const mark = this.faults.list.length;
    if ((todo & jobs.prune) !== 0) this.#pruneObject(object, node, open);
    if (node.embeds && (todo & jobs.coerce) !== 0) this.#coerce(object, (todo & jobs.drop) !== 0);
    const fresh = (todo & jobs.default) === 0 ? undefined : this.#fillIn(object, node);
    const validates = (todo & jobs.validate) !== 0;
    const isWhole = !validates || checkObjectSize(this, node.rules?.sizes, object);
    if (validates && isWhole) checkNoOthers(this, node, object);
    this.#below(object, node, isWhole ? todo : todo & ~jobs.validate, fresh);
    if (validates) this.#validate(object, node, mark);
    if (validates && isWhole) checkRequired(this, node, object);
    if (node.embeds && (todo & jobs.shapes) !== 0 && this.embedded.length < limits.fieldErrorsMax) {
      for (const error of validateEmbedded(object, this.#identity, (name) => this.place.fieldAt(name))) {
        this.embedded.push(error);
      }
    }
  }

  #isRoot(): boolean {
    return this.#isWhole && this.place.isRoot;
  }

  /** Drops undeclared fields, and nulls that stand for no value. */
  #pruneObject(object: ValueMap, { properties, additional, embeds }: Node, open: boolean): void {
    const isRoot = this.#isRoot();
    for (const [key, value] of object) {
      if (isRoot && metaFields.has(key)) continue;
      const property = properties?.get(key) ?? additional;
      if (property === undefined) {
        if (open || (embeds && metaFields.has(key))) continue;
        this.#drop(key);
        object.delete(key);
      } else if (
        value === null &&
        typeof property === "object" &&
        !property.nullable &&
        property.default === undefined
      ) {
        object.delete(key);
      }
    }
  }

  #drop(key: string): void {
    this.droppedCount += 1;
    if (this.dropped.length < limits.strictFaultsMax) this.dropped.push(this.place.dropped(key));
  }

  /** Where a schema has nothing to say, objects lose all their fields; lists are looked through for some. */
  #dropAll(value: Value): void {
    if (value instanceof Map) {
      for (const key of value.keys()) this.#drop(key);
      value.clear();
    } else if (Array.isArray(value)) {
      this.#dropWithin(value);
    }
  }

  /** Lists may nest as deep as a document: how deep we are is kept in a list of our own. */
  #dropWithin(list: readonly Value[]): void {
    const path: { readonly list: readonly Value[]; at: number }[] = [{ list, at: 0 }];
    for (let level = path[0]; level !== undefined; level = path[path.length - 1]) {
      const item = level.list[level.at];
      if (level.at > 0) this.place.leave();
      if (item === undefined) {
        path.pop();
        continue;
      }
      this.spend(1);
      this.place.enterIndex(level.at);
      level.at += 1;
      if (Array.isArray(item)) path.push({ list: item, at: 0 });
      else if (item instanceof Map) {
        for (const key of item.keys()) this.#drop(key);
        item.clear();
      }
    }
  }

  #coerce(object: ValueMap, drops: boolean): void {
    this.spend(16);
    const misfit = coerceEmbedded(object, drops, (name) => this.place.fieldAt(name));
    this.misfit ??= misfit;
  }

  /** Sets defaults; the names of what is new, which needs no pruning. */
  #fillIn(object: ValueMap, node: Node): Set<string> | undefined {
    let fresh: Set<string> | undefined;
    for (const name of node.defaulted ?? []) {
      const property = node.properties?.get(name);
      const value = object.get(name);
      if (property?.default === undefined || (value !== undefined && (value !== null || property.nullable))) continue;
      object.set(name, this.#copy(property.default));
      fresh ??= new Set();
      fresh.add(name);
    }
    return fresh;
  }

  #copy(value: Value): Value {
    return copyValue(value, () => this.spend(1));
  }

  /** A null where there may be none gives way to the default. */
  #inPlaceOfNull(value: Value, node: Node | boolean, todo: number): Value | undefined {
    if (value !== null || typeof node === "boolean" || node.nullable || (todo & jobs.default) === 0) return undefined;
    return node.default === undefined ? undefined : this.#copy(node.default);
  }

  /** Down to what an object holds. */
  #below(object: ValueMap, node: Node, todo: number, fresh: ReadonlySet<string> | undefined): void {
    const { properties, additional, embeds } = node;
    if (properties === undefined && additional === undefined) return;
    const isRoot = this.#isRoot();
    for (const [key, held] of object) {
      const property = properties?.get(key);
      const below = property ?? additional;
      if (below === undefined) continue;
      let own = fresh?.has(key) === true ? todo & ~(jobs.prune | jobs.coerce) : todo;
      // Metadata has a type of its own, which is not pruned by the schema.
      if (metaFields.has(key) && (isRoot || embeds)) own &= ~(jobs.prune | jobs.coerce);
      const filled = property === undefined ? this.#inPlaceOfNull(held, below, todo) : undefined;
      if (filled !== undefined) object.set(key, filled);
      if ((todo & jobs.validate) === 0 && isScalar(filled ?? held)) {
        this.spend(1);
        continue;
      }
      if (property === undefined) this.place.enterKey(key);
      else this.place.enterProperty(key);
      if (typeof below === "boolean") this.#visit(filled ?? held, undefined, false, own);
      else this.#visit(filled ?? held, below, below.preserves, own);
      this.place.leave();
    }
  }

  #list(list: Value[], node: Node, open: boolean, todo: number): void {
    const mark = this.faults.list.length;
    const { items } = node;
    if (items === undefined) {
      if (!open && (todo & jobs.prune) !== 0) this.#dropAll(list);
    } else {
      for (let index = 0; index < list.length; index += 1) {
        const filled = this.#inPlaceOfNull(list[index] as Value, items, todo);
        if (filled !== undefined) list[index] = filled;
        this.place.enterIndex(index);
        // Items of an open list are as open as the list.
        this.#visit(list[index] as Value, items, open || items.preserves, todo);
        this.place.leave();
      }
    }
    if ((todo & jobs.validate) !== 0) {
      checkListSize(this, node.rules?.sizes, list);
      this.#validate(list, node, mark);
    }
    const rules = node.rules?.list;
    if (rules === undefined || (todo & jobs.shapes) === 0 || this.lists.length >= limits.fieldErrorsMax) return;
    this.spend(list.length);
    for (const error of checkListType(rules, list, () => this.place.field())) this.lists.push(error);
  }

  /** What is said of an object or list as a whole, when all within is settled; told before that. */
  #validate(value: ValueMap | Value[], node: Node, mark: number): void {
    if (node.types === 0 && node.rules === undefined) return;
    const faults = new Faults();
    const check: Check = { place: this.place, faults, spend: (steps) => this.spend(steps) };
    checkOwn(check, node, value);
    checkEnum(check, node.rules, value);
    if (!faults.isEmpty) this.faults.insert(mark, faults);
  }
}

function isScalar(value: Value): boolean {
  return typeof value !== "object" || value === null;
}
