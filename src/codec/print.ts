// The two forms of an answer for people: indented JSON and YAML. Slow by design; nothing hot asks for them.
import { Document, Pair, Scalar, YAMLMap, YAMLSeq } from "yaml";
import { NumberText, type Value } from "../api/value.ts";
import { writeValue } from "./json.ts";

/** JSON indented by two spaces, as the reference prints it (no newline at the end). */
export function prettyJson(value: Value): string {
  return indented(value, "");
}

/** A value as it stands `margin` deep in a document of prettyJson(). */
export function prettyItem(value: Value, margin: string): string {
  return indented(value, margin);
}

function indented(value: Value, margin: string): string {
  const inner = `${margin}  `;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((item) => inner + indented(item, inner)).join(",\n")}\n${margin}]`;
  }
  if (value instanceof Map) {
    if (value.size === 0) return "{}";
    const lines = [...value].map(([key, item]) => `${inner}${writeValue(key)}: ${indented(item, inner)}`);
    return `{\n${lines.join(",\n")}\n${margin}}`;
  }
  return writeValue(value);
}

/** YAML with sorted keys, as the reference converts its JSON. */
export function yamlText(value: Value): string {
  const document = new Document(undefined, { version: "1.2", schema: "core" });
  document.contents = yamlNode(value) as never;
  document.directives = undefined as never;
  return document.toString({
    lineWidth: 80,
    indentSeq: false,
    minContentWidth: 0,
    defaultKeyType: "PLAIN",
    singleQuote: true,
  });
}

function yamlNode(value: Value): YAMLMap | YAMLSeq | Scalar {
  if (Array.isArray(value)) {
    const sequence = new YAMLSeq();
    sequence.items = value.map(yamlNode);
    sequence.flow = value.length === 0;
    return sequence;
  }
  if (value instanceof Map) {
    const map = new YAMLMap();
    const keys = [...value.keys()].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    for (const key of keys) map.items.push(new Pair(yamlNode(key), yamlNode(value.get(key) ?? null)));
    map.flow = value.size === 0;
    return map;
  }
  if (value instanceof NumberText) return new Scalar(Number(value.text));
  const scalar = new Scalar(value);
  // What would read as another type when plain goes between double quotes, as the reference's encoder writes it.
  if (typeof value === "string" && isAmbiguous(value)) scalar.type = Scalar.QUOTE_DOUBLE;
  return scalar;
}

/** True when YAML 1.1 reads the plain text as something else than a string. */
function isAmbiguous(text: string): boolean {
  if (text === "" || text.length > 64) return text === "";
  if (/^(~|null|true|false|yes|no|on|off|y|n|<<|=)$/i.test(text)) return true;
  if (/^\d{4}-\d\d?-\d\d?/.test(text)) return true;
  return /^[-+]?(\.?\d[\d_]*|\d[\d_]*\.[\d_]*|0b[01_]+|0o?[0-7_]+|0x[\da-f_]+|\d[\d_]*(:[0-5]?\d)+(\.[\d_]*)?|[\d_.]+e[-+]?\d+|\.inf|\.nan)$/i.test(
    text,
  );
}
