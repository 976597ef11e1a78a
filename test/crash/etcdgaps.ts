// How long servers acknowledge no change: at all, and after etcd lost its leader.

/** A time without an acknowledged change. */
export interface LeaderGap {
  /** Index of the server. */
  readonly server: number;
  readonly ms: number;
  /** From the loss of the leader to the beginning of this time, ms. */
  readonly afterMs: number;
}

const longestMax = 5;

/** When changes were acknowledged, by server. */
export class Gaps {
  /** How many each server acknowledged. */
  readonly counts: number[];
  /** Longest time in which no server acknowledged one, ms. */
  gapMsMax = 0;
  readonly #now: () => number;
  /** Undefined: the server was not up since, so that what it does not acknowledge has another cause. */
  readonly #lastMs: (number | undefined)[];
  /** Undefined before the first. */
  #anyMs: number | undefined;
  /** When a leader was lost; undefined: none was, or something else has gone wrong since. */
  #lostMs: number | undefined;
  #longest: LeaderGap[] = [];

  constructor(servers: number, now: () => number = () => performance.now()) {
    this.#now = now;
    this.counts = Array.from({ length: servers }, () => 0);
    this.#lastMs = this.counts.map(() => undefined);
  }

  /** The longest times after the loss of a leader, longest first. */
  get leaderGaps(): readonly LeaderGap[] {
    return this.#longest;
  }

  /** A leader is lost now. Where one was lost before, times go on from there. */
  leaderLost(): void {
    this.#lostMs ??= this.#now();
  }

  /** A fault of another kind comes next: what is not acknowledged from now on has another cause. */
  close(): void {
    for (const index of this.#lastMs.keys()) this.#note(index);
    this.#lostMs = undefined;
  }

  /** A server is gone. Until it is back and has acknowledged a change its silence is not the leader's. */
  down(index: number): void {
    this.#note(index);
    this.#lastMs[index] = undefined;
  }

  acknowledged(index: number): void {
    const nowMs = this.#now();
    this.gapMsMax = Math.max(this.gapMsMax, nowMs - (this.#anyMs ?? nowMs));
    this.#note(index);
    this.#lastMs[index] = nowMs;
    this.#anyMs = nowMs;
    this.counts[index] = (this.counts[index] as number) + 1;
  }

  /** The time up to now. */
  #note(server: number): void {
    const lastMs = this.#lastMs[server];
    const lostMs = this.#lostMs;
    if (lastMs === undefined || lostMs === undefined) return;
    const sinceMs = Math.max(lastMs, lostMs);
    const gap = { server, ms: Math.round(this.#now() - sinceMs), afterMs: Math.round(sinceMs - lostMs) };
    if (this.#longest.length === longestMax && gap.ms <= (this.#longest.at(-1)?.ms ?? 0)) return;
    this.#longest = [...this.#longest, gap].toSorted((a, b) => b.ms - a.ms).slice(0, longestMax);
  }
}
