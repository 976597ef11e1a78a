// `/debug/flags/v`: how much is logged, changed while the server runs. Method, texts and codes
// are upstream's, whose flag of that name is a number, too.
import { timedOut } from "../../api/status.ts";
import { within } from "../../base/within.ts";
import { hangUp, type Reply, sendStatus, sendText } from "../answer/response.ts";
import type { Server } from "../call/context.ts";
import type { NonResourceInfo } from "../route/info.ts";

/** Longer bodies are no number. */
const bodyBytesMax = 64;

/** Answers `/debug/flags/v`: a PUT of a number sets the verbosity of every thread. */
export async function serveVerbosity(server: Server, info: NonResourceInfo, reply: Reply): Promise<void> {
  const say = (code: number, text: string): void => sendText(reply, code, `${text}\n`, "text/plain");
  if (info.verb !== "put") return say(406, "unsupported http method");
  const body = await within(reply.exchange.body(bodyBytesMax), server.requestMsMax);
  if (body === "aborted") return;
  if (body === "late") return sendStatus(reply, timedOut, undefined, hangUp);
  const text = body === "too-large" ? "" : Buffer.from(body).toString("utf8");
  if (!/^[+-]?\d{1,9}$/.test(text)) {
    const why = `strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`;
    return say(400, `failed set klog.logging.verbosity ${text}: ${why}`);
  }
  server.setVerbosity(Number(text));
  say(200, `successfully set klog.logging.verbosity to ${text}`);
}
