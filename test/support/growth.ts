// Objects of every kind with one part of them that grows: each list, map and text its schema has, at any depth, filled
// with what is empty, what is always the same and what is always another.
import type { Field, Message } from "../../src/api/schema.ts";
import type { Resource } from "../../src/api/scheme.ts";
import type { Draws } from "./random.ts";

/** A JSON object. */
export type Json = Record<string, unknown>;

/** One part that grows. */
export interface Grower {
  /** Where, of what kind and with what. */
  readonly name: string;
  /** An object with so many items, keys or characters there. */
  readonly make: (count: number) => Json;
}

const depthMax = 9;

/** What some fields must hold to get past the first check. */
const known: Readonly<Record<string, (index: number) => unknown>> = {
  name: (index) => `n${index}`,
  namespace: () => "default",
  image: () => "i",
  mountPath: (index) => `/m${index}`,
  path: (index) => `/p${index}`,
  key: (index) => `k${index}`,
  operator: () => "Exists",
  effect: () => "NoSchedule",
  topologyKey: () => "zone",
  protocol: () => "TCP",
  port: (index) => (index % 65_535) + 1,
  containerPort: (index) => (index % 65_535) + 1,
  weight: () => 1,
  ip: (index) => `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`,
  cidr: (index) => `10.${(index >> 8) & 255}.${index & 255}.0/24`,
  apiVersion: () => "v1",
  kind: () => "Pod",
  uid: (index) => `u${index}`,
  verbs: (index) => [`v${index}`],
  apiGroups: (index) => [`g${index}`],
  resources: (index) => [`r${index}`],
  addresses: (index) => [`10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`],
  host: (index) => `h${index}.example.com`,
  pathType: () => "Prefix",
  manager: (index) => `m${index}`,
  operation: () => "Update",
  fieldsType: () => "FieldsV1",
  fieldsV1: (index) => ({ "f:data": { [`f:k${index}`]: {} } }),
};

const texts = ["a", "0", " ", ".", "a.", "-", "/", ",", "\\", '"', "é", "\u0000", "(", "$(", "=", "9", "\t", ":", "%"];

function scalar({ type, json, enum: values }: Field, index: number): unknown {
  if (values.length > 0) return values[index % values.length];
  switch (type) {
    case "string":
      return `${json.slice(0, 8).toLowerCase()}-${index}`;
    case "bool":
      return false;
    case "bytes":
      return "AAAA";
    case "Time":
      return "2020-01-01T00:00:00Z";
    case "MicroTime":
      return "2020-01-01T00:00:00.000000Z";
    case "Quantity":
      return `${index + 1}m`;
    case "Duration":
      return "5s";
    case "IntOrString":
    case "int32":
    case "int64":
    case "uint32":
    case "double":
      return 1;
    default:
      return {};
  }
}

/** An item of a message with what its fields usually hold; `index` tells items apart. */
function filled(message: Message, index: number, depth: number, some: (field: Field) => boolean): Json {
  const item: Json = {};
  for (const field of message.fields) {
    const value = known[field.json];
    if (value !== undefined && (field.cardinality === "list") === Array.isArray(value(index))) {
      item[field.json] = value(index);
    } else if (field.cardinality !== "one" || !some(field)) continue;
    else if (field.message === undefined || field.type !== "message") item[field.json] = scalar(field, index);
    else if (depth > 0) item[field.json] = filled(field.message, index, depth - 1, some);
  }
  return item;
}

/** Steps from an object to one of its parts: a field, or the first item of a list or map. */
type Step = { readonly field: Field };

/** Every list, map and text of a message, as the steps to it. */
function parts(message: Message, steps: readonly Step[], found: (readonly Step[])[]): void {
  if (steps.length >= depthMax || steps.filter(({ field }) => field.message === message).length > 1) return;
  for (const field of message.fields) {
    const to = [...steps, { field }];
    if (field.cardinality !== "one" || field.type === "string" || field.type === "bytes") found.push(to);
    if (field.message !== undefined && field.type === "message") parts(field.message, to, found);
  }
}

/** Whether a list's items have a name, which tells them apart. */
function isNamed({ cardinality, message }: Field): boolean {
  return cardinality === "list" && message?.fields.some(({ json }) => json === "name") === true;
}

/** The object with `value` at the end of `steps`; what is on the way is made. `via`: what is keyed there is called so. */
function place(base: Json, steps: readonly Step[], value: unknown, via = ""): Json {
  const object = structuredClone(base);
  let at = object;
  for (const [index, { field }] of steps.entries()) {
    const isLast = index === steps.length - 1;
    // Messages that are inlined have no field of their own.
    if (field.inline) continue;
    if (isLast) {
      at[field.json] = value;
    } else if (field.cardinality === "list") {
      const list = (at[field.json] ??= [{}]) as Json[];
      at = list[0] ??= {};
      if (via !== "" && isNamed(field)) at["name"] = via;
    } else if (field.cardinality === "map") {
      const map = (at[field.json] ??= { [via || "k"]: {} }) as Record<string, Json>;
      at = map[Object.keys(map)[0] ?? "k"] ??= {};
    } else {
      at = (at[field.json] ??= {}) as Json;
    }
  }
  return object;
}

/** A part that grows, drawn from a kind's schema. `base`: an object of the kind that is valid. */
export function drawGrower({ pick, chance }: Draws, { kind, message }: Resource, base: Json): Grower {
  const all: (readonly Step[])[] = [];
  parts(message, [], all);
  const isText = chance(20);
  const steps = pick(all.filter((path) => (path.at(-1)?.field.cardinality === "one") === isText));
  const field = (steps.at(-1) as Step).field;
  const some = new Set(field.message?.fields.filter(() => chance(40)));
  const fill = (index: number): unknown => {
    if (field.type !== "message" || field.message === undefined) return scalar(field, index);
    return filled(field.message, index, 2, (inner) => some.has(inner) || !some.size);
  };
  const where = `${kind}.${steps.map(({ field: { json } }) => json).join(".")}`;
  if (field.cardinality === "one") {
    const text = pick(texts);
    const make = (count: number): Json => place(base, steps, text.repeat(Math.ceil(count / text.length)));
    return { name: `${where} of ${JSON.stringify(text)}`, make };
  }
  const variant = pick(["empty", "same", "other", "other"] as const);
  const item = (index: number): unknown => {
    if (variant === "empty") return field.type === "message" ? {} : field.type === "string" ? "" : scalar(field, 0);
    return fill(variant === "same" ? 0 : index);
  };
  const sizeOf = (index: number): number => JSON.stringify(item(index)).length + 1;
  // What is said of each item may name the whole way to it.
  const isKeyed = steps.slice(0, -1).some(({ field }) => field.cardinality === "map" || isNamed(field));
  const isLong = isKeyed && chance(50);
  const make = (whole: number): Json => {
    const count = isLong ? whole / 2 : whole;
    const via = isLong ? "v".repeat(count) : "";
    if (field.cardinality === "map") {
      const items = Math.ceil(count / (sizeOf(0) + 10));
      const entries = Array.from({ length: items }, (_, index) => [`k${index}`, item(index)]);
      return place(base, steps, Object.fromEntries(entries), via);
    }
    return place(
      base,
      steps,
      Array.from({ length: Math.ceil(count / sizeOf(1)) }, (_, index) => item(index)),
      via,
    );
  };
  return { name: `${where} of ${variant} items${isLong ? " below a long name" : ""}`, make };
}
