// WebSockets through a front that speaks the protocol itself: messages pass between its connection to the client and the
// frames of the extension server. What the extension server sends goes on in the pieces it comes in, as fast as the client
// takes it. A client cannot be held up: what the extension server does not take waits, and too much of it ends both.
import type { Socket } from "node:net";
import { limits } from "../../config/limits.ts";
import { longWork } from "../../config/longwork.ts";
import {
  acceptOf,
  type Closing,
  closingOf,
  type Frame,
  FrameReader,
  FrameSender,
  opcodes,
} from "../../outbound/frames.ts";
import type { Switched } from "../../outbound/streams.ts";
import {
  type Exchange,
  type Headers,
  type MessagesUpgrade,
  type MessageTunnel,
  valuesOf,
} from "../exchange/transport.ts";

/** Fields of the handshake: the front answers its own. */
const handshake: ReadonlySet<string> = new Set([
  "sec-websocket-accept",
  "sec-websocket-protocol",
  "sec-websocket-extensions",
]);

/** Headers of a request for a WebSocket without extensions, which would change what frames mean. */
export function withoutExtensions(headers: Headers): Headers {
  return headers.filter(([name]) => name.toLowerCase() !== "sec-websocket-extensions");
}

/** How a WebSocket is begun: further headers of the 101, and the subprotocol of the extension server (empty: none). */
export interface Handshake {
  readonly headers: Headers;
  readonly subprotocol: string;
}

/** What of a 101 is passed on; a text says why none of it is. `asked`: headers of the request that was sent. */
export function handshakeOf(exchange: Exchange, asked: Headers, answered: Headers): Handshake | string {
  const accepts = valuesOf(answered, "sec-websocket-accept");
  const key = exchange.header("sec-websocket-key") ?? "";
  if (accepts.length !== 1 || accepts[0] !== acceptOf(key)) return "Sec-WebSocket-Accept is not that of the key";
  const [extensions] = valuesOf(answered, "sec-websocket-extensions");
  if (extensions !== undefined) return `the extension ${JSON.stringify(extensions)} was not offered`;
  const chosen = valuesOf(answered, "sec-websocket-protocol");
  const [subprotocol = ""] = chosen;
  const offered = valuesOf(asked, "sec-websocket-protocol").flatMap((value) =>
    value.split(",").map((one) => one.trim()),
  );
  if (chosen.length > 1 || (chosen.length === 1 && !offered.includes(subprotocol))) {
    return `the subprotocol ${JSON.stringify(chosen.join(", "))} was not offered`;
  }
  return { headers: answered.filter(([name]) => !handshake.has(name.toLowerCase())), subprotocol };
}

/** Charges bytes that wait. Returns how to tell that they are gone; undefined: their user holds too many. */
export type Charge = (bytes: number) => (() => void) | undefined;

/** Passes messages until one side ends, which ends the other; resolves then. `started` is handed what ends both. */
export function passMessages(
  upgrade: MessagesUpgrade,
  { headers, subprotocol }: Handshake,
  switched: Switched,
  charge: Charge,
  started: (finish: () => void) => void,
): Promise<void> {
  return new Promise((resolve) => {
    const passage = new Passage(upgrade.accept(headers, subprotocol), switched.socket, charge, resolve);
    started(() => passage.finish());
    passage.run(switched.head);
  });
}

/** Frames of one turn between two looks at the clock. */
const framesPerLook = 64;

/** Why one side is ended for the other. */
const reasons = {
  lost: { code: 1011, reason: "the extension server ended the connection" },
  malformed: { code: 1011, reason: "the extension server sent a malformed frame" },
  slow: { code: 1013, reason: "the extension server does not take what is sent to it" },
  cut: { code: 1011, reason: "more waited for this connection than may wait" },
  refused: { code: 1002, reason: "malformed frame" },
  leaving: { code: 1001, reason: "the server is shutting down" },
} as const satisfies Record<string, Closing>;

class Passage {
  readonly #client: MessageTunnel;
  readonly #socket: Socket;
  readonly #reader = new FrameReader();
  readonly #sender: FrameSender;
  readonly #charge: Charge;
  readonly #over: () => void;
  /** Frames are left for when the client takes some, or for another turn. */
  #held: "behind" | "turn" | undefined;
  /** The extension server sends nothing more. */
  #isEnded = false;
  #isOver = false;
  /** What releases the charges for bytes that wait. */
  readonly #charged: (() => void)[] = [];

