// ConfigMap and Secret: keys, sizes, what a type of secret must hold, and what `immutable` freezes.
import { type FieldError, forbiddenField, invalid, required, tooLong } from "../../api/fielderror.ts";
import type { ConfigMap, Secret } from "../../api/gen/core/v1.ts";
import { Fault, parseJson } from "../../codec/engine/json.ts";
import { bytesOf, isConfigMapKey } from "../formats.ts";
import type { StrategyContext } from "../strategy.ts";
import { addAll, type Errors, empty, faults, isFull } from "./check.ts";
import { checkImmutableScalar } from "./equal.ts";
import { namesOf } from "./names.ts";

/** Bytes of all values of a config map or secret. */
const valueBytesMax = 1024 * 1024;
/** Texts, or base64 of bytes, which may be null (codec/nullbytes.ts). */
type Bag = ReadonlyMap<string, string | null>;

const none: Bag = new Map();
const frozen = "field is immutable when `immutable` is set";

/** Rules of a new config map. */
export function validateConfigMap(object: ConfigMap, _context: StrategyContext): FieldError[] {
  const out: Errors = [];
  let bytes = 0;
  for (const [key, value] of object.data ?? []) {
    if (isFull(out)) return out;
    faults(out, `data[${key}]`, key, isConfigMapKey(key));
    if (object.binaryData?.has(key)) out.push(invalid(`data[${key}]`, key, "duplicate of key present in binaryData"));
    bytes += bytesOf(value);
  }
  for (const [key, value] of object.binaryData ?? []) {
    if (isFull(out)) return out;
    faults(out, `binaryData[${key}]`, key, isConfigMapKey(key));
    bytes += decodedBytes(value);
  }
  if (bytes > valueBytesMax) out.push(tooLong("", valueBytesMax));
  return out;
}

/** Rules of a changed config map. */
export function validateConfigMapUpdate(object: ConfigMap, old: ConfigMap, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  if (old.immutable === true) {
    if (object.immutable !== true) out.push(forbiddenField("immutable", frozen));
    // Here nothing is as good as an empty bag: defaults make the one of the other.
    if (!sameBag(object.data ?? none, old.data ?? none)) out.push(forbiddenField("data", frozen));
    if (!sameBag(object.binaryData, old.binaryData)) out.push(forbiddenField("binaryData", frozen));
  }
  addAll(out, validateConfigMap(object, context));
  return out;
}

/** Rules of a new secret. */
export function validateSecret(object: Secret, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  let bytes = 0;
  for (const [key, value] of object.data ?? []) {
    if (isFull(out)) return out;
    faults(out, `data[${key}]`, key, isConfigMapKey(key));
    bytes += decodedBytes(value);
  }
  if (bytes > valueBytesMax) out.push(tooLong("data", valueBytesMax));
  checkSecretType(out, object, context);
  return out;
}

/** Rules of a changed secret. */
export function validateSecretUpdate(object: Secret, old: Secret, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkImmutableScalar(out, "type", object.type ?? "", old.type ?? "");
  if (old.immutable === true) {
    if (object.immutable !== true) out.push(forbiddenField("immutable", frozen));
    if (!sameBag(object.data, old.data)) out.push(forbiddenField("data", frozen));
  }
  addAll(out, validateSecret(object, context));
  return out;
}

function checkSecretType(out: Errors, object: Secret, context: StrategyContext): void {
  const names = namesOf(context.identity);
  const data = object.data;
  switch (names.secretTypes.get(object.type ?? "")) {
    case "service-account":
      if (empty(object.metadata.annotations?.get(names.serviceAccountName))) {
        out.push(required(`metadata.annotations[${names.serviceAccountName}]`));
      }
      break;
    case "docker-config":
      checkJsonKey(out, data, ".dockercfg");
      break;
    case "docker-config-json":
      checkJsonKey(out, data, ".dockerconfigjson");
      break;
    case "basic-auth":
      if (data?.has("username") !== true && data?.has("password") !== true) {
        // The paths of the reference really have this `%s` in them (also below).
        out.push(required("data[%s][username]"), required("data[%s][password]"));
      }
      break;
    case "ssh-auth":
      if (empty(data?.get("ssh-privatekey") ?? undefined)) out.push(required("data[%s][ssh-privatekey]"));
      break;
    case "tls":
      if (data?.has("tls.crt") !== true) out.push(required("data[tls.crt]"));
      if (data?.has("tls.key") !== true) out.push(required("data[tls.key]"));
      break;
    default:
  }
}

function checkJsonKey(out: Errors, data: Bag | undefined, key: string): void {
  const value = data?.get(key);
  if (value === undefined) {
    out.push(required(`data[${key}]`));
    return;
  }
  const fault = jsonObjectFault(Buffer.from(value ?? "", "base64"));
  if (fault !== undefined) out.push(invalid(`data[${key}]`, "<secret contents redacted>", fault));
}

/** What is wrong with bytes that should be a JSON object (or null), in the reference's words. */
function jsonObjectFault(bytes: Uint8Array): string | undefined {
  const value = parseJson(bytes);
  if (value instanceof Fault) return value.message;
  if (value === null || value instanceof Map) return undefined;
  const what = Array.isArray(value)
    ? "array"
    : typeof value === "string"
      ? "string"
      : typeof value === "boolean"
        ? "bool"
        : "number";
  return `json: cannot unmarshal ${what} into Go value of type map[string]interface {}`;
}

/** Size of what a base64 text stands for. */
function decodedBytes(base64: string | null): number {
  if (base64 === null) return 0;
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return Math.max(0, (base64.length * 3) / 4 - padding);
}

/** Exact equality: an absent bag differs from an empty one, and so do their values. */
function sameBag(a: Bag | undefined, b: Bag | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.size !== b.size) return false;
  for (const [key, value] of a) if (b.get(key) !== value) return false;
  return true;
}
