// Well-formed objects of every kind and version, drawn from the schemas: JSON to protobuf and back is the same JSON, and
// protobuf to an object and back the same bytes. Then damaged bytes: an object or a fault, never a throw, never slow.
// `ORCH_FUZZ_SEED` and `ORCH_FUZZ_ROUNDS` repeat and lengthen a run.
import { isDeepStrictEqual } from "node:util";
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import type { Field, Message } from "../../src/api/schema.ts";
import { createScheme } from "../../src/api/scheme.ts";
import { readCanonical, readLean } from "../../src/codec/canonical.ts";
import { decode, encode, Fault, parseText, toValue } from "../../src/codec/json.ts";
import { decodeProto, encodeMessage } from "../../src/codec/protobuf.ts";
import { draws, fuzzRun } from "../support/random.ts";

const scheme = createScheme({
  identity: identities.kubernetes,
  runtimeConfig: new Map([["api/all", true]]),
});
/** Objects per kind. */
const { seed, rounds } = fuzzRun(10);
const depthMax = 12;
const fieldsMax = 150;

const { next, chance, pick } = draws(seed);

const texts = [
  "",
  "a",
  "web",
  "é",
  "日本",
  "🙂",
  "\u0000",
  '"\\',
  "__proto__",
  "constructor",
  "x".repeat(47),
  "y".repeat(300),
];
const integers: Readonly<Record<string, readonly string[]>> = {
  int32: ["0", "1", "-1", "127", "128", "2147483647", "-2147483648"],
  int64: ["0", "-1", "300", "9007199254740993", "9223372036854775807", "-9223372036854775808"],
  uint32: ["0", "4294967295"],
  uint64: ["0", "18446744073709551615"],
};

/** JSON of one value of a field. */
function scalar(field: Field): string {
  switch (field.type) {
    case "bool":
      return pick(["true", "false"]);
    case "int32":
    case "int64":
    case "uint32":
    case "uint64":
      return pick(integers[field.type] ?? ["0"]);
    case "float":
    case "double":
      return pick(["0", "1", "-2.5", "1e21", "0.1"]);
    case "bytes":
      return JSON.stringify(Buffer.from(pick(texts)).toString("base64"));
    case "Time":
      return pick(['"2020-02-29T23:59:59Z"', '"1969-12-31T23:59:59Z"', '"9999-12-31T23:59:59Z"']);
    case "MicroTime":
      return pick(['"2020-02-29T23:59:59.000000Z"', '"1969-12-31T23:59:59.999999Z"', '"2100-01-01T00:00:00.000001Z"']);
    case "Duration":
      return pick(['"0s"', '"1h30m0s"', '"-1.5s"', '"1ns"']);
    case "Quantity":
      return pick(['"0"', '"100m"', '"1Gi"', '"-5"', '"1e3"', '"9223372036854775807"']);
    case "IntOrString":
      return pick(["0", "-1", "2147483647", '""', '"50%"', '"http"']);
    case "raw":
      return pick(["{}", '{"a":[1,"x",null,1.50],"b":{"__proto__":1}}', "5", '"text"', "[]"]);
    default:
      return JSON.stringify(pick(texts));
  }
}

function value(field: Field, depth: number): string {
  const { message } = field;
  if (message === undefined) return scalar(field);
  switch (message.special) {
    case undefined:
      return object(message, depth);
    case "List":
      return JSON.stringify([pick(texts)]);
    case "JSONSchemaPropsOrBool":
      return chance(50) ? "true" : schemaOf(message, depth);
    case "JSONSchemaPropsOrStringArray":
      return chance(50) ? '["a","b"]' : schemaOf(message, depth);
    default:
      return chance(50) ? `[${schemaOf(message, depth)}]` : schemaOf(message, depth);
  }
}

function schemaOf(union: Message, depth: number): string {
  const schema = union.fields.find(({ json }) => json === "schema")?.message;
  return schema === undefined ? "{}" : object(schema, depth);
}

/** Fields the object under way may still get: schemas of schemas would have no end. */
let fieldsLeft = 0;

/** No empty lists and maps: protobuf cannot tell them from none. */
function members(message: Message, depth: number): string[] {
  return message.fields.flatMap((field) => {
    if (field.inline) return field.message === undefined ? [] : members(field.message, depth);
    if (depth > depthMax || fieldsLeft <= 0 || !chance(depth > 5 ? 20 : 60)) return [];
    fieldsLeft -= 1;
    const name = JSON.stringify(field.json);
    if (field.cardinality === "one") return [`${name}:${value(field, depth + 1)}`];
    const items = Array.from({ length: 1 + next(3) }, () => value(field, depth + 1));
    if (field.cardinality === "list") return [`${name}:[${items.join(",")}]`];
    return [`${name}:{${items.map((item, index) => `${JSON.stringify(pick(texts) + index)}:${item}`).join(",")}}`];
  });
}

