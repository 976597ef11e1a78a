// Equality of two values of one message type as upstream's semantic comparison sees it: an absent and an empty
// list or map are the same, quantities compare by amount, and what is not a pointer equals its zero when absent.
import { invalid, quoteBad } from "../../api/fielderror.ts";
import { messageOf } from "../../api/messages.ts";
import { type Field, type Message, RawJson } from "../../api/schema.ts";
import { immutableMessage } from "../formats.ts";
import { compareAmounts } from "./amounts.ts";
import type { Errors } from "./check.ts";

/** True when two values of the message `type` (`core/v1.PodSpec`) mean the same. */
export function equal(type: string, a: object | undefined, b: object | undefined): boolean {
  return a === b || equalMessages(messageOf(type), a, b);
}

/** Adds the error of a message that changed and may not; `shown` is what the error prints, `value` if left out. */
export function checkImmutable(
  out: Errors,
  path: string,
  type: string,
  value: object | undefined,
  old: object | undefined,
  shown: unknown = value,
): void {
  if (!equal(type, value, old)) out.push(invalid(path, shown, immutableMessage));
}

/** Adds the error of a scalar that changed and may not. */
export function checkImmutableScalar(out: Errors, path: string, value: unknown, old: unknown): void {
  if (value !== old) out.push(invalid(path, value, immutableMessage));
}

/** True when two maps of strings hold the same, an absent one being an empty one. */
export function equalStrings(
  a: ReadonlyMap<string, string> | undefined,
  b: ReadonlyMap<string, string> | undefined,
): boolean {
  if ((a?.size ?? 0) !== (b?.size ?? 0)) return false;
  if (a !== undefined) for (const [key, value] of a) if (b?.get(key) !== value) return false;
  return true;
}

const changeLinesMax = 10;

/**
 * What changed between two values of a message type, for people: one line per field, `path: old → new`, the first ten.
 * Stands where upstream prints a diff of its structs.
 */
export function changeText(type: string, path: string, old: object, now: object): string {
  const lines: string[] = [];
  collectChanges(lines, messageOf(type), path, old, now);
  const more = lines.length > changeLinesMax ? [`… and ${lines.length - changeLinesMax} more`] : [];
  return [...lines.slice(0, changeLinesMax), ...more].map((line) => `  ${line}\n`).join("");
}

function collectChanges(lines: string[], message: Message, path: string, old: object, now: object): void {
  for (const [name, field] of message.byJson) {
    const before = (old as Record<string, unknown>)[name];
    const after = (now as Record<string, unknown>)[name];
    if (equalFields(field, before, after)) continue;
    const at = `${path}.${name}`;
    const inner = field.cardinality === "map" ? undefined : field.message;
    const items = inner === undefined ? undefined : itemPairs(before, after, at);
    if (inner === undefined || items === undefined) lines.push(`${at}: ${printed(before)} → ${printed(after)}`);
    else for (const [a, b, itemAt] of items) collectChanges(lines, inner, itemAt, a, b);
  }
}

/** The messages of two fields side by side with their paths; undefined when they do not pair up. */
function itemPairs(old: unknown, now: unknown, path: string): [object, object, string][] | undefined {
  if (Array.isArray(old) && Array.isArray(now)) {
    if (old.length !== now.length) return undefined;
    return old.map((item: object, i) => [item, now[i] as object, `${path}[${i}]`]);
  }
  return isMessage(old) && isMessage(now) ? [[old, now, path]] : undefined;
}

function isMessage(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const printedMax = 100;

function printed(value: unknown): string {
  if (value === undefined) return "unset";
  const text = quoteBad(value);
  return text.length > printedMax ? `${text.slice(0, printedMax)}…` : text;
}

function equalMessages(message: Message, a: object | undefined, b: object | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  if (a instanceof RawJson || b instanceof RawJson) return equalRaw(a, b);
  const [left, right] = [a as Struct, b as Struct];
  // What is set is a small part of what could be: only that is looked at. Properties are names of the schema.
  for (const name in left) {
    const value = left[name];
    if (value !== right[name] && !equalNamed(message, name, value, right[name])) return false;
  }
  for (const name in right) {
    if (left[name] === undefined && right[name] !== undefined && !equalNamed(message, name, undefined, right[name])) {
      return false;
    }
  }
  return true;
}

type Struct = Readonly<Record<string, unknown>>;

/** Kind and version are not part of the comparison. */
function equalNamed(message: Message, name: string, a: unknown, b: unknown): boolean {
  const field = message.byJson.get(name);
  return field === undefined || equalFields(field, a, b);
}

function equalRaw(a: unknown, b: unknown): boolean {
  return a instanceof RawJson && b instanceof RawJson && a.text === b.text;
}

function equalFields(field: Field, a: unknown, b: unknown): boolean {
  switch (field.cardinality) {
    case "list":
      return equalLists(field, a as unknown[] | undefined, b as unknown[] | undefined);
    case "map":
      return equalMaps(field, a as Map<string, unknown> | undefined, b as Map<string, unknown> | undefined);
    case "one":
      return equalItems(field, a, b);
  }
}

function equalLists(field: Field, a: readonly unknown[] = [], b: readonly unknown[] = []): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!equalItems(field, a[i], b[i])) return false;
  return true;
}

function equalMaps(
  field: Field,
  a: ReadonlyMap<string, unknown> = new Map(),
  b: ReadonlyMap<string, unknown> = new Map(),
): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) if (!b.has(key) || !equalItems(field, value, b.get(key))) return false;
  return true;
}

function equalItems(field: Field, a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (field.message !== undefined) {
    return equalMessages(field.message, a as object | undefined, b as object | undefined);
  }
  if (field.type === "raw") return equalRaw(a, b);
  if (field.type === "Quantity") return typeof a === "string" && typeof b === "string" && compareAmounts(a, b) === 0;
  return !field.pointer && isZero(a) && isZero(b);
}

function isZero(value: unknown): boolean {
  return value === undefined || value === "" || value === 0 || value === false;
}
