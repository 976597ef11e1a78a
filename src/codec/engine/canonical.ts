// From JSON to a typed object, in one pass. @hot: stored objects are decoded here, and most bodies of creates and updates.
// encode.ts writes without space, fields in the order of the schema and every value in its canonical form, so that
// nothing has to be sorted out: no generic document in between, raw JSON is a piece of the text. Text that does not
// look like that (another order, an unknown field, a rare shape) is left to parseText() and decode(), which read
// anything; for what is read here both give the same object.
// What programs send is as compact; nothing about it is trusted: fields may come in any order but not twice, and raw JSON
// and nulls in lists, which have rules of their own, are left to the others, too.
import { canonicalText, isPlainCanonical } from "../../api/quantity.ts";
import { type Message, RawJson } from "../../api/schema.ts";
import { canonicalTime, TimeError } from "../../api/time.ts";
import { limits } from "../../config/limits.ts";
import { canonicalBase64 } from "../json/base64.ts";
import { Fault } from "../json/fault.ts";
import { rawOf, sharedRaw } from "../json/remembered.ts";
import { parseOwn, parseText } from "../json/scan.ts";
import { writeValue } from "../json/write.ts";
import type { Parts } from "./parts.ts";
import { planOf, type Slot, shapes } from "./plan.ts";
import { zeroOf, zeroOfSlot } from "./zero.ts";

type Target = Record<string, unknown>;

/** A field, the text of its key, and the field that followed it last time. */
interface Step {
  readonly slot: Slot;
  /** Place in the order of the message's fields. */
  readonly order: number;
  /** `name":` */
  readonly key: string;
  readonly isManagers: boolean;
  /** What of its value is read; undefined: all. */
  readonly parts: Parts | undefined;
  /** It is gone behind, and not read. */
  readonly isLeft: boolean;
  /** Recent texts of fieldsV1, which are the same in many objects. Absent for any other field. */
  readonly latest: RawJson[] | undefined;
  steps: Steps | undefined;
  next: Step | undefined;
}

/** The fields of a message. */
interface Steps {
  readonly byName: ReadonlyMap<string, Step>;
  readonly scalars: readonly { readonly json: string; readonly zero: unknown }[];
  readonly messages: readonly Slot[];
  /** Objects of it, and those that hold one, are left to decode(): it is open or a union, or always has one. */
  readonly isForeign: boolean;
  first: Step | undefined;
}

/** Steps by message, and by the parts that are read of it. */
type KnownSteps = WeakMap<Message | Parts, Steps>;
/** Of stored text and of bodies, which come in other orders. */
const ofStored: KnownSteps = new WeakMap();
const ofSent: KnownSteps = new WeakMap();

function stepsOf(known: KnownSteps, message: Message, parts?: Parts): Steps {
  let steps = known.get(parts ?? message);
  if (steps === undefined) {
    const plan = planOf(message);
    const all = plan.slots.map((slot, order): Step => {
      const isManagers = slot.json === "managedFields" && slot.message?.shortName === "ManagedFieldsEntry";
      const latest = slot.json === "fieldsV1" && message.shortName === "ManagedFieldsEntry" ? [] : undefined;
      const key = slot.jsonKey.slice(1);
      const part = parts === undefined ? "all" : parts.get(slot.json);
      const read = { parts: part === "all" ? undefined : part, isLeft: part === undefined };
      return { slot, order, key, isManagers, ...read, latest, steps: undefined, next: undefined };
    });
    steps = {
      byName: new Map(all.map((step) => [step.slot.json, step])),
      scalars: plan.present
        .filter(({ shape }) => shape !== shapes.message)
        .map((slot) => ({ json: slot.json, zero: zeroOfSlot(slot) })),
      messages: plan.present.filter(({ shape }) => shape === shapes.message),
      isForeign: plan.open || plan.union !== undefined || plan.present.some(({ shape }) => shape === shapes.union),
      first: undefined,
    };
    known.set(parts ?? message, steps);
  }
  return steps;
}

/** Where the reader is in a text. */
class Cursor {
  readonly text: string;
  readonly withoutManagers: boolean;
  /** The text is a client's. */
  readonly isSent: boolean;
  at = 0;
  /** Messages that are open. */
  depth = 0;
  /** Where the first ObjectMeta ends: the document's own. */
  metadataEnd = 0;
  /** The first backslash at or after the last string, or the end. */
  slashAt: number;
  failed = false;

