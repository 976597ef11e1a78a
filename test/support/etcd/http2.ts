// Servers of HTTP/2 for tests of its client: Node's own, and one that writes any frames.
import { once } from "node:events";
import type { createServer, ServerHttp2Stream } from "node:http2";
import { type AddressInfo, createServer as createPlain, type Server, type Socket } from "node:net";
import { createServer as createSecure, type TlsOptions } from "node:tls";
import { Channel, type Target } from "../../../src/storage/etcd/grpc/channel.ts";

/** A head and what it precedes: a message of gRPC. */
export function messageOf(bytes: Uint8Array, flag = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flag;
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** A channel to a port of this machine. */
export function channelTo(port: number, more: Partial<Target> = {}): Channel {
  const none = { authority: undefined, certificate: undefined, key: undefined, metadata: [] };
  return new Channel({ url: new URL(`http://127.0.0.1:${port}`), ...none, ...more });
}

/** Listens on a port the system gives. */
export async function portOf(server: Server | ReturnType<typeof createServer>, port = 0): Promise<number> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** All bytes a stream gets. */
export async function bodyOf(stream: ServerHttp2Stream): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** Answers a call with bytes and a status. */
export function answerWith(stream: ServerHttp2Stream, body: Uint8Array, status: Record<string, string>): void {
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(status));
  stream.end(body);
}

/** A frame a client has sent. */
export interface Seen {
  readonly type: number;
  readonly flags: number;
  readonly id: number;
  readonly payload: Buffer;
}

/** A connection of a client, at its server's end. */
export class RawPeer {
  readonly socket: Socket;
  readonly frames: Seen[] = [];
  readonly closed: Promise<unknown>;
  #bytes = Buffer.alloc(0);
  #preface = 24;
  #told: () => void = () => undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.on("close", resolve));
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
  }

  #take(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    if (this.#bytes.length < this.#preface) return;
    let at = this.#preface;
    this.#preface = 0;
    for (let rest = this.#bytes.subarray(at); rest.length >= 9; rest = this.#bytes.subarray(at)) {
      const end = 9 + rest.readUIntBE(0, 3);
      if (rest.length < end) break;
      const [type, flags] = [rest[3] as number, rest[4] as number];
      this.frames.push({ type, flags, id: rest.readUInt32BE(5), payload: Buffer.from(rest.subarray(9, end)) });
      at += end;
    }
    this.#bytes = this.#bytes.subarray(at);
    this.#told();
  }

  /** The first frame that fits, now or later. */
  async seen(fits: (frame: Seen) => boolean): Promise<Seen> {
    for (;;) {
      const found = this.frames.find(fits);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        this.#told = resolve;
      });
    }
  }
}

/** A server that says only what a test makes it say. */
export class RawServer {
  readonly #server: Server;
  readonly #peers: RawPeer[] = [];
  readonly #waiting: ((peer: RawPeer) => void)[] = [];
  port = 0;

  private constructor(tls: TlsOptions | undefined) {
    this.#server = tls === undefined ? createPlain() : createSecure(tls);
  }

  static async open(tls?: TlsOptions): Promise<RawServer> {
    const made = new RawServer(tls);
    made.#server.on(tls === undefined ? "connection" : "secureConnection", (socket: Socket) => {
      const peer = new RawPeer(socket);
      const next = made.#waiting.shift();
      if (next === undefined) made.#peers.push(peer);
      else next(peer);
    });
    made.port = await portOf(made.#server);
    return made;
  }

  /** The next client. */
  async peer(): Promise<RawPeer> {
    return this.#peers.shift() ?? new Promise((resolve) => this.#waiting.push(resolve));
  }

  close(): void {
    this.#server.close();
  }
}
