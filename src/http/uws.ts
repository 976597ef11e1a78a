// The front on uWebSockets.js. Every trap of that build is handled here and nowhere else; the comments name them.

import type { PeerCertificates } from "../authn/authenticator.ts";
import { assert } from "../base/assert.ts";
import { copyOf } from "../base/copy.ts";
import { type Listed, Roster } from "../base/roster.ts";
import { limits } from "../config/limits.ts";
import type {
  AnswerStream,
  Exchange,
  Handler,
  Headers,
  MessagesUpgrade,
  NoUpgrade,
  Payer,
  StreamedBody,
} from "../request/exchange/transport.ts";
import { asksClose, bodiless, checkHead, isHeadFault, type Head as RequestHead } from "./gate.ts";
import { handOn, type Listener, type ListenOptions, type TlsFiles } from "./listener.ts";
import { Openings } from "./openings.ts";
import { goneStream } from "./streams.ts";
import type { UwsAnswer } from "./uwsanswer.ts";
import { countConnections, type Generation, isCurrent, openGeneration } from "./uwsapps.ts";
import {
  type App,
  addressText,
  type HttpRequest,
  type HttpResponse,
  type Library,
  type ListenSocket,
  loadUws,
  type SocketContext,
} from "./uwsbuild.ts";
import { SpareCork } from "./uwscork.ts";
import { corkBytesMax, headOf, refuse, sendHead, writeHead } from "./uwshead.ts";
import { UwsMeasured } from "./uwsmeasured.ts";
import { type SocketPlace, socketBehaviour, socketUpgrade, UwsSocket } from "./uwssocket.ts";
import { UwsStream } from "./uwsstream.ts";

/*
 * The build gathers writes inside a cork in one buffer of its thread and sends it when the cork ends, or when
 * a write does not fit. In the second case it forgets that write if it cannot send all of the buffer, as to a peer that
 * is just then behind: a piece of a head or a body is missing. The parser holds a cork of its own, which all answers
 * share that are given before it is left; a cork within it does nothing. Hence the rules:
 *  - The body of a whole answer is offered with tryEnd(), which returns whether all was taken. While it was not, the build
 *    closes on a further request: a peer that pipelines and does not read costs no more than one answer.
 *  - A peer is cut when nothing of a body was taken and a piece of its head may not have fitted either. An answer whose
 *    fate the build does not report (no body, or one that closes the connection) leaves the parser first if it may not fit.
 *  - A stream writes nothing before the parser is left, and then in pieces that fit (uwsstream.ts); where its length is
 *    known it is offered as a whole answer is (uwsmeasured.ts).
 */

const empty = new Uint8Array(0);
/** Methods whose requests have a body, of no bytes at least. */
const bodied: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE"]);
/** How often the timer of a slow upload is started anew, in milliseconds. */
const rearmMs = 1_000;

/** Opens a listener. Rejects when the address is not to be had. Shares its port with the other front threads. */
export function listenUws(options: ListenOptions): Promise<Listener> {
  const front = new UwsFront(loadUws(), options);
  return front.listen(options.port);
}

/** One listener and the exchanges under way on it. */
class UwsFront implements Listener {
  port = 0;
  /** Answers close their connection: the front is on its way out. */
  closing = false;
  #closed = false;
  readonly exchanges = new Roster<UwsExchange>();
  readonly streams = new Set<UwsAnswer>();
  readonly sockets = new Set<UwsSocket>();
  readonly #uws: Library;
  readonly #handle: Handler;
  readonly #host: string;
  readonly #tls: TlsFiles | undefined;
  #current: Generation;
  readonly openings: Openings;
  #socket: ListenSocket | undefined;
  /** The one before, until it has accepted what waits there. */
  #leavingSocket: ListenSocket | undefined;
  /** Apps with replaced certificates: their open connections stay. Oldest first. */
  readonly #retired: Generation[] = [];
  /** Bytes that lie in the parser's cork, at most: of all recent responses, as connections cannot be distinguished. */
  #corkedBytes = 0;
  /** It is going to be known empty. */
  #leaving = false;
  readonly #cork: SpareCork;

  constructor(uws: Library, { host, tls, handle, openings = new Openings() }: ListenOptions) {
    this.openings = openings;
    this.#uws = uws;
    this.#cork = new SpareCork(uws);
    this.#host = host;
    this.#tls = tls;
    this.#handle = handle;
    this.#current = this.#open();
  }

