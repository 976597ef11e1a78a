// What is served, where other servers write the same data: a definition that another server established, and its client
// knows of, may be on its way here. So nothing is refused as unknown before this server has seen what is newest.
import { isStatus, type Status } from "../api/status.ts";
import { limits } from "../config/limits.ts";
import type { Server } from "./call/context.ts";
import type { Exchange } from "./exchange/transport.ts";
import { newestOf } from "./read/freshness.ts";
import { type Route, resolve } from "./route/info.ts";

const stepMs = 10;

/**
 * How a request is resolved once this server has seen what is newest, where it makes a difference: to a request for a kind
 * that is not served or has no log yet, and to one for discovery or a document of what is served. A Status: the store does
 * not say. Kinds that are there cost nothing, and one server's data are always newest.
 */
export function newestRoute(server: Server, exchange: Exchange, route: Route): Route | Promise<Route | Status> {
  if (server.store.recent === undefined || route.remote !== undefined) return route;
  const isDocument = !route.asked.isResource && tellsOfKinds(route.asked.path);
  return isDocument || isMissing(server, route) ? renewed(server, exchange, route) : route;
}

/** Discovery, and the documents of OpenAPI. */
function tellsOfKinds(path: string): boolean {
  return path === "/apis" || path.startsWith("/apis/") || path.startsWith("/openapi/");
}

/** Whether the kind a request is for is not served here, or could not be read or written yet. */
function isMissing({ views }: Server, { asked, info, scheme }: Route): boolean {
  if (!asked.isResource || asked.group === "") return false;
  const resource = scheme.find(asked.group, asked.version, asked.resource);
  if (resource === undefined) return true;
  // The log is registered by a controller of this server, soon after the definition has come.
  const { provided, prefix } = resource;
  return provided === true && !isStatus(info) && prefix !== undefined && views.find(prefix) === undefined;
}

async function renewed(server: Server, exchange: Exchange, route: Route): Promise<Route | Status> {
  const late = await newestOf(server.store)?.();
  // Documents are told as this server knows them: clients need them whatever becomes of the store.
  if (isStatus(late) && route.asked.isResource) return late;
  for (let waitedMs = 0; ; waitedMs += stepMs) {
    const now = resolve(server.scheme.current(), exchange.method, exchange.path, exchange.query);
    const isServed = server.scheme.find(route.asked.group, route.asked.version, route.asked.resource) !== undefined;
    const waits = isServed && isMissing(server, now) && waitedMs < limits.freshnessWaitMsMax;
    if (!waits || exchange.aborted) return now;
    await new Promise((resolve) => setTimeout(resolve, stepMs));
  }
}
