// From a generic document to a typed object. @hot: every body passes here.
// Strict in types as Go's decoder is and with its error texts: the first mismatch is reported after the whole document
// was read, unless a value with a reader of its own (Time, Quantity, IntOrString …) refuses earlier or later, which ends
// Go's decoding at once. Unknown fields are dropped; keys are case-sensitive; null leaves scalars as they are.
import { canonicalDuration } from "../../api/duration.ts";
import { canonicalText, isPlainCanonical, quantityErrors } from "../../api/quantity.ts";
import type { Message } from "../../api/schema.ts";
import { canonicalTime, TimeError } from "../../api/time.ts";
import { NumberText, type Value } from "../../api/value.ts";
import { assert } from "../../base/assert.ts";
import { limits } from "../../config/limits.ts";
import { canonicalBase64 } from "../json/base64.ts";
import { Fault } from "../json/fault.ts";
import { rawOf } from "../json/remembered.ts";
import { writeValue } from "../json/write.ts";
import { contentKey, ownContent } from "./content.ts";
import { type Plan, planOf, type Slot, shapes, slotPlan } from "./plan.ts";
import { zeroOfSlot } from "./zero.ts";

/** A decoded message: properties named by its schema. */
type Target = Record<string, unknown>;

/** One decoding. Paths are kept on a stack of slots, so that naming the place costs nothing until it is needed. */
class Decoding {
  readonly path: Slot[] = [];
  depth = 0;
  /** First mismatch of types: reported if nothing ends the decoding. */
  mismatch: string | undefined = undefined;
  /** First refusal that ends Go's decoding. */
  refusal: string | undefined = undefined;
}

/** A generic Value becomes an object of `message` (see api/schema.ts for the shape in memory); unknown fields are dropped. */
export function decode<T extends object>(message: Message, value: Value): T | Fault {
  const decoding = new Decoding();
  const plan = planOf(message);
  const object = decodeMessage(decoding, plan, value, plan.goName);
  const fault = decoding.refusal ?? decoding.mismatch;
  return fault === undefined ? (object as T) : new Fault(fault);
}

/** Go's name for the type of a value. Numbers show their text only where they could have fit. */
function kindOf(value: Value): string {
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  if (Array.isArray(value)) return "array";
  return value instanceof Map ? "object" : value === null ? "null" : "number";
}

function mismatch(decoding: Decoding, kind: string, goType: string): undefined {
  decoding.mismatch ??= describe(decoding, kind, goType);
  return undefined;
}

function describe(decoding: Decoding, kind: string, goType: string): string {
  const { path } = decoding;
  const slot = path[path.length - 1];
  if (slot === undefined) return `json: cannot unmarshal ${kind} into Go value of type ${goType}`;
  const names = path.map((s) => s.json).join(".");
  return `json: cannot unmarshal ${kind} into Go struct field ${slot.structName}.${names} of type ${goType}`;
}

function refuse(decoding: Decoding, text: string): undefined {
  decoding.refusal ??= text;
  return undefined;
}

function decodeMessage(decoding: Decoding, plan: Plan, value: Value, goType: string): Target {
  const object: Target = {};
  const content = plan.open ? new Map<string, Value>() : undefined;
  for (const slot of plan.present) {
    if (slot.shape !== shapes.message) object[slot.json] = zeroOfSlot(slot);
  }
  if (value instanceof Map) {
    if (decoding.depth >= limits.messageDepthMax) {
      refuse(decoding, "exceeded max depth");
      return object;
    }
    decoding.depth += 1;
    for (const [key, item] of value) {
      const slot = plan.byName.get(key);
      if (slot === undefined) {
        if (content !== undefined) content.set(key, item);
        continue;
      }
      // Upstream reads the metadata of untyped objects separately.
      if (!plan.open) decoding.path.push(slot);
      decodeSlot(decoding, slot, item, object);
      if (!plan.open) decoding.path.pop();
    }
    decoding.depth -= 1;
  } else if (value !== null) {
    mismatch(decoding, kindOf(value), goType);
  }
  if (content !== undefined) {
    const tooLarge = (number: string): unknown => mismatch(decoding, `number ${number}`, "float64");
    object[contentKey] = ownContent(content, tooLarge);
  }
  // Nested messages last: most are there already, and an absent one costs an object.
  for (const slot of plan.present) {
    if (slot.shape === shapes.message && object[slot.json] === undefined) object[slot.json] = zeroOfSlot(slot);
  }
  return object;
}

