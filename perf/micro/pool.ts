// What a task of the pool costs beyond its work, and what the first one of a front costs.
// `node dist/perf/micro/pool.js` prints one JSON line per case: time, CPU of the process and of this thread alone, per
// task, in microseconds; of a cold start in milliseconds.
import { readFileSync } from "node:fs";
import { openPool } from "../../src/boot/pool.ts";
import { printTask } from "../../src/request/answer/printtask.ts";

const setup = { identity: "kubernetes", runtimeConfig: new Map(), gates: new Set<string>(), release: 23 } as const;
const terms = { owner: { name: "bench", level: "masters" }, msMax: 60_000 } as const;
const input = { format: "pretty", message: "core/v1.ConfigMap", body: Buffer.from('{"data":{"a":"b"}}') } as const;
const tasks = 2_000;
const runs = 7;

/** CPU of this thread alone, milliseconds. */
function threadMs(): number {
  return Number(readFileSync("/proc/thread-self/schedstat", "latin1").split(" ", 1)[0]) / 1e6;
}

function median(values: readonly number[]): number {
  return Math.round((values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0) * 10) / 10;
}

/** Runs `work` several times; medians of what each took, times `factor`. */
async function measure(name: string, factor: number, work: () => Promise<void>): Promise<void> {
  const taken: [number, number, number][] = [];
  for (let run = 0; run < runs; run += 1) {
    const [start, cpu, thread] = [performance.now(), process.cpuUsage(), threadMs()];
    await work();
    const { user, system } = process.cpuUsage(cpu);
    taken.push([performance.now() - start, (user + system) / 1000, threadMs() - thread]);
  }
  const [time, cpu, here] = [0, 1, 2].map((at) => median(taken.map((row) => (row[at] ?? 0) * factor)));
  console.log(JSON.stringify({ case: `pool/${name}`, time, cpu, here }));
}

await measure("cold start, ms", 1, async () => {
  const pool = openPool(setup);
  await pool.run(printTask, input, terms);
  await pool.close();
});

const pool = openPool(setup);
for (const width of [1, 20]) {
  await measure(`${width} at a time, us`, 1000 / tasks, async () => {
    for (let done = 0; done < tasks; done += width) {
      await Promise.all(Array.from({ length: width }, () => pool.run(printTask, input, terms)));
    }
  });
}
await pool.close();
