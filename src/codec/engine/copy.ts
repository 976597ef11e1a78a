// A second typed object that shares nothing with the first that is ever changed. @hot: a patch starts from one.
// The plan lists the fields with lists, maps and messages; texts, numbers and raw JSON are never changed in place.
import type { Message } from "../../api/schema.ts";
import type { ValueMap } from "../../api/value.ts";
import { contentKey, ownContent } from "./content.ts";
import { planOf, type Slot, shapes, slotPlan } from "./plan.ts";

type Target = Record<string, unknown>;

/** A copy of an object of `message` as decode() makes it. */
export function copyObject<T extends object>(message: Message, object: T): T {
  const plan = planOf(message);
  const source = object as Target;
  const copy: Target = {};
  for (const json in source) {
    const value = source[json];
    const slot = typeof value === "object" && value !== null ? plan.byName.get(json) : undefined;
    copy[json] = slot === undefined ? value : copyField(slot, value);
  }
  if (plan.open) copy[contentKey] = ownContent(source[contentKey] as ValueMap);
  return copy as T;
}

/** A copy of a field's value. */
export function copyField(slot: Slot, value: unknown): unknown {
  if (slot.cardinality === "list") return (value as readonly unknown[]).map((item) => copyOne(slot, item));
  if (slot.cardinality !== "map") return copyOne(slot, value);
  const map = new Map<string, unknown>();
  for (const [key, item] of value as ReadonlyMap<string, unknown>) map.set(key, copyOne(slot, item));
  return map;
}

/** A copy of an item, an entry or the one value there is. */
function copyOne(slot: Slot, value: unknown): unknown {
  switch (slot.shape) {
    case shapes.message:
    case shapes.union:
      return value === undefined ? undefined : copyObject(slotPlan(slot).message, value as Target);
    case shapes.strings:
      return (value as readonly string[] | undefined)?.slice();
    default:
      return value;
  }
}