  constructor(text: string, withoutManagers: boolean, isSent = false) {
    this.text = text;
    this.withoutManagers = withoutManagers;
    this.isSent = isSent;
    this.slashAt = slashAfter(text, 0);
  }

  /** The steps of a message. */
  stepsOf(message: Message, parts?: Parts): Steps {
    return stepsOf(this.isSent ? ofSent : ofStored, message, parts);
  }
}

function slashAfter(text: string, from: number): number {
  const at = text.indexOf("\\", from);
  return at < 0 ? text.length : at;
}

/** The object of `message` in JSON that encode() wrote; undefined when it is anything else. */
export function readCanonical<T extends object>(message: Message, text: string): T | undefined {
  return readDocument<T>(new Cursor(text, false), message);
}

/**
 * The object of `message` in the JSON a client sent, without characters below the blank; undefined when it is not compact,
 * has an unknown field, or one that comes twice, is no JSON, or is anything else that decode() is better asked about.
 * The text must be short enough for its values not to be counted.
 */
export function readCompact<T extends object>(message: Message, text: string): T | undefined {
  return readDocument<T>(new Cursor(text, false, true), message);
}

/** An object without managedFields in any metadata, and where its own metadata ends in the text. */
export interface LeanObject<T> {
  readonly object: T;
  readonly metadataEnd: number;
}

/**
 * The same without managedFields, which are most of the text of many objects; with `parts`, of which one object belongs to
 * one message, any other field is as if it were absent. Parts without any tell that an object is there.
 */
export function readLean<T extends object>(message: Message, text: string, parts?: Parts): LeanObject<T> | undefined {
  const cursor = new Cursor(text, true);
  const object = readDocument<T>(cursor, message, parts);
  return object === undefined ? undefined : { object, metadataEnd: cursor.metadataEnd };
}

/** The metadata that begins at `at` of such a text, without managedFields; undefined when it is anything else. */
export function readLeanMeta<T extends object>(message: Message, text: string, at: number): T | undefined {
  const cursor = new Cursor(text, true);
  cursor.at = at;
  const meta = readMessage(cursor, cursor.stepsOf(message));
  return cursor.failed ? undefined : (meta as T);
}

function readDocument<T extends object>(cursor: Cursor, message: Message, parts?: Parts): T | undefined {
  const object = readMessage(cursor, cursor.stepsOf(message, parts));
  return cursor.failed || cursor.at < cursor.text.length ? undefined : (object as T);
}

function fail(cursor: Cursor): undefined {
  cursor.failed = true;
  return undefined;
}

/** Takes one character if it is next. */
function takes(cursor: Cursor, code: number): boolean {
  if (cursor.text.charCodeAt(cursor.at) !== code) return false;
  cursor.at += 1;
  return true;
}

const quote = 34;
const comma = 44;
const colon = 58;
const openList = 91;
const closeList = 93;
const openMap = 123;
const closeMap = 125;
const backslash = 92;
const minus = 45;
const letterN = 110;

function readMessage(cursor: Cursor, steps: Steps): Target {
  const object: Target = {};
  for (const { json, zero } of steps.scalars) object[json] = zero;
  if (steps.isForeign || cursor.depth >= limits.messageDepthMax || !takes(cursor, openMap)) fail(cursor);
  else if (!takes(cursor, closeMap)) {
    cursor.depth += 1;
    let step: Step | undefined;
    // Fields that were read of text that is not ours, a bit each.
    let low = 0;
    let high = 0;
    for (;;) {
      step = nextStep(cursor, steps, step);
      if (step === undefined) break;
      if (cursor.isSent) {
        const bit = 1 << (step.order & 31);
        if (step.order > 63 || ((step.order < 32 ? low : high) & bit) !== 0) {
          fail(cursor);
          break;
        }
        if (step.order < 32) low |= bit;
        else high |= bit;
      }
      readField(cursor, step, object);
      if (cursor.failed || takes(cursor, closeMap)) break;
      if (!takes(cursor, comma)) {
        fail(cursor);
        break;
      }
    }
    cursor.depth -= 1;
  }
  for (const slot of steps.messages) {
    if (object[slot.json] === undefined && slot.message !== undefined) object[slot.json] = zeroOf(slot.message);
  }
  return object;
}

