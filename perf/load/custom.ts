// What custom resources cost: definitions of 40 KB each, the OpenAPI documents of many, a start with them, and the
// operations on a custom kind beside those on a built-in kind of the same size. With `--peer=<kube-apiserver>
// --etcd=<etcd>` the same is done to a peer afterwards (not the start).
// Figures are CPU of the whole server, of a peer that of its etcd as well; operations of the two kinds take turns, and the
// figure is the median of their ratios. Expected: a definition below 8 ms and 250 KiB beyond what is stored, the document
// of 1,000 below 1 s, ratios below 1.3.
import { assert } from "../../src/base/assert.ts";
import { runDefinitions } from "../../test/support/definitions.ts";
import { openInProcess } from "../../test/support/inprocess.ts";
import { ask, longestTurn, storeElsewhere } from "../../test/support/turns.ts";
import { definitionBody, definitionName, groupAt, pathAt } from "../corpus/definition.ts";
import { type Subject, startOurs, startPeer, subjectBytes, subjectCpuUs } from "../harness/peer.ts";
import { makeFolder, removeFolder } from "../harness/programs.ts";
import { record, round, wait } from "../results.ts";
import { compareKinds } from "./customkinds.ts";
import { RestClient } from "./rest.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const protobufV2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/** Definitions before those that count: every front has compiled what it runs, and heaps are what they are under load. */
const warmCount = 100;
/** Definitions whose turns are looked at; the figure is their median. */
const turnRuns = 21;
/** How long a server is looked at while it does nothing. */
const idleMs = 5000;

/** Connections: enough to be spread over all fronts. */
const clientCount = 12;

interface Options {
  /** Definitions of the cases that are not about a peer. */
  readonly count: number;
  readonly peer: string;
  readonly etcd: string;
  /** For the server. */
  readonly args: readonly string[];
}

function optionsOf(flags: readonly string[]): Options {
  const own = new Map<string, string>();
  const args: string[] = [];
  for (const flag of flags) {
    const [, name = "", value = ""] = /^--(peer|etcd|definitions)=(.*)$/.exec(flag) ?? [];
    if (name === "") args.push(flag);
    else own.set(name, value);
  }
  const { peer = "", etcd = "", definitions: count = "1000" } = Object.fromEntries(own);
  return { count: Number(count), peer, etcd, args };
}

/** `npm run perf -- custom [definitions] [turns] [start] [kinds] [--definitions=n] [--peer=…  --etcd=…]`. */
export async function custom(only: readonly string[], flags: readonly string[]): Promise<void> {
  const { count, peer, etcd, args } = optionsOf(flags);
  const wants = (name: string): boolean => only.length === 0 || only.includes(name);
  if (wants("definitions")) await during(await startOurs(args), (server) => defining(server, count));
  if (wants("turns")) await turns(count);
  if (wants("start")) await starting(args, count);
  if (wants("kinds")) await during(await startOurs(args), compareKinds);
  if (peer === "") return;
  if (wants("definitions")) await during(await startPeer(peer, etcd), (server) => defining(server, count));
  if (wants("kinds")) await during(await startPeer(peer, etcd), compareKinds);
}

async function during(server: Subject, work: (server: Subject) => Promise<void>): Promise<void> {
  try {
    await work(server);
  } finally {
    await server.stop();
  }
}

