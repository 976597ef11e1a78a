// From a watch request to the fan-out.
import type { Call } from "./handle.ts";
import { methodNotAllowed } from "./info.ts";
import { sendStatus } from "./respond.ts";

/** Serves a watch. */
export async function watchResource(call: Call): Promise<void> {
  sendStatus(call.reply, methodNotAllowed);
}
