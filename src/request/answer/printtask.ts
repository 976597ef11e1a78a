// The task that prints: an answer, or an item of a list, as far as its format goes, from JSON of ours to the bytes a client
// asked for.
import { messageOf } from "../../api/messages.ts";
import { assert } from "../../base/assert.ts";
import type { Task } from "../../pool/task.ts";
import type { PrintFormat } from "../route/negotiate.ts";
import { type ItemOf, print, printItem, printText } from "./print.ts";

/** What is printed. */
export interface PrintInput {
  readonly format: PrintFormat;
  /** What the JSON is of, by the name of its message; undefined: of a custom resource. */
  readonly message: string | undefined;
  /** It is an item of a list in a text format, of this sort. */
  readonly item?: ItemOf;
  readonly body: Uint8Array;
}

/** What came of it. */
export interface PrintOutput {
  readonly printed: Uint8Array;
}

/** Prints JSON of ours in another format. */
export const printTask: Task<PrintInput, PrintOutput> = {
  name: "print",
  work: ({ format, message, item, body }) => {
    if (item !== undefined) {
      assert(format !== "protobuf", "Lists in protobuf are not printed");
      return { printed: Buffer.from(printItem(format, body, item)) };
    }
    if (message !== undefined) return { printed: print(format, messageOf(message), body) };
    assert(format !== "protobuf", "Custom resources have no protobuf");
    return { printed: Buffer.from(printText(format, body, true)) };
  },
};
