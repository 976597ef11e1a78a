// WebSockets on the uWS build, which reads and writes the frames itself: it hands over whole messages, answers pings,
// sends its own to clients that are idle, and cannot stop reading. Its traps are handled here:
//  - Nothing may be called on a socket that was closed, whichever side did it.
//  - A message beyond its bound, text that is no UTF-8 and malformed frames end the connection without a close frame.
//  - It takes close codes from 1012 to 3999 for malformed, and says so with 1006 and a text.
//  - What is sent to a peer that is behind waits without a bound, the answers to its pings above all.
//  - A cork that ends behind an upgrade closes the new WebSocket, now and then: it takes its memory for a response's
//    (uWebSockets issue 1929, fixed in 20.79).
//  - A connection that became a WebSocket is not reported as closed, and its end not at all once a close frame was sent.
import { assert } from "../base/assert.ts";
import { limits } from "../config/limits.ts";
import { type Closing, type Frame, type Opcode, opcodes } from "../outbound/frames.ts";
import {
  asksUpgrade,
  type Exchange,
  type Headers,
  type MessagesUpgrade,
  type MessageTaker,
  type MessageTunnel,
  type NoUpgrade,
  valuesOf,
} from "../request/exchange/transport.ts";
import type { Openings } from "./openings.ts";
import type { Generation } from "./uwsapps.ts";
import type { HttpRequest, HttpResponse, SocketBehaviour, SocketContext, WebSocket } from "./uwsbuild.ts";
import type { SpareCork } from "./uwscork.ts";
import { corkBytesMax, headOf, writeHead } from "./uwshead.ts";

/** What the build calls a close frame it does not accept. */
const refusedClose = "Received invalid close payload";

/** How a socket of the build leads to ours. */
type Carrier = WebSocket & { readonly tunnel: UwsSocket };

/** Where a connection is made a WebSocket. */
export interface SocketPlace {
  readonly cork: SpareCork;
  readonly context: SocketContext;
}

/** What a WebSocket needs of its front. */
export interface SocketFront {
  readonly openings: Openings;
  readonly sockets: Set<UwsSocket>;
}

/** Bounds and handlers; `upgrade` is called for requests that may become WebSockets. */
export function socketBehaviour(
  upgrade: (res: HttpResponse, req: HttpRequest, context: SocketContext) => void,
): SocketBehaviour<Carrier> {
  return {
    compression: 0,
    maxPayloadLength: limits.socketMessageBytesMax,
    idleTimeout: limits.socketIdleSecondsMax,
    sendPingsAutomatically: true,
    // Twice: what is written after the peer is behind is one read of the other side, and only pongs come on top.
    maxBackpressure: 2 * limits.socketBehindBytesMax,
    upgrade,
    open: (socket) => socket.tunnel.opened(socket),
    message: ({ tunnel }, bytes, isBinary) => tunnel.came(isBinary ? opcodes.binary : opcodes.text, bytes),
    ping: ({ tunnel }, bytes) => tunnel.came(opcodes.ping, bytes),
    pong: ({ tunnel }, bytes) => tunnel.came(opcodes.pong, bytes),
    drain: ({ tunnel }) => tunnel.drained(),
    close: ({ tunnel }, code, reason) => tunnel.closed(code, Buffer.from(reason).toString()),
  };
}

/** The base64 of 16 bytes. */
const keyForm = /^[A-Za-z0-9+/]{21}[AQgw]==$/;

/** How the front follows a request for another protocol; undefined: none is asked for. `hasBody`: one is announced. */
export function socketUpgrade(
  exchange: Exchange,
  hasBody: boolean,
  accept: MessagesUpgrade["accept"] | undefined,
): MessagesUpgrade | NoUpgrade | undefined {
  const protocol = asksUpgrade(exchange);
  if (protocol === undefined) return undefined;
  const none = (message: string, headers: Headers = []): NoUpgrade => ({ kind: "none", message, headers });
  if (protocol.toLowerCase() !== "websocket" || valuesOf(exchange.headers, "upgrade").length > 1) {
    return none(`an upgrade to ${JSON.stringify(protocol)} needs --front=node`);
  }
  const versions = valuesOf(exchange.headers, "sec-websocket-version");
  if (versions.length !== 1 || versions[0] !== "13") {
    return none(`version ${JSON.stringify(versions.join(", "))} of WebSocket is not spoken here, 13 is`, [
      ["Sec-WebSocket-Version", "13"],
    ]);
  }
  const keys = valuesOf(exchange.headers, "sec-websocket-key");
  if (keys.length !== 1 || !keyForm.test(keys[0] ?? "")) return none("Sec-WebSocket-Key is not one key of 16 bytes");
  if (hasBody || accept === undefined) return none("a request for another protocol must be a GET without a body");
  return { kind: "messages", fault: headFault, accept };
}

/** What the build calls a frame that it did not send, because too much waits before it. */
const dropped = 2;

