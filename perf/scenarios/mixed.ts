// A cluster's hours, for as many nodes as is wished: agents renew leases and report status, pods come, are bound, run and
// go, events are written, agents watch their pods, and controllers watch everything.
import { podBody } from "../corpus/pod.ts";
import type { LoadSource, Options, Round, Row, Scenario, Session } from "../harness/scenario.ts";
import { Scope } from "../harness/scope.ts";
import type { Target } from "../harness/target.ts";
import { faultsOf, type WatchWork, type Work } from "../harness/work.ts";
import { eventsRow } from "./fanout.ts";
import { Watchers } from "./watchers.ts";
import { rowOf } from "./write.ts";

const merge = "application/merge-patch+json";
const prepareSeconds = 600;
/** Seconds between two renewals of a node's lease, and between two reports of its status. */
const [leaseSeconds, statusSeconds] = [10, 60];

/** After how many seconds a pod runs, and goes. */
const [runsAfterSeconds, goesAfterSeconds] = [5, 10];

const flags = {
  nodes: ["100", "nodes of the cluster"],
  "pods-per-node": ["10", "pods there are on each node"],
  churn: ["0", "pods created, run and removed per second, deployments rolling out; 0: one for each 50 nodes"],
  events: ["0", "events created per second; 0: one for each 20 nodes"],
  controllers: ["4", "watches of all pods, as of controllers and schedulers"],
  readers: ["1", "pages of 500 pods that are read per second"],
  processes: ["2", "processes that hold watches"],
} as const;

const detail =
  `Nodes renew a lease every ${leaseSeconds} s and patch their status every ${statusSeconds} s; each is watched by its agent ` +
  "(pods of the node). Pods are created at --churn, get a status 5 s and are removed 10 s later; events and pages of lists run beside " +
  "them. All requests are at rates, timed from when they were due. A run is void when a request fails or is not sent in " +
  "time, a watch is closed or its versions do not rise, or a controller's watch did not get every change.";

const nodes = "/api/v1/nodes";

/** `npm run perf -- mixed`. */
export const mixed: Scenario = {
  ...{ name: "mixed", summary: "a cluster's hours: leases, status, events, roll-outs, agents and controllers" },
  ...{ detail, flags, seconds: 30 },
  examples: [
    "npm run perf -- mixed --nodes=20 --duration=10",
    "npm run perf -- mixed --nodes=1000 --duration=5m --threshold='lease.p99Ms<1000' --threshold='events.p99Ms<1000'",
  ],
  open: openCluster,
};

/** `npm run perf -- soak`. */
export const soak: Scenario = {
  ...{ name: "soak", summary: "mixed for half an hour; memory that grows is told" },
  detail: `${detail} Set a bound for growth with --threshold='server.growthMibPerHour<50'.`,
  ...{ flags, seconds: 1800 },
  examples: ["npm run perf -- soak --nodes=50 --duration=2h --threshold='server.growthMibPerHour<20' --html=soak.html"],
  open: openCluster,
};

async function openCluster(target: Target, options: Options, load: LoadSource): Promise<Session> {
  const scope = await Scope.open(target);
  const cluster = new Cluster(scope, options);
  const writer = await load.start();
  for (const path of cluster.nodePaths) scope.own(path);
  for (const work of cluster.preparation()) {
    await writer.prepare(work, prepareSeconds, "The cluster");
  }
  const watches = cluster.watches((await scope.size(cluster.pods)).version);
  const total = watches.reduce((sum, { count }) => sum + count, 0);
  const watchers = await Watchers.start(load, options.number("processes", 1), total);
  await watchers.open(watches);
  const run = async (seconds: number): Promise<Round> => {
    const before = (await watchers.report(true)).sum("events");
    const results = await writer.run(cluster.works(seconds), seconds);
    const faults = faultsOf(results);
    const took = Math.max(...results.map((result) => result.seconds));
    const changes = cluster.count(results.map(({ name, next, count }) => ({ name, next, count })));
    const report = await watchers.settled(before + changes);
    faults.push(...report.faults(faults.length === 0 ? before + changes : undefined));
    const events: Row = { ...eventsRow(report, before, took), isCause: true };
    return { rows: [...results.map(rowOf), ...(events.count === 0 ? [] : [events])], faults };
  };
  return {
    cases: [{ name: options.text("nodes") === "" ? "mixed" : `${options.text("nodes")} nodes`, run }],
    close: () => scope.close([cluster.leases, `${scope.path}/events`]),
  };
}

class Cluster {
  readonly #scope: Scope;
  readonly #nodes: number;
  readonly #standing: number;
  readonly #churn: number;
  readonly #events: number;
  readonly #controllers: number;
  readonly #readers: number;
  /** Numbers of the next requests, by name. */
  readonly #next = new Map<string, number>();

  constructor(scope: Scope, options: Options) {
    this.#scope = scope;
    this.#nodes = options.number("nodes", 1);
    this.#standing = this.#nodes * options.number("pods-per-node");
    this.#churn = options.number("churn") || this.#nodes / 50;
    this.#events = options.number("events") || this.#nodes / 20;
    this.#controllers = options.number("controllers");
    this.#readers = options.number("readers");
  }

