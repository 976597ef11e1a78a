// Something limited that requests of many users hold parts of: seats, bytes, places in a queue. No user can hold all of
// it, and there is no list of users to configure: a user may hold at most twice as much as is left free ("dynamic
// thresholds", Choudhury and Hahne 1998). One user alone gets two thirds, two get two fifths each, n users get
// 2 / (2n + 1) each, and a share stays free for the next user to come. Held shares are never revoked.

import { Tally } from "./tally.ts";

/** The part of a shared bound an owner of a level may fill; the rest is reserved for the levels after it. */
export const shareLevels = {
  /** Users: a quarter is kept for the levels below. */
  ordinary: 0.75,
  /** Nodes and the control plane's own components. */
  system: 0.9375,
  /** Leader election of these components. */
  election: 1,
  /** Administrators: without a share of their own, all that is free. */
  masters: Number.POSITIVE_INFINITY,
} as const;

/** The name of a level. */
export type ShareLevel = keyof typeof shareLevels;

/** The account that a holding is charged to. */
export interface Owner {
  readonly name: string;
  readonly level: ShareLevel;
}

/** How much one owner may hold, as a multiple of the free amount. */
const factor = 2;

const nothing = (): void => undefined;

/** One limited thing, and how much of it each owner holds. */
export class Shares {
  /** Its name in messages: "request bodies being read". */
  readonly what: string;
  /** All owners together; Infinity: no bound. */
  readonly max: number;
  readonly #held = new Tally();
  #used = 0;

  constructor(what: string, max: number) {
    this.what = what;
    this.max = max;
  }

  /** Held by all owners. */
  get used(): number {
    return this.#used;
  }

  /** Owners that hold something. */
  get owners(): number {
    return this.#held.size;
  }

  /** Held by one owner. */
  heldBy(name: string): number {
    return this.#held.of(name);
  }

  /** The owners that hold most, first, at most `max`. */
  top(max: number): readonly { readonly user: string; readonly count: number }[] {
    const held = Array.from(this.#held, ([user, count]) => ({ user, count }));
    return held.sort((a, b) => b.count - a.count).slice(0, max);
  }

  /** Whether take() would succeed. */
  has({ name, level }: Owner, amount = 1): boolean {
    const part = shareLevels[level];
    // Rounded up: a bound of one is one for every level.
    const free = Math.ceil(this.max * Math.min(1, part)) - this.#used;
    if (amount > free) return false;
    return part > 1 || this.heldBy(name) + amount <= Math.max(1, factor * free);
  }

  /** Charges `amount` to an owner. Returns how to give it back, which does so once; undefined: its share is used up. */
  take(owner: Owner, amount = 1): (() => void) | undefined {
    if (this.max === Number.POSITIVE_INFINITY) return nothing;
    return this.has(owner, amount) ? this.charge(owner, amount) : undefined;
  }

  /**
   * The same for items that cannot be rejected any more, also beyond the share: the owner gets nothing further
   * meanwhile.
   */
  charge({ name }: Owner, amount = 1): () => void {
    this.#used += amount;
    this.#held.add(name, amount);
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.#used -= amount;
      this.#held.add(name, -amount);
    };
  }
}

/** A place in `places` and `size` of `sizes` at once, for one thing that waits. As Shares.take(). */
export function takeBoth(places: Shares, sizes: Shares, owner: Owner, size: number): (() => void) | undefined {
  if (!sizes.has(owner, size)) return undefined;
  const leavePlace = places.take(owner);
  if (leavePlace === undefined) return undefined;
  const leaveSize = sizes.charge(owner, size);
  return () => {
    leavePlace();
    leaveSize();
  };
}
