// Durable commits through the front's port: closed loop of n clients in this thread, the store loop in a thread of its
// own. `node dist/perf/micro/store.js [seconds] [dir]` prints one JSON line per case, `commit/<clients>x<body bytes>`.
// Expected: 5,000/s at 16 clients with 5 KiB bodies; the disk's flush time decides.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isMainThread, MessageChannel, type MessagePort, parentPort, Worker, workerData } from "node:worker_threads";
import { assert } from "../../src/base/assert.ts";
import { systemClock } from "../../src/base/clock.ts";
import { openLmdb } from "../../src/storage/lmdb/store.ts";
import { PortClient } from "../../src/storage/port.ts";
import { serveStore } from "../../src/storage/serve.ts";
import { type Change, changeTypes } from "../../src/storage/store.ts";

const cases = [
  { clients: 1, bodyBytes: 5120 },
  { clients: 16, bodyBytes: 2048 },
  { clients: 16, bodyBytes: 5120 },
  { clients: 64, bodyBytes: 5120 },
  { clients: 256, bodyBytes: 5120 },
] as const;

interface StoreData {
  readonly path: string;
  readonly port: MessagePort;
}

async function serve({ path, port }: StoreData): Promise<void> {
  const store = openLmdb({ path, identity: "orch", clock: systemClock });
  let batches = 0;
  let changes = 0;
  const loop = await serveStore({
    store,
    after: store.revision,
    publish: () => undefined,
    observe: (batch) => {
      batches++;
      changes += batch.changes;
    },
  });
  loop.add(port);
  const start = process.cpuUsage();
  parentPort?.once("message", () => {
    const { user, system } = process.cpuUsage(start);
    void loop.stop().then(() => {
      parentPort?.postMessage({ batch: changes / batches, cpuUs: (user + system) / changes });
      parentPort?.close();
    });
  });
}

function bodyOf(bytes: number): { body: Buffer; versionAt: number } {
  const head = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"pod","resourceVersion":"`;
  const tail = `"},"spec":{"padding":"`;
  const padding = "p".repeat(bytes - head.length - tail.length - 3);
  return { body: Buffer.from(`${head}${tail}${padding}"}}`), versionAt: head.length };
}

/** Creates, then updates, its own keys until the time is over; notes each latency. */
async function write(
  client: PortClient,
  name: string,
  bodyBytes: number,
  until: number,
  latencies: number[],
): Promise<void> {
  const { body, versionAt } = bodyOf(bodyBytes);
  const prefix = "/registry/pods";
  for (let i = 0; performance.now() < until; i++) {
    const create = { prefix, key: `${prefix}/default/${name}-${i}`, selection: Buffer.alloc(120), body, versionAt };
    let mod = 0;
    for (let round = 0; round < 2; round++) {
      const start = performance.now();
      const type = round === 0 ? changeTypes.create : changeTypes.update;
      const outcome = await client.commit({ ...create, type, expected: mod } satisfies Change);
      assert("revision" in outcome, `Not committed: ${JSON.stringify(outcome)}`);
      mod = outcome.revision;
      latencies.push(performance.now() - start);
    }
  }
}

async function run(dir: string, seconds: number, clients: number, bodyBytes: number): Promise<void> {
  const path = join(dir, `${clients}x${bodyBytes}`);
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker(new URL(import.meta.url), { workerData: { path, port: port2 }, transferList: [port2] });
  const client = new PortClient(port1);
  const latencies: number[] = [];
  const start = performance.now();
  const until = start + seconds * 1000;
  await Promise.all(Array.from({ length: clients }, (_, i) => write(client, `w${i}`, bodyBytes, until, latencies)));
  const took = performance.now() - start;
  const seen = await new Promise<object>((resolve) => {
    worker.once("message", resolve);
    worker.postMessage("stop");
  });
  await new Promise((resolve) => worker.once("exit", resolve));
  latencies.sort((a, b) => a - b);
  const at = (share: number): number =>
    Math.round((latencies[Math.floor(share * latencies.length)] as number) * 100) / 100;
  console.log(
    JSON.stringify({
      case: `commit/${clients}x${bodyBytes}`,
      perSecond: Math.round((latencies.length / took) * 1000),
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      fileBytesPerChange: Math.round(statSync(join(path, "data.mdb")).size / latencies.length),
      ...seen,
    }),
  );
}

if (isMainThread) {
  const seconds = Number(process.argv[2] ?? 3);
  const dir = mkdtempSync(join(process.argv[3] ?? tmpdir(), "orch-perf-"));
  try {
    for (const { clients, bodyBytes } of cases) await run(dir, seconds, clients, bodyBytes);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
} else await serve(workerData as StoreData);
