// From a typed object to JSON text. @hot: every write and every answer that is not stored bytes passes here.
// Keys in schema order, empty fields left out or written as upstream writes them (`status: {}`,
// `creationTimestamp: null`), map keys in the order of their bytes. Text is joined as one string and turned into bytes
// once: that is faster here than writing bytes piece by piece.
import type { Message, RawJson } from "../../api/schema.ts";
import type { ValueMap } from "../../api/value.ts";
import { assert } from "../../base/assert.ts";
import { quote, sortedKeys, writeSorted } from "../json/write.ts";
import { contentKey } from "./content.ts";
import { type Plan, planOf, type Slot, shapes, slotPlan } from "./plan.ts";
import { settledOf } from "./settled.ts";

type Source = Readonly<Record<string, unknown>>;

const nothing: Source = Object.freeze({});

/** The object's JSON text, keys in schema order, without a newline. */
export function encode(message: Message, object: object): string {
  return writeMessage(planOf(message), object as Source, false);
}

/**
 * The object's JSON as it is stored: resourceVersion empty, and where its digits go (an offset in bytes). `lead`: so many
 * bytes of the body's buffer are free in front of it. The body is not to be kept: small ones share memory with others, since
 * they are gone with their request, and memory for each costs more than what is written.
 */
export function encodeForStore(
  message: Message,
  object: object,
  lead = 0,
): { body: Buffer<ArrayBuffer>; versionAt: number } {
  const source = object as Source;
  const text = writeMessage(planOf(message), source, true);
  const metadataAt = text.indexOf(metadataKey);
  assert(metadataAt >= 0, "Only objects with metadata are stored");
  // Names before it cannot contain it: quotes within strings are escaped.
  const gapAt = text.indexOf(versionGap, metadataAt);
  assert(gapAt >= 0, "The gap for the version was written");
  const charsBefore = gapAt + versionGap.length - 1;
  const bytes = Buffer.allocUnsafe(lead + Buffer.byteLength(text));
  const length = bytes.length - lead;
  // Nearly all objects are ASCII: characters are bytes then.
  bytes.write(text, lead, length === text.length ? "latin1" : "utf8");
  const versionAt = length === text.length ? charsBefore : Buffer.byteLength(text.slice(0, charsBefore));
  return { body: lead === 0 ? bytes : bytes.subarray(lead), versionAt };
}

const metadataKey = '"metadata":';
const versionGap = '"resourceVersion":""';

/** `stored`: the object is an API object, whose metadata.resourceVersion is written, and empty. */
function writeMessage(plan: Plan, object: Source, stored: boolean): string {
  let text = "{";
  for (const slot of plan.slots) {
    const value = object[slot.json];
    const field = stored ? writeStoredField(slot, value) : writeField(slot, value);
    if (field !== "") text += separator(text) + field;
  }
  if (plan.open) text += writeContent(object, separator(text));
  return `${text}}`;
}

/** The fields an open message has beside its own. */
function writeContent(object: Source, separator: string): string {
  const content = object[contentKey] as ValueMap | undefined;
  return content === undefined || content.size === 0 ? "" : separator + writeSorted(content).slice(1, -1);
}

/** A field of an API object itself: what many objects share is written once (settled.ts). */
function writeStoredField(slot: Slot, value: unknown): string {
  if (slot.json === "metadata") return metadataKey + writeStoredMeta(slotPlan(slot), (value ?? nothing) as Source);
  const shared = typeof value === "object" && value !== null ? settledOf(value) : undefined;
  if (shared?.json !== undefined) return shared.json;
  const field = writeField(slot, value);
  shared?.keepJson(field);
  return field;
}

/** metadata with an empty resourceVersion in its place. */
function writeStoredMeta(plan: Plan, meta: Source): string {
  let text = "{";
  for (const slot of plan.slots) {
    const field = slot.json === "resourceVersion" ? versionGap : writeField(slot, meta[slot.json]);
    if (field !== "") text += separator(text) + field;
  }
  return `${text}}`;
}

