// Damages copies of a stopped store, one byte each, and reads them: `node flip.js <store> <work> <from> <to>` prints
// `<seed> <verdict>` per copy. LMDB may crash on what it reads, so this is a process of its own.
import { createHash } from "node:crypto";
import {
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../src/base/clock.ts";
import { openLmdb } from "../../src/storage/lmdb/store.ts";
import { StoreError } from "../../src/storage/store.ts";
import { random } from "../support/random.ts";

/** A digest of everything a server would learn from a store. Throws StoreError "corrupt". */
export async function digest(path: string): Promise<string> {
  const store = openLmdb({ path, identity: "orch", clock: systemClock });
  try {
    const hash = createHash("sha256").update(`${store.revision} ${store.floor}`);
    await store.replay((records) => {
      for (const { revision, createRevision, previous, type, key, prefix, selection, body, versionAt } of records) {
        hash
          .update(`${revision} ${createRevision} ${previous} ${type} ${key} ${prefix} ${versionAt}`)
          .update(selection)
          .update(body);
      }
    });
    return hash.digest("hex");
  } finally {
    await store.close();
  }
}

/** Flips one bit of one byte: every page of the file is as likely as any other, every byte in it too. */
function flip(file: string, pick: (n: number) => number): void {
  const fd = openSync(file, "r+");
  const at = pick(fstatSync(fd).size);
  const byte = Buffer.alloc(1);
  readSync(fd, byte, 0, 1, at);
  byte[0] = (byte[0] as number) ^ (1 << pick(8));
  writeSync(fd, byte, 0, 1, at);
  closeSync(fd);
}

async function verdict(source: string, work: string, seed: number, wanted: string): Promise<string> {
  mkdirSync(work, { recursive: true });
  copyFileSync(join(source, "data.mdb"), join(work, "data.mdb"));
  if (existsSync(join(source, "revision"))) copyFileSync(join(source, "revision"), join(work, "revision"));
  flip(join(work, "data.mdb"), random(seed));
  try {
    return (await digest(work)) === wanted ? "harmless" : "DIFFERENT";
  } catch (error) {
    return error instanceof StoreError && error.kind === "corrupt" ? "detected" : `THROWN ${String(error)}`;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [source = "", work = "", wanted = "", from = "0", to = "0"] = process.argv.slice(2);
  for (let seed = Number(from); seed < Number(to); seed++) {
    writeSync(1, `${seed} `);
    writeSync(1, `${await verdict(source, join(work, String(seed)), seed, wanted)}\n`);
  }
}
