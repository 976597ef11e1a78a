// Durable creates and single reads end to end: TLS, the server in a process of its own, clients in this one.
// CPU per operation is the server's whole CPU over the operations that were answered as they should.
// Expected on two cores: 0.3-0.5 ms per create of a 5 KiB pod (1,500 and more a second at 16 clients, where the client
// takes the other core), 40-60 us per GET.
import { assert } from "../../src/base/assert.ts";
import { startServer, type TestServer } from "../../test/support/server.ts";
import { podText } from "../corpus/pod.ts";
import { record, round } from "../results.ts";
import { Histogram } from "./histogram.ts";
import { cpuUs, residentBytes } from "./process.ts";
import { RestClient } from "./rest.ts";

const pods = "/api/v1/namespaces/default/pods";
const clients = 16;
const seconds = 8;
/** Brings what is stored to 5 KiB; a fresh pod has no status yet. */
const padding = 1700;

/** What a run of one operation cost. */
interface Run {
  readonly count: number;
  readonly seconds: number;
  readonly cpuUs: number;
  readonly latencies: Histogram;
}

/** Runs `operation` from `clients` closed loops for some seconds, after one second that does not count. */
async function run(
  server: TestServer,
  operation: (client: RestClient, n: number) => Promise<number>,
  wanted: number,
): Promise<Run> {
  const pid = server.process.pid ?? 0;
  const rest = Array.from({ length: clients }, () => new RestClient(server));
  let next = 0;
  const loop = async (client: RestClient, until: number, latencies: Histogram): Promise<number> => {
    let done = 0;
    while (performance.now() < until) {
      const begun = performance.now();
      const code = await operation(client, next++);
      assert(code === wanted, `Answered ${code}, not ${wanted}`);
      latencies.add((performance.now() - begun) * 1000);
      done++;
    }
    return done;
  };
  const warm = performance.now() + 1000;
  await Promise.all(rest.map((client) => loop(client, warm, new Histogram())));
  const latencies = new Histogram();
  const cpu = cpuUs(pid);
  const start = performance.now();
  const counts = await Promise.all(rest.map((client) => loop(client, start + seconds * 1000, latencies)));
  const took = (performance.now() - start) / 1000;
  const used = cpuUs(pid) - cpu;
  for (const client of rest) client.close();
  return { count: counts.reduce((a, b) => a + b, 0), seconds: took, cpuUs: used, latencies };
}

function report(
  name: string,
  { count, seconds: took, cpuUs: used, latencies }: Run,
  more: Record<string, number> = {},
): void {
  record(`write/${name}`, {
    perSecond: Math.round(count / took),
    cpuUsPerOperation: round(used / count, 1),
    p50Ms: latencies.at(0.5),
    p99Ms: latencies.at(0.99),
    ...more,
  });
}

/** The body of a create: the corpus' pod without what the server sets, under a name of its own. */
function bodyOf(n: number): string {
  const pod = JSON.parse(podText(n, padding)) as { metadata: Record<string, unknown>; status?: unknown };
  pod.metadata = { name: `p${n}`, labels: pod.metadata["labels"], annotations: pod.metadata["annotations"] };
  delete pod.status;
  return JSON.stringify(pod);
}

/** `npm run perf -- write`: create, get and merge patch of pods. */
export async function write(_only: readonly string[], args: readonly string[]): Promise<void> {
  const server = await startServer(["--identity=kubernetes", ...args]);
  try {
    const bodies = Array.from({ length: 40_000 }, (_, n) => bodyOf(n));
    const created = await run(server, (client, n) => client.send("POST", pods, bodies[n] ?? bodyOf(n)), 201);
    const stored = (await server.call("GET", `${pods}/p0`)).text.length;
    const residentMib = Math.round(residentBytes(server.process.pid ?? 0) / 1024 / 1024);
    report("create pod, durable, 16 clients", created, {
      bodyBytes: bodies[0]?.length ?? 0,
      storedBytes: stored,
      residentMib,
    });
    const known = Math.min(created.count, 5000);
    report("get pod", await run(server, (client, n) => client.send("GET", `${pods}/p${n % known}`), 200));
    const patched = await run(
      server,
      (client, n) =>
        client.send(
          "PATCH",
          `${pods}/p${n % known}`,
          `{"metadata":{"labels":{"n":"${n}"}}}`,
          "application/merge-patch+json",
        ),
      200,
    );
    report("merge patch of a pod, durable, 16 clients", patched);
  } finally {
    await server.stop();
  }
}
