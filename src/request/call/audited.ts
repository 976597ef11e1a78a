// Where the request path meets auditing: the arrival of a request is written before anything is done for it, and whom
// authentication did not recognize is written as well.
import { refuse, type Status } from "../../api/status.ts";
import type { User } from "../../api/user.ts";
import type { Auditor } from "../../audit/auditor.ts";
import type { Entry } from "../../audit/entry.ts";
import type { Authentication } from "../../authn/table.ts";
import type { Awaitable } from "../../base/awaitable.ts";
import type { Reply } from "../answer/response.ts";
import type { Exchange } from "../exchange/transport.ts";
import type { Route } from "../route/info.ts";
import { first, parseQuery } from "../route/query.ts";
import type { Book } from "./requestrecord.ts";

const unrecorded = refuse("InternalError", "Internal error occurred: failed to store audit event");

/** Writes the arrival of a request. A Status: it could not be written, and the request must not run. */
export function auditArrival(
  auditor: Auditor,
  authn: Pick<Authentication, "notes">,
  { asked }: Route,
  reply: Reply,
  book: Book,
  user: User,
): Awaitable<Status | undefined> {
  const entry = auditor.begin({ exchange: reply.exchange, id: book.id, startedMs: book.startedMs }, asked, user);
  if (entry === undefined) return undefined;
  for (const [key, value] of authn.notes(user) ?? []) entry.annotations.set(key, value);
  const waits = auditor.arrived(entry);
  if (waits !== undefined) return waits.then((stored) => (stored ? follow(entry, reply, book) : unrecorded));
  return follow(entry, reply, book);
}

/** From here on everything that becomes known of the request is told to its entry. */
function follow(entry: Entry, reply: Reply, book: Book): undefined {
  book.audit = entry;
  reply.audit = entry;
}

/** Writes that credentials were not accepted: one event. What is answered: that, or that it cannot be written. */
export async function auditStranger(
  auditor: Auditor,
  { asked }: Route,
  { exchange }: Reply,
  book: Book,
  refused: Status,
): Promise<Status> {
  const entry = auditor.begin({ exchange, id: book.id, startedMs: book.startedMs }, asked, undefined);
  if (entry === undefined) return refused;
  if ((await auditor.room(entry)) === false) return unrecorded;
  entry.ends(refused.code, "", attempted(exchange), "");
  entry.reached("ResponseStarted");
  return refused;
}

/** The ways a client tried, none of the values (upstream: getAuthMethods). */
function attempted(exchange: Exchange): string {
  const { query, peer } = exchange;
  const authorization = (exchange.header("authorization") ?? "").trim();
  const tries = [
    /^basic /i.test(authorization) ? ["basic"] : [],
    /^bearer /i.test(authorization) ? ["bearer"] : [],
    (first(parseQuery(query), "access_token") ?? "").trim() === "" ? [] : ["access_token"],
    peer === undefined ? [] : ["x509"],
  ].flat();
  if (tries.length === 0) return "Authentication failed, no credentials provided";
  return `Authentication failed, attempted: ${tries.join(", ")}`;
}
