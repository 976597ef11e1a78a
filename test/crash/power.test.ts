import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { random } from "../support/random.ts";
import type { Truth } from "./check.ts";
import { runCycle } from "./cycle.ts";
import { CutDisk, whyNoPowerCut } from "./power.ts";

const seed = Number(process.env["ORCH_SEED"] ?? Date.now() % 1_000_000);
t.comment(`ORCH_SEED=${seed}`);
t.setTimeout(600_000);
const why = whyNoPowerCut();

if (why !== undefined) {
  t.comment(`POWER CUT NOT TESTED: ${why}`);
  t.ok(true, `the power cut needs root and a loop device: ${why}`);
} else {
  const root = mkdtempSync(join(tmpdir(), "orch-power-"));
  const notes = join(root, "notes");
  mkdirSync(notes);
  const disk = new CutDisk(root, 512 * 1024 * 1024);
  t.teardown(() => {
    disk.dispose();
    rmSync(root, { recursive: true, force: true });
  });

  t.test("cut() loses what was not synced: the test can fail", async (t) => {
    const file = join(disk.path, "unsynced");
    writeFileSync(file, "gone");
    await disk.cut();
    disk.restore();
    t.throws(() => readFileSync(file), { code: "ENOENT" });
  });

  t.test("a store whose disk loses power under 16 writers keeps its promises", async (t) => {
    const pick = random(seed);
    let truth: Truth = { revision: 0, floor: 0, facts: [] };
    for (let i = 0; i < 5; i++) {
      const ran = await runCycle(
        {
          store: join(disk.path, "store"),
          notes,
          seed: seed + i,
          compact: i % 2 === 1,
          lifeMs: pick(300),
          cut: () => disk.cut(),
          between: () => disk.restore(),
        },
        truth,
      );
      truth = ran.truth;
      t.same(ran.result.violations, [], `cut ${i}`);
      t.ok(ran.result.acknowledged > 0, `${ran.result.acknowledged} changes were acknowledged before cut ${i}`);
    }
  });
}
