// Objects within objects: the apiVersion, kind and metadata of an embedded resource. Metadata takes the form its own type
// gives it, which drops what that type does not know.
import { type FieldError, invalid, required } from "../../api/fielderror.ts";
import type { ObjectMeta } from "../../api/gen/meta/v1.ts";
import type { Identity } from "../../api/identity.ts";
import { messageOf } from "../../api/messages.ts";
import type { Value, ValueMap } from "../../api/value.ts";
import { decode, Fault, isFault, toValue } from "../../codec/engine/json.ts";
import { isDns1035Label } from "../formats.ts";
import { validateMeta } from "../meta.ts";
import { shown } from "./texts.ts";

const metaMessage = messageOf("meta/v1.ObjectMeta");

/** The fields of an object that have the same meaning in every kind. */
export const metaFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

/**
 * Metadata as its type has it: unknown fields dropped, times in their canonical form. What does not fit is a Fault with
 * upstream's message; with `drops` it is left out field by field, and metadata that is no object stays as it is.
 */
export function coerceMetadata(value: Value, drops: boolean): Value | Fault {
  if (value === null) return new Map();
  const meta = decode<ObjectMeta>(metaMessage, value);
  if (!isFault(meta)) return documentOf(meta);
  if (!drops) return meta;
  if (!(value instanceof Map)) return value;
  const kept: ValueMap = new Map();
  for (const [key, item] of value) if (!isFault(decode(metaMessage, new Map([[key, item]])))) kept.set(key, item);
  const rest = decode<ObjectMeta>(metaMessage, kept);
  return isFault(rest) ? value : documentOf(rest);
}

function documentOf(meta: ObjectMeta): Value {
  const document = toValue(metaMessage, meta);
  // What was never created has no time of it.
  if (document instanceof Map && document.get("creationTimestamp") === null) document.delete("creationTimestamp");
  return document;
}

/**
 * Gives an embedded object the form of one: what is no text is refused, or dropped. The first fault; undefined: none.
 * `pathOf` says where a field stands.
 */
export function coerceEmbedded(
  object: ValueMap,
  drops: boolean,
  pathOf: (name: string) => string,
): FieldError | undefined {
  for (const name of ["apiVersion", "kind"]) {
    const value = object.get(name);
    if (value === undefined || typeof value === "string") continue;
    if (!drops) return invalid(pathOf(name), shown(value), "must be a string");
    object.delete(name);
  }
  const metadata = object.get("metadata");
  if (metadata === undefined) return undefined;
  const coerced = coerceMetadata(metadata, drops);
  if (coerced instanceof Fault) return invalid(pathOf("metadata"), shown(metadata), coerced.message);
  object.set("metadata", coerced);
  return undefined;
}

/** The rules of an embedded object: it says what it is, and its metadata is sound. */
export function validateEmbedded(
  object: ReadonlyMap<string, Value>,
  identity: Identity,
  pathOf: (name: string) => string,
): FieldError[] {
  const out: FieldError[] = [];
  const apiVersion = object.get("apiVersion");
  const kind = object.get("kind");
  checkApiVersion(out, apiVersion, pathOf("apiVersion"));
  checkKind(out, kind, pathOf("kind"));
  const metadata = object.get("metadata");
  if (metadata === undefined) return out;
  const meta = metadata === null ? ({} as ObjectMeta) : decode<ObjectMeta>(metaMessage, metadata);
  const path = pathOf("metadata");
  if (meta instanceof Fault) return [...out, invalid(path, shown(metadata), meta.message)];
  const named = meta.name === undefined || meta.name === "" ? { ...meta, name: "fakename" } : meta;
  const hasNamespace = (meta.namespace ?? "") !== "";
  for (const error of validateMeta(named, hasNamespace, "path-segment", identity, true)) {
    out.push({ ...error, field: `${path}${error.field.slice("metadata".length)}` });
  }
  return out;
}

function checkApiVersion(out: FieldError[], value: Value | undefined, path: string): void {
  if (value === undefined) out.push(required(path, "must not be empty"));
  else if (typeof value !== "string") out.push(invalid(path, shown(value), "must be a string"));
  else if (value === "") out.push(invalid(path, value, "must not be empty"));
  else if (value.split("/").length > 2) out.push(invalid(path, value, `unexpected GroupVersion string: ${value}`));
}

function checkKind(out: FieldError[], value: Value | undefined, path: string): void {
  if (value === undefined) out.push(required(path, "must not be empty"));
  else if (typeof value !== "string") out.push(invalid(path, shown(value), "must be a string"));
  else if (value === "") out.push(invalid(path, value, "must not be empty"));
  else {
    const faults = isDns1035Label(value.toLowerCase());
    if (faults.length === 0) return;
    out.push(invalid(path, value, `may have mixed case, but should otherwise match: ${faults.join(",")}`));
  }
}
