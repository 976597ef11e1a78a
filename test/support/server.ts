// Starts the built server as its own process on a free port and a fresh folder, as a user would, and talks to it.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { type Agent, Agent as HttpsAgent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { noTokenSecrets } from "../../src/config/gates.ts";
import { Balancer } from "./servers/balancer.ts";
import { end, hasEnded } from "./servers/bound.ts";
import { type ProcessOptions, type ServerProcess, startProcess } from "./servers/process.ts";
import { forgetStored, namesStorage, serverCount, storageFlags } from "./servers/storage.ts";

/**
 * Config maps, secrets, services and what they lead to are what tests count: the server makes none unless a test asks for
 * that, and leaves nodes as tests, which are no agents, make them. A server that signs for clients asks them for
 * certificates, and says in a config map by whom it verifies them.
 */
const notRunning = [
  ...["root-ca-cert-publisher", "own-service", "endpoint", "endpointslice", "endpointslicemirroring", "csrsigning"],
  "nodelifecycle",
];
/** On a machine with other work an event loop is late for no fault of its users: what is refused then has its own tests. */
const noShedding = "--shed-lag=0";
const quiet = [
  `--controllers=*,${notRunning.map((name) => `-${name}`).join()}`,
  `--feature-gates=${noTokenSecrets}=true`,
];

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
  /** What it consists of: one process, or several behind a balancer. */
  readonly parts: readonly ServerProcess[];
  /** How long `call` waits for an answer, ms; default: as long as that takes. */
  patienceMs: number | undefined;
  readonly #agent: Agent;
  readonly #balancer: Balancer | undefined;

  constructor(dir: string, base: string, kubeconfig: string, parts: readonly ServerProcess[], balancer?: Balancer) {
    this.dir = dir;
    this.base = base;
    this.parts = parts;
    this.kubeconfig = kubeconfig;
    this.#balancer = balancer;
    this.token = tokenOf(kubeconfig);
    this.ca = authorityOf(kubeconfig);
    this.#agent = new HttpsAgent({ keepAlive: true, ca: this.ca, maxSockets: 64 });
  }

  /** Sends a signal to each of its processes. */
  kill(signal: NodeJS.Signals): void {
    for (const { process } of this.parts) process.kill(signal);
  }

  /** Resolves when one of its processes has ended. */
  ended(): Promise<void> {
    return Promise.race(
      this.parts.map(async ({ process }) => {
        if (!hasEnded(process)) await once(process, "exit");
      }),
    );
  }

  /** The process of a server that is one. */
  get process(): ChildProcess {
    return (this.parts[0] as ServerProcess).process;
  }

  /** What it wrote to standard error so far. */
  errors(): string {
    return this.parts.map(({ errors }) => errors()).join("");
  }

  /** The files that it writes where a flag names one. */
  files(path: string): string[] {
    return this.parts.map((_, index) => fileOf(path, index));
  }

  /** Sends one request with the administrator's token; `body` is JSON unless it is a text. */
  call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.#send(this.base, method, path, body, headers);
  }

  /**
   * Waits until each of its processes has seen what was acknowledged so far. Objects are read at their newest from any of
   * them; roles and configuration begin to count, and tokens end, at another process than the one that was asked when its
   * logs have the change, and a read of the newest state is answered then.
   */
  async caughtUp(): Promise<void> {
    if (this.parts.length === 1) return;
    for (const { code, text } of await this.each("/api/v1/namespaces?limit=1")) if (code !== 200) throw new Error(text);
  }

  /** What each of its processes answers to a GET. */
  each(path: string): Promise<Answer[]> {
    return Promise.all(this.parts.map(({ base }) => this.#send(base, "GET", path)));
  }

  /** The metrics of its processes, one after the other: controllers run in one of them. */
  async metrics(): Promise<string> {
    return (await this.each("/metrics")).map(({ text }) => text).join("");
  }

  #send(
    base: string,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
      const sent = request(
        base + path,
        {
          method,
          agent: this.#agent,
          ...(this.patienceMs === undefined ? {} : { signal: AbortSignal.timeout(this.patienceMs) }),
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
      // A connection that had served a request may have been closed before this one arrived.
      sent.on("error", (error) => reject(Object.assign(error, { isReused: sent.reusedSocket })));
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
    await Promise.all(this.parts.map(({ process }) => end(process, signal)));
    this.#balancer?.close();
    if (clean) {
      if (existsSync(this.dir)) await forgetStored(this.dir);
      rmSync(this.dir, { recursive: true, force: true });
    }
    const codes = this.parts.map(({ process }) => process.exitCode);
    return codes.find((code) => code !== 0) ?? this.process.exitCode;
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
export interface StartOptions extends ProcessOptions {
  /** Left out: any free one. */
  readonly port?: number;
  /** With upstream's defaults, without the ones of tests (see `quiet`). */
  readonly plain?: boolean;
  /** With as many fronts as it has by itself. */
  readonly ownFronts?: boolean;
}

/**
 * Starts a server and waits until it says it is ready. `dir` is a folder of an earlier one; left out: a fresh one. Where
 * its data are, and of how many processes it consists, says the environment (servers/storage.ts), unless the arguments do.
 */
export async function startServer(
  args: readonly string[] = [],
  dir?: string,
  { port = 0, plain = false, ownFronts = plain, ...options }: StartOptions = {},
): Promise<TestServer> {
  const home = dir ?? mkdtempSync(join(tmpdir(), "orch-test-"));
  const stored = namesStorage(args) ? [] : await storageFlags(home);
  const sheds = plain || args.some((flag) => flag.startsWith("--shed-lag"));
  // What fronts share is tried by every suite, also where one is the default.
  const fronts = ownFronts || args.some((flag) => flag.startsWith("--front-workers")) ? [] : ["--front-workers=2"];
  const flags = [...(plain ? [] : quiet), ...(sheds ? [] : [noShedding]), ...fronts, ...stored, ...args];
  if (stored.length > 0 && serverCount > 1) return startBalanced(home, flags, port, options);
  const process = await startProcess([`--data-dir=${home}`, `--secure-port=${port}`, ...flags], options);
  return new TestServer(home, process.base, process.kubeconfig, [process]);
}

/** The flag of a file that each server has to itself. */
const auditLog = "--audit-log-path=";

/**
 * Starts several servers of one store, behind a balancer that clients know alone. Each has a folder of its own, inside that
 * of the first one, and all have its keys, its authority and its token, as an operator gives them to servers of a cluster.
 */
async function startBalanced(
  home: string,
  flags: readonly string[],
  port: number,
  options: ProcessOptions,
): Promise<TestServer> {
  const start = (index: number): Promise<ServerProcess> => {
    const own = flags.map((flag) =>
      flag.startsWith(auditLog) ? auditLog + fileOf(flag.slice(auditLog.length), index) : flag,
    );
    return startProcess([`--data-dir=${folderOf(home, index)}`, "--secure-port=0", ...own], options);
  };
  const first = start(0);
  for (let index = 1; index < serverCount; index += 1) {
    const folder = folderOf(home, index);
    if (existsSync(folder)) continue;
    await first;
    shareKeys(home, folder);
  }
  const others = Array.from({ length: serverCount - 1 }, (_, index) => start(index + 1));
  const parts = await Promise.all([first, ...others]);
  const [{ base, kubeconfig }] = parts as [ServerProcess];
  const token = tokenOf(kubeconfig);
  const balancer = await Balancer.open(
    parts.map((part) => ({ base: part.base, token })),
    port,
  );
  const config = join(home, "balanced.kubeconfig");
  writeFileSync(config, readFileSync(kubeconfig, "utf8").replace(base, balancer.base), { mode: 0o600 });
  return new TestServer(home, balancer.base, config, parts, balancer);
}

/** Makes the folder of another server of the same store, with keys, authority and token of the first one. */
export function shareKeys(home: string, folder: string): void {
  mkdirSync(folder, { mode: 0o700 });
  for (const kept of ["admin.token", "pki"]) cpSync(join(home, kept), join(folder, kept), { recursive: true });
}

function folderOf(home: string, index: number): string {
  return index === 0 ? home : join(home, `server-${index + 1}`);
}

/** The file that the server of this index writes where a flag names one; standard output, devices and pipes are shared. */
function fileOf(path: string, index: number): string {
  const isShared = path === "-" || statSync(path, { throwIfNoEntry: false })?.isFile() === false;
  return index === 0 || isShared ? path : `${path}.${index + 1}`;
}

/** The token that a client configuration holds. */
function tokenOf(kubeconfig: string): string {
  return /token: "?([^"\s]+)/.exec(readFileSync(kubeconfig, "utf8"))?.[1] ?? "";
}

/** PEM of the authority that a client configuration names. */
function authorityOf(kubeconfig: string): string {
  const text = readFileSync(kubeconfig, "utf8");
  return Buffer.from(/certificate-authority-data: "?([^"\s]+)/.exec(text)?.[1] ?? "", "base64").toString();
}

/** Waits until `condition` holds, at most `limitMs`; false when it never did. */
export async function eventually(condition: () => boolean | Promise<boolean>, limitMs = 60_000): Promise<boolean> {
  const end = performance.now() + limitMs;
  while (performance.now() < end) {
    if (await condition()) return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return false;
}
