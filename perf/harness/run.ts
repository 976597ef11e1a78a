// Runs a scenario on one server or on several in turn, case by case: a round that does not count, to warm up, then rounds
// that do, of all servers interleaved.
import { median } from "./histogram.ts";
import { type Figures, type Measured, Subject } from "./measure.ts";
import type { Options, Scenario, Session } from "./scenario.ts";
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
}

/** Runs all cases of a scenario on servers that are there. */
export async function runScenario(
  scenario: Scenario,
  targets: readonly Target[],
  options: Options,
  plan: Plan,
  progress: Progress,
): Promise<readonly CaseResult[]> {
  const subjects = targets.map((target) => new Subject(target, (ticks) => progress.tick(ticks)));
  const sessions: Session[] = [];
  const begun = performance.now();
  try {
    for (const subject of subjects) sessions.push(await scenario.open(subject.target, options, subject));
    const results: CaseResult[] = [];
    const names = sessions[0]?.cases.map(({ name }) => name) ?? [];
    for (const [index, name] of names.entries()) {
      const measured: Measured[][] = subjects.map(() => []);
      // Even and odd rounds in opposite order: what one server leaves behind meets each of them as often.
      for (let round = 0; round <= plan.rounds; round += 1) {
        if (round === 0 && plan.warmSeconds === 0) continue;
        const seconds = round === 0 ? plan.warmSeconds : plan.seconds;
        const order = subjects.map((_, at) => (round % 2 === 0 ? at : subjects.length - 1 - at));
        for (const at of order) {
          const one = sessions[at]?.cases[index];
          const subject = subjects[at];
          if (one === undefined || subject === undefined) throw new Error("Servers have the same cases");
          const left = (plan.rounds - round + 1) * plan.seconds * subjects.length * 1000;
          await one.prepare?.(seconds);
          progress.round(name, subject.target.name, round, plan.rounds, left);
          const result = await subject.measure(one, seconds, begun);
          // The round that warms up has to be right, too.
          if (round > 0 || result.faults.length > 0) measured[at]?.push(result);
        }
      }
      results.push({ name, sides: measured.map((rounds, at) => sideOf(subjects[at]?.target.name ?? "", rounds)) });
    }
    return results;
  } finally {
    for (const session of sessions) await session.close().catch(() => undefined);
    for (const subject of subjects) await subject.stop();
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
  for (const { figures, rows } of rounds) {
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
