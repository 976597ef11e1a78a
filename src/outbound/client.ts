// Calls the server makes: to webhooks, identity providers and audit backends. One client per peer, with connections it
// keeps. A call has a time limit for all of it, an answer has a size limit, a redirect is an answer like any other and
// is never followed (CVE-2022-3172 and its like), and every failure is a value that never contains a response's text.
import type { ClientRequest } from "node:http";
import { Agent, request } from "node:https";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { assert } from "../base/assert.ts";
import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from "../base/http.ts";
import { type Owner, Shares } from "../base/shares.ts";
import { limits } from "../config/limits.ts";
import type { ClientCalls } from "../observe/clientcalls.ts";
import type { SpanAttribute, TraceSpans } from "../observe/spans.ts";

/** The peer, and the credentials of the calls. */
export interface Connection {
  /** `https://host[:port][/path]`; `http:` for peers on the loopback only. */
  readonly url: string;
  /** PEM bundle the peer's certificate must lead to; absent: the system's. */
  readonly authorities?: string | undefined;
  /** The name its certificate must have; absent: the host of the url. */
  readonly serverName?: string | undefined;
  /** Its certificate is not looked at. */
  readonly insecure?: boolean | undefined;
  /** Where to connect instead of the host of the url. */
  readonly address?: { readonly host: string; readonly port: number } | undefined;
  /** PEM of a client certificate, and of its key. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
  /** Value of the Authorization header. */
  readonly authorization?: string | undefined;
}

/** One call. */
export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Appended to the path of the connection's url. */
  readonly path?: string | undefined;
  /** Added to the query of the connection's url. */
  readonly query?: string | undefined;
  /** A list is one line for each value. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Uint8Array | undefined;
  /** For all of it, connecting and reading included, from when it is sent: waiting in our own queue does not count. */
  readonly timeoutMs: number;
  /** Time left of the request that needs the call; default: unlimited. A call ends as "late" when it is over. */
  readonly leftMs?: (() => number) | undefined;
  /** Default: limits.outboundAnswerBytesMax. */
  readonly answerBytesMax?: number;
  /** The code of the answer and its headers are all that is wanted: its body is not read, whatever its size. */
  readonly codeOnly?: boolean;
  /** The user the call is charged to: connections and places to wait are divided. Default: the server itself. */
  readonly owner?: Owner | undefined;
  /** The trace it is a span of; left out: none. */
  readonly traced?: Traced | undefined;
}

/** The request on whose behalf a peer is asked. */
export interface Asker {
  /** The user the question is charged to. */
  readonly owner: Owner;
  /** Its trace; undefined: it is not sampled. */
  readonly spans: TraceSpans | undefined;
}

/** The span of a call. The peer gets a `traceparent` within it. */
export interface Traced {
  readonly spans: TraceSpans;
  readonly name: string;
}

/** Calls the server makes for itself. */
const ownCalls: Owner = { name: "", level: "masters" };

/** A call that waits for a connection. */
interface Waiter {
  readonly owner: Owner;
  /** Sends it; `leave` gives its connection back. */
  readonly send: (leave: () => void) => void;
  /** Ends it without having sent it. */
  readonly end: (why: CallFailure) => void;
}

/** The peer's response. */
export interface Answer {
  readonly code: number;
  /** The Content-Type header; empty when there is none. */
  readonly contentType: string;
  /** The Cache-Control header; empty when there is none. */
  readonly cacheControl: string;
  readonly body: Buffer;
}

/**
 * Why there is no answer. No fault of the peer's are "busy", too many calls of ours wait for it or there is no descriptor
 * for a connection, and "late", the time left for the caller was shorter than the peer's.
 */
export class CallFailure {
  readonly failure: "timeout" | "unreachable" | "too-large" | "closed" | "busy" | "late";
  /** In one line; without bytes the peer sent. */
  readonly message: string;
  /** What the system or the TLS library said, where it said something. */
  readonly cause: NodeJS.ErrnoException | undefined;

  constructor(failure: CallFailure["failure"], message: string, cause?: NodeJS.ErrnoException) {
    this.failure = failure;
    this.message = message;
    this.cause = cause;
  }
}

/** Whether a peer did what it was asked for: any 2xx. */
export function isWell({ code }: Answer): boolean {
  return code >= 200 && code < 300;
}

/** Calls one peer. */
export class OutboundClient {
  readonly #url: URL;
  readonly #connection: Connection;
  readonly #agent: Agent | PlainAgent;
  /** Calls that are sent and not over. */
  readonly #sent = new Shares("calls of a peer", limits.outboundSocketsMax);
  /** Calls that wait for one of those to end. */
  readonly #places = new Shares("calls waiting for a peer", limits.outboundWaitingMax);
  /** Oldest first. */
  readonly #waiting = new Set<Waiter>();
  readonly #counts: ClientCalls | undefined;
  #closed = false;

