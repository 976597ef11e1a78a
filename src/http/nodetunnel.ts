// Connections of the node front that another protocol may take over. Until that is decided they are read a little, to
// know when their client goes away; what it sent is handed over, or dropped with the refusal, and never read as a request.
import type { Socket } from "node:net";
import { copyOf } from "../base/copy.ts";
import { limits } from "../config/limits.ts";
import type { Headers, Tunnel } from "../request/exchange/transport.ts";
import { encodeHeaderValue } from "./gate.ts";

/** The bytes of one connection behind a request for another protocol. */
export class NodeTunnel implements Tunnel {
  readonly #socket: Socket;
  /** What came before a reader is set; undefined from then on. */
  #early: Uint8Array[] | undefined = [];
  #earlyBytes = 0;
  #isOpen = false;
  /** The reader is behind. */
  #isPaused = false;

  /** `head`: bytes that were read with the request. */
  constructor(socket: Socket, head: Uint8Array) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#keep(chunk));
    // There is no half of a connection.
    socket.on("end", () => {
      if (!this.#isOpen) socket.destroy();
    });
    if (head.length > 0) this.#keep(head);
  }

  #keep(chunk: Uint8Array): void {
    if (this.#early === undefined) return;
    this.#early.push(chunk);
    this.#earlyBytes += chunk.length;
    if (this.#earlyBytes > limits.earlyBodyBytesMax) this.#socket.pause();
  }

  /** The other protocol begins. */
  open(): void {
    this.#isOpen = true;
  }

  /** The request was answered otherwise, and that is sent: what came behind it is dropped. */
  refuse(): void {
    this.#early = undefined;
    this.#socket.resume();
    this.#socket.destroySoon();
  }

  write(chunk: Uint8Array): boolean {
    if (this.#socket.destroyed) return true;
    return this.#socket.write(chunk.buffer instanceof SharedArrayBuffer ? copyOf(chunk) : chunk);
  }

  onDrain(drained: () => void): void {
    this.#socket.on("drain", drained);
  }

  read(take: (chunk: Uint8Array) => void): void {
    const early = this.#early ?? [];
    this.#early = undefined;
    this.#socket.on("data", take);
    for (const chunk of early) take(chunk);
    if (!this.#isPaused) this.#socket.resume();
  }

  pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#socket.resume();
  }

  onClose(closed: () => void): void {
    let isTold = false;
    const tell = (): void => {
      if (!isTold) closed();
      isTold = true;
    };
    this.#socket.once("end", tell);
    this.#socket.once("close", tell);
    if (this.#socket.destroyed || this.#socket.readableEnded) tell();
  }

  end(): void {
    this.#socket.destroySoon();
  }

  cut(): void {
    this.#socket.destroy();
  }
}

/** Writes the head of a 101. */
export function writeSwitch(socket: Socket, headers: Headers): void {
  const lines = headers.map(([name, value]) => `${name}: ${encodeHeaderValue(value)}\r\n`);
  socket.write(Buffer.from(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("")}\r\n`));
}
