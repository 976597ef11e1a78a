// The request path, top to bottom: resolve, authenticate, authorize, negotiate, then one of read, watch and write.
// Whatever a stage refuses leaves through one exit as a Status; a fault of ours becomes a 500 and a line in the log.
import { randomFillSync } from "node:crypto";
import { internalError, isStatus, refuse, type Status } from "../api/status.ts";
import { AssertionFailure, assert } from "../base/assert.ts";
import { limits } from "../config/limits.ts";
import { strategyOf } from "../kinds/table.ts";
import type { RequestKind, RequestRecord } from "../observe/requests.ts";
import { type Call, readInput } from "./call.ts";
import type { Server } from "./context.ts";
import { type RequestInfo, type ResourceInfo, resolve } from "./info.ts";
import { parseListOptions, validateListOptions } from "./listoptions.ts";
import { acceptsGzip, type MediaTypes, mediaTypes, negotiateAccept } from "./negotiate.ts";
import { servePage } from "./pages.ts";
import { first, type Query } from "./query.ts";
import { readList, readObject, sendList } from "./read.ts";
import { type Reply, sendJson, sendStatus } from "./respond.ts";
import { parseSelectors, pinnedName } from "./selectors.ts";
import type { Exchange, Handler } from "./transport.ts";
import { watchResource } from "./watchresource.ts";
import { writeResource } from "./writeresource.ts";

const unauthorized = refuse("Unauthorized", "Unauthorized");

/** Makes the function a front calls for each request. */
export function createHandler(server: Server): Handler {
  const types = mediaTypes(server.identity);
  return (exchange) => {
    serve(server, types, exchange).catch((error: unknown) => {
      // Only a fault in reporting a fault gets here.
      setImmediate(() => {
        throw error;
      });
    });
  };
}

async function serve(server: Server, types: MediaTypes, exchange: Exchange): Promise<void> {
  const info = resolve(server.scheme, exchange.method, exchange.path, exchange.query);
  const book = new Book(server, exchange, info);
  const reply: Reply = { exchange, extra: book.headers, answered: (code, bytes) => book.answered(code, bytes) };
  exchange.onAbort(() => book.gone());
  try {
    await answer(server, types, info, reply, book);
  } catch (error) {
    server.observer.fault(book.id, error);
    if (!book.done) sendStatus(reply, internalError(error));
    // A broken invariant ends the thread, after the client has its answer.
    if (error instanceof AssertionFailure) {
      setImmediate(() => {
        throw error;
      });
    }
  } finally {
    book.close();
  }
}

async function answer(
  server: Server,
  types: MediaTypes,
  info: RequestInfo | Status,
  reply: Reply,
  book: Book,
): Promise<void> {
  const user = server.authenticate(reply.exchange.headers);
  server.observer.authenticated(user !== undefined);
  if (user === undefined) return sendStatus(reply, unauthorized);
  book.user = user.name;
  // Everything authenticated is allowed until the authorization issue puts its table here.
  if (isStatus(info)) return sendStatus(reply, info);
  if (!info.isResource) return servePage(server, types, info, reply);
  const deadline = deadlineOf(server, info.query);
  if (typeof deadline !== "number") return sendStatus(reply, deadline);
  const accepted = negotiateAccept(reply.exchange.header("accept"), isPretty(info.query, reply.exchange), types);
  if (isStatus(accepted)) return sendStatus(reply, accepted);
  const call: Call = { server, types, exchange: reply.exchange, reply, info, user, accepted, deadline };
  switch (info.verb) {
    case "get":
      return get(call);
    case "list":
      return list(call);
    case "watch":
      return watchResource(call);
    default:
      return writeResource(call);
  }
}

async function get(call: Call): Promise<void> {
  const { info, reply } = call;
  const version = first(info.query, "resourceVersion") ?? "";
  const bytes = await readObject(readInput(call), info.name, version);
  if (isStatus(bytes)) return sendStatus(reply, bytes, call.accepted);
  sendJson(reply, 200, bytes, call.accepted);
}

async function list(call: Call): Promise<void> {
  const { info, reply, server } = call;
  const options = parseListOptions(info.query);
  if (isStatus(options)) return sendStatus(reply, options, call.accepted);
  const invalid = validateListOptions(options, server.identity);
  if (invalid !== undefined) return sendStatus(reply, invalid, call.accepted);
  const strategy = strategyOf(info.resource, server.identity);
  const selector = parseSelectors(options.labelSelector, options.fieldSelector, info.resource, strategy);
  if (isStatus(selector)) return sendStatus(reply, selector, call.accepted);
  const input = readInput(call);
  // A collection read that names one object is authorized and read as that object's namespace and name.
  const name = pinnedName(selector);
  assert(name === undefined || name.length >= 0, "A pinned name is a text");
  const answered = await readList(input, options, selector);
  if (isStatus(answered)) return sendStatus(reply, answered, call.accepted);
  await sendList(reply, input, answered, call.accepted, acceptsGzip(call.exchange.header("accept-encoding")));
}

/** Curl and browsers get indented JSON unless they say otherwise, as on the reference. */
function isPretty(query: Query, exchange: Exchange): boolean {
  const value = first(query, "pretty");
  if (value !== undefined) return value.toLowerCase() !== "false" && value !== "0";
  const agent = exchange.header("user-agent") ?? "";
  return agent.startsWith("curl") || agent.startsWith("Wget") || agent.startsWith("Mozilla/5.0");
}

