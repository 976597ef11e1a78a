// Values with a type: which paths a value holds, how two values differ, one merged into another, paths taken out.
// Absent is undefined and null is a value, as in upstream's library: an empty or null list or map is a leaf while
// the other side is empty too, which keeps the difference between the two.
import type { Value, ValueMap } from "../api/value.ts";
import { assert, assertShared } from "../base/assert.ts";
import { limits } from "../config/limits.ts";
import { sameValue } from "./document.ts";
import { elementText, FieldSet, type PathElement } from "./fieldset.ts";
import { goText, goType } from "./govalue.ts";
import { type ListType, type MapType, resolve, type ScalarType, type Type } from "./schema.ts";

/** A value that does not fit its type; the message names the path. */
export class TypeFault {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

/** The difference of two values. No path is in two of the sets. */
export interface Difference {
  added: FieldSet;
  modified: FieldSet;
  removed: FieldSet;
}

/** Deeper values are one leaf: only raw JSON nests without bound, and recursion must not exhaust the stack. */
const depthMax = limits.managedFieldsDepthMax;

const noItems: readonly Value[] = [];
const noEntries: ReadonlyMap<string, Value> = new Map();

function listOf(value: Value | undefined): readonly Value[] {
  return Array.isArray(value) ? value : noItems;
}

function mapOf(value: Value | undefined): ReadonlyMap<string, Value> {
  return value instanceof Map ? value : noEntries;
}

/** The path element of a field or map key. */
export function fieldElement(name: string): PathElement {
  return `f:${name}`;
}

/** Type of a key in a map or message; undefined where the type has no such key. */
export function typeOfKey(type: MapType, key: string): Type | undefined {
  return type.fields.get(key) ?? type.element;
}

/** The path element of a list's item, or a fault. */
function itemElement(type: ListType, item: Value): PathElement | TypeFault {
  if (type.relation === "set") {
    if (item instanceof Map) return new TypeFault("associative list without keys has an element that's a map type");
    if (Array.isArray(item)) return new TypeFault("not supported: associative list with lists as elements");
    if (item === null) {
      return new TypeFault("associative list without keys has an element that's an explicit null");
    }
    return `v:${scalarJson(item)}`;
  }
  if (item === null) return new TypeFault("associative list with keys may not have a null element");
  if (!(item instanceof Map)) return new TypeFault("associative list with keys may not have non-map elements");
  let text = "";
  for (const key of type.keys) {
    const value = item.get(key.name);
    const json = value === undefined ? key.default : scalarJson(value);
    if (json === undefined) {
      const lacks = `associative list with keys has an element that omits key field "${key.name}"`;
      return new TypeFault(`${lacks} (and doesn't have default value)`);
    }
    text += `${text === "" ? "" : ","}"${key.name}":${json}`;
  }
  return `k:{${text}}`;
}

/** The text a scalar has within a path element. */
export function scalarJson(value: Value): string {
  if (typeof value === "string") return JSON.stringify(value);
  return value === null || typeof value === "number" ? String(value) : JSON.stringify(goText(value));
}

/** The index of a list that is not changed any more. */
interface KnownList {
  readonly type: ListType;
  readonly items: ReadonlyMap<PathElement, Value>;
  /** Its paths, once computed, and its depth. */
  set?: FieldSet;
  depth?: number;
}

/** Long lists in which nothing is wrong: an apply looks at each some ten times. */
const knownLists = new WeakMap<readonly Value[], KnownList>();
/** Shorter lists are not worth the place. */
const knownListItems = 32;

function keep(type: ListType, list: readonly Value[], items: ReadonlyMap<PathElement, Value>): void {
  if (list.length >= knownListItems && items.size === list.length) knownLists.set(list, { type, items });
}

function recall(type: ListType, list: readonly Value[]): KnownList | undefined {
  const known = list.length < knownListItems ? undefined : knownLists.get(list);
  assertShared(known === undefined || known.items.size === list.length, "A list is changed that is shared");
  return known?.type === type ? known : undefined;
}

/** A list's items by element, in their order. */
function indexItems(type: ListType, list: readonly Value[], faults: Faults): ReadonlyMap<PathElement, Value> {
  const known = recall(type, list);
  if (known !== undefined) return known.items;
  const items = new Map<PathElement, Value>();
  for (let index = 0; index < list.length; index++) {
    const item = list[index] as Value;
    const element = itemElement(type, item);
    if (element instanceof TypeFault) faults.add(`element ${index}: ${element.message}`);
    else if (items.has(element)) faults.addDuplicate(element);
    else items.set(element, item);
  }
  keep(type, list, items);
  return items;
}

/** The position of a walk and its faults. */
class Faults {
  readonly path: PathElement[] = [];
  readonly #messages: string[] = [];
  #chars = 0;