function decodeSlot(decoding: Decoding, slot: Slot, value: Value, object: Target): void {
  if (slot.cardinality === "list") {
    if (value !== null) object[slot.json] = decodeList(decoding, slot, value);
    return;
  }
  if (slot.cardinality === "map") {
    if (value !== null) object[slot.json] = decodeMap(decoding, slot, value);
    return;
  }
  // Null: nil for a pointer, no change for a value. Values with readers of their own take it as their zero.
  if (value === null) {
    if (slot.shape === shapes.union && !slot.pointer) object[slot.json] = decodeUnion(decoding, slot, value);
    return;
  }
  const decoded = decodeOne(decoding, slot, value, slot.goType);
  if (decoded === undefined) return;
  if (slot.dropsZero && (decoded === "" || decoded === 0 || decoded === false) && slot.shape <= shapes.bytes) return;
  object[slot.json] = decoded;
}

function decodeList(decoding: Decoding, slot: Slot, value: Value): unknown[] | undefined {
  if (!Array.isArray(value)) return mismatch(decoding, kindOf(value), slot.goType);
  const list: unknown[] = [];
  for (const item of value) list.push(decodeItem(decoding, slot, item));
  return list;
}

function decodeMap(decoding: Decoding, slot: Slot, value: Value): Map<string, unknown> | undefined {
  if (!(value instanceof Map)) return mismatch(decoding, kindOf(value), slot.goType);
  const map = new Map<string, unknown>();
  for (const [key, item] of value) map.set(key, decodeItem(decoding, slot, item));
  return map;
}

/** An item of a list or a value of a map: null is the zero value here, but for the bytes of a map (upstream keeps it). */
function decodeItem(decoding: Decoding, slot: Slot, value: Value): unknown {
  if (value === null && slot.shape === shapes.bytes && slot.cardinality === "map") return null;
  if (value !== null) {
    const decoded = decodeOne(decoding, slot, value, slot.goItem);
    return decoded === undefined ? zeroOfSlot(slot) : decoded;
  }
  return slot.shape === shapes.union ? decodeUnion(decoding, slot, value) : zeroOfSlot(slot);
}

/** One value that is not null. Undefined: refused, or Go's zero time. */
function decodeOne(decoding: Decoding, slot: Slot, value: Value, goType: string): unknown {
  switch (slot.shape) {
    case shapes.string:
      return typeof value === "string" ? value : mismatch(decoding, kindOf(value), goType);
    case shapes.message:
      return decodeMessage(decoding, slotPlan(slot), value, goType);
    case shapes.int:
      return decodeInt(decoding, slot, value, goType);
    case shapes.bool:
      return typeof value === "boolean" ? value : mismatch(decoding, kindOf(value), goType);
    case shapes.quantity:
      return decodeQuantity(decoding, value);
    case shapes.intOrString:
      return decodeIntOrString(decoding, value);
    case shapes.time:
      return decodeTime(decoding, slot, value);
    case shapes.bytes:
      return decodeBytes(decoding, value, goType);
    case shapes.raw:
      return rawOf(value);
    case shapes.float:
      return decodeFloat(decoding, value, goType);
    case shapes.strings:
      return decodeStrings(decoding, value, goType);
    case shapes.union:
      return decodeUnion(decoding, slot, value);
    case shapes.duration:
      return decodeDuration(decoding, value);
  }
}

function decodeInt(decoding: Decoding, slot: Slot, value: Value, goType: string): number | bigint | undefined {
  if (typeof value === "number" || typeof value === "bigint") {
    // Adding zero turns -0 into 0.
    if (value >= slot.min && value <= slot.max) return typeof value === "number" ? value + 0 : value;
  } else if (!(value instanceof NumberText)) {
    return mismatch(decoding, kindOf(value), goType);
  }
  return mismatch(decoding, `number ${numberText(value)}`, goType);
}

/** A number as it was sent. */
function numberText(value: number | bigint | NumberText): string {
  if (value instanceof NumberText) return value.text;
  return Object.is(value, -0) ? "-0" : String(value);
}

