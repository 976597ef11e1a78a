// Requests that are passed on to another server, and its answer as a stream: bodies are not gathered, and no
// connection is used for a second request unless the first was answered to its end. A redirect is an answer like any other.
import type { ClientRequest } from "node:http";
import { Agent, request } from "node:https";
import type { Socket } from "node:net";
import { createSecureContext, type SecureContext } from "node:tls";
import { type IncomingMessage, request as plainRequest } from "../base/http.ts";
import { limits } from "../config/limits.ts";
import { addressOf, CallFailure, type Connection, isOurs, tlsOf } from "./client.ts";
import { reasonOf } from "./reason.ts";

/** Header fields in order, several of one name included; values hold no control bytes. */
export type Fields = readonly (readonly [name: string, value: string])[];

/** A request to pass on. */
export interface Passed {
  readonly method: string;
  /** With its query, percent-encoded. */
  readonly path: string;
  readonly headers: Fields;
  readonly body: Uint8Array;
}

/** A request that was sent. */
export interface Sent {
  /** Its answer, of which nothing was read; never rejects. */
  readonly answer: Promise<IncomingMessage | CallFailure>;
  /** Ends it, whatever came of it: its connection is closed. */
  cut(): void;
}

/** A peer that speaks another protocol from now on. */
export interface Switched {
  readonly response: IncomingMessage;
  readonly socket: Socket;
  /** Its first bytes. */
  readonly head: Uint8Array;
}

/** A request for another protocol that was sent. */
export interface Upgrading {
  /** Never rejects. */
  readonly answer: Promise<Switched | IncomingMessage | CallFailure>;
  cut(): void;
}

/** Methods that may be sent once more when a kept connection turns out to be closed (Go's transport). */
const repeatable: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Methods whose requests say that they have no body. */
const bodied: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** Passes requests on to one server. */
export class StreamClient {
  /** Where it connects to. */
  readonly peer: { readonly host: string; readonly port: number };
  /** Connections that are kept are for what can be repeated: one that the peer is about to close fails a request. */
  readonly #kept: Agent;
  readonly #fresh: Agent;
  readonly #secured: SecureContext | undefined;

  /** Throws where the authorities or the certificate cannot be used. */
  constructor(connection: Connection) {
    this.peer = addressOf(connection);
    const { ca, cert, key, ...others } = tlsOf(connection);
    // No name: Node would take the one in the Host header of each request, and verify the certificate by it.
    const checks = { servername: "", ...others };
    // Read once: the system's authorities alone take 10 ms.
    this.#secured = connection.url.startsWith("https:") ? createSecureContext(present({ ca, cert, key })) : undefined;
    const secured = this.#secured === undefined ? checks : { ...checks, secureContext: this.#secured };
    this.#kept = new Agent({ keepAlive: true, maxFreeSockets: limits.outboundIdleSocketsMax, ...secured });
    this.#fresh = new Agent({ ...secured });
  }

  /** Sends a request. */
  send(passed: Passed): Sent {
    let asked: ClientRequest | undefined;
    let isCut = false;
    const answer = new Promise<IncomingMessage | CallFailure>((resolve) => {
      const attempt = (mayRepeat: boolean): void => {
        asked = this.#request(passed);
        const sent = asked;
        let answered = false;
        sent.on("response", (response) => {
          answered = true;
          resolve(response);
        });
        // No other protocol was asked for.
        sent.on("upgrade", (_response, socket) => {
          socket.destroy();
          resolve(new CallFailure("unreachable", "it answered with another protocol"));
        });
        sent.on("error", (error: NodeJS.ErrnoException) => {
          if (answered) return;
          if (mayRepeat && !isCut && sent.reusedSocket && isClosed(error)) attempt(false);
          else resolve(this.#failureOf(error));
        });
        sent.end(passed.body);
      };
      attempt(repeatable.has(passed.method));
    });
    return {
      answer,
      cut: () => {
        isCut = true;
        asked?.destroy();
      },
    };
  }

  #request(
    { method, path, headers, body }: Passed,
    agent = repeatable.has(method) ? this.#kept : this.#fresh,
  ): ClientRequest {
    const isPlain = this.#secured === undefined;
    const asked = (isPlain ? plainRequest : request)({
      method,
      path,
      ...this.peer,
      setHost: false,
      maxHeaderSize: limits.headBytesMax,
      ...(isPlain ? {} : { agent }),
    });
    setHeaders(asked, headers);
    // Always: of methods that rarely have a body Node would send one without a length, which is read as a request.
    if (body.length > 0 || bodied.has(method)) asked.setHeader("Content-Length", String(body.length));
    // Connections are kept in HTTP/1.1 without a word (upstream says none).
    asked.removeHeader("Connection");
    return asked;
  }

  /**
   * Sends a request for another protocol, on a connection of its own. What is answered otherwise leaves that connection
   * for nothing else.
   */
  upgrade(passed: Passed, protocol: string): Upgrading {
    const asked = this.#request({ ...passed, headers: [...passed.headers, ["Upgrade", protocol]] }, this.#fresh);
    asked.setHeader("Connection", "Upgrade");
    const answer = new Promise<Switched | IncomingMessage | CallFailure>((resolve) => {
      asked.on("response", resolve);
      asked.on("upgrade", (response, socket, head) => {
        socket.on("error", () => undefined);
        // Nothing is read before it is wanted.
        socket.pause();
        resolve({ response, socket: socket as Socket, head });
      });
      asked.on("error", (error: NodeJS.ErrnoException) => resolve(this.#failureOf(error)));
      asked.end(passed.body);
    });
    return { answer, cut: () => void asked.destroy() };
  }

  #failureOf(error: NodeJS.ErrnoException): CallFailure {
    if (isOurs(error)) return new CallFailure("busy", "the server has no connection left for it", error);
    return new CallFailure("unreachable", reasonOf(error, this.peer), error);
  }

  /** Closes the connections nothing is sent on; the others end with what is under way. */
  retire(): void {
    this.#kept.destroy();
  }
}

function isClosed({ code }: NodeJS.ErrnoException): boolean {
  return code === "ECONNRESET" || code === "EPIPE";
}

/** Options without those that are undefined. */
function present<T extends object>(options: T): Partial<{ [K in keyof T]: NonNullable<T[K]> }> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}

function setHeaders(asked: ClientRequest, headers: Fields): void {
  const byName = new Map<string, { readonly name: string; readonly values: string[] }>();
  for (const [name, value] of headers) {
    const known = byName.get(name.toLowerCase());
    if (known === undefined) byName.set(name.toLowerCase(), { name, values: [wireValue(value)] });
    else known.values.push(wireValue(value));
  }
  for (const { name, values } of byName.values())
    asked.setHeader(name, values.length === 1 ? (values[0] ?? "") : values);
}

/** Node writes header values as latin1: characters beyond ASCII are sent as their UTF-8 bytes. */
export function wireValue(value: string): string {
  return /^[\x20-\x7e]*$/.test(value) ? value : Buffer.from(value, "utf8").toString("latin1");
}
