import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { random } from "../support/random.ts";
import type { Truth } from "./check.ts";
import { runCycle } from "./cycle.ts";

const root = mkdtempSync(join(tmpdir(), "orch-crash-"));
t.teardown(() => rmSync(root, { recursive: true, force: true }));
const notes = join(root, "notes");
mkdirSync(notes);
const seed = Number(process.env["ORCH_SEED"] ?? Date.now() % 1_000_000);
t.comment(`ORCH_SEED=${seed}`);
t.setTimeout(600_000);
const empty: Truth = { revision: 0, floor: 0, facts: [] };

t.test("a store killed at any moment under 16 writers keeps its promises, 50 times", async (t) => {
  const pick = random(seed);
  let truth = empty;
  let acknowledged = 0;
  const violations: string[] = [];
  for (let i = 0; i < 50; i++) {
    // Odd cycles compact as they go.
    const cycle = { store: join(root, "killed"), notes, seed: seed + i, compact: i % 2 === 1, lifeMs: 5 + pick(150) };
    const ran = await runCycle(cycle, truth);
    truth = ran.truth;
    acknowledged += ran.result.acknowledged;
    violations.push(...ran.result.violations.map((text) => `cycle ${i}: ${text}`));
  }
  t.same(violations, []);
  t.ok(acknowledged > 500, `${acknowledged} changes were acknowledged`);
});

const failpoints = [
  "journal-made",
  "before-commit",
  "inside-journal",
  "inside-transaction",
  "after-commit",
  "after-publish",
  "inside-compaction",
];
for (const name of failpoints) {
  t.test(`a store killed at ${name} keeps its promises`, async (t) => {
    let truth = empty;
    // A compaction takes the journal to the tree: with one after each commit it never holds more than one.
    for (const compact of name === "inside-compaction" ? [true] : [true, false]) {
      // A process makes one journal.
      for (const n of name === "journal-made" ? [1] : [1, 2, 9]) {
        const cycle = { store: join(root, name), notes, seed: seed + n, compact, failpoint: `${name}:${n}` };
        const ran = await runCycle(cycle, truth);
        truth = ran.truth;
        t.same(ran.result.violations, [], `${name}:${n}, ${compact ? "with" : "without"} compaction`);
      }
    }
  });
}
