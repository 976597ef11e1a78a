// A connection that keeps a number of requests under way and hands on their answers in the order they came: small
// answers with a length, which is all the requests of a crossing run ever get.
import { connect, type TLSSocket } from "node:tls";

/** An answer. */
export interface Reply {
  readonly code: number;
  /** The Audit-Id header. */
  readonly id: string;
  readonly body: string;
}

/** What a wire needs of its user. */
export interface Talk {
  /** The next request, whole; undefined: there is none. */
  readonly next: () => string | undefined;
  /** One answer came. */
  readonly take: (reply: Reply) => void;
  /** The server closed, with requests unanswered. */
  readonly cut: () => void;
}

/** How a wire is opened. */
export interface WireOptions {
  readonly port: number;
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
}

/** One connection. */
export class Wire {
  readonly #options: WireOptions;
  readonly #depth: number;
  readonly #talk: Talk;
  #socket: TLSSocket | undefined;
  #received = "";
  #under = 0;

  constructor(options: WireOptions, depth: number, talk: Talk) {
    this.#options = options;
    this.#depth = depth;
    this.#talk = talk;
  }

  /** Sends as much as may be under way; opens the connection where there is none. */
  fill(): void {
    const requests: string[] = [];
    while (this.#under < this.#depth) {
      const request = this.#talk.next();
      if (request === undefined) break;
      requests.push(request);
      this.#under += 1;
    }
    if (requests.length > 0) this.#open().write(requests.join(""));
  }

  close(): void {
    this.#socket?.destroy();
  }

  #open(): TLSSocket {
    if (this.#socket !== undefined) return this.#socket;
    const socket = connect({ host: "127.0.0.1", servername: "localhost", ...this.#options });
    this.#socket = socket;
    this.#received = "";
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.#data(chunk.toString("latin1")));
    socket.on("error", () => undefined);
    socket.on("close", () => this.#closed(socket));
    return socket;
  }

  #closed(socket: TLSSocket): void {
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    if (this.#under === 0) return;
    this.#under = 0;
    this.#talk.cut();
  }

  #data(text: string): void {
    this.#received += text;
    let from = 0;
    for (;;) {
      const end = this.#received.indexOf("\r\n\r\n", from);
      if (end < 0) break;
      const head = this.#received.slice(from, end);
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (this.#received.length < end + 4 + length) break;
      const body = this.#received.slice(end + 4, end + 4 + length);
      from = end + 4 + length;
      this.#under -= 1;
      this.#talk.take({ code: Number(head.slice(9, 12)), id: /\r\naudit-id: (.*)/i.exec(head)?.[1] ?? "", body });
    }
    this.#received = this.#received.slice(from);
    this.fill();
  }
}
