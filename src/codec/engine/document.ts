// From a typed object to a generic document, without JSON text: patches are applied to it and field
// managers are found in. @hot: every write passes here. It contains the fields encode.ts writes; a test compares the
// two together.
import type { Message, RawJson } from "../../api/schema.ts";
import type { Value, ValueMap } from "../../api/value.ts";
import { assert } from "../../base/assert.ts";
import { Fault } from "../json/fault.ts";
import { parseOwn } from "../json/scan.ts";
import { sortedKeys } from "../json/write.ts";
import { contentKey } from "./content.ts";
import { encodeSlot } from "./encode.ts";
import { type Plan, planOf, type Slot, shapes, slotPlan } from "./plan.ts";

type Source = Readonly<Record<string, unknown>>;

const nothing: Source = Object.freeze({});

/** The object as a generic Value, to which patches are applied. */
export function toValue(message: Message, object: object): Value {
  return documentOf(planOf(message), object as Source);
}

function documentOf(plan: Plan, object: Source): Value {
  const document = new Map<string, Value>();
  for (const slot of plan.slots) {
    const value = fieldValue(slot, object[slot.json]);
    if (value !== undefined) document.set(slot.json, value);
  }
  if (plan.open) {
    for (const [key, value] of (object[contentKey] as ValueMap | undefined) ?? []) document.set(key, value);
  }
  return document;
}

/** The value of a field in the document of its object; undefined where it is omitted. */
export function fieldValue(slot: Slot, value: unknown): Value | undefined {
  if (value === undefined) return slot.always ? absentValue(slot) : undefined;
  if (slot.cardinality === "one") {
    const zero = value === "" || value === 0 || value === false;
    return zero && slot.dropsZero && slot.shape <= shapes.bytes ? undefined : oneValue(slot, value);
  }
  if (slot.cardinality === "list") {
    const list = value as readonly unknown[];
    if (list.length > 0) return listValue(slot, list);
    return slot.always ? (slot.emptyIsNull ? null : []) : undefined;
  }
  const map = value as ReadonlyMap<string, unknown>;
  if (map.size > 0) return mapValue(slot, map);
  return slot.always ? (slot.emptyIsNull ? null : new Map()) : undefined;
}

/** A field that is always written and is not there: the zero of its type. */
function absentValue(slot: Slot): Value {
  if (slot.cardinality !== "one" || slot.pointer) return null;
  switch (slot.shape) {
    case shapes.message:
      return documentOf(slotPlan(slot), nothing);
    case shapes.string:
      return "";
    case shapes.bool:
      return false;
    case shapes.quantity:
      return "0";
    case shapes.duration:
      return "0s";
    case shapes.union:
      return parsed(encodeSlot(slot, nothing));
    case shapes.int:
    case shapes.float:
    case shapes.intOrString:
      return 0;
    default:
      return null;
  }
}

function oneValue(slot: Slot, value: unknown): Value {
  switch (slot.shape) {
    case shapes.string:
    case shapes.quantity:
    case shapes.duration:
    case shapes.bool:
      return value as string | boolean;
    case shapes.bytes:
      return value as string | null;
    case shapes.message:
      return documentOf(slotPlan(slot), value as Source);
    case shapes.int:
    case shapes.intOrString:
      // -0 is written as 0.
      return value === 0 ? 0 : (value as number | bigint | string);
    case shapes.time:
      return value === "" ? null : (value as string);
    case shapes.strings:
      return [...(value as readonly string[])];
    case shapes.raw:
      return parsed((value as RawJson).text);
    case shapes.float:
    case shapes.union:
      return parsed(encodeSlot(slot, value));
  }
}

function listValue(slot: Slot, list: readonly unknown[]): Value {
  const items: Value[] = [];
  for (const item of list) items.push(oneValue(slot, item));
  return items;
}

function mapValue(slot: Slot, map: ReadonlyMap<string, unknown>): Value {
  const entries = new Map<string, Value>();
  for (const key of sortedKeys(map)) entries.set(key, oneValue(slot, map.get(key)));
  return entries;
}

function parsed(text: string): Value {
  const value = parseOwn(text);
  assert(!(value instanceof Fault), "An encoded object does not parse");
  return value;
}
