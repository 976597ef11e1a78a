// What upstream's own controller manager and scheduler ask of a server: deployments are scaled up, and their pods made and
// bound. These programs speak protobuf, hold watches of everything, and write as fast as they are answered.
import type { ChildProcess } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { end, hasEnded } from "../../test/support/servers/bound.ts";
import { Histogram } from "../harness/histogram.ts";
import { makeFolder, removeFolder, runProgram } from "../harness/programs.ts";
import type { LoadSource, Options, Round, Scenario, Session } from "../harness/scenario.ts";
import { Scope } from "../harness/scope.ts";
import { clientConfig, type Target } from "../harness/target.ts";
import { wait } from "../results.ts";

const merge = "application/merge-patch+json";
/** How often it is looked whether all pods are there and bound. */
const lookMs = 200;
const [rolledSecondsMax, idleSecondsMax] = [300, 60];
const deploymentsMax = 3;
/** More than a node may have by default: few nodes do. */
const podsPerNode = 1000;

/** `npm run perf -- rollout`. */
export const rollout: Scenario = {
  name: "rollout",
  summary: "upstream's controller manager and scheduler make and bind pods",
  detail:
    "Starts these programs for the server, without limits of their own for requests, makes Node objects, and waits until the " +
    "controllers are at work. A round makes three deployments and lasts until all their pods are made and bound, however " +
    "long --duration is; before the next one they are deleted. Costs are per pod. A server that has just started is measured " +
    "with --warmup=0 --rounds=1. A run is void when it takes five minutes. All servers of a comparison must serve the versions " +
    "of the API that the programs ask for: the scheduler of v1.23 waits for ever for one that newer servers lack.",
  flags: {
    "controller-manager": ["", "upstream's kube-controller-manager"],
    scheduler: ["", "upstream's kube-scheduler"],
    pods: ["3000", "pods of a round"],
    idle: ["5", "seconds between the start of these programs and the first round"],
  },
  examples: [
    "npm run perf -- rollout --controller-manager=kube-controller-manager --scheduler=kube-scheduler --warmup=0",
  ],
  async open(target: Target, options: Options, _load: LoadSource): Promise<Session> {
    const programs = ["controller-manager", "scheduler"].map((name) => options.text(name));
    if (programs.includes("")) throw new Error("rollout needs --controller-manager=PATH and --scheduler=PATH");
    const scope = await Scope.open(target);
    const run = new Rollout(scope, target, options);
    try {
      await run.start(programs as [string, string]);
    } catch (error) {
      await run.close();
      throw error;
    }
    const name = `${options.text("pods")} pods`;
    return {
      cases: [{ name, prepare: () => run.clear(), run: () => run.run() }],
      close: () => run.close(),
    };
  },
};

class Rollout {
  readonly #scope: Scope;
  readonly #target: Target;
  readonly #pods: number;
  readonly #idleSeconds: number;
  readonly #dir = makeFolder("orch-rollout-");
  readonly #running: ChildProcess[] = [];

  constructor(scope: Scope, target: Target, options: Options) {
    this.#scope = scope;
    this.#target = target;
    this.#pods = options.number("pods", deploymentsMax);
    this.#idleSeconds = options.number("idle");
  }

