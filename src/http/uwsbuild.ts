// Loads uWebSockets.js. The official binaries come from the registry, one package per platform and release of Node;
// package.json says which version for which. The parts that the front uses are declared here.
import { createRequire } from "node:module";
import { isMainThread } from "node:worker_threads";
import { limits } from "../config/limits.ts";

/** A listening socket, for nothing but closing it. */
export interface ListenSocket {
  readonly listenSocket: never;
}

/** A request, readable only during the call it is handed to. */
export interface HttpRequest {
  forEach(header: (name: string, value: string) => void): void;
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  getQuery(): string | undefined;
}

/** An answer under way; not to be touched once it ended or was aborted. */
export interface HttpResponse {
  writeStatus(status: string): void;
  writeHeader(name: string, value: string): void;
  /** False: the peer is behind. */
  write(chunk: Uint8Array | string): boolean;
  end(body?: Uint8Array | string, close?: boolean): void;
  endWithoutBody(length?: number, close?: boolean): void;
  /** Whether all given was taken, and whether all of the answer was. */
  tryEnd(chunk: Uint8Array | string, total: number): [boolean, boolean];
  getWriteOffset(): number;
  onWritable(writable: (offset: number) => boolean): void;
  onAborted(aborted: () => void): void;
  /** The chunk is detached when the call returns. */
  onData(take: (chunk: ArrayBuffer, isLast: boolean) => void): void;
  pause(): void;
  resume(): void;
  close(): void;
  cork(write: () => void): void;
  /**
   * Sends a head whose status and own fields were written, and calls `open` with an object that has the properties of
   * `data`. Not to be touched afterwards.
   */
  upgrade(data: object, key: string, protocol: string, extensions: string, context: SocketContext): void;
  /** 4 bytes, or 16; none when the connection was closed. */
  getRemoteAddress(): ArrayBuffer;
  /** PEM of the certificate the client presented, empty for none. TLS only. */
  getX509Certificate(): string;
}

/** What a connection is made a WebSocket with; valid as long as its app. */
export interface SocketContext {
  readonly socketContext: never;
}

/** A WebSocket; every call throws once it was closed, by either side. */
export interface WebSocket {
  /** 0: it is sent, or waits for the peer. */
  send(message: Uint8Array, isBinary: boolean): number;
  sendFirstFragment(message: Uint8Array, isBinary: boolean): number;
  sendFragment(message: Uint8Array): number;
  sendLastFragment(message: Uint8Array): number;
  ping(message: Uint8Array): number;
  /** Bytes that wait for the peer. */
  getBufferedAmount(): number;
  /** Sends a close frame, with no code for 0, and ends the connection when all was sent. */
  end(code: number, reason: string): void;
  close(): void;
}

/** How WebSockets of an app behave; bytes are detached when a call returns. `S` has the properties of `data`. */
export interface SocketBehaviour<S> {
  readonly compression: 0;
  readonly maxPayloadLength: number;
  /** Seconds, at most 960. */
  readonly idleTimeout: number;
  readonly sendPingsAutomatically: boolean;
  /** Beyond, nothing more is sent, pongs and close frames included. */
  readonly maxBackpressure: number;
  /** A GET with a key of 24 characters. */
  readonly upgrade: (res: HttpResponse, req: HttpRequest, context: SocketContext) => void;
  readonly open: (socket: S) => void;
  readonly message: (socket: S, message: ArrayBuffer, isBinary: boolean) => void;
  readonly ping: (socket: S, message: ArrayBuffer) => void;
  readonly pong: (socket: S, message: ArrayBuffer) => void;
  readonly drain: (socket: S) => void;
  /** The peer's code, 1005 for none, or 1006; or what end() was called with. */
  readonly close: (socket: S, code: number, reason: ArrayBuffer) => void;
}

/** A listener and its connections. */
export interface App {
  /** Tells of each connection that was opened (1), before a handshake, and closed (-1). */
  filter(told: (res: HttpResponse, change: number) => void): App;
  any(pattern: string, handle: (res: HttpResponse, req: HttpRequest) => void): App;
  /** Comes before any() for the requests its `upgrade` names. */
  ws<S extends WebSocket>(pattern: string, behaviour: SocketBehaviour<S>): App;
  /** Calls back before it returns. */
  listen(host: string, port: number, opened: (socket: ListenSocket | false) => void): App;
  /** Ends listening and every connection, WebSockets included. */
  close(): void;
}

/** Names of PEM files. */
export interface SecureFiles {
  readonly key_file_name: string;
  readonly cert_file_name: string;
  /** Clients are asked for a certificate; one that does not lead here ends the handshake, none does not. */
  readonly ca_file_name?: string;
}

/** The build. */
export interface Library {
  App(): App;
  SSLApp(files: SecureFiles): App;
  us_listen_socket_close(socket: ListenSocket): void;
  us_socket_local_port(socket: ListenSocket): number;
}

const name = `@uwsjs/${process.platform}-${process.arch}-${process.versions.node.split(".")[0] as string}`;

let library: Library | undefined;

/** Loads the build for the running Node. Throws where there is none, or the C library is too old for it. */
export function loadUws(): Library {
  if (library !== undefined) return library;
  // Read by the build from the environment of the process, which only the main thread can change.
  if (isMainThread) process.env["UWS_HTTP_MAX_HEADERS_SIZE"] = String(limits.headBytesMax);
  library = createRequire(import.meta.url)(name) as Library;
  return library;
}

/** Whether loadUws() can. */
export function loadsUws(): boolean {
  try {
    loadUws();
    return true;
  } catch {
    return false;
  }
}

/** The version of uWebSockets.js that loadUws() loads. Throws where it does. */
export function uwsVersion(): string {
  return (createRequire(import.meta.url)(`${name}/package.json`) as { readonly version: string }).version;
}

/** The text of an address as getRemoteAddress() gives it: dotted, or eight groups of four digits; empty for none. */
export function addressText(address: ArrayBuffer): string {
  const bytes = Buffer.from(address);
  if (bytes.length === 4) return bytes.join(".");
  return bytes.toString("hex").replace(/.{4}(?=.)/g, "$&:");
}
