// Threads that write and read at once: one writer, two readers from the start and one that comes late.
import { once } from "node:events";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import t from "tap";
import { until } from "./fixture.ts";
import type { TortureData } from "./torture.worker.ts";

const seed = Number(process.env["ORCH_SEED"] ?? 20_261_121);
const records = Number(process.env["ORCH_RECORDS"] ?? 30_000);

// For soaks with many records.
const limitMs = 60_000 + records * 2;
t.setTimeout(limitMs * 2);
const progress = new Int32Array(new SharedArrayBuffer(3 * 4));
const late = 2;

function start(ports: MessagePort[], control?: SharedArrayBuffer, reader = 0): Worker {
  const role = control === undefined ? "writer" : "reader";
  const data: TortureData = { role, seed, records, ports, progress, reader, control };
  return new Worker(new URL("torture.worker.js", import.meta.url), { workerData: data, transferList: ports });
}

async function result(worker: Worker): Promise<{ [name: string]: number }> {
  for (;;) {
    const [message] = await once(worker, "message");
    if (message.done !== undefined) return message.done;
  }
}

t.test(
  "Log shows every thread exactly what was written while segments are recycled",
  { timeout: limitMs * 2 },
  async (t) => {
    t.comment(`ORCH_SEED=${seed} ORCH_RECORDS=${records}`);
    const channels = [new MessageChannel(), new MessageChannel()];
    progress[late] = records;
    const writer = start(channels.map(({ port1 }) => port1));
    const [{ control }] = await once(writer, "message");
    const written = result(writer);
    const readers = channels.map(({ port2 }, reader) => start([port2], control, reader));
    const { port1, port2 } = new MessageChannel();
    await until(() => (progress[0] ?? 0) > records / 2, "the first reader to get half way", limitMs);
    writer.postMessage({ port: port1 }, [port1]);
    readers.push(start([port2], control, late));
    const counts = await Promise.all(readers.map(result));
    const totals = await written;
    for (const [reader, count] of counts.entries()) {
      t.comment(JSON.stringify(count));
      t.ok((count["states"] ?? 0) > 0, "a reader checks states");
      // On a busy machine the late reader may start when all is written.
      if (reader !== late) t.ok((count["news"] ?? 0) > 0, "and hears of news");
    }
    t.comment(JSON.stringify(totals));
    t.ok((totals["floor"] ?? 0) > 0, "segments were retired meanwhile");
    await Promise.all([writer, ...readers].map((worker) => worker.terminate()));
  },
);
