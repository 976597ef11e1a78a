// The offline check of a crash run: what clients asked, were told and saw, line by line, against what the store holds
// in the end. The lines are written outside the victim, in the order in which the clients lived them. The names I1 to
// I8 are those of the invariants the project promises: see the comments at each check.

/** One line of a history. `token` is unique per ask and stands in the stored object. */
export type Line =
  | {
      readonly t: "ask";
      readonly id: number;
      readonly op: Op;
      readonly key: string;
      readonly token: string;
      readonly expected: number;
    }
  /** Acknowledged. The answer to a delete may not tell its revision. */
  | { readonly t: "ack"; readonly id: number; readonly revision?: number }
  /** Refused for good: a conflict, a precondition. */
  | { readonly t: "no"; readonly id: number }
  /** A read of one object, or of all when `key` is empty, begins; it must be as new as anything known now. */
  | { readonly t: "look"; readonly id: number; readonly key: string }
  /** Its answer; revision 0: there is none. */
  | { readonly t: "got"; readonly id: number; readonly revision: number; readonly token: string }
  /** A watch begins: every event above `from`. */
  | { readonly t: "open"; readonly stream: string; readonly from: number }
  | {
      readonly t: "event";
      readonly stream: string;
      readonly op: Op;
      readonly revision: number;
      readonly key: string;
      readonly token: string;
    }
  | { readonly t: "bookmark"; readonly stream: string; readonly revision: number }
  /** The list a read of all found, exact at `revision`. */
  | {
      readonly t: "list";
      readonly id: number;
      readonly revision: number;
      readonly items: readonly (readonly [key: string, revision: number, token: string])[];
    };

/** What happens to a key. */
export type Op = "create" | "update" | "delete";

/** A record of the store after the run. */
export interface Fact {
  readonly revision: number;
  readonly op: Op;
  readonly key: string;
  readonly token: string;
  readonly previous: number;
  readonly createRevision: number;
}

/** What the store holds after the run. */
export interface Truth {
  readonly revision: number;
  readonly floor: number;
  /** In revision order. */
  readonly facts: readonly Fact[];
}

type Ask = Extract<Line, { t: "ask" }>;

interface Stream {
  from: number;
  last: number;
}

/** Every violated promise, in words; empty: all of them hold. */
export function check(truth: Truth, lines: Iterable<Line>): string[] {
  const history = new History(truth);
  for (const line of lines) history.take(line);
  return history.finish();
}

class History {
  readonly #truth: Truth;
  readonly #bad: string[] = [];
  readonly #byRevision = new Map<number, Fact>();
  readonly #byToken = new Map<string, Fact>();
  /** Facts per key, in order. */
  readonly #byKey = new Map<string, Fact[]>();
  /** Deletes by key and the revision that was deleted. */
  readonly #deletes = new Map<string, Fact>();
  readonly #asks = new Map<number, Ask>();
  readonly #askAfter = new Map<number, number>();
  readonly #open = new Map<number, Ask>();
  readonly #refused = new Set<number>();
  readonly #deleted = new Map<string, number>();
  readonly #acked: { ask: Ask; revision: number | undefined }[] = [];
  readonly #told = new Map<number, number>();
  /** Newest revision known of each key. */
  readonly #toldOf = new Map<string, number>();
  readonly #looks = new Map<number, { readonly key: string; readonly after: number }>();
  readonly #streams = new Map<string, Stream>();
  #newestTold = 0;