  #open(): Generation {
    const generation = openGeneration(this.#uws, this.#tls);
    countConnections(generation.app, this.openings);
    // An unmatched request would end its connection unanswered.
    generation.app.any("/*", (res, req) => this.#accept(res, req, generation));
    generation.app.ws(
      "/*",
      socketBehaviour((res, req, context) => this.#accept(res, req, generation, context)),
    );
    return generation;
  }

  get pending(): number {
    return this.exchanges.size + this.streams.size + this.sockets.size;
  }

  get streaming(): number {
    return this.streams.size;
  }

  async listen(port: number): Promise<Listener> {
    this.port = port === 0 ? this.#freePort() : port;
    this.#socket = this.#claim(this.#current.app, this.port);
    if (this.#socket === undefined) throw new Error(`Cannot listen on ${this.#host}:${port}`);
    return this;
  }

  /** The build shares no port that it was left to choose: it is asked for the same once more. */
  #freePort(): number {
    const socket = this.#claim(this.#current.app, 0);
    if (socket === undefined) return 0;
    const port = this.#uws.us_socket_local_port(socket);
    this.#uws.us_listen_socket_close(socket);
    return port;
  }

  /** Undefined where the port is not to be had. */
  #claim(app: App, port: number): ListenSocket | undefined {
    let claimed: ListenSocket | undefined;
    // The callback comes before listen() returns.
    app.listen(this.#host, port, (socket) => {
      if (socket !== false) claimed = socket;
    });
    return claimed;
  }

