// Calls of gRPC over one connection at a time, to one address: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
// A call of one answer has a time limit; none is ever made twice. A server that lets a call's time pass and does not
// answer a ping either loses the connection.
// @hot
import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectSecure } from "node:tls";
import { Connection, type Stream, type StreamEvents, type StreamFault } from "./connection.ts";
import { encodeFields, type Field } from "./fields.ts";

/** Codes of gRPC that are told apart here. */
export const grpcCodes = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** A call that failed; the message is the server's, or says what happened to the connection. */
export class GrpcError extends Error {
  override name = "GrpcError";
  readonly code: number;
  /** The server has certainly not begun with it. */
  readonly isUntouched: boolean;
  constructor(code: number, message: string, isUntouched = false) {
    super(message);
    this.code = code;
    this.isUntouched = isUntouched;
  }
}

/** Where a server is. */
export interface Target {
  readonly url: URL;
  /** PEM; for https. */
  readonly authority: Buffer | undefined;
  readonly certificate: Buffer | undefined;
  readonly key: Buffer | undefined;
  /** Sent with every call. */
  readonly metadata: readonly Field[];
}

/** What a call of many messages tells. Nothing comes after `ended`. */
export interface CallEvents {
  message(bytes: Buffer): void;
  /** Undefined: the server ended it without a fault. */
  ended(error: GrpcError | undefined): void;
}

/** A call of many messages both ways. */
export interface StreamingCall {
  send(message: Uint8Array): void;
  /** Holds back what comes, and lets the server send a window's bytes at most. */
  pause(): void;
  resume(): void;
  /** Gives it up; nothing is told any more. */
  cancel(): void;
}

/** Time between looks at the limits of calls, ms: a call fails as much later at most. */
const lookMs = 25;
/** Time to connect, for a server to send its settings, and to answer a ping, ms. */
const connectMs = 5000;
const pingMs = 1000;
/** Pause after a connection that was not made, ms. */
const pauseMs = 100;
/** Bytes before a message: whether it is compressed, and its length. */
const messageHeadBytes = 5;

const tooLate = (): GrpcError => new GrpcError(grpcCodes.deadlineExceeded, "no answer came in time");

/** A call of one answer under way. */
interface Timed {
  readonly endMs: number;
  fail(error: GrpcError): void;
}

/** Calls to one server. It connects when it is first asked, and again when the connection is lost. */
export class Channel {
  readonly #target: Target;
  readonly #blocks = new Map<string, Buffer>();
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  #failedMs = Number.NEGATIVE_INFINITY;
  readonly #timed = new Set<Timed>();
  #timer: NodeJS.Timeout | undefined;
  /** The server was asked whether it lives. */
  #isPinging = false;
  /** Calls the server has no room for. */
  readonly #waiting: (() => void)[] = [];
  #closed = false;

  constructor(target: Target) {
    this.#target = target;
  }