  constructor(client: MessageTunnel, socket: Socket, charge: Charge, over: () => void) {
    this.#client = client;
    this.#socket = socket;
    this.#sender = new FrameSender(socket);
    this.#charge = charge;
    this.#over = over;
  }

  run(head: Uint8Array): void {
    const socket = this.#socket;
    const ended = (): void => {
      this.#isEnded = true;
      if (this.#held === undefined) this.#pass();
    };
    socket.on("data", (chunk: Buffer) => this.#came(chunk));
    socket.on("end", ended);
    socket.on("close", ended);
    socket.on("drain", () => this.#drained());
    this.#client.onDrain(() => this.#goOn("behind"));
    this.#client.read({ frame: (frame) => this.#take(frame), closed: (closing) => this.#clientClosed(closing) });
    if (head.length > 0) this.#came(head);
    else socket.resume();
  }

  /** Bytes of the extension server. */
  #came(chunk: Uint8Array): void {
    if (this.#isOver) return;
    this.#reader.push(chunk);
    if (this.#held === undefined) this.#pass();
  }

  /** Passes frames on until there are no more, the client is behind, or the turn has lasted long enough. */
  #pass(): void {
    for (let count = 1; !this.#isOver; count++) {
      const frame = this.#reader.next();
      if (frame === undefined) {
        if (this.#isEnded) this.#end(reasons.lost, undefined);
        else this.#socket.resume();
        return;
      }
      if (typeof frame === "string") return this.#end(reasons.malformed, reasons.refused);
      if (frame.opcode === opcodes.close) return this.#closed(closingOf(frame.payload));
      // There is no way to send one: the front has answered the client's pings.
      if (frame.opcode === opcodes.pong) continue;
      if (!this.#client.write(frame)) return this.#hold("behind");
      if (count % framesPerLook !== 0 || !longWork.isOver) continue;
      setImmediate(() => this.#goOn("turn"));
      return this.#hold("turn");
    }
  }

  #hold(held: "behind" | "turn"): void {
    this.#held = held;
    this.#socket.pause();
  }

  #goOn(held: "behind" | "turn"): void {
    if (this.#held !== held) return;
    this.#held = undefined;
    this.#pass();
  }

  /** The extension server closes the connection. */
  #closed(closing: Closing | undefined): void {
    if (closing === undefined) this.#end(reasons.malformed, reasons.refused);
    else this.#end(closing, closing);
  }

  /** A frame of the client. */
  #take({ opcode, payload }: Frame): void {
    if (this.#isOver) return;
    this.#sender.send(opcode, payload);
    const waiting = this.#sender.waitingBytes;
    if (waiting > limits.socketWaitingBytesMax || !this.#isPaid(waiting)) this.#end(reasons.slow, reasons.cut);
  }

  /** Whether what waits is charged: what one message may have is reserved. */
  #isPaid(waiting: number): boolean {
    while (waiting > limits.socketMessageBytesMax + this.#charged.length * limits.socketChargeBytes) {
      const release = this.#charge(limits.socketChargeBytes);
      if (release === undefined) return false;
      this.#charged.push(release);
    }
    return true;
  }

  /** The extension server takes bytes. */
  #drained(): void {
    this.#sender.drained();
    if (this.#sender.waitingBytes <= limits.socketMessageBytesMax) this.#release();
  }

  #release(): void {
    for (const release of this.#charged.splice(0)) release();
  }

  /** The client closed the connection, or it broke. */
  #clientClosed(closing: Closing): void {
    this.#end(undefined, closing.code === 1006 ? undefined : closing);
  }

  /** Ends it in order: the server goes down. */
  finish(): void {
    this.#end(reasons.leaving, reasons.leaving);
  }

  /** Ends both sides. Without a close frame, the extension server sees its connection end as the client's did. */
  #end(client: Closing | undefined, extension: Closing | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const socket = this.#socket;
    if (client !== undefined) this.#client.end(client);
    if (extension === undefined) this.#sender.end();
    else this.#sender.close(extension);
    // What still comes is dropped: the end of the connection is behind it.
    socket.resume();
    // Of a side that takes nothing there is no end to wait for.
    setTimeout(() => {
      this.#client.cut();
      socket.destroy();
    }, limits.tunnelEndMsMax).unref();
    this.#release();
    this.#over();
  }
}
