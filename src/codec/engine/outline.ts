// A change that concerns a few fields of a large object reads and writes those; all else stays the text it is stored as.
import type { Field, Message } from "../../api/schema.ts";
import type { Parts } from "./parts.ts";

/**
 * A message whose objects, decoded from stored text, have the fields of `parts` and all that are texts, numbers and such;
 * lists, maps and messages beside them are raw JSON, which encode() writes as it stands.
 */
export function outlineOf(message: Message, parts: Parts): Message {
  const fields = message.fields.map((field) => outlinedField(field, parts));
  const byJson = [...message.byJson].map(([json, field]) => [json, outlinedField(field, parts)] as const);
  return { ...message, fields, byJson: new Map(byJson) };
}

function outlinedField(field: Field, parts: Parts): Field {
  if (field.inline && field.message !== undefined) return { ...field, message: outlineOf(field.message, parts) };
  const part = parts.get(field.json);
  if (part === "all" || (field.cardinality === "one" && field.type !== "message")) return field;
  if (part !== undefined && field.cardinality === "one" && field.message !== undefined)
    return { ...field, message: outlineOf(field.message, part) };
  return { ...field, cardinality: "one", type: "raw", message: undefined, pointer: true, isKept: true };
}
