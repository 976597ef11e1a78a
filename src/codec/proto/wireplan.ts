// The protobuf codec's plan of a message: its fields in the order of their numbers, with the bytes of their
// keys. Inlined messages are messages of their own here: they share their parent's object, not its bytes.
import type { Message } from "../../api/schema.ts";
import { assert } from "../../base/assert.ts";
import { planOf, type Shape, type Slot, shapes } from "../engine/plan.ts";

/** Wire types of protobuf's encoding. */
export const wireTypes = { varint: 0, fixed64: 1, bytes: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const;

/** A field on the wire. */
export interface WireField {
  readonly number: number;
  /** Number and wire type, as the value of the varint before the field. */
  readonly key: number;
  readonly wireType: number;
  /** Undefined: the message's properties are in the parent's object. */
  readonly slot: Slot | undefined;
  readonly shape: Shape;
  /** Written even when absent from the object: Go holds the value itself, not a pointer to it. */
  readonly always: boolean;
  /** Undefined but for messages; its plan is made on demand, since types are recursive. */
  readonly message: Message | undefined;
}

/** A message on the wire. */
export interface WirePlan {
  readonly message: Message;
  /** By falling number: messages are written from their end. */
  readonly reversed: readonly WireField[];
  /** Each at its number; upstream's are small. */
  readonly byNumber: readonly (WireField | undefined)[];
}

const plans = new WeakMap<Message, WirePlan>();

/** The wire plan of a message. */
export function wirePlanOf(message: Message): WirePlan {
  return plans.get(message) ?? makePlan(message);
}

function makePlan(message: Message): WirePlan {
  const { byName } = planOf(message);
  const fields = message.fields.map((field): WireField => {
    const slot = field.inline ? undefined : byName.get(field.json);
    assert(field.inline || slot !== undefined, `${message.name} has no field ${field.json}`);
    const shape = slot?.shape ?? shapes.message;
    const wireType = slot?.cardinality === "map" ? wireTypes.bytes : wireTypeOf(shape, field.type === "float");
    const one = field.cardinality === "one";
    return {
      number: field.number,
      key: field.number * 8 + wireType,
      wireType,
      slot,
      shape,
      always: one && !field.pointer && shape !== shapes.bytes,
      message: field.message,
    };
  });
  const reversed = fields.toSorted((a, b) => b.number - a.number);
  const byNumber = new Array<WireField | undefined>((reversed[0]?.number ?? 0) + 1).fill(undefined);
  for (const field of fields) byNumber[field.number] = field;
  const plan: WirePlan = { message, reversed, byNumber };
  plans.set(message, plan);
  return plan;
}

function wireTypeOf(shape: Shape, single: boolean): number {
  if (shape === shapes.bool || shape === shapes.int) return wireTypes.varint;
  if (shape === shapes.float) return single ? wireTypes.fixed32 : wireTypes.fixed64;
  return wireTypes.bytes;
}
