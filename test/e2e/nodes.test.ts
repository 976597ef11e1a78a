// Nodes and their agents on a server of its own process: one agent goes on, another one ends, and the server starts anew.
import t from "tap";
import { eventually, startServer, type TestServer } from "../support/server.ts";

t.setTimeout(600_000);

const merge = { "content-type": "application/merge-patch+json" };
const pods = "/api/v1/namespaces/default/pods";

/** What an agent does, by its node's name. */
class Agents {
  server: TestServer;
  readonly #leases: string;
  readonly #living = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #hasEnded = false;

  constructor(server: TestServer, leases: string) {
    this.server = server;
    this.#leases = leases;
  }

  async join(name: string): Promise<void> {
    await this.ask("POST", "/api/v1/nodes", { metadata: { name, labels: { "example.com/of": "test" } } });
    await this.report(name);
    await this.ask("POST", this.#leases, { metadata: { name }, spec: { renewTime: now() } });
    this.#living.add(name);
  }

  async report(name: string): Promise<void> {
    const conditions = [{ type: "Ready", status: "True", reason: "AgentReady", lastHeartbeatTime: now() }];
    await this.ask("PATCH", `/api/v1/nodes/${name}/status`, { status: { conditions } });
  }

  /** Renews the leases of living nodes until end(); a server that is not there is asked again. */
  start(): void {
    const beat = async (): Promise<void> => {
      const renewed = [...this.#living].map((name) =>
        this.server.call("PATCH", `${this.#leases}/${name}`, { spec: { renewTime: now() } }, merge),
      );
      await Promise.allSettled(renewed);
      if (!this.#hasEnded) this.#timer = setTimeout(() => void beat(), 300);
    };
    void beat();
  }

  end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
  }

  die(name: string): void {
    this.#living.delete(name);
  }

  revive(name: string): void {
    this.#living.add(name);
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
  async ask(method: string, path: string, body?: unknown): Promise<any> {
    const headers = method === "PATCH" ? merge : {};
    const { code, json, text } = await this.server.call(method, path, body, headers);
    if (code >= 300) throw new Error(`${method} ${path}: ${text}`);
    return json;
  }

  /** `status reason`, and the taints. */
  async state(name: string): Promise<string> {
    const { status, spec } = (await this.ask("GET", `/api/v1/nodes/${name}`)) as {
      status: { conditions: { type: string; status: string; reason: string }[] };
      spec: { taints?: { key: string; effect: string }[] };
    };
    const ready = status.conditions.find(({ type }) => type === "Ready");
    const taints = (spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`).sort();
    return [ready?.status, ready?.reason, ...taints].join(" ");
  }
}

interface Told {
  readonly involvedObject: { readonly kind: string; readonly name: string };
  readonly reason: string;
  readonly source: { readonly component: string };
}

const events = [
  "Node dying node-controller NodeNotReady",
  "Node dying node-controller RegisteredNode",
  "Node living node-controller RegisteredNode",
  "Pod on-dying node-controller NodeNotReady",
  "Pod on-dying taint-controller TaintManagerEviction",
];

function now(): string {
  return new Date().toISOString().replace("Z", "000Z");
}

for (const identity of ["kubernetes", "orch"] as const) {
  const brand = identity === "orch" ? "orch.io" : "kubernetes.io";
  const coordination = identity === "orch" ? "coordination.orch.io" : "coordination.k8s.io";
  const leaseNamespace = identity === "orch" ? "orch-node-lease" : "kube-node-lease";
  const unreachable = `node.${brand}/unreachable`;

  t.test(`a node whose agent ended loses its pods, and another one nothing: ${identity}`, async (t) => {
    const flags = ["--node-monitor-grace-period=8s", "--node-monitor-period=500ms", "--controllers=nodelifecycle"];
    const args = [`--identity=${identity}`, ...flags, "--disable-admission-plugins=ServiceAccount"];
    let server = await startServer(args);
    t.teardown(() => server.stop());
    const agents = new Agents(server, `/apis/${coordination}/v1/namespaces/${leaseNamespace}/leases`);
    t.teardown(() => agents.end());
    agents.start();
    for (const name of ["living", "dying"]) {
      await agents.join(name);
      const spec = {
        nodeName: name,
        terminationGracePeriodSeconds: 0,
        tolerations: [{ key: unreachable, operator: "Exists", effect: "NoExecute", tolerationSeconds: 2 }],
        containers: [{ name: "c", image: "i" }],
      };
      await agents.ask("POST", pods, { metadata: { name: `on-${name}` }, spec });
      const status = { conditions: [{ type: "Ready", status: "True" }] };
      await agents.ask("PATCH", `${pods}/on-${name}/status`, { status });
    }
    const isState = (name: string, wanted: string) => async (): Promise<boolean> =>
      (await agents.state(name)) === wanted;
    t.ok(await eventually(isState("living", "True AgentReady"), 60_000));
    agents.die("dying");
    const lost = `Unknown NodeStatusUnknown ${unreachable}:NoExecute ${unreachable}:NoSchedule`;
    t.ok(await eventually(isState("dying", lost), 120_000), await agents.state("dying"));
    const isMarked = async (): Promise<boolean> => {
      const { code, json } = await server.call("GET", `${pods}/on-dying`);
      return code === 404 || json.status.conditions[0].status === "False";
    };
    t.ok(await eventually(isMarked, 60_000));
    const isGone = async (): Promise<boolean> => (await server.call("GET", `${pods}/on-dying`)).code === 404;
    t.ok(await eventually(isGone, 120_000));
    const told = async (): Promise<string[]> => {
      const { items } = (await agents.ask("GET", "/api/v1/namespaces/default/events")) as { items: Told[] };
      return items.map(({ involvedObject: { kind, name }, reason, source }) =>
        [kind, name, source.component, reason].join(" "),
      );
    };
    const isTold = async (): Promise<boolean> => {
      const list = await told();
      return events.every((event) => list.includes(event));
    };
    t.ok(await eventually(isTold, 60_000), (await told()).join());
    const metrics = await server.metrics();
    t.match(metrics, /^node_collector_zone_size\{zone=""\} 2$/m);
    t.match(metrics, /^node_collector_unhealthy_nodes_in_zone\{zone=""\} 1$/m);
    t.match(metrics, /^node_collector_evictions_number\{zone=""\} 1$/m);

    await server.stop("SIGKILL", false);
    server = await startServer(args, server.dir);
    agents.server = server;
    t.equal(await agents.state("living"), "True AgentReady");
    t.equal(await agents.state("dying"), lost);
    agents.revive("dying");
    await agents.report("dying");
    t.ok(await eventually(isState("dying", "True AgentReady"), 60_000), await agents.state("dying"));
    t.equal(await agents.state("living"), "True AgentReady");
    const { metadata, status } = await agents.ask("GET", `${pods}/on-living`);
    t.equal(metadata.deletionTimestamp, undefined);
    t.equal(status.conditions[0].status, "True");
  });
}
