// Durable creates and single reads end to end: TLS, the server in a process of its own, clients in this one.
// CPU per operation is the server's whole CPU over the operations that were answered as they should. The figures to
// reach are of pods with a spec of 2 KiB, of which 5 KiB are stored; larger ones follow. Expected on two cores: 0.3-0.5 ms
// per create (1,500 and more a second at 16 clients, where the client takes the other core), 30-60 us per GET, 0.6 ms
// per merge patch, 1.2 ms per apply.
import { assert } from "../../src/base/assert.ts";
import { startServer, type TestServer } from "../../test/support/server.ts";
import { largePodBody, podAccount, podBody } from "../corpus/pod.ts";
import { record, round } from "../results.ts";
import { makeAccount } from "./account.ts";
import { Histogram } from "./histogram.ts";
import { cpuUs, residentBytes } from "./process.ts";
import { RestClient } from "./rest.ts";

const pods = "/api/v1/namespaces/default/pods";
const clients = 16;
const seconds = 8;
/** Every front compiles for itself what it runs, on the same cores: what runs before each case and does not count. */
const warmSeconds = 8;
/** Objects that gets, patches and repeated applies go around in. */
const knownMax = 5000;

/** What a run of one operation cost. */
interface Run {
  readonly count: number;
  readonly seconds: number;
  readonly cpuUs: number;
  readonly latencies: Histogram;
}

/** Runs `operation` from `clients` closed loops for some seconds, after some that do not count. */
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
  const warm = performance.now() + warmSeconds * 1000;
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

/** A size of pods: the begin of their names, and what creates number `n` of them. */
interface Corpus {
  readonly prefix: string;
  readonly body: (n: number, name: string) => string;
}

/** `npm run perf -- write`: create, get, merge patch and apply of pods of which 5 KiB are stored, and of 9 KiB. */
export async function write(_only: readonly string[], args: readonly string[]): Promise<void> {
  const server = await startServer(["--identity=kubernetes", ...args]);
  try {
    await makeAccount(server, podAccount);
    await operations(server, "pod", { prefix: "p", body: podBody });
    await operations(server, "pod of 9 KiB", { prefix: "l", body: largePodBody });
  } finally {
    await server.stop();
  }
}

async function operations(server: TestServer, what: string, { prefix, body }: Corpus): Promise<void> {
  const bodies = Array.from({ length: 20_000 }, (_, n) => body(n, `${prefix}${n}`));
  const bodyAt = (n: number): string => bodies[n] ?? body(n, `${prefix}${n}`);
  const created = await run(server, (client, n) => client.send("POST", pods, bodyAt(n)), 201);
  const stored = (await server.call("GET", `${pods}/${prefix}0`)).text.length;
  const residentMib = Math.round(residentBytes(server.process.pid ?? 0) / 1024 / 1024);
  report(`create ${what}, durable, 16 clients`, created, {
    bodyBytes: bodies[0]?.length ?? 0,
    storedBytes: stored,
    residentMib,
  });
  const known = Math.min(created.count, knownMax);
  const pathAt = (n: number): string => `${pods}/${prefix}${n % known}`;
  report(`get ${what}`, await run(server, (client, n) => client.send("GET", pathAt(n)), 200));
  const label = (n: number): string => `{"metadata":{"labels":{"n":"${n}"}}}`;
  const merge = "application/merge-patch+json";
  const patched = await run(server, (client, n) => client.send("PATCH", pathAt(n), label(n), merge), 200);
  report(`merge patch of a ${what}, durable, 16 clients`, patched);
  await applies(server, what, { prefix: `${prefix}a`, body });
}

/** Applies that create, and applies of the same configurations with one label changed. */
async function applies(server: TestServer, what: string, { prefix, body }: Corpus): Promise<void> {
  const bodies = Array.from({ length: 20_000 }, (_, n) => body(n, `${prefix}${n}`));
  const apply = (client: RestClient, n: number, text: string): Promise<number> =>
    client.send("PATCH", `${pods}/${prefix}${n}?fieldManager=applier`, text, "application/apply-patch+yaml");
  const created = await run(server, (client, n) => apply(client, n, bodies[n] ?? body(n, `${prefix}${n}`)), 201);
  report(`apply of a new ${what}, durable, 16 clients`, created);
  const known = Math.min(created.count, knownMax);
  const marked = bodies.slice(0, known).map((text) => text.replace('"labels":{', '"labels":{"n":"NUMBER",'));
  const again = await run(
    server,
    (client, n) => apply(client, n % known, (marked[n % known] as string).replace("NUMBER", String(n))),
    200,
  );
  report(`apply of a ${what} with one label changed, durable, 16 clients`, again);
}
