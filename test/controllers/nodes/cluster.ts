// Nodes in a test: what flags say by default, and a cluster of nodes whose agents are the test.
import { type NodesConfig, nodeFlags, readNodes } from "../../../src/config/nodeflags.ts";
import { NodeLifecycle } from "../../../src/controllers/nodes/lifecycle.ts";
import type { Reconciler } from "../../../src/controllers/reconciler.ts";
import type { NodeMeter } from "../../../src/observe/nodes.ts";
import { reconcilerOf } from "../../support/controllers.ts";
import { type InProcess, until } from "../../support/inprocess.ts";

/** The flags' defaults, and what a test says instead. */
export function nodesConfig(instead: Partial<NodesConfig> = {}): NodesConfig {
  const config = readNodes(new Map(nodeFlags.map((flag) => [flag.name, flag.default])));
  if (typeof config === "string") throw new Error(config);
  return { ...config, ...instead };
}

const merge = { "content-type": "application/merge-patch+json" };

/** A node as a client reads it. */
export interface SeenNode {
  readonly metadata: { readonly name: string; readonly labels?: Record<string, string> };
  readonly spec: { readonly taints?: { key: string; effect: string }[] };
  readonly status: {
    readonly conditions?: { type: string; status: string; reason?: string; lastHeartbeatTime?: string }[];
  };
}

/** Nodes, their agents, and the controller that watches over them. */
export class Cluster {
  readonly server: InProcess;
  readonly config: NodesConfig;
  reconciler: Reconciler;
  /** `Kind name component type reason message`, oldest first. */
  readonly events: string[] = [];
  /** What the reconciler complained about. */
  readonly reports: string[] = [];
  /** `zone ready/lost` as counted last. */
  counted: string[] = [];
  /** Zones in which a node was tainted for eviction, oldest first. */
  readonly evicted: string[] = [];
  #looks = 0;
  readonly #leases: string;

  constructor(server: InProcess, instead: Partial<NodesConfig> = {}) {
    this.server = server;
    this.config = nodesConfig(instead);
    this.#leases = `/apis/${this.spell("coordination.k8s.io")}/v1/namespaces/${this.spell("kube-node-lease")}/leases`;
    this.reconciler = this.#open();
  }

  /** Another controller takes over, as after a restart. */
  async restart(): Promise<void> {
    await this.reconciler.stop();
    this.reconciler = this.#open();
    await this.start();
  }

  async start(): Promise<void> {
    this.reconciler.start();
    await this.#looked();
  }

  stop(): Promise<void> {
    return this.reconciler.stop();
  }

  /** Waits until everything that was written has been worked on, and all that came of it. */
  async settle(): Promise<void> {
    for (let before = -1; before !== this.server.store.revision; ) {
      before = this.server.store.revision;
      this.reconciler.catchUp();
      await until(() => !this.reconciler.has("pods"));
      await this.reconciler.idle();
    }
  }

  spell(text: string): string {
    return this.server.scheme.identity.spell(text);
  }

  /** Lets time pass, at most a period of the monitor at once, with a look of the monitor after each. */
  async pass(ms: number, meanwhile: () => Promise<void> | void = () => undefined): Promise<void> {
    for (let left = ms; left > 0; left -= this.config.periodMs) {
      await meanwhile();
      // A look that has not heard of what agents just said counts them as silent for a period more.
      await this.settle();
      const step = Math.min(left, this.config.periodMs);
      this.server.nowMs += step;
      this.server.aheadMs += step;
      await this.#looked();
    }
  }

