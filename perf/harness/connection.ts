// One keep-alive connection with as little of its own as Node allows: the load must not be what is measured. It has one
// exchange at a time; bodies are passed on as they come, and kept only where the caller keeps them.
import { connect as connectPlain, type Socket } from "node:net";
import { connect, createSecureContext, type SecureContext } from "node:tls";
import { ChunkReader } from "./chunks.ts";

/** Where a server is, and as whom it is asked; plain data, for other processes. */
export interface Endpoint {
  /** `https://host:port`; `http:` works, too. */
  readonly base: string;
  /** Left out: a certificate says who asks. */
  readonly token?: string | undefined;
  /** PEM of what signed its certificate; left out: the certificate is not checked. */
  readonly ca?: string | undefined;
  /** A name its certificate is for; left out: the host. */
  readonly servername?: string | undefined;
  /** PEM of a client certificate and its key. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

/** One request as it is written. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly accept?: string | undefined;
  /** A string is sent byte by byte as UTF-8; bytes as they are. */
  readonly body?: string | Buffer | undefined;
  readonly type?: string | undefined;
  /** Further header lines, each with its end. */
  readonly more?: string | undefined;
}

/** Takes an answer as it comes. */
export interface Sink {
  head?(code: number, head: string): void;
  body?(bytes: Buffer, from: number, end: number): void;
}

/** What is known of an answer at its end; code 0: the connection broke before that. */
export interface Outcome {
  readonly code: number;
  readonly bodyBytes: number;
}

const noSink: Sink = {};
const contexts = new WeakMap<Endpoint, SecureContext>();

/** Certificates are parsed once for all connections of an endpoint. */
function contextOf(endpoint: Endpoint): SecureContext {
  const known = contexts.get(endpoint);
  if (known !== undefined) return known;
  const { ca, certificate: cert, key } = endpoint;
  const made = createSecureContext({
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  });
  contexts.set(endpoint, made);
  return made;
}

function open(endpoint: Endpoint): Socket {
  const { protocol, hostname, port } = new URL(endpoint.base);
  const host = hostname.replace(/^\[|\]$/g, "");
  if (protocol === "http:") return connectPlain({ host, port: Number(port || 80) });
  const { servername = /^[\d.:]+$/.test(host) ? undefined : host } = endpoint;
  return connect({
    host,
    port: Number(port || 443),
    secureContext: contextOf(endpoint),
    ...(servername === undefined ? {} : { servername }),
    rejectUnauthorized: endpoint.ca !== undefined,
    ALPNProtocols: ["http/1.1"],
  });
}

/** A connection that opens when it is first used, and again after it broke. */
export class Connection {
  readonly #endpoint: Endpoint;
  readonly #common: string;
  #socket: Socket | undefined;
  #head: Buffer | undefined;
  #code = 0;
  /** Of the body: bytes left; undefined: it is chunked, or goes on to the end of the connection. */
  #left: number | undefined;
  #chunks: ChunkReader | undefined;
  #bodyBytes = 0;
  /** The server takes no further request on this connection. */
  #isLast = false;
  #sink = noSink;
  #settle: ((outcome: Outcome) => void) | undefined;

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
    const { host } = new URL(endpoint.base);
    const login = endpoint.token === undefined ? "" : `Authorization: Bearer ${endpoint.token}\r\n`;
    this.#common = `Host: ${host}\r\n${login}User-Agent: orch-perf\r\n`;
  }

  /** Sends a request; resolves at the end of its answer. Rejects only while another exchange is under way. */
  send(sent: Sent, sink: Sink = noSink): Promise<Outcome> {
    if (this.#settle !== undefined) return Promise.reject(new Error("A connection has one exchange at a time"));
    return new Promise((resolve) => {
      this.#sink = sink;
      this.#settle = resolve;
      this.#head = undefined;
      this.#code = 0;
      this.#bodyBytes = 0;
      this.#isLast = false;
      const socket = this.#socketNow();
      const { method, path, accept = "application/json", body, type = "application/json", more = "" } = sent;
      const start = `${method} ${path} HTTP/1.1\r\n${this.#common}Accept: ${accept}\r\n${more}`;
      // A method that may have a body says that it has none: servers may end a connection after a request in doubt.
      if (body === undefined)
        return void socket.write(`${start}${method === "GET" ? "" : "Content-Length: 0\r\n"}\r\n`);
      const head = `${start}Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
      socket.write(typeof body === "string" ? head + body : Buffer.concat([Buffer.from(head), body]));
    });
  }

  /** Sends a request and keeps the body of its answer. */
  async ask(sent: Sent): Promise<{ code: number; text: string; bytes: Buffer }> {
    const parts: Buffer[] = [];
    const { code } = await this.send(sent, {
      body: (bytes, from, end) => void parts.push(Buffer.from(bytes.subarray(from, end))),
    });
    const bytes = Buffer.concat(parts);
    return { code, text: bytes.toString(), bytes };
  }

  /** Stops reading: the client that does not take what it asked for. */
  pause(): void {
    this.#socket?.pause();
  }

  /** Ends it; an exchange under way ends with code 0. */
  close(): void {
    this.#socket?.destroy();
    this.#broken();
  }

  #socketNow(): Socket {
    if (this.#socket !== undefined) return this.#socket;
    const socket = open(this.#endpoint);
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", () => undefined);
    socket.on("close", () => {
      if (this.#socket === socket) this.#broken();
    });
    return socket;
  }

  #broken(): void {
    this.#socket = undefined;
    // A body without a length ends with the connection.
    this.#end(this.#code > 0 && this.#left === undefined && this.#chunks === undefined ? this.#code : 0);
  }

  #end(code: number): void {
    const settle = this.#settle;
    this.#settle = undefined;
    this.#sink = noSink;
    if (this.#isLast) {
      this.#socket?.destroy();
      this.#socket = undefined;
    }
    settle?.({ code, bodyBytes: this.#bodyBytes });
  }

  #take(chunk: Buffer): void {
    if (this.#settle === undefined) return;
    if (this.#code !== 0) return this.#body(chunk, 0);
    const whole = this.#head === undefined ? chunk : Buffer.concat([this.#head, chunk]);
    const end = whole.indexOf("\r\n\r\n");
    if (end < 0) {
      this.#head = whole;
      return;
    }
    // The end of a chunked body may come with the answer after it.
    const from = whole[0] === 0x0d ? 2 : 0;
    const head = whole.toString("latin1", from, end);
    this.#code = Number(head.slice(9, 12));
    const length = /^content-length: *(\d+)/im.exec(head)?.[1];
    this.#left = length === undefined ? undefined : Number(length);
    const isChunked = length === undefined && /^transfer-encoding: *chunked/im.test(head);
    this.#chunks = isChunked
      ? new ChunkReader(
          (bytes, start, stop) => this.#pass(bytes, start, stop),
          () => this.#end(this.#code),
        )
      : undefined;
    this.#isLast = /^connection: *close/im.test(head);
    this.#sink.head?.(this.#code, head);
    this.#body(whole, end + 4);
  }

  #body(bytes: Buffer, from: number): void {
    if (this.#chunks !== undefined) return this.#chunks.push(bytes, from);
    if (from < bytes.length) this.#pass(bytes, from, bytes.length);
    if (this.#left === undefined) return;
    this.#left -= bytes.length - from;
    if (this.#left <= 0) this.#end(this.#code);
  }

  #pass(bytes: Buffer, from: number, end: number): void {
    this.#bodyBytes += end - from;
    this.#sink.body?.(bytes, from, end);
  }
}
