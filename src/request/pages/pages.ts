// Endpoints that are no resources: discovery, version, health, metrics, the list of paths.
import {
  aggregatedContentType,
  aggregatedDiscovery,
  aggregatedVersionOf,
  type Document,
  discoveryDocument,
} from "../../api/discovery.ts";
import { messageOf } from "../../api/messages.ts";
import { refuse } from "../../api/status.ts";
import { limits } from "../../config/limits.ts";
import { longWork } from "../../config/longwork.ts";
import type { GatheredPage } from "../../observe/gathered.ts";
import {
  headersOf,
  type Reply,
  sendJson,
  sendNotFoundPage,
  sendObject,
  sendPacked,
  sendPublic,
  sendStatus,
  sendText,
} from "../answer/response.ts";
import type { Server } from "../call/context.ts";
import { methodNotAllowed, type NonResourceInfo, unknownResource } from "../route/info.ts";
import {
  type Accepted,
  acceptsGzip,
  jsonPretty,
  type MediaTypes,
  negotiatePage,
  notOffered,
  takes,
  wantsPretty,
} from "../route/negotiate.ts";
import { first } from "../route/query.ts";
import { sendConsole } from "./console.ts";
import { serveOpenApi } from "./openapi.ts";
import { serveProfile } from "./profiles.ts";
import { serveVerbosity } from "./verbosity.ts";

const encoder = new TextEncoder();

