// What managers own, found in typed objects directly. @hot: every write passes here. src/merge finds it in documents;
// making documents of two large objects to learn that one label changed is most of that work. Here parts that are the
// same on both sides are passed over as they are, and only what differs becomes a document. Whatever is out of the
// ordinary (items that cannot be told apart, nesting without end) is left to src/merge: undefined says so.
import type { Message } from "../../api/schema.ts";
import { flatText } from "../../base/flattext.ts";
import { fieldValue } from "../../codec/engine/document.ts";
import { planOf, type Slot, shapes } from "../../codec/engine/plan.ts";
import { sortedKeys } from "../../codec/json/write.ts";
import { templateOf } from "../../codec/proto/templates.ts";
import { limits } from "../../config/limits.ts";
import { sameValue } from "../../merge/document.ts";
import { compareElements, type FieldSet, type PathElement, quoteElement } from "../../merge/fieldset.ts";
import { type ListType, type Type, typeOfMessage } from "../../merge/schema.ts";
import { Comparison, type Difference, fieldElement, scalarJson, type TypeFault } from "../../merge/typed.ts";

/** An object in memory, as codec/decode.ts makes it. */
type Source = Readonly<Record<string, unknown>>;

const nothing: Source = Object.freeze({});

/** Deeper objects are left to src/merge; no kind but schemas of custom resources gets there. */
const depthMax = 50;

/** A field, and how its content is owned. */
interface Tracked {
  readonly slot: Slot;
  readonly element: PathElement;
  /** `"f:name":` */
  readonly key: string;
  readonly type: Type;
  /** The list, where its items are told apart. */
  readonly list: ListType | undefined;
  /** Slots of a keyed list's keys. */
  readonly keySlots: readonly (Slot | undefined)[];
  /** Names of items by the text of their one key, where they have one and it is a text: the same few are frequent. */
  readonly names: Map<string, ItemName> | undefined;
  /** The message of which fields are owned by themselves: the field's, its items' or its values'. */
  readonly message: Message | undefined;
  /** A map whose keys are owned by themselves. */
  readonly isMap: boolean;
}

/** An item of a list, as FieldsV1 names it. */
interface ItemName {
  readonly element: PathElement;
  /** The element quoted, and the colon behind it. */
  readonly key: string;
}

const known = new WeakMap<Message, readonly Tracked[]>();
const withLists = new WeakMap<Message, readonly Tracked[]>();

/** The fields of a message in the order FieldsV1 has them; made when they are first asked for. */
function trackedFields(message: Message): readonly Tracked[] {
  const fields = known.get(message);
  return fields ?? makeFields(message);
}

function makeFields(message: Message): readonly Tracked[] {
  const type = typeOfMessage(message);
  const fields: Tracked[] = [];
  for (const slot of planOf(message).slots) {
    const own = type.fields.get(slot.json);
    if (own !== undefined) fields.push(trackedField(slot, own));
  }
  fields.sort((a, b) => compareElements(a.element, b.element));
  known.set(message, fields);
  return fields;
}

/** The fields of a message that are, or may hold, lists of which the items are told apart. */
function fieldsWithLists(message: Message): readonly Tracked[] {
  let fields = withLists.get(message);
  if (fields === undefined) {
    fields = trackedFields(message).filter((tracked) => hasLists(tracked, new Set()));
    withLists.set(message, fields);
  }
  return fields;
}

function hasLists({ list, message }: Tracked, seen: Set<Message>): boolean {
  if (list !== undefined) return true;
  if (message === undefined || seen.has(message)) return false;
  seen.add(message);
  return trackedFields(message).some((tracked) => hasLists(tracked, seen));
}

function trackedField(slot: Slot, type: Type): Tracked {
  const list = type.kind === "list" && type.relation !== "atomic" ? type : undefined;
  const isMap = slot.cardinality === "map" && type.kind === "map" && !type.atomic;
  const content = slot.cardinality === "list" ? list?.element : isMap && type.kind === "map" ? type.element : type;
  const isOwned = content?.kind === "map" && !content.atomic && slot.shape === shapes.message;
  const message = isOwned ? slot.message : undefined;
  const itemSlots =
    slot.message === undefined || slot.shape !== shapes.message ? undefined : planOf(slot.message).byName;
  const keySlots = (list?.keys ?? []).map(({ name }) => itemSlots?.get(name));
  const [sole] = keySlots;
  const isNamed = list?.relation === "keyed" && keySlots.length === 1 && sole?.shape === shapes.string;
  return {
    slot,
    element: fieldElement(slot.json),
    key: `${quoteElement(fieldElement(slot.json))}:`,
    type,
    list,
    keySlots,
    names: isNamed && sole.cardinality === "one" ? new Map() : undefined,
    message,
    isMap,
  };
}

