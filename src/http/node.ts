// The front on Node's own HTTP parser and TLS: for client certificates, long request lines, and hosts that cannot load
// the uWS build. Costs half more than uws.ts for a small GET, more for streams; same contract, same suite.

import { constants } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import { createServer as createHttps, type Server as HttpsServer } from "node:https";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import { createSecureContext, type SecureContext, type SecureContextOptions, TLSSocket } from "node:tls";
import type { PeerCertificates } from "../authn/authenticator.ts";
import { assert } from "../base/assert.ts";
import { copyOf } from "../base/copy.ts";
import { createServer as createHttp, type IncomingMessage, ServerResponse } from "../base/http.ts";
import { type Listed, Roster } from "../base/roster.ts";
import { limits } from "../config/limits.ts";
import {
  type AnswerStream,
  asksUpgrade,
  type BytesUpgrade,
  type Exchange,
  type Handler,
  type Headers,
  type NoUpgrade,
  type Payer,
  type StreamedBody,
} from "../request/exchange/transport.ts";
import { Connections, type UnderWay } from "./connections.ts";
import {
  asksClose,
  bodiless,
  checkHead,
  encodeHeaderValue,
  type Framing,
  type Head,
  isHeadFault,
  isSent,
} from "./gate.ts";
import { type CertificateFiles, handOn, type Listener, type ListenOptions, type TlsFiles } from "./listener.ts";
import { NodeTunnel, writeSwitch } from "./nodetunnel.ts";
import { Openings } from "./openings.ts";
import { presentedBy } from "./peer.ts";
import { goneStream, ofLength } from "./streams.ts";

const empty = new Uint8Array(0);

/** Opens a listener. Rejects when the address is not to be had or a file cannot be read. */
export async function listenNode(options: ListenOptions): Promise<Listener> {
  const front = new NodeFront(options);
  await front.listen(options);
  return front;
}

/** Whether several threads can open the same port, each for itself. */
export function canReusePort(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return process.platform === "linux" && (major > 22 || (major === 22 && minor >= 12));
}

function serverOptions(headMsMax: number): object {
  return {
    maxHeaderSize: limits.headBytesMax,
    headersTimeout: headMsMax,
    requestTimeout: limits.requestMsMax,
    // Connections without requests are ended in connections.ts.
    keepAliveTimeout: 0,
    connectionsCheckingInterval: headMsMax / 8,
    noDelay: true,
    // The gate checks it: Node would answer and continue with the next pipelined request.
    requireHostHeader: false,
  };
}

/** The TLS context of a handshake, read from its files. Throws errors of the file system and the library. */
function contextOptions(files: TlsFiles, { certFile, keyFile }: CertificateFiles): SecureContextOptions {
  return {
    cert: readFileSync(certFile),
    key: readFileSync(keyFile),
    minVersion: files.minVersion ?? "TLSv1.2",
    ...(files.ciphers === undefined ? {} : { ciphers: files.ciphers }),
    // Clients of this API keep no sessions: a ticket is CPU for nothing, and carries an identity past a change of CA.
    secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
    // No authorities: a certificate is verified by the authenticator (pki/chain.ts), and a forged one ends no
    // handshake.
    ...(files.asksClients === true ? { ca: [] } : {}),
  };
}

function tlsOptions(files: TlsFiles, headMsMax: number): object {
  const asks = files.asksClients === true ? { requestCert: true, rejectUnauthorized: false } : {};
  return { ...contextOptions(files, files), ...asks, handshakeTimeout: headMsMax };
}

function namedContexts(tls: TlsFiles): (readonly [string, SecureContext])[] {
  return (tls.named ?? []).flatMap((files) => {
    const context = createSecureContext(contextOptions(tls, files));
    return files.names.map((name) => [name.toLowerCase(), context] as const);
  });
}

/** Whether a name is a pattern's: the same, or one label in place of a leading `*`. */
function isNamed(name: string, pattern: string): boolean {
  if (!pattern.startsWith("*.")) return name === pattern;
  const dot = name.indexOf(".");
  return dot > 0 && name.slice(dot) === pattern.slice(1);
}