/** Runs numbered work from several connections at once. */
async function spread(
  server: Subject,
  count: number,
  work: (client: RestClient, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const loop = async (): Promise<void> => {
    const client = new RestClient(server);
    for (let index = next++; index < count; index = next++) await work(client, index);
    client.close();
  };
  await Promise.all(Array.from({ length: clientCount }, loop));
}

async function send(client: RestClient, wanted: number, ...rest: Parameters<RestClient["send"]>): Promise<void> {
  const code = await client.send(...rest);
  assert(code === wanted, `${rest[0]} ${rest[1]} was answered ${code}`);
}

/** Waits until a server has done what it does afterwards: three quiet seconds in a row, or two minutes. */
async function quiet(server: Subject): Promise<void> {
  for (let seconds = 0, calm = 0; seconds < 120 && calm < 3; seconds += 1) {
    const before = subjectCpuUs(server);
    await wait(1000);
    calm = subjectCpuUs(server) - before < 100_000 ? calm + 1 : 0;
  }
}

/** What a server used since the last call, beyond what it uses while it is idle. */
async function meter(server: Subject): Promise<() => { cpuMs: number; kib: number }> {
  await quiet(server);
  const idleFrom = subjectCpuUs(server);
  await wait(idleMs);
  let [cpuUs, bytes, now] = [subjectCpuUs(server), subjectBytes(server), performance.now()];
  const idlePerMs = (cpuUs - idleFrom) / idleMs;
  return () => {
    const [cpuUsNow, bytesNow, nowNow] = [subjectCpuUs(server), subjectBytes(server), performance.now()];
    const idleUs = idlePerMs * (nowNow - now);
    const used = { cpuMs: Math.max(0, cpuUsNow - cpuUs - idleUs) / 1000, kib: (bytesNow - bytes) / 1024 };
    [cpuUs, bytes, now] = [cpuUsNow, bytesNow, nowNow];
    return used;
  };
}

async function defining(server: Subject, count: number): Promise<void> {
  const what = `${count} definitions of 40 KB, ${server.name}`;
  await documents(server, `no definitions, ${server.name}`);
  await define(server, count + turnRuns, warmCount);
  const used = await meter(server);
  const stored = await logBytes(server);
  const sentBytes = await define(server, 0, count);
  await quiet(server);
  const made = used();
  // What is stored, and its history.
  const storedKib = ((await logBytes(server)) - stored) / 1024;
  record(`custom/${what}`, {
    cpuMsEach: round(made.cpuMs / count),
    kibEach: round(made.kib / count, 1),
    kibEachBeyondLogs: round((made.kib - storedKib) / count, 1),
    sentKib: round(sentBytes / 1024 / count, 1),
  });
  await using(server, count, what, used);
  await documents(server, what);
  await documents(server, `${what}, again`);
  await oneMore(server, count, what);
}

/** Makes definitions, and waits until their kinds are served; resolves with the bytes that were sent. */
async function define(server: Subject, from: number, count: number): Promise<number> {
  let sentBytes = 0;
  await spread(server, count, async (client, offset) => {
    const body = JSON.stringify(definitionBody(from + offset));
    sentBytes += body.length;
    await send(client, 201, "POST", definitions, body);
  });
  await untilServed(server, from, count);
  return sentBytes;
}

/** Shared memory that holds what is stored; of a peer unknown. */
async function logBytes(server: Subject): Promise<number> {
  if (server.name === "peer") return 0;
  const text = await read(server, "/metrics");
  return Number(/^orch_log_pool_bytes\{use="used"\} (\S+)$/m.exec(text)?.[1] ?? 0);
}

async function read(server: Subject, path: string): Promise<string> {
  const client = new RestClient(server);
  await send(client, 200, "GET", path);
  client.close();
  return client.text();
}

/** Waits until the kinds of all definitions are served. */
async function untilServed(server: Subject, from: number, count: number): Promise<void> {
  await spread(server, count, async (client, offset) => {
    const path = `/apis/${groupAt(from + offset)}/v1`;
    for (let tries = 0; !(await isServed(client, path, from + offset)); tries += 1) {
      assert(tries < 1200, `${definitionName(from + offset)} is not served`);
      await wait(100);
    }
  });
}

async function isServed(client: RestClient, path: string, index: number): Promise<boolean> {
  return (await client.send("GET", path)) === 200 && client.text().includes(`"widget${index}s"`);
}

/** The first objects of each kind, on every front. */
async function using(
  server: Subject,
  count: number,
  what: string,
  used: Awaited<ReturnType<typeof meter>>,
): Promise<void> {
  used();
  const clients = Array.from({ length: clientCount }, () => new RestClient(server));
  let accepted = 0;
  for (let index = 0; index < count; index += 1) {
    const body = JSON.stringify({
      apiVersion: definitionApiVersion(index),
      kind: `Widget${index}`,
      metadata: { name: "first" },
      spec: {},
    });
    for (const client of clients) {
      const code = await client.send("POST", `${pathAt(index)}?dryRun=All`, body);
      if (code === 201 || code === 422) accepted += 1;
    }
  }
  assert(accepted === count * clientCount, "Each kind takes objects");
  await quiet(server);
  const { cpuMs, kib } = used();
  record(`custom/${what}, the first ${clientCount} objects of each`, {
    cpuMsEach: round(cpuMs / count),
    kibEach: round(kib / count, 1),
  });
}

function definitionApiVersion(index: number): string {
  return `${pathAt(index).split("/")[2] ?? ""}/v1`;
}

/** As clients ask for large documents. */
const gzip = "Accept-Encoding: gzip\r\n";

/** The OpenAPI documents, each asked for by one client. */
async function documents(server: Subject, what: string): Promise<void> {
  const figures: Record<string, number> = {};
  for (const [name, accept] of [
    ["v2", "application/json"],
    ["v2Protobuf", protobufV2],
  ] as const) {
    const used = await meter(server);
    const start = performance.now();
    const client = new RestClient(server, accept, gzip);
    await send(client, 200, "GET", "/openapi/v2");
    client.close();
    figures[`${name}Ms`] = round(performance.now() - start, 0);
    figures[`${name}CpuMs`] = round(used().cpuMs, 0);
    figures[`${name}Mib`] = round(client.bodyBytes / 1024 / 1024, 1);
  }
  const index = JSON.parse(await read(server, "/openapi/v3")) as {
    paths: Record<string, { serverRelativeURL: string }>;
  };
  const paths = Object.entries(index.paths)
    .filter(([path]) => path.includes("bench.example.com"))
    .map(([, { serverRelativeURL }]) => serverRelativeURL);
  const used = await meter(server);
  const client = new RestClient(server, "application/json", gzip);
  for (const path of paths) await send(client, 200, "GET", path);
  client.close();
  figures["v3CpuMs"] = round(used().cpuMs, 0);
  await quiet(server);
  record(`custom/OpenAPI of ${what}`, figures);
}

/** One more definition, the document after it, and what happens to the requests of others meanwhile. */
async function oneMore(server: Subject, count: number, what: string): Promise<void> {
  const client = new RestClient(server, "application/json", gzip);
  const runs = 10;
  const used = await meter(server);
  for (let more = 0; more < runs; more += 1) {
    await send(client, 201, "POST", definitions, JSON.stringify(definitionBody(count + more)));
    while ((await client.send("GET", `${pathAt(count + more)}?limit=1`)) !== 200) await wait(10);
    await send(client, 200, "GET", "/openapi/v2");
  }
  client.close();
  await quiet(server);
  record(`custom/one more beside ${what}, and the document`, { cpuMs: round(used().cpuMs / runs, 1) });
}

/**
 * The longest turn of a front while one more definition is made, served, looked up and documented: CPU of the thread, in
 * one process without sockets where front and controllers share a thread and turns are theirs alone.
 */
async function turns(count: number): Promise<void> {
  const server = await openInProcess();
  storeElsewhere(server);
  const controller = runDefinitions(server, []);
  const make = async (index: number): Promise<void> => {
    const body = Buffer.from(JSON.stringify(definitionBody(index)));
    const { code } = await ask(server, "POST", definitions, body, { "content-type": "application/json" });
    assert(code === 201, `A definition was answered ${code}`);
    const path = `/apis/${groupAt(index)}/v1`;
    const name = Buffer.from(`"widget${index}s"`);
    for (;;) {
      const { chunks } = await ask(server, "GET", path);
      if (Buffer.concat(chunks).includes(name)) return;
      await wait(5);
    }
  };
  for (let index = 0; index < count; index += 1) await make(index);
  const packed = { "accept-encoding": "gzip" };
  const reads = ["/openapi/v2", "/openapi/v3", "/apis"];
  for (const path of reads) await ask(server, "GET", path, undefined, packed);
  const longest: Record<string, number[]> = { define: [], use: [] };
  for (const path of reads) longest[path] = [];
  for (let more = count; more < count + turnRuns; more += 1) {
    longest["define"]?.push(await longestTurn(() => make(more)));
    longest["use"]?.push(await longestTurn(() => ask(server, "GET", pathAt(more))));
    for (const path of reads) {
      longest[path]?.push(await longestTurn(() => ask(server, "GET", path, undefined, packed)));
    }
  }
  await controller.stop();
  server.close();
  const figures = Object.entries(longest).map(([name, ms]) => {
    const sorted = [...ms].sort((a, b) => a - b);
    return [`${name}Ms`, round(sorted[Math.floor(sorted.length / 2)] ?? 0, 1)];
  });
  record(`custom/longest turns of one more beside ${count} definitions`, Object.fromEntries(figures));
}

/** A start with definitions beside one with none. */
async function starting(args: readonly string[], count: number): Promise<void> {
  const dirs = [0, count].map((size) => ({ size, dir: makeFolder("orch-perf-") }));
  for (const { size, dir } of dirs) {
    await during(await startOurs(args, dir), async (server) => {
      await spread(server, size, (client, index) =>
        send(client, 201, "POST", definitions, JSON.stringify(definitionBody(index))),
      );
      await untilServed(server, 0, size);
    });
  }
  const times = new Map<number, { ms: number; cpuMs: number }[]>(dirs.map(({ size }) => [size, []]));
  for (let tries = 0; tries < 5; tries += 1) {
    for (const { size, dir } of dirs) {
      const start = performance.now();
      const server = await startOurs(args, dir);
      if (size > 0) assert((await read(server, `${pathAt(size - 1)}?limit=1`)) !== "", "Its kinds are served");
      times.get(size)?.push({ ms: performance.now() - start, cpuMs: subjectCpuUs(server) / 1000 });
      await server.stop();
    }
  }
  for (const { size, dir } of dirs) {
    const of = times.get(size) ?? [];
    record(`custom/a start with ${size} definitions`, {
      ms: round(Math.min(...of.map(({ ms }) => ms)), 0),
      cpuMs: round(Math.min(...of.map(({ cpuMs }) => cpuMs)), 0),
    });
    removeFolder(dir);
  }
}
