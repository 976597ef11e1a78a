// The long crash tests: `node dist/scripts/crash.js store|server|controllers [kills] [seed]`, 1,000 kills by default; four
// minutes for the store alone, half an hour for the server, an hour for what its controllers do.
// `crash.js etcd [minutes] [seed] [fault,...]`: two servers on an etcd of three members, 20 minutes of all faults by default.
// `crash.js restore [times] [seed]`: that etcd goes back to an older snapshot.
// `crash.js move [watches]`: one of two servers is killed under 5,000 watches, which go on at the other one.
// Each run ends with one line of JSON and, when a promise was broken, with exit code 1 and the data kept for inspection.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Truth } from "../test/crash/check.ts";
import { runControllers } from "../test/crash/controllers.ts";
import { runCycle } from "../test/crash/cycle.ts";
import { runEtcd } from "../test/crash/etcd.ts";
import { runMove } from "../test/crash/etcdmove.ts";
import { runRestore } from "../test/crash/etcdrestore.ts";
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

/** Two servers on an etcd, through faults of both. A leader that is lost may hold writes up for five seconds. */
async function breakEtcd(root: string, minutes: number, seed: number): Promise<number> {
  const names = (process.argv[5] ?? "").split(",").filter((name) => name !== "");
  // A short run has short faults.
  const lastsMsMax = minutes < 5 ? 5000 : 29_000;
  const startMs = performance.now();
  const tell = (text: string): void => console.error(`${Math.round((performance.now() - startMs) / 1000)} s: ${text}`);
  const run = {
    dir: join(root, "servers"),
    runMs: minutes * 60_000,
    pick: random(seed),
    faults: names,
    lastsMsMax,
    tell,
  };
  const { violations, surprises, ...figures } = await runEtcd(run);
  for (const text of [...violations.slice(0, 100), ...surprises.slice(0, 100)]) console.error(text);
  const isLate = figures.leaderGapMsMax > leaderGapMsMax;
  if (isLate) console.error(`No server took writes for ${figures.leaderGapMsMax} ms after the loss of a leader`);
  console.log(
    JSON.stringify({ seed, minutes, violations: violations.length, surprises: surprises.length, ...figures }),
  );
  return violations.length + surprises.length + (isLate ? 1 : 0);
}

const leaderGapMsMax = 5000;

/** An etcd that goes back to an older snapshot under two servers, so many times; every other time it is overtaken. */
async function restoreEtcd(root: string, times: number, seed: number): Promise<number> {
  let violations = 0;
  let detectedMsMax = 0;
  let refused = 0;
  for (let time = 0; time < times; time += 1) {
    const ran = await runRestore(join(root, `restore-${time}`), random(seed + time), time % 2 === 1);
    refused += ran.refused;
    violations += ran.violations.length;
    detectedMsMax = Math.max(detectedMsMax, ran.detectedMs);
    for (const text of ran.violations.slice(0, 20)) console.error(`restore ${time}: ${text}`);
  }
  console.log(JSON.stringify({ seed, restores: times, violations, detectedMsMax, refused }));
  return violations;
}

/** Kills one of two servers under so many watches, of which less than one of a hundred may have to begin anew. */
async function moveWatches(root: string, watches: number): Promise<number> {
  const { violations, ...figures } = await runMove(join(root, "servers"), watches);
  for (const text of violations.slice(0, 20)) console.error(text);
  console.log(JSON.stringify({ violations: violations.length, ...figures }));
  return violations.length + (100 * figures.relists >= watches ? 1 : 0);
}

const runs = new Map([
  ["etcd", breakEtcd],
  ["restore", restoreEtcd],
  ["move", moveWatches],
  ["store", killStore],
  ["server", killServer],
  ["controllers", killControllers],
]);
/** Where it is not kills. */
const defaultCounts = new Map([
  ["etcd", 20],
  ["restore", 10],
  ["move", 5000],
]);
const what = process.argv[2] ?? "store";
const run = runs.get(what);
if (run === undefined) throw new Error(`${what} is none of ${[...runs.keys()].join(", ")}`);
const kills = Number(process.argv[3] ?? defaultCounts.get(what) ?? 1000);
const seed = Number(process.argv[4] ?? Date.now() % 1_000_000);
const root = mkdtempSync(join(tmpdir(), "orch-crash-"));
const found = await run(root, kills, seed);
if (found > 0) console.error(`The data is kept at ${root}`);
else rmSync(root, { recursive: true, force: true });
process.exitCode = found > 0 ? 1 : 0;
