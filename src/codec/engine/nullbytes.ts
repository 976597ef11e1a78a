// Bytes in maps (data of secrets, binaryData of config maps) that are null. Upstream makes null of empty bytes where an
// object goes through its generic form, keeps that apart from empty in its store, and reads both back as empty. So here a
// write has null in memory, and the stored value is empty, with a mark that it was null.
import type { Message } from "../../api/schema.ts";
import { planOf, type Slot, shapes } from "./plan.ts";

type Bags = Readonly<Record<string, Map<string, string | null> | undefined>>;

const known = new WeakMap<Message, readonly Slot[]>();

/** The fields of an object, its own and not those below them, that are maps of bytes: most kinds have none. */
function bagsOf(message: Message): readonly Slot[] {
  let slots = known.get(message);
  if (slots === undefined) {
    slots = planOf(message).slots.filter(({ cardinality, shape }) => cardinality === "map" && shape === shapes.bytes);
    known.set(message, slots);
  }
  return slots;
}

/** Replaces empty bytes by null, in place, as upstream's generic form does. */
export function nullEmptyBytes(message: Message, object: object): void {
  for (const { json } of bagsOf(message)) {
    const bag = (object as Bags)[json];
    if (bag === undefined) continue;
    for (const [key, value] of bag) if (value === "") bag.set(key, null);
  }
}

/** Makes empty bytes of null, in the place; false where there were none. */
export function settleNullBytes(message: Message, object: object): boolean {
  let found = false;
  for (const { json } of bagsOf(message)) {
    for (const [key, value] of (object as Bags)[json] ?? []) {
      if (value !== null) continue;
      (object as Bags)[json]?.set(key, "");
      found = true;
    }
  }
  return found;
}
