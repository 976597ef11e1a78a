// Calls of gRPC over one connection at a time, to one address: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
// A call of one answer has a time limit; none is ever made twice. A server that lets a call's time pass and does not
// answer a ping either loses the connection.
// @hot
import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectSecure } from "node:tls";
import { within } from "../../../base/within.ts";
import { Answer, framed, GrpcError, grpcCodes, headOf, MessageParts, unavailable } from "./answer.ts";
import { Connection, type Stream } from "./connection.ts";
import { encodeFields, type Field } from "./fields.ts";

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

  /** A call of one message each way. `more`: metadata of this call alone. Rejects with GrpcError. */
  async unary(path: string, message: Uint8Array, timeoutMs: number, more?: readonly Field[]): Promise<Buffer> {
    const endMs = performance.now() + timeoutMs;
    // Whole seconds: few blocks are made, and the server gives up after us.
    const common = this.#blockOf(path, Math.ceil(timeoutMs / 1000));
    const block = more === undefined ? common : Buffer.concat([common, encodeFields(more)]);
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
          this.#timed.delete(timed);
          stream.cancel();
          reject(error);
        },
      };
      const parts = new MessageParts();
      const settle = (error: GrpcError | undefined): void => {
        this.#timed.delete(timed);
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
    const connection = await within(this.#connect(), endMs - performance.now());
    if (connection === "late") throw unavailable("no connection within the time of the call", true);
    return connection;
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
  async #room(endMs: number): Promise<void> {
    let wake = (): void => undefined;
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    this.#waiting.add(wake);
    if ((await within(woken, endMs - performance.now())) !== "late") return;
    this.#waiting.delete(wake);
    throw unavailable("the server takes no more calls at once", true);
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
