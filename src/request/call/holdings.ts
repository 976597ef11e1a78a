// What requests hold of a front, each thing with a bound in limits.ts and divided among users (base/shares.ts). A front
// divides what it has by itself: a user's connections are spread over all fronts, and the parts add up.
import type { Status } from "../../api/status.ts";
import { type Owner, Shares } from "../../base/shares.ts";
import { limits } from "../../config/limits.ts";
import type { FlowSeat } from "../../flowcontrol/flowseat.ts";
import type { RequestKind } from "../../observe/requests.ts";
import { exceeded } from "../exchange/exceeded.ts";
import { WatchBounds } from "../watch/watchbounds.ts";

/** What requests of one front share. */
export interface Bounds {
  /** Requests that have no seat yet: their users are being found out, they are being authorized, or their bodies read. */
  readonly arrivals: Shares;
  /** Bytes of request bodies, from when they are read until the request was answered. */
  readonly bodyBytes: Shares;
  readonly watches: WatchBounds;
  /** Bytes of answers that are kept for peers: a chunk for each list under way, and what is left of whole answers. */
  readonly unread: Shares;
  /** Bytes of lists of the store's past, until they were answered. */
  readonly past: Shares;
}

/** Bounds that differ from those of limits.ts. `connections`: how many the front may have open. */
type BoundOptions = Partial<
  Record<"connections" | "arrivals" | "bodyBytes" | "unread", number> & Pick<Bounds, "watches">
>;

/** The bounds of limits.ts, as far as there are connections for them; a test may have others. */
export function createBounds({
  connections = limits.connectionsMax,
  arrivals = Math.min(limits.arrivalsMax, Math.floor(limits.arrivingPart * connections)),
  bodyBytes = limits.arrivingBytesMax,
  watches = new WatchBounds(Math.min(limits.watchersMax, Math.floor(limits.watchingPart * connections))),
  unread = limits.unreadBytesMax,
}: BoundOptions = {}): Bounds {
  return {
    arrivals: new Shares("requests being authorized or received", arrivals),
    bodyBytes: new Shares("bytes of request bodies", bodyBytes),
    watches,
    unread: new Shares("bytes of answers that are not read", unread),
    past: new Shares("bytes of lists of the past", limits.pastBytesMax),
  };
}

const nothing = (): void => undefined;

/**
 * The seats of one front, by kind of request: how many requests it serves at once (upstream's max-requests-inflight),
 * divided among users. Watches take none and administrators need none. Beyond its share a user is refused at once instead
 * of making all requests slow.
 */
export class Inflight {
  /** Requests that only read. */
  readonly readOnly: Shares;
  readonly mutating: Shares;

  /** Most requests of each kind at once; 0 is no limit. */
  constructor(readOnlyMax: number, mutatingMax: number) {
    this.readOnly = new Shares("reading requests", readOnlyMax || Number.POSITIVE_INFINITY);
    this.mutating = new Shares("changing requests", mutatingMax || Number.POSITIVE_INFINITY);
  }

  /** Takes a seat for a request. Returns how to give it back; undefined: its owner gets no further one now. */
  enter(kind: RequestKind, owner: Owner): (() => void) | undefined {
    if (kind === "long" || owner.level === "masters") return nothing;
    return this[kind].take(owner);
  }
}

/** What one request holds. All of it is given back at once, however the request ends. */
export class Holdings {
  readonly owner: Owner;
  readonly #bounds: Bounds;
  readonly #inflight: Inflight;
  readonly #kind: RequestKind;
  readonly #leave: (() => void)[] = [];
  #arrival: (() => void) | undefined;
  #entered = false;
  /** Undefined: the request takes no part in flow control. */
  #seat: FlowSeat | undefined;

  constructor(bounds: Bounds, inflight: Inflight, kind: RequestKind, owner: Owner) {
    this.#bounds = bounds;
    this.#inflight = inflight;
    this.#kind = kind;
    this.owner = owner;
  }

  /** Counts the request among those that have no seat yet; a 429 Status when its user has too many of them. */
  arrive(): Status | undefined {
    const { arrivals } = this.#bounds;
    this.#arrival = arrivals.take(this.owner);
    return this.#arrival === undefined ? exceeded(arrivals, this.owner) : undefined;
  }

  /** Holds `bytes` for the request's body; a 429 Status when its user holds too many. */
  receive(bytes: number): Status | undefined {
    const { bodyBytes } = this.#bounds;
    const leave = bodyBytes.take(this.owner, bytes);
    if (leave === undefined) return exceeded(bodyBytes, this.owner);
    this.#leave.push(leave);
    return undefined;
  }

  /**
   * Takes the seats of flow control, at once or when they are free; false: the request is rejected. Until enter() it counts
   * among the arrivals, too. `onGone` is given what is to be called when the client goes away meanwhile.
   */
  sit(seat: FlowSeat, onGone: (cancel: () => void) => void): boolean | Promise<boolean> {
    this.#seat = seat;
    this.#leave.push(() => seat.release());
    return seat.take(onGone);
  }

  /** Its seats are free for others while its body is awaited; enter() takes them again. */
  lendSeats(): void {
    this.#seat?.pause();
  }

  /**
   * The request begins, once: with the seats of flow control, or else one of its own, which it takes here. False: its user
   * has no share of those that are free, or it is rejected.
   */
  enter(onGone: (cancel: () => void) => void): boolean | Promise<boolean> {
    if (this.#entered) return true;
    const seated = this.#seat?.take(onGone);
    if (seated instanceof Promise) return seated.then((isSeated) => isSeated && this.#begin());
    if (seated !== undefined) return seated && this.#begin();
    const leave = this.#inflight.enter(this.#kind, this.owner);
    if (leave === undefined) return false;
    this.#leave.push(leave);
    return this.#begin();
  }

  #begin(): true {
    this.#entered = true;
    this.#arrival?.();
    return true;
  }

  /** Holds a place elsewhere instead of a seat, until the request ends: it waits for another server. */
  leaveTo(leave: () => void): void {
    this.#leave.push(leave);
    this.#begin();
    this.#seat?.release();
  }

  /** Holds the memory of a list until the request ends; a 429 Status when its user's answers are not read. */
  sendList(): Status | undefined {
    const leave = this.take(limits.listHeldBytes);
    if (leave === undefined) return exceeded(this.#bounds.unread, this.owner);
    this.#leave.push(leave);
    return undefined;
  }

  /** Holds bytes of a list of the past until the request ends; a 429 Status when its user's lists hold too many. */
  keepPast(bytes: number): Status | undefined {
    const { past } = this.#bounds;
    const leave = past.take(this.owner, bytes);
    if (leave === undefined) return exceeded(past, this.owner);
    this.#leave.push(leave);
    return undefined;
  }

  /** As a Payer: may outlive the request. */
  take(bytes: number): (() => void) | undefined {
    return this.#bounds.unread.take(this.owner, bytes);
  }

  /** Gives everything back. */
  release(): void {
    this.#arrival?.();
    for (const leave of this.#leave.splice(0)) leave();
  }
}
