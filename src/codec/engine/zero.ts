// Go's zero values in typed objects: the result of decoding an empty document, JSON or protobuf.
import { type Message, RawJson } from "../../api/schema.ts";
import { contentKey } from "./content.ts";
import { type Plan, planOf, type Slot, shapes, slotPlan } from "./plan.ts";

/** An object of `message` with nothing but the fields that are always there. */
export function zeroOf<T extends object>(message: Message): T {
  return zero(planOf(message)) as T;
}

function zero(plan: Plan): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const slot of plan.present) object[slot.json] = zeroOfSlot(slot);
  if (plan.open) object[contentKey] = new Map();
  return object;
}

/** One value of a slot; of a list or map, an item. */
export function zeroOfSlot(slot: Slot): unknown {
  switch (slot.shape) {
    case shapes.message:
    case shapes.union:
      return zero(slotPlan(slot));
    case shapes.string:
    case shapes.bytes:
    case shapes.time:
      return "";
    case shapes.bool:
      return false;
    case shapes.quantity:
      return "0";
    case shapes.duration:
      return "0s";
    case shapes.raw:
      return new RawJson("null");
    case shapes.strings:
      return [];
    case shapes.int:
    case shapes.float:
    case shapes.intOrString:
      return 0;
  }
}
