// Reading a request's body: its bytes are charged to its user before the first is awaited, it has to be there by the
// request's deadline, and only then does the request take a seat. An upload that drips holds up no other.
import { refuse, type Status, timedOut } from "../api/status.ts";
import { limits } from "../config/limits.ts";
import { actionOf } from "./actions.ts";
import type { Call } from "./call.ts";
import type { Server } from "./context.ts";
import type { ResourceInfo } from "./info.ts";
import { sendStatus } from "./respond.ts";
import { reviewOf } from "./reviews.ts";

/** Headers of the answer to an upload that came too late: the rest of it is not waited for. */
export const hangUp = [["Connection", "close"]] as const;

/**
 * The body, with a seat for the request; a Status of 413 or 429; undefined when the request was answered (429 without a
 * seat, 504 past its deadline) or the client went away.
 */
export async function receiveBody(call: Call): Promise<Uint8Array | Status | undefined> {
  const { exchange, holdings, reply, trace } = call;
  const bytesMax = bodyBytesMax(call);
  const expected = expectedBytes(exchange.header("content-length"), exchange.header("transfer-encoding"), bytesMax);
  const full = expected === 0 ? undefined : holdings.receive(expected);
  if (full !== undefined) return full;
  const bytes = await within(exchange.body(bytesMax), call.deadline - call.server.clock.monotonic());
  trace.done("body");
  if (bytes === "aborted") return undefined;
  if (bytes === "too-large") {
    return refuse("RequestEntityTooLarge", `Request entity too large: limit is ${bytesMax}`);
  }
  if (bytes !== "late") return call.enter() ? bytes : undefined;
  sendStatus(reply, timedOut, call.accepted, hangUp);
  return undefined;
}

/** What asks or tells something instead of being stored is small: questions, options of deletes, bindings, evictions. */
function bodyBytesMax({ info, server }: Call): number {
  const isSmall = info.verb !== "create" ? info.verb.startsWith("delete") : isQuestion(info, server);
  return isSmall ? limits.smallBodyBytesMax : limits.bodyBytesMax;
}

function isQuestion(info: ResourceInfo, server: Server): boolean {
  return actionOf(info) !== undefined || reviewOf(info, server) !== undefined;
}

/** Bytes to expect, and the most that are taken where a client does not say. */
function expectedBytes(length: string | undefined, encoding: string | undefined, bytesMax: number): number {
  if (length === undefined) return encoding === undefined ? 0 : bytesMax;
  const bytes = Number(length);
  return bytes >= 0 && bytes <= bytesMax ? bytes : bytesMax;
}

/** Waits for `pending`, at most `ms`. */
export function within<T>(pending: Promise<T>, ms: number): Promise<T | "late"> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, Math.max(0, Math.ceil(ms)), "late");
    const settle = (value: T): void => {
      clearTimeout(timer);
      resolve(value);
    };
    pending.then(settle, reject);
  });
}
