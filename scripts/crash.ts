// The long crash tests: `node dist/scripts/crash.js store|server|controllers [kills] [seed]`, 1,000 kills by default; four
// minutes for the store alone, half an hour for the server, an hour for what its controllers do. Ends with one line of JSON and, when a promise was broken, with
// exit code 1 and the data kept for inspection.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Truth } from "../test/crash/check.ts";
import { runControllers } from "../test/crash/controllers.ts";
import { runCycle } from "../test/crash/cycle.ts";
import { runServer } from "../test/crash/server.ts";
import { random } from "../test/support/random.ts";

/** Kills the store's process; half of the time it compacts as it goes. */
async function killStore(root: string, kills: number, seed: number): Promise<number> {
  const notes = join(root, "notes");
  mkdirSync(notes);
  const pick = random(seed);
  let truth: Truth = { revision: 0, floor: 0, facts: [] };
  let acknowledged = 0;
  let inDoubt = 0;
  let violations = 0;
  let openMsMax = 0;
  let done = 0;
  for (; done < kills && violations === 0; done++) {
    const cycle = { store: join(root, "store"), notes, seed: seed + done, compact: done % 8 >= 4, lifeMs: pick(200) };
    const ran = await runCycle(cycle, truth);
    truth = ran.truth;
    acknowledged += ran.result.acknowledged;
    inDoubt += ran.result.inDoubt;
    openMsMax = Math.max(openMsMax, ran.result.openMs);
    violations += ran.result.violations.length;
    for (const text of ran.result.violations) console.error(`kill ${done}: ${text}`);
    if (done % 100 === 99) console.error(`${done + 1} kills, ${acknowledged} changes acknowledged`);
  }
  const { revision } = truth;
  console.log(JSON.stringify({ kills: done, seed, acknowledged, inDoubt, violations, revision, openMsMax }));
  return violations;
}

/** Kills the whole server under its clients. */
async function killServer(root: string, kills: number, seed: number): Promise<number> {
  const { violations, surprises, ...figures } = await runServer(root, kills, random(seed));
  for (const text of [...violations, ...surprises]) console.error(text);
  console.log(JSON.stringify({ seed, violations: violations.length, surprises: surprises.length, ...figures }));
  return violations.length + surprises.length;
}

/** Kills it while its controllers work. */
async function killControllers(root: string, kills: number, seed: number): Promise<number> {
  const { violations, ...figures } = await runControllers(root, kills, random(seed));
  for (const text of violations) console.error(text);
  console.log(JSON.stringify({ seed, violations: violations.length, ...figures }));
  return violations.length;
}

const runs = new Map([
  ["store", killStore],
  ["server", killServer],
  ["controllers", killControllers],
]);
const what = process.argv[2] ?? "store";
const run = runs.get(what);
if (run === undefined) throw new Error(`${what} is none of ${[...runs.keys()].join(", ")}`);
const kills = Number(process.argv[3] ?? 1000);
const seed = Number(process.argv[4] ?? Date.now() % 1_000_000);
const root = mkdtempSync(join(tmpdir(), "orch-crash-"));
const found = await run(root, kills, seed);
if (found > 0) console.error(`The data is kept at ${root}`);
else rmSync(root, { recursive: true, force: true });
process.exitCode = found > 0 ? 1 : 0;
