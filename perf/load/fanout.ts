// Watch fan-out end to end: TLS, the server in a process of its own, watch clients in threads of this one.
// CPU per event is the server's whole CPU (writes, storage and all threads) over the events delivered. That of a send
// on loopback includes what the receiver's machine would do: a third of it is the kernel taking the bytes in again.
// Expected on two cores: 9-11 us per event at 50 changes/s (6 the kernel's send, 3 TLS, build and our loop, 1-2 the
// writes), 2-3 us saturated, 5-8 KiB per idle watch.
import { Agent, request } from "node:https";
import { Worker } from "node:worker_threads";
import { assert } from "../../src/base/assert.ts";
import { startServer, type TestServer } from "../../test/support/server.ts";
import { record, round, wait } from "../results.ts";
import { Histogram } from "./histogram.ts";
import { markOf, microseconds } from "./lines.ts";
import { cpuUs, residentBytes } from "./process.ts";
import type { WatchersData, WatchersReport } from "./watchers.worker.ts";

const namespace = "load";
const collection = `/api/v1/namespaces/${namespace}/configmaps`;
const objects = 64;
const objectBytes = 2048;
const script = new URL("./watchers.worker.js", import.meta.url);

/** One thread of watch clients. */
class Watchers {
  readonly #worker: Worker;

  constructor(worker: Worker) {
    this.#worker = worker;
  }

  ask(message: "report" | "reset" | "stop"): Promise<WatchersReport> {
    return new Promise((resolve) => {
      this.#worker.once("message", resolve);
      this.#worker.postMessage(message);
    });
  }

  async stop(): Promise<WatchersReport> {
    const ended = new Promise((resolve) => this.#worker.once("exit", resolve));
    const report = await this.ask("stop");
    await ended;
    return report;
  }
}

/** The server under load, its objects and its writers. */
class Load {
  readonly server: TestServer;
  readonly pid: number;
  readonly #agent: Agent;
  readonly #changes = new Int32Array(objects);
  /** The last change of each object, answered or not. */
  readonly #answers: Promise<unknown>[] = Array.from({ length: objects }, () => Promise.resolve());
  #padding = "";
  #next = 0;

  constructor(server: TestServer) {
    this.server = server;
    this.pid = server.process.pid ?? 0;
    this.#agent = new Agent({ keepAlive: true, ca: server.ca, maxSockets: 64 });
  }