  /** Sends a request that has to succeed. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
  async ask(method: string, path: string, body?: unknown): Promise<any> {
    const { code, json, text } = await this.server.call(method, path, body, method === "PATCH" ? merge : {});
    if (code >= 300) throw new Error(`${method} ${path}: ${text}`);
    return json;
  }

  /** Registers a node, with a Ready condition unless `ready` is left out, and with its lease. */
  async join(name: string, ready?: "True" | "False", labels: Record<string, string> = {}): Promise<void> {
    await this.ask("POST", "/api/v1/nodes", { metadata: { name, labels } });
    if (ready === undefined) return;
    await this.report(name, ready);
    await this.ask("POST", this.#leases, { metadata: { name }, spec: { renewTime: this.#now() } });
  }

  /** What an agent reports: Ready, and other conditions by type. */
  async report(name: string, ready: "True" | "False", others: Record<string, string> = {}): Promise<void> {
    const lastHeartbeatTime = new Date(this.server.nowMs).toISOString();
    const conditions = [...Object.entries({ ...others, Ready: ready })].map(([type, status]) => ({
      type,
      status,
      reason: "Said",
      lastHeartbeatTime,
    }));
    await this.ask("PATCH", `/api/v1/nodes/${name}/status`, { status: { conditions } });
  }

  /** An agent renews its lease. */
  async renew(name: string): Promise<void> {
    await this.ask("PATCH", `${this.#leases}/${name}`, { spec: { renewTime: this.#now() } });
  }

  /** Creates a pod on a node, ready unless said otherwise. */
  async pod(name: string, nodeName: string, tolerations: object[] = [], ready = "True"): Promise<void> {
    const path = "/api/v1/namespaces/default/pods";
    const spec = { nodeName, tolerations, containers: [{ name: "c", image: "i" }] };
    await this.ask("POST", path, { metadata: { name }, spec });
    const status = { conditions: [{ type: "Ready", status: ready }] };
    await this.ask("PATCH", `${path}/${name}/status`, { status });
  }

  /** `name`, with `!` when it is marked as not ready and `-` when it is being deleted; in order. */
  async pods(): Promise<string> {
    const { items } = await this.ask("GET", "/api/v1/namespaces/default/pods");
    return items
      .map(({ metadata, status }: { metadata: { name: string; deletionTimestamp?: string }; status: Status }) => {
        const isReady = status.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
        return `${metadata.name}${isReady ? "" : "!"}${metadata.deletionTimestamp === undefined ? "" : "-"}`;
      })
      .join();
  }

  node(name: string): Promise<SeenNode> {
    return this.ask("GET", `/api/v1/nodes/${name}`);
  }

  /** Last parts of the keys of a node's taints with their effect, in alphabetical order. */
  async taints(name: string): Promise<string> {
    const { spec } = await this.node(name);
    return (spec.taints ?? [])
      .map(({ key, effect }) => `${key.split("/").at(-1)}:${effect}`)
      .sort()
      .join();
  }

  /** `status reason` of a node's condition Ready. */
  async ready(name: string): Promise<string> {
    const { status } = await this.node(name);
    const ready = status.conditions?.find(({ type }) => type === "Ready");
    return ready === undefined ? "" : `${ready.status} ${ready.reason}`;
  }

  #now(): string {
    return new Date(this.server.nowMs).toISOString().replace("Z", "000Z");
  }

  /** Waits until the monitor has looked, and everything that followed is done. */
  async #looked(): Promise<void> {
    const before = this.#looks;
    if (!(await until(() => this.#looks > before, 30_000))) throw new Error("The monitor does not look");
    await this.settle();
  }

  #open(): Reconciler {
    const meter: NodeMeter = {
      counted: (zones) => {
        this.#looks += 1;
        this.counted = [...zones].map(([zone, { ready, lost }]) => `${zone} ${ready}/${lost}`.trim()).sort();
      },
      evicted: (zone) => this.evicted.push(zone),
    };
    const controller = new NodeLifecycle(this.server.writers, {
      config: this.config,
      meter,
      recorders: {
        recorder: (component) => (about, type, reason, message) =>
          void this.events.push([about.kind, about.name, component, type, reason, message].join(" ")),
      },
    });
    return reconcilerOf(controller, this.server.server.clock, (message) => void this.reports.push(message));
  }
}

interface Status {
  readonly conditions?: { readonly type: string; readonly status: string }[];
}
