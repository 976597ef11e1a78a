// JSON on both sides of the type engine: bytes to Value, Value to a typed object and back to bytes.
import type { Message } from "../api/schema.ts";
import type { Value } from "../api/value.ts";
import { assert } from "../base/assert.ts";
import { encode } from "./encode.ts";
import { Fault } from "./fault.ts";
import { parseText } from "./scan.ts";

export { decode, zeroOf } from "./decode.ts";
export { encode, encodeForStore } from "./encode.ts";
export { Fault, isFault } from "./fault.ts";
export { parseJson, parseText, textOf } from "./scan.ts";
export { compareBytes, quote, writeValue } from "./write.ts";

/** The object as a generic Value: what patches are applied to. */
export function toValue(message: Message, object: object): Value {
  const value = parseText(encode(message, object));
  assert(!(value instanceof Fault), "What was encoded parses");
  return value;
}
