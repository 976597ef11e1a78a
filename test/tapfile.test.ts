// The runner of test files: what a file says and how it ends becomes a count that nothing can be missing from.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";

interface Ran {
  readonly count: {
    readonly passed: number;
    readonly failures: readonly string[];
    readonly skipped: ReadonlyMap<string, number>;
  };
  readonly explained: readonly string[];
  readonly errors: string;
}

const { runTapFile } = (await import(new URL("../../scripts/tapfile.mjs", import.meta.url).href)) as {
  runTapFile: (file: string, options: object) => Promise<Ran>;
};

const folder = mkdtempSync(join(tmpdir(), "orch-tapfile-"));
t.teardown(() => rmSync(folder, { recursive: true }));
const tap = import.meta.resolve("tap");

/** Runs a file of this text. */
async function run(text: string, msMax = 60_000): Promise<Ran> {
  const file = join(folder, "it.mjs");
  writeFileSync(file, text);
  return runTapFile(file, { runtime: process.execPath, cwd: folder, env: process.env, msMax });
}

t.test("innermost points are counted, what is skipped is named, and nothing is preloaded", async (t) => {
  const { count } = await run(`
    import t from ${JSON.stringify(tap)};
    t.test("outer", async (t) => {
      t.ok(true, "one");
      await t.test("inner", async (t) => t.ok(true, "two"));
      t.ok(true, "three", { skip: "no such thing here" });
    });
    t.equal(process.env.NODE_OPTIONS ?? "", ${JSON.stringify(process.env["NODE_OPTIONS"] ?? "")}, "four");
  `);
  t.same([count.passed, count.failures], [3, []]);
  t.same([...count.skipped], [["no such thing here", 1]]);
});

t.test("a failure is named by its path, once, and explained", async (t) => {
  const { count, explained } = await run(`
    import t from ${JSON.stringify(tap)};
    t.test("outer", async (t) => { await t.test("inner", async (t) => t.equal(1, 2, "sum")); });
  `);
  t.same([count.passed, count.failures], [0, ["outer > inner > sum"]]);
  t.ok(explained.join("\n").includes("sum"));
});

t.test("a file that does not end as it should has failed", async (t) => {
  const passes = `console.log("TAP version 14\\nok 1 - a");`;
  const cases: readonly [what: string, text: string, failure: RegExp, msMax?: number][] = [
    ["throws", `throw new Error("broken");`, /exit code 1/],
    ["ends early", `${passes} process.exit(0);`, /before its plan/],
    ["lacks points", `${passes} console.log("1..2");`, /1 of 2 planned/],
    ["has another exit code", `${passes} console.log("1..1"); process.exit(3);`, /exit code 3/],
    ["is killed", `${passes} process.kill(process.pid, "SIGKILL");`, /ended by SIGKILL/],
    ["hangs", `${passes} setInterval(() => undefined, 1000);`, /did not end within 2 s/, 2000],
  ];
  for (const [what, text, failure, msMax] of cases) {
    const { count } = await run(text, msMax);
    t.match(count.failures[0] ?? "", failure, what);
    t.equal(count.failures.length, 1);
  }
});

t.test("what a file leaves running ends with it", async (t) => {
  const { count } = await run(`
    import { spawn } from "node:child_process";
    const child = spawn(process.execPath, ["-e", "setInterval(() => undefined, 1000)"], { stdio: "inherit" });
    child.unref();
    console.log("TAP version 14\\nok 1 - a\\n1..1");
  `);
  t.same([count.passed, count.failures], [1, []]);
});
