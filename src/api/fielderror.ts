// Errors of single fields, collected by validation and turned into one 422. Texts follow upstream
// (field.Error): `<field>: <reason text>: <value>: <detail>`.
import { limits } from "../config/limits.ts";
import { GoText, quote, stringList, stringMap } from "./gotext.ts";
import { type Cause, qualified, refuse, type Status } from "./status.ts";

/** A fault of a field. */
export type FieldReason =
  | "Required"
  | "Invalid"
  | "NotSupported"
  | "Duplicate"
  | "Forbidden"
  | "TooLong"
  | "TooMany"
  | "NotFound"
  | "TypeInvalid"
  | "InternalError";

const texts: Readonly<Record<FieldReason, string>> = {
  Required: "Required value",
  Invalid: "Invalid value",
  NotSupported: "Unsupported value",
  Duplicate: "Duplicate value",
  Forbidden: "Forbidden",
  TooLong: "Too long",
  TooMany: "Too many",
  NotFound: "Not found",
  TypeInvalid: "Invalid value",
  InternalError: "Internal error",
};

/** One field at fault. */
export interface FieldError {
  readonly reason: FieldReason;
  /** Path as reported: `spec.containers[0].name`. */
  readonly field: string;
  /** The message without the path: `Required value: must be set`, `Invalid value: "x": why`. */
  readonly text: string;
}

/**
 * Go's text of a bad value: strings quoted, numbers bare, maps and lists of strings as Go writes them, others as JSON.
 * Long values are cut: a value can be shown once per fault, and an answer must not outgrow its request.
 */
export function quoteBad(value: unknown): string {
  const max = limits.shownCharsMax;
  if (typeof value === "string") return value.length > max ? `${quote(value.slice(0, max))}…` : quote(value);
  const text = printBad(clipped(value, { left: max }));
  return text.length > max ? `${text.slice(0, max)}…` : text;
}

/** As much of a value as will be shown: a whole list is not printed for each of its faults. */
function clipped(value: unknown, room: { left: number }): unknown {
  room.left -= 1;
  if (typeof value === "string") {
    room.left -= value.length;
    return value.length > limits.shownCharsMax ? value.slice(0, limits.shownCharsMax) : value;
  }
  if (typeof value !== "object" || value === null || value instanceof GoText) return value;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const item of value) {
      if (room.left < 0) break;
      list.push(clipped(item, room));
    }
    return list;
  }
  const entries: [string, unknown][] = [];
  for (const [key, item] of value instanceof Map ? value : Object.entries(value)) {
    if (room.left < 0) break;
    room.left -= key.length;
    entries.push([key, clipped(item, room)]);
  }
  return value instanceof Map ? new Map(entries) : Object.fromEntries(entries);
}

function printBad(value: unknown): string {
  if (value === undefined || value === null) return '"null"';
  if (value instanceof GoText) return value.text;
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (isStringMap(value)) return stringMap(value);
  if (isStringList(value)) return stringList(value);
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (inner instanceof Map) return Object.fromEntries(inner);
    return typeof inner === "bigint" ? String(inner) : inner;
  });
}

function isStringMap(value: unknown): value is Map<string, string> {
  return value instanceof Map && [...value.values()].every((item) => typeof item === "string");
}

function isStringList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function withDetail(head: string, detail: string): string {
  return detail === "" ? head : `${head}: ${detail}`;
}

/** A missing value. */
export function required(field: string, detail = ""): FieldError {
  return { reason: "Required", field, text: withDetail(texts.Required, detail) };
}

/** A value that breaks a rule; `detail` says which. */
export function invalid(field: string, value: unknown, detail: string): FieldError {
  return { reason: "Invalid", field, text: withDetail(`${texts.Invalid}: ${quoteBad(value)}`, detail) };
}

/** A value outside a closed set; the supported values are listed in the order given. */
export function notSupported(field: string, value: unknown, supported: readonly string[]): FieldError {
  const detail = supported.length === 0 ? "" : `supported values: ${supported.map(quote).join(", ")}`;
  return { reason: "NotSupported", field, text: withDetail(`${texts.NotSupported}: ${quoteBad(value)}`, detail) };
}

/** A value that must be unique and is not. */
export function duplicate(field: string, value: unknown): FieldError {
  return { reason: "Duplicate", field, text: `${texts.Duplicate}: ${quoteBad(value)}` };
}

/** A value that may not be set here. */
export function forbiddenField(field: string, detail: string): FieldError {
  return { reason: "Forbidden", field, text: withDetail(texts.Forbidden, detail) };
}

/** A value over `bytesMax` bytes; the value itself is not repeated. */
export function tooLong(field: string, bytesMax: number): FieldError {
  return { reason: "TooLong", field, text: `${texts.TooLong}: must have at most ${bytesMax} bytes` };
}

/** A list over `countMax` items. */
export function tooMany(field: string, count: number, countMax: number): FieldError {
  return { reason: "TooMany", field, text: `${texts.TooMany}: ${count}: must have at most ${countMax} items` };
}

/** A reference to something that is not there. */
export function fieldNotFound(field: string, value: unknown): FieldError {
  return { reason: "NotFound", field, text: `${texts.NotFound}: ${quoteBad(value)}` };
}

/** Path of item `index` or key `key` of a list or map. */
export function at(path: string, indexOrKey: number | string): string {
  return `${path}[${indexOrKey}]`;
}

/** The errors that an answer names: so many, and the first of them that have so many characters together. */
function listed(found: readonly FieldError[]): readonly FieldError[] {
  let chars = 0;
  let count = 0;
  for (const { field, text } of found) {
    chars += field.length + text.length;
    // Paths hold keys of clients, which may be as long as a body.
    if (count === limits.fieldErrorsMax || (count > 0 && chars > limits.fieldErrorCharsMax)) break;
    count += 1;
  }
  return found.slice(0, count);
}

/**
 * 422 Invalid over all fields at fault, as far as limits let them be listed; `kind` and `group` are the object's, not
 * the resource's.
 */
export function invalidObject(group: string, kind: string, name: string, found: readonly FieldError[]): Status {
  const errors = listed(found);
  const messages = [...new Set(errors.map((e) => `${e.field}: ${e.text}`))];
  if (found.length > errors.length) messages.push("and more");
  const body = messages.length === 1 ? messages[0] : `[${messages.join(", ")}]`;
  const causes: Cause[] = errors.map((e) => ({
    reason: e.reason === "InternalError" ? e.reason : `FieldValue${e.reason}`,
    message: e.text,
    field: e.field,
  }));
  const named = name === "" ? '""' : JSON.stringify(name);
  return refuse("Invalid", `${qualified(group, kind)} ${named} is invalid: ${body}`, {
    ...(name === "" ? {} : { name }),
    ...(group === "" ? {} : { group }),
    kind,
    causes,
  });
}
