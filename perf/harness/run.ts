// Runs a scenario on one server or on several in turn, case by case: a round that does not count, to warm up, then rounds
// that do, of all servers interleaved.
import { messageOf } from "../../src/base/thrown.ts";
import { within } from "../../src/base/within.ts";
import { median } from "./histogram.ts";
import { unlessHalted } from "./interruption.ts";
import { type Figures, type Measured, Subject } from "./measure.ts";
import type { Case, Options, Scenario, Session, Size } from "./scenario.ts";
import { Scope } from "./scope.ts";
import type { Target } from "./target.ts";
import type { Tick } from "./work.ts";

/** Median, least and greatest of a figure over the rounds. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** One case on one server. */
export interface Side {
  readonly target: string;
  readonly rounds: readonly Measured[];
  /** Of the rounds as wholes, and of each kind of requests by its name: `create.p99Ms`. */
  readonly figures: ReadonlyMap<string, Spread>;
}

/** One case on all servers. */
export interface CaseResult {
  readonly name: string;
  readonly size?: Size;
  readonly sides: readonly Side[];
}

/** How often and how long. */
export interface Plan {
  readonly seconds: number;
  readonly warmSeconds: number;
  readonly rounds: number;
}

/** Hears how a run goes on. */
export interface Progress {
  /** A round begins: of which case, on which server; round 0 does not count. */
  round(name: string, target: string, round: number, of: number, endsInMs: number): void;
  tick(ticks: readonly Tick[]): void;
  /** What the run made was not put away: why. */
  left(why: string): void;
}

/** What a run came to. */
export interface Outcome {
  readonly results: readonly CaseResult[];
  /** Why it was ended before its time; undefined: it was not. */
  readonly unfinished: string | undefined;
}

/** How long work that was ended may take to notice, and how long a server may take to delete what a run made. */
const [noticeMsMax, closeMsMax] = [10_000, 120_000];

/**
 * Runs all cases of a scenario on servers that are there. When `signal` is aborted, a process of the load dies or a
 * scenario throws, results so far are returned as not finished; before the first round an error is thrown.
 */
export async function runScenario(
  scenario: Scenario,
  targets: readonly Target[],
  options: Options,
  plan: Plan,
  progress: Progress,
  signal: AbortSignal,
): Promise<Outcome> {
  const run = new Run(targets, plan, progress, signal);
  try {
    await run.all(scenario, options);
    return { results: run.results(), unfinished: undefined };
  } catch (error) {
    await run.halt();
    const results = run.results();
    if (!signal.aborted && results.length === 0) throw error;
    const why = signal.aborted ? (signal.reason as Error) : error;
    return { results, unfinished: messageOf(why) };
  } finally {
    await run.close();
  }
}

class Run {
  readonly #subjects: readonly Subject[];
  readonly #plan: Plan;
  readonly #progress: Progress;
  readonly #signal: AbortSignal;
  readonly #sessions: Session[] = [];
  readonly #begun = performance.now();
  /** Rounds of each case of each server. */
  readonly #measured: { readonly one: Case; readonly sides: readonly Measured[][] }[] = [];
  /** What was begun last. */
  #work: Promise<unknown> = Promise.resolve();

  constructor(targets: readonly Target[], plan: Plan, progress: Progress, signal: AbortSignal) {
    this.#subjects = targets.map((target) => new Subject(target, (ticks) => progress.tick(ticks)));
    this.#plan = plan;
    this.#progress = progress;
    this.#signal = signal;
  }

  async all(scenario: Scenario, options: Options): Promise<void> {
    for (const subject of this.#subjects) {
      this.#sessions.push(await this.#unlessHalted(scenario.open(subject.target, options, subject)));
    }
    for (const [index, one] of this.#sessions[0]?.cases.entries() ?? []) {
      this.#measured.push({ one, sides: this.#subjects.map(() => []) });
      await this.#rounds(index);
    }
  }