  /** One client's mistakes fill a screen, not the memory: each names its whole path, which may be as long as the object. */
  get #isFull(): boolean {
    return this.#messages.length >= faultsMax || this.#chars >= limits.fieldErrorCharsMax;
  }

  add(message: string): void {
    if (this.#isFull) return;
    const where = this.path.map(elementText).join("");
    const whole = where === "" ? message : `${where}: ${message}`;
    this.#chars += whole.length;
    this.#messages.push(whole);
  }

  addDuplicate(element: PathElement): void {
    if (!this.#isFull) this.add(`duplicate entries for key ${elementText(element)}`);
  }

  get result(): TypeFault | undefined {
    const [first, ...more] = this.#messages;
    if (first === undefined) return undefined;
    if (more.length === 0) return new TypeFault(first);
    return new TypeFault(["errors:", `  ${first}`, ...more.map((message) => `  ${message}`)].join("\n"));
  }
}

const faultsMax = 100;

/** Whether a value fits its type. */
export function checkType(type: Type, value: Value): TypeFault | undefined {
  const faults = new Faults();
  checkValue(type, value, faults);
  assert(faults.path.length === 0, "A check of a value does not end where it began");
  return faults.result;
}

function checkValue(declared: Type, value: Value, faults: Faults): void {
  const type = resolve(declared, value);
  if (value === null || faults.path.length >= depthMax) return;
  if (type.kind === "scalar") checkScalar(type, value, faults);
  else if (type.kind === "list") {
    if (Array.isArray(value)) checkItems(type, value, faults);
    else faults.add(`expected list, got &{${goText(value)}}`);
  } else if (value instanceof Map) {
    for (const [key, item] of value) {
      const inner = typeOfKey(type, key);
      faults.path.push(fieldElement(key));
      if (inner === undefined) faults.add("field not declared in schema");
      else checkValue(inner, item, faults);
      faults.path.pop();
      if (inner === undefined) return;
    }
  } else faults.add(`expected map, got &{${goText(value)}}`);
}

function checkScalar({ scalar }: ScalarType, value: Value, faults: Faults): void {
  const kind = goType(value);
  if (scalar === "string" && kind !== "string") {
    faults.add(`expected string, got &value.valueUnstructured{Value:${goText(value)}}`);
  } else if (scalar === "boolean" && kind !== "bool") faults.add(`expected boolean, got &{${goText(value)}}`);
  else if (scalar === "numeric" && kind !== "int64" && kind !== "float64") {
    faults.add(`expected numeric (int or float), got ${kind}`);
  }
}

function checkItems(type: ListType, list: readonly Value[], faults: Faults): void {
  const seen = new Map<PathElement, Value>();
  for (const [index, item] of list.entries()) {
    const element = type.relation === "atomic" ? `i:${index}` : itemElement(type, item);
    if (element instanceof TypeFault) {
      faults.add(`element ${index}: ${element.message}`);
      return;
    }
    if (type.relation !== "atomic") {
      if (seen.has(element)) faults.addDuplicate(element);
      seen.set(element, item);
    }
    faults.path.push(element);
    checkValue(type.element, item, faults);
    faults.path.pop();
  }
  keep(type, list, seen);
}

/** The paths a value holds: its leaves, items of lists, keys of maps. */
export function fieldSetOf(type: Type, value: Value): FieldSet {
  return collect(type, value, 0) ?? new FieldSet();
}

/** Paths that go on from a value; undefined: the path that leads to it is owned as a whole. */
function collect(declared: Type, value: Value, depth: number): FieldSet | undefined {
  const type = resolve(declared, value);
  if (type.kind === "scalar" || depth >= depthMax) return undefined;
  if (type.kind === "list") {
    return type.relation === "atomic" ? undefined : collectItems(type, listOf(value), depth);
  }
  if (type.atomic) return undefined;
  const set = new FieldSet();
  for (const [key, item] of mapOf(value)) {
    const inner = typeOfKey(type, key);
    if (inner === undefined) continue;
    const below = collect(inner, item, depth + 1);
    const isEmpty = item === null || (item instanceof Map && item.size === 0);
    set.join(fieldElement(key), below === undefined || isEmpty || !type.fields.has(key), below);
  }
  return set;
}

function collectItems(type: ListType, list: readonly Value[], depth: number): FieldSet {
  indexItems(type, list, new Faults());
  const known = recall(type, list);
  if (known?.set !== undefined && known.depth === depth) return known.set;
  const set = new FieldSet();
  if (known !== undefined) {
    for (const [element, item] of known.items) set.join(element, true, collect(type.element, item, depth + 1));
    known.set = set;
    known.depth = depth;
    return set;
  }
  for (const item of list) {
    const element = itemElement(type, item);
    if (!(element instanceof TypeFault)) set.join(element, true, collect(type.element, item, depth + 1));
  }
  return set;
}

const simple = new WeakMap<Type, boolean>();

/** Whether a type has no lists with keyed items: equal values of it have no faults. */
function isSimple(type: Type): boolean {
  const known = simple.get(type);
  if (known !== undefined) return known;
  const found = !holdsItems(type, new Set());
  simple.set(type, found);
  return found;
}

function holdsItems(type: Type, seen: Set<Type>): boolean {
  if (seen.has(type)) return false;
  seen.add(type);
  if (type.kind === "list") return type.relation !== "atomic";
  if (type.kind !== "map" || type.atomic) return false;
  if (type.element !== undefined && holdsItems(type.element, seen)) return true;
  for (const field of type.fields.values()) if (holdsItems(field, seen)) return true;
  return false;
}

/** Compares two values of a type. A fault when keyed items of a list are not unique. */
export function compare(type: Type, before: Value, after: Value): Difference | TypeFault {
  const walk = new Comparison();
  walk.compare(type, before, after);
  assert(walk.faults.path.length === 0, "A comparison does not end where it began");
  return walk.result;
}

/** The result of a comparison so far, and its position. A caller may skip parts it knows to be equal. */
export class Comparison implements Difference {
  readonly added = new FieldSet();
  readonly modified = new FieldSet();
  readonly removed = new FieldSet();
  readonly faults = new Faults();

  get result(): Difference | TypeFault {
    return this.faults.result ?? this;
  }

  /** Descends to an element of a path. */
  enter(element: PathElement): void {
    this.faults.path.push(element);
  }

  /** Goes back. */
  leave(): void {
    assert(this.faults.path.length > 0, "A comparison leaves an element it did not enter");
    this.faults.path.pop();
  }

  /** Compares the values of both sides at this path; undefined: absent. */
  compare(declared: Type, before: Value | undefined, after: Value | undefined): void {
    if (before === after && before !== undefined && isSimple(declared)) return;
    const { path } = this.faults;
    // A value that one side lacks is added or removed as a whole.
    if (path.length > 0 && before === undefined && after !== undefined) {
      return this.added.graft(path, this.#whole(declared, after));
    }
    if (path.length > 0 && after === undefined && before !== undefined) {
      return this.removed.graft(path, this.#whole(declared, before));
    }
    if (declared.kind === "any" && before !== undefined && after !== undefined) {
      const former = resolve(declared, before);
      if (former !== resolve(declared, after)) this.#inside(former, before, after);
    }
    this.#inside(resolve(declared, after ?? before), before, after);
  }

  /** All paths in a value, containers included. */
  #whole(declared: Type, value: Value): FieldSet | undefined {
    const type = resolve(declared, value);
    const { path } = this.faults;
    if (type.kind === "scalar" || path.length >= depthMax) return undefined;
    const set = new FieldSet();
    if (type.kind === "list") {
      if (type.relation === "atomic") return undefined;
      for (const [element, item] of indexItems(type, listOf(value), this.faults)) {
        path.push(element);
        set.graftElement(element, this.#whole(type.element, item));
        path.pop();
      }
      return set;
    }
    if (type.atomic) return undefined;
    for (const [key, item] of mapOf(value)) {
      const inner = typeOfKey(type, key);
      if (inner === undefined) continue;
      const element = fieldElement(key);
      path.push(element);
      set.graftElement(element, this.#whole(inner, item));
      path.pop();
    }
    return set;
  }

  #inside(type: ScalarType | MapType | ListType, before: Value | undefined, after: Value | undefined): void {
    if (type.kind === "scalar" || this.faults.path.length >= depthMax) return this.#leaf(before, after);
    if (type.kind === "map") {
      const former = mapOf(before);
      const latter = mapOf(after);
      if (type.atomic || (former.size === 0 && latter.size === 0)) return this.#leaf(before, after);
      return this.#entries(type, former, latter);
    }
    const former = listOf(before);
    const latter = listOf(after);
    if (type.relation === "atomic" || (former.length === 0 && latter.length === 0)) return this.#leaf(before, after);
    this.#items(type, former, latter);
  }

  #entries(type: MapType, former: ReadonlyMap<string, Value>, latter: ReadonlyMap<string, Value>): void {
    for (const [key, item] of former) this.#entry(type, key, item, latter.get(key));
    for (const [key, item] of latter) if (!former.has(key)) this.#entry(type, key, undefined, item);
  }

  #entry(type: MapType, key: string, before: Value | undefined, after: Value | undefined): void {
    const inner = typeOfKey(type, key);
    if (inner === undefined) return;
    this.faults.path.push(fieldElement(key));
    this.compare(inner, before, after);
    this.faults.path.pop();
  }

  #items(type: ListType, before: readonly Value[], after: readonly Value[]): void {
    const former = indexItems(type, before, this.faults);
    const latter = indexItems(type, after, this.faults);
    const simply = isSimple(type.element);
    for (const [element, item] of former) {
      const other = latter.get(element);
      if (item !== other || !simply) this.#item(type, element, item, other);
    }
    for (const [element, item] of latter) if (!former.has(element)) this.#item(type, element, undefined, item);
  }

  #item(type: ListType, element: PathElement, before: Value | undefined, after: Value | undefined): void {
    this.faults.path.push(element);
    this.compare(type.element, before, after);
    this.faults.path.pop();
  }

