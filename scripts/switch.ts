// `node dist/scripts/switch.js FOLDER [--seed=n] [--writes=n] [--switches=n] [--verbose]
// [--snapshots=FOLDER] [-- FLAG...]`: starts this server
// on the etcd of upstream's kube-apiserver v1.23 and goes back again, with random writes in between; everything that is
// listed and stored is compared after each switch. FOLDER (or ORCH_UPSTREAM) has upstream's program, `kube-apiserver` or
// `old-apiserver`, in it or in its `bin`. Flags behind `--` are for this server. Some ten minutes. Ends with a line of JSON
// and, when anything differs, with exit code 1.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { noEtcdctl } from "../test/support/etcd/binary.ts";
import { runSwitches } from "../test/switch/run.ts";
import { findUpstream } from "../test/switch/sides.ts";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string" },
    writes: { type: "string", default: "1000" },
    switches: { type: "string", default: "3" },
    verbose: { type: "boolean", default: false },
    snapshots: { type: "string", default: "../shared/snapshots" },
  },
});
const folder = positionals[0] ?? process.env["ORCH_UPSTREAM"];
const upstream = folder === undefined ? undefined : findUpstream(folder);
const { snapshots } = values;
const missing =
  upstream === undefined
    ? `there is no kube-apiserver v1.23 in ${folder ?? "the folder that was not given"}`
    : existsSync(join(snapshots, "reference-1.23.etcd.db"))
      ? noEtcdctl
      : `there is no snapshot of its store in ${snapshots}`;
if (missing !== false || upstream === undefined) {
  console.log(`switch: not run: ${missing}`);
  process.exit(folder === undefined ? 0 : 2);
}
const result = await runSwitches({
  snapshots,
  upstream,
  seed: Number(values.seed ?? Date.now() % 1_000_000),
  writes: Number(values.writes),
  switches: Number(values.switches),
  verbose: values.verbose,
  flags: positionals.slice(1),
});
console.log(JSON.stringify(result));
process.exit(result.differences.length > 0 ? 1 : 0);
