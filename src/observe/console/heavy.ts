// The heaviest clients of a front: a sketch of bounded size, whoever comes ("space-saving", Metwally et al. 2005). A
// client that is not counted takes the place of the lightest one and its count, so that a heavy one is never missed; how
// much of a count may be another's is kept beside it. Counts are of the last half to whole minute or so: who was heavy an
// hour ago is not shown for that.

/** A client's share. */
export interface HeavyClient {
  readonly user: string;
  readonly count: number;
}

interface Entry {
  count: number;
  /** How much of it may be another client's. */
  excess: number;
}

/** Clients that are counted at once. */
const clientsMax = 64;
/** Time of one generation; two are shown. */
const generationMs = 30_000;
/** Characters of a name that are kept: names of users come from certificates and tokens. */
const nameCharsMax = 128;

/** A sketch over one generation. */
class Sketch {
  readonly entries = new Map<string, Entry>();

  add(user: string, amount: number): void {
    const known = this.entries.get(user);
    if (known !== undefined) {
      known.count += amount;
      return;
    }
    if (this.entries.size < clientsMax) {
      this.entries.set(user, { count: amount, excess: 0 });
      return;
    }
    let lightest = "";
    let least = Number.POSITIVE_INFINITY;
    for (const [name, { count }] of this.entries) {
      if (count >= least) continue;
      least = count;
      lightest = name;
    }
    this.entries.delete(lightest);
    this.entries.set(user, { count: least + amount, excess: least });
  }
}

/** What clients used of one thing, lately. */
export class HeavyClients {
  readonly #now: () => number;
  #current = new Sketch();
  #before = new Sketch();
  #beganMs: number;
  #beforeMs = 0;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
    this.#beganMs = now();
  }

  /** A client used so much more. */
  add(user: string, amount = 1): void {
    this.#turn();
    this.#current.add(user.length > nameCharsMax ? user.slice(0, nameCharsMax) : user, amount);
  }

  /** The heaviest, first; `seconds`: of how long the counts are. What is certainly a client's own is counted. */
  top(max: number): { readonly seconds: number; readonly clients: readonly HeavyClient[] } {
    this.#turn();
    const counts = new Map<string, number>();
    for (const { entries } of [this.#before, this.#current])
      for (const [user, { count, excess }] of entries) counts.set(user, (counts.get(user) ?? 0) + count - excess);
    const clients = [...counts].map(([user, count]) => ({ user, count })).sort((a, b) => b.count - a.count);
    const seconds = (this.#now() - this.#beganMs + this.#beforeMs) / 1000;
    return { seconds: Math.max(seconds, 0.001), clients: clients.slice(0, max) };
  }

  #turn(): void {
    const now = this.#now();
    const passedMs = now - this.#beganMs;
    if (passedMs < generationMs) return;
    // After a pause what is there is as old as the pause.
    this.#before = passedMs < 2 * generationMs ? this.#current : new Sketch();
    this.#beforeMs = passedMs < 2 * generationMs ? passedMs : 0;
    this.#current = new Sketch();
    this.#beganMs = now;
  }
}
