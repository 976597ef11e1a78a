// Compiled code that is kept between starts.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";

const subject = new URL("../../src/boot/v8/compilecache.js", import.meta.url).href;
const loaded = new URL("../../src/base/crc32.js", import.meta.url).href;
const canKeep = Number(process.versions.node.split(".")[0]) >= 22 ? false : "Node 20 keeps no compiled code";

/** Runs this text as a module, with these variables; what it printed. */
function run(text: string, variables: Record<string, string> = {}): string {
  const { NODE_COMPILE_CACHE: _set, ...env } = process.env;
  const args = ["--input-type=module", "-e", text];
  return execFileSync(process.execPath, args, { encoding: "utf8", env: { ...env, ...variables } }).trim();
}

/** How many modules are kept below a directory. */
function kept(directory: string): number {
  return readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;
}

t.test("what a process and its threads load is kept, also when it is killed later", { skip: canKeep }, (t) => {
  const directory = mkdtempSync(join(tmpdir(), "orch-compiled-"));
  t.teardown(() => rmSync(directory, { recursive: true }));
  run(`
    import { Worker } from "node:worker_threads";
    import { useCompileCache } from ${JSON.stringify(subject)};
    useCompileCache(${JSON.stringify(directory)});
    const worker = new Worker("import(" + ${JSON.stringify(JSON.stringify(loaded))} + ")", { eval: true });
    await new Promise((resolve) => worker.on("exit", resolve));
  `);
  t.ok(kept(directory) >= 1, "a thread's module");
  const second = mkdtempSync(join(directory, "second-"));
  const text = `
    import { mock } from "node:test";
    import { useCompileCache, keepCompiled } from ${JSON.stringify(subject)};
    mock.timers.enable({ apis: ["setTimeout"] });
    useCompileCache(${JSON.stringify(second)});
    await import(${JSON.stringify(loaded)});
    keepCompiled();
    mock.timers.tick(3_600_000);
    process.kill(process.pid, "SIGKILL");
  `;
  t.throws(() => run(text));
  t.ok(kept(second) >= 1, "flushed before the end");
  t.end();
});

t.test("a place that is set, and the wish to have none, are respected", (t) => {
  const text = `
    import { useCompileCache } from ${JSON.stringify(subject)};
    useCompileCache("/dev/null/cache");
    console.log(process.env.NODE_COMPILE_CACHE ?? "none");
  `;
  t.equal(run(text), "none", "a place that cannot be written");
  t.equal(run(text, { NODE_DISABLE_COMPILE_CACHE: "1" }), "none");
  const directory = mkdtempSync(join(tmpdir(), "orch-compiled-"));
  t.teardown(() => rmSync(directory, { recursive: true }));
  t.equal(run(text, { NODE_COMPILE_CACHE: directory }), directory);
  t.end();
});
