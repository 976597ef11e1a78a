import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import t from "tap";

const url = new URL("../../src/base/failpoint.js", import.meta.url);
const program = `
  import { failpoint } from ${JSON.stringify(fileURLToPath(url))};
  for (let i = 1; i <= 5; i++) {
    console.log(i);
    failpoint("here");
    failpoint("there");
  }`;

/** Runs five passages of two failpoints. Returns how far it came and what ended it. */
function run(armed: string | undefined): readonly [passages: number, end: NodeJS.Signals | number | null] {
  const env = { ...process.env, ORCH_FAILPOINT: armed };
  const { stdout, signal, status } = spawnSync(process.execPath, ["--input-type=module", "-e", program], { env });
  return [stdout.toString().trim().split("\n").filter(Boolean).length, signal ?? status];
}

t.test("failpoint() kills the process at the n-th passage of its step", async (t) => {
  t.same(run(undefined), [5, 0]);
  t.same(run(""), [5, 0]);
  t.same(run("here:1"), [1, "SIGKILL"]);
  t.same(run("there:3"), [3, "SIGKILL"]);
  t.same(run("there:6"), [5, 0]);
  t.same(run("elsewhere:1"), [5, 0]);
});

t.test("failpoint() refuses what it does not understand", async (t) => {
  for (const armed of ["here", "here:", "here:0", "here:x", ":1"]) t.same(run(armed), [0, 1], armed);
});