/** One listener and the exchanges under way on it. */
class NodeFront implements Listener {
  closing = false;
  readonly exchanges = new Roster<NodeExchange>();
  readonly streams = new Set<AnswerStream>();
  readonly #server: Server;
  readonly #tls: TlsFiles | undefined;
  /** TLS contexts by server name (SNI). */
  #named: readonly (readonly [name: string, context: SecureContext])[] = [];
  readonly #handle: Handler;
  /** Connections that carry no further request. */
  readonly #spent = new WeakSet<Socket>();
  /** Connections whose handshake is complete. */
  readonly #secured = new WeakSet<Socket>();
  readonly #openings: Openings;
  /** Connections that have not sent a request yet, by address and port. */
  readonly #quiet = new Map<string, () => void>();
  /** Requests under way on each: Node starts pipelined ones all at once. */
  readonly #connections: Connections;

  constructor(options: ListenOptions) {
    this.#handle = options.handle;
    this.#openings = options.openings ?? new Openings();
    const asked = (socket: Socket): void => this.#asked(socket);
    this.#connections = new Connections(limits.idleMsMax, options.stallMsMax ?? limits.stallMsMax, asked);
    const { tls, headMsMax = limits.headMsMax } = options;
    const common: object = {
      ...serverOptions(headMsMax),
      shouldUpgradeCallback: (req: IncomingMessage) => this.#mayUpgrade(req),
    };
    this.#tls = tls;
    this.#server = tls === undefined ? createHttp(common) : this.#createHttps(tls, common, headMsMax);
    // 0 is no limit, where a number would cut headers off silently: the gate counts.
    this.#server.maxHeadersCount = 0;
    this.#server.on("connection", (socket) => this.#opened(socket));
    this.#server.on("secureConnection", (socket: Socket) => this.#secured.add(socket));
    this.#server.on("tlsClientError", () => options.onHandshakeError?.());
    this.#server.on("request", (req, res) => this.#accept(req, res));
    // Before Node 22.21 a listener would get every request that names a protocol, also one with a body.
    if ("shouldUpgradeCallback" in this.#server)
      this.#server.on("upgrade", (req: IncomingMessage, socket: Socket, head: Buffer) => {
        this.#upgrade(req, socket, head);
      });
    // For the gate to refuse like any other malformed head.
    this.#server.on("checkExpectation", (req, res) => this.#accept(req, res));
    this.#server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => this.#malformed(error, socket));
  }

  #createHttps(tls: TlsFiles, common: object, headMsMax: number): Server {
    this.#named = namedContexts(tls);
    const sni = (name: string, found: (error: Error | null, context?: SecureContext) => void): void =>
      found(null, this.#named.find(([pattern]) => isNamed(name.toLowerCase(), pattern))?.[1]);
    return createHttps({ ...common, ...tlsOptions(tls, headMsMax), ...(tls.named ? { SNICallback: sni } : {}) });
  }

  reload(): string | undefined {
    const tls = this.#tls;
    if (tls === undefined) return undefined;
    try {
      const named = namedContexts(tls);
      (this.#server as HttpsServer).setSecureContext(contextOptions(tls, tls));
      this.#named = named;
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  listen({ host, port, reusePort = false }: ListenOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host, port, reusePort }, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0;
  }

  get pending(): number {
    return this.exchanges.size;
  }

  get streaming(): number {
    return this.streams.size;
  }

  stopAccepting(): void {
    this.closing = true;
    // Not by the server's own close(), which cuts idle connections: the next request may be on its way on one of them,
    // and is owed an answer.
    NetServer.prototype.close.call(this.#server);
  }

  cut(): void {
    this.closing = true;
    this.#server.close();
    this.#connections.close();
    this.#server.closeAllConnections();
    // The server does not know connections any more that may speak another protocol.
    for (const exchange of this.exchanges) exchange.cut();
  }

  close(): void {
    this.stopAccepting();
    this.cut();
  }

  /** Of TLS, this is the connection below it. */
  #opened(socket: Socket): void {
    const key = keyOf(socket);
    const remote = socket.remoteAddress ?? "";
    let isQuiet = this.#openings.opened(remote);
    // Once, whatever comes first: peers that have closed have no address, and share one key.
    const heard = (): void => {
      if (isQuiet) this.#openings.heard(remote);
      isQuiet = false;
      if (this.#quiet.get(key) === heard) this.#quiet.delete(key);
    };
    socket.once("close", () => {
      heard();
      this.#openings.closed();
    });
    if (isQuiet) this.#quiet.set(key, heard);
    else socket.destroy();
    if (this.closing) socket.destroy();
  }

  /** A connection sent its first request. */
  #asked(socket: Socket): void {
    this.#quiet.get(keyOf(socket))?.();
  }

  /** Answers are to end their connections. */
  get ending(): boolean {
    return this.closing || this.#openings.crowded;
  }

  /** Whether a request can have its connection for itself: nothing precedes it there, and no body follows it. */
  #mayUpgrade(req: IncomingMessage): boolean {
    const { "content-length": length = "0", "transfer-encoding": coding } = req.headers;
    if (req.httpVersionMajor === 1 && req.httpVersionMinor === 0) return false;
    return length === "0" && coding === undefined && this.#connections.under(req.socket).size === 0;
  }

  /** The connection is no longer the server's: what is answered ends it, unless another protocol begins. */
  #upgrade(req: IncomingMessage, socket: Socket, head: Buffer): void {
    const res = new ServerResponse(req);
    res.shouldKeepAlive = false;
    res.assignSocket(socket);
    const tunnel = new NodeTunnel(socket, head);
    socket.on("error", nothing);
    // As the server's own listeners would have done.
    socket.on("drain", () => res.emit("drain"));
    res.on("finish", () => tunnel.refuse());
    this.#accept(req, res, tunnel);
  }

  #accept(req: IncomingMessage, res: ServerResponse, tunnel?: NodeTunnel): void {
    const { socket } = req;
    if (this.#spent.has(socket)) return;
    const under = this.#connections.under(socket);
    if (under.size >= limits.pipelinedMax) {
      socket.destroy();
      return;
    }
    if (under.size > 0) readByStream(socket);
    const headers = readHeaders(req.rawHeaders);
    const method = req.method ?? "";
    const { path, query } = splitTarget(req.url ?? "");
    const framing = checkHead({ method, path, query, headers }, limits.headerCountNodeMax);
    if (isHeadFault(framing)) {
      this.#spent.add(socket);
      refuse(socket, framing.code, framing.message);
      return;
    }
    if (framing.close) this.#spent.add(socket);
    const exchange = new NodeExchange(this, req, res, { method, path, query, headers }, framing, tunnel);
    under.add(exchange);
    res.on("close", () => {
      under.delete(exchange);
      exchange.closed();
    });
    handOn(this.#handle, exchange);
  }

  /** Answers input that Node's parser rejected. No response is written into a running one. */
  #malformed(error: NodeJS.ErrnoException, socket: Socket): void {
    const { _httpMessage: underWay } = socket as { _httpMessage?: ServerResponse | null };
    // Any other error is one of TLS or the network: there is no client to answer.
    const parsed = error.code?.startsWith("HPE_") === true || error.code === "ERR_HTTP_REQUEST_TIMEOUT";
    if (parsed && this.#spent.has(socket) && underWay) return;
    const handshaking = socket instanceof TLSSocket && !this.#secured.has(socket);
    if (!parsed || handshaking || !socket.writable || underWay?.headersSent === true) {
      socket.destroy(error);
      return;
    }
    this.#spent.add(socket);
    if (error.code === "HPE_HEADER_OVERFLOW")
      refuse(socket, 431, `Request head larger than ${limits.headBytesMax} bytes`);
    else if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") refuse(socket, 408, "Request not complete in time");
    else refuse(socket, 400, "Malformed request");
  }
}

