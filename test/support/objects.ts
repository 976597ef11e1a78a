// Well-formed objects of any kind as JSON, drawn from its schema: every field may be there, values are canonical and some
// of them at the edge of their types. The same seed gives the same objects.
import type { Field, Message } from "../../src/api/schema.ts";
import { decode, Fault, parseText } from "../../src/codec/engine/json.ts";
import type { Draws } from "./random.ts";

const depthMax = 12;
/** Schemas of schemas would have no end. */
const fieldsMax = 150;

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

/** Draws objects. */
export class ObjectSource {
  readonly #draws: Draws;
  /** Fields the object under way may still get. */
  #fieldsLeft = 0;
  /** Per cent of the fields that are there, near the top. */
  #density = 0;

  constructor(draws: Draws) {
    this.#draws = draws;
  }

  /** JSON of an object of `message`, without kind and apiVersion; most are small, some large. */
  json(message: Message): string {
    this.#fieldsLeft = fieldsMax;
    this.#density = this.#draws.pick([10, 20, 60]);
    return this.#object(message, 0);
  }

  /** JSON of one value of a field. */
  #scalar(field: Field): string {
    switch (field.type) {
      case "bool":
        return this.#draws.pick(["true", "false"]);
      case "int32":
      case "int64":
      case "uint32":
      case "uint64":
        return this.#draws.pick(integers[field.type] ?? ["0"]);
      case "float":
      case "double":
        return this.#draws.pick(["0", "1", "-2.5", "1e21", "0.1"]);
      case "bytes":
        return JSON.stringify(Buffer.from(this.#draws.pick(texts)).toString("base64"));
      case "Time":
        return this.#draws.pick(['"2020-02-29T23:59:59Z"', '"1969-12-31T23:59:59Z"', '"9999-12-31T23:59:59Z"']);
      case "MicroTime":
        return this.#draws.pick([
          '"2020-02-29T23:59:59.000000Z"',
          '"1969-12-31T23:59:59.999999Z"',
          '"2100-01-01T00:00:00.000001Z"',
        ]);
      case "Duration":
        return this.#draws.pick(['"0s"', '"1h30m0s"', '"-1.5s"', '"1ns"']);
      case "Quantity":
        return this.#draws.pick(['"0"', '"100m"', '"1Gi"', '"-5"', '"1e3"', '"9223372036854775807"']);
      case "IntOrString":
        return this.#draws.pick(["0", "-1", "2147483647", '""', '"50%"', '"http"']);
      case "raw":
        return this.#draws.pick(["{}", '{"a":[1,"x",null,1.50],"b":{"__proto__":1}}', "5", '"text"', "[]"]);
      default:
        return JSON.stringify(this.#draws.pick(texts));
    }
  }

  #value(field: Field, depth: number): string {
    const { message } = field;
    if (message === undefined) return this.#scalar(field);
    switch (message.special) {
      case undefined:
        return this.#object(message, depth);
      case "List":
        return JSON.stringify([this.#draws.pick(texts)]);
      case "JSONSchemaPropsOrBool":
        return this.#draws.chance(50) ? "true" : this.#schemaOf(message, depth);
      case "JSONSchemaPropsOrStringArray":
        return this.#draws.chance(50) ? '["a","b"]' : this.#schemaOf(message, depth);
      default:
        return this.#draws.chance(50) ? `[${this.#schemaOf(message, depth)}]` : this.#schemaOf(message, depth);
    }
  }

  #schemaOf(union: Message, depth: number): string {
    const schema = union.fields.find(({ json }) => json === "schema")?.message;
    return schema === undefined ? "{}" : this.#object(schema, depth);
  }

  /** No empty lists and maps: protobuf cannot tell them from none. */
  #members(message: Message, depth: number): string[] {
    return message.fields.flatMap((field) => {
      if (field.inline) return field.message === undefined ? [] : this.#members(field.message, depth);
      if (depth > depthMax || this.#fieldsLeft <= 0 || !this.#draws.chance(depth > 5 ? 20 : this.#density)) return [];
      this.#fieldsLeft -= 1;
      const name = JSON.stringify(field.json);
      if (field.cardinality === "one") return [`${name}:${this.#value(field, depth + 1)}`];
      const items = Array.from({ length: 1 + this.#draws.next(3) }, () => this.#value(field, depth + 1));
      if (field.cardinality === "list") return [`${name}:[${items.join(",")}]`];
      return [
        `${name}:{${items.map((item, index) => `${JSON.stringify(this.#draws.pick(texts) + index)}:${item}`).join(",")}}`,
      ];
    });
  }

  #object(message: Message, depth: number): string {
    return `{${this.#members(message, depth).join(",")}}`;
  }
}

/** The object of `message` that JSON holds; throws when it holds none. */
export function objectFrom<T extends object>(message: Message, text: string): T {
  const parsed = parseText(text);
  const decoded = parsed instanceof Fault ? parsed : decode<T>(message, parsed);
  if (decoded instanceof Fault) throw new Error(`${decoded.message} in ${text}`);
  return decoded;
}
