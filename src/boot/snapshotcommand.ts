// `snapshot save|status|restore FILE` and `storage check`: what an operator does with a store beside the server.
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { systemClock } from "../base/clock.ts";
import { readState, writeState } from "../storage/lmdb/copy.ts";
import { fileOf, syncDirectory } from "../storage/lmdb/file.ts";
import { openLmdb } from "../storage/lmdb/store.ts";
import { checkSnapshot, readSnapshot, type SnapshotStatus, saveSnapshot } from "../storage/snapshotfile.ts";
import { type Store, StoreError } from "../storage/store.ts";
import { BootFault, reasonOf } from "./fault.ts";

const usage =
  "usage: snapshot save FILE | snapshot status FILE | snapshot restore FILE | storage check   [--data-dir=DIR]";

/** Revisions a server may have given out after a state was saved: at least so many, and so many a millisecond. */
const laterRevisions = 1_000_000_000;
const laterRevisionsPerMs = 100;

/** Runs the command; `words`: the arguments before flags. Returns what is printed. Throws BootFault. */
export async function changeStore(words: readonly string[], dataDir: string): Promise<string> {
  const [topic, verb, file, ...more] = words;
  try {
    if (topic === "storage" && verb === "check" && file === undefined) return await check(dataDir);
    if (topic === "snapshot" && file !== undefined && more.length === 0) {
      if (verb === "save") return await save(file, dataDir);
      if (verb === "status") return told(checkSnapshot(file));
      if (verb === "restore") return await restore(file, dataDir);
    }
  } catch (error) {
    if (error instanceof BootFault) throw error;
    throw new BootFault(`${[topic, verb, file].join(" ").trim()}: ${reasonOf(error)}`, { cause: error });
  }
  throw new BootFault(usage);
}

/** Also beside a running server: its writes go on, and are not in the snapshot. */
async function save(file: string, dataDir: string): Promise<string> {
  if (existsSync(file)) throw new BootFault(`${file} is there already: name another file, or remove it`);
  const state = readState(storeIn(dataDir));
  try {
    return told(saveSnapshot(file, state, systemClock.now()));
  } finally {
    await state.close();
  }
}

/** Into a data directory without a store; what is not whole has another name. */
async function restore(file: string, dataDir: string): Promise<string> {
  const path = join(dataDir, "store");
  if (existsSync(path))
    throw new BootFault(`${dataDir} has a store already: name another --data-dir, or move ${path} away`);
  // Before anything is made.
  const status = checkSnapshot(file);
  const { identity, revision, savedMs } = status;
  const later = laterRevisions + Math.max(0, systemClock.now() - savedMs) * laterRevisionsPerMs;
  const draft = join(dataDir, "store.restoring");
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  rmSync(draft, { recursive: true, force: true });
  const first = revision + later;
  await writeState(draft, { identity, revision: first }, readSnapshot(file));
  renameSync(draft, path);
  syncDirectory(dataDir);
  return `${told(status)}\nrestored to ${path}: its next change is ${first + 1}; start with --identity=${identity} --data-dir=${dataDir}`;
}

/** Reads everything that is stored, and compares the log with the index. */
async function check(dataDir: string): Promise<string> {
  const path = storeIn(dataDir);
  const store = openAny(path);
  let records = 0;
  try {
    const revision = await store.replay((some) => void (records += some.length));
    return `${fileOf(path)}: whole; ${records} records up to revision ${revision}, history above ${store.floor}, ${store.sizeBytes} bytes`;
  } finally {
    await store.close();
  }
}

/** Opens a store of any identity. */
function openAny(path: string): Store {
  const options = { path, clock: systemClock };
  try {
    return openLmdb({ ...options, identity: "orch" });
  } catch (error) {
    if (error instanceof StoreError && error.kind === "identity")
      return openLmdb({ ...options, identity: error.holds });
    throw error;
  }
}

function storeIn(dataDir: string): string {
  const path = join(dataDir, "store");
  if (!existsSync(fileOf(path))) throw new BootFault(`${resolve(dataDir)} has no store: name the server's --data-dir`);
  return path;
}

function told({ identity, revision, savedMs, records, bytes, sum }: SnapshotStatus): string {
  const when = new Date(savedMs).toISOString();
  return `snapshot of ${when}: --identity=${identity}, revision ${revision}, ${records} objects, ${bytes} bytes, sha256 ${sum}`;
}