/** Reads a key: most often it is the one that followed the last time. */
function nextStep(cursor: Cursor, steps: Steps, before: Step | undefined): Step | undefined {
  const { text } = cursor;
  if (!takes(cursor, quote)) return fail(cursor);
  const guess = before === undefined ? steps.first : before.next;
  if (guess !== undefined && text.startsWith(guess.key, cursor.at)) {
    cursor.at += guess.key.length;
    return guess;
  }
  const end = text.indexOf('"', cursor.at);
  const step = steps.byName.get(text.substring(cursor.at, end));
  // In any other order a field could come twice, which is looked at where the text is not ours.
  if (step === undefined || (!cursor.isSent && before !== undefined && step.order <= before.order)) return fail(cursor);
  cursor.at = end + 1;
  if (!takes(cursor, colon)) return fail(cursor);
  if (before === undefined) steps.first = step;
  else before.next = step;
  return step;
}

function readField(cursor: Cursor, step: Step, object: Target): void {
  const { slot } = step;
  if (step.isLeft) {
    if (step.isManagers) skipManagers(cursor);
    else skipRaw(cursor);
  } else if (cursor.text.charCodeAt(cursor.at) === letterN) {
    if (!cursor.text.startsWith("null", cursor.at) || slot.shape === shapes.union) fail(cursor);
    cursor.at += 4;
  } else if (slot.cardinality === "list") {
    if (step.isManagers && cursor.withoutManagers) skipManagers(cursor);
    else object[slot.json] = readList(cursor, step);
  } else if (slot.cardinality === "map") {
    object[slot.json] = readMap(cursor, step);
  } else {
    const value = readOne(cursor, step);
    if (value === undefined) return;
    if (slot.dropsZero && (value === "" || value === 0 || value === false) && slot.shape <= shapes.bytes) return;
    object[slot.json] = value;
  }
}

function readList(cursor: Cursor, step: Step): unknown[] {
  const list: unknown[] = [];
  if (!takes(cursor, openList)) fail(cursor);
  else if (!takes(cursor, closeList)) {
    do {
      list.push(readItem(cursor, step));
      if (cursor.failed || takes(cursor, closeList)) return list;
    } while (takes(cursor, comma));
    fail(cursor);
  }
  return list;
}

function readMap(cursor: Cursor, step: Step): Map<string, unknown> {
  const map = new Map<string, unknown>();
  if (!takes(cursor, openMap)) fail(cursor);
  else if (!takes(cursor, closeMap)) {
    do {
      const key = readString(cursor);
      if (key === undefined || !takes(cursor, colon)) break;
      const size = map.size;
      map.set(key, readItem(cursor, step));
      if (cursor.isSent && map.size === size) break;
      if (cursor.failed || takes(cursor, closeMap)) return map;
    } while (takes(cursor, comma));
    fail(cursor);
  }
  return map;
}

/** An item of a list or a value of a map; nulls have rules of their own. */
function readItem(cursor: Cursor, step: Step): unknown {
  return cursor.text.charCodeAt(cursor.at) === letterN ? fail(cursor) : (readOne(cursor, step) ?? fail(cursor));
}

/** A value that is not null. Undefined: failed, or Go's zero time. */
function readOne(cursor: Cursor, step: Step): unknown {
  const { slot } = step;
  switch (slot.shape) {
    case shapes.string:
      return readString(cursor);
    case shapes.message:
      return readNested(cursor, step);
    case shapes.int:
      return readInt(cursor, slot.min, slot.max);
    case shapes.bool:
      return readBool(cursor);
    case shapes.quantity:
      return readQuantity(cursor);
    case shapes.intOrString:
      if (cursor.text.charCodeAt(cursor.at) === quote) return readString(cursor);
      return readInt(cursor, -2147483648, 2147483647);
    case shapes.time:
      return readTime(cursor, slot.field.type === "MicroTime" ? "MicroTime" : "Time");
    case shapes.bytes:
      return readBytes(cursor);
    case shapes.raw:
      if (step.latest !== undefined) return readFields(cursor, step.latest);
      return readRaw(cursor, slot.field.isKept === true);
    case shapes.float:
      return readFloat(cursor);
    case shapes.union:
      return readUnion(cursor, step);
    default:
      return fail(cursor);
  }
}

function readNested(cursor: Cursor, step: Step): Target | undefined {
  const { message } = step.slot;
  if (message === undefined) return fail(cursor);
  if (step.parts?.size === 0) {
    skipRaw(cursor);
    return zeroOf(message);
  }
  step.steps ??= cursor.stepsOf(message, step.parts);
  const object = readMessage(cursor, step.steps);
  if (cursor.metadataEnd === 0 && message.shortName === "ObjectMeta") cursor.metadataEnd = cursor.at;
  return object;
}

