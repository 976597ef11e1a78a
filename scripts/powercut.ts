// The long power-cut test of the store: `node dist/scripts/powercut.js [cuts] [seed]`, 100 by default; root only.
// Ends with one line of JSON and, when a promise was broken, with exit code 1.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Truth } from "../test/crash/check.ts";
import { runCycle } from "../test/crash/cycle.ts";
import { CutDisk, whyNoPowerCut } from "../test/crash/power.ts";
import { random } from "../test/support/random.ts";

const cuts = Number(process.argv[2] ?? 100);
const seed = Number(process.argv[3] ?? Date.now() % 1_000_000);
const why = whyNoPowerCut();
if (why !== undefined) {
  console.error(`The power cannot be cut here: ${why}`);
  process.exit(1);
}
const root = mkdtempSync(join(tmpdir(), "orch-power-"));
const notes = join(root, "notes");
mkdirSync(notes);
const disk = new CutDisk(root, 2 * 1024 * 1024 * 1024);
const pick = random(seed);
let truth: Truth = { revision: 0, floor: 0, facts: [] };
let acknowledged = 0;
let inDoubt = 0;
let violations = 0;
let done = 0;
try {
  for (; done < cuts && violations === 0; done++) {
    const ran = await runCycle(
      {
        store: join(disk.path, "store"),
        notes,
        seed: seed + done,
        compact: done % 8 >= 4,
        lifeMs: pick(400),
        cut: () => disk.cut(),
        between: () => disk.restore(),
      },
      truth,
    );
    truth = ran.truth;
    acknowledged += ran.result.acknowledged;
    inDoubt += ran.result.inDoubt;
    violations += ran.result.violations.length;
    for (const text of ran.result.violations) console.error(`cut ${done}: ${text}`);
    if (done % 10 === 9) console.error(`${done + 1} cuts, ${acknowledged} changes acknowledged`);
  }
} finally {
  disk.dispose();
  rmSync(root, { recursive: true, force: true });
}
console.log(JSON.stringify({ cuts: done, seed, acknowledged, inDoubt, violations, revision: truth.revision }));
process.exitCode = violations > 0 ? 1 : 0;