const reasons: Readonly<Record<number, string>> = {
  400: "Bad Request",
  408: "Request Timeout",
  417: "Expectation Failed",
  431: "Request Header Fields Too Large",
};

/** Answers below the response object, which may belong to an earlier request, and closes. */
function refuse(socket: Socket, code: number, message: string): void {
  const body = `${code} ${reasons[code] ?? ""}: ${message}\n`;
  const head = `HTTP/1.1 ${code} ${reasons[code] ?? ""}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n`;
  socket.end(`${head}Content-Length: ${body.length}\r\n\r\n${body}`, () => socket.destroySoon());
}

/**
 * Takes the parser off the connection's handle, where it reads without a stream between. Node pauses it when too many
 * answers wait on a connection, but below the stream TLS continues with decrypted bytes, and the paused parser treats
 * them as malformed. Once a client has pipelined, the stream holds back further bytes; others keep the fast path.
 */
function readByStream(socket: Socket): void {
  // A listener for data makes Node do it; its own stays.
  socket.on("data", nothing);
  socket.off("data", nothing);
  // The stream takes the read that the parser had for one of its own, still under way: a connection that is paused now
  // would not be read again when it goes on.
  socket.push(empty);
}

function nothing(): void {}

/** Tells open connections apart, a TLS connection and the one below it not. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Pairs of the raw header list, names in lower case. */
function readHeaders(raw: readonly string[]): Headers {
  const headers: (readonly [string, string])[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2)
    headers.push([(raw[i] as string).toLowerCase(), readValue(raw[i + 1] as string)]);
  return headers;
}