function readString(cursor: Cursor): string | undefined {
  const { text } = cursor;
  const start = cursor.at + 1;
  if (text.charCodeAt(start - 1) !== quote) return fail(cursor);
  const end = text.indexOf('"', start);
  if (end < 0) return fail(cursor);
  if (cursor.slashAt < start) cursor.slashAt = slashAfter(text, start);
  if (cursor.slashAt < end) return readEscaped(cursor, start);
  cursor.at = end + 1;
  return text.substring(start, end);
}

/** A string with an escape in it. */
function readEscaped(cursor: Cursor, start: number): string | undefined {
  const { text } = cursor;
  const end = stringEnd(text, start);
  cursor.at = end + 1;
  const string = parseText(text.substring(start - 1, end + 1));
  return typeof string === "string" ? string : fail(cursor);
}

/** The quote that ends the string whose first character is at `start`; the end of the text if there is none. */
function stringEnd(text: string, start: number): number {
  const end = text.indexOf('"', start);
  // Most strings have no escape; a quote that follows a backslash may be one.
  if (text.charCodeAt(end - 1) !== backslash) return end < 0 ? text.length : end;
  let at = start;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    if (code === backslash) at += 1;
  }
  return at;
}

/** Longer numbers may not be exact. */
const digitsMax = 15;

function readInt(cursor: Cursor, min: number | bigint, max: number | bigint): number | undefined {
  const { text } = cursor;
  const isNegative = takes(cursor, minus);
  const start = cursor.at;
  let value = 0;
  let code = text.charCodeAt(cursor.at);
  for (; code >= 48 && code <= 57; code = text.charCodeAt(cursor.at)) {
    value = value * 10 + (code - 48);
    cursor.at += 1;
  }
  const digits = cursor.at - start;
  if (digits === 0 || digits > digitsMax || (digits > 1 && text.charCodeAt(start) === 48)) return fail(cursor);
  // Subtracting from zero makes no -0.
  if (isNegative) value = 0 - value;
  // A point or an exponent is found by the check of the character after a value.
  return value >= min && value <= max ? value : fail(cursor);
}

/** A number as JavaScript writes most of them, and neither as large nor as exact as to need another reader. */
const plainNumber = /-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?(?=[,}\]])/y;

function readFloat(cursor: Cursor): number | undefined {
  plainNumber.lastIndex = cursor.at;
  const [text] = plainNumber.exec(cursor.text) ?? [];
  if (text === undefined) return fail(cursor);
  cursor.at += text.length;
  return Number(text);
}

/** A schema, or whether there may be any: JSONSchemaPropsOrBool and its like. The schema is the first field of all of them. */
function readUnion(cursor: Cursor, step: Step): Target | undefined {
  const { message } = step.slot;
  const of = message?.fields.find(({ json }) => json === "schema")?.message;
  if (message === undefined || of === undefined) return fail(cursor);
  const isBool = message.special === "JSONSchemaPropsOrBool";
  if (cursor.text.charCodeAt(cursor.at) !== openMap) {
    const allows = isBool ? readBool(cursor) : fail(cursor);
    return allows === undefined ? undefined : { allows };
  }
  step.steps ??= cursor.stepsOf(of);
  const schema = readMessage(cursor, step.steps);
  return isBool ? { allows: true, schema } : { schema };
}

function readBool(cursor: Cursor): boolean | undefined {
  const { text, at } = cursor;
  const value = text.startsWith("true", at);
  if (!value && !text.startsWith("false", at)) return fail(cursor);
  cursor.at = at + (value ? 4 : 5);
  return value;
}

function readQuantity(cursor: Cursor): string | undefined {
  const text = readString(cursor);
  if (text === undefined || isPlainCanonical(text)) return text;
  const canonical = canonicalText(text.trim());
  return typeof canonical === "string" ? fail(cursor) : canonical.text;
}

function readTime(cursor: Cursor, type: "Time" | "MicroTime"): string | undefined {
  const text = readString(cursor);
  if (text === undefined) return undefined;
  const time = canonicalTime(text, type);
  return time instanceof TimeError ? fail(cursor) : time;
}

function readBytes(cursor: Cursor): string | undefined {
  const text = readString(cursor);
  if (text === undefined) return undefined;
  const bytes = canonicalBase64(text);
  return typeof bytes === "string" ? bytes : fail(cursor);
}

