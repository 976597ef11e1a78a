// The seam between HTTP and everything else. No uWS or Node object passes it: a front hands an Exchange to
// handle() and the server answers through it. One suite (test/http) holds both fronts to this contract.
import type { PeerCertificates } from "../../authn/authenticator.ts";
import type { Closing, Frame } from "../../outbound/frames.ts";

/** Header names and values, in the order they are sent; names in the case they are sent in. */
export type Headers = readonly (readonly [name: string, value: string])[];

/** A streamed answer. */
export interface AnswerStream {
  /**
   * Sends `chunk`, which is not kept after the call returns (a view of shared memory is fine).
   * False: the peer is behind; write nothing more before `drained` was called (what was written is not lost).
   */
  write(chunk: Uint8Array): boolean;
  /** Registers the one callback for "writable again". Called outside write(). */
  onDrain(drained: () => void): void;
  /** Ends the answer. */
  end(): void;
  /** Cuts the connection: the peer sees an incomplete answer. */
  abort(): void;
}

/** What is known of the body of a streamed answer. */
export interface StreamedBody {
  /**
   * The byte it will begin with, where a space before the body would not be skipped: a front that cannot send a head alone
   * sends this byte with it.
   */
  readonly opening?: number | undefined;
  /**
   * Its bytes, above zero: the answer has a Content-Length, and costs less than one in chunks. One that ends before is cut;
   * writing more throws.
   */
  readonly length?: number | undefined;
}

/** A client's connection after it was given to another protocol: what passes are its bytes. */
export interface Tunnel {
  /** Sends `chunk`, which is not kept after the call returns. False: the peer is behind; write nothing before `drained`. */
  write(chunk: Uint8Array): boolean;
  /** Registers the one callback for "writable again". */
  onDrain(drained: () => void): void;
  /** Hands over what the client sends, from its first byte behind the request on. Once. */
  read(take: (chunk: Uint8Array) => void): void;
  /** Reads no further, and on again. */
  pause(): void;
  resume(): void;
  /** Calls `closed` once when the client ends the connection, or it breaks. */
  onClose(closed: () => void): void;
  /** Ends the connection when everything written was sent. */
  end(): void;
  /** Ends it now. */
  cut(): void;
}

/** Gives a client's connection to another protocol. */
export interface BytesUpgrade {
  readonly kind: "bytes";
  /** Answers 101 with these headers, Connection and Upgrade among them; once, instead of send() and stream(). */
  accept(headers: Headers): Tunnel;
}

/** What a client of a WebSocket does; payloads are not kept after the call returns. */
export interface MessageTaker {
  /** A whole message, a ping or a pong. Pings were answered. */
  frame(frame: Frame): void;
  /** Called once when the client closes the connection, or it breaks (1006). */
  closed(closing: Closing): void;
}

/** A client's connection on a front that speaks WebSocket itself: what passes are messages. It cannot be paused. */
export interface MessageTunnel {
  /**
   * Sends a piece of a message, or a ping; the payload is not kept after the call returns. False: the peer is behind;
   * write nothing before `drained`.
   */
  write(frame: Frame): boolean;
  /** Registers the one callback for "writable again". */
  onDrain(drained: () => void): void;
  /** Says who is told of what the client does. Once, before the turn ends in which the upgrade was accepted. */
  read(taker: MessageTaker): void;
  /** Closes the connection when everything written was sent. */
  end(closing: Closing): void;
  /** Ends it now. */
  cut(): void;
}

/** Makes a WebSocket of a client's connection. */
export interface MessagesUpgrade {
  readonly kind: "messages";
  /** Why a 101 with these headers cannot be sent; undefined: it can. */
  fault(headers: Headers): string | undefined;
  /**
   * Answers 101 with these headers besides those of the handshake, and a subprotocol (empty: none); once, instead of
   * send() and stream().
   */
  accept(headers: Headers, subprotocol: string): MessageTunnel;
}

/** A request to speak another protocol that the front cannot follow. */
export interface NoUpgrade {
  readonly kind: "none";
  /** Says why, and what would help. */
  readonly message: string;
  /** Of the answer. */
  readonly headers?: Headers;
}

/** Pays for the bytes of an answer that its peer does not take. */
export interface Payer {
  /** Charges them. Returns how to tell that they are gone; undefined: its user holds too many. */
  take(bytes: number): (() => void) | undefined;
}

/** One request and its one answer, on one front thread. */
export interface Exchange {
  /**
   * Set when the request's user is known. A front that keeps the rest of a whole answer for a peer that is behind charges
   * it here, and cuts the connection when that is refused. Undefined: nothing is charged.
   */
  payer?: Payer | undefined;
  /** Upper case as sent: `GET`. */
  readonly method: string;
  /** Raw path before `?`, still percent-encoded. */
  readonly path: string;
  /** Raw query after `?`, empty when there is none. */
  readonly query: string;
  /**
   * Address of the peer, for logs and audit. A front may look it up when it is first asked for: empty where the connection
   * was gone by then. A stream and a tunnel keep it.
   */
  readonly remote: string;
  /** Looks `remote` up for when the connection is gone, without making a text of it; left out where it is known anyway. */
  noteRemote?(): void;
  /** First value of a header (name in lower case), undefined when absent. */
  header(name: string): string | undefined;
  /** Every header in order, duplicates kept, names in lower case, values read as UTF-8. */
  readonly headers: Headers;
  /** True: bytes beyond ASCII may be missing from both ends of header values; they name no user then. */
  readonly clipsValues?: boolean;
  /** The certificates the client presented, not verified; undefined for none, and on fronts that ask for none. */
  readonly peer: PeerCertificates | undefined;
  /** Reads the whole body, at most `bytesMax`; "too-large" beyond that, "aborted" when the client went away. */
  body(bytesMax: number): Promise<Uint8Array | "too-large" | "aborted">;
  /** True once the client is gone; answering then does nothing. */
  readonly aborted: boolean;
  /** Calls `gone` once when the client goes away before the answer ended (at once when it already has). */
  onAbort(gone: () => void): void;
  /**
   * Sends a whole answer. Exactly one of send and stream, once. A HEAD gets the headers alone. A body in shared memory is
   * not looked at after the call returns; any other must not be changed afterwards.
   */
  send(code: number, headers: Headers, body: Uint8Array | string): void;
  /** Starts an answer that is written piece by piece, chunked unless its length is known. */
  stream(code: number, headers: Headers, body?: StreamedBody): AnswerStream;
  /** The client asks for another protocol (`asksUpgrade()`). Answered by send() or stream(), the connection ends after it. */
  readonly upgrade?: BytesUpgrade | MessagesUpgrade | NoUpgrade | undefined;
}

/** What a front calls for each request; never throws, always answers. */
export type Handler = (exchange: Exchange) => void;

/** The protocols a client wants to speak on its connection instead (RFC 9110 7.8), as it names them; undefined: none. */
export function asksUpgrade({ headers }: Pick<Exchange, "headers">): string | undefined {
  const isAsked = headers.some(([name, value]) => name === "connection" && upgradeToken.test(value));
  return isAsked ? headers.find(([name]) => name === "upgrade")?.[1] : undefined;
}

/** The values of a header in the order they came in. `name`: in lower case; names of `headers` are in any. */
export function valuesOf(headers: Headers, name: string): string[] {
  return headers.flatMap(([key, value]) => (key.toLowerCase() === name ? [value] : []));
}

const upgradeToken = /(?:^|[ \t,])upgrade(?:$|[ \t,])/i;
