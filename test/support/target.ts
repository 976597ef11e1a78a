// A server under attack: requests with any bytes in path and body, and a bystander who notices whether others are
// still served, at once, by the same process, whose memory comes back.
import { Agent, request } from "node:https";
import { Worker } from "node:worker_threads";
import { residentBytes } from "../../perf/load/process.ts";
import type { BystanderData, BystanderReport } from "./bystander.worker.ts";
import { type Answer, eventually, startServer, type TestServer } from "./server.ts";
import { isOnEtcd } from "./servers/storage.ts";

const mib = 1024 * 1024;

/** The server and its bystander. */
export class Target {
  readonly server: TestServer;
  readonly #agent: Agent;
  readonly #bystander: Worker;
  readonly #report: Promise<BystanderReport>;

  constructor(server: TestServer) {
    this.server = server;
    this.#agent = new Agent({ keepAlive: true, ca: server.ca, maxSockets: 16 });
    // Of several processes the first is looked at; a balancer in front of it would be looked at, too.
    const [{ base } = server] = server.parts;
    const url = `${base}/api/v1/namespaces/default`;
    const workerData: BystanderData = { url, token: server.token, ca: server.ca };
    this.#bystander = new Worker(new URL("./bystander.worker.js", import.meta.url), { workerData });
    this.#report = new Promise((resolve, reject) => {
      this.#bystander.once("message", resolve);
      this.#bystander.once("error", reject);
    });
  }

  /** Sends exactly this path and body (a text is JSON unless a header says otherwise); code 0: no answer, a close. */
  raw(
    method: string,
    path: string,
    body?: string | Uint8Array,
    headers: Record<string, string> = {},
  ): Promise<Answer & { readonly tookMs: number }> {
    const { hostname, port } = new URL(this.server.base);
    const typed =
      body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const all = { authorization: `Bearer ${this.server.token}`, ...typed, ...headers };
    const started = performance.now();
    return new Promise((resolve) => {
      const failed = (): void => resolve({ code: 0, headers: {}, text: "", json: undefined, tookMs: 0 });
      const sent = request({ hostname, port, path, method, agent: this.#agent, headers: all }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.on("error", failed);
        answer.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          const tookMs = performance.now() - started;
          resolve({ code: answer.statusCode ?? 0, headers: answer.headers, text, json: parse(text), tookMs });
        });
      });
      sent.on("error", failed);
      sent.end(body);
    });
  }

  /** Resident memory of the server, MiB. */
  get residentMib(): number {
    return residentBytes(this.server.process.pid ?? 0) / mib;
  }

  /** Resident memory of the server once every front has worked, so that its heap has the size of one that works, MiB. */
  async warmMib(): Promise<number> {
    for (let i = 0; i < 10; i++) await Promise.all(Array.from({ length: 8 }, () => this.#work()));
    return this.residentMib;
  }

  /** Whether memory comes back to what it was, a tenth and 30 MiB more. Garbage is collected where there is work. */
  async cameBackTo(beforeMib: number, limitMs = 30_000): Promise<boolean> {
    return eventually(async () => {
      await this.#work();
      return this.residentMib <= beforeMib * 1.1 + 30;
    }, limitMs);
  }

  /** Half a megabyte through the whole of the write path, on a connection of its own: so any front may get it. */
  async #work(): Promise<void> {
    const body = JSON.stringify({ metadata: { name: "work" }, data: { a: "x".repeat(500_000) } });
    await this.raw("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", body, { connection: "close" });
  }

  /**
   * Ends the bystander's watch; what it found wrong: failed requests, and a 99th percentile above
   * the bound, in milliseconds. On an etcd each of its requests waits for an answer of that one, which shares the machine.
   */
  async verdict(p99MsMax = isOnEtcd ? 2000 : 1000): Promise<string[]> {
    this.#bystander.postMessage("end");
    const { latenciesMs, failures } = await this.#report;
    const sorted = latenciesMs.toSorted((a, b) => a - b);
    const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
    const slow = p99 < p99MsMax ? [] : [`the 99th percentile of ${sorted.length} requests is ${Math.round(p99)} ms`];
    const ended = this.server.process.exitCode === null ? [] : ["the process ended"];
    const crashed = /crash/i.test(this.server.errors()) ? [this.server.errors()] : [];
    return [...failures, ...slow, ...ended, ...crashed];
  }

  async stop(): Promise<void> {
    await this.#bystander.terminate();
    this.#agent.destroy();
    await this.server.stop("SIGKILL");
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Starts a server and its bystander; two fronts, so that its memory is about the same on every machine. */
export async function openTarget(args: readonly string[] = ["--identity=kubernetes"]): Promise<Target> {
  return new Target(await startServer([...args, "--front-workers=2"]));
}