/** Characters our encoder does not write so: space, and those Go escapes for HTML; escapes but those of `"` and `\`. */
const foreign = /[\s<>&\u2028\u2029\ud800-\udfff]|\\[^"\\]/;

/** Raw JSON: unchanged, unless our encoder would write a part of it differently; `isKept`: it did write it. */
function readRaw(cursor: Cursor, isKept = false): RawJson | undefined {
  if (cursor.isSent) return fail(cursor);
  const start = cursor.at;
  skipRaw(cursor);
  if (cursor.failed) return undefined;
  const text = cursor.text.substring(start, cursor.at);
  if (isKept || !foreign.test(text)) return new RawJson(text);
  const value = parseOwn(text);
  return value instanceof Fault ? fail(cursor) : new RawJson(writeValue(value));
}

/** How many field sets are compared with the text before it is read through. */
const latestMax = 4;

/** fieldsV1. A cached text is one value in all objects, and need not be parsed again. */
function readFields(cursor: Cursor, latest: RawJson[]): RawJson | undefined {
  const { text, at } = cursor;
  for (const raw of latest) {
    // An object ends where its braces balance: text that begins with a whole object is that object.
    if (!text.startsWith(raw.text, at)) continue;
    cursor.at = at + raw.text.length;
    return raw;
  }
  const read = cursor.isSent ? readSentFields(cursor) : readRaw(cursor);
  if (read === undefined || read.text.length > limits.rawCharsMax || text.charCodeAt(at) !== openMap) return read;
  const raw = sharedRaw(read.text);
  if (latest.length === latestMax) latest.pop();
  latest.unshift(raw);
  return raw;
}

/** The fieldsV1 of a client, which may be anything. */
function readSentFields(cursor: Cursor): RawJson | undefined {
  const start = cursor.at;
  skipRaw(cursor);
  // Beyond that length it could nest deeper than a document may, counted from the document.
  if (cursor.failed || cursor.at - start > limits.rawCharsMax) return fail(cursor);
  const value = parseText(cursor.text.substring(start, cursor.at));
  return value instanceof Map ? rawOf(value) : fail(cursor);
}

/** Brackets looked at before managed fields are read through: no field set has any but in names. */
const bracketsMax = 8;

/**
 * Goes behind managedFields without reading them. They end an ObjectMeta, so that they end at `}]}` before the
 * next key or the end of the text. That is no part of a string: a quote after a comma closes none if a letter follows.
 * If it is the end of an inner list, a bracket stays open at the end, and the text is rejected.
 */
function skipManagers(cursor: Cursor): void {
  const { text } = cursor;
  let at = text.indexOf("]", cursor.at);
  for (let looks = 0; looks < bracketsMax && at >= 0; looks += 1) {
    if (text.charCodeAt(at - 1) === closeMap && text.charCodeAt(at + 1) === closeMap) {
      const isLast = text.charCodeAt(at + 2) === closeMap && at + 3 === text.length;
      if (isLast || keyFollows(text, at + 2)) {
        cursor.at = at + 1;
        return;
      }
    }
    at = text.indexOf("]", at + 1);
  }
  skipRaw(cursor);
}

/** Whether a comma and the first letter of a key are at `at`. */
function keyFollows(text: string, at: number): boolean {
  if (text.charCodeAt(at) !== comma || text.charCodeAt(at + 1) !== quote) return false;
  const code = text.charCodeAt(at + 2);
  return code >= 97 && code <= 122;
}

/** Goes behind a value whatever it is. */
function skipRaw(cursor: Cursor): void {
  const end = endOfValue(cursor.text, cursor.at);
  if (end < 0) fail(cursor);
  else cursor.at = end;
}

/** Where the value ends that begins at `at` in JSON of ours; -1 where there is none. */
export function endOfValue(text: string, at: number): number {
  const lead = text.charCodeAt(at);
  if (lead === quote) {
    const end = stringEnd(text, at + 1);
    return end < text.length ? end + 1 : -1;
  }
  if (lead !== openMap && lead !== openList) {
    plainScalar.lastIndex = at;
    const [scalar] = plainScalar.exec(text) ?? [];
    return scalar === undefined ? -1 : at + scalar.length;
  }
  let depth = 0;
  for (let next = at; next < text.length; next += 1) {
    const code = text.charCodeAt(next);
    if (code === quote) next = stringEnd(text, next + 1);
    else if (code === openMap || code === openList) depth += 1;
    else if (code === closeMap || code === closeList) {
      depth -= 1;
      if (depth === 0) return next + 1;
    }
  }
  return -1;
}

const plainScalar = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)(?=[,}\]])/y;