  get pods(): string {
    return `${this.#scope.path}/pods`;
  }

  get leases(): string {
    return `/apis/coordination.k8s.io/v1/namespaces/${this.#scope.namespace}/leases`;
  }

  get nodePaths(): string[] {
    return Array.from({ length: this.#nodes }, (_, index) => `${nodes}/${this.#scope.namespace}-node-${index}`);
  }

  /** What is there before the first round. */
  preparation(): Work[] {
    const make = (name: string, path: string, body: string, count: number): Work => ({
      ...{ name, method: "POST", path, body, wanted: 201, connections: 8, rate: 0, from: 0, countMax: count },
    });
    const node = `{"kind":"Node","apiVersion":"v1","metadata":{"name":"${this.#node}"}}`;
    const lease = `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"${this.#node}"},"spec":{"holderIdentity":"${this.#node}"}}`;
    const works = [make("nodes", nodes, node, this.#nodes), make("leases", this.leases, lease, this.#nodes)];
    if (this.#standing > 0) works.push(make("pods", this.pods, this.#pod("s<n>"), this.#standing));
    return works;
  }

  /** All that goes on at once. */
  works(seconds: number): Work[] {
    const common = { connections: 8, method: "PATCH", type: merge, wanted: 200 } as const;
    const now = new Date().toISOString();
    const events = `${this.#scope.path}/events`;
    const event =
      `{"kind":"Event","apiVersion":"v1","metadata":{"name":"e<n>","namespace":"${this.#scope.namespace}"},"reason":"Pulled",` +
      `"message":"Container image is present","type":"Normal","involvedObject":{"kind":"Pod","name":"s0","namespace":"${this.#scope.namespace}"}}`;
    const works: Omit<Work, "from">[] = [
      {
        ...{ ...common, name: "lease", path: `${this.leases}/${this.#node}`, rate: this.#nodes / leaseSeconds },
        body: `{"metadata":{"annotations":{"n":"<n>"}},"spec":{"leaseDurationSeconds":40,"renewTime":"${now.slice(0, 23)}000Z"}}`,
      },
      {
        ...{
          ...common,
          name: "node-status",
          path: `${nodes}/${this.#node}/status`,
          rate: this.#nodes / statusSeconds,
        },
        body: `{"status":{"conditions":[{"type":"Ready","status":"True","reason":"Beat<n>","lastHeartbeatTime":"${now.slice(0, 19)}Z"}]}}`,
      },
      {
        ...{ connections: 8, name: "create", method: "POST", path: this.pods, body: this.#pod("c<n>"), wanted: 201 },
        rate: this.#churn,
      },
      { connections: 8, name: "event", method: "POST", path: events, body: event, wanted: 201, rate: this.#events },
    ];
    if (seconds > runsAfterSeconds + 1) {
      works.push({
        ...{ ...common, name: "pod-status", path: `${this.pods}/c<n>/status`, rate: this.#churn },
        ...{ body: '{"status":{"phase":"Running","message":"at <us>"}}', delaySeconds: runsAfterSeconds },
      });
    }
    if (seconds > goesAfterSeconds + 1) {
      const path = `${this.pods}/c<n>?gracePeriodSeconds=0`;
      works.push({
        ...{ connections: 8, name: "delete", method: "DELETE", path, wanted: 200, rate: this.#churn },
        delaySeconds: goesAfterSeconds,
      });
    }
    if (this.#readers > 0) {
      const path = `${this.pods}?limit=500`;
      works.push({ connections: 2, name: "page", method: "GET", path, wanted: 200, rate: this.#readers });
    }
    return works.map((work) => ({ ...work, from: this.#next.get(work.name) ?? 0 }));
  }

  /** Takes note of what was done; returns how many events all watches must have seen of it. */
  count(results: readonly { readonly name: string; readonly next: number; readonly count: number }[]): number {
    let events = 0;
    for (const { name, next, count } of results) {
      this.#next.set(name, next);
      // A pod's change is seen by its node's agent and by all controllers.
      if (name === "create" || name === "pod-status") events += count * (1 + this.#controllers);
      // A delete of a pod that is bound sets its deletion time first.
      if (name === "delete") events += 2 * count * (1 + this.#controllers);
    }
    return events;
  }

  /** Agents watch the pods of their node, controllers all pods. */
  watches(version: string): WatchWork[] {
    const common = { protobuf: false, stuck: false, reads: "versions" } as const;
    const path = (selector: string): string =>
      `${this.pods}?watch=1&allowWatchBookmarks=true&resourceVersion=${version}${selector}`;
    const agents = Array.from({ length: this.#nodes }, (_, index): WatchWork => {
      const node = `${this.#scope.namespace}-node-${index}`;
      return { ...common, path: path(`&fieldSelector=spec.nodeName%3D${node}`), count: 1 };
    });
    return this.#controllers === 0 ? agents : [...agents, { ...common, path: path(""), count: this.#controllers }];
  }

  /** The name of the node a request of its number is about. */
  get #node(): string {
    return `${this.#scope.namespace}-node-<n%${this.#nodes}>`;
  }

  #pod(name: string): string {
    return podBody(0, name).replace('"nodeName":"node-0"', `"nodeName":"${this.#node}"`);
  }
}
