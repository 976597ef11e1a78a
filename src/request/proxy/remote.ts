// Requests for what an extension server answers: upstream's aggregator. The request was authenticated and authorized as
// every other; the extension server gets it with the user's name in headers, which it believes by our certificate.
import type { IncomingMessage } from "node:http";
import { discoveryMsMax } from "../../aggregation/extensions.ts";
import { isNoTarget } from "../../aggregation/target.ts";
import type { RemoteVersion } from "../../api/scheme.ts";
import { badRequest, isStatus, refuse, type Status, timedOut } from "../../api/status.ts";
import type { User } from "../../api/user.ts";
import { sourcesOf } from "../../audit/sources.ts";
import type { Question } from "../../authz/authorizer.ts";
import { type Owner, Shares } from "../../base/shares.ts";
import { within } from "../../base/within.ts";
import { limits } from "../../config/limits.ts";
import type { Backend, Backends } from "../../outbound/backends.ts";
import { CallFailure, type Connection } from "../../outbound/client.ts";
import type { Fields, Passed, Sent, Switched } from "../../outbound/streams.ts";
import { type Reply, sendStatus, sendText } from "../answer/response.ts";
import type { Server } from "../call/context.ts";
import type { Holdings } from "../call/holdings.ts";
import { exceeded } from "../exchange/exceeded.ts";
import {
  asksUpgrade,
  type BytesUpgrade,
  type Exchange,
  type Headers,
  type MessagesUpgrade,
  valuesOf,
} from "../exchange/transport.ts";
import { lasts, type NonResourceInfo } from "../route/info.ts";
import { encodePath, encodeQuery, escapeByte, pathFault } from "./address.ts";
import { answerHeaders, passedHeaders } from "./headers.ts";
import { type Charge, handshakeOf, passMessages, withoutExtensions } from "./messages.ts";
import { headOf, relay, type Time } from "./relay.ts";
import { splice, switchHeaders, switchOf, upgradeFault } from "./upgrade.ts";

/** One request for an extension server. */
export interface RemoteRequest {
  readonly server: Server;
  readonly remote: RemoteVersion;
  readonly asked: Question;
  readonly info: NonResourceInfo;
  readonly reply: Reply;
  readonly user: User;
  readonly holdings: Holdings;
  /** Id of the request. */
  readonly id: string;
  /** Clock.monotonic() by which it must be answered, unless it lasts. */
  readonly deadline: number;
  /** Refused because too many requests were under way. */
  readonly dropped: () => void;
  /** The answer goes on for long: what is returned is called when it is over. */
  readonly goesOn: () => () => void;
}

/** Passes a request on, and its answer back; resolves when that is over. */
export async function serveRemote(request: RemoteRequest): Promise<void> {
  const { reply, server, remote } = request;
  const fault = pathFault(request.info.path) ?? hopFault(reply.exchange);
  if (fault !== undefined) return sendStatus(reply, fault);
  const { extensions } = server;
  const target = remote.available ? extensions.target(remote) : undefined;
  if (target === undefined || isNoTarget(target)) return sendText(reply, 503, "service unavailable\n");
  const backend = backendOf(request, target);
  if (typeof backend === "string") return sendUnreachable(reply, backend);
  const headers = headersFor(request, target);
  if (isStatus(headers)) return sendStatus(reply, headers);
  const span = reply.trace.spans?.begin(`extension server ${remote.name}`);
  if (span === undefined) return passTo(request, backend, target, headers);
  const own = headers.filter(([name]) => name.toLowerCase() !== "traceparent");
  try {
    await passTo(request, backend, target, [...own, ["traceparent", span.traceparent]]);
  } finally {
    span.end();
  }
}

/** Passes a request on with these headers. */
async function passTo(request: RemoteRequest, backend: Backend, target: Connection, headers: Fields): Promise<void> {
  const { info, reply } = request;
  const query = encodeQuery(info.query);
  const path = `${encodePath(info.path)}${query === "" ? "" : `?${query}`}`;
  const { method } = reply.exchange;
  const protocol = asksUpgrade(reply.exchange);
  if (protocol !== undefined) {
    return switchTo(request, backend, target, { method, path, headers, body: empty }, protocol);
  }
  const isLasting = lasts(request.asked);
  const body = await receive(request);
  if (body === undefined || !takePlace(request, backend, isLasting ? "stream" : "call")) return;
  await pass(request, backend, target, { method, path, headers, body }, isLasting);
}