  /** Free bytes of the cork buffer inside the parser, at least. */
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
    let next: Generation;
    try {
      if (isCurrent(this.#current, this.#tls)) return undefined;
      next = this.#open();
    } catch (error) {
      return (error as Error).message;
    }
    const socket = this.#claim(next.app, this.port);
    if (socket === undefined) {
      next.app.close();
      return `Cannot listen on ${this.#host}:${this.port}`;
    }
    this.#retired.push(this.#current);
    this.#current = next;
    this.#socket = socket;
    // After the loop has accepted what waits there, which it does between these two: the kernel resets the connections of a
    // socket that is closed.
    this.#leave();
    this.#leavingSocket = before;
    setImmediate(() => setImmediate(() => this.#leave(before)));
    if (this.#retired.length > limits.retiredListenersMax) this.#retired.shift()?.app.close();
    this.#distrust(next.held.authorities);
    return undefined;
  }

  #leave(socket = this.#leavingSocket): void {
    if (socket === undefined || socket !== this.#leavingSocket) return;
    this.#uws.us_listen_socket_close(socket);
    this.#leavingSocket = undefined;
  }

  /**
   * Ends requests of clients that were verified under other authorities; idle connections end with their next request.
   */
  #distrust(authorities: string): void {
    for (const generation of this.#retired) generation.isTrusted &&= generation.held.authorities === authorities;
    for (const one of [...this.exchanges, ...this.streams, ...this.sockets])
      if (one.verifiedIn?.isTrusted === false) one.cut();
  }

  stopAccepting(): void {
    this.closing = true;
    // Also before a thread ends: an open listen socket makes the end of its loop abort the process.
    if (this.#socket !== undefined) this.#uws.us_listen_socket_close(this.#socket);
    this.#socket = undefined;
    this.#leave();
  }

  cut(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#leave();
    // Connections without a request too: any that is open when the thread ends makes its loop abort the process.
    for (const { app } of [this.#current, ...this.#retired]) app.close();
    this.#cork.close();
  }

  close(): void {
    this.cut();
    this.#socket = undefined;
  }

  /** Reads the request, which is valid only during this call, and hands it on. Must not throw or leave without hooks. */
  #accept(res: HttpResponse, req: HttpRequest, generation: Generation, context?: SocketContext): void {
    if (this.openings.quiet.used > 0) this.openings.heard(addressText(res.getRemoteAddress()));
    const headers: (readonly [string, string])[] = [];
    req.forEach((name, value) => {
      headers.push([name, value]);
    });
    const method = req.getCaseSensitiveMethod();
    const path = req.getUrl();
    const query = req.getQuery() ?? "";
    const framing = checkHead({ method, path, query, headers });
    if (isHeadFault(framing)) {
      refuse(res, framing);
      return;
    }
    const pem = generation.held.authorities === "" ? "" : res.getX509Certificate();
    const peer = pem === "" ? undefined : generation.peers.of(pem);
    if (pem !== "" && (peer === undefined || !generation.isTrusted)) {
      res.close();
      return;
    }
    const verified = peer === undefined ? undefined : { peer, generation };
    const exchange = new UwsExchange(this, res, { method, path, query, headers }, verified);
    if (context !== undefined) {
      this.#cork.open();
      exchange.place = { cork: this.#cork, context };
    }
    // A request that closes or asks for another protocol, and one with a chunked body (whose framing this build reads
    // leniently) is the last one on its connection: whatever follows it is never run. So is one that should have a body
    // and names no length: the header may be hidden behind one without a name, which ends the list for the parser, and
    // the body would be run. Where there are many connections each of them is to end, streams included: a client that
    // kept them open could have any number without a request.
    const isUnsure = framing.length === undefined || (!framing.framed && bodied.has(method));
    exchange.last = framing.close || isUnsure || this.openings.crowded;
    exchange.receive(framing.length);
    handOn(this.#handle, exchange);
  }
}

/** Bytes that are read after send() returned must not be in shared memory, which is recycled. */
function keepBytes(bytes: Uint8Array): Uint8Array {
  return bytes.buffer instanceof SharedArrayBuffer ? copyOf(bytes) : bytes;
}

function keep(body: Uint8Array | string): Uint8Array | string {
  return typeof body === "string" ? body : keepBytes(body);
}

type Body = Uint8Array | "too-large" | "aborted";

/** A client's certificate, and the app whose handshake verified it. */
interface Verified {
  readonly peer: PeerCertificates;
  readonly generation: Generation;
}

class UwsExchange implements Exchange, Listed {
  listedAt = -1;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Empty once the answer is a stream: an idle watch keeps no request. */
  headers: Headers;
  readonly peer: PeerCertificates | undefined;
  /** By which app its client was verified; undefined: it showed no certificate. */
  readonly verifiedIn: Generation | undefined;
  /** No request may follow on this connection: nothing behind this one is run. */
  last = false;
  /** Where its connection can be made a WebSocket; undefined: it cannot. */
  place: SocketPlace | undefined;
  readonly #front: UwsFront;
  readonly #res: HttpResponse;
  /** As the build gives it; its text is made when it is asked for. */
  #address: ArrayBuffer | undefined;
  #remote: string | undefined;
  readonly #gone: (() => void)[] = [];
  payer: Payer | undefined;
  /** Releases the charge for buffered bytes. */
  #taken: (() => void) | undefined;
  /** The answer was handed over; `#done` when the build has all of it and `#res` must not be touched. */
  #answered = false;
  #done = false;
  #aborted = false;
  /** The streamed answer, which lives on without this exchange. */
  #stream: UwsAnswer | undefined;
  // The body: pieces until body() is called, then a promise.
  #pieces: Uint8Array[] = [];
  #received = 0;
  #complete = true;
  #bytesMax: number = limits.bodyBytesMax;
  /** Monotonic milliseconds: when the build's timer was last started for this body, and when the body must be there. */
  #armedMs = 0;
  #uploadEndMs = 0;
  /** The body was asked for. */
  #wanted = false;
  /** It was not yet called, and enough of the body has arrived for now. */
  #paused = false;
  #settle: ((body: Body) => void) | undefined;
  /** A HEAD where a GET would get a stream: there is no length to send. */
  #lengthless = false;
  /** An answer that waits for the rest of an oversized body, so that the client gets to read it. */
  #deferred: (() => void) | undefined;

  constructor(front: UwsFront, res: HttpResponse, request: RequestHead, verified?: Verified) {
    this.#front = front;
    this.#res = res;
    this.method = request.method;
    this.path = request.path;
    this.query = request.query;
    this.headers = request.headers;
    this.peer = verified?.peer;
    this.verifiedIn = verified?.generation;
    // First of all: a request left with neither an answer nor this hook ends the process.
    res.onAborted(() => this.#abort());
    front.exchanges.add(this);
  }

  /** Looked up when it is first asked for (0.8 us), its text made then (1.2 us): a tenth of a GET, both together. */
  get remote(): string {
    this.noteRemote();
    this.#remote ??= this.#address === undefined ? "" : addressText(this.#address);
    return this.#remote;
  }

  noteRemote(): void {
    if (!this.#done) this.#address ??= this.#res.getRemoteAddress();
  }

  /** The parser trims every byte that is not above the blank, as a signed one. */
  get clipsValues(): boolean {
    return true;
  }

  /** After a 101 the build speaks WebSocket itself, or nothing. */
  get upgrade(): MessagesUpgrade | NoUpgrade | undefined {
    const { place } = this;
    const accept = place && ((headers: Headers, protocol: string) => this.#switch(place, headers, protocol));
    return socketUpgrade(this, !this.#complete || this.#received > 0, accept);
  }

  #switch(place: SocketPlace, headers: Headers, subprotocol: string): UwsSocket {
    assert(!this.#answered, "An exchange is answered once");
    this.#answered = true;
    const socket = new UwsSocket(this.#front, this.verifiedIn, [...this.#gone]);
    if (this.aborted) return socket;
    this.noteRemote();
    const key = this.header("sec-websocket-key") ?? "";
    this.#finish();
    socket.upgrade(this.#res, headers, key, subprotocol, place);
    return socket;
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
    if (this.#received <= this.#bytesMax && !this.#answered) this.#pieces.push(pieceOf(chunk, isLast));
    else this.#pieces.length = 0;
    if (isLast) this.#complete = true;
    else if (this.#isEarly && this.#received >= limits.earlyBodyBytesMax) this.#pause();
    else this.#rearm();
    const deferred = this.#deferred;
    if (deferred !== undefined && (isLast || this.#received > this.#bytesMax + limits.bodyDiscardBytesMax)) {
      this.#deferred = undefined;
      deferred();
      return;
    }
    this.#tell();
  }

  get #isEarly(): boolean {
    return !this.#wanted && !this.#answered;
  }

  /** Until the body is asked for, which its user is charged for then, the rest of it stays with its sender. */
  #pause(): void {
    if (this.#paused || this.#done) return;
    this.#paused = true;
    this.#res.pause();
  }

  /** Reads on: the body is wanted, or is to be thrown away behind an answer. */
  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (!this.#done) this.#res.resume();
  }

  /**
   * The build closes uploads of less than 16 KB/s after ten seconds, which resume() starts anew. They have as long as
   * upstream gives them, and a client that sends nothing for ten seconds is closed all the same.
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

  /** Settles a pending body() when there is a result. */
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
    this.#wanted = true;
    this.#resume();
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

  /** The connection has closed, by either side. */
  #abort(): void {
    this.#aborted = true;
    this.#done = true;
    this.#front.exchanges.delete(this);
    this.#taken?.();
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
    this.#resume();
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
    const close = this.last || this.#front.closing || this.#front.openings.crowded;
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
    const end = (sure: boolean): void => {
      if (bare) this.#endBare(code, close, Buffer.byteLength(body));
      else if (close && bodyBytes <= limits.sliceBytesMax) this.#end(body);
      else this.#offer(body, close, sure);
    };
    if (left && !fits && (close || head.bytes > corkBytesMax)) {
      const sure = sendHead(res, head);
      res.cork(() => end(sure));
    } else {
      res.cork(() => {
        writeHead(res, head);
        end(head.bytes <= room);
      });
    }
  }

  #endBare(code: number, close: boolean, bytes: number): void {
    // The length a GET would have (RFC 9110 8.6); 204 and 304 have none.
    const isTold = code !== 204 && code !== 304 && !this.#lengthless;
    if (isTold) this.#res.writeHeader("Content-Length", String(bytes));
    if (close) this.#res.writeHeader("Connection", "close");
    this.#stopReading();
    // With an argument, the build sends it as a length and counts the answer as unfinished.
    this.#res.endWithoutBody();
    this.#finish();
  }

  /**
   * Behind a last answer that end() does not send, the build would continue: further bytes of the peer are not read,
   * and the build's idle timer, which the end of the answer starts, ends the connection.
   */
  #stopReading(): void {
    if (this.last) this.#res.pause();
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
        if (offset + slice.length === total) this.#stopReading();
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
    if (!this.#charge(total - base)) return;
    rest = keepBytes(rest.subarray(base));
    // The build reads again where a write did not fit, also bytes that arrived with the drain event: a last response
    // ends in a turn of its own.
    const later = (): void => {
      if (!this.#done) res.cork(() => void more());
    };
    res.onWritable(this.last ? () => setImmediate(later) && true : more);
  }

  /**
   * Charges the user for bytes buffered until the peer takes them; false: beyond the share, and the connection is cut.
   */
  #charge(bytes: number): boolean {
    const leave = this.payer?.take(bytes);
    if (this.payer !== undefined && leave === undefined) {
      this.cut();
      return false;
    }
    this.#taken = leave;
    return true;
  }

  #finish(): void {
    this.#done = true;
    this.#gone.length = 0;
    this.#front.exchanges.delete(this);
    this.#taken?.();
  }

  stream(code: number, headers: Headers, { opening, length }: StreamedBody = {}): AnswerStream {
    if (bodiless(this.method, code)) {
      this.#lengthless = true;
      this.send(code, headers, "");
      return goneStream;
    }
    assert(!this.#answered, "An exchange is answered once");
    this.#answered = true;
    if (this.aborted) return goneStream;
    this.#resume();
    this.headers = [];
    const gone = [...this.#gone];
    this.noteRemote();
    this.#finish();
    const last = this.last || asksClose(headers);
    const head = headOf(code, headers);
    const plan = { gone, last, verifiedIn: this.verifiedIn };
    this.#stream =
      length === undefined
        ? new UwsStream(this.#front, this.#res, head, { ...plan, opening })
        : new UwsMeasured(this.#front, this.#res, head, { ...plan, length });
    return this.#stream;
  }
}

/**
 * A copy of a chunk, which is detached later. The last one is read at once: if small, it shares memory with others, which
 * is cheaper; an earlier one would keep that of others for as long as its sender likes.
 */
function pieceOf(chunk: ArrayBuffer, isLast: boolean): Uint8Array<ArrayBuffer> {
  if (!isLast) return new Uint8Array(chunk.slice(0));
  const copy = Buffer.allocUnsafe(chunk.byteLength);
  copy.set(new Uint8Array(chunk));
  return copy;
}