/** Path and query of a request target; the absolute form names the same resource (RFC 9112 3.2.2). */
function splitTarget(target: string): { path: string; query: string } {
  const absolute = /^https?:\/\/[^/?#]*/i.exec(target);
  const origin = absolute === null ? target : target.slice(absolute[0].length) || "/";
  const mark = origin.indexOf("?");
  if (mark === -1) return { path: origin, query: "" };
  return { path: origin.slice(0, mark) || "/", query: origin.slice(mark + 1) };
}

const ascii = /^[\x20-\x7e]*$/;

const beyondAscii = /[\x80-\xff]/;

/** Node reads header values as latin1; characters beyond ASCII are UTF-8, as upstream reads them. */
function readValue(value: string): string {
  return beyondAscii.test(value) ? Buffer.from(value, "latin1").toString("utf8") : value;
}

/** Node writes header values as latin1: characters beyond ASCII are sent as their UTF-8 bytes. */
function wireValue(value: string): string {
  if (ascii.test(value)) return value;
  return Buffer.from(encodeHeaderValue(value), "utf8").toString("latin1");
}

type Body = Uint8Array | "too-large" | "aborted";

/** An unshared body: bytes, or a text with a character for each. */
type Kept = Uint8Array | string;

/** Up to here a body is a text: Node writes it in one piece with its head, where bytes would be gathered with it. */
const textBytesMax = 16 * 1024;

const { latin1Slice } = Buffer.prototype as unknown as {
  latin1Slice(this: Uint8Array, from: number, to: number): string;
};

/** Node keeps written bytes until the kernel has them; shared memory is recycled. */
function keep(body: Uint8Array): Kept {
  if (body.length <= textBytesMax) return latin1Slice.call(body, 0, body.length);
  return body.buffer instanceof SharedArrayBuffer ? copyOf(body) : body;
}

class NodeExchange implements Exchange, UnderWay, Listed {
  listedAt = -1;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Headers;
  readonly remote: string;
  aborted = false;
  sending = false;
  readonly #front: NodeFront;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #gone: (() => void)[] = [];
  payer: Payer | undefined;
  /** Releases the charge for buffered bytes. */
  #taken: (() => void) | undefined;
  #answered = false;
  #done = false;
  /** No request may follow on this connection. */
  readonly #last: boolean;
  /** Body bytes are still to come. */
  #incoming: boolean;
  #tooLarge = false;
  #deferred: (() => void) | undefined;
  #settle: ((body: Body) => void) | undefined;
  /** The connection, where it can be given to another protocol. */
  readonly #tunnel: NodeTunnel | undefined;

  constructor(
    front: NodeFront,
    req: IncomingMessage,
    res: ServerResponse,
    { method, path, query, headers }: Head,
    { length, close }: Framing,
    tunnel: NodeTunnel | undefined,
  ) {
    this.#front = front;
    this.#tunnel = tunnel;
    this.#req = req;
    this.#res = res;
    this.method = method;
    this.path = path;
    this.query = query;
    this.headers = headers;
    this.#incoming = length !== 0;
    this.#last = close;
    this.remote = req.socket.remoteAddress ?? "";
    front.exchanges.add(this);
    // Reported by "close" as well; without a listener an error would end the thread.
    req.on("error", () => {});
    res.on("error", () => {});
  }

  get peer(): PeerCertificates | undefined {
    const { socket } = this.#req;
    return socket instanceof TLSSocket ? presentedBy(socket) : undefined;
  }

  get upgrade(): BytesUpgrade | NoUpgrade | undefined {
    const tunnel = this.#tunnel;
    if (tunnel === undefined) return asksUpgrade(this) === undefined ? undefined : notAlone;
    return { kind: "bytes", accept: (headers) => this.#switch(tunnel, headers) };
  }

  #switch(tunnel: NodeTunnel, headers: Headers): NodeTunnel {
    assert(!this.#answered, "An exchange is answered once");
    this.#answered = true;
    writeSwitch(this.#req.socket, headers);
    tunnel.open();
    return tunnel;
  }

  header(name: string): string | undefined {
    for (const header of this.headers) if (header[0] === name) return header[1];
    return undefined;
  }

  body(bytesMax: number): Promise<Body> {
    assert(bytesMax <= limits.bodyBytesMax, `A body of ${bytesMax} bytes is above the limit of ${limits.bodyBytesMax}`);
    if (this.aborted) return Promise.resolve("aborted");
    if (!this.#incoming) return Promise.resolve(empty);
    return new Promise((resolve) => {
      this.#settle = resolve;
      let pieces: Buffer[] = [];
      let received = 0;
      this.#req.on("data", (chunk: Buffer) => {
        received += chunk.length;
        if (received <= bytesMax) {
          pieces.push(chunk);
          return;
        }
        this.#tooLarge = true;
        pieces = [];
        this.#give("too-large");
        if (received > bytesMax + limits.bodyDiscardBytesMax) this.#release();
      });
      this.#req.on("end", () => {
        this.#incoming = false;
        this.#give(pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces));
        this.#release();
      });
    });
  }

  #give(body: Body): void {
    this.#settle?.(body);
    this.#settle = undefined;
  }

  /** Sends an answer that waited for the rest of an oversized body. */
  #release(): void {
    this.#deferred?.();
    this.#deferred = undefined;
  }

  onAbort(gone: () => void): void {
    if (this.aborted) gone();
    else this.#gone.push(gone);
  }

  /** The connection ended, or the answer was sent in full. */
  closed(): void {
    this.#front.exchanges.delete(this);
    this.#taken?.();
    if (this.#done) return;
    this.#done = true;
    this.aborted = true;
    this.#give("aborted");
    for (const gone of this.#gone) gone();
    this.#gone.length = 0;
  }

  cut(): void {
    this.#req.socket.destroy();
  }

  /** The handler needs no further notification. */
  finish(): void {
    this.#done = true;
    this.#gone.length = 0;
  }

  #writeHead(code: number, headers: Headers, length: number | undefined, close: boolean): void {
    const flat: string[] = [];
    const last = close || this.#last || this.#front.ending || asksClose(headers);
    for (const [name, value] of headers) if (isSent(name)) flat.push(name, wireValue(value));
    if (length !== undefined) flat.push("Content-Length", String(length));
    if (last) flat.push("Connection", "close");
    this.#res.writeHead(code, flat as never);
  }

  send(code: number, headers: Headers, body: Uint8Array | string): void {
    assert(!this.#answered, "An exchange is answered once");
    this.#answered = true;
    if (this.aborted) return;
    const kept = keep(typeof body === "string" ? Buffer.from(body) : body);
    if (this.#tooLarge && this.#incoming) this.#deferred = () => this.#send(code, headers, kept);
    else this.#send(code, headers, kept);
  }

  #send(code: number, headers: Headers, body: Kept): void {
    if (this.#done) return;
    const isTold = code !== 204 && code !== 304;
    this.#writeHead(code, headers, isTold ? body.length : undefined, this.#tooLarge);
    this.finish();
    this.sending = true;
    if (bodiless(this.method, code)) this.#res.end();
    else if (typeof body === "string") this.#res.end(body, "latin1");
    else if (!this.#charge(body.length)) this.cut();
    else if (body.length <= limits.sliceBytesMax) this.#res.end(body);
    else this.#sendSlices(body, 0);
  }

  /** Has the user pay for a large body until the peer has it; false: it holds too much. */
  #charge(bytes: number): boolean {
    this.#taken = this.payer?.take(bytes);
    return this.payer === undefined || this.#taken !== undefined;
  }

  /** One write of a large body would be encrypted, and held, at once. */
  #sendSlices(bytes: Uint8Array, from: number): void {
    let offset = from;
    while (offset < bytes.length) {
      const slice = bytes.subarray(offset, offset + limits.sliceBytesMax);
      offset += slice.length;
      if (this.#res.write(slice) || offset >= bytes.length) continue;
      this.#res.once("drain", () => this.#sendSlices(bytes, offset));
      return;
    }
    this.#res.end();
  }

  stream(code: number, headers: Headers, { length }: StreamedBody = {}): AnswerStream {
    assert(!this.#answered, "An exchange is answered once");
    this.#answered = true;
    if (this.aborted) return goneStream;
    const isBare = bodiless(this.method, code);
    this.#writeHead(code, headers, isBare ? undefined : length, false);
    if (isBare) {
      this.finish();
      this.#res.end();
      return goneStream;
    }
    const stream = new NodeStream(this.#front, this, this.#res, length !== undefined);
    this.#gone.push(() => stream.forget());
    return length === undefined ? stream : ofLength(stream, length);
  }
}

const notAlone: NoUpgrade = {
  kind: "none",
  message:
    "a request for another protocol must be of HTTP/1.1, without a body, on a connection on which nothing else is under way" +
    ("shouldUpgradeCallback" in createHttp() ? "" : " (and this needs Node 22.21 or later)"),
};

/** A streamed answer. */
class NodeStream implements AnswerStream {
  readonly #front: NodeFront;
  readonly #exchange: NodeExchange;
  readonly #res: ServerResponse;
  /** The head says how long the body is. */
  readonly #isMeasured: boolean;
  #ended = false;

  constructor(front: NodeFront, exchange: NodeExchange, res: ServerResponse, isMeasured: boolean) {
    this.#front = front;
    this.#exchange = exchange;
    this.#res = res;
    this.#isMeasured = isMeasured;
    res.flushHeaders();
    front.streams.add(this);
  }

  write(chunk: Uint8Array): boolean {
    if (this.#ended || chunk.length === 0) return true;
    const res = this.#res;
    const { socket } = res;
    // Node keeps written bytes until the kernel has them; the chunk is shared memory that is recycled.
    if (socket === null) return res.write(Buffer.from(chunk));
    // Past the response object: a third of the cost of res.write().
    if (this.#isMeasured) return this.#isSent(socket.write(Buffer.from(chunk)), socket);
    // HTTP/1.0 has no chunks: the body ends with the connection.
    if (!res.chunkedEncoding) return res.write(Buffer.from(chunk));
    // One buffer with the chunk's framing.
    const size = chunk.length.toString(16);
    const framed = Buffer.allocUnsafe(size.length + 4 + chunk.length);
    framed.write(`${size}\r\n`, "latin1");
    framed.set(chunk, size.length + 2);
    framed.write("\r\n", size.length + 2 + chunk.length, "latin1");
    return this.#isSent(socket.write(framed), socket);
  }

  #isSent(isTaken: boolean, { writableLength }: Socket): boolean {
    return isTaken || writableLength < limits.streamBufferBytesMax;
  }

  onDrain(drained: () => void): void {
    const { socket } = this.#res.req;
    const listener = (): void => {
      if (!this.#ended) drained();
    };
    // What is written past the response object is told by its connection, which may still be that of the answer before.
    const taken = (): void => {
      if (this.#res.socket !== null) listener();
    };
    this.#res.on("drain", listener);
    socket.on("drain", taken);
    this.#res.once("close", () => socket.off("drain", taken));
  }

  end(): void {
    if (this.#ended) return;
    this.forget();
    this.#exchange.finish();
    this.#res.end();
  }

  abort(): void {
    if (this.#ended) return;
    this.forget();
    this.#exchange.cut();
  }

  /** Nothing is written from here on. */
  forget(): void {
    this.#ended = true;
    this.#front.streams.delete(this);
  }
}
