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
/** Bytes of a message, at most: as upstream's client of etcd takes. */
const messageBytesMax = 2 ** 31 - 1;

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
  /** The one calls go to. */
  #connection: Connection | undefined;
  /** That one, and those that end with their last call. */
  readonly #connections = new Set<Connection>();
  #connecting: Promise<Connection> | undefined;
  #failedMs = Number.NEGATIVE_INFINITY;
  readonly #timed = new Set<Timed>();
  #timer: NodeJS.Timeout | undefined;
  /** Wake calls the server has no room for, oldest first. */
  readonly #waiting = new Set<() => void>();
  #closed = false;

  constructor(target: Target) {
    this.#target = target;
  }

  /** Resolves when calls can be made; rejects with GrpcError when they cannot within the time. */
  async ready(timeoutMs: number): Promise<void> {
    await this.#openedBy(performance.now() + timeoutMs);
  }

  /** A call of one message each way. Rejects with GrpcError. */
  async unary(path: string, message: Uint8Array, timeoutMs: number): Promise<Buffer> {
    const endMs = performance.now() + timeoutMs;
    // Whole seconds: few blocks are made, and the server gives up after us.
    const block = this.#blockOf(path, Math.ceil(timeoutMs / 1000));
    let connection = this.#connection?.isOpen === true ? this.#connection : await this.#openedBy(endMs);
    // Another call may be quicker, and the server may have ended the connection right after its settings.
    while (connection.isOpen && connection.room <= 0) {
      await this.#room(endMs);
      connection = await this.#openedBy(endMs);
    }
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
      const parts = new MessageParts();
      const settle = (error: GrpcError | undefined): void => {
        this.#untime(timed);
        const answer = error ?? parts.only();
        if (answer instanceof GrpcError) reject(answer);
        else resolve(answer);
      };
      const take = (bytes: Buffer): void => {
        const fault = parts.add(bytes) ?? parts.excess();
        if (fault !== undefined) timed.fail(fault);
      };
      const events = new Answer(take, settle);
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
    this.#connection = undefined;
    for (const connection of [...this.#connections]) connection.destroy("the channel was closed");
    this.#admit(this.#waiting.size);
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

  /** The same; rejects when there is none within the time. */
  async #openedBy(endMs: number): Promise<Connection> {
    if (this.#connection?.isOpen === true) return this.#connection;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const fail = (): void => reject(unavailable("no connection within the time of the call", true));
      timer = setTimeout(fail, Math.max(1, endMs - performance.now()));
    });
    try {
      return await Promise.race([this.#connect(), late]);
    } finally {
      clearTimeout(timer);
    }
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
      // It may have been ended right after its settings.
      if (!connection.isOpen) throw unavailable("the connection was closed", true);
      connection.onEnd = () => {
        this.#connections.delete(connection);
        if (this.#connection === connection) this.#connection = undefined;
        this.#admit(this.#waiting.size);
      };
      connection.onRoom = () => this.#admit(connection.isOpen ? connection.room : this.#waiting.size);
      // Later calls do not tell whether the peer of an earlier connection still answers.
      for (const earlier of this.#connections) earlier.check(pingMs);
      this.#connections.add(connection);
      this.#connection = connection;
      this.#admit(this.#waiting.size);
      return connection;
    } catch (error) {
      this.#failedMs = performance.now();
      throw error;
    }
  }

  /** Waits until the server may take a further call. Rejects with GrpcError when the time is over. */
  #room(endMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const wake = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const fail = (): void => {
        this.#waiting.delete(wake);
        reject(unavailable("the server takes no more calls at once", true));
      };
      const timer = setTimeout(fail, Math.max(1, endMs - performance.now()));
      this.#waiting.add(wake);
    });
  }

  #admit(count: number): void {
    let left = count;
    for (const wake of this.#waiting) {
      if (left-- <= 0) return;
      this.#waiting.delete(wake);
      wake();
    }
  }

  #time(timed: Timed): void {
    this.#timed.add(timed);
    this.#timer ??= setInterval(() => setImmediate(() => this.#look()), lookMs);
  }

  #untime(timed: Timed): void {
    this.#timed.delete(timed);
  }

  /**
   * Fails what is late, after answers that came while this thread was busy are read. The timer goes on until a look finds
   * nothing, so that a busy channel has one alone.
   */
  #look(): void {
    const now = performance.now();
    let isLate = false;
    for (const timed of [...this.#timed]) {
      if (timed.endMs > now) continue;
      isLate = true;
      timed.fail(tooLate());
    }
    if (isLate) for (const connection of this.#connections) connection.check(pingMs);
    if (this.#timed.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** The server's side of a call: messages, and how it ended. */
class Answer implements StreamEvents {
  readonly #data: (bytes: Buffer) => void;
  readonly #settle: (error: GrpcError | undefined) => void;
  #hasHead = false;
  /** What comes is the body of an answer of gRPC, and not an error page. */
  #isAccepted = false;
  #error: GrpcError | undefined = new GrpcError(grpcCodes.internal, "the call ended without a status");

  constructor(data: (bytes: Buffer) => void, settle: (error: GrpcError | undefined) => void) {
    this.#data = data;
    this.#settle = settle;
  }

  fields(fields: readonly Field[]): void {
    const httpStatus = fieldOf(fields, ":status");
    // An interim answer: the head is still to come.
    if (httpStatus?.startsWith("1") === true) return;
    const status = fieldOf(fields, "grpc-status");
    if (status !== undefined) this.#error = errorOf(status, fieldOf(fields, "grpc-message") ?? "");
    else if (!this.#hasHead) this.#error = httpErrorOf(httpStatus) ?? this.#error;
    if (!this.#hasHead) this.#isAccepted = httpStatus === "200";
    this.#hasHead = true;
  }

  data(bytes: Buffer): void {
    if (this.#isAccepted) this.#data(bytes);
  }

  ended(): void {
    this.#settle(this.#error);
  }

  failed({ message, isUntouched }: StreamFault): void {
    this.#settle(unavailable(message, isUntouched));
  }
}

/** Cuts messages out of the bytes that come. */
class MessageParts {
  #parts: Buffer[] = [];
  #bytes = 0;

  /** Bytes that are not cut yet. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds bytes; returns what is wrong with the message that comes next. */
  add(bytes: Buffer): GrpcError | undefined {
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
    return this.fault();
  }

  /** What is wrong with the message that comes next, as far as is known. */
  fault(): GrpcError | undefined {
    const head = this.#head();
    if (head === undefined) return undefined;
    // No encoding was offered.
    if (head[0] !== 0) return new GrpcError(grpcCodes.internal, "a compressed message");
    const length = head.readUInt32BE(1);
    if (length <= messageBytesMax) return undefined;
    return new GrpcError(grpcCodes.internal, `a message of ${length} bytes`);
  }

  /** The next message, when all of it is there. */
  next(): Buffer | undefined {
    const first = this.#head();
    if (first === undefined) return undefined;
    const end = messageHeadBytes + first.readUInt32BE(1);
    if (this.#bytes < end) return undefined;
    const whole = this.#parts.length === 1 ? first : Buffer.concat(this.#parts);
    this.#parts = whole.length === end ? [] : [whole.subarray(end)];
    this.#bytes -= end;
    return whole.subarray(messageHeadBytes, end);
  }

  /** What is wrong where only one message may come: more comes. */
  excess(): GrpcError | undefined {
    const head = this.#head();
    if (head === undefined || this.#bytes <= messageHeadBytes + head.readUInt32BE(1)) return undefined;
    return new GrpcError(grpcCodes.internal, "an answer of more than a message");
  }

  /** The message, where only one may come. */
  only(): Buffer | GrpcError {
    return this.next() ?? new GrpcError(grpcCodes.internal, "an answer without a whole message");
  }

  /** Bytes that begin with the head of the next message. */
  #head(): Buffer | undefined {
    if (this.#bytes < messageHeadBytes) return undefined;
    if ((this.#parts[0] as Buffer).length < messageHeadBytes) this.#parts = [Buffer.concat(this.#parts)];
    return this.#parts[0] as Buffer;
  }
}

/** A call of many messages, from before there is a connection. */
class Streaming implements StreamingCall {
  readonly #events: CallEvents;
  #stream: Stream | undefined;
  #unsent: Uint8Array[] = [];
  readonly #parts = new MessageParts();
  /** Messages that came while it was paused; those before #told were told. */
  #kept: Buffer[] = [];
  #told = 0;
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
    if (!connection.isOpen || connection.room <= 0)
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

  #take(bytes: Buffer): void {
    let fault = this.#parts.add(bytes);
    while (fault === undefined) {
      const message = this.#parts.next();
      if (message === undefined) break;
      this.#kept.push(message);
      fault = this.#parts.fault();
    }
    if (fault === undefined) return this.#tell();
    this.#stream?.cancel();
    this.#finish(fault);
  }

  #finish(error: GrpcError | undefined): void {
    const isCut = error === undefined && this.#parts.bytes > 0;
    this.#end ??= { error: isCut ? new GrpcError(grpcCodes.internal, "the call ended within a message") : error };
    this.#tell();
  }

  #tell(): void {
    while (!this.#isPaused && !this.#cancelled) {
      const message = this.#kept[this.#told];
      if (message === undefined) break;
      this.#told += 1;
      if (this.#told === this.#kept.length) {
        this.#kept = [];
        this.#told = 0;
      }
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
    const socket = socketOf(target, isSecure);
    if (socket instanceof GrpcError) return reject(socket);
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

function socketOf(target: Target, isSecure: boolean): Socket | GrpcError {
  try {
    return socketTo(target, isSecure);
  } catch (error) {
    // Files that hold no certificate, a port that is none.
    return unavailable(`${target.url.host}: ${String(error)}`, true);
  }
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
