/** A seeded source of whole numbers from 0 to n - 1 (mulberry32): the same seed gives the same run. */
export function random(seed: number): (n: number) => number {
  let state = seed >>> 0;
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return Math.floor((((value ^ (value >>> 14)) >>> 0) / 0x1_0000_0000) * n);
  };
}

/** Draws of a seeded run. */
export interface Draws {
  /** A whole number from 0 to n - 1. */
  readonly next: (n: number) => number;
  readonly chance: (percent: number) => boolean;
  readonly pick: <T>(of: readonly T[]) => T;
}

/** Draws that are the same for the same seed. */
export function draws(seed: number): Draws {
  const next = random(seed);
  return { next, chance: (percent) => next(100) < percent, pick: <T>(of: readonly T[]) => of[next(of.length)] as T };
}

/** Seed and length of a fuzz run: `ORCH_FUZZ_SEED` and `ORCH_FUZZ_ROUNDS` repeat and lengthen it. */
export function fuzzRun(rounds: number): { seed: number; rounds: number } {
  const { ORCH_FUZZ_SEED = 1, ORCH_FUZZ_ROUNDS = rounds } = process.env;
  return { seed: Number(ORCH_FUZZ_SEED), rounds: Number(ORCH_FUZZ_ROUNDS) };
}

/** CPU of this process so far in milliseconds: what a step takes does not depend on who else runs. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
