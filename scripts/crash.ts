// The long crash test of the store: `node dist/scripts/crash.js [kills] [seed]`, 1,000 by default, about four minutes.
// Ends with one line of JSON and, when a promise was broken, with exit code 1 and the store kept for inspection.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Truth } from "../test/crash/check.ts";
import { runCycle } from "../test/crash/cycle.ts";
import { random } from "../test/support/random.ts";

const kills = Number(process.argv[2] ?? 1000);
const seed = Number(process.argv[3] ?? Date.now() % 1_000_000);
const root = mkdtempSync(join(tmpdir(), "orch-crash-"));
const notes = join(root, "notes");
mkdirSync(notes);
const pick = random(seed);
const openMs: number[] = [];
let truth: Truth = { revision: 0, floor: 0, facts: [] };
let acknowledged = 0;
let inDoubt = 0;
let violations = 0;
for (let i = 0; i < kills && violations === 0; i++) {
  // Half of them compact as they go; the others grow until their turn to compact comes.
  const cycle = { store: join(root, "store"), notes, seed: seed + i, compact: i % 8 >= 4, lifeMs: pick(200) };
  const ran = await runCycle(cycle, truth);
  truth = ran.truth;
  acknowledged += ran.result.acknowledged;
  inDoubt += ran.result.inDoubt;
  openMs.push(ran.result.openMs);
  violations += ran.result.violations.length;
  for (const text of ran.result.violations) console.error(`kill ${i}: ${text}`);
  if (i % 100 === 99) console.error(`${i + 1} kills, ${acknowledged} changes acknowledged, revision ${truth.revision}`);
}
openMs.sort((a, b) => a - b);
const openMsMax = Math.round(openMs.at(-1) ?? 0);
console.log(
  JSON.stringify({
    kills: openMs.length,
    seed,
    acknowledged,
    inDoubt,
    violations,
    revision: truth.revision,
    openMsMax,
  }),
);
if (violations > 0) console.error(`The store is kept at ${root}`);
else rmSync(root, { recursive: true, force: true });
process.exitCode = violations > 0 ? 1 : 0;
