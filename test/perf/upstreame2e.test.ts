// The script that runs upstream's suite, with programs that only wait: when it is ended, so is all that it started.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { treeOf } from "../../perf/harness/processes.ts";
import { eventually } from "../support/server.ts";

const script = fileURLToPath(new URL("../../../scripts/upstream-e2e.mjs", import.meta.url));

t.test("upstream-e2e.mjs ends what it started when it gets SIGTERM, and leaves no folder", async (t) => {
  const dir = t.testdir();
  const folder = join(dir, "tmp");
  mkdirSync(folder);
  const waits = join(dir, "waits");
  // As some of upstream's programs do, it does not end by SIGTERM.
  writeFileSync(waits, "#!/bin/sh\ntrap '' TERM\nwhile true; do sleep 1; done\n");
  chmodSync(waits, 0o755);
  const programs = ["controller-manager", "scheduler", "e2e-test"].map((name) => `--${name}=${waits}`);
  const child = spawn(process.execPath, [script, ...programs, "--controllers-of=orch", "--no-build"], {
    env: { ...process.env, TMPDIR: folder },
  });
  t.teardown(() => child.kill("SIGKILL"));
  let out = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (out += chunk.toString()));
  const closed = once(child, "exit");
  const runs = (): boolean => readdirSync(folder).some((name) => existsSync(join(folder, name, "e2e.log")));
  t.ok(await eventually(runs, 300_000), `it runs its programs: ${out}`);
  const started = treeOf([child.pid ?? 0]);
  t.ok(started.length >= 5, `it started a server and three programs: ${started}`);
  child.kill("SIGTERM");
  t.equal((await closed)[0], 143, out);
  t.same(readdirSync(folder), [], "no folder is left");
  t.ok(await eventually(() => started.every((pid) => !existsSync(`/proc/${pid}`))), "no process is left");
});
