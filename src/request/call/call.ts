// One request on its way, as the stages after negotiation get it.
import type { User } from "../../api/user.ts";
import { assert, verify } from "../../base/assert.ts";
import { type LogView, UnknownLog } from "../../cache/view/view.ts";
import type { Trace } from "../../observe/trace.ts";
import type { Reply } from "../answer/response.ts";
import type { Permit } from "../exchange/permit.ts";
import type { Exchange } from "../exchange/transport.ts";
import { untilRecent } from "../read/freshness.ts";
import type { ReadInput } from "../read/read.ts";
import type { ResourceInfo } from "../route/info.ts";
import type { Accepted, MediaTypes } from "../route/negotiate.ts";
import type { Server } from "./context.ts";
import type { Holdings } from "./holdings.ts";

/** One request on its way; each stage takes what it needs from here. */
export interface RequestContext {
  readonly server: Server;
  readonly types: MediaTypes;
  readonly exchange: Exchange;
  readonly reply: Reply;
  readonly info: ResourceInfo;
  readonly user: User;
  /** What was authorized. */
  readonly permit: Permit;
  readonly accepted: Accepted;
  /** What the request holds of what users share. */
  readonly holdings: Holdings;
  /** Takes the request's seat; false: there is none, and the request was answered with 429. */
  readonly enter: () => boolean | Promise<boolean>;
  /** The answer was begun and goes on after the handler returns; call what is returned once, when it is over. */
  readonly lasts: () => () => void;
  /** Clock.monotonic() by which the request must be answered. */
  readonly deadline: number;
  readonly trace: Trace;
  /** What plugins say to the client, for the headers of any answer to a write. */
  readonly warnings: string[];
}

/** What a read stage needs of a call. */
export function readInput(call: RequestContext): ReadInput {
  const { info, server, exchange } = call;
  return {
    resource: info.resource,
    identity: server.identity,
    view: viewOf(call),
    namespace: info.namespace,
    lane: call.reply.lane,
    aborted: () => exchange.aborted,
    terms: { owner: call.holdings.owner, deadline: call.deadline, spans: call.trace.spans },
    newest: newestOf(call),
    past: pastOf(call),
  };
}

/** How a request learns what is most recent; undefined: the logs hold it. */
export function newestOf({ server, deadline, info, trace }: RequestContext): ReadInput["newest"] {
  const { clock, store, scheme } = server;
  const { recent } = store;
  if (recent === undefined) return undefined;
  return async () => {
    const newest = await untilRecent(recent, deadline - clock.monotonic(), trace.spans);
    const { group, version, resource, provided } = info.resource;
    // Another server let its definition go before the request came.
    if (provided === true && scheme.find(group, version, resource) === undefined)
      throw new UnknownLog(`${resource}.${group} is served no more`);
    return newest;
  };
}

/** How a request reads what the logs do not hold any more; undefined: it cannot be read. */
export function pastOf({ server, holdings, deadline, trace }: RequestContext): ReadInput["past"] {
  const { clock, store } = server;
  const { past } = store;
  if (past === undefined) return undefined;
  const page: NonNullable<typeof past> = (request) => past(request, trace.spans);
  return { page, keep: (bytes) => holdings.keepPast(bytes), isLate: () => clock.monotonic() >= deadline };
}

/** The log of the stored resource a get, list or watch is for. In tests: throws when that was not authorized. */
export function viewOf({ server, info, permit }: RequestContext): LogView {
  const { resource, namespace, name } = info;
  verify(() => {
    permit.check({ operation: "read", resource, namespace, name });
    return true;
  }, "A read was authorized");
  assert(resource.prefix !== undefined, `${resource.resource} is not stored`);
  return server.views.log(resource.prefix);
}
