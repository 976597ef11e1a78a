// From a changing request to the write path and back to an answer.
import type { Call } from "./handle.ts";
import { methodNotAllowed } from "./info.ts";
import { sendStatus } from "./respond.ts";

/** Serves create, update, patch, delete and deletecollection. */
export async function writeResource(call: Call): Promise<void> {
  sendStatus(call.reply, methodNotAllowed);
}
