import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { takeLock } from "../../src/storage/lock.ts";

const root = mkdtempSync(join(tmpdir(), "orch-lock-"));
t.teardown(() => rmSync(root, { recursive: true, force: true }));

t.test("takeLock() refuses a file whose process lives, and takes over any other", async (t) => {
  const path = join(root, "owner");
  const unlock = takeLock(path);
  const mine = readFileSync(path, "latin1");
  t.throws(() => takeLock(path), { name: "StoreError", kind: "locked" });
  unlock();
  // Empty after a power cut, garbage, a process that is gone, one that reuses the id, another boot.
  const dead = [
    "",
    "?",
    "-1",
    "0",
    "999999999 1 2",
    `${process.pid} 1 2`,
    `${mine.slice(0, mine.lastIndexOf(" "))} another-boot`,
  ];
  for (const text of dead) {
    writeFileSync(path, text);
    takeLock(path)();
  }
  t.same(readdirSync(root), []);
});
