import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { random } from "../support/random.ts";
import { runControllers } from "./controllers.ts";

const seed = Number(process.env["ORCH_SEED"] ?? Date.now() % 1_000_000);
const kills = Number(process.env["ORCH_KILLS"] ?? 5);
t.comment(`ORCH_SEED=${seed}`);
t.setTimeout(600_000);

t.test("a server killed at any moment ends what its controllers began, once, after the next start", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "orch-crash-controllers-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const { violations, ...figures } = await runControllers(dir, kills, random(seed));
  t.comment(JSON.stringify(figures));
  t.same(violations.slice(0, 20), []);
  t.ok(figures.families > 0);
  t.ok(figures.certificates > 0);
  t.ok(figures.tokens > 0);
});
