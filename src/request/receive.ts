// Reading a request's body: its bytes are charged to its user before the first is awaited, it has to be there by the
// request's deadline, and only then does the request take a seat. An upload that drips holds up no other.

import { refuse, type Status, timedOut } from "../api/status.ts";
import { limits } from "../config/limits.ts";
import { actionOf } from "./actions/actions.ts";
import { reviewOf } from "./actions/reviews.ts";
import { sendStatus } from "./answer/response.ts";
import type { RequestContext } from "./call/call.ts";
import type { Server } from "./call/context.ts";
import { hangUp, within } from "./exchange/within.ts";
import type { ResourceInfo } from "./route/info.ts";

/**
 * The body, with a seat for the request; a Status of 413 or 429; undefined when the request was answered (429 without a
 * seat, 504 past its deadline) or the client went away.
 */
export async function receiveBody(call: RequestContext): Promise<Uint8Array | Status | undefined> {
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
function bodyBytesMax({ info, server }: RequestContext): number {
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
