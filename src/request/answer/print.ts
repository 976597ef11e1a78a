// JSON of ours in another format: on a front where it is small, in the pool (offload.ts) where it is big, by one function.
import type { Message } from "../../api/schema.ts";
import { assert } from "../../base/assert.ts";
import { Fault, parseOwn, textOf } from "../../codec/engine/json.ts";
import { prettyItem, prettyJson, sortedDocument } from "../../codec/json/print.ts";
import { yamlText } from "../../codec/yaml/printer.ts";
import type { PrintFormat } from "../route/negotiate.ts";
import { protoDocument } from "./protoanswer.ts";

/** Formats for people. */
export type TextFormat = Exclude<PrintFormat, "protobuf">;

/** JSON of ours (of `message`, or a Status) in another format. */
export function print(format: PrintFormat, message: Message, json: Uint8Array): Uint8Array {
  if (format === "protobuf") return protoDocument(message, json);
  return Buffer.from(printText(format, json, message.open === true));
}

/** JSON of ours in another text format; `isSorted`: keys come in the order of their bytes, as in YAML they do anyway. */
export function printText(format: TextFormat, json: Uint8Array, isSorted = false): string {
  const value = parseOwn(textOf(json));
  assert(!(value instanceof Fault), "Our own JSON does not parse");
  return format === "yaml" ? yamlText(value) : prettyJson(isSorted ? sortedDocument(value) : value);
}

/** What an item of a list is in a text format: an object leaves out its type, a custom one has its keys in order. */
export type ItemOf = "object" | "custom" | "form";

/** JSON of ours as an item of a list, as it stands there. */
export function printItem(format: TextFormat, json: Uint8Array, of: ItemOf): string {
  const item = parseOwn(textOf(json));
  assert(item instanceof Map, "Our own JSON is no object");
  if (of === "object") for (const key of ["kind", "apiVersion"]) item.delete(key);
  const shown = of === "custom" ? sortedDocument(item) : item;
  return format === "yaml" ? yamlText([shown]) : prettyItem(shown, "    ");
}