  /**
   * Throws on an invalid URL: callers check URLs from outside with checkUrl() first. `counts`: counts its requests; left
   * out: upstream does not count those to such a peer.
   */
  constructor(connection: Connection, counts?: ClientCalls) {
    this.#counts = counts;
    const fault = checkUrl(connection.url);
    assert(fault === undefined, `The url of a connection ${fault}`);
    this.#url = new URL(connection.url);
    this.#connection = connection;
    // How many there are is up to #sent: the agent would let a call wait while its time runs.
    const pool = { keepAlive: true, maxFreeSockets: limits.outboundIdleSocketsMax };
    this.#agent = this.#url.protocol === "https:" ? new Agent({ ...pool, ...tlsOf(connection) }) : new PlainAgent(pool);
  }

  /** Makes a call. Never rejects. */
  call(call: Call): Promise<Answer | CallFailure> {
    return call.traced === undefined ? this.#call(call) : this.#traced(call, call.traced);
  }

  async #traced(call: Call, { spans, name }: Traced): Promise<Answer | CallFailure> {
    const span = spans.begin(name);
    const answer = await this.#call({ ...call, headers: { ...call.headers, traceparent: span.traceparent } });
    span.end(...spanEnd(answer));
    return answer;
  }

  #call(call: Call): Promise<Answer | CallFailure> {
    if (this.#closed) return Promise.resolve(closed);
    const { owner = ownCalls } = call;
    const leave = this.#sent.take(owner);
    if (leave !== undefined) return this.#send(call, leave);
    const leavePlace = this.#places.take(owner);
    if (leavePlace === undefined) return Promise.resolve(busy);
    return new Promise((resolve) => {
      const leftMs = call.leftMs?.() ?? Number.POSITIVE_INFINITY;
      const settle = (outcome: CallFailure | Promise<Answer | CallFailure>): void => {
        clearTimeout(timer);
        leavePlace();
        this.#waiting.delete(waiter);
        resolve(outcome);
      };
      const waiter: Waiter = { owner, send: (free) => settle(this.#send(call, free)), end: settle };
      const ends = leftMs < limits.outboundWaitMsMax ? late : busy;
      const timer = setTimeout(settle, Math.min(leftMs, limits.outboundWaitMsMax), ends);
      this.#waiting.add(waiter);
    });
  }

  /** A call is over: of those that wait, the oldest whose user has a share of the connections is sent. */
  #next(): void {
    for (const waiter of this.#waiting) {
      if (this.#sent.used >= this.#sent.max) return;
      const leave = this.#sent.take(waiter.owner);
      if (leave !== undefined) waiter.send(leave);
    }
  }

  #send(call: Call, leave: () => void): Promise<Answer | CallFailure> {
    const leftMs = call.leftMs?.() ?? Number.POSITIVE_INFINITY;
    if (leftMs <= 0) {
      // It has its turn and does not use it.
      leave();
      return Promise.resolve(late);
    }
    return new Promise((resolve) => {
      const { pathname, search, protocol } = this.#url;
      const { authorization } = this.#connection;
      const base = pathname.endsWith("/") && call.path !== undefined ? pathname.slice(0, -1) : pathname;
      const body = typeof call.body === "string" ? Buffer.from(call.body) : call.body;
      const options = {
        agent: this.#agent,
        method: call.method,
        ...addressOf(this.#connection),
        path: `${base}${call.path ?? ""}${queryOf(search, call.query)}`,
        headers: {
          Host: this.#url.host,
          "User-Agent": "orch",
          ...call.headers,
          ...(authorization === undefined ? {} : { Authorization: authorization }),
          ...(body === undefined ? {} : { "Content-Length": String(body.length) }),
        },
      };
      let asked: ClientRequest;
      const beganMs = performance.now();
      try {
        asked = protocol === "https:" ? request(options) : plainRequest(options);
      } catch (error) {
        // A header that cannot be sent, or a certificate that cannot be used.
        leave();
        this.#next();
        return resolve(failureOf(error as Error));
      }
      // Connections are kept in HTTP/1.1 without a word (upstream says none).
      asked.removeHeader("Connection");
      let over = false;
      const done = (outcome: Answer | CallFailure): void => {
        if (over) return;
        over = true;
        clearTimeout(timer);
        const code = outcome instanceof CallFailure ? undefined : outcome.code;
        this.#counts?.ended(call.method, this.#connection.url, code, (performance.now() - beganMs) / 1000);
        resolve(outcome);
        // An answer that was read to its end leaves its connection to the next call.
        if (outcome instanceof CallFailure) asked.destroy();
        leave();
        this.#next();
      };
      const ends = leftMs < call.timeoutMs ? late : new CallFailure("timeout", `no answer within ${call.timeoutMs} ms`);
      const timer = setTimeout(() => done(ends), Math.min(leftMs, call.timeoutMs));
      asked.on("error", (error) => done(failureOf(error)));
      asked.on("response", (response) => {
        if (call.codeOnly !== true) return read(response, call.answerBytesMax ?? limits.outboundAnswerBytesMax, done);
        done(answerOf(response, Buffer.alloc(0)));
        asked.destroy();
      });
      asked.end(body);
    });
  }

  /** Closes its connections; calls under way end as unreachable. */
  close(): void {
    this.#closed = true;
    for (const waiter of [...this.#waiting]) waiter.end(closed);
    this.#agent.destroy();
  }
}

/** What a span says of an answer, and whether that is an error. */
function spanEnd(answer: Answer | CallFailure): [attributes: readonly SpanAttribute[], isError: boolean] {
  if (answer instanceof CallFailure) return [[["error.type", answer.failure]], true];
  return [[["http.status_code", answer.code]], answer.code >= 400];
}

const closed = new CallFailure("closed", "the client is closed");
const busy = new CallFailure("busy", "too many calls wait for the peer");
const late = new CallFailure("late", "there is no time left");
const short = new CallFailure("busy", "the server has no connection left for it");

function failureOf(error: NodeJS.ErrnoException): CallFailure {
  return isOurs(error) ? short : new CallFailure("unreachable", messageOf(error), error);
}

/** No descriptor, or no local port: the peer was not asked, and its failure policy has nothing to say. */
export function isOurs({ code }: NodeJS.ErrnoException): boolean {
  return code === "EMFILE" || code === "ENFILE" || code === "EADDRNOTAVAIL";
}

function queryOf(search: string, more: string | undefined): string {
  if (more === undefined) return search;
  return search === "" ? `?${more}` : `${search}&${more}`;
}

/** Returns an error message for a URL that cannot be called; undefined: valid. */
export function checkUrl(url: string): string | undefined {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined) return `must be a URL: ${JSON.stringify(url)}`;
  if (parsed.protocol !== "https:" && parsed.protocol !== "http:") return `must begin with https://: ${url}`;
  if (parsed.username !== "" || parsed.password !== "") return "must not hold a user or a password";
  return parsed.hash === "" ? undefined : `must not hold a fragment: ${url}`;
}

/** Where a connection leads to. */
export function addressOf({ url, address }: Connection): { readonly host: string; readonly port: number } {
  if (address !== undefined) return address;
  const { hostname, port, protocol } = new URL(url);
  const usual = protocol === "https:" ? 443 : 80;
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: port === "" ? usual : Number(port) };
}

/** What TLS is told of a connection. */
export function tlsOf({ url, authorities, serverName, insecure, certificate, key }: Connection) {
  const host = serverName ?? new URL(url).hostname;
  return {
    rejectUnauthorized: insecure !== true,
    checkServerIdentity: checkNames,
    // An address is verified as one; it must not be sent as a name (RFC 6066 3).
    ...(/^[\d.]+$|:|^\[/.test(host) ? {} : { servername: host }),
    ...(authorities === undefined ? {} : { ca: authorities }),
    ...(certificate === undefined ? {} : { cert: certificate }),
    ...(key === undefined ? {} : { key }),
  };
}

let withoutNames = 0;

/** How many certificates without alternative names this thread's peers have shown, one for each connection. */
export function certificatesWithoutNames(): number {
  return withoutNames;
}

/** The common name is no name of a server (RFC 6125 6.4.4; reference: Go since 1.15, with its words). */
function checkNames(host: string, certificate: PeerCertificate): Error | undefined {
  // Node gives the text an own property where the extension is there.
  const names: string | undefined = certificate.subjectaltname;
  if (names !== undefined) return checkServerIdentity(host, certificate);
  withoutNames += 1;
  return new Error("x509: certificate relies on legacy Common Name field, use SANs instead");
}

function read(response: IncomingMessage, bytesMax: number, done: (outcome: Answer | CallFailure) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  response.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > bytesMax) done(new CallFailure("too-large", `the answer is larger than ${bytesMax} bytes`));
    else chunks.push(chunk);
  });
  response.on("error", (error) => done(new CallFailure("unreachable", messageOf(error))));
  response.on("end", () => done(answerOf(response, Buffer.concat(chunks))));
}

function answerOf({ statusCode: code = 0, headers }: IncomingMessage, body: Buffer): Answer {
  return { code, contentType: headers["content-type"] ?? "", cacheControl: headers["cache-control"] ?? "", body };
}

/** Node's message: it names hosts, ports and certificates, never sent bytes. */
function messageOf(error: Error): string {
  return error.message.split("\n", 1)[0] ?? "unknown";
}
