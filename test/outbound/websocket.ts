// WebSockets as others speak them: the `ws` package, as clients and as an extension server. The parts used are declared here.
import type { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import type { Duplex, Writable } from "node:stream";

/** One end of a connection. */
export interface Peer extends EventEmitter {
  readonly protocol: string;
  readonly readyState: number;
  readonly bufferedAmount: number;
  readonly isPaused: boolean;
  send(
    data: string | Uint8Array,
    options?: { readonly fin?: boolean; readonly binary?: boolean },
    sent?: () => void,
  ): void;
  ping(data?: string): void;
  pong(data?: string): void;
  close(code?: number, reason?: string): void;
  terminate(): void;
  pause(): void;
  resume(): void;
}

/** Of a client. */
export interface PeerOptions {
  readonly headers?: Record<string, string>;
  readonly ca?: string | undefined;
  readonly protocolVersion?: number;
  readonly perMessageDeflate?: boolean;
  readonly checkServerIdentity?: () => undefined;
}

interface FrameOptions {
  readonly fin: boolean;
  readonly opcode: number;
  readonly mask: boolean;
  readonly rsv1: boolean;
  readonly readOnly: boolean;
}

interface Package {
  new (url: string, protocols: readonly string[], options: PeerOptions): Peer;
  readonly Server: new (options: {
    readonly noServer: true;
    readonly perMessageDeflate?: boolean;
    readonly maxPayload?: number;
    readonly handleProtocols?: (offered: Set<string>) => string | false;
  }) => {
    handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, opened: (peer: Peer) => void): void;
  };
  readonly Sender: { frame(data: Buffer, options: FrameOptions): Buffer[] };
  readonly Receiver: new (options: { readonly isServer: boolean }) => Writable;
}

/** The package. */
export const ws = createRequire(import.meta.url)("ws") as Package;

/** What a peer got. */
export interface Got {
  readonly peer: Peer;
  /** Messages: texts as they are, bytes as Buffers. */
  readonly messages: (string | Buffer)[];
  readonly pings: string[];
  readonly pongs: string[];
  /** Code and reason; undefined: it is open. */
  closed: readonly [number, string] | undefined;
  /** The code of an answer that is no 101, and its body. */
  refused: { readonly code: number; readonly headers: IncomingMessage["headers"]; text: string } | undefined;
  isOpen: boolean;
}

/** Writes down what a peer gets. */
export function watch(peer: Peer): Got {
  const got: Got = { peer, messages: [], pings: [], pongs: [], closed: undefined, refused: undefined, isOpen: false };
  peer.on("open", () => {
    got.isOpen = true;
  });
  peer.on("message", (data: Buffer, isBinary: boolean) => got.messages.push(isBinary ? data : data.toString()));
  peer.on("ping", (data: Buffer) => got.pings.push(data.toString()));
  peer.on("pong", (data: Buffer) => got.pongs.push(data.toString()));
  peer.on("close", (code: number, reason: Buffer) => {
    got.closed = [code, reason.toString()];
  });
  peer.on("error", () => undefined);
  peer.on("unexpected-response", (_request: unknown, response: IncomingMessage) => {
    const refused = { code: response.statusCode ?? 0, headers: response.headers, text: "" };
    response.on("data", (chunk: Buffer) => {
      refused.text += chunk.toString();
    });
    response.on("end", () => {
      got.refused = refused;
    });
  });
  return got;
}
