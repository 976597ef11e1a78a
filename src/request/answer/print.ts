// JSON of ours in another format: on a front where it is small, in the pool (offload.ts) where it is big, by one function.
import type { Message } from "../../api/schema.ts";
import { assert } from "../../base/assert.ts";
import { parseOwn, textOf } from "../../codec/engine/json.ts";
import { prettyJson } from "../../codec/json/print.ts";
import { yamlText } from "../../codec/yaml/printer.ts";
import type { PrintFormat } from "../route/negotiate.ts";
import { protoDocument } from "./protoanswer.ts";

/** JSON of ours (of `message`, or a Status) in another format. */
export function print(format: PrintFormat, message: Message, json: Uint8Array): Uint8Array {
  return format === "protobuf" ? protoDocument(message, json) : Buffer.from(printText(format, json));
}

/** JSON of ours in another text format. */
export function printText(format: "yaml" | "pretty", json: Uint8Array): string {
  const value = parseOwn(textOf(json));
  assert(value === null || typeof value !== "object" || !("message" in value), "Our own JSON does not parse");
  return format === "yaml" ? yamlText(value as never) : prettyJson(value as never);
}