function sendTo(socket: WebSocket, opcode: Opcode, fin: boolean, payload: Uint8Array): number {
  if (opcode === opcodes.ping) return socket.ping(payload);
  if (opcode === opcodes.continuation) return fin ? socket.sendLastFragment(payload) : socket.sendFragment(payload);
  assert(opcode === opcodes.text || opcode === opcodes.binary, `A frame of opcode ${opcode} is not sent`);
  const isBinary = opcode === opcodes.binary;
  return fin ? socket.send(payload, isBinary) : socket.sendFirstFragment(payload, isBinary);
}

function headFault(headers: Headers): string | undefined {
  const { bytes } = headOf(101, headers);
  return bytes <= corkBytesMax ? undefined : `a head of ${bytes} bytes, at most ${corkBytesMax} are passed on`;
}

/** One WebSocket of a client. */
export class UwsSocket implements MessageTunnel {
  /** By which app its client was verified; undefined: it showed no certificate. */
  readonly verifiedIn: Generation | undefined;
  readonly #front: SocketFront;
  /** Called when it ends. */
  #gone: (() => void)[];
  /** Undefined before it is open, and once it is closed. */
  #socket: WebSocket | undefined;
  #taker: MessageTaker | undefined;
  #drained: () => void = () => undefined;
  /** What it is closed with when all was sent. */
  #ending: Closing | undefined;
  /** Frames that came in this turn of the loop. */
  #atOnce = 0;

  constructor(front: SocketFront, verifiedIn: Generation | undefined, gone: (() => void)[]) {
    this.#front = front;
    this.verifiedIn = verifiedIn;
    this.#gone = gone;
  }

  /** Sends the 101. From outside the parser: nothing else is in the cork. */
  upgrade(res: HttpResponse, headers: Headers, key: string, subprotocol: string, { cork, context }: SocketPlace): void {
    res.cork(() => writeHead(res, headOf(101, headers)));
    cork.run(() => res.upgrade({ tunnel: this }, key, subprotocol, "", context));
    assert(this.#socket !== undefined, "The build did not open a WebSocket");
  }

  /** The build has made it. */
  opened(socket: WebSocket): void {
    this.#socket = socket;
    this.#front.sockets.add(this);
  }

  read(taker: MessageTaker): void {
    this.#taker = taker;
    // Its client was gone before it could be made.
    if (this.#socket === undefined) taker.closed({ code: 1006, reason: "" });
  }

  /** A frame of the client. */
  came(opcode: Opcode, bytes: ArrayBuffer): void {
    if (this.#ending !== undefined) return;
    this.#atOnce += 1;
    if (this.#atOnce === 1)
      setImmediate(() => {
        this.#atOnce = 0;
      });
    if (this.#atOnce > limits.socketFramesAtOnceMax) {
      this.#socket?.end(1008, `more than ${limits.socketFramesAtOnceMax} frames at once`);
      return;
    }
    this.#taker?.frame({ opcode, fin: true, payload: new Uint8Array(bytes) });
  }

  write({ opcode, fin, payload }: Frame): boolean {
    const socket = this.#socket;
    if (socket === undefined || this.#ending !== undefined) return true;
    // A peer that sends pings and takes no answers: a message would be incomplete.
    if (sendTo(socket, opcode, fin, payload) === dropped) {
      this.cut();
      return true;
    }
    return socket.getBufferedAmount() < limits.socketBehindBytesMax;
  }

  onDrain(drained: () => void): void {
    this.#drained = drained;
  }

  /** The peer took some of what waits. */
  drained(): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    const left = socket.getBufferedAmount();
    if (this.#ending !== undefined) {
      if (left === 0) this.#close(this.#ending);
    } else if (left < limits.socketBehindBytesMax) this.#drained();
  }

  end(closing: Closing): void {
    if (this.#socket === undefined || this.#ending !== undefined) return;
    this.#ending = closing;
    // A close frame that finds too much before it is dropped, and the connection cut.
    if (this.#socket.getBufferedAmount() === 0) this.#close(closing);
  }

  #close({ code, reason }: Closing): void {
    this.#socket?.end(code === 1005 ? 0 : code, reason);
  }

  cut(): void {
    this.#socket?.close();
  }

  /** Either side closed it. */
  closed(code: number, reason: string): void {
    this.#socket = undefined;
    this.#front.sockets.delete(this);
    this.#leave(code === 1006 && reason !== refusedClose);
    const gone = this.#gone;
    this.#gone = [];
    for (const tell of gone) tell();
    // The peer did close it, with a code of its own.
    this.#taker?.closed(reason === refusedClose ? { code: 1005, reason: "" } : { code, reason });
  }

  /** `isCut`: the connection is gone. Else the build waits for its peer, and does not say when that is over. */
  #leave(isCut: boolean): void {
    const { openings } = this.#front;
    if (isCut) openings.closed();
    else setTimeout(() => openings.closed(), limits.socketLingerMs).unref();
  }
}
