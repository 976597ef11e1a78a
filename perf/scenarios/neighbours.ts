// One user asks for far more than is its share. What does that cost the others: a person, a node, a component that holds
// its leader's lease?
import type { LoadProcess } from "../harness/loadprocess.ts";
import { runWhenIdle } from "../harness/priority.ts";
import type { Case, LoadSource, Options, Round, Row, Scenario, Session } from "../harness/scenario.ts";
import { Scope } from "../harness/scope.ts";
import type { Target } from "../harness/target.ts";
import { faultsOf, type Work, type WorkResult } from "../harness/work.ts";
import { PodRequests } from "./requests.ts";
import { rowOf } from "./write.ts";

const prepareSeconds = 300;
/** Floods: the query of their requests. */
const floods: ReadonlyMap<string, string> = new Map([
  ["list", ""],
  ["watch", "?watch=1&timeoutSeconds=1"],
]);
const bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
const leasesIn = (namespace: string): string => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
const nodeLeases = leasesIn("kube-node-lease");
const systemLeases = leasesIn("kube-system");
const scheduler = "system:kube-scheduler";

/** `npm run perf -- neighbours`. */
export const neighbours: Scenario = {
  name: "neighbours",
  summary: "what one user's flood of heavy requests costs others",
  detail:
    "A person reads single pods at --rate, a node renews its lease and a component its leader's, ten times a second each: " +
    "first alone, then beside a user who lists all pods on --heavy connections at once, each as fast as it is answered, or " +
    "watches them from their present state on, a second each time (--flood=watch), " +
    "from a process that runs where nothing else wants to, as if it had a machine of its own. " +
    "Users are impersonated, and told apart by the server's flow control where it has one (upstream's flow schemas). " +
    "p99Times is a p99 beside that user by the one alone. What the heavy user is refused voids no run; what fails of the " +
    "others does.",
  flags: {
    flood: ["list", "what the heavy user asks for: list or watch"],
    heavy: ["500", "of them at once"],
    objects: ["2000", "pods there are (5 KiB stored)"],
    rate: ["50", "single reads per second"],
  },
  seconds: 20,
  examples: [
    "npm run perf -- neighbours --heavy=50 --objects=500 --duration=5",
    "npm run perf -- neighbours --flood=watch --heavy=100",
    "npm run perf -- neighbours --threshold='get.p99Times<2' --start='--front-workers=1'",
  ],
  async open(target: Target, options: Options, load: LoadSource): Promise<Session> {
    const scope = await Scope.open(target);
    const light = await load.start();
    const heavy = await load.start();
    // Heavy users have machines of their own: here they are to have what is left of this one.
    runWhenIdle(heavy.pid);
    const users = new Neighbours(scope, options, light, heavy);
    await users.prepare();
    return { cases: users.cases(), close: () => scope.close() };
  },
};

class Neighbours {
  readonly #scope: Scope;
  readonly #light: LoadProcess;
  readonly #heavy: LoadProcess;
  readonly #pods: PodRequests;
  readonly #objects: number;
  readonly #requests: number;
  /** The query of its requests. */
  readonly #query: string;
  readonly #rate: number;
  /** p99 alone, by request. */
  readonly #alone = new Map<string, number>();
  #next = new Map<string, number>();

  constructor(scope: Scope, options: Options, light: LoadProcess, heavy: LoadProcess) {
    this.#scope = scope;
    this.#light = light;
    this.#heavy = heavy;
    this.#objects = options.number("objects", 1);
    this.#requests = options.number("heavy", 1);
    const query = floods.get(options.text("flood"));
    if (query === undefined)
      throw new Error(`--flood=${options.text("flood")}: expected ${[...floods.keys()].join(" or ")}`);
    this.#query = query;
    this.#rate = options.number("rate", 1);
    this.#pods = new PodRequests(scope.path, { connections: 8, rate: 0 });
  }

  /** Names of what is outside of the namespace. */
  get #name(): string {
    return this.#scope.namespace;
  }

  get #node(): string {
    return `system:node:${this.#name}`;
  }

  async prepare(): Promise<void> {
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: this.#name } };
    const subjects = [`${this.#name}-heavy`, `${this.#name}-light`, this.#node, scheduler].map((name) => ({
      ...{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name },
    }));
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" };
    await this.#scope.create(bindings, { metadata: { name: this.#name }, roleRef, subjects });
    for (const path of [nodeLeases, systemLeases]) await this.#scope.create(path, { ...lease, spec: {} });
    const maker = { ...this.#pods.create("p"), countMax: this.#objects };
    await this.#light.prepare(maker, prepareSeconds);
  }

  cases(): Case[] {
    return [
      { name: "alone", run: (seconds) => this.#alike(seconds, false) },
      { name: "beside", run: (seconds) => this.#alike(seconds, true) },
    ];
  }

  async #alike(seconds: number, isBeside: boolean): Promise<Round> {
    const flood = isBeside ? this.#heavy.run([this.#flood()], seconds) : Promise.resolve([]);
    const [results, heavy] = await Promise.all([this.#light.run(this.#works(), seconds), flood]);
    this.#next = new Map(results.map(({ name, next }) => [name, next]));
    const rows = results.map((result): Row => this.#judged(result, isBeside));
    // What it got is told, and not divided by.
    const got = heavy.map((result): Row => ({ ...rowOf(result), failures: {}, isCause: true }));
    const refused = heavy.flatMap(({ failures }) => Object.values(failures)).reduce((sum, times) => sum + times, 0);
    return {
      rows: [...rows, ...got.map((row): Row => ({ ...row, figures: { refused } }))],
      faults: faultsOf(results),
    };
  }

  #judged(result: WorkResult, isBeside: boolean): Row {
    const row = rowOf(result);
    const p99 = row.latency.at(0.99);
    if (!isBeside) this.#alone.set(row.name, p99);
    const alone = this.#alone.get(row.name);
    return isBeside && alone !== undefined ? { ...row, figures: { p99Times: p99 / alone } } : row;
  }

  #flood(): Work {
    const path = this.#pods.path + this.#query;
    const common = { name: "flood", method: "GET", path, wanted: 200, rate: 0, from: 0 } as const;
    return { ...common, connections: this.#requests, more: as(`${this.#name}-heavy`) };
  }

  #works(): Work[] {
    const renewal = '{"spec":{"leaseDurationSeconds":<n>}}';
    const patch = { method: "PATCH", type: "application/merge-patch+json", wanted: 200, connections: 2 } as const;
    const path = `${this.#pods.path}/p<n%${this.#objects}>`;
    const works: Omit<Work, "from">[] = [
      {
        ...{ name: "get", method: "GET", path, wanted: 200, connections: 4, rate: this.#rate },
        more: as(`${this.#name}-light`),
      },
      {
        ...{ ...patch, name: "heartbeat", path: `${nodeLeases}/${this.#name}`, body: renewal, rate: 10 },
        more: as(this.#node, "system:nodes"),
      },
      {
        ...{ ...patch, name: "election", path: `${systemLeases}/${this.#name}`, body: renewal, rate: 10 },
        more: as(scheduler),
      },
    ];
    return works.map((work) => ({ ...work, from: this.#next.get(work.name) ?? 1 }));
  }
}

/** Header lines of a request of a user. */
function as(user: string, ...groups: readonly string[]): string {
  const lines = groups.map((group) => `Impersonate-Group: ${group}\r\n`);
  return `Impersonate-User: ${user}\r\n${lines.join("")}`;
}
