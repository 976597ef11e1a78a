// How many connections a front has open, and how many of them have not sent a request yet: they may be anyone's.
//
// The uws build identifies neither the connection of a request nor the one that was closed, so nothing here names a
// connection. Only quiet connections are counted by address, which is enough: a connection with a request belongs to
// its user, who is bounded by the resources of its requests (request/call/holdings.ts), and beyond a part of the bound
// responses end theirs, so that idle connections do not keep others out.
import { networkOf, ownerAt } from "../base/network.ts";
import { Shares } from "../base/shares.ts";
import { limits } from "../config/limits.ts";

/** The connections of one front. */
export class Openings {
  /** All of them. */
  readonly max: number;
  /** Those without a request yet, by address. */
  readonly quiet: Shares;
  readonly #leave = new Map<string, (() => void)[]>();
  #open = 0;
  #refused = 0;

  /** `max`: connections the process can open for this front (boot/descriptors.ts). */
  constructor(max: number = limits.connectionsMax) {
    this.max = max;
    const quietMax = Math.min(limits.quietConnectionsMax, Math.ceil(max * limits.quietPart));
    this.quiet = new Shares("connections without a request", quietMax);
  }

  /** Open now. */
  get open(): number {
    return this.#open;
  }

  /** Closed at once, because there were too many. */
  get refused(): number {
    return this.#refused;
  }

  /** Answers are to end their connections: a part of them is kept for those that come. */
  get crowded(): boolean {
    return this.#open > this.max * limits.crowdedPart;
  }

  /**
   * A connection was accepted. False: it is one too many, and to be closed at once, which is reported as any other
   * close.
   */
  opened(remote: string): boolean {
    this.#open += 1;
    // Nothing is reserved for higher levels: the level of a user is known with the first request.
    const owner = ownerAt(remote, "election");
    const leave = this.#open > this.max ? undefined : this.quiet.take(owner);
    if (leave === undefined) {
      this.#refused += 1;
      return false;
    }
    const leaves = this.#leave.get(owner.name);
    if (leaves === undefined) this.#leave.set(owner.name, [leave]);
    else leaves.push(leave);
    return true;
  }

  /**
   * A connection to another server is opened for a request of one of these: it takes a descriptor as they do. Returns what
   * to call when it is closed; undefined: there are as many as there may be.
   */
  lend(): (() => void) | undefined {
    if (this.#open >= this.max) return undefined;
    this.#open += 1;
    return () => this.closed();
  }

  /** A connection is closed, one that was refused too. */
  closed(): void {
    this.#open -= 1;
  }

  /**
   * A connection of this address is quiet no more: it sent a request, or was closed before. Where a front cannot tell the
   * first request of a connection it may say so at each one: then fewer are counted than there are, never more.
   */
  heard(remote: string): void {
    if (this.quiet.used === 0) return;
    const name = networkOf(remote);
    const leaves = this.#leave.get(name);
    leaves?.pop()?.();
    if (leaves?.length === 0) this.#leave.delete(name);
  }
}
