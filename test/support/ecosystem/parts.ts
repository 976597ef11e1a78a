// Parts that the schemas of published definitions are made of.
import { messageOf } from "../../../src/api/messages.ts";
import type { Field, Message } from "../../../src/api/schema.ts";

/** A JSON object. */
export type Json = Record<string, unknown>;

export const text = (more: Json = {}): Json => ({ type: "string", ...more });
export const integer = (more: Json = {}): Json => ({ type: "integer", ...more });
export const flag = (more: Json = {}): Json => ({ type: "boolean", ...more });
export const list = (items: Json, more: Json = {}): Json => ({ type: "array", items, ...more });
export const mapOf = (values: Json, more: Json = {}): Json => ({
  type: "object",
  additionalProperties: values,
  ...more,
});
export const object = (properties: Json, required: readonly string[] = [], more: Json = {}): Json => ({
  type: "object",
  properties,
  ...(required.length > 0 ? { required } : {}),
  ...more,
});
export const keyed = (items: Json, keys: readonly string[], more: Json = {}): Json =>
  list(items, { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, ...more });

export const eitherOf = [{ type: "integer" }, { type: "string" }];
export const intOrString: Json = { anyOf: eitherOf, "x-kubernetes-int-or-string": true };
export const quantity: Json = {
  ...intOrString,
  pattern: "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$",
};
export const time = text({ format: "date-time" });
export const anything: Json = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
export const duration = text({
  pattern: "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$",
});
export const dnsName = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
export const cel = (rule: string, message: string): Json => ({ rule, message });

/** Conditions as the API conventions have them. */
export function conditions(more: Json = {}): Json {
  const condition = object(
    {
      lastTransitionTime: time,
      message: text({ maxLength: 32768 }),
      observedGeneration: integer({ format: "int64", minimum: 0 }),
      reason: text({ maxLength: 1024, minLength: 1, pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" }),
      status: text({ enum: ["True", "False", "Unknown"] }),
      type: text({
        maxLength: 316,
        pattern:
          "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
      }),
    },
    ["lastTransitionTime", "message", "reason", "status", "type"],
  );
  return keyed(condition, ["type"], { maxItems: 8, ...more });
}

/** A condition of an object. */
export function condition(type: string, status = "True"): Json {
  return { type, status, reason: "Tested", message: "", lastTransitionTime: "2026-01-02T03:04:05Z" };
}

/** The schema of one of our own messages, with all of its own in it, as generators make it of Go's types. */
export function inlined(name: string): Json {
  return ofMessage(messageOf(name), new Set());
}

function ofMessage(message: Message, within: ReadonlySet<Message>): Json {
  if (message.name === "meta/v1.ObjectMeta") {
    return object({ name: text(), labels: mapOf(text()), annotations: mapOf(text()) });
  }
  if (message.special !== undefined || within.has(message)) return anything;
  const inside = new Set(within).add(message);
  const fields = [...message.byJson.values()].filter(({ json }) => json !== "");
  const properties = Object.fromEntries(fields.map((field) => [field.json, ofField(field, inside)]));
  const required = fields.filter((field) => field.required).map(({ json }) => json);
  const more = message.structType === undefined ? {} : { "x-kubernetes-map-type": "atomic" };
  return object(properties, required, more);
}

function ofField(field: Field, within: ReadonlySet<Message>): Json {
  const one = field.message === undefined ? scalarOf(field) : ofMessage(field.message, within);
  if (field.cardinality === "map") return mapOf(one);
  const more = field.default === undefined ? {} : { default: JSON.parse(field.default) as unknown };
  if (field.cardinality === "one") return { ...one, ...more };
  if (field.listType !== "map") return list(one, field.listType && { "x-kubernetes-list-type": field.listType });
  const keys = field.listMapKeys;
  const properties = one["properties"] as Record<string, Json>;
  const needed = new Set((one["required"] ?? []) as string[]);
  // Keys must be there, or have a default.
  for (const key of keys) if (properties[key]?.["default"] === undefined) needed.add(key);
  return keyed({ ...one, required: [...needed] }, keys);
}

function scalarOf({ type, enum: values }: Field): Json {
  switch (type) {
    case "bool":
      return flag();
    case "int32":
    case "uint32":
      return integer({ format: "int32" });
    case "int64":
    case "uint64":
      return integer({ format: "int64" });
    case "float":
    case "double":
      return { type: "number" };
    case "bytes":
      return text({ format: "byte" });
    case "Time":
    case "MicroTime":
      return time;
    case "Quantity":
      return quantity;
    case "IntOrString":
      return intOrString;
    case "raw":
      return anything;
    default:
      return text(values.length > 0 ? { enum: values } : {});
  }
}

/** A column of a table. */
export const column = (name: string, jsonPath: string, type = "string", more: Json = {}): Json => ({
  name,
  jsonPath,
  type,
  ...more,
});
/** The usual last one. */
export const age = column("Age", ".metadata.creationTimestamp", "date");
