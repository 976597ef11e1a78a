// JSON on both sides of the type engine: bytes to Value, Value to a typed object and back to bytes.
import type { Message } from "../api/schema.ts";
import type { Value } from "../api/value.ts";
import { unreachable } from "../base/assert.ts";

/** Input that is not what it should be; the message is the reference's, without the "… cannot be handled as …" frame. */
export class Fault {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

/** Parses one JSON document; duplicate keys: the last one wins. */
export function parseJson(_bytes: Uint8Array): Value | Fault {
  return unreachable("Not built yet");
}

/** A generic Value becomes an object of `message` (see api/schema.ts for the shape in memory); unknown fields are dropped. */
export function decode<T extends object>(_message: Message, _value: Value): T | Fault {
  return unreachable("Not built yet");
}

/** The object's JSON text, keys in schema order, without a newline. */
export function encode(_message: Message, _object: object): string {
  return unreachable("Not built yet");
}

/** The object's JSON as it is stored: resourceVersion empty, and where its digits go. */
export function encodeForStore(
  _message: Message,
  _object: object,
): { body: Uint8Array<ArrayBuffer>; versionAt: number } {
  return unreachable("Not built yet");
}

/** The object as a generic Value: what patches are applied to. */
export function toValue(_message: Message, _object: object): Value {
  return unreachable("Not built yet");
}

/** Compact JSON of a Value; strings escaped as the reference does (`<`, `>`, `&`, U+2028, U+2029 included). */
export function writeValue(_value: Value): string {
  return unreachable("Not built yet");
}