  /** Resolves when calls can be made; rejects with GrpcError when they cannot within the time. */
  async ready(timeoutMs: number): Promise<void> {
    if (this.#connection?.isOpen === true) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(tooLate()), Math.max(1, timeoutMs));
    });
    try {
      await Promise.race([this.#connect(), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** A call of one message each way. Rejects with GrpcError. */
  async unary(path: string, message: Uint8Array, timeoutMs: number): Promise<Buffer> {
    const endMs = performance.now() + timeoutMs;
    // Whole seconds: few blocks are made, and the server gives up after us.
    const block = this.#blockOf(path, Math.ceil(timeoutMs / 1000));
    let connection = await this.#opened();
    if (!connection.hasRoom) connection = await this.#room(endMs);
    // The server may have ended it right after its settings.
    if (!connection.isOpen) throw unavailable("the connection was closed", true);
    return new Promise((resolve, reject) => {
      const timed: Timed = {
        endMs,
        fail: (error) => {
          this.#untime(timed);
          stream.cancel();
          reject(error);
        },
      };
      const parts: Buffer[] = [];
      const settle = (error: GrpcError | undefined): void => {
        this.#untime(timed);
        if (error !== undefined) return reject(error);
        const answer = onlyMessage(parts);
        if (answer instanceof GrpcError) reject(answer);
        else resolve(answer);
      };
      const events = new Answer((bytes) => parts.push(bytes), settle);
      const stream = connection.open(block, events, [headOf(message), message]);
      this.#time(timed);
    });
  }

  /** A call of many messages each way; what is sent before there is a connection waits for it. */
  stream(path: string, events: CallEvents): StreamingCall {
    return new Streaming(this.#opened(), this.#blockOf(path), events);
  }

  /** Ends it with all calls. */
  close(): void {
    this.#closed = true;
    this.#connection?.destroy("the channel was closed");
    this.#connection = undefined;
  }

  /** The head of a call; its time limit in seconds. */
  #blockOf(path: string, seconds?: number): Buffer {
    const key = `${path} ${seconds}`;
    const known = this.#blocks.get(key);
    if (known !== undefined) return known;
    const { url, metadata } = this.#target;
    const block = encodeFields([
      [":method", "POST"],
      [":scheme", url.protocol.slice(0, -1)],
      [":path", path],
      [":authority", url.host],
      ["te", "trailers"],
      ["content-type", "application/grpc"],
      ["user-agent", "orch"],
      ...(seconds === undefined ? [] : [["grpc-timeout", `${seconds}S`] as const]),
      ...metadata,
    ]);
    this.#blocks.set(key, block);
    return block;
  }

  /** The connection; made when there is none. Rejects with GrpcError. */
  #opened(): Promise<Connection> {
    return this.#connection?.isOpen === true ? Promise.resolve(this.#connection) : this.#connect();
  }

  #connect(): Promise<Connection> {
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #open(): Promise<Connection> {
    const pause = this.#failedMs + pauseMs - performance.now();
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
    if (this.#closed) throw unavailable("the channel was closed", true);
    try {
      const connection = await connected(this.#target);
      if (this.#closed) {
        connection.destroy("the channel was closed");
        throw unavailable("the channel was closed", true);
      }
      connection.onEnd = () => {
        if (this.#connection === connection) this.#connection = undefined;
        this.#admit();
      };
      this.#connection = connection;
      this.#isPinging = false;
      return connection;
    } catch (error) {
      this.#failedMs = performance.now();
      throw error;
    }
  }

  /** Waits until the server takes a further call. */
  async #room(endMs: number): Promise<Connection> {
    for (;;) {
      const connection = await this.#opened();
      if (connection.hasRoom) return connection;
      const leftMs = endMs - performance.now();
      if (leftMs <= 0) throw unavailable("the server takes no more calls at once", true);
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
        setTimeout(resolve, leftMs).unref();
      });
    }
  }

  #admit(): void {
    this.#waiting.shift()?.();
  }