/** Answers a request for something that is no resource. */
export async function servePage(server: Server, types: MediaTypes, info: NonResourceInfo, reply: Reply): Promise<void> {
  const { path, verb } = info;
  const accept = reply.exchange.header("accept");
  const pretty = wantsPretty(info.query, reply.exchange.header("user-agent"));
  const health = server.health(path, info.query.has("verbose"), info.query.get("exclude") ?? []);
  if (health !== undefined) {
    const { code, body, contentType } = await health;
    return sendText(reply, code, body, contentType);
  }
  if (path === "/metrics") {
    return sendGathered(server, "metrics", "text/plain; version=0.0.4; charset=utf-8", reply);
  }
  const reads = verb === "get" || verb === "head";
  if (path === "/debug/console/data" && reads) return sendGathered(server, "console", "application/json", reply);
  if (path === "/debug/console/profile" && verb === "get") return sendFlame(server, info, reply);
  if (path === "/debug/console" && reads) return sendConsole(reply);
  if (verb === "get" && (await serveProfile(info, reply))) return;
  if (path.startsWith(dumpsPath) && (await sendDump(server, info, reply))) return;
  if (path === "/debug/flags/v") return serveVerbosity(server, info, reply);
  if (path.startsWith("/openapi/") && (await serveOpenApi(server, info, reply))) return;
  if (path === "/version" || path === "/version/") {
    return reads ? sendDocumentOf(reply, types, server.version) : sendStatus(reply, methodNotAllowed);
  }
  if (path.startsWith("/version/")) return sendStatus(reply, unknownResource);
  if (reads && sendIssuer(server, path, reply)) return;
  // Whatever the client accepts (upstream).
  if (path === "/" || path === "/index.html") return sendJson(reply, 200, encoder.encode(pathList(server)), jsonPretty);
  if (reads && (await sendAggregated(server, path, accept, reply))) return;
  const document = discovery(server, path);
  if (document !== undefined) {
    // Upstream's group documents answer any method; the others only reads.
    if (!reads && !isGroupDocument(path)) return sendStatus(reply, methodNotAllowed);
    return sendDocument(reply, types, negotiatePage(accept, pretty, types), document);
  }
  if (/^\/api\//.test(path) || isUnderServedGroup(server, path)) return sendStatus(reply, unknownResource);
  sendNotFoundPage(reply);
}

const dumpsPath = "/debug/api_priority_and_fairness/";

/** The tables of flow control, whatever the method (upstream). */
async function sendDump({ flow }: Server, { path, query }: NonResourceInfo, reply: Reply): Promise<boolean> {
  const withDetails = (query.get("includeRequestDetails")?.[0] ?? "") !== "";
  const text = await flow?.dump(path.slice(dumpsPath.length), withDetails);
  if (text !== undefined) sendText(reply, 200, text);
  return text !== undefined;
}

/** Sends a page that the main thread makes. */
async function sendGathered(server: Server, page: GatheredPage, contentType: string, reply: Reply): Promise<void> {
  const gzips = acceptsGzip(reply.exchange.header("accept-encoding"));
  const bytes = await server.gathered(page, gzips);
  // Those that asked together have it at once, and it takes a while to send.
  await longWork.giveWay();
  sendPacked(reply, bytes, contentType);
}

/** Sends a flame graph of the thread that is asked for. */
function sendFlame(server: Server, { query }: NonResourceInfo, reply: Reply): Promise<void> | void {
  const thread = first(query, "thread") ?? "front-0";
  const text = first(query, "seconds") ?? "5";
  const seconds = Number(text);
  if (!(seconds >= 1 && seconds <= limits.flameSecondsMax)) {
    const message = `seconds is ${JSON.stringify(text)}, must be between 1 and ${limits.flameSecondsMax}`;
    return sendStatus(reply, refuse("BadRequest", message));
  }
  return sendGathered(server, { thread, seconds }, "application/json", reply);
}

function discovery(server: Server, path: string): Document | undefined {
  return discoveryDocument(server.scheme.current(), trimmed(path), server.serverAddress);
}

/** Without the slash at its end. */
function trimmed(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

/** The aggregated form of `/api` or `/apis`, where the client prefers it. */
async function sendAggregated(
  server: Server,
  path: string,
  accept: string | undefined,
  reply: Reply,
): Promise<boolean> {
  const version = aggregatedVersionOf(server.scheme, accept);
  const root = trimmed(path);
  if (version === undefined || (root !== "/api" && root !== "/apis")) return false;
  const { lists } = server.extensions;
  if (root === "/apis") await lists.refresh(server.scheme.current().remotes);
  if (reply.exchange.aborted) return true;
  const document = aggregatedDiscovery(server.scheme.current(), root, version, lists);
  if (document === undefined) return false;
  const contentType = aggregatedContentType(server.scheme, version);
  const tags: [string, string][] = [
    ["ETag", document.etag],
    ["Vary", "Accept"],
  ];
  if (reply.exchange.header("if-none-match") === document.etag) {
    reply.answered(304, 0);
    reply.exchange.send(304, headersOf(reply, contentType, tags), "");
  } else {
    sendJson(reply, 200, encoder.encode(document.body), { format: "json", pretty: false, contentType }, tags);
  }
  return true;
}

function isGroupDocument(path: string): boolean {
  return /^\/apis\/[^/]+\/?$/.test(path);
}

function isUnderServedGroup(server: Server, path: string): boolean {
  const group = path.split("/")[2] ?? "";
  return path.startsWith("/apis/") && server.scheme.hasGroup(group) && !server.scheme.isProvided(group);
}

function sendDocument(reply: Reply, types: MediaTypes, accepted: Accepted | undefined, document: Document): void {
  if (reply.exchange.header("if-none-match") === document.etag) {
    reply.answered(304, 0);
    return reply.exchange.send(304, headersOf(reply, "application/json", [["ETag", document.etag]]), "");
  }
  if (accepted === undefined) return sendStatus(reply, notOffered(types));
  sendObject(reply, 200, encoder.encode(document.body), messageOf(`meta/v1.${kindOf(document.body)}`), accepted, [
    ["ETag", document.etag],
  ]);
}

/** `{"kind":"APIGroupList",…`: every discovery document begins with its kind. */
function kindOf(document: string): string {
  return document.slice(9, document.indexOf('"', 9));
}

/** What tells others about the tokens of service accounts (OpenID Connect Discovery 1.0, section 4). */
function sendIssuer({ authn }: Server, path: string, reply: Reply): boolean {
  const isKeySet = path === "/openid/v1/jwks";
  if (!isKeySet && path !== "/.well-known/openid-configuration") return false;
  const contentType = isKeySet ? "application/jwk-set+json" : "application/json";
  const text = isKeySet ? authn.accounts.keySet : authn.accounts.configuration;
  if (takes(reply.exchange.header("accept"), contentType)) sendPublic(reply, contentType, text);
  else sendStatus(reply, refuse("NotAcceptable", `only the following media types are accepted: ${contentType}`));
  return true;
}

/** Sends a document that is there in JSON only, to every client that takes JSON. */
function sendDocumentOf(reply: Reply, types: MediaTypes, json: string): void {
  if (!takes(reply.exchange.header("accept"), "application/json")) return sendStatus(reply, notOffered(types));
  sendJson(reply, 200, encoder.encode(json), jsonPretty);
}

/** `/`: the paths this server answers. */
function pathList(server: Server): string {
  const paths = [
    "/.well-known/openid-configuration",
    "/api",
    "/apis",
    "/healthz",
    "/livez",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/openid/v1/jwks",
    "/readyz",
    "/version",
  ];
  for (const { group, versions } of server.scheme.groups) {
    if (group !== "") paths.push(`/apis/${group}`);
    for (const version of versions) paths.push(group === "" ? `/api/${version}` : `/apis/${group}/${version}`);
  }
  return `${JSON.stringify({ paths: paths.sort() })}\n`;
}
