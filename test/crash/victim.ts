// The process that is killed: the store loop with writers on it, which note what they ask and are told, and what is
// published, in a file elsewhere. `node victim.js <store> <history> <seed> <compact>`; prints `ready` once it writes.
import { openSync, writeSync } from "node:fs";
import { MessageChannel } from "node:worker_threads";
import { systemClock } from "../../src/base/clock.ts";
import { openLmdb } from "../../src/storage/lmdb/store.ts";
import { PortClient } from "../../src/storage/port.ts";
import { serveStore } from "../../src/storage/serve.ts";
import { type Record, StoreError } from "../../src/storage/store.ts";
import { change, readBody } from "../support/changes.ts";
import { random } from "../support/random.ts";
import type { Line, Op } from "./check.ts";

const [path = "", history = "", seed = "1", compact = "0"] = process.argv.slice(2);
const writers = 16;
const ops: readonly Op[] = ["create", "update", "delete"];
/** Records behind the newest that compaction leaves alone, where it is on. */
const keptRecords = 100;

const file = openSync(history, "a");
const note = (line: Line): void => {
  writeSync(file, `${JSON.stringify(line)}\n`);
};

const store = openLmdb({ path, identity: "orch", clock: systemClock });
/** Mod revision of every key that is there, as far as the writers know. */
const known = new Map<string, number>();
const learn = ({ key, type, revision }: Record): void => {
  if (type === 3) known.delete(key);
  else known.set(key, revision);
};
const after = await store.replay((records) => records.forEach(learn));
const stream = `published-${process.pid}`;
note({ t: "open", stream, from: store.revision });

if (compact === "1") {
  const commit = store.commit.bind(store);
  store.commit = async (changes) => {
    const outcomes = await commit(changes);
    await store.compact(store.revision - keptRecords);
    return outcomes;
  };
}

const loop = await serveStore({
  store,
  after,
  publish: (records) => {
    for (const record of records) {
      const { revision, key, type, body } = record;
      note({ t: "event", stream, op: ops[type - 1] as Op, revision, key, token: readBody(body).value });
    }
  },
});
const { port1, port2 } = new MessageChannel();
loop.add(port2);
const client = new PortClient(port1);

let asks = 0;
const pick = random(Number(seed));

async function step(writer: number): Promise<void> {
  // Keys of one's own, and some that all writers share.
  const name = pick(4) === 0 ? `shared-${pick(6)}` : `own-${writer}-${pick(8)}`;
  const key = `/registry/configmaps/default/${name}`;
  const mod = known.get(key) ?? 0;
  const op: Op = mod === 0 ? "create" : pick(4) === 0 ? "delete" : "update";
  const id = process.pid * 1_000_000 + asks++;
  const token = `${id}`;
  note({ t: "ask", id, op, key, token, expected: mod });
  const padding = pick(10) === 0 ? pick(20_000) : pick(600);
  const outcome = await client.commit(change(op, `default/${name}`, mod, token, padding));
  if ("refused" in outcome) throw new StoreError("unavailable", outcome.message);
  if ("guarded" in outcome) throw new StoreError("corrupt", "A change without a guard was checked for one");
  if ("actual" in outcome) {
    note({ t: "no", id });
    if (outcome.actual === 0) known.delete(key);
    else known.set(key, outcome.actual);
    return;
  }
  note({ t: "ack", id, revision: outcome.revision });
  if (op === "delete") known.delete(key);
  else known.set(key, outcome.revision);
}

async function write(writer: number): Promise<void> {
  for (;;) await step(writer);
}

// Whoever was to kill this process may be gone itself.
setTimeout(() => process.exit(9), 60_000).unref();
console.log("ready");
await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