  get #deployments(): string {
    return `/apis/apps/v1/namespaces/${this.#scope.namespace}/deployments`;
  }

  get #sets(): string {
    return `/apis/apps/v1/namespaces/${this.#scope.namespace}/replicasets`;
  }

  get #nodes(): string[] {
    return Array.from(
      { length: Math.ceil(this.#pods / podsPerNode) },
      (_, at) => `${this.#scope.namespace}-node-${at}`,
    );
  }

  /** Makes nodes and starts the programs; resolves when a controller was seen at work. */
  async start([manager, scheduler]: readonly [string, string]): Promise<void> {
    const room = { cpu: "10000", memory: "10000Gi", pods: String(2 * podsPerNode) };
    const at = new Date().toISOString();
    const ready = { type: "Ready", status: "True", reason: "Perf", message: "", lastHeartbeatTime: at };
    const status = { capacity: room, allocatable: room, conditions: [{ ...ready, lastTransitionTime: at }] };
    for (const name of this.#nodes) {
      await this.#scope.create("/api/v1/nodes", { metadata: { name } });
      await this.#ask("PATCH", `/api/v1/nodes/${name}/status`, { status });
    }
    const config = join(this.#dir, "kubeconfig");
    writeFileSync(config, clientConfig(this.#target.endpoint), { mode: 0o600 });
    const controllers = "--controllers=deployment,replicaset,serviceaccount,garbagecollector,resourcequota,endpoint";
    const fast = ["--kube-api-qps=10000", "--kube-api-burst=10000"];
    const common = [`--kubeconfig=${config}`, "--leader-elect=false", "--secure-port=0", ...fast];
    const managing = [...common, controllers, "--concurrent-deployment-syncs=5"];
    this.#running.push(runProgram(this.#dir, manager, managing), runProgram(this.#dir, scheduler, common));
    const account = `${this.#scope.path}/serviceaccounts/default`;
    const isThere = async (): Promise<boolean> => (await this.#ask("GET", account)).code === 200;
    if (!(await this.#until(isThere, idleSecondsMax))) throw new Error(`No controller is at work: ${this.#log()}`);
    await wait(this.#idleSeconds * 1000);
  }

  async run(): Promise<Round> {
    const startedMs = performance.now();
    const replicas = Math.floor(this.#pods / deploymentsMax);
    for (let at = 0; at < deploymentsMax; at += 1) {
      const labels = { app: `perf-${at}` };
      const resources = { requests: { cpu: "10m", memory: "10Mi" } };
      const spec = { tolerations: [{ operator: "Exists" }], containers: [{ name: "main", image: "perf", resources }] };
      const template = { metadata: { labels }, spec };
      const selector = { matchLabels: labels };
      await this.#scope.create(this.#deployments, {
        ...{ metadata: { name: `perf-${at}` }, spec: { replicas, selector, template } },
      });
    }
    const wanted = replicas * deploymentsMax;
    const isDone = await this.#until(() => this.#isBound(wanted), rolledSecondsMax);
    const ms = performance.now() - startedMs;
    const latency = new Histogram();
    latency.add(ms * 1000);
    const row = { name: "pods", count: wanted, seconds: ms / 1000, bytes: 0, failures: {}, latency };
    return {
      rows: [row],
      faults: isDone ? [] : [`The pods were not made and bound in ${rolledSecondsMax} s: ${this.#log()}`],
    };
  }

  /** Deletes the deployments of the round before, and waits until their pods are gone. */
  async clear(): Promise<void> {
    await this.#ask("DELETE", this.#deployments, { propagationPolicy: "Foreground" });
    const isEmpty = async (): Promise<boolean> =>
      (await this.#scope.clearPods()) && (await this.#isEmpty(this.#deployments)) && (await this.#isEmpty(this.#sets));
    if (!(await this.#until(isEmpty, rolledSecondsMax))) throw new Error("Pods of the round before are not deleted");
  }

  async close(): Promise<void> {
    for (const child of this.#running) await end(child);
    await this.#scope.close([this.#deployments, this.#sets, `${this.#scope.path}/events`]);
    removeFolder(this.#dir);
  }

  async #isBound(wanted: number): Promise<boolean> {
    const { text } = await this.#ask("GET", `${this.#deployments}?resourceVersion=0`);
    const { items = [] } = JSON.parse(text) as { items?: { status?: { replicas?: number } }[] };
    if (items.reduce((sum, { status }) => sum + (status?.replicas ?? 0), 0) < wanted) return false;
    return this.#isEmpty(`${this.#scope.path}/pods?fieldSelector=spec.nodeName%3D`);
  }

  async #isEmpty(path: string): Promise<boolean> {
    return (await this.#scope.size(path)).count === 0;
  }

  async #until(isDone: () => Promise<boolean>, seconds: number): Promise<boolean> {
    const endMs = performance.now() + seconds * 1000;
    while (performance.now() < endMs) {
      if (await isDone()) return true;
      if (this.#running.some(hasEnded)) return false;
      await wait(lookMs);
    }
    return false;
  }

  #ask(method: "GET" | "PATCH" | "DELETE", path: string, body?: object): Promise<{ code: number; text: string }> {
    const type = method === "PATCH" ? merge : undefined;
    return this.#target.connection.ask({ method, path, body: body && JSON.stringify(body), type });
  }

  #log(): string {
    return readFileSync(join(this.#dir, "log"), "utf8").slice(-1000);
  }
}