  constructor(truth: Truth) {
    this.#truth = truth;
    let last = 0;
    for (const fact of truth.facts) {
      if (fact.revision <= last) this.#bad.push(`I3: revision ${fact.revision} after ${last} in the store`);
      last = fact.revision;
      this.#byRevision.set(fact.revision, fact);
      // A delete carries the last state and so its token.
      if (fact.op === "delete") this.#deletes.set(`${fact.key} ${fact.previous}`, fact);
      else {
        if (this.#byToken.has(fact.token))
          this.#bad.push(`I8: ${fact.token} was made twice, the second time at ${fact.revision}`);
        this.#byToken.set(fact.token, fact);
      }
      const list = this.#byKey.get(fact.key);
      if (list === undefined) this.#byKey.set(fact.key, [fact]);
      else this.#follow(list, fact);
    }
    if (last > truth.revision) this.#bad.push(`I3: the store is at ${truth.revision} and holds ${last}`);
  }

  take(line: Line): void {
    switch (line.t) {
      case "ask":
        this.#asks.set(line.id, line);
        this.#open.set(line.id, line);
        this.#askAfter.set(line.id, this.#newestTold);
        break;
      case "ack":
        this.#ack(line.id, line.revision);
        break;
      case "no":
        this.#open.delete(line.id);
        this.#refused.add(line.id);
        break;
      case "look":
        this.#looks.set(line.id, {
          key: line.key,
          after: line.key === "" ? this.#newestTold : (this.#toldOf.get(line.key) ?? 0),
        });
        break;
      case "got":
        this.#got(line.id, line.revision, line.token);
        break;
      case "open":
        this.#streams.set(line.stream, { from: line.from, last: line.from });
        break;
      case "event":
        this.#event(line);
        break;
      case "bookmark":
        this.#advance(line.stream, line.revision, "bookmark");
        break;
      case "list":
        this.#list(line);
        break;
    }
  }

  finish(): string[] {
    this.#findDeleted();
    for (const { ask, revision } of this.#acked) this.#present(ask, revision);
    this.#invented();
    return this.#bad;
  }

  /** A key's chain: each record names the one before it, and the create that began it. */
  #follow(list: Fact[], fact: Fact): void {
    const before = list.at(-1) as Fact;
    list.push(fact);
    if (fact.previous !== before.revision)
      this.#bad.push(`I4: ${fact.key} at ${fact.revision} follows ${fact.previous}, not ${before.revision}`);
    if ((fact.op === "create") !== (before.op === "delete"))
      this.#bad.push(`I4: ${fact.op} of ${fact.key} at ${fact.revision} after ${before.op}`);
    const born = fact.op === "create" ? fact.revision : before.createRevision;
    if (fact.createRevision !== born)
      this.#bad.push(`I4: ${fact.key} at ${fact.revision} was created at ${fact.createRevision}, not ${born}`);
  }

  /** I3: a revision is told once, and later asks get later ones, restarts or not. */
  #ack(id: number, revision: number | undefined): void {
    const ask = this.#open.get(id);
    if (ask === undefined) {
      this.#bad.push(`I8: ask ${id} was decided twice or never made`);
      return;
    }
    this.#open.delete(id);
    this.#acked.push({ ask, revision });
    if (revision === undefined) {
      const made = ask.op === "delete" ? this.#deletes.get(`${ask.key} ${ask.expected}`) : undefined;
      if (made !== undefined) this.#tell(ask.key, made.revision);
      return;
    }
    const other = this.#told.get(revision);
    if (other !== undefined) this.#bad.push(`I3: revision ${revision} was given to asks ${other} and ${id}`);
    this.#told.set(revision, id);
    const after = this.#askAfter.get(id) as number;
    if (revision <= after)
      this.#bad.push(`I3: ask ${id} got revision ${revision} though ${after} was known when it began`);
    this.#tell(ask.key, revision);
  }

  #tell(key: string, revision: number): void {
    this.#newestTold = Math.max(this.#newestTold, revision);
    this.#toldOf.set(key, Math.max(this.#toldOf.get(key) ?? 0, revision));
  }

  /** I2 and I5: a read is of a state that stays, and not of one older than what was known when it began. */
  #got(id: number, revision: number, token: string): void {
    const { key, after } = this.#looks.get(id) as { key: string; after: number };
    this.#looks.delete(id);
    if (revision === 0) {
      const facts = this.#byKey.get(key) ?? [];
      const gone = facts.length === 0 || (facts[0] as Fact).op === "create";
      const deleted =
        facts.some((fact) => fact.op === "delete" && fact.revision >= after) || after <= this.#truth.floor;
      if (!deleted && !(after === 0 && gone))
        this.#bad.push(`I5: read ${id} found no ${key} although it was there at ${after}`);
      const known = after > this.#truth.floor;
      const first = known ? facts.find((fact) => fact.op === "delete" && fact.revision >= after) : undefined;
      if (first !== undefined) this.#tell(key, first.revision);
      return;
    }
    this.#tell(key, revision);
    if (revision < after) this.#bad.push(`I5: read ${id} found ${key} at ${revision} though ${after} was known`);
    const fact = this.#byRevision.get(revision);
    if (fact === undefined && revision <= this.#truth.floor) return;
    if (fact?.key !== key || fact.token !== token)
      this.#bad.push(`I2: read ${id} found ${key} at ${revision}, which is gone`);
  }

  /** I1: an acknowledged change is there, or a later one took its place and compaction its record. */
  #present(ask: Ask, revision: number | undefined): void {
    const { floor } = this.#truth;
    const facts = this.#byKey.get(ask.key) ?? [];
    const found = ask.op === "delete" ? this.#deletes.get(`${ask.key} ${ask.expected}`) : this.#byToken.get(ask.token);
    if (found !== undefined) {
      if (revision !== undefined && found.revision !== revision)
        this.#bad.push(`I1: ask ${ask.id} got ${revision} and is stored as ${found.revision}`);
      if (found.op !== ask.op || found.key !== ask.key)
        this.#bad.push(`I1: ask ${ask.id} is stored as ${found.op} of ${found.key}`);
      return;
    }
    if (revision !== undefined && revision > floor) {
      this.#bad.push(`I1: ${ask.op} of ${ask.key}, acknowledged at ${revision}, is gone`);
      return;
    }
    const live = facts.find((fact) => fact.revision <= floor);
    if (live !== undefined && revision !== undefined && live.revision < revision) {
      this.#bad.push(`I1: ${ask.key} is at ${live.revision} although ${revision} was acknowledged`);
    }
    if (live === undefined && ask.op !== "delete" && !this.#mayBeDeleted(ask, revision ?? 0)) {
      this.#bad.push(`I1: ${ask.key}, acknowledged at ${revision}, is gone, and no client deleted it`);
    }
  }

  #mayBeDeleted(ask: Ask, revision: number): boolean {
    return (this.#deleted.get(ask.key) ?? -1) >= revision;
  }

  /** The newest revision of each key that a client deletes, or may have. */
  #findDeleted(): void {
    for (const { id, op, key, expected } of this.#asks.values()) {
      if (op !== "delete" || this.#refused.has(id)) continue;
      this.#deleted.set(key, Math.max(this.#deleted.get(key) ?? 0, expected));
    }
  }

  /** I8: what the store holds was asked for, by asks that were not refused. */
  #invented(): void {
    const byToken = new Map([...this.#asks.values()].map((ask) => [ask.token, ask]));
    for (const fact of this.#truth.facts) {
      if (fact.op === "delete") continue;
      const ask = byToken.get(fact.token);
      if (ask === undefined) this.#bad.push(`I8: no client asked for ${fact.token} at ${fact.revision}`);
      else if (this.#refused.has(ask.id))
        this.#bad.push(`I8: ask ${ask.id} was refused and is stored at ${fact.revision}`);
    }
  }

  /** I2 and I4: what was seen stays, in order, and nothing is left out between two events. */
  #event(line: Extract<Line, { t: "event" }>): void {
    const { stream, revision } = line;
    this.#tell(line.key, revision);
    const state = this.#streams.get(stream);
    if (state !== undefined && revision <= state.last)
      this.#bad.push(`I4: ${stream} saw ${revision} after ${state.last}`);
    this.#advance(stream, revision - 1, "event");
    if (state !== undefined) state.last = revision;
    const fact = this.#byRevision.get(revision);
    if (fact === undefined) {
      if (revision > this.#truth.floor)
        this.#bad.push(`I2: ${stream} saw ${line.op} of ${line.key} at ${revision}, which is gone`);
      return;
    }
    if (fact.key !== line.key || fact.op !== line.op || fact.token !== line.token) {
      this.#bad.push(
        `I2: ${stream} saw ${line.op} of ${line.key} at ${revision}; the store has ${fact.op} of ${fact.key}`,
      );
    }
  }

  /** I4, I6, I7: nothing lies between what a stream saw last and `revision`. */
  #advance(stream: string, revision: number, what: string): void {
    const state = this.#streams.get(stream);
    if (state === undefined) {
      this.#bad.push(`I4: ${stream} was never opened`);
      return;
    }
    for (let r = Math.max(state.last, this.#truth.floor) + 1; r <= revision; r++) {
      if (this.#byRevision.has(r)) this.#bad.push(`I4: ${stream} missed ${r} before the ${what} at ${revision}`);
    }
    state.last = Math.max(state.last, revision);
  }

  /** I5: a list is the state at its revision. */
  #list({ id, revision, items }: Extract<Line, { t: "list" }>): void {
    const { after } = this.#looks.get(id) as { after: number };
    this.#looks.delete(id);
    if (revision < after) this.#bad.push(`I5: list ${id} is of ${revision} though ${after} was known`);
    this.#newestTold = Math.max(this.#newestTold, revision);
    if (revision < this.#truth.floor) return;
    const state = new Map<string, Fact>();
    for (const [key, facts] of this.#byKey) {
      const fact = facts.findLast((one) => one.revision <= revision);
      if (fact !== undefined && fact.op !== "delete") state.set(key, fact);
    }
    if (state.size !== items.length)
      this.#bad.push(`I5: list at ${revision} has ${items.length} items, the store ${state.size}`);
    for (const [key, itemRevision, token] of items) {
      const fact = state.get(key);
      if (fact?.revision !== itemRevision || fact.token !== token)
        this.#bad.push(`I5: list at ${revision} has ${key} at ${itemRevision}, the store at ${fact?.revision}`);
    }
  }
}