const empty = new Uint8Array(0);

/** Holds a place at the extension server until the request ends; false: its user gets none, and was told. */
function takePlace({ server, holdings, reply, dropped }: RemoteRequest, backend: Backend, kind: PlaceKind): boolean {
  const { owner } = holdings;
  const place = enter(server.extensions.backends, backend, owner, kind);
  if (!(place instanceof Shares)) {
    holdings.leaveTo(place);
    return true;
  }
  dropped();
  sendStatus(reply, exceeded(place, owner));
  return false;
}

/** An answer that comes soon, one that lasts, and the other protocols. */
type PlaceKind = "call" | "stream" | (BytesUpgrade | MessagesUpgrade)["kind"];

function enter(backends: Backends, backend: Backend, owner: Owner, kind: PlaceKind): (() => void) | Shares {
  if (kind === "call") return backends.enter(backend, owner);
  return kind === "messages" ? backends.enterMessages(owner) : backends.enterLasting(owner);
}

/** Gives the client's connection to another protocol, when the extension server switches to it. */
async function switchTo(
  request: RemoteRequest,
  backend: Backend,
  target: Connection,
  passed: Passed,
  protocol: string,
): Promise<void> {
  const { reply, server, asked, deadline } = request;
  const { upgrade } = reply.exchange;
  const fault = upgradeFault(protocol);
  if (fault !== undefined) return sendStatus(reply, badRequest(fault));
  if (upgrade === undefined) return sendStatus(reply, badRequest("no upgrade"));
  if (upgrade.kind === "none") return sendStatus(reply, badRequest(upgrade.message), undefined, upgrade.headers);
  if (!takePlace(request, backend, upgrade.kind)) return;
  const time: Time = { leftMs: () => deadline - server.clock.monotonic() };
  const asks = upgrade.kind === "bytes" ? passed : { ...passed, headers: withoutExtensions(passed.headers) };
  const upgrading = backend.client.upgrade(asks, protocol);
  const switched = await switchOf(upgrading, protocol, reply.exchange, time);
  if (switched === "gone") return;
  if (switched === "late") return sendStatus(reply, timedOut);
  if (typeof switched === "string") return sendText(reply, 503, `${switched}\n`);
  if (switched instanceof CallFailure) return sendText(reply, 503, `error dialing backend: ${switched.message}\n`);
  if (!("head" in switched)) {
    const answer: Sent = { answer: Promise.resolve(switched), cut: () => upgrading.cut() };
    await passAnswer(request, answer, switched, target, { time, isLasting: false, isPacked: false });
    return upgrading.cut();
  }
  const headers = answerHeaders(switched.response.rawHeaders, (location) => location);
  const pass = passageOf(request, upgrade, asks, switched, headers);
  if (typeof pass === "string") {
    switched.socket.destroy();
    return sendText(reply, 503, `invalid upgrade response: ${pass}\n`);
  }
  if (asked.isResource) server.extensions.names.learn(asked);
  reply.answered(101, -1);
  const over = request.goesOn();
  let forget: (() => void) | undefined;
  await pass((finish) => {
    forget = server.extensions.backends.lasts({ finish });
  });
  forget?.();
  over();
}

/** What passes the other protocol on until it is over, and says how to end it; a text: why it cannot begin. */
function passageOf(
  { server, holdings, reply }: RemoteRequest,
  upgrade: BytesUpgrade | MessagesUpgrade,
  asked: Passed,
  switched: Switched,
  headers: Headers,
): ((started: (finish: () => void) => void) => Promise<void>) | string {
  if (upgrade.kind === "bytes") {
    return (started) => splice(upgrade, switchHeaders(switched, headers), switched, started);
  }
  const handshake = handshakeOf(reply.exchange, asked.headers, headers);
  if (typeof handshake === "string") return handshake;
  const fault = upgrade.fault(handshake.headers);
  if (fault !== undefined) return fault;
  const charge: Charge = (bytes) => server.extensions.backends.messages.take(holdings.owner, bytes);
  return (started) => passMessages(upgrade, handshake, switched, charge, started);
}