  #leaf(before: Value | undefined, after: Value | undefined): void {
    const { path } = this.faults;
    if (before === undefined) this.added.insert(path);
    else if (after === undefined) this.removed.insert(path);
    else if (!sameValue(before, after)) this.modified.insert(path);
  }
}

/**
 * `config` merged into `live`: nothing is removed, values in both are those of `config`. Undefined: nothing is left.
 * Maps to which `config` adds nothing are those of `live`, and need not be compared afterwards.
 */
export function mergeTyped(
  declared: Type,
  live: Value | undefined,
  config: Value | undefined,
  depth = 0,
): Value | undefined {
  if (live === undefined || config === undefined || depth >= depthMax) return config === undefined ? live : config;
  const type = resolve(declared, config);
  if (type.kind === "map" && !type.atomic) {
    const former = mapOf(live);
    const latter = mapOf(config);
    if (former.size === 0 && latter.size === 0) return config;
    let merged: ValueMap | undefined;
    for (const [key, item] of latter) {
      const inner = typeOfKey(type, key);
      const own = former.get(key);
      const value = inner === undefined ? item : mergeTyped(inner, own, item, depth + 1);
      if (value !== undefined && value !== own) (merged ??= new Map(former)).set(key, value);
    }
    return merged ?? (former === live ? live : new Map());
  }
  if (type.kind !== "list" || type.relation === "atomic") return config;
  const former = listOf(live);
  const latter = listOf(config);
  return former.length === 0 && latter.length === 0 ? config : mergeItems(type, former, latter, depth);
}

