// The live line of a run, on standard error: where it is, the rate, the 99th percentile, errors, and when it ends.
import type { Progress } from "./run.ts";
import type { Tick } from "./work.ts";

/** Writes to a terminal what happens; elsewhere one line per round. */
export class LiveLine implements Progress {
  readonly #isTerminal = process.stderr.isTTY === true;
  #label = "";
  #endsAt = 0;
  #errors = 0;
  #second: Tick[] = [];
  #shownAt = 0;

  round(name: string, target: string, round: number, of: number, endsInMs: number): void {
    this.#label = `${name} on ${target}, ${round === 0 ? "warm-up" : `round ${round} of ${of}`}`;
    this.#endsAt = performance.now() + endsInMs;
    if (!this.#isTerminal) process.stderr.write(`perf: ${this.#label}\n`);
  }

  tick(ticks: readonly Tick[]): void {
    this.#second.push(...ticks);
    this.#errors += ticks.reduce((sum, { failures }) => sum + failures, 0);
    if (!this.#isTerminal || performance.now() - this.#shownAt < 900) return;
    this.#shownAt = performance.now();
    const rate = this.#second.reduce((sum, { count }) => sum + count, 0);
    const p99 = Math.max(0, ...this.#second.map(({ p99Ms }) => p99Ms));
    const left = Math.max(0, Math.round((this.#endsAt - performance.now()) / 1000));
    this.#second = [];
    const line = `${this.#label}: ${rate}/s, p99 ${p99.toFixed(1)} ms, ${this.#errors} errors, case ends in ${left} s`;
    process.stderr.write(`\r\x1b[2K${line}`);
  }

  left(why: string): void {
    this.end();
    process.stderr.write(`perf: ${why}\n`);
  }

  /** Clears the line. */
  end(): void {
    if (this.#isTerminal) process.stderr.write("\r\x1b[2K");
  }
}
