// One keep-alive TLS connection with as little of its own as Node allows: the load must not be what is measured.
import { connect, type TLSSocket } from "node:tls";

/** What a client needs to know of a server. */
export interface Address {
  readonly base: string;
  readonly token: string;
  readonly ca: string;
  /** A name its certificate is for; left out: localhost. */
  readonly servername?: string;
}

/** Sends one request at a time; answers must carry a Content-Length or be chunked. */
export class RestClient {
  readonly #socket: TLSSocket;
  readonly #head: string;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** 0: not all of it has come. */
  #headBytes = 0;
  /** Of the body; undefined: it is chunked. */
  #length: number | undefined;
  #settle: ((code: number) => void) | undefined;
  /** The last answer, whole. */
  #last: Buffer[] = [];
  #lastHeadBytes = 0;
  /** Bytes of bodies read so far. */
  bodyBytes = 0;

  /** `more`: further header lines, each with its end. */
  constructor(server: Address, accept = "application/json", more = "") {
    const { hostname, port } = new URL(server.base);
    const { ca, servername = "localhost" } = server;
    this.#socket = connect({ host: hostname, port: Number(port), ca, servername });
    this.#socket.setNoDelay(true);
    this.#socket.on("data", (chunk) => this.#take(chunk));
    this.#socket.on("error", () => this.#settle?.(0));
    this.#socket.on("close", () => this.#settle?.(0));
    this.#head = `Host: ${hostname}:${port}\r\nAuthorization: Bearer ${server.token}\r\nAccept: ${accept}\r\n${more}`;
  }

  /** Resolves with the code when the whole answer is in; 0 when the connection broke. */
  send(method: string, path: string, body?: string, type = "application/json"): Promise<number> {
    return new Promise((resolve) => {
      if (this.#socket.destroyed) return resolve(0);
      this.#settle = resolve;
      const entity =
        body === undefined
          ? "\r\n"
          : `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
      this.#socket.write(`${method} ${path} HTTP/1.1\r\n${this.#head}${entity}`);
    });
  }

  /** The body of the last answer. */
  text(): string {
    const whole = Buffer.concat(this.#last);
    const body = whole.subarray(this.#lastHeadBytes);
    if (!/^transfer-encoding: *chunked/im.test(whole.toString("latin1", 0, this.#lastHeadBytes))) return String(body);
    const parts: Buffer[] = [];
    for (let at = 0; at < body.length; ) {
      const end = body.indexOf("\r\n", at);
      const bytes = Number.parseInt(body.toString("latin1", at, end), 16);
      parts.push(body.subarray(end + 2, end + 2 + bytes));
      at = end + 4 + bytes;
    }
    return String(Buffer.concat(parts));
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#headBytes === 0 && !this.#takeHead()) return;
    // A chunked answer is read to its last chunk; this client has one request under way.
    const isWhole =
      this.#length === undefined
        ? this.#bytes >= this.#headBytes + 5 && this.#tail(chunk) === "0\r\n\r\n"
        : this.#bytes >= this.#headBytes + this.#length;
    if (!isWhole) return;
    this.bodyBytes += this.#bytes - this.#headBytes;
    const code = Number(this.#chunks[0]?.subarray(9, 12));
    const settle = this.#settle;
    this.#last = this.#chunks;
    this.#lastHeadBytes = this.#headBytes;
    this.#chunks = [];
    this.#bytes = 0;
    this.#headBytes = 0;
    this.#settle = undefined;
    settle?.(code);
  }

  /** The last five bytes that came. */
  #tail(chunk: Buffer): string {
    const before = chunk.length < 5 ? (this.#chunks.at(-2)?.toString("latin1") ?? "") : "";
    return (before + chunk.subarray(-5).toString("latin1")).slice(-5);
  }

  /** Reads the head when all of it has come. */
  #takeHead(): boolean {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
    const [first] = this.#chunks;
    const end = first?.indexOf("\r\n\r\n") ?? -1;
    if (first === undefined || end < 0) return false;
    this.#headBytes = end + 4;
    const length = /^content-length: *(\d+)/im.exec(first.toString("latin1", 0, end))?.[1];
    this.#length = length === undefined ? undefined : Number(length);
    return true;
  }
}
