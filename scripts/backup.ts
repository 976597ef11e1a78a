// Backups and keys under load: `node dist/scripts/backup.js [--per-second=1200] [--saves=10] [embedded|etcd|trip|keys|etcd-keys...]`.
// `embedded`, `etcd`: a server's store is saved again and again while it is written to, and each save is restored and
// compared, object by object, with what a watcher saw at its revision.
// `trip`: all objects go from an embedded store into an etcd and back.
// `keys`, `etcd-keys`: the key of encryption at rest is exchanged while secrets are written, on one server with an embedded
// store, and on two on an etcd.
// Each ends with one line of JSON and, where something was lost, refused or differed, with exit code 1.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { rotate } from "../test/backup/rotation.ts";
import { roundTrip } from "../test/backup/roundtrip.ts";
import { savesOfEmbedded, savesOfEtcd } from "../test/backup/saves.ts";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { "per-second": { type: "string", default: "1200" }, saves: { type: "string", default: "10" } },
});
const perSecond = Number(values["per-second"]);
const saves = Number(values.saves);
/** Objects of a way there and back. */
const objects = 3000;

const runs = new Map<string, (dir: string) => Promise<{ readonly faults: readonly string[] }>>([
  ["embedded", (dir) => savesOfEmbedded({ dir, perSecond, saves })],
  ["etcd", (dir) => savesOfEtcd({ dir, perSecond, saves })],
  ["trip", (dir) => roundTrip(dir, objects)],
  ["keys", (dir) => rotate(dir, perSecond, false)],
  ["etcd-keys", (dir) => rotate(dir, perSecond, true)],
]);
const root = mkdtempSync(join(tmpdir(), "orch-backup-"));
for (const name of positionals.length > 0 ? positionals : runs.keys()) {
  const run = runs.get(name);
  if (run === undefined) throw new Error(`${name} is none of ${[...runs.keys()].join(", ")}`);
  const dir = join(root, name);
  mkdirSync(dir);
  const { faults, ...figures } = await run(dir);
  for (const text of faults.slice(0, 50)) console.error(`${name}: ${text}`);
  console.log(JSON.stringify({ run: name, faults: faults.length, ...figures }));
  if (faults.length > 0) process.exitCode = 1;
}
rmSync(root, { recursive: true, force: true });
