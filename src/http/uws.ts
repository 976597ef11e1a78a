// The front on uWebSockets.js, and the only import of it. Every trap of that build is handled here and nowhere else;
// the comments name them. What cannot be mended from here: no client certificates; a request line that reaches the
// build in two reads is answered 505 (lines beyond about 1 KiB), a head above 4 KiB in two reads 431; more than 48
// header fields or a name with anything but letters, digits and hyphens get no answer and are closed after 10 s.
// The node front has none of these limits.

import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from "uWebSockets.js";
import { readFileSync } from "node:fs";
import { STATUS_CODES } from "node:http";
import { createRequire } from "node:module";
import { createSecureContext } from "node:tls";
import { assert } from "../base/assert.ts";
import { copyOf } from "../base/copy.ts";
import { limits } from "../config/limits.ts";
import type { AnswerStream, Exchange, Handler, Headers } from "../request/transport.ts";
import { asksClose, checkHead, encodeHeaderValue, type HeadFault, isHeadFault, isSent } from "./gate.ts";
import { handOn, type Listener, type ListenOptions, type TlsFiles } from "./listener.ts";
import { goneStream } from "./streams.ts";

type Library = typeof import("uWebSockets.js");

/*
 * The build gathers what is written inside a cork in one buffer of its thread and sends it when the cork ends, or when
 * a write does not fit. In the second case it forgets that write if it cannot send all of the buffer, as to a peer that
 * is just then behind: a piece of a head or a body is missing. The parser holds a cork of its own, which all answers
 * share that are given before it is left; a cork within it does nothing. Hence the rules:
 *  - The body of a whole answer is offered with tryEnd(), which says what was taken. While some of it was not, the build
 *    closes on a further request: a peer that pipelines and does not read costs no more than one answer.
 *  - A peer is cut when nothing of a body was taken and a piece of its head may not have fitted either. An answer whose
 *    fate the build does not tell (no body, or one that closes the connection) leaves the parser first if it may not fit.
 *  - A stream writes nothing before the parser is left, and then in pieces that fit.
 */

/** Bytes of the cork buffer. */
const corkBytesMax = 16 * 1024;
/** What the build adds to a head: protocol, date, length, its own mark, connection. */
const ownHeadBytes = 256;
/** What frames a chunk of a stream. */
const framingBytes = 16;
/** A piece of a stream. */
const pieceBytes = corkBytesMax - framingBytes;
/** An empty chunk ends a body, and nothing else makes this build send the head: JSON readers skip the space. */
const blank = new Uint8Array([0x20]);
const empty = new Uint8Array(0);
/** How often the timer of a slow upload is started anew, in milliseconds. */
const rearmMs = 1_000;

let library: Library | undefined;

/** Loads the build. Throws where the running Node cannot (anything but 16, 18 and 20). */
export function loadUws(): Library {
  library ??= createRequire(import.meta.url)("uWebSockets.js") as Library;
  return library;
}

/** Opens a listener. Rejects when the address is not to be had. Shares its port with the other front threads. */
export function listenUws(options: ListenOptions): Promise<Listener> {
  const front = new UwsFront(loadUws(), options);
  return front.listen(options.port);
}

function openApp(uws: Library, tls: TlsFiles | undefined): TemplatedApp {
  return tls === undefined ? uws.App() : uws.SSLApp({ key_file_name: tls.keyFile, cert_file_name: tls.certFile });
}

/** Ends an app's listening and its connections. */
function closeApp(app: TemplatedApp | undefined): void {
  // Missing from the build's types.
  (app as (TemplatedApp & { close(): void }) | undefined)?.close();
}