/**
 * The items of both lists. Shared items come in the order of `latter`; an item of `former` alone is after the one it
 * stood behind, and before the items of `latter` alone that follow there.
 */
function mergeItems(type: ListType, former: readonly Value[], latter: readonly Value[], depth: number): Value[] {
  const left = indexItems(type, former, new Faults());
  const right = indexItems(type, latter, new Faults());
  const lefts = [...left.keys()];
  const shared = [...right.keys()].filter((element) => left.has(element));
  const merged: Value[] = [];
  const items = new Map<PathElement, Value>();
  const take = (element: PathElement): void => {
    const item = mergeTyped(type.element, left.get(element), right.get(element), depth + 1);
    if (item === undefined) return;
    merged.push(item);
    items.set(element, item);
  };
  let at = 0;
  let sharedAt = 0;
  for (const element of right.keys()) {
    const next = shared[sharedAt];
    for (; at < lefts.length; at++) {
      const own = lefts[at] as PathElement;
      if (!right.has(own)) take(own);
      else if (next === undefined || own === next) break;
      // A shared item at another place of the other list is skipped here and taken there.
    }
    take(element);
    if (element === next) sharedAt++;
    if (element === lefts[at]) at++;
  }
  for (; at < lefts.length; at++) if (!right.has(lefts[at] as PathElement)) take(lefts[at] as PathElement);
  assert(sharedAt === shared.length, "Two lists are merged without the items they share");
  assert(
    merged.length === lefts.length + right.size - shared.length,
    "A merged list has more or fewer items than both",
  );
  assert(items.size === merged.length, "An item of a list is merged twice");
  keep(type, merged, items);
  return merged;
}