function object(message: Message, depth: number): string {
  return `{${members(message, depth).join(",")}}`;
}

function fromJson(message: Message, text: string): object {
  const parsed = parseText(text);
  const decoded = parsed instanceof Fault ? parsed : decode<object>(message, parsed);
  if (decoded instanceof Fault) throw new Error(`${decoded.message} in ${text}`);
  return decoded;
}

const kinds = [
  ...new Set(
    scheme.resources.flatMap(({ message, subresources }) => [
      message,
      ...subresources.flatMap((sub) => sub.message ?? []),
    ]),
  ),
];
const samples: [Message, Uint8Array][] = [];

t.test(`JSON to protobuf and back is the same for every kind (seed ${seed})`, (t) => {
  for (const message of kinds) {
    const wrong: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      fieldsLeft = fieldsMax;
      const source = fromJson(message, object(message, 0));
      const bytes = encodeMessage(message, source);
      const back = decodeProto<object>(message, bytes);
      if (back instanceof Fault) wrong.push(back.message);
      else {
        if (encode(message, back) !== encode(message, source)) wrong.push(encode(message, source));
        if (Buffer.compare(encodeMessage(message, back), bytes) !== 0) wrong.push("other bytes");
      }
      if (round === 0) samples.push([message, bytes]);
    }
    t.same(wrong, [], message.name);
  }
  t.end();
});

t.test(`toValue() says what encode() writes, for every kind (seed ${seed})`, (t) => {
  for (const message of kinds) {
    const wrong: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      fieldsLeft = fieldsMax;
      const source = fromJson(message, object(message, 0));
      const written = parseText(encode(message, source));
      // Key order counts: a document is written again in the order it has.
      if (!isDeepStrictEqual(toValue(message, source), written)) wrong.push(encode(message, source));
      if (order(toValue(message, source)) !== order(written)) wrong.push("another order of keys");
    }
    t.same(wrong, [], message.name);
  }
  t.end();
});

/** Keys and values in their order. */
function order(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner instanceof Map ? [...inner] : typeof inner === "bigint" ? `${inner}n` : inner,
  );
}

t.test(`what encode() wrote is read alike in one pass, for every kind (seed ${seed})`, (t) => {
  let read = 0;
  for (const message of kinds) {
    const wrong: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      fieldsLeft = fieldsMax;
      const text = encode(message, fromJson(message, object(message, 0)));
      const source = fromJson(message, text);
      const back = readCanonical<object>(message, text);
      if (back === undefined) continue;
      read += 1;
      if (!isDeepStrictEqual(back, source)) wrong.push(text);
      dropManagers(source);
      if (!isDeepStrictEqual(readLean<object>(message, text)?.object, source)) wrong.push(`lean: ${text}`);
    }
    t.same(wrong, [], message.name);
  }
  t.ok(read > (kinds.length * rounds) / 2, `${read} of ${kinds.length * rounds} were read`);
  t.end();
});

/** Takes managed fields out of an object and out of all in it. */
function dropManagers(of: unknown): void {
  if (of === null || typeof of !== "object") return;
  if ("managedFields" in of) delete of.managedFields;
  for (const inner of of instanceof Map ? of.values() : Object.values(of)) dropManagers(inner);
}

t.test(`damaged protobuf is an object or a fault (seed ${seed})`, (t) => {
  let slowest = 0;
  for (const [message, whole] of samples) {
    for (let round = 0; round < rounds * 5; round += 1) {
      const bytes = Uint8Array.from(whole.subarray(0, chance(20) ? next(whole.length + 1) : whole.length));
      for (let flips = 1 + next(4); flips > 0 && bytes.length > 0; flips -= 1) bytes[next(bytes.length)] = next(256);
      const start = performance.now();
      const back = decodeProto<object>(message, bytes);
      // What was read can be shown and sent.
      if (!(back instanceof Fault)) {
        const shown = parseText(encode(message, back));
        if (shown instanceof Fault) t.fail(`${message.name}: ${shown.message}`);
        encodeMessage(message, back);
      }
      slowest = Math.max(slowest, performance.now() - start);
    }
  }
  t.ok(slowest < 1000, `the slowest took ${slowest.toFixed(1)} ms`);
  t.end();
});
