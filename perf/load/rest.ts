// One keep-alive TLS connection with as little of its own as Node allows: the load must not be what is measured.
import { connect, type TLSSocket } from "node:tls";
import type { TestServer } from "../../test/support/server.ts";

/** Sends one request at a time; answers must carry a Content-Length or be chunked. */
export class RestClient {
  readonly #socket: TLSSocket;
  readonly #head: string;
  #rest: Buffer = Buffer.alloc(0);
  #settle: ((code: number) => void) | undefined;
  /** Bytes of bodies read so far. */
  bodyBytes = 0;

  constructor(server: TestServer) {
    const { hostname, port } = new URL(server.base);
    this.#socket = connect({ host: hostname, port: Number(port), ca: server.ca, servername: "localhost" });
    this.#socket.setNoDelay(true);
    this.#socket.on("data", (chunk) => this.#take(chunk));
    this.#socket.on("error", () => this.#settle?.(0));
    this.#socket.on("close", () => this.#settle?.(0));
    this.#head = `Host: ${hostname}:${port}\r\nAuthorization: Bearer ${server.token}\r\nAccept: application/json\r\n`;
  }

  /** Resolves with the code when the whole answer is in; 0 when the connection broke. */
  send(method: string, path: string, body?: string, type = "application/json"): Promise<number> {
    return new Promise((resolve) => {
      this.#settle = resolve;
      const entity =
        body === undefined
          ? "\r\n"
          : `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
      this.#socket.write(`${method} ${path} HTTP/1.1\r\n${this.#head}${entity}`);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const end = this.#rest.indexOf("\r\n\r\n");
    if (end < 0) return;
    const head = this.#rest.toString("latin1", 0, end);
    const length = /^content-length: *(\d+)/im.exec(head)?.[1];
    // A chunked answer is read to its last chunk; this client has one request under way.
    const whole =
      length === undefined
        ? this.#rest.subarray(-5).toString("latin1") === "0\r\n\r\n"
        : this.#rest.length >= end + 4 + Number(length);
    if (!whole) return;
    this.bodyBytes += this.#rest.length - end - 4;
    this.#rest = Buffer.alloc(0);
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.(Number(head.slice(9, 12)));
  }
}
