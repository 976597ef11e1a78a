// What a scenario is: it prepares a server, and runs its cases on it as often as it is asked. How often, in which order,
// on how many servers and what that costs is up to run.ts.
import type { Histogram } from "./histogram.ts";
import type { LoadProcess } from "./loadprocess.ts";
import type { Target } from "./target.ts";

/** What a case is measured at: so many of something. */
export interface Size {
  readonly of: string;
  readonly count: number;
}

/** A cost that is looked at over sizes. */
export interface LineSpec {
  /** Its name in thresholds: `list-cpu.growth<1.5`. */
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  /** Cases of sizes of this belong to it. */
  readonly of: string;
  /** The figure of a case. */
  readonly figure: string;
  /** The figure is that of all units of the size together. */
  readonly isTotal: boolean;
  /** Growth above this ends the run with the exit code of thresholds, unless it is given one. */
  readonly growthMax: number;
}

/** A flag of a scenario: its default, as text, and one line about it. */
export type FlagTable = Readonly<Record<string, readonly [fallback: string, help: string]>>;

/** Values of a scenario's flags, and of those all scenarios have. */
export class Options {
  readonly #values: ReadonlyMap<string, string>;

  constructor(values: ReadonlyMap<string, string>) {
    this.#values = values;
  }

  text(name: string): string {
    return this.#values.get(name) ?? "";
  }

  /** Throws where it is no number of at least `least`. */
  number(name: string, least = 0): number {
    const value = Number(this.text(name));
    if (this.text(name).trim() !== "" && value >= least) return value;
    throw new Error(`--${name}=${this.text(name)}: expected a number of at least ${least}`);
  }

  /** Values between commas. */
  list(name: string): string[] {
    return this.text(name)
      .split(",")
      .filter((value) => value !== "");
  }

  isSet(name: string): boolean {
    return this.text(name) === "true";
  }
}

/** What requests of one kind, or events, came to in one round. */
export interface Row {
  readonly name: string;
  readonly count: number;
  readonly seconds: number;
  readonly bytes: number;
  readonly failures: Readonly<Record<string, number>>;
  readonly latency: Histogram;
  readonly firstByte?: Histogram;
  /** From the first to the last watcher of a change. */
  readonly skew?: Histogram;
  /** What caused the work that is measured, and is not divided by: the changes of a fan-out. */
  readonly isCause?: boolean;
  /** Further figures; units end the names. */
  readonly figures?: Readonly<Record<string, number>>;
}

/** One run of one case. */
export interface Round {
  readonly rows: readonly Row[];
  /** Why it counts for nothing; empty: it counts. */
  readonly faults: readonly string[];
}

/** A part of a scenario that is measured by itself. */
export interface Case {
  readonly name: string;
  /** What it is measured at, where other cases measure the same at other sizes. */
  readonly size?: Size;
  /** What has to be there before a round, and is not measured. */
  prepare?(seconds: number): Promise<void>;
  run(seconds: number): Promise<Round>;
}

/** A scenario on one server. */
export interface Session {
  readonly cases: readonly Case[];
  /** Puts away what it made on a server that goes on. */
  close(): Promise<void>;
}

/** Where the processes of a load come from; they end with the run. */
export interface LoadSource {
  start(): Promise<LoadProcess>;
}

/** A workload. */
export interface Scenario {
  readonly name: string;
  /** One line. */
  readonly summary: string;
  /** A paragraph: what is sent, what is checked, and what voids a run. */
  readonly detail: string;
  readonly flags: FlagTable;
  /** Command lines that run. */
  readonly examples: readonly string[];
  /** Seconds of a round where `--duration` says nothing. */
  readonly seconds?: number;
  /** Costs that are looked at over the sizes of its cases. */
  readonly lines?: readonly LineSpec[];
  open(target: Target, options: Options, load: LoadSource): Promise<Session>;
}