function backendOf({ server, remote }: RemoteRequest, target: Connection): Backend | string {
  try {
    return server.extensions.backends.at(target);
  } catch (error) {
    return `the caBundle of API service ${JSON.stringify(remote.name)} cannot be used: ${(error as Error).message}`;
  }
}

/** The body; undefined: the request was answered, or the client went away. Read whole, as every request's is. */
async function receive({ reply, holdings, deadline, server }: RemoteRequest): Promise<Uint8Array | undefined> {
  const { exchange } = reply;
  const expected = expectedBytes(exchange);
  const full = expected === 0 ? undefined : holdings.receive(expected);
  if (full !== undefined) {
    sendStatus(reply, full);
    return undefined;
  }
  const bytes = await within(exchange.body(limits.bodyBytesMax), deadline - server.clock.monotonic());
  if (bytes === "aborted") return undefined;
  if (bytes === "late") sendStatus(reply, timedOut, undefined, [["Connection", "close"]]);
  else if (bytes === "too-large") {
    sendStatus(reply, refuse("RequestEntityTooLarge", `Request entity too large: limit is ${limits.bodyBytesMax}`));
  } else return bytes;
  return undefined;
}

/** Bytes to expect; the most that are taken where a client does not say. */
function expectedBytes(exchange: Exchange): number {
  const length = exchange.header("content-length");
  if (length === undefined) return exchange.header("transfer-encoding") === undefined ? 0 : limits.bodyBytesMax;
  const bytes = Number(length);
  return bytes >= 0 && bytes <= limits.bodyBytesMax ? bytes : limits.bodyBytesMax;
}

/** Sends the request and relays what is answered. */
async function pass(
  request: RemoteRequest,
  backend: Backend,
  target: Connection,
  passed: Passed,
  isLasting: boolean,
): Promise<void> {
  const { reply, asked } = request;
  const time = isLasting ? endless : timeOf(request);
  const { exchange } = reply;
  const isPacked = !exchange.headers.some(([name]) => name === "accept-encoding");
  const sent = backend.client.send(passed);
  const response = await headOf(sent, exchange, time);
  if (response === "gone") return;
  if (response === "late" && asked.isResource) return sendStatus(reply, timedOut);
  if (response === "late") return sendUnreachable(reply, "context deadline exceeded");
  if (response instanceof CallFailure) return sendUnreachable(reply, response.message);
  await passAnswer(request, sent, response, target, { time, isLasting, isPacked });
}

/** How an answer is passed on. */
interface Passing {
  readonly time: Time;
  readonly isLasting: boolean;
  /** The client did not ask for it packed, and gets it unpacked. */
  readonly isPacked: boolean;
}

/** Passes an answer on whose head is there. */
async function passAnswer(
  request: RemoteRequest,
  sent: Sent,
  response: IncomingMessage,
  target: Connection,
  { time, isLasting, isPacked }: Passing,
): Promise<void> {
  const { reply, holdings, asked, server } = request;
  const { exchange } = reply;
  const code = response.statusCode ?? 0;
  const headers = answerHeaders(response.rawHeaders, (location) => absolute(location, target));
  if (code >= 300 && code < 400 && valuesOf(headers, "location").length > 0) {
    sent.cut();
    return sendText(reply, 502, "the backend attempted to redirect this request, which is not permitted");
  }
  if (code < 400 && asked.isResource) server.extensions.names.learn(asked);
  const hasBody = exchange.method !== "HEAD" && code !== 204 && code !== 304;
  const unpacks = hasBody && isPacked && valuesOf(headers, "content-encoding")[0]?.toLowerCase() === "gzip";
  reply.answered(code, -1);
  const over = isLasting ? request.goesOn() : undefined;
  const relaying = {
    code,
    headers: [...reply.extra, noCache, ...(unpacks ? unpacked(headers) : headers)],
    unpacks,
    time,
    payer: holdings,
  };
  let forget: (() => void) | undefined;
  await relay(exchange, sent, response, relaying, (finish) => {
    if (isLasting) forget = server.extensions.backends.lasts({ finish });
  });
  forget?.();
  over?.();
}

const noCache = ["Cache-Control", "no-cache, private"] as const;

const endless: Time = { leftMs: () => Number.POSITIVE_INFINITY };