/** The value without the paths of a set. A container that loses all its values becomes null. */
export function removeItems(declared: Type, value: Value, set: FieldSet): Value {
  const type = resolve(declared, value);
  if (type.kind === "scalar") return value;
  if (type.kind === "list") {
    return type.relation === "atomic" ? null : removeFromList(type, listOf(value), set);
  }
  if (type.atomic) return null;
  const kept: ValueMap = new Map();
  for (const [key, item] of mapOf(value)) {
    const element = fieldElement(key);
    if (set.hasMember(element)) continue;
    const below = set.under(element);
    const inner = typeOfKey(type, key);
    kept.set(key, below === undefined || inner === undefined ? item : removeItems(inner, item, below));
  }
  return kept.size === 0 ? null : kept;
}

function removeFromList(type: ListType, list: readonly Value[], set: FieldSet): Value {
  const kept: Value[] = [];
  const items = new Map<PathElement, Value>();
  let isIntact = true;
  const take = (element: PathElement, item: Value): void => {
    if (set.hasMember(element)) return;
    const below = set.under(element);
    const left = below === undefined ? item : removeItems(type.element, item, below);
    isIntact &&= left === item;
    kept.push(left);
    items.set(element, left);
  };
  const known = recall(type, list);
  if (known !== undefined) for (const [element, item] of known.items) take(element, item);
  else {
    for (const item of list) {
      const element = itemElement(type, item);
      if (!(element instanceof TypeFault)) take(element, item);
    }
  }
  // An item that lost a field may have lost its key.
  if (isIntact) keep(type, kept, items);
  return kept.length === 0 ? null : kept;
}

/** The set with every field of a message on the way to a path made a path itself; keys of maps are left as they are. */
export function withNamedFields(type: Type, set: FieldSet): FieldSet {
  return set.withMembers<Type | undefined>(type, (at, element) => {
    const none = { named: false, below: undefined };
    if (at === undefined) return none;
    if (element.startsWith("f:")) {
      if (at.kind === "any") return { named: false, below: at };
      if (at.kind !== "map") return none;
      const name = element.slice(2);
      return { named: at.fields.has(name), below: typeOfKey(at, name) };
    }
    return element.startsWith("k:") && at.kind === "list" ? { named: false, below: at.element } : none;
  });
}
