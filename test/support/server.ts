// Starts the built server as its own process on a free port and a fresh folder, as a user would, and talks to it.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { type Agent, Agent as HttpsAgent, request } from "node:https";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { allocatorEnvironment } from "../../src/boot/allocator.ts";
import { noTokenSecrets } from "../../src/config/gates.ts";

const main = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), "src", "main.js");

/**
 * Config maps, secrets, services and what they lead to are what tests count: the server makes none unless a test asks for
 * that, and leaves nodes as tests, which are no agents, make them. A server that signs for clients asks them for
 * certificates, and says in a config map by whom it verifies them.
 */
const notRunning = [
  ...["root-ca-cert-publisher", "own-service", "endpoint", "endpointslice", "endpointslicemirroring", "csrsigning"],
  "nodelifecycle",
];
const quiet = [
  `--controllers=*,${notRunning.map((name) => `-${name}`).join()}`,
  `--feature-gates=${noTokenSecrets}=true`,
];

/** How long a start may take on a busy machine. */
const readyMsMax = 120_000;

/** An answer, body parsed when it is JSON. */
export interface Answer {
  readonly code: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
  readonly json: any;
}

/** A running server. */
export class TestServer {
  readonly dir: string;
  readonly base: string;
  readonly token: string;
  readonly ca: string;
  readonly kubeconfig: string;
  readonly process: ChildProcess;
  /** What it wrote to standard error so far. */
  readonly errors: () => string;
  readonly #agent: Agent;

  constructor(dir: string, base: string, kubeconfig: string, process: ChildProcess, errors: () => string) {
    this.dir = dir;
    this.base = base;
    this.process = process;
    this.kubeconfig = kubeconfig;
    this.errors = errors;
    const text = readFileSync(kubeconfig, "utf8");
    this.token = /token: "?([^"\s]+)/.exec(text)?.[1] ?? "";
    this.ca = Buffer.from(/certificate-authority-data: "?([^"\s]+)/.exec(text)?.[1] ?? "", "base64").toString();
    this.#agent = new HttpsAgent({ keepAlive: true, ca: this.ca, maxSockets: 64 });
  }

  /** Sends one request with the administrator's token; `body` is JSON unless it is a text. */
  call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
      const sent = request(
        this.base + path,
        {
          method,
          agent: this.#agent,
          headers: {
            authorization: `Bearer ${this.token}`,
            ...(text === undefined
              ? {}
              : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
            ...headers,
          },
        },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on("data", (chunk: Buffer) => chunks.push(chunk));
          answer.on("error", reject);
          answer.on("end", () => {
            const all = Buffer.concat(chunks).toString();
            resolve({ code: answer.statusCode ?? 0, headers: answer.headers, text: all, json: parse(all) });
          });
        },
      );
      sent.on("error", reject);
      sent.end(text);
    });
  }

  /** Opens a watch; `take` gets every event, `ended` is told when the server ends it. Returns how to close it. */
  watch(
    path: string,
    take: (event: { type: string; object: Record<string, unknown> }) => void,
    ended: () => void = () => undefined,
  ): () => void {
    let rest = "";
    const sent = request(
      this.base + path,
      { headers: { authorization: `Bearer ${this.token}` }, ca: this.ca },
      (answer) => {
        answer.setEncoding("utf8");
        answer.on("data", (chunk: string) => {
          const lines = (rest + chunk).split("\n");
          rest = lines.pop() ?? "";
          for (const line of lines) if (line.trim() !== "") take(JSON.parse(line));
        });
        answer.on("error", () => undefined);
        answer.on("end", ended);
      },
    );
    sent.on("error", () => undefined);
    sent.end();
    return () => sent.destroy();
  }

  /** Ends it with a signal and waits; the folder stays for a restart unless `clean`. */
  async stop(signal: NodeJS.Signals = "SIGTERM", clean = true): Promise<number | null> {
    this.#agent.destroy();
    const ended = new Promise<number | null>((resolve) => this.process.once("exit", (code) => resolve(code)));
    if (this.process.exitCode === null && this.process.signalCode === null) {
      this.process.kill(signal);
      await ended;
    }
    if (clean) rmSync(this.dir, { recursive: true, force: true });
    return this.process.exitCode;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Where and how a server is started. */
export interface StartOptions {
  /** Left out: any free one. */
  readonly port?: number;
  /** Open files its process may have. */
  readonly filesMax?: number;
  /** Options of the runtime (NODE_OPTIONS). */
  readonly nodeOptions?: string;
}

/** Starts a server and waits until it says it is ready. `dir` is a folder of an earlier one; left out: a fresh one. */
export async function startServer(
  args: readonly string[] = [],
  dir?: string,
  { port = 0, filesMax, nodeOptions }: StartOptions = {},
): Promise<TestServer> {
  const home = dir ?? mkdtempSync(join(tmpdir(), "orch-test-"));
  const limit = filesMax === undefined ? "" : `ulimit -n ${filesMax}; `;
  const flags = [`--data-dir=${home}`, `--secure-port=${port}`, ...quiet, ...args];
  const runtime = nodeOptions === undefined ? {} : { NODE_OPTIONS: nodeOptions };
  const child = spawn("sh", ["-c", `${limit}exec "$0" "$@"`, process.execPath, main, ...flags], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...allocatorEnvironment, ...process.env, ...runtime },
  });
  let out = "";
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-100_000);
  });
  const [base, kubeconfig] = await new Promise<[string, string]>((resolve, reject) => {
    const limit = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new Error(`The server was not ready in ${readyMsMax / 1000} s: ${errors}`));
    }, readyMsMax);
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString();
      const ready = /^ready: (\S+)$/m.exec(out)?.[1];
      const config = /^kubeconfig: (.+)$/m.exec(out)?.[1];
      if (ready === undefined || config === undefined) return;
      clearTimeout(limit);
      resolve([ready, config]);
    });
    child.once("exit", (code, signal) => {
      clearTimeout(limit);
      reject(new Error(`The server ended with ${code ?? signal}: ${errors}`));
    });
  });
  return new TestServer(home, base, kubeconfig, child, () => errors);
}

/** Waits until `condition` holds, at most `limitMs`; false when it never did. */
export async function eventually(condition: () => boolean | Promise<boolean>, limitMs = 10_000): Promise<boolean> {
  const end = performance.now() + limitMs;
  while (performance.now() < end) {
    if (await condition()) return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return false;
}