// --- What a new object owns -----------------------------------------------------------------------------------------

/** What is left out of what a new object's manager owns. */
export interface Exempt {
  /** The server puts these back, with all that is in them. */
  readonly ignored: FieldSet | undefined;
  /** These have no owner; what is in them may have one. */
  readonly unowned: FieldSet | undefined;
}

/**
 * FieldsV1 of what `object` has and `blank`, the object in which nothing is set, has not: empty when there is nothing,
 * undefined when src/merge has to tell.
 */
export function ownedText(message: Message, blank: object, object: object, exempt: Exempt): string | undefined {
  if (message.open === true) return undefined;
  const text = addedText(message, blank as Source, object as Source, exempt, 0);
  return text === undefined || text === "" ? text : `{${text}}`;
}

function addedText(message: Message, blank: Source, object: Source, exempt: Exempt, depth: number): string | undefined {
  if (depth > depthMax) return undefined;
  let text = "";
  for (const tracked of trackedFields(message)) {
    const { slot, element, key } = tracked;
    const { ignored, unowned } = exempt;
    const value = object[slot.json];
    if (!isPresent(slot, value)) continue;
    if (ignored?.hasMember(element) === true) {
      if (value !== undefined && !areDistinctIn(tracked, value, depth)) return undefined;
      continue;
    }
    const before = blank[slot.json];
    const below = { ignored: ignored?.under(element), unowned: unowned?.under(element) };
    if (!isPresent(slot, before)) {
      // Exceptions further down are for what every object has.
      if (below.ignored !== undefined || below.unowned !== undefined) return undefined;
      const inner = wholeText(tracked, value, depth);
      if (inner === undefined) return undefined;
      if (unowned?.hasMember(element) !== true) text += comma(text) + key + braced(inner);
      else if (inner !== "") return undefined;
      continue;
    }
    const changed =
      depth === 0 ? partText(tracked, before, value, below) : changedText(tracked, before, value, below, depth);
    if (changed === undefined) return undefined;
    if (changed !== "" && (changed !== "{}" || unowned?.hasMember(element) !== true))
      text += comma(text) + key + changed;
  }
  return text;
}

/** The same as changedText() for a field of the object itself, found once for all objects with one template. */
function partText(tracked: Tracked, before: unknown, value: unknown, exempt: Exempt): string | undefined {
  const template = exempt.ignored === undefined && exempt.unowned === undefined ? templateOf(value) : undefined;
  if (template === undefined) return changedText(tracked, before, value, exempt, 0);
  if (template.owned !== undefined) return template.owned;
  const text = changedText(tracked, before, value, exempt, 0);
  if (text !== undefined) template.keepOwned(text);
  return text;
}

/** What a field has that its blank has not, in braces; both are there. Empty: nothing; `{}`: it changed as a whole. */
function changedText(
  tracked: Tracked,
  before: unknown,
  value: unknown,
  exempt: Exempt,
  depth: number,
): string | undefined {
  const { slot, message } = tracked;
  if (slot.cardinality === "one" && message !== undefined) {
    const text = addedText(message, (before ?? nothing) as Source, (value ?? nothing) as Source, exempt, depth + 1);
    return text === undefined || text === "" ? text : `{${text}}`;
  }
  if (exempt.ignored !== undefined || exempt.unowned !== undefined) return undefined;
  const isEmpty = before === undefined && slot.cardinality !== "one";
  if (isEmpty && (tracked.list !== undefined || tracked.isMap) && sizeOf(value) > 0) {
    const text = wholeText(tracked, value, depth);
    return text === undefined ? undefined : `{${text}}`;
  }
  // An empty list that was sent is no missing one until it is stored.
  if (isEmpty && value !== undefined) return "{}";
  return sameValue(fieldValue(slot, before) ?? null, fieldValue(slot, value) ?? null) ? "" : "{}";
}

