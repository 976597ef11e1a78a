// Secret: keys, sizes, what a type of secret must hold, and what `immutable` freezes.
import { type FieldError, forbiddenField, invalid, required, tooLong } from "../../api/fielderror.ts";
import type { Secret } from "../../api/gen/core/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import { Fault, parseJson } from "../../codec/engine/json.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, nameColumn } from "../columns.ts";
import { isConfigMapKey } from "../formats.ts";
import { strategyFor } from "../generic.ts";
import { countEvaluator } from "../quota/evaluator.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { addAll, type Errors, empty, faults, isFull } from "../validation/check.ts";
import { checkImmutableScalar } from "../validation/equal.ts";
import { namesOf } from "../validation/names.ts";
import { type Bag, decodedBytes, frozen, sameBag, valueBytesMax } from "./configdata.ts";

/** Behaviour of secrets. */
export function secretBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: secretStrategy(resource),
    columns: secretColumns(),
    evaluator: countEvaluator(resource, resource.resource),
    metaRules: { update: [1, 1] },
  };
}

/** Secrets: stringData is a way to write data, never stored. */
function secretStrategy(resource: Resource): Strategy<Secret> {
  return strategyFor<Secret>(resource, {
    boundsSize: true,
    canonicalize: mergeStringData,
    prepareForUpdate(_context, secret, old) {
      if (!secret.type) secret.type = old.type;
    },
    validate: validateSecret,
    validateUpdate: validateSecretUpdate,
    selectableFields: ({ type }) => [["type", type ?? ""]],
    fieldLabels: ["type"],
  });
}

function mergeStringData(secret: Secret): void {
  if (secret.stringData?.size) {
    secret.data ??= new Map();
    for (const [key, value] of secret.stringData) secret.data.set(key, Buffer.from(value).toString("base64"));
  }
  secret.stringData = undefined;
}

/** Columns of secrets. */
function secretColumns(): Columns<Secret> {
  return {
    columns: [
      nameColumn,
      column("Type", "What the secret is for", ({ type }) => type ?? ""),
      column("Data", "Number of keys", ({ data }) => data?.size ?? 0),
      ageColumn,
    ],
  };
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
        // The paths of upstream really have this `%s` in them (also below).
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

/** What is wrong with bytes that should be a JSON object (or null), in upstream's words. */
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
