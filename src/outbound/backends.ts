// The servers that requests are passed on to, and how much of that is under way: at one of them, at all, and for each
// user. A server that is slow takes its own places, and nothing of what other requests need.
import { type Owner, Shares } from "../base/shares.ts";
import { limits } from "../config/limits.ts";
import type { Connection } from "./client.ts";
import { StreamClient } from "./streams.ts";

/** One of them. */
export interface Backend {
  readonly client: StreamClient;
  /** Requests to it that are to be answered soon. */
  readonly calls: Shares;
}

/** Something under way that has no end of its own: a watch, a connection of another protocol. */
export interface Lasting {
  /** Ends it in order: the server goes down. */
  finish(): void;
}

/** How often things that last are ended when the server goes down, in milliseconds. */
const endingMs = 50;

/** Of one WebSocket: a message that is not whole yet, and what its client does not take. */
const reservedBytes = limits.socketMessageBytesMax + 2 * limits.socketBehindBytesMax;

const nothing = (): void => undefined;

function both(one: () => void, other: () => void): () => void {
  return () => {
    one();
    other();
  };
}

/** The servers requests of one front are passed on to. */
export class Backends {
  /** By what a connection is made of; the one used last is last. */
  readonly #backends = new Map<string, Backend>();
  /** Requests that are to be answered soon, at all of them. */
  readonly calls: Shares;
  /** Those that last. */
  readonly streams: Shares;
  /** Bytes held for WebSockets whose messages the front gathers. */
  readonly messages = new Shares("bytes of WebSocket messages", limits.socketBytesMax);
  readonly #lasting = new Set<Lasting>();
  readonly #lend: () => (() => void) | undefined;

  /**
   * `connections`: how many the front may have open; `lend`: takes one of them, for each request that is passed on, and
   * returns how to give it back (undefined: there is none left).
   */
  constructor(connections: number = limits.connectionsMax, lend: () => (() => void) | undefined = () => nothing) {
    this.#lend = lend;
    const part = Math.max(1, Math.floor(limits.passedPart * connections));
    this.calls = new Shares("requests to extension servers", Math.min(limits.passedCallsMax, part));
    this.streams = new Shares("streams from extension servers", Math.min(limits.passedStreamsMax, part));
  }

  /** The one a connection leads to. Throws where its authorities or certificate cannot be used. */
  at(connection: Connection): Backend {
    const { url, authorities, serverName, insecure, address, certificate } = connection;
    const key = [url, address?.host, address?.port, serverName, insecure, certificate, authorities].join("\n");
    let backend = this.#backends.get(key);
    if (backend === undefined) {
      backend = {
        client: new StreamClient(connection),
        calls: new Shares("requests to this extension server", Math.min(limits.passedCallsAtOneMax, this.calls.max)),
      };
      if (this.#backends.size >= limits.backendsMax) this.#drop();
    } else this.#backends.delete(key);
    this.#backends.set(key, backend);
    return backend;
  }

  #drop(): void {
    const [oldest] = this.#backends;
    if (oldest === undefined) return;
    this.#backends.delete(oldest[0]);
    oldest[1].client.retire();
  }

  /** A place for a request to one of them. Returns how to give it back, or what there is no share of. */
  enter({ calls }: Backend, owner: Owner): (() => void) | Shares {
    const leaveOne = calls.take(owner);
    if (leaveOne === undefined) return calls;
    const leaveAll = this.#take(this.calls, owner);
    if (leaveAll === undefined) leaveOne();
    return leaveAll === undefined ? this.calls : both(leaveOne, leaveAll);
  }

  /** The same for a request that lasts. */
  enterLasting(owner: Owner): (() => void) | Shares {
    return this.#take(this.streams, owner) ?? this.streams;
  }

  /** The same for a WebSocket that the front reads: with all that it may hold of it by itself. */
  enterMessages(owner: Owner): (() => void) | Shares {
    const release = this.messages.take(owner, reservedBytes);
    if (release === undefined) return this.messages;
    const leave = this.enterLasting(owner);
    if (!(leave instanceof Shares)) return both(leave, release);
    release();
    return leave;
  }

  /** A share, and a connection. */
  #take(shares: Shares, owner: Owner): (() => void) | undefined {
    const leave = shares.take(owner);
    if (leave === undefined) return undefined;
    const close = this.#lend();
    if (close === undefined) leave();
    return close === undefined ? undefined : both(leave, close);
  }

  /** Takes note of something that lasts. Call what is returned when it is over. */
  lasts(lasting: Lasting): () => void {
    this.#lasting.add(lasting);
    return () => this.#lasting.delete(lasting);
  }

  /** Ends what lasts, the oldest first, at most `perSecond`. */
  async endLasting(perSecond: number): Promise<void> {
    const batch = Math.max(1, Math.floor((perSecond * endingMs) / 1_000));
    while (this.#lasting.size > 0) {
      for (const lasting of [...this.#lasting].slice(0, batch)) {
        this.#lasting.delete(lasting);
        lasting.finish();
      }
      if (this.#lasting.size > 0) await new Promise((resolve) => setTimeout(resolve, endingMs));
    }
  }

  /** Ends everything. */
  close(): void {
    for (const lasting of this.#lasting) lasting.finish();
    this.#lasting.clear();
    for (const { client } of this.#backends.values()) client.retire();
    this.#backends.clear();
  }
}
