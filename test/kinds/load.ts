// Objects for tests of kinds, straight from parsed JSON by the descriptors: no text, no errors, no pruning report.
import { messageOf } from "../../src/api/messages.ts";
import { type Message, RawJson } from "../../src/api/schema.ts";
import { assert } from "../../src/base/assert.ts";

type Json = Record<string, unknown>;

/** The in-memory form of `json` as a `name` (`core/v1.Pod`). */
export function load<T>(name: string, json: object): T {
  return struct(messageOf(name), json as Json) as T;
}

const zeros: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["string", ""],
  ["bool", false],
  ["int32", 0],
  ["int64", 0],
]);

/** Plain JSON of an in-memory object: maps as objects, raw JSON parsed, what is undefined left out. */
export function dump(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, inner: unknown) => {
      if (inner instanceof Map) return Object.fromEntries(inner);
      if (inner instanceof RawJson) return JSON.parse(inner.text) as unknown;
      return typeof inner === "bigint" ? Number(inner) : inner;
    }),
  ) as unknown;
}

function struct(message: Message, json: Json): Json {
  const made: Json = {};
  if (message.typeMeta) {
    for (const key of ["kind", "apiVersion"]) if (json[key] !== undefined) made[key] = json[key];
  }
  for (const field of message.fields) {
    if (field.inline && field.message) {
      Object.assign(made, struct(field.message, json));
      continue;
    }
    const value = json[field.json];
    const single = (item: unknown) => {
      if (field.type === "raw") return new RawJson(JSON.stringify(item));
      if (field.type !== "message") return item;
      assert(field.message !== undefined, `Field ${field.json} has a message`);
      return field.message.special ? item : struct(field.message, item as Json);
    };
    if (value === undefined || value === null) {
      const always = field.cardinality === "one" && field.type === "message" && !field.pointer && field.message;
      if (always && !always.special) made[field.json] = struct(always, {});
      if (field.cardinality === "one" && !field.pointer && !field.omitEmpty) made[field.json] ??= zeros.get(field.type);
    } else if (field.cardinality === "list") made[field.json] = (value as unknown[]).map(single);
    else if (field.cardinality === "map") {
      made[field.json] = new Map(Object.entries(value as Json).map(([key, item]) => [key, single(item)]));
    } else made[field.json] = single(value);
  }
  return made;
}
