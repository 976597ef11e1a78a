// `node dist/scripts/idle.js [count]`: what the controllers cost a server on which nothing happens: CPU of a minute with
// 100,000 dependents of living owners (or `count`), with the controllers that run by default, and with one alone.
// Ends with a line of JSON for each; they are to be compared. CPU counts on a machine that does nothing else alone; how
// often threads woke up is the same on any machine.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer, type TestServer } from "../test/support/server.ts";

const count = Number(process.argv[2] ?? 100_000);
if (!Number.isSafeInteger(count) || count < 1) throw new Error(`${process.argv[2]} is no number of dependents`);
const maps = "/api/v1/namespaces/default/configmaps";
const minuteMs = 60_000;
const ownersMax = 100;

/** Creates owners, and dependents of them. */
async function fill(server: TestServer): Promise<void> {
  const owners: object[] = [];
  for (let owner = 0; owner < Math.min(ownersMax, count); owner++) {
    const { json } = await server.call("POST", maps, { metadata: { name: `owner-${owner}` } });
    owners.push({ apiVersion: "v1", kind: "ConfigMap", name: `owner-${owner}`, uid: json.metadata.uid });
  }
  let next = 0;
  const create = async (): Promise<void> => {
    while (next < count) {
      const metadata = { name: `dependent-${next}`, ownerReferences: [owners[next++ % owners.length]] };
      const { code, text } = await server.call("POST", maps, { metadata, data: { a: "b" } });
      if (code !== 201) throw new Error(text);
    }
  };
  await Promise.all(Array.from({ length: 16 }, create));
}

/** CPU milliseconds of a process so far, all threads. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  // utime and stime, in hundredths of a second.
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** How often the threads of a process went to sleep so far, and so woke up. */
function sleeps(pid: number): number {
  let sum = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const status = readFileSync(`/proc/${pid}/task/${thread}/status`, "utf8");
    sum += Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1]);
  }
  return sum;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const home = mkdtempSync(join(tmpdir(), "orch-idle-"));
try {
  const filled = await startServer([], home);
  await fill(filled);
  await filled.stop("SIGTERM", false);
  for (const controllers of ["*", "tokencleaner", "*", "tokencleaner"]) {
    const server = await startServer([`--controllers=${controllers}`], home, { plain: true });
    // Whatever a start makes them do is done.
    await pause(minuteMs / 2);
    const pid = server.process.pid ?? 0;
    const before = { cpuMs: cpuMs(pid), sleeps: sleeps(pid) };
    await pause(minuteMs);
    const spent = { cpuMs: cpuMs(pid) - before.cpuMs, sleeps: sleeps(pid) - before.sleeps };
    console.log(JSON.stringify({ controllers, count, ...spent }));
    await server.stop("SIGTERM", false);
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