/** All that a field holds, without the field: empty where it is owned as a whole. */
function wholeText(tracked: Tracked, value: unknown, depth: number): string | undefined {
  const { slot, message } = tracked;
  if (slot.cardinality === "list")
    return tracked.list === undefined ? "" : itemsText(tracked, tracked.list, value, depth);
  if (slot.cardinality === "map") return tracked.isMap ? entriesText(tracked, value, depth) : "";
  return message === undefined ? "" : messageText(message, (value ?? nothing) as Source, depth + 1);
}

function messageText(message: Message, object: Source, depth: number): string | undefined {
  if (depth > depthMax) return undefined;
  let text = "";
  for (const tracked of trackedFields(message)) {
    const value = object[tracked.slot.json];
    if (!isPresent(tracked.slot, value)) continue;
    const inner = wholeText(tracked, value, depth);
    if (inner === undefined) return undefined;
    text += comma(text) + tracked.key + braced(inner);
  }
  return text;
}

function itemsText(tracked: Tracked, type: ListType, value: unknown, depth: number): string | undefined {
  const list = (value ?? []) as readonly unknown[];
  const items: NamedItem[] = [];
  let isSorted = true;
  for (const item of list) {
    const name = nameOf(tracked, type, item);
    if (name === undefined) return undefined;
    const inner = tracked.message === undefined ? "" : messageText(tracked.message, item as Source, depth + 1);
    if (inner === undefined) return undefined;
    const before = items[items.length - 1];
    isSorted &&= before === undefined || compareElements(before.name.element, name.element) < 0;
    items.push({ name, inner });
  }
  // What rises from item to item has none twice.
  if (!isSorted) {
    if (new Set(items.map(({ name }) => name.element)).size < items.length) return undefined;
    items.sort((a, b) => compareElements(a.name.element, b.name.element));
  }
  let text = "";
  for (const { name, inner } of items) text += comma(text) + name.key + braced(inner);
  return text;
}

interface NamedItem {
  readonly name: ItemName;
  readonly inner: string;
}

/** The name of an item; undefined where src/merge has to say what is wrong with it. */
function nameOf(tracked: Tracked, type: ListType, item: unknown): ItemName | undefined {
  const { names } = tracked;
  const [slot] = tracked.keySlots;
  const text = names === undefined || slot === undefined ? undefined : (item as Source)[slot.json];
  const known = typeof text === "string" ? names?.get(text) : undefined;
  if (known !== undefined) return known;
  const element = elementOf(tracked, type, item);
  if (element === undefined) return undefined;
  const name = { element, key: `${quoteElement(element)}:` };
  // An empty text may have been left out, and have a default.
  if (names === undefined || typeof text !== "string" || text === "") return name;
  if (text.length > limits.itemNameCharsMax) return name;
  if (names.size >= limits.itemNamesMax) names.clear();
  names.set(flatText(text), name);
  return name;
}

function entriesText(tracked: Tracked, value: unknown, depth: number): string | undefined {
  const map = (value ?? new Map()) as ReadonlyMap<string, unknown>;
  let text = "";
  for (const key of sortedKeys(map)) {
    const inner = tracked.message === undefined ? "" : messageText(tracked.message, map.get(key) as Source, depth + 1);
    if (inner === undefined) return undefined;
    text += `${comma(text)}${quoteElement(fieldElement(key))}:${braced(inner)}`;
  }
  return text;
}

/** A member of a set, and what goes on from it. */
function braced(inner: string): string {
  return inner === "" ? "{}" : `{".":{},${inner}}`;
}

function comma(text: string): string {
  return text === "" ? "" : ",";
}

/** Whether the field is in the object's document (codec/document.ts). */
function isPresent(slot: Slot, value: unknown): boolean {
  if (value === undefined) return slot.always;
  if (slot.cardinality !== "one") return slot.always || sizeOf(value) > 0;
  const zero = value === "" || value === 0 || value === false;
  return !(zero && slot.dropsZero && slot.shape <= shapes.bytes);
}

function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return value instanceof Map ? value.size : 0;
}