  async prepare(): Promise<void> {
    await this.#send("POST", "/api/v1/namespaces", {
      kind: "Namespace",
      apiVersion: "v1",
      metadata: { name: namespace },
    });
    // What an object of this kind takes beside its padding, as it is stored after an update.
    const probe = { ...(this.#body(0) as object), metadata: { name: nameOf(objects), namespace } };
    this.#changes[0] = 0;
    await this.#send("POST", collection, probe);
    const stored = await this.#send("PUT", `${collection}/${nameOf(objects)}`, probe);
    this.#padding = "p".repeat(objectBytes - Buffer.byteLength(stored.trimEnd()));
    for (let object = 0; object < objects; object += 1) await this.#send("POST", collection, this.#body(object));
  }

  /** Opens `count` watches of what is to come, in one thread. */
  async watch(count: number, stuck = false): Promise<Watchers> {
    const list = await this.#send("GET", `${collection}?limit=1`, undefined);
    const version = JSON.parse(list).metadata.resourceVersion as string;
    const { hostname, port } = new URL(this.server.base);
    const data: WatchersData = {
      host: hostname,
      port: Number(port),
      ca: this.server.ca,
      token: this.server.token,
      path: `${collection}?watch=1&resourceVersion=${version}`,
      count,
      objects,
      first: this.#changes[0] ?? 0,
      stuck,
    };
    assert(new Set(this.#changes).size === 1, "Watches are opened between rounds of changes");
    const worker = new Worker(script, { workerData: data });
    await new Promise((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
    });
    return new Watchers(worker);
  }

  /** Changes the next object; objects take turns, and none is changed again before its last change was answered. */
  change(): Promise<unknown> {
    const object = this.#next++ % objects;
    const answer = (this.#answers[object] as Promise<unknown>).then(() =>
      this.#send("PUT", `${collection}/${nameOf(object)}`, this.#body(object)),
    );
    this.#answers[object] = answer;
    return answer;
  }

  /** Changes at a fixed rate, whatever the answers take, for a number of whole rounds over the objects. */
  async changeAtRate(perSecond: number, seconds: number): Promise<void> {
    const total = Math.ceil((perSecond * seconds) / objects) * objects;
    const start = performance.now();
    const underWay: Promise<unknown>[] = [];
    for (let made = 0; made < total; made += 1) {
      const due = start + (made * 1000) / perSecond - performance.now();
      if (due > 0) await wait(due);
      underWay.push(this.change());
    }
    await Promise.all(underWay);
  }

  /** Changes as fast as the answers come, each client its own objects; whole rounds. */
  async changeFlatOut(clients: number, seconds: number): Promise<number> {
    const end = performance.now() + seconds * 1000;
    let rounds = 0;
    while (performance.now() < end) {
      for (let done = 0; done < objects; done += clients) {
        await Promise.all(Array.from({ length: clients }, () => this.change()));
      }
      rounds += 1;
    }
    return rounds * objects;
  }

  #body(object: number): unknown {
    const change = (this.#changes[object] ?? 0) + 1;
    this.#changes[object] = change;
    return {
      kind: "ConfigMap",
      apiVersion: "v1",
      metadata: { name: nameOf(object), namespace },
      data: { pad: this.#padding, seq: markOf(object, change, microseconds()) },
    };
  }

  #send(method: string, path: string, body: unknown): Promise<string> {
    return new Promise((resolve, reject) => {
      const text = body === undefined ? "" : JSON.stringify(body);
      const headers = {
        authorization: `Bearer ${this.server.token}`,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(text),
      };
      const sent = request(this.server.base + path, { method, agent: this.#agent, headers }, (answer) => {
        let all = "";
        answer.setEncoding("utf8").on("data", (chunk: string) => {
          all += chunk;
        });
        answer.on("end", () => {
          const code = answer.statusCode ?? 0;
          if (code < 300) resolve(all);
          else reject(new Error(`${method} ${path}: ${code} ${all}`));
        });
      });
      sent.on("error", reject);
      sent.end(text);
    });
  }
}

function nameOf(object: number): string {
  return `object-${String(object).padStart(4, "0")}`;
}

/** Waits until everybody has everything, at most ten seconds; returns the last report. */
async function settled(watchers: Watchers, expected: number): Promise<WatchersReport> {
  let report = await watchers.ask("report");
  for (let waited = 0; report.events < expected && waited < 10_000; waited += 50) {
    await wait(50);
    report = await watchers.ask("report");
  }
  return report;
}

/** Checks what must hold in every case. */
function check(report: WatchersReport, expected: number): void {
  const { events, gaps, torn, errors, closed } = report;
  const problem = JSON.stringify({ events, expected, gaps, torn, errors, closed });
  assert(
    events === expected && gaps + torn + errors + closed === 0,
    `The watchers did not get what they should: ${problem}`,
  );
}

async function atRate(load: Load, count: number, perSecond: number, seconds: number): Promise<void> {
  // A server that has been up for a while: the first thousand writes run in the interpreter.
  await load.changeFlatOut(16, 5);
  const watchers = await load.watch(count);
  await load.changeAtRate(perSecond, 2);
  const before = await settled(watchers, Math.ceil((perSecond * 2) / objects) * objects * count);
  await watchers.ask("reset");
  const cpu = cpuUs(load.pid);
  const start = performance.now();
  await load.changeAtRate(perSecond, seconds);
  const changes = Math.ceil((perSecond * seconds) / objects) * objects;
  const report = await settled(watchers, before.events + changes * count);
  const took = (performance.now() - start) / 1000;
  const used = cpuUs(load.pid) - cpu;
  check(report, before.events + changes * count);
  const latencies = new Histogram(report.latencies);
  record(`fanout/${count} watchers, ${perSecond} changes per s`, {
    eventsPerSecond: Math.round((report.events - before.events) / took),
    cpuUsPerEvent: round(used / (report.events - before.events)),
    p50Ms: latencies.at(0.5),
    p99Ms: latencies.at(0.99),
    maxMs: latencies.at(1),
  });
  await watchers.stop();
}

async function saturated(load: Load, count: number, clients: number, seconds: number): Promise<void> {
  const watchers = await load.watch(count);
  const warm = await load.changeFlatOut(clients, 1);
  const before = await settled(watchers, warm * count);
  await watchers.ask("reset");
  const cpu = cpuUs(load.pid);
  const start = performance.now();
  const changes = await load.changeFlatOut(clients, seconds);
  const report = await settled(watchers, before.events + changes * count);
  const took = (performance.now() - start) / 1000;
  const used = cpuUs(load.pid) - cpu;
  check(report, before.events + changes * count);
  const latencies = new Histogram(report.latencies);
  record(`fanout/${count} watchers, ${clients} writers flat out`, {
    eventsPerSecond: Math.round((report.events - before.events) / took),
    changesPerSecond: Math.round(changes / took),
    cpuUsPerEvent: round(used / (report.events - before.events)),
    p50Ms: latencies.at(0.5),
    p99Ms: latencies.at(0.99),
  });
  await watchers.stop();
}

async function idle(load: Load, count: number): Promise<void> {
  // The first watches take what is allocated once.
  const first = await load.watch(100);
  await wait(1000);
  const before = residentBytes(load.pid);
  const threads = [];
  for (let made = 0; made < count; made += 2500) threads.push(await load.watch(Math.min(2500, count - made)));
  await wait(3000);
  const after = residentBytes(load.pid);
  const cpu = cpuUs(load.pid);
  await wait(5000);
  const used = cpuUs(load.pid) - cpu;
  record(`fanout/${count} idle watches`, {
    kibPerWatch: round((after - before) / 1024 / count),
    residentMib: Math.round(after / 1024 / 1024),
    idleCpuPercent: round(used / 50_000),
  });
  for (const thread of [first, ...threads]) await thread.stop();
}

async function stuck(load: Load, readers: number, nonReaders: number, seconds: number): Promise<void> {
  const watchers = await load.watch(readers);
  await load.changeAtRate(200, 4);
  // The log grows with every change: the same traffic without the silent ones is what theirs is compared with.
  const alone = await growth(load, watchers, seconds);
  const silent = await load.watch(nonReaders, true);
  const beside = await growth(load, watchers, seconds);
  const changes = Math.ceil(800 / objects) * objects + 2 * Math.ceil((200 * seconds) / objects) * objects;
  check(await settled(watchers, changes * readers), changes * readers);
  record(`fanout/${readers} watchers beside ${nonReaders} that never read`, {
    kibPerStuckWatch: round((beside.bytes - alone.bytes) / 1024 / nonReaders),
    p50Ms: beside.latencies.at(0.5),
    p99Ms: beside.latencies.at(0.99),
    p50MsAlone: alone.latencies.at(0.5),
    p99MsAlone: alone.latencies.at(0.99),
  });
  await silent.stop();
  await watchers.stop();
}

/** What the server's memory grows by under 200 changes a second, and the latencies meanwhile. */
async function growth(load: Load, watchers: Watchers, seconds: number) {
  await wait(1000);
  await watchers.ask("reset");
  const before = residentBytes(load.pid);
  await load.changeAtRate(200, seconds);
  await wait(1000);
  const { latencies } = await watchers.ask("report");
  return { bytes: residentBytes(load.pid) - before, latencies: new Histogram(latencies) };
}

/** Runs the cases; `only` names some of: rate, saturated, idle, stuck. `args` go to the server. */
export async function fanout(only: readonly string[], args: readonly string[]): Promise<void> {
  const cases: readonly (readonly [name: string, run: (load: Load) => Promise<void>])[] = [
    ["idle", (load) => idle(load, 5000)],
    ["rate", (load) => atRate(load, 1000, 50, 10)],
    ["saturated", (load) => saturated(load, 1000, 16, 10)],
    ["stuck", (load) => stuck(load, 200, 20, 20)],
  ];
  for (const [name, run] of cases) {
    if (only.length > 0 && !only.includes(name)) continue;
    const server = await startServer(args);
    try {
      const load = new Load(server);
      await load.prepare();
      await run(load);
    } finally {
      await server.stop();
    }
  }
}
