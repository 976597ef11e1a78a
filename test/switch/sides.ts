// The two servers that take turns on one etcd: this one and upstream's kube-apiserver v1.23. Both get the same flags, but
// for what one of them alone has, and clients of both show the same token.
import type { ChildProcess } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { Agent, type RequestOptions, request } from "node:https";
import { dirname, join } from "node:path";
import type { Answer } from "../support/server.ts";
import { end, hasEnded, spawnBound } from "../support/servers/bound.ts";
import { startProcess } from "../support/servers/process.ts";

/** Which server. */
export type SideName = "orch" | "upstream";

/** The port that the snapshot names as that of its server: with another one the own service is written anew. */
const port = 7960;
const token = "switch-token";
const readyMsMax = 180_000;
const logMax = 200_000;

/** What both servers are started with. */
export interface Common {
  /** Folder for keys and logs. */
  readonly dir: string;
  /** URLs of etcd. */
  readonly endpoints: readonly string[];
  /** Path of the encryption configuration. */
  readonly encryption: string;
  /** Path of upstream's kube-apiserver. */
  readonly upstream: string;
}

/** Upstream's kube-apiserver in a folder, or in its `bin`; undefined: there is none. */
export function findUpstream(folder: string): string | undefined {
  const names = ["kube-apiserver", "old-apiserver"];
  const paths = [folder, join(folder, "bin")].flatMap((at) => names.map((name) => join(at, name)));
  return paths.find((path) => existsSync(path));
}

/** Makes keys and tokens of both in their folder. */
export function makePapers({ dir }: Pick<Common, "dir">): void {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  writeFileSync(join(dir, "accounts.key"), privateKey, { mode: 0o600 });
  writeFileSync(join(dir, "accounts.pub"), publicKey);
  writeFileSync(join(dir, "tokens.csv"), `${token},admin,admin,"system:masters"\n`, { mode: 0o600 });
}

function flagsOf({ dir, endpoints, encryption }: Common): string[] {
  return [
    `--etcd-servers=${endpoints.join()}`,
    `--encryption-provider-config=${encryption}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    // Of the snapshot's server, too; a documentation address (RFC 5737).
    "--advertise-address=192.0.2.2",
    `--token-auth-file=${join(dir, "tokens.csv")}`,
    "--authorization-mode=Node,RBAC",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${join(dir, "accounts.pub")}`,
    `--service-account-signing-key-file=${join(dir, "accounts.key")}`,
    "--service-cluster-ip-range=10.1.0.0/16",
    "--runtime-config=api/all=true",
    "--event-ttl=1h",
  ];
}

/** Starts this server; resolves when it is ready. */
export async function startOrch(common: Common, more: readonly string[] = []): Promise<Side> {
  const own = ["--identity=kubernetes", `--data-dir=${join(common.dir, "orch")}`, "--log-level=warn"];
  const { process, errors } = await startProcess([...flagsOf(common), ...own, ...more]);
  return new Side("orch", process, errors);
}

/** Starts upstream's server; resolves when it is ready. */
export async function startUpstream(common: Common, more: readonly string[] = []): Promise<Side> {
  const own = [`--cert-dir=${join(common.dir, "upstream")}`, ...more];
  // Some builds of it read their OpenAPI definitions from a file.
  const env = { ...process.env, SWAGGER: join(dirname(dirname(common.upstream)), "swagger-1.23.json") };
  const child = spawnBound(common.upstream, [...flagsOf(common), ...own], { stdio: ["ignore", "ignore", "pipe"], env });
  let log = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    log = (log + chunk.toString()).slice(-logMax);
  });
  const side = new Side("upstream", child, () => log);
  await side.ready();
  return side;
}

/** A running server. */
export class Side {
  readonly name: SideName;
  readonly errors: () => string;
  readonly #process: ChildProcess;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16, rejectUnauthorized: false });

  constructor(name: SideName, process: ChildProcess, errors: () => string) {
    this.name = name;
    this.errors = errors;
    this.#process = process;
  }

  /** Waits until it says that it is. */
  async ready(): Promise<void> {
    const limit = performance.now() + readyMsMax;
    for (;;) {
      if (hasEnded(this.#process)) throw new Error(`${this.name} ended: ${this.errors()}`);
      const code = await this.call("GET", "/readyz").then(
        (answer) => answer.code,
        () => 0,
      );
      if (code === 200) return;
      if (performance.now() > limit) throw new Error(`${this.name} was not ready: ${this.errors()}`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  #options(method: string, path: string, headers: Record<string, string>): RequestOptions {
    const authorization = `Bearer ${token}`;
    return { host: "127.0.0.1", port, method, path, agent: this.#agent, headers: { authorization, ...headers } };
  }

  /** Sends one request as an administrator; `body` is sent as JSON, a patch by the type that `headers` say. */
  call(method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const sentHeaders = {
        ...(text === undefined
          ? {}
          : { "content-type": "application/json", "content-length": String(Buffer.byteLength(text)) }),
        ...headers,
      };
      const sent = request(this.#options(method, path, sentHeaders), (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.on("error", reject);
        answer.on("end", () => {
          const all = Buffer.concat(chunks).toString();
          resolve({ code: answer.statusCode ?? 0, headers: answer.headers, text: all, json: parse(all) });
        });
      });
      sent.on("error", reject);
      sent.end(text);
    });
  }

  /** The body of a GET that must succeed. */
  // biome-ignore lint/suspicious/noExplicitAny: callers look into any answer
  async get(path: string): Promise<any> {
    const { code, json, text } = await this.call("GET", path);
    if (code !== 200) throw new Error(`${this.name}: GET ${path} was answered ${code}: ${text.slice(0, 300)}`);
    return json;
  }

  /** Opens a watch; `take` gets every event. Returns how to close it. */
  watch(path: string, take: (event: { type: string; object: Record<string, unknown> }) => void): () => void {
    let rest = "";
    const sent = request({ ...this.#options("GET", path, {}), agent: false, rejectUnauthorized: false }, (answer) => {
      answer.setEncoding("utf8");
      answer.on("data", (chunk: string) => {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line.trim() !== "") take(JSON.parse(line));
      });
      answer.on("error", () => undefined);
    });
    sent.on("error", () => undefined);
    sent.end();
    return () => sent.destroy();
  }

  /** Ends it as an operator does, and waits. */
  async stop(): Promise<void> {
    this.#agent.destroy();
    await end(this.#process, "SIGTERM");
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