function decodeFloat(decoding: Decoding, value: Value, goType: string): number | undefined {
  if (typeof value !== "number" && typeof value !== "bigint" && !(value instanceof NumberText)) {
    return mismatch(decoding, kindOf(value), goType);
  }
  const float = Number(numberText(value));
  return Number.isFinite(float) ? float : mismatch(decoding, `number ${numberText(value)}`, goType);
}

function decodeQuantity(decoding: Decoding, value: Value): string | undefined {
  if (typeof value === "string" && isPlainCanonical(value)) return value;
  const text = typeof value === "string" ? value.trim() : writeValue(value);
  const canonical = canonicalText(text);
  return typeof canonical === "string" ? refuse(decoding, quantityErrors[canonical]) : canonical.text;
}

function decodeIntOrString(decoding: Decoding, value: Value): number | string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "number" && value >= -2147483648 && value <= 2147483647) return value + 0;
  const number = typeof value === "number" || typeof value === "bigint" || value instanceof NumberText;
  return refuse(decoding, describe(decoding, number ? `number ${numberText(value)}` : kindOf(value), "int32"));
}

function decodeTime(decoding: Decoding, slot: Slot, value: Value): string | undefined {
  if (typeof value !== "string") return refuse(decoding, describe(decoding, kindOf(value), "string"));
  const time = canonicalTime(value, slot.field.type === "MicroTime" ? "MicroTime" : "Time");
  return time instanceof TimeError ? refuse(decoding, time.message) : time;
}

function decodeDuration(decoding: Decoding, value: Value): string | undefined {
  if (typeof value !== "string") return refuse(decoding, describe(decoding, kindOf(value), "string"));
  const duration = canonicalDuration(value);
  return duration ?? refuse(decoding, `time: invalid duration ${JSON.stringify(value)}`);
}

function decodeBytes(decoding: Decoding, value: Value, goType: string): string | undefined {
  if (typeof value === "string") {
    const bytes = canonicalBase64(value);
    if (typeof bytes === "string") return bytes;
    decoding.mismatch ??= bytes.message;
    return undefined;
  }
  if (!Array.isArray(value)) return mismatch(decoding, kindOf(value), goType);
  // Go takes a list of numbers for bytes, too.
  const bytes = Buffer.alloc(value.length);
  for (const [index, item] of value.entries()) {
    if (typeof item === "number" && item >= 0 && item <= 255) bytes[index] = item;
    else if (typeof item === "number" || typeof item === "bigint" || item instanceof NumberText) {
      mismatch(decoding, `number ${numberText(item)}`, "uint8");
    } else if (item !== null) mismatch(decoding, kindOf(item), "uint8");
  }
  return bytes.toString("base64");
}

function decodeStrings(decoding: Decoding, value: Value, goType: string): string[] | undefined {
  if (!Array.isArray(value)) return mismatch(decoding, kindOf(value), goType);
  return value.map((item) => {
    if (typeof item === "string") return item;
    if (item !== null) mismatch(decoding, kindOf(item), "string");
    return "";
  });
}

/** JSONSchemaPropsOrBool, OrArray and OrStringArray: the JSON is the schema, or the other thing. */
function decodeUnion(decoding: Decoding, slot: Slot, value: Value): Target | undefined {
  const plan = slotPlan(slot);
  const part = (name: string): Slot => {
    const found = plan.byName.get(name);
    assert(found !== undefined, `${plan.goName} has no ${name}`);
    return found;
  };
  const schema = part("schema");
  const isBool = plan.union === "JSONSchemaPropsOrBool";
  if (value instanceof Map) {
    const of = slotPlan(schema);
    const decoded = decodeMessage(decoding, of, value, of.goName);
    return isBool ? { allows: true, schema: decoded } : { schema: decoded };
  }
  if (isBool) {
    return typeof value === "boolean" ? { allows: value } : refuse(decoding, "boolean or JSON schema expected");
  }
  if (!Array.isArray(value)) return {};
  const list = part(plan.union === "JSONSchemaPropsOrArray" ? "jSONSchemas" : "property");
  return { [list.json]: decodeList(decoding, list, value) };
}
