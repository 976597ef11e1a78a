// Schemas of custom resources as JSON text, piece by piece: a definition may be as large as a request, and no turn of a
// front may be. Texts of values stand as they are, so that no digit of a number is lost.
import { RawJson } from "../api/schema.ts";
import { quote } from "../codec/json/write.ts";
import type { Definition } from "./openapicustom.ts";
import type { Schema } from "./openapischema.ts";

/** A piece is given out when it has this many characters. */
const pieceChars = 64 * 1024;
/** Below this depth a schema is written at once. */
const slowDepth = 3;

/** `"name":{…}`, in pieces that put together are the text. */
export function* definitionJson({ name, schema, isPlain }: Definition): Generator<string> {
  if (isPlain) {
    yield `${quote(name)}:${JSON.stringify(schema)}`;
    return;
  }
  const writer = new Writer();
  writer.text = `${quote(name)}:`;
  yield* writer.schema(schema, 0);
  yield writer.text;
}

class Writer {
  text = "";

  *schema(schema: Schema, depth: number): Generator<string> {
    const { properties, ...rest } = schema;
    if (properties === undefined || depth >= slowDepth) {
      this.text += schemaText(schema);
    } else {
      const before = schemaText(rest);
      this.text += before === "{}" ? '{"properties":{' : `${before.slice(0, -1)},"properties":{`;
      let comma = "";
      for (const [name, property] of Object.entries(properties)) {
        this.text += `${comma}${quote(name)}:`;
        comma = ",";
        yield* this.schema(property, depth + 1);
      }
      this.text += "}}";
    }
    if (this.text.length < pieceChars) return;
    yield this.text;
    this.text = "";
  }
}

function schemaText(schema: Schema): string {
  let text = "{";
  for (const key in schema) {
    const value = schema[key as keyof Schema];
    if (value === undefined) continue;
    if (text !== "{") text += ",";
    // Keys are ours.
    text += `"${key}":`;
    text += memberText(key as keyof Schema, value);
  }
  return `${text}}`;
}

function memberText(key: keyof Schema, value: unknown): string {
  if (typeof value === "string") return quote(value);
  switch (key) {
    case "properties":
      return propertiesText(value as Record<string, Schema>);
    case "items":
    case "not":
    case "additionalProperties":
      return typeof value === "boolean" ? String(value) : schemaText(value as Schema);
    case "allOf":
    case "anyOf":
    case "oneOf":
      return `[${(value as readonly Schema[]).map(schemaText).join(",")}]`;
    default:
      return valueText(value);
  }
}

function propertiesText(properties: Record<string, Schema>): string {
  let text = "{";
  for (const name in properties) {
    if (text !== "{") text += ",";
    text += `${quote(name)}:${schemaText(properties[name] as Schema)}`;
  }
  return `${text}}`;
}

/** The JSON of what is no schema. */
export function valueText(value: unknown): string {
  if (typeof value === "string") return quote(value);
  if (typeof value !== "object" || value === null) return String(value);
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) return `[${value.map(valueText).join(",")}]`;
  return `{${Object.entries(value)
    .map(([key, item]) => `${quote(key)}:${valueText(item)}`)
    .join(",")}}`;
}
