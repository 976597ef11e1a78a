// The small checks every kind's rules are made of. Each takes the list to add to, the path and the value, and adds
// one error per fault in upstream's words; none of them builds a text unless there is a fault.
import { type FieldError, forbiddenField, invalid, notSupported, required, tooLong } from "../../api/fielderror.ts";
import { limits } from "../../config/limits.ts";
import {
  bytesOf,
  isDns1123Label,
  isDns1123Subdomain,
  isLabelValue,
  isPortName,
  isPortNumber,
  isQualifiedName,
  nonNegativeMessage,
} from "../formats.ts";

/** Errors found so far; checks append. */
export type Errors = FieldError[];

/** int32 and int64 of the API. */
export type Integer = number | bigint;

/** True for an absent or empty string. */
export function empty(value: string | undefined): value is undefined | "" {
  return value === undefined || value === "";
}

/** True when so much is wrong already that further faults help no client. Loops over what a client sent end then. */
export function isFull(out: Errors): boolean {
  return out.length >= limits.fieldErrorsMax;
}

/** Calls `check` with every item of a list and its path, until too much is wrong. */
export function eachItem<T>(
  out: Errors,
  list: readonly T[] | undefined,
  path: string,
  check: (item: T, path: string, index: number) => void,
): void {
  if (list === undefined) return;
  for (const [index, item] of list.entries()) {
    if (isFull(out)) return;
    check(item, `${path}[${index}]`, index);
  }
}

/** Adds all of `more`; a loop, since an object can have more faults than a call can have arguments. */
export function addAll(out: Errors, more: readonly FieldError[]): void {
  for (const error of more) out.push(error);
}

/** Adds one Invalid per fault. */
export function faults(out: Errors, path: string, value: unknown, messages: readonly string[]): void {
  for (const message of messages) out.push(invalid(path, value, message));
}

/** An RFC 1123 label. */
export function checkLabel1123(out: Errors, path: string, value: string): void {
  faults(out, path, value, isDns1123Label(value));
}

/** An RFC 1123 subdomain. */
export function checkSubdomain(out: Errors, path: string, value: string): void {
  faults(out, path, value, isDns1123Subdomain(value));
}

/** A name with an optional prefix. */
export function checkQualifiedName(out: Errors, path: string, value: string): void {
  faults(out, path, value, isQualifiedName(value));
}

/** An integer that may be absent and not negative. */
export function checkNonNegative(out: Errors, path: string, value: Integer | undefined): void {
  if (value !== undefined && value < 0) out.push(invalid(path, value, nonNegativeMessage));
}

/** A required name of an RFC 1123 subdomain. */
export function checkName(out: Errors, path: string, value: string | undefined): void {
  if (empty(value)) out.push(required(path));
  else checkSubdomain(out, path, value);
}

/** A value of a closed set that must be there. `supported` is listed in its order. */
export function checkChoice(out: Errors, path: string, value: string | undefined, supported: readonly string[]): void {
  if (empty(value)) out.push(required(path));
  else if (!supported.includes(value)) out.push(notSupported(path, value, supported));
}

/** A port by number or by name. */
export function checkPort(out: Errors, path: string, value: number | string): void {
  faults(out, path, value, typeof value === "number" ? isPortNumber(value) : isPortName(value));
}

/** The three protocols of ports, as messages list them. */
export const portProtocols = ["SCTP", "TCP", "UDP"] as const;

/** Labels, or anything with their grammar (node selectors, selectors of services). */
export function checkLabels(out: Errors, path: string, labels: ReadonlyMap<string, string> | undefined): void {
  if (labels === undefined) return;
  for (const [key, value] of labels) {
    if (isFull(out)) return;
    checkQualifiedName(out, path, key);
    faults(out, path, value, isLabelValue(value));
  }
}

/** Annotations of an embedded object. */
export function checkAnnotations(out: Errors, path: string, map: ReadonlyMap<string, string> | undefined): void {
  if (map === undefined) return;
  let bytes = 0;
  for (const [key, value] of map) {
    if (isFull(out)) return;
    faults(out, path, key, isQualifiedName(key.toLowerCase()));
    bytes += bytesOf(key) + bytesOf(value);
  }
  if (bytes > limits.annotationsBytesMax) out.push(tooLong(path, limits.annotationsBytesMax));
}

/** A path whose elements are never `..`. */
export function checkNoBacksteps(out: Errors, path: string, value: string): void {
  if (value.split("/").includes("..")) out.push(invalid(path, value, "must not contain '..'"));
}

/** A relative path whose elements are never `..`. */
export function checkDescendingPath(out: Errors, path: string, value: string): void {
  if (value.startsWith("/")) out.push(invalid(path, value, "must be a relative path"));
  checkNoBacksteps(out, path, value);
}

/** A relative path that neither leaves its folder nor starts with the reserved `..`. */
export function checkUnreservedPath(out: Errors, path: string, value: string): void {
  checkDescendingPath(out, path, value);
  if (value.startsWith("..") && !value.startsWith("../")) out.push(invalid(path, value, "must not start with '..'"));
}

/** A field that must not be set here. */
export function refuseField(out: Errors, path: string, value: unknown, why: string): void {
  if (value !== undefined && value !== "") out.push(forbiddenField(path, why));
}
