// The long power-cut tests: `node dist/scripts/powercut.js store|fresh|server [cuts] [seed]`, 100 cuts by default; root
// only. `store` goes on with one store, `fresh` cuts the very beginning of new ones, `server` cuts the whole server's
// disk. Ends with one line of JSON and, when a promise was broken, with exit code 1.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Truth } from "../test/crash/check.ts";
import { runCycle } from "../test/crash/cycle.ts";
import { CutDisk, whyNoPowerCut } from "../test/crash/power.ts";
import { runServer } from "../test/crash/server.ts";
import { random } from "../test/support/random.ts";

const empty: Truth = { revision: 0, floor: 0, facts: [] };

/** Cuts the power of a store's disk; `fresh`: of a new one each time, while it is being made. */
async function cutStore(disk: CutDisk, notes: string, cuts: number, seed: number, fresh: boolean): Promise<number> {
  const pick = random(seed);
  let truth = empty;
  let acknowledged = 0;
  let inDoubt = 0;
  let violations = 0;
  let done = 0;
  for (; done < cuts && violations === 0; done++) {
    const store = join(disk.path, fresh ? `store-${done}` : "store");
    const ran = await runCycle(
      {
        store,
        notes,
        seed: seed + done,
        compact: done % 8 >= 4,
        lifeMs: pick(fresh ? 150 : 400),
        early: fresh,
        cut: () => disk.cut(),
        between: () => disk.restore(),
      },
      truth,
    );
    truth = fresh ? empty : ran.truth;
    acknowledged += ran.result.acknowledged;
    inDoubt += ran.result.inDoubt;
    violations += ran.result.violations.length;
    for (const text of ran.result.violations) console.error(`cut ${done}: ${text}`);
    if (done % 10 === 9) console.error(`${done + 1} cuts, ${acknowledged} changes acknowledged`);
    if (fresh) rmSync(store, { recursive: true, force: true });
  }
  console.log(JSON.stringify({ cuts: done, seed, acknowledged, inDoubt, violations, revision: truth.revision }));
  return violations;
}

/** Cuts the power of the server's disk under its clients. */
async function cutServer(disk: CutDisk, cuts: number, seed: number): Promise<number> {
  const blow = { cut: () => disk.cut(), between: () => disk.restore() };
  const { violations, surprises, ...figures } = await runServer(join(disk.path, "data"), cuts, random(seed), blow);
  for (const text of [...violations, ...surprises]) console.error(text);
  console.log(JSON.stringify({ seed, violations: violations.length, surprises: surprises.length, ...figures }));
  return violations.length + surprises.length;
}

const what = process.argv[2] ?? "store";
const cuts = Number(process.argv[3] ?? 100);
const seed = Number(process.argv[4] ?? Date.now() % 1_000_000);
const why = whyNoPowerCut();
if (why !== undefined) {
  console.error(`The power cannot be cut here: ${why}`);
  process.exit(1);
}
const root = mkdtempSync(join(tmpdir(), "orch-power-"));
const notes = join(root, "notes");
mkdirSync(notes);
const disk = new CutDisk(root, 2 * 1024 * 1024 * 1024);
try {
  const found =
    what === "server" ? await cutServer(disk, cuts, seed) : await cutStore(disk, notes, cuts, seed, what === "fresh");
  process.exitCode = found > 0 ? 1 : 0;
} finally {
  disk.dispose();
  rmSync(root, { recursive: true, force: true });
}
