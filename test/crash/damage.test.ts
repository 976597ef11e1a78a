import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { systemClock } from "../../src/base/clock.ts";
import { openLmdb } from "../../src/storage/lmdb/store.ts";
import { change } from "../support/changes.ts";
import { digest } from "./flip.ts";

const root = mkdtempSync(join(tmpdir(), "orch-damage-"));
t.teardown(() => rmSync(root, { recursive: true, force: true }));
const program = fileURLToPath(new URL("flip.js", import.meta.url));
const seed = Number(process.env["ORCH_SEED"] ?? Date.now() % 1_000_000);
t.comment(`ORCH_SEED=${seed}`);
t.setTimeout(600_000);

/** A store with small and large records, long keys, deletes, and pages that were used twice. */
async function build(path: string): Promise<string> {
  const store = openLmdb({ path, identity: "orch", clock: systemClock });
  const name = (round: number, i: number): string => `k${round}-${i}-${"x".repeat(10 * i)}`;
  const all = Array.from({ length: 20 }, (_, i) => i);
  for (let round = 0; round < 20; round++) {
    await store.commit(all.map((i) => change("create", name(round, i), 0, "one", round % 4 === 0 ? 5000 : 300)));
  }
  for (let round = 0; round < 10; round++) {
    await store.commit(
      all.map((i) => change(i % 3 === 0 ? "delete" : "update", name(round, i), 20 * round + i + 1, "two", 300)),
    );
  }
  for (let done = false; !done; ) done = await store.compact(500);
  await store.commit([change("create", "last", 0)]);
  await store.close();
  return digest(path);
}

t.test("a flipped bit is found out or does not matter", async (t) => {
  const source = join(root, "whole");
  const wanted = await build(source);
  const verdicts = new Map<string, number>();
  const bad: string[] = [];
  const end = seed + 150;
  for (let next = seed; next < end; ) {
    const args = [program, source, join(root, "work"), wanted, String(next), String(end)];
    const ran = spawnSync(process.execPath, args, { encoding: "latin1" });
    for (const line of ran.stdout.split("\n")) {
      const [, number, text] = /^(\d+) (.*)$/.exec(line) ?? [];
      if (number === undefined) continue;
      next = Number(number) + 1;
      // A wild page number may end the process: nothing wrong is served then either.
      const verdict = text || "died";
      verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
      if (!["harmless", "detected", "died"].includes(verdict)) bad.push(line);
    }
  }
  t.comment(JSON.stringify([...verdicts]));
  t.same(bad, []);
  t.ok((verdicts.get("detected") ?? 0) > 30);
  t.ok((verdicts.get("died") ?? 0) < 10);
});

t.test("a file that was created and not written is created again", async (t) => {
  for (const bytes of [0, 1, 4096, 8192]) {
    const path = join(root, `new-${bytes}`);
    mkdirSync(path);
    writeFileSync(join(path, "data.mdb"), Buffer.alloc(bytes));
    const store = openLmdb({ path, identity: "orch", clock: systemClock });
    t.equal(store.revision, 0, `${bytes} bytes`);
    await store.close();
  }
});

t.test("a truncated, foreign or older file is refused", async (t) => {
  const source = join(root, "source");
  await build(source);
  const bytes = statSync(join(source, "data.mdb")).size;
  const damage: readonly (readonly [name: string, damage: (path: string) => void])[] = [
    ["half of it", (path) => truncateSync(join(path, "data.mdb"), bytes / 2)],
    ["two pages of it", (path) => truncateSync(join(path, "data.mdb"), 8192)],
    ["text", (path) => writeFileSync(join(path, "data.mdb"), "not a database\n".repeat(1000))],
    ["an older state", (path) => writeFileSync(join(path, "revision"), "100000")],
  ];
  for (const [name, apply] of damage) {
    const path = join(root, name.replaceAll(" ", "-"));
    mkdirSync(path);
    copyFileSync(join(source, "data.mdb"), join(path, "data.mdb"));
    apply(path);
    await t.rejects(digest(path), { name: "StoreError", kind: "corrupt" }, name);
  }
});
