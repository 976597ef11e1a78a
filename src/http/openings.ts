// How many connections a front has open, and how many of them have not sent a request yet: they may be anyone's.
//
// The uws build does not tell which connection a request came on, nor which one was closed, so nothing here names a
// connection. What is counted by address are the quiet ones, which is enough: a connection that asks is its user's, who
// is bounded by what its requests hold (request/holdings.ts), and beyond a part of the bound answers end theirs, so that
// idle connections do not keep others out.
import { type Owner, Shares } from "../base/shares.ts";
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

  /** `max`: what the process can open for this front (boot/descriptors.ts). */
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

  /** A connection was accepted. False: it is one too many, and to be closed at once, which is told as any other close. */
  opened(remote: string): boolean {
    this.#open += 1;
    const owner = ownerAt(remote);
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
    const { name } = ownerAt(remote);
    const leaves = this.#leave.get(name);
    leaves?.pop()?.();
    if (leaves?.length === 0) this.#leave.delete(name);
  }
}

/** Whom a connection is charged to before its user is known. */
function ownerAt(remote: string): Owner {
  // Nothing is kept for the levels above: who is one of them shows with the first request.
  return { name: networkOf(remote), level: "election" };
}

/** IPv4: the address. IPv6: its first 64 bits, because one machine has all that follow. */
export function networkOf(remote: string): string {
  if (!remote.includes(":")) return remote;
  if (remote.includes(".")) return remote.slice(remote.lastIndexOf(":") + 1);
  const [head = "", tail] = remote.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: tail === undefined ? 0 : 8 - left.length - right.length }, () => "0");
  const groups = [...left, ...zeros, ...right].map((group) => Number.parseInt(group, 16).toString(16));
  // A mapped IPv4 address where it is written in groups, as the uws build does.
  const isMapped = groups.slice(0, 5).every((group) => group === "0") && groups[5] === "ffff";
  return isMapped ? groups.slice(6).join(":") : groups.slice(0, 4).join(":");
}
