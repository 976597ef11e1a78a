// `npm run fuzz -- [minutes]`: the suites of test/fuzz again and again, each time with another seed, until the time is
// over or one fails; ten minutes unless told. Prints what repeats a failure.
import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { build, install, root } from "./install.mjs";
import { testRuntime } from "./runtime.mjs";

install();
build();
const runtime = testRuntime();
const minutes = Number(process.argv[2] ?? 10);
const end = Date.now() + minutes * 60_000;
const suites = readdirSync(join(root, "dist", "test", "fuzz")).filter((name) => name.endsWith(".test.js"));
let runs = 0;
do {
  for (const suite of suites) {
    const seed = String(randomInt(1, 2 ** 31));
    const file = join("dist", "test", "fuzz", suite);
    const { status, stdout } = spawnSync(runtime, [join(root, file)], {
      cwd: root,
      env: { ...process.env, TAP_TIMEOUT: "600", ORCH_FUZZ_SEED: seed, ORCH_SEED: seed },
      encoding: "utf8",
      maxBuffer: 256 * 1024 * 1024,
    });
    runs += 1;
    if (status === 0) continue;
    console.log(
      stdout
        .split("\n")
        .filter((line) => !/^ *ok /.test(line))
        .join("\n"),
    );
    console.log(`fuzz: failed; ORCH_FUZZ_SEED=${seed} ORCH_SEED=${seed} node ${file} repeats it`);
    process.exit(1);
  }
  console.log(`fuzz: ${runs} runs of ${suites.length} suites, no fault`);
} while (Date.now() < end);
