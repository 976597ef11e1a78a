// What a front whose event loop is late refuses, so that heartbeats, leader election and users who ask little are served
// in time. Seats do not see it: they bound what runs at once, and a turn that is too long has begun with all of it.
//
//   lag of each look ─► smoothed ─► pressure 0..0.95 ─► what owners may cost together ─► one allowance for all owners
//
// The allowance is the level to which the costs of the heaviest owners are cut, so that they add up to what is left
// (max-min fairness): a single user loses first, equal users lose alike, and who stays below loses nothing. Of an owner
// that is cut, lists and watches are refused first. Costs count what is asked, refused or not: they do not move to others
// because requests are refused. All of it is of one front; on the request path there is no clock.
import type { Owner } from "../base/shares.ts";
import { limits } from "../config/limits.ts";

/** A request, as far as it matters. */
export interface Sheddable {
  readonly owner: Owner;
  /** The priority level it runs at; without flow control, the level of its owner among shares. */
  readonly level: string;
  /** It is refused last, and no change or read of one object of its level is: components of the control plane. */
  readonly isLate: boolean;
  /** A list or a new watch. */
  readonly isHeavy: boolean;
  /** What it costs to begin with; one is a read of a small object. */
  readonly cost: number;
}

/** What an owner costs a front. */
interface Account {
  /** Of the last seconds, decaying; requests that were refused count as much as the others on average. */
  cost: number;
  /** Of one request, on average. */
  mean: number;
  /** Part of the cost that is beyond the allowance. */
  excess: number;
  /** What was refused too little so far: at 1 a request is refused. Even, without chance. */
  debt: number;
}

/** What a front's shedding needs. */
interface SheddingOptions {
  /** Smoothed lag above which requests are shed, in milliseconds. */
  readonly limitMs: number;
  /** The monotonic clock, read with each look at the lag. */
  readonly now: () => number;
  /** A request of this level was refused. */
  readonly shed: (level: string) => void;
  /** Shedding begins or ends; the lag is smoothed, and the owner the one that costs most. */
  readonly turned: (begins: boolean, lagMs: number, owner: string) => void;
}

/** Levels whose requests are never shed, besides exempt ones: nodes and leader election. */
const essential: ReadonlySet<string> = new Set(["leader-election", "node-high", "system"]);

/** Components of the control plane. */
const lateLevel = "workload-high";

/** Part of a look's lag in the smoothed one, and how many times the limit one look counts at most. */
const [smoothing, lookLimitsMax] = [0.25, 2];
/** The lag is down again below this part of the limit. */
const downPart = 0.5;
/** What pressure gains and loses with a look: to its end in 19 looks, and back in 38. */
const [rise, fall] = [0.05, 0.025];
/** Part of all costs that is cut at most: users who are light beside a heavy one keep theirs. */
const pressureMax = 0.95;
/** Pressure from which on requests that are late in line are refused, too. */
const latePressure = 0.75;
/** Part of a request in its owner's average. */
const meanPart = 1 / 8;

/** Whether a request at a level may be shed at all. */
export function isSheddable(level: string, isExempt: boolean, owner: Owner): boolean {
  return !isExempt && !essential.has(level) && owner.level !== "masters" && owner.level !== "election";
}

/** Whether it is late in line. */
export function isLate(level: string, owner: Owner): boolean {
  return level === lateLevel || owner.level === "system";
}

/** Shedding of one front. */
export class Shedding {
  readonly #options: SheddingOptions;
  readonly #accounts = new Map<string, Account>();
  readonly #beganMs: number;
  #decayedMs: number;
  #lagMs = 0;
  #pressure = 0;

  constructor(options: SheddingOptions) {
    this.#options = options;
    this.#beganMs = options.now();
    this.#decayedMs = this.#beganMs;
  }

  /** The part of what requests cost that is to be refused. */
  get pressure(): number {
    return this.#pressure;
  }

  /** The smoothed lag, in milliseconds. */
  get lagMs(): number {
    return this.#lagMs;
  }

  /** Owners whose costs are known. */
  get owners(): number {
    return this.#accounts.size;
  }

