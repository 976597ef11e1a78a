import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { random } from "../support/random.ts";
import { noOwnStore } from "../support/servers/storage.ts";
import { runServer } from "./server.ts";

const seed = Number(process.env["ORCH_SEED"] ?? Date.now() % 1_000_000);
const kills = Number(process.env["ORCH_KILLS"] ?? 50);
t.comment(`ORCH_SEED=${seed}`);
t.setTimeout(600_000);

const title = "a server killed at any moment under 16 writers and 8 watchers keeps its promises, 50 times";
// What is compared is read from its directory; etcd.test.ts kills servers of an etcd.
t.test(title, { skip: noOwnStore }, async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "orch-crash-server-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const run = await runServer(dir, kills, random(seed));
  const { violations, surprises, ...figures } = run;
  t.comment(JSON.stringify(figures));
  t.same(violations.slice(0, 20), []);
  t.same(surprises.slice(0, 20), []);
  t.ok(run.acknowledged > 20 * kills, `${run.acknowledged} changes were acknowledged`);
  t.ok(run.events > 8 * 20 * kills, `${run.events} events were seen`);
});