/** How an item is told apart; undefined where src/merge has to say what is wrong with it. */
function elementOf(tracked: Tracked, type: ListType, item: unknown): PathElement | undefined {
  if (type.relation === "set") return typeof item === "string" ? `v:${scalarJson(item)}` : undefined;
  let text = "";
  for (let index = 0; index < type.keys.length; index += 1) {
    const slot = tracked.keySlots[index];
    const key = type.keys[index];
    if (slot === undefined || key === undefined || slot.cardinality !== "one" || slot.shape === shapes.message) {
      return undefined;
    }
    const value = fieldValue(slot, (item as Source)[slot.json]);
    const json = value === undefined ? key.default : scalarJson(value);
    if (json === undefined) return undefined;
    text += `${text === "" ? "" : ","}"${key.name}":${json}`;
  }
  return `k:{${text}}`;
}

// --- How two objects differ -----------------------------------------------------------------------------------------

/** How two objects of a message differ, as src/merge finds it in their documents; undefined when it has to look. */
export function typedDifference(message: Message, before: object, after: object): Difference | TypeFault | undefined {
  if (message.open === true) return undefined;
  const comparison = new Comparison();
  return compareObjects(comparison, message, before as Source, after as Source, 0) ? comparison.result : undefined;
}

/** False when src/merge has to look. */
function compareObjects(
  comparison: Comparison,
  message: Message,
  before: Source,
  after: Source,
  depth: number,
): boolean {
  if (depth > depthMax) return false;
  for (const tracked of trackedFields(message)) {
    const { slot, element } = tracked;
    const former = before[slot.json];
    const latter = after[slot.json];
    if (isSameField(tracked, former, latter)) continue;
    comparison.enter(element);
    if (slot.cardinality === "one" && tracked.message !== undefined && former !== undefined && latter !== undefined) {
      const known = compareObjects(comparison, tracked.message, former as Source, latter as Source, depth + 1);
      if (!known) return false;
    } else {
      compareField(comparison, tracked, former, latter);
    }
    comparison.leave();
  }
  return true;
}

/** Compares two contents of a field in their documents. What is owned as a whole and has no other side may be anything. */
function compareField(comparison: Comparison, tracked: Tracked, before: unknown, after: unknown): void {
  const { slot, type, list, message, isMap } = tracked;
  const isThere = isPresent(slot, before);
  const isLeft = isPresent(slot, after);
  if (!isThere && !isLeft) return;
  if (isThere !== isLeft && list === undefined && message === undefined && !isMap) {
    comparison.compare(type, isThere ? null : undefined, isLeft ? null : undefined);
  } else if (slot.emptyIsNull && sizeOf(before) + sizeOf(after) === 0) {
    // An empty list that was sent is no missing one until it is stored.
    comparison.compare(type, before === undefined ? null : [], after === undefined ? null : []);
  } else comparison.compare(type, fieldValue(slot, before), fieldValue(slot, after));
}

/** Whether both sides are the same, and nothing is wrong with them. False may mean that it cannot be told. */
function isSameField(tracked: Tracked, before: unknown, after: unknown): boolean {
  return isSame(before, after) && (before === undefined || areDistinctIn(tracked, before, 0));
}

/** Whether two parts of objects hold the same; what is undefined is not there. */
function isSame(before: unknown, after: unknown): boolean {
  if (before === after) return true;
  if (typeof before !== "object" || typeof after !== "object") return false;
  if (Array.isArray(before)) {
    if (!Array.isArray(after) || before.length !== after.length) return false;
    for (let index = 0; index < before.length; index += 1) if (!isSame(before[index], after[index])) return false;
    return true;
  }
  if (before instanceof Map) {
    if (!(after instanceof Map) || before.size !== after.size) return false;
    for (const [key, item] of before) if (!isSame(item, after.get(key))) return false;
    return true;
  }
  const former = before as Source;
  const latter = after as Source;
  for (const json in former) if (!isSame(former[json], latter[json])) return false;
  for (const json in latter) if (former[json] === undefined && latter[json] !== undefined) return false;
  return true;
}