/** Key and value, or nothing where the field is left out. */
function writeField(slot: Slot, value: unknown): string {
  if (value === undefined) return slot.always ? slot.jsonKey + writeAbsent(slot) : "";
  if (slot.cardinality === "one") {
    const zero = value === "" || value === 0 || value === false;
    return zero && slot.dropsZero && slot.shape <= shapes.bytes ? "" : slot.jsonKey + writeOne(slot, value);
  }
  if (slot.cardinality === "list") {
    const list = value as readonly unknown[];
    if (list.length > 0) return slot.jsonKey + writeList(slot, list);
    return slot.always ? slot.jsonKey + (slot.emptyIsNull ? "null" : "[]") : "";
  }
  const map = value as ReadonlyMap<string, unknown>;
  if (map.size > 0) return slot.jsonKey + writeMap(slot, map);
  return slot.always ? slot.jsonKey + (slot.emptyIsNull ? "null" : "{}") : "";
}

/** A comma, but for the first field. */
function separator(text: string): string {
  return text.length === 1 ? "" : ",";
}

/** A field that is always written and is not there: the zero of its type. */
function writeAbsent(slot: Slot): string {
  if (slot.cardinality !== "one" || slot.pointer) return "null";
  switch (slot.shape) {
    case shapes.message:
      return writeMessage(slotPlan(slot), nothing, false);
    case shapes.string:
      return '""';
    case shapes.bool:
      return "false";
    case shapes.quantity:
      return '"0"';
    case shapes.duration:
      return '"0s"';
    case shapes.union:
      return writeUnion(slot, nothing);
    case shapes.int:
    case shapes.float:
    case shapes.intOrString:
      return "0";
    default:
      return "null";
  }
}

/** JSON text of one value of a field: an item of a list, a value of a map, or the one there is. */
export function encodeSlot(slot: Slot, value: unknown): string {
  return writeOne(slot, value);
}

function writeOne(slot: Slot, value: unknown): string {
  switch (slot.shape) {
    case shapes.string:
    case shapes.quantity:
    case shapes.duration:
      return quote(value as string);
    case shapes.message:
      return writeMessage(slotPlan(slot), value as Source, false);
    case shapes.int:
    case shapes.float:
    case shapes.bool:
      // Adding the empty string would print -0 as 0, too: so does Go's int64.
      return String(value);
    case shapes.intOrString:
      return typeof value === "string" ? quote(value) : String(value);
    case shapes.time:
      return value === "" ? "null" : `"${value as string}"`;
    case shapes.bytes:
      return value === null ? "null" : `"${value as string}"`;
    case shapes.raw:
      return (value as RawJson).text;
    case shapes.strings:
      return writeStrings(value as readonly string[]);
    case shapes.union:
      return writeUnion(slot, value as Source);
  }
}

function writeList(slot: Slot, list: readonly unknown[]): string {
  let text = "[";
  for (const item of list) text += separator(text) + writeOne(slot, item);
  return `${text}]`;
}

function writeMap(slot: Slot, map: ReadonlyMap<string, unknown>): string {
  let text = "{";
  for (const key of sortedKeys(map)) text += `${separator(text)}${quote(key)}:${writeOne(slot, map.get(key))}`;
  return `${text}}`;
}

function writeStrings(list: readonly string[]): string {
  let text = "[";
  for (const item of list) text += separator(text) + quote(item);
  return `${text}]`;
}

/** JSONSchemaPropsOrBool, OrArray, OrStringArray. */
function writeUnion(slot: Slot, value: Source): string {
  const plan = slotPlan(slot);
  const { schema } = value;
  const schemaSlot = plan.byName.get("schema");
  assert(schemaSlot !== undefined, "Every union has a schema");
  const schemaText = (): string =>
    schema === undefined ? "null" : writeMessage(slotPlan(schemaSlot), schema as Source, false);
  if (plan.union === "JSONSchemaPropsOrBool") {
    return schema !== undefined ? schemaText() : value["allows"] === true ? "true" : "false";
  }
  const listSlot = plan.byName.get(plan.union === "JSONSchemaPropsOrArray" ? "jSONSchemas" : "property");
  assert(listSlot !== undefined, "These unions have a list");
  const list = (value[listSlot.json] ?? []) as readonly unknown[];
  return list.length > 0 ? writeList(listSlot, list) : schemaText();
}