/** `?timeout=` shortens the reference's 60 s; a bad value is a 400. */
function deadlineOf(server: Server, query: Query): number | Status {
  const now = server.clock.monotonic();
  const text = first(query, "timeout");
  if (text === undefined || text === "") return now + limits.requestMsMax;
  const ms = durationMs(text);
  if (ms === undefined)
    return refuse(
      "BadRequest",
      `invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(text)}`,
    );
  return now + (ms <= 0 ? limits.requestMsMax : Math.min(ms, limits.requestMsMax));
}

const unitsMs = new Map([
  ["ns", 1e-6],
  ["us", 1e-3],
  ["µs", 1e-3],
  ["ms", 1],
  ["s", 1e3],
  ["m", 6e4],
  ["h", 36e5],
]);

/** A Go duration (`1m30s`, `500ms`) in milliseconds. */
function durationMs(text: string): number | undefined {
  if (text === "0") return 0;
  const match = /^([+-]?)((?:\d+\.?\d*(?:ns|us|µs|ms|s|m|h)|\.\d+(?:ns|us|µs|ms|s|m|h))+)$/.exec(text);
  if (match === null) return undefined;
  let total = 0;
  for (const [, count, unit] of (match[2] ?? "").matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)/g)) {
    total += Number(count) * (unitsMs.get(unit ?? "") ?? 0);
  }
  return match[1] === "-" ? -total : total;
}

/** Keeps the record of one request and reports it once. */
class Book {
  readonly id = nextId();
  user = "";
  done = false;
  readonly headers: (readonly [string, string])[];
  readonly #server: Server;
  readonly #exchange: Exchange;
  readonly #info: RequestInfo | Status;
  readonly #startedMs: number;
  readonly #kind: RequestKind;
  #code = 0;
  #bytes = 0;
  #closed = false;

  constructor(server: Server, exchange: Exchange, info: RequestInfo | Status) {
    this.#server = server;
    this.#exchange = exchange;
    this.#info = info;
    this.#startedMs = server.clock.monotonic();
    this.headers = [["Audit-Id", this.id]];
    const warning = deprecation(info);
    if (warning !== undefined) this.headers.push(["Warning", `299 - "${warning}"`]);
    this.#kind = kindOf(exchange.method, info);
    server.observer.started(this.#kind);
  }

  /** Told by the answering stage just before bytes leave. */
  answered(code: number, bytes: number): void {
    assert(!this.done, "A request is answered twice");
    this.done = true;
    this.#code = code;
    this.#bytes = bytes;
  }

  /** The client went away before the answer. */
  gone(): void {
    if (!this.done) this.#code = 499;
    this.done = true;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#server.observer.finished(this.#kind, this.#record());
    const info = this.#info;
    if (isStatus(info) || !info.isResource || info.resource.deprecatedIn === undefined || this.#code >= 400) return;
    const { group, version, resource, removedIn } = info.resource;
    this.#server.observer.deprecated(group, version, resource, info.subresource?.name ?? "", removedIn ?? "");
  }

  #record(): RequestRecord {
    const info = this.#info;
    const exchange = this.#exchange;
    const resource = isStatus(info) || !info.isResource ? undefined : info;
    return {
      id: this.id,
      user: this.user,
      method: exchange.method,
      verb: resource === undefined ? knownMethod(exchange.method) : metricVerb(resource),
      path: exchange.path,
      group: resource?.resource.group ?? "",
      version: resource?.resource.version ?? "",
      resource: resource?.resource.resource ?? "",
      subresource: resource?.subresource?.name ?? "",
      scope:
        resource === undefined
          ? ""
          : resource.name !== ""
            ? "resource"
            : resource.namespace !== ""
              ? "namespace"
              : "cluster",
      dryRun: resource?.query.has("dryRun") ?? false,
      code: this.#code,
      bytes: this.#bytes,
      durationMs: this.#server.clock.monotonic() - this.#startedMs,
      agent: exchange.header("user-agent") ?? "",
      remote: exchange.remote,
    };
  }
}

function kindOf(method: string, info: RequestInfo | Status): RequestKind {
  if (!isStatus(info) && info.isResource && info.verb === "watch") return "long";
  return method === "GET" || method === "HEAD" ? "readOnly" : "mutating";
}

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Methods as a metric label: what nobody defined is one value. */
function knownMethod(method: string): string {
  return methods.has(method) ? method : "other";
}

function metricVerb(info: ResourceInfo): string {
  switch (info.verb) {
    case "create":
      return "POST";
    case "update":
      return "PUT";
    default:
      return info.verb.toUpperCase();
  }
}

/** The text of the Warning header for a deprecated version. */
function deprecation(info: RequestInfo | Status): string | undefined {
  if (isStatus(info) || !info.isResource || info.resource.deprecatedIn === undefined) return undefined;
  const { apiVersion, kind, deprecatedIn, removedIn, replacement } = info.resource;
  const gone = removedIn === undefined ? "" : `, unavailable in v${removedIn}+`;
  const use =
    replacement === undefined
      ? ""
      : `; use ${replacement.group === "" ? "" : `${replacement.group}/`}${replacement.version} ${replacement.kind}`;
  return `${apiVersion} ${kind} is deprecated in v${deprecatedIn}+${gone}${use}`;
}

const pool = new Uint8Array(16 * 256);
let poolAt = pool.length;

/** A random UUID for Audit-Id; randomness is drawn for 256 at a time. */
function nextId(): string {
  if (poolAt === pool.length) {
    randomFillSync(pool);
    poolAt = 0;
  }
  const bytes = Buffer.from(pool.buffer, poolAt, 16);
  poolAt += 16;
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