/** What is wrong with certificate files; the build itself would say nothing. */
function faultOf({ certFile, keyFile }: TlsFiles): string | undefined {
  try {
    createSecureContext({ cert: readFileSync(certFile), key: readFileSync(keyFile) });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** One listener and the exchanges under way on it. */
class UwsFront implements Listener {
  port = 0;
  /** Answers close their connection: the front is on its way out. */
  closing = false;
  #closed = false;
  readonly exchanges = new Set<UwsExchange>();
  readonly streams = new Set<AnswerStream>();
  readonly #uws: Library;
  readonly #handle: Handler;
  readonly #host: string;
  readonly #tls: TlsFiles | undefined;
  #app: TemplatedApp;
  #socket: us_listen_socket | undefined;
  /** Those with certificates that were replaced: connections that were open go on. Oldest first. */
  readonly #retired: TemplatedApp[] = [];
  /** Bytes that lie in the parser's cork, at most: of all answers lately, as connections cannot be told apart. */
  #corkedBytes = 0;
  /** It is going to be known empty. */
  #leaving = false;

  constructor(uws: Library, { host, tls, handle }: ListenOptions) {
    this.#uws = uws;
    this.#host = host;
    this.#tls = tls;
    this.#handle = handle;
    this.#app = this.#open();
  }

  #open(): TemplatedApp {
    const app = openApp(this.#uws, this.#tls);
    // Routes with parameters do not match in this build, and an unmatched request ends its connection unanswered.
    return app.any("/*", (res, req) => this.#accept(res, req));
  }

  /** Threads share the port, not a descriptor. */
  get fd(): undefined {
    return undefined;
  }

  get pending(): number {
    return this.exchanges.size + this.streams.size;
  }

  get streaming(): number {
    return this.streams.size;
  }

  listen(port: number): Promise<Listener> {
    return new Promise((resolve, reject) => {
      this.#app.listen(this.#host, port, (socket) => {
        if (socket === false) {
          reject(new Error(`Cannot listen on ${this.#host}:${port}`));
          return;
        }
        this.#socket = socket;
        this.port = this.#uws.getSocketPort(socket as never);
        resolve(this);
      });
    });
  }

  /** What surely is free in the cork buffer inside the parser. */
  get roomBytes(): number {
    return Math.max(0, corkBytesMax - this.#corkedBytes);
  }

  /** Takes note of an answer; `flushed`: it did not fit, and nothing is held from here on. */
  corked(bytes: number, flushed: boolean): void {
    this.#corkedBytes = flushed ? 0 : this.#corkedBytes + bytes;
    // Outside the parser nothing is held. Not looked at each time: it costs the loop a turn.
    if (this.#corkedBytes <= corkBytesMax || this.#leaving) return;
    this.#leaving = true;
    setImmediate(() => {
      this.#leaving = false;
      this.#corkedBytes = 0;
    });
  }

  /** The build reads its files once: another app takes over the port, and this one keeps its connections. */
  reload(): string | undefined {
    const before = this.#socket;
    if (this.#tls === undefined || this.closing || before === undefined) return undefined;
    const fault = faultOf(this.#tls);
    if (fault !== undefined) return fault;
    const app = this.#open();
    // The callback comes before listen() returns.
    let socket: us_listen_socket | false = false;
    app.listen(this.#host, this.port, (opened) => {
      socket = opened;
    });
    if (socket === false) return `Cannot listen on ${this.#host}:${this.port}`;
    this.#uws.closeSocket(before);
    this.#retired.push(this.#app);
    this.#app = app;
    this.#socket = socket;
    if (this.#retired.length > limits.retiredListenersMax) closeApp(this.#retired.shift());
    return undefined;
  }

  stopAccepting(): void {
    this.closing = true;
    // Also before a thread ends: an open listen socket makes the end of its loop abort the process.
    if (this.#socket !== undefined) this.#uws.closeSocket(this.#socket);
    this.#socket = undefined;
  }

  cut(): void {
    if (this.#closed) return;
    this.#closed = true;
    // Connections without a request too: any that is open when the thread ends makes its loop abort the process.
    for (const app of [this.#app, ...this.#retired]) closeApp(app);
  }

  close(): void {
    this.cut();
    this.#socket = undefined;
  }

  /** Reads the request, which is valid only during this call, and hands it on. Must not throw or leave without hooks. */
  #accept(res: HttpResponse, req: HttpRequest): void {
    const headers: (readonly [string, string])[] = [];
    req.forEachHeader((name, value) => {
      headers.push([name, value]);
    });
    const method = req.getCaseSensitiveMethod().toUpperCase();
    const path = req.getUrl();
    const query = req.getQuery() ?? "";
    const framing = checkHead({ method, path, query, headers });
    if (isHeadFault(framing)) {
      refuse(res, framing);
      return;
    }
    const exchange = new UwsExchange(this, res, method, path, query, headers);
    // A request that closes, and one with a chunked body (whose framing this build reads leniently), is the last one
    // on its connection: whatever follows it is never run.
    exchange.last = framing.close || framing.length === undefined;
    exchange.receive(framing.length);
    handOn(this.#handle, exchange);
  }
}

/**
 * Answers a malformed head and closes. The build goes on to the next pipelined request after an answer it still has
 * in its cork buffer, even when told to close; one that overflows the buffer closes at once. Hence the padding.
 */
function refuse(res: HttpResponse, fault: HeadFault): void {
  res.onAborted(() => {});
  res.writeStatus(statusLine(fault.code));
  res.writeHeader("Content-Type", "text/plain; charset=utf-8");
  res.end(`${fault.code} ${STATUS_CODES[fault.code]}: ${fault.message}\n`.padEnd(corkBytesMax + 1024), true);
}

const statusLines = new Map<number, string>();

function statusLine(code: number): string {
  let line = statusLines.get(code);
  if (line === undefined) {
    line = `${code} ${STATUS_CODES[code] ?? "Unknown"}`;
    statusLines.set(code, line);
  }
  return line;
}

/** The head of an answer. */
interface Head {
  readonly code: number;
  readonly headers: Headers;
  /** What it takes in the cork buffer, at most. */
  readonly bytes: number;
}

function headOf(code: number, headers: Headers): Head {
  let bytes = ownHeadBytes;
  // Encoded, and in UTF-8, no character of a value takes more than three bytes.
  for (const [name, value] of headers) bytes += name.length + 3 * value.length + ": \r\n".length;
  return { code, headers, bytes };
}

function writeHead(res: HttpResponse, head: Head): void {
  res.writeStatus(statusLine(head.code));
  for (const [name, value] of head.headers) if (isSent(name)) res.writeHeader(name, encodeHeaderValue(value));
}

/** Sends a head by itself, one that may not fit the cork buffer in parts. Not from inside the parser. */
function sendHead(res: HttpResponse, head: Head): void {
  if (head.bytes <= corkBytesMax) {
    res.cork(() => writeHead(res, head));
    return;
  }
  res.cork(() => res.writeStatus(statusLine(head.code)));
  for (const [name, value] of head.headers)
    if (isSent(name)) res.cork(() => res.writeHeader(name, encodeHeaderValue(value)));
}

/** Whether an answer to `method` with `code` has no body (RFC 9110 6.4.1). */
function bodiless(method: string, code: number): boolean {
  return method === "HEAD" || code === 204 || code === 304;
}

/** What is looked at after send() returned must not lie in shared memory, which others recycle. */
function keepBytes(bytes: Uint8Array): Uint8Array {
  return bytes.buffer instanceof SharedArrayBuffer ? copyOf(bytes) : bytes;
}

function keep(body: Uint8Array | string): Uint8Array | string {
  return typeof body === "string" ? body : keepBytes(body);
}

type Body = Uint8Array | "too-large" | "aborted";

class UwsExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Empty once the answer is a stream: an idle watch keeps no request. */
  headers: Headers;
  readonly peer = undefined;
  readonly remote: string;
  /** No request may follow on this connection. */
  last = false;
  readonly #front: UwsFront;
  readonly #res: HttpResponse;
  readonly #gone: (() => void)[] = [];
  /** The answer was handed over; `#done` when the build has all of it and `#res` must not be touched. */
  #answered = false;
  #done = false;
  #aborted = false;
  /** The streamed answer, which lives on without this exchange. */
  #stream: UwsStream | undefined;
  // The body: pieces until somebody asks, then a promise.
  #pieces: Uint8Array[] = [];
  #received = 0;
  #complete = true;
  #bytesMax: number = limits.bodyBytesMax;
  /** Monotonic milliseconds: when the build's timer was last started for this body, and when the body must be there. */
  #armedMs = 0;
  #uploadEndMs = 0;
  #settle: ((body: Body) => void) | undefined;
  /** An answer that waits for the rest of an oversized body, so that the client gets to read it. */
  #deferred: (() => void) | undefined;

  constructor(front: UwsFront, res: HttpResponse, method: string, path: string, query: string, headers: Headers) {
    this.#front = front;
    this.#res = res;
    this.method = method;
    this.path = path;
    this.query = query;
    this.headers = headers;
    this.remote = Buffer.from(res.getRemoteAddressAsText()).toString("latin1");
    // First of all: a request left with neither an answer nor this hook ends the process.
    res.onAborted(() => this.#abort());
    front.exchanges.add(this);
  }

  header(name: string): string | undefined {
    for (const header of this.headers) if (header[0] === name) return header[1];
    return undefined;
  }

  /** Hooks the body, which is lost unless asked for during accept. */
  receive(length: number | undefined): void {
    if (length === 0) return;
    this.#complete = false;
    this.#res.onData((chunk, isLast) => this.#take(chunk, isLast));
  }

  #take(chunk: ArrayBuffer, isLast: boolean): void {
    this.#received += chunk.byteLength;
    // The chunk is detached when this call returns.
    if (this.#received <= this.#bytesMax && !this.#answered) this.#pieces.push(new Uint8Array(chunk.slice(0)));
    else this.#pieces.length = 0;
    if (isLast) this.#complete = true;
    else this.#rearm();
    const deferred = this.#deferred;
    if (deferred !== undefined && (isLast || this.#received > this.#bytesMax + limits.bodyDiscardBytesMax)) {
      this.#deferred = undefined;
      deferred();
      return;
    }
    this.#tell();
  }

  /**
   * The build closes uploads of less than 16 KB/s after ten seconds, which resume() starts anew. They have as long as
   * the reference gives them, and a client that sends nothing for ten seconds is closed all the same.
   */
  #rearm(): void {
    const now = performance.now();
    if (this.#armedMs === 0) {
      this.#armedMs = now;
      this.#uploadEndMs = now + limits.requestMsMax;
    } else if (now > this.#uploadEndMs) {
      this.cut();
    } else if (now - this.#armedMs > rearmMs && !this.#done) {
      this.#armedMs = now;
      this.#res.pause();
      this.#res.resume();
    }
  }

  /** Settles a pending body() when there is something to tell. */
  #tell(): void {
    const settle = this.#settle;
    if (settle === undefined) return;
    if (this.#received > this.#bytesMax) this.#give(settle, "too-large");
    else if (this.#complete) this.#give(settle, this.#joined());
  }

  #give(settle: (body: Body) => void, body: Body): void {
    this.#settle = undefined;
    this.#pieces = [];
    settle(body);
  }

  #joined(): Uint8Array {
    if (this.#pieces.length === 0) return empty;
    return this.#pieces.length === 1 ? (this.#pieces[0] as Uint8Array) : Buffer.concat(this.#pieces);
  }

  body(bytesMax: number): Promise<Body> {
    assert(bytesMax <= limits.bodyBytesMax, `A body of ${bytesMax} bytes is above the limit of ${limits.bodyBytesMax}`);
    if (this.aborted) return Promise.resolve("aborted");
    this.#bytesMax = bytesMax;
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#tell();
    });
  }

  get aborted(): boolean {
    return this.#aborted || this.#stream?.aborted === true;
  }

  onAbort(gone: () => void): void {
    if (this.aborted) gone();
    else if (this.#stream !== undefined) this.#stream.onAbort(gone);
    else this.#gone.push(gone);
  }

  /** The connection is gone, whoever ended it. */
  #abort(): void {
    this.#aborted = true;
    this.#done = true;
    this.#front.exchanges.delete(this);
    if (this.#settle !== undefined) this.#give(this.#settle, "aborted");
    this.#pieces = [];
    for (const gone of this.#gone) gone();
    this.#gone.length = 0;
  }

  /** Ends the connection without an answer. */
  cut(): void {
    if (!this.#done) this.#res.close();
  }

  send(code: number, headers: Headers, body: Uint8Array | string): void {
    assert(!this.#answered, "An exchange is answered once");
    this.#answered = true;
    if (this.aborted) return;
    if (asksClose(headers)) this.last = true;
    if (!this.#complete && this.#received > this.#bytesMax) {
      this.last = true;
      const kept = keep(body);
      this.#deferred = () => this.#sendLater(code, headers, kept);
    } else if (this.last) {
      // Answering inside the parser would let a pipelined request run before the connection closes; while an answer
      // is due, the build closes on one.
      this.#sendLater(code, headers, body);
    } else {
      this.#send(code, headers, body, false);
    }
  }

  /** Leaves the parser, and whatever lies in its cork, first. */
  #sendLater(code: number, headers: Headers, body: Uint8Array | string): void {
    const kept = keep(body);
    setImmediate(() => this.#send(code, headers, kept, true));
  }

  /** `left`: the parser is. */
  #send(code: number, headers: Headers, body: Uint8Array | string, left: boolean): void {
    if (this.#done) return;
    const res = this.#res;
    const close = this.last || this.#front.closing;
    const head = headOf(code, headers);
    const bare = bodiless(this.method, code);
    const bodyBytes = bare ? 0 : Buffer.byteLength(body);
    const room = left ? corkBytesMax : this.#front.roomBytes;
    const fits = head.bytes + bodyBytes <= room;
    if (!left) {
      if (!fits && (close || bare || head.bytes > corkBytesMax)) {
        this.#sendLater(code, headers, body);
        return;
      }
      this.#front.corked(head.bytes + bodyBytes, bodyBytes > corkBytesMax);
    }
    const end = (): void => {
      if (bare) this.#endBare(close);
      else if (close && bodyBytes <= limits.sliceBytesMax) this.#end(body);
      else this.#offer(body, close, head.bytes <= room);
    };
    if (left && !fits && (close || head.bytes > corkBytesMax)) {
      sendHead(res, head);
      res.cork(end);
    } else {
      res.cork(() => {
        writeHead(res, head);
        end();
      });
    }
  }

  #endBare(close: boolean): void {
    if (close) this.#res.writeHeader("Connection", "close");
    // With an argument, the build sends it as a length and counts the answer as unfinished.
    this.#res.endWithoutBody();
    this.#finish();
  }

  /** Sends a body and closes. Only end() does; it has the cork buffer to itself, so that a peer can only lose the body. */
  #end(body: Uint8Array | string): void {
    this.#res.end(body, true);
    this.#finish();
  }

  /** Sends a body as the peer takes it, instead of having it copied at once. `sure`: nothing of the head is missing. */
  #offer(body: Uint8Array | string, close: boolean, sure: boolean): void {
    const res = this.#res;
    // tryEnd() cannot close: the header asks the client to, and the build's idle timer sees to the rest.
    if (close) res.writeHeader("Connection", "close");
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    const total = bytes.length;
    const first = total <= limits.sliceBytesMax ? bytes : bytes.subarray(0, limits.sliceBytesMax);
    const [taken, all] = res.tryEnd(first, total);
    if (all) {
      this.#finish();
      return;
    }
    if (!taken && !sure && res.getWriteOffset() === 0) {
      this.cut();
      return;
    }
    let rest = bytes;
    /** Where in the body the rest begins. */
    let base = 0;
    const more = (): boolean => {
      for (let offset = res.getWriteOffset(); ; ) {
        const slice = rest.subarray(offset - base, offset - base + limits.sliceBytesMax);
        const [ok, finished] = res.tryEnd(slice, total);
        if (finished) {
          this.#finish();
          return true;
        }
        if (!ok) return false;
        offset += slice.length;
      }
    };
    if (taken && more()) return;
    base = res.getWriteOffset();
    rest = keepBytes(rest.subarray(base));
    res.onWritable(more);
  }

  #finish(): void {
    this.#done = true;
    this.#gone.length = 0;
    this.#front.exchanges.delete(this);
  }

  stream(code: number, headers: Headers, opening?: number): AnswerStream {
    if (bodiless(this.method, code)) {
      this.send(code, headers, "");
      return goneStream;
    }
    assert(!this.#answered, "An exchange is answered once");
    this.#answered = true;
    if (this.aborted) return goneStream;
    this.headers = [];
    const gone = [...this.#gone];
    this.#finish();
    this.#stream = new UwsStream(this.#front, this.#res, headOf(code, headers), gone, opening);
    return this.#stream;
  }
}

/**
 * A streamed answer: the head travels with the first chunk, at the latest when the loop comes round. There are thousands
 * of these for hours, so they keep nothing of their requests.
 */
class UwsStream implements AnswerStream {
  aborted = false;
  readonly #front: UwsFront;
  readonly #res: HttpResponse;
  #gone: (() => void)[];
  /** What is written before the parser is left; undefined from then on. */
  #early: Uint8Array[] | undefined = [];
  #earlyBytes = 0;
  #chunk: Uint8Array = blank;
  /** What the build said to the last piece: false, the peer is behind. */
  #accepted = true;
  #ended = false;
  #wrote = false;
  /** The byte the body begins with, where that is known. */
  readonly #opening: number | undefined;
  /** It was sent ahead: the first chunk goes without it. */
  #opened = false;
  #drained: (() => void) | undefined;
  /** One closure for the life of the stream: exactly one write per cork, or the build sends piecemeal. */
  readonly #write = (): void => {
    this.#accepted = this.#res.write(this.#chunk as Uint8Array<ArrayBuffer>);
  };

  constructor(front: UwsFront, res: HttpResponse, head: Head, gone: (() => void)[], opening: number | undefined) {
    this.#front = front;
    this.#res = res;
    this.#opening = opening;
    this.#gone = gone;
    front.streams.add(this);
    // In place of the exchange's.
    res.onAborted(() => this.#abort());
    // Mandatory, also where nothing is waiting: without it a stream that was ever behind is closed 10 s later.
    res.onWritable(() => this.#writable());
    setImmediate(() => this.#start(head));
  }

  /** The parser is left: sends the head and what was written so far. */
  #start(head: Head): void {
    const early = this.#early ?? [];
    this.#early = undefined;
    if (this.aborted) return;
    let body = early.length === 1 ? (early[0] as Uint8Array) : Buffer.concat(early);
    if (body.length === 0 && !this.#ended) {
      this.#opened = this.#opening !== undefined;
      body = this.#opening === undefined ? blank : Uint8Array.of(this.#opening);
    }
    const res = this.#res;
    const room = Math.min(body.length, corkBytesMax - head.bytes - framingBytes);
    if (room > 0) this.#chunk = body.subarray(0, room);
    else sendHead(res, head);
    res.cork(() => {
      if (room > 0) writeHead(res, head);
      if (this.#front.closing) res.writeHeader("Connection", "close");
      if (room > 0) this.#write();
    });
    const accepted = this.#send(body.subarray(Math.max(room, 0)));
    if (!accepted) return;
    if (this.#ended) this.#finish();
    else if (this.#earlyBytes > limits.sliceBytesMax) this.#drained?.();
  }

  /** In pieces that fit the build's cork buffer. */
  #send(chunk: Uint8Array): boolean {
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      this.#chunk = chunk.length <= pieceBytes ? chunk : chunk.subarray(at, at + pieceBytes);
      this.#res.cork(this.#write);
    }
    this.#chunk = blank;
    this.#wrote = true;
    return this.#accepted;
  }

  write(chunk: Uint8Array): boolean {
    if (this.#ended || chunk.length === 0) return true;
    if (this.#early !== undefined) {
      this.#early.push(copyOf(chunk));
      this.#earlyBytes += chunk.length;
      return this.#earlyBytes <= limits.sliceBytesMax;
    }
    if (!this.#opened) return this.#send(chunk);
    this.#opened = false;
    assert(chunk[0] === this.#opening, "A body does not begin with the byte it was opened with");
    return chunk.length === 1 ? true : this.#send(chunk.subarray(1));
  }

  onDrain(drained: () => void): void {
    this.#drained = drained;
  }

  #writable(): boolean {
    this.#wrote = false;
    this.#accepted = true;
    if (this.#ended) this.#finish();
    else this.#drained?.();
    // What the build holds for the peer moves only with a write or a cork.
    if (!this.#ended && !this.#wrote) this.#res.cork(() => {});
    return true;
  }

  onAbort(gone: () => void): void {
    this.#gone.push(gone);
  }

  /** The connection is gone, whoever ended it. */
  #abort(): void {
    // None when it was ended or cut by this side.
    const gone = this.#gone;
    this.aborted = true;
    this.#forget();
    for (const tell of gone) tell();
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#gone = [];
    // To a peer that is behind, the answer ends when it has taken some: until then no further one is begun.
    if (this.#early === undefined && this.#accepted) this.#finish();
  }

  #finish(): void {
    this.#front.streams.delete(this);
    // Not told to close: the build would write that header into the body.
    this.#res.cork(() => this.#res.end());
  }

  abort(): void {
    if (this.#ended) return;
    this.#forget();
    this.#res.close();
  }

  /** Nothing is written from here on. */
  #forget(): void {
    this.#ended = true;
    this.#gone = [];
    this.#front.streams.delete(this);
  }
}