  #time(timed: Timed): void {
    this.#timed.add(timed);
    this.#timer ??= setInterval(() => this.#look(), lookMs);
  }

  #untime(timed: Timed): void {
    this.#timed.delete(timed);
    if (this.#waiting.length > 0) this.#admit();
  }

  /** Fails what is late. The timer goes on until a look finds nothing, so that a busy channel has one alone. */
  #look(): void {
    const now = performance.now();
    let isLate = false;
    for (const timed of [...this.#timed]) {
      if (timed.endMs > now) continue;
      isLate = true;
      timed.fail(tooLate());
    }
    if (isLate) this.#ping();
    if (this.#timed.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #ping(): void {
    const connection = this.#connection;
    if (connection === undefined || this.#isPinging) return;
    this.#isPinging = true;
    const timer = setTimeout(() => connection.destroy("the server does not answer"), pingMs);
    connection.ping(() => {
      clearTimeout(timer);
      if (this.#connection === connection) this.#isPinging = false;
    });
  }
}

/** The server's side of a call: messages, and how it ended. */
class Answer implements StreamEvents {
  readonly #data: (bytes: Buffer) => void;
  readonly #settle: (error: GrpcError | undefined) => void;
  #hasHead = false;
  #error: GrpcError | undefined = new GrpcError(grpcCodes.internal, "the call ended without a status");

  constructor(data: (bytes: Buffer) => void, settle: (error: GrpcError | undefined) => void) {
    this.#data = data;
    this.#settle = settle;
  }

  fields(fields: readonly Field[]): void {
    const status = fieldOf(fields, "grpc-status");
    if (status !== undefined) this.#error = errorOf(status, fieldOf(fields, "grpc-message") ?? "");
    else if (!this.#hasHead) this.#error = httpErrorOf(fieldOf(fields, ":status")) ?? this.#error;
    this.#hasHead = true;
  }

  data(bytes: Buffer): void {
    this.#data(bytes);
  }

  ended(): void {
    this.#settle(this.#error);
  }

  failed({ message, isUntouched }: StreamFault): void {
    this.#settle(unavailable(message, isUntouched));
  }
}

/** A call of many messages, from before there is a connection. */
class Streaming implements StreamingCall {
  readonly #events: CallEvents;
  #stream: Stream | undefined;
  #unsent: Uint8Array[] = [];
  /** The beginning of a message. */
  #parts: Buffer[] = [];
  #bytes = 0;
  /** Messages that came while it was paused. */
  readonly #kept: Buffer[] = [];
  #end: { readonly error: GrpcError | undefined } | undefined;
  #isPaused = false;
  #cancelled = false;

  constructor(connection: Promise<Connection>, block: Buffer, events: CallEvents) {
    this.#events = events;
    connection.then(
      (made) => this.#begin(made, block),
      (error: unknown) => this.#finish(error instanceof GrpcError ? error : unavailable(String(error), true)),
    );
  }

  send(message: Uint8Array): void {
    if (this.#stream === undefined) this.#unsent.push(framed(message));
    else this.#stream.send(framed(message), false);
  }

  pause(): void {
    this.#isPaused = true;
    this.#stream?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#stream?.resume();
    this.#tell();
  }

  cancel(): void {
    this.#cancelled = true;
    this.#stream?.cancel();
  }

  #begin(connection: Connection, block: Buffer): void {
    if (this.#cancelled) return;
    if (!connection.isOpen || !connection.hasRoom)
      return this.#finish(unavailable("the server takes no more calls", true));
    const answer = new Answer(
      (bytes) => this.#take(bytes),
      (error) => this.#finish(error),
    );
    this.#stream = connection.open(block, answer);
    if (this.#isPaused) this.#stream.pause();
    for (const message of this.#unsent) this.#stream.send(message, false);
    this.#unsent = [];
  }

  /** Cuts messages out of what comes. */
  #take(bytes: Buffer): void {
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
    while (this.#bytes >= messageHeadBytes) {
      if ((this.#parts[0] as Buffer).length < messageHeadBytes) this.#parts = [Buffer.concat(this.#parts)];
      const first = this.#parts[0] as Buffer;
      const fault = headFault(first);
      if (fault !== undefined) {
        this.#stream?.cancel();
        return this.#finish(fault);
      }
      const end = messageHeadBytes + first.readUInt32BE(1);
      if (this.#bytes < end) break;
      const whole = first.length >= end ? first : Buffer.concat(this.#parts);
      const rest =
        this.#parts.length === 1 || whole !== first
          ? [whole.subarray(end)]
          : [whole.subarray(end), ...this.#parts.slice(1)];
      this.#parts = rest.filter(({ length }) => length > 0);
      this.#bytes -= end;
      this.#kept.push(whole.subarray(messageHeadBytes, end));
    }
    this.#tell();
  }

  #finish(error: GrpcError | undefined): void {
    this.#end ??= { error };
    this.#tell();
  }

  #tell(): void {
    while (!this.#isPaused && !this.#cancelled) {
      const message = this.#kept.shift();
      if (message === undefined) break;
      this.#events.message(message);
    }
    if (this.#end === undefined || this.#kept.length > 0 || this.#isPaused || this.#cancelled) return;
    this.#cancelled = true;
    this.#events.ended(this.#end.error);
  }
}

/** A connection that has the server's settings. Rejects with GrpcError. */
function connected(target: Target): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const { url } = target;
    const isSecure = url.protocol === "https:";
    const socket = socketTo(target, isSecure);
    const fail = (why: string): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(unavailable(`${url.host}: ${why}`, true));
    };
    const timer = setTimeout(() => fail(`no connection within ${connectMs} ms`), connectMs);
    // They stay: once there is a connection, they tell nobody.
    socket.on("error", (error) => fail(error.message));
    socket.on("close", () => fail("the connection was closed"));
    socket.once(isSecure ? "secureConnect" : "connect", () => {
      if ("alpnProtocol" in socket && socket.alpnProtocol !== "h2") return fail("it does not speak HTTP/2");
      const connection = new Connection(socket);
      connection.onEnd = fail;
      connection.onReady = () => {
        clearTimeout(timer);
        resolve(connection);
      };
    });
  });
}

function socketTo({ url, authority, certificate, key }: Target, isSecure: boolean): Socket {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const at = { host, port: Number(url.port === "" ? (isSecure ? 443 : 80) : url.port), noDelay: true, keepAlive: true };
  if (!isSecure) return connectPlain(at);
  return connectSecure({
    ...at,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(authority === undefined ? {} : { ca: authority }),
    ...(certificate === undefined ? {} : { cert: certificate }),
    ...(key === undefined ? {} : { key }),
    ALPNProtocols: ["h2"],
  });
}

/** What precedes a message; nothing is compressed. */
function headOf({ length }: Uint8Array): Buffer {
  const made = Buffer.alloc(messageHeadBytes);
  made.writeUInt32BE(length, 1);
  return made;
}

function framed(message: Uint8Array): Buffer {
  return Buffer.concat([headOf(message), message]);
}

/** The message of an answer that has one. */
function onlyMessage(parts: readonly Buffer[]): Buffer | GrpcError {
  const bytes = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  if (bytes.length < messageHeadBytes) return new GrpcError(grpcCodes.internal, "an answer without a message");
  const fault = headFault(bytes);
  if (fault !== undefined) return fault;
  if (bytes.length !== messageHeadBytes + bytes.readUInt32BE(1)) {
    return new GrpcError(grpcCodes.internal, "an answer of another length than it says");
  }
  return bytes.subarray(messageHeadBytes);
}

/** No encoding was offered. */
function headFault(bytes: Buffer): GrpcError | undefined {
  return bytes[0] === 0 ? undefined : new GrpcError(grpcCodes.internal, "a compressed message");
}

function fieldOf(fields: readonly Field[], name: string): string | undefined {
  for (const [each, value] of fields) if (each === name) return value;
  return undefined;
}

function errorOf(status: string, message: string): GrpcError | undefined {
  if (status === "0") return undefined;
  const code = /^\d{1,2}$/.test(status) ? Number(status) : grpcCodes.unknown;
  return new GrpcError(code, unescaped(message));
}

/** A message is UTF-8 with percent escapes. */
function unescaped(message: string): string {
  const bytes = message.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  return Buffer.from(bytes, "latin1").toString("utf8");
}

/** What an answer means that is not one of gRPC: https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md */
function httpErrorOf(status: string | undefined): GrpcError | undefined {
  if (status === "200") return undefined;
  const codes = new Map<string | undefined, number>([
    ["400", grpcCodes.internal],
    ["401", grpcCodes.unauthenticated],
    ["403", grpcCodes.permissionDenied],
    ["404", grpcCodes.unimplemented],
    ["429", grpcCodes.unavailable],
    ["502", grpcCodes.unavailable],
    ["503", grpcCodes.unavailable],
    ["504", grpcCodes.unavailable],
  ]);
  return new GrpcError(codes.get(status) ?? grpcCodes.unknown, `the answer has the code ${status} of HTTP`);
}

function unavailable(message: string, isUntouched: boolean): GrpcError {
  return new GrpcError(grpcCodes.unavailable, message, isUntouched);
}
