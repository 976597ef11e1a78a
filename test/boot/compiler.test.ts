// When V8 optimizes: what is set counts for code that is optimized afterwards.
import { execFileSync, spawnSync } from "node:child_process";
import t from "tap";

const subject = new URL("../../src/boot/v8/compiler.js", import.meta.url).href;
const isMeasured = process.versions.v8.startsWith("12.4.");

/** Whether a function is optimized after so many calls, with the compiler tuned or not. */
function isOptimized(calls: number, isTuned: boolean): boolean {
  const text = `
    import { tuneCompiler } from ${JSON.stringify(subject)};
    ${isTuned ? "tuneCompiler();" : ""}
    const work = new Function("by", "return (by & 3) + (by & 5) + (by & 9);");
    for (let n = 0; n < ${calls}; n += 1) work(n);
    const optimized = 1 << 4;
    console.log((%GetOptimizationStatus(work) & optimized) !== 0);
  `;
  const args = ["--allow-natives-syntax", "--no-use-osr", "--no-concurrent-recompilation", "--input-type=module", "-e"];
  return execFileSync(process.execPath, [...args, text], { encoding: "utf8" }).trim() === "true";
}

t.test("the compiler is tuned where that was measured", { skip: isMeasured ? false : "another V8" }, (t) => {
  t.notOk(isOptimized(2_000, false), "V8 alone begins later");
  t.ok(isOptimized(2_000, true));
  t.notOk(isOptimized(500, true));
  const text = `import { tuneCompiler } from ${JSON.stringify(subject)}; tuneCompiler();`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", text], { encoding: "utf8" });
  t.equal(`${stdout}${stderr}`, "", "V8 knows all that is set");
  t.end();
});