  /** A look at the event loop: the longest lag since the last one, in milliseconds. */
  looked(lagMs: number): void {
    const { limitMs, now, turned } = this.#options;
    const nowMs = now();
    this.#decay(nowMs);
    // A thread that has just begun compiles what it runs.
    if (nowMs - this.#beganMs < limits.shedGraceMs) return;
    // One long pause, however long, is no lag that lasts.
    this.#lagMs += smoothing * (Math.min(lagMs, lookLimitsMax * limitMs) - this.#lagMs);
    const before = this.#pressure;
    if (this.#lagMs > limitMs) this.#pressure = Math.min(pressureMax, before + rise);
    else if (this.#lagMs < downPart * limitMs) this.#pressure = Math.max(0, before - fall);
    this.#pressure = this.#pressure < fall / 2 ? 0 : this.#pressure;
    if (before > 0 || this.#pressure > 0) this.#allow();
    if (before > 0 !== this.#pressure > 0) turned(before === 0, this.#lagMs, this.#heaviest());
  }

  /** Counts a request that may be shed, and says whether it is. */
  sheds({ owner, level, isLate, isHeavy, cost }: Sheddable): boolean {
    const account = this.#accountOf(owner.name);
    if (!this.#takes(account, isLate, isHeavy)) {
      account.cost += cost;
      account.mean += meanPart * (cost - account.mean);
      return false;
    }
    account.cost += Math.max(cost, account.mean);
    this.#options.shed(level);
    return true;
  }

  /** What a request that was not shed cost besides: the bytes of its answer. */
  served(owner: Owner, bytes: number): void {
    const account = this.#accounts.get(owner.name);
    if (account === undefined) return;
    const cost = bytes / limits.shedBytesPerCost;
    account.cost += cost;
    account.mean += meanPart * cost;
  }

  /** Whether a request of an account is to be refused now. */
  #takes(account: Account, late: boolean, isHeavy: boolean): boolean {
    if (account.excess === 0) return false;
    const part = isHeavy ? Math.min(1, 2 * account.excess) : Math.max(0, 2 * account.excess - 1);
    const lately = isHeavy ? Math.max(0, (this.#pressure - latePressure) / (pressureMax - latePressure)) : 0;
    account.debt += late ? part * lately : part;
    if (account.debt < 1) return false;
    account.debt -= 1;
    return true;
  }

  #accountOf(name: string): Account {
    let account = this.#accounts.get(name);
    if (account === undefined) {
      if (this.#accounts.size >= limits.shedOwnersMax) this.#forget();
      account = { cost: 0, mean: 0, excess: 0, debt: 0 };
      this.#accounts.set(name, account);
    }
    return account;
  }

  /** Forgets the lighter half: who is heavy comes often, and is known again at once. */
  #forget(): void {
    const sorted = [...this.#accounts].sort(([, a], [, b]) => a.cost - b.cost);
    for (const [name] of sorted.slice(0, sorted.length >> 1)) this.#accounts.delete(name);
  }

  /** Costs of long ago count less, and those of nothing are forgotten. */
  #decay(nowMs: number): void {
    const passedMs = nowMs - this.#decayedMs;
    if (passedMs < limits.shedDecayMs) return;
    this.#decayedMs = nowMs;
    const part = Math.exp(-passedMs / limits.shedCostMs);
    for (const [name, account] of this.#accounts) {
      account.cost *= part;
      if (account.cost < limits.shedCostMin) this.#accounts.delete(name);
    }
  }

  /** Finds the allowance, and how much each owner is beyond it. */
  #allow(): void {
    const accounts = [...this.#accounts.values()].sort((a, b) => b.cost - a.cost);
    const all = accounts.reduce((sum, { cost }) => sum + cost, 0);
    const allowance = Math.max(allowanceOf(accounts, this.#pressure * all), alwaysServed(accounts.length));
    for (const account of accounts) {
      account.excess = this.#pressure > 0 && account.cost > allowance ? 1 - allowance / account.cost : 0;
      if (account.excess === 0) account.debt = 0;
    }
  }

  #heaviest(): string {
    let [heaviest, most] = ["", 0];
    for (const [name, { cost }] of this.#accounts) if (cost > most) [heaviest, most] = [name, cost];
    return heaviest;
  }
}

/** What each owner may cost so that `cut` of all is cut off; `accounts`: the heaviest first. */
function allowanceOf(accounts: readonly Account[], cut: number): number {
  let sum = 0;
  for (const [at, { cost }] of accounts.entries()) {
    sum += cost;
    // Cut to the next one's cost, the heaviest lose so much together.
    const next = accounts[at + 1]?.cost ?? 0;
    if (sum - next * (at + 1) >= cut) return (sum - cut) / (at + 1);
  }
  return 0;
}

/** Cost of an owner that is served in any case: also lag that its requests have no part in must not shut it out. */
function alwaysServed(owners: number): number {
  return (limits.shedServedPerSecond * (limits.shedCostMs / 1000)) / Math.max(1, owners);
}