/** Whether the items of every list in a field's content can be told apart. */
function areDistinctIn(tracked: Tracked, content: unknown, depth: number): boolean {
  const { slot, list, message } = tracked;
  if (list !== undefined && !areDistinct(tracked, list, content as readonly unknown[])) return false;
  if (message === undefined) return true;
  if (slot.cardinality === "one") return areDistinctBelow(message, content as Source, depth + 1);
  const items = content as readonly unknown[] | ReadonlyMap<string, unknown>;
  for (const item of items.values()) if (!areDistinctBelow(message, item as Source, depth + 1)) return false;
  return true;
}

function areDistinctBelow(message: Message, object: Source, depth: number): boolean {
  if (depth > depthMax) return false;
  for (const tracked of fieldsWithLists(message)) {
    const content = object[tracked.slot.json];
    if (content !== undefined && !areDistinctIn(tracked, content, depth)) return false;
  }
  return true;
}

/** Whether a list's items can be told apart. */
function areDistinct(tracked: Tracked, type: ListType, list: readonly unknown[]): boolean {
  const elements: PathElement[] = [];
  for (const item of list) {
    const element = elementOf(tracked, type, item);
    if (element === undefined) return false;
    elements.push(element);
  }
  if (elements.length <= fewItems) return elements.every((element, index) => elements.indexOf(element) === index);
  return new Set(elements).size === elements.length;
}

/** Up to so many texts are compared with one another. */
const fewItems = 8;

// --- What lies in parts that are owned as a whole -------------------------------------------------------------------

const withHidden = new WeakMap<Message, readonly Tracked[]>();
const withAny = new WeakMap<Message, readonly Tracked[]>();

/**
 * Whether items can be told apart in those lists, too, that lie in what is owned as a whole: upstream looks at all of an
 * object (the addresses of an endpoint slice's endpoint, the finalizers of a claim's template).
 */
export function isDistinctWithin(message: Message, object: object): boolean {
  return isDistinctBelow(message, object as Source, false, 0);
}

function isDistinctBelow(message: Message, object: Source, isWhole: boolean, depth: number): boolean {
  // What is deeper is compared by src/merge, which has a bound of its own.
  if (depth > depthMax) return true;
  for (const tracked of isWhole ? fieldsWithAny(message) : fieldsWithHidden(message)) {
    const { slot, list } = tracked;
    const content = object[slot.json];
    if (content === undefined) continue;
    if (isWhole && list !== undefined && !areDistinct(tracked, list, content as readonly unknown[])) return false;
    const inner = contentOf(slot);
    if (inner === undefined) continue;
    const below = isWhole || tracked.message === undefined;
    const items =
      slot.cardinality === "one" ? [content] : (content as readonly unknown[] | ReadonlyMap<string, unknown>).values();
    for (const item of items) if (!isDistinctBelow(inner, item as Source, below, depth + 1)) return false;
  }
  return true;
}

function contentOf(slot: Slot): Message | undefined {
  return slot.shape === shapes.message ? slot.message : undefined;
}

function fieldsWithHidden(message: Message): readonly Tracked[] {
  let fields = withHidden.get(message);
  if (fields === undefined) {
    fields = trackedFields(message).filter((tracked) => hasHidden(tracked, new Set()));
    withHidden.set(message, fields);
  }
  return fields;
}

/** Whether a field holds a part that is owned as a whole and has lists in it of which the items are told apart. */
function hasHidden({ slot, message }: Tracked, seen: Set<Message>): boolean {
  const inner = contentOf(slot);
  if (inner === undefined || seen.has(inner)) return false;
  if (message === undefined) return fieldsWithAny(inner).length > 0;
  seen.add(inner);
  return trackedFields(inner).some((tracked) => hasHidden(tracked, seen));
}

function fieldsWithAny(message: Message): readonly Tracked[] {
  let fields = withAny.get(message);
  if (fields === undefined) {
    fields = trackedFields(message).filter((tracked) => hasAny(tracked, new Set()));
    withAny.set(message, fields);
  }
  return fields;
}

function hasAny({ slot, list }: Tracked, seen: Set<Message>): boolean {
  if (list !== undefined) return true;
  const inner = contentOf(slot);
  if (inner === undefined || seen.has(inner)) return false;
  seen.add(inner);
  return trackedFields(inner).some((tracked) => hasAny(tracked, seen));
}