/** What an extension server serves is asked by every client at its start: it has less time for that (upstream). */
function timeOf({ server, asked, deadline }: RemoteRequest): Time {
  const { clock } = server;
  const end = asked.isResource ? deadline : Math.min(deadline, clock.monotonic() + discoveryMsMax);
  return { leftMs: () => end - clock.monotonic() };
}

function unpacked(headers: Headers): Headers {
  return headers.filter(([name]) => name.toLowerCase() !== "content-encoding");
}

/** Upstream's words for a connection that fails. */
export function sendUnreachable(reply: Reply, reason: string): void {
  sendText(reply, 503, `error trying to reach service: ${reason}\n`);
}

/** A location without a host is one of the extension server, which the client would take for ours (upstream). */
function absolute(location: string, { url }: Connection): string {
  return location.startsWith("/") && !location.startsWith("//") ? `${url}${location}` : location;
}

/** A 508 for a request that has come through too many proxies, which this server may be itself. */
function hopFault({ headers }: Exchange): Status | undefined {
  const hops = valuesOf(headers, "x-forwarded-for").flatMap((value) => value.split(","));
  if (hops.length < limits.proxyHopsMax) return undefined;
  const why = `the request came through ${hops.length} proxies (X-Forwarded-For), an API service may lead in a circle`;
  return { ...refuse("ServiceUnavailable", why), code: 508 };
}

/** What the extension server gets to read; a Status: the user has a name that no header can carry. */
function headersFor({ server, reply, user, info, id }: RemoteRequest, target: Connection): Fields | Status {
  const { exchange } = reply;
  const { extensions, identity } = server;
  const tokenProtocol = identity.spell("base64url.bearer.authorization.k8s.io.");
  const passed = passedHeaders(exchange.headers, { ...extensions.userHeaders, tokenProtocol });
  const kept = passed.filter(([name]) => !writtenAnew.has(name.replaceAll("_", "-")));
  const forwarded = passed.filter(([name]) => name === "x-forwarded-for").map(([, value]) => value);
  const client = sourcesOf(undefined, undefined, exchange.remote)[0] ?? exchange.remote;
  // With its port also where that is the usual one (upstream).
  const host = target.url.slice("https://".length);
  const own: Fields[number][] = [
    ["Host", host],
    ["Audit-Id", id],
    ["X-Forwarded-For", [...forwarded, client].join(", ")],
    ["X-Forwarded-Host", host],
    ["X-Forwarded-Proto", "https"],
    ["X-Forwarded-Uri", encodePath(info.path)],
  ];
  const isOpen = kept.some(([name]) => name === "accept-encoding" || name === "range");
  if (!isOpen && exchange.method !== "HEAD" && asksUpgrade(exchange) === undefined)
    own.push(["Accept-Encoding", "gzip"]);
  const named = userFields(user);
  return isStatus(named) ? named : [...kept, ...own, ...named];
}

/** Of the client's, what this server says itself. */
const writtenAnew: ReadonlySet<string> = new Set([
  "audit-id",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-forwarded-uri",
]);

/** The headers that name a user; a Status: they would name another one. */
export function userFields({ name, groups, extra }: User): Fields | Status {
  const fields: Fields[number][] = [["X-Remote-User", name]];
  for (const group of groups) fields.push(["X-Remote-Group", group]);
  for (const [key, values] of extra) {
    for (const value of values) fields.push([`X-Remote-Extra-${escapeKey(key)}`, value]);
  }
  const odd = fields.find(([, value]) => !carried.test(value));
  if (odd === undefined) return fields;
  const [header, value] = odd;
  return badRequest(`${JSON.stringify(value)} of the user cannot be passed on as the header ${header}`);
}

/** Nothing that ends a header, and no blanks at the ends, which readers drop. */
const carried = /^$|^[^\x00-\x20\x7f](?:[^\x00-\x08\x0a-\x1f\x7f]*[^\x00-\x20\x7f])?$/;

/** A key as part of a header's name: lower case, percent-encoded where it is no token (upstream: headerKeyEscape). */
function escapeKey(key: string): string {
  let escaped = "";
  for (const byte of Buffer.from(key.toLowerCase())) {
    const character = String.fromCharCode(byte);
    escaped += /^[!#$&'*+\-.^_`|~0-9a-z]$/.test(character) ? character : escapeByte(byte);
  }
  return escaped;
}