  /** Ends the load at once, and keeps what is known of the round that ran. */
  async halt(): Promise<void> {
    for (const [at, subject] of this.#subjects.entries()) {
      const partial = subject.abandon();
      if (partial !== undefined) this.#measured.at(-1)?.sides[at]?.push(partial);
    }
    const work = this.#work.catch(() => undefined);
    await within(work, noticeMsMax);
  }

  /** Puts away what the scenario made, and ends the processes of the load. */
  async close(): Promise<void> {
    const close = async (): Promise<void> => {
      const tell = (error: unknown): void => this.#progress.left(messageOf(error));
      for (const session of this.#sessions) await session.close().catch(tell);
      for (const { target } of this.#subjects) await Scope.closeAll(target).catch(tell);
    };
    if (this.#signal.aborted) await within(close(), closeMsMax);
    else await close();
    for (const subject of this.#subjects) await subject.stop();
  }

  /** Of all cases of which there is anything. */
  results(): CaseResult[] {
    return this.#measured
      .filter(({ sides }) => sides.some((rounds) => rounds.length > 0))
      .map(({ one: { name, size }, sides }) => ({
        name,
        ...(size === undefined ? {} : { size }),
        sides: sides.map((rounds, at) => sideOf(this.#subjects[at]?.target.name ?? "", rounds)),
      }));
  }

  /** All rounds of one case. */
  async #rounds(index: number): Promise<void> {
    const { seconds: each, warmSeconds, rounds } = this.#plan;
    const sides = this.#measured.at(-1)?.sides ?? [];
    // Even and odd rounds in opposite order: what one server leaves behind meets each of them as often.
    for (let round = warmSeconds === 0 ? 1 : 0; round <= rounds; round += 1) {
      const seconds = round === 0 ? warmSeconds : each;
      const order = this.#subjects.map((_, at) => (round % 2 === 0 ? at : this.#subjects.length - 1 - at));
      for (const at of order) {
        const one = this.#sessions[at]?.cases[index];
        const subject = this.#subjects[at];
        if (one === undefined || subject === undefined) throw new Error("Servers have the same cases");
        const left = (rounds - round + 1) * each * this.#subjects.length * 1000;
        await this.#unlessHalted(one.prepare?.(seconds) ?? Promise.resolve());
        this.#progress.round(one.name, subject.target.name, round, rounds, left);
        const result = await this.#unlessHalted(subject.measure(one, seconds, this.#begun));
        // The round that warms up has to be right, too.
        if (round > 0 || result.faults.length > 0) sides[at]?.push(result);
      }
    }
  }

  #unlessHalted<T>(work: Promise<T>): Promise<T> {
    this.#work = work;
    const failed = Promise.race(this.#subjects.map((subject) => subject.failed));
    return unlessHalted(this.#signal, failed, work);
  }
}

function sideOf(target: string, rounds: readonly Measured[]): Side {
  const values = new Map<string, number[]>();
  const add = (prefix: string, figures: Figures): void => {
    for (const [name, value] of Object.entries(figures)) {
      const key = prefix + name;
      const known = values.get(key);
      if (known === undefined) values.set(key, [value]);
      else known.push(value);
    }
  };
  for (const { figures, rows } of rounds.filter(({ isPartial }) => isPartial !== true)) {
    add("", figures);
    for (const row of rows) add(`${row.name}.`, row.figures);
  }
  const figures = new Map<string, Spread>();
  for (const [name, list] of values) {
    figures.set(name, { median: median(list), min: Math.min(...list), max: Math.max(...list) });
  }
  return { target, rounds, figures };
}

/** Why a run counts for nothing; empty: it counts. */
export function faultsIn(results: readonly CaseResult[]): string[] {
  const found = new Set<string>();
  for (const { name, sides } of results) {
    for (const { target, rounds } of sides) {
      for (const { faults } of rounds) for (const fault of faults) found.add(`${name} on ${target}: ${fault}`);
    }
  }
  return [...found];
}
