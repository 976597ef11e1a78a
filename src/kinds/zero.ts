// The zero value of a message, as decoding an empty JSON object makes it.
import type { Field, Message, ScalarType } from "../api/schema.ts";

const zeros: Readonly<Partial<Record<ScalarType | "message", unknown>>> = {
  string: "",
  bool: false,
  int32: 0,
  int64: 0,
  uint32: 0,
  uint64: 0,
  IntOrString: 0,
  Quantity: "0",
};

/** A new struct of `message` with nothing set: structs that are always there are, numbers that are always written are 0. */
export function zeroOf<T extends object>(message: Message): T {
  const struct: Record<string, unknown> = {};
  for (const field of message.fields) fill(struct, field);
  return struct as T;
}

function fill(struct: Record<string, unknown>, field: Field): void {
  if (field.cardinality !== "one" || field.pointer) return;
  if (field.message !== undefined) {
    const inner = zeroOf(field.message);
    if (field.inline) Object.assign(struct, inner);
    else struct[field.json] = inner;
  } else if (!field.omitEmpty) {
    const zero = zeros[field.type];
    if (zero !== undefined) struct[field.json] = zero;
  }
}
