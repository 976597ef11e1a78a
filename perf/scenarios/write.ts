// Writes of pods by every verb, and single reads: closed loops of some connections, or an open loop at a rate.
import { Histogram } from "../harness/histogram.ts";
import type { LoadProcess } from "../harness/loadprocess.ts";
import {
  type Case,
  faultsOf,
  type LoadSource,
  type Options,
  type Round,
  type Row,
  type Scenario,
  type Session,
} from "../harness/scenario.ts";
import { Scope } from "../harness/scope.ts";
import type { Target } from "../harness/target.ts";
import type { Work, WorkResult } from "../harness/work.ts";
import { knownMax, PodRequests } from "./requests.ts";
import { Watchers } from "./watchers.ts";

const cases = [
  ...["create", "get", "update", "merge-patch", "strategic-patch", "json-patch", "status", "apply-new", "apply"],
  ...["bind", "event", "delete"],
] as const;
const noChanges = new Int32Array(0);
/** Seconds that preparing may take. */
const prepareSeconds = 300;
/** Pods that are deleted or bound in a second, at most: so many are made before. */
const usedPerSecond = 600;

/** `npm run perf -- write`. */
export const write: Scenario = {
  name: "write",
  summary: "every verb and patch type on pods, and GET",
  detail:
    "Pods of 2 KiB spec (5 KiB stored) in a namespace of their own. Each case is one kind of request from all connections. " +
    "A run is void when any request is not answered with the code it should be, or when the collection does not have as " +
    "many pods afterwards as were created and not deleted.",
  flags: {
    cases: [cases.join(), "kinds of requests, in this order"],
    connections: ["16", "keep-alive connections, one request at a time on each"],
    rate: ["0", "requests per second, whatever the answers take; 0: as fast as answers come"],
    protobuf: ["false", "true: bodies, answers and watches in protobuf, as controllers have them; patches stay JSON"],
    watches: ["0", "watches of all pods meanwhile"],
    objects: ["2000", "pods there are at least before reads and changes of them"],
  },
  examples: [
    "npm run perf -- write --cases=create,get --duration=5",
    "npm run perf -- write --cases=create,bind,status,event --protobuf=true --watches=4",
    "npm run perf -- write --kubeconfig=$HOME/.kube/config --rate=200 --threshold='create.p99Ms<50'",
  ],
  async open(target: Target, options: Options, load: LoadSource): Promise<Session> {
    const scope = await Scope.open(target);
    const writing = new Writing(scope, await load.start(), options);
    await watch(scope, load, options);
    return {
      cases: writing.cases(options.list("cases")),
      close: () => scope.close([`${scope.path}/pods`, `${scope.path}/events`]),
    };
  },
};

/** Opens watches of all pods, which see every change that is made. */
async function watch(scope: Scope, load: LoadSource, options: Options): Promise<void> {
  const count = options.number("watches");
  if (count === 0) return;
  const watchers = await Watchers.start(load, 1, count);
  const { version } = await scope.size("/api/v1/pods");
  const path = `/api/v1/pods?watch=1&resourceVersion=${version}&timeoutSeconds=86400`;
  const work = { path, count, protobuf: options.isSet("protobuf"), stuck: false, reads: "versions" } as const;
  await watchers.open([work], noChanges);
}

/** A set of pods by their numbers: those from `first` to `next` are there. */
interface Pods {
  readonly prefix: string;
  first: number;
  next: number;
}

class Writing {
  readonly #scope: Scope;
  readonly #process: LoadProcess;
  readonly #requests: PodRequests;
  /** Those that prepare: as fast as answers come. */
  readonly #seeding: PodRequests;
  readonly #rate: number;
  readonly #objects: number;
  /** Made by creates, by applies, and to be deleted. */
  readonly #created: Pods = { prefix: "p", first: 0, next: 0 };
  readonly #applied: Pods = { prefix: "a", first: 0, next: 0 };
  readonly #doomed: Pods = { prefix: "d", first: 0, next: 0 };
  /** Made to be bound; those before `bound` are. */
  readonly #free: Pods = { prefix: "f", first: 0, next: 0 };
  #bound = 0;
  #events = 0;
  #number = 0;

  constructor(scope: Scope, process: LoadProcess, options: Options) {
    this.#scope = scope;
    this.#process = process;
    const connections = options.number("connections", 1);
    this.#rate = options.number("rate");
    this.#requests = new PodRequests(scope.path, { connections, rate: this.#rate }, options.isSet("protobuf"));
    this.#seeding = this.#requests.with({ connections, rate: 0 });
    this.#objects = options.number("objects", 1);
  }

  cases(names: readonly string[]): Case[] {
    return names.map((name): Case => {
      switch (name) {
        case "create":
          return { name, run: (seconds) => this.#add(this.#requests.create("p"), this.#created, seconds) };
        case "apply-new":
          return { name, run: (seconds) => this.#add(this.#requests.applyNew("a"), this.#applied, seconds) };
        case "apply":
          return this.#change(name, this.#applied, this.#seeding.applyNew("a"));
        case "delete":
          return {
            name,
            prepare: (seconds) => this.#seedOnce(this.#seeding.create("d"), this.#doomed, this.#doomed.first, seconds),
            run: (seconds) => this.#remove(seconds),
          };
        case "bind":
          return {
            name,
            prepare: (seconds) => this.#seedOnce(this.#seeding.createFree("f"), this.#free, this.#bound, seconds),
            run: (seconds) => this.#bind(seconds),
          };
        case "event":
          return { name, run: (seconds) => this.#event(seconds) };
        default:
          if (!cases.some((known) => known === name))
            throw new Error(`--cases: ${name} is none of ${cases.join(", ")}`);
          return this.#change(name, this.#created, this.#seeding.create("p"));
      }
    });
  }

  /** Requests that make a new pod each. */
  async #add(work: Work, pods: Pods, seconds: number): Promise<Round> {
    const result = await this.#send({ ...work, from: pods.next }, seconds);
    pods.next = result.next;
    return this.#checked([result]);
  }

  /** Requests about pods there are, made by `maker` where there are too few. */
  #change(name: string, pods: Pods, maker: Work): Case {
    return {
      name,
      prepare: () => this.#seed(maker, pods, this.#objects),
      run: async (seconds) => {
        const known = Math.min(pods.next, knownMax);
        const work = this.#requests.changes(pods.prefix, known).get(name) as Work;
        const result = await this.#send({ ...work, from: this.#number }, seconds);
        this.#number = result.next;
        return this.#checked([result]);
      },
    };
  }

  async #remove(seconds: number): Promise<Round> {
    const { first, next, prefix } = this.#doomed;
    const work = { ...this.#requests.delete(prefix), from: first, countMax: next - first };
    const result = await this.#send(work, seconds);
    this.#doomed.first = result.next;
    return this.#checked([result]);
  }

  async #bind(seconds: number): Promise<Round> {
    const { next, prefix } = this.#free;
    const result = await this.#send(
      { ...this.#requests.bind(prefix), from: this.#bound, countMax: next - this.#bound },
      seconds,
    );
    this.#bound = result.next;
    return this.#checked([result]);
  }

  async #event(seconds: number): Promise<Round> {
    const result = await this.#send({ ...this.#requests.event("e"), from: this.#events }, seconds);
    this.#events = result.next;
    return this.#checked([result]);
  }

  /** More pods than are used in so many seconds; those before `used` are. */
  async #seedOnce(maker: Work, pods: Pods, used: number, seconds: number): Promise<void> {
    const wanted =
      this.#rate > 0 ? Math.ceil(this.#rate * seconds) + 1 : Math.max(this.#objects, usedPerSecond * seconds);
    await this.#seed(maker, pods, pods.next + Math.max(0, wanted - (pods.next - used)));
  }

  async #seed(maker: Work, pods: Pods, upTo: number): Promise<void> {
    if (pods.next >= upTo) return;
    const result = await this.#send({ ...maker, from: pods.next, countMax: upTo - pods.next }, prepareSeconds);
    pods.next = result.next;
    const [fault] = faultsOf([result]);
    if (fault !== undefined) throw new Error(`Pods could not be prepared: ${fault}`);
  }

  async #send(work: Work, seconds: number): Promise<WorkResult> {
    return (await this.#process.run([work], seconds, noChanges))[0] as WorkResult;
  }

  async #checked(results: readonly WorkResult[]): Promise<Round> {
    const faults = faultsOf(results);
    const wanted = [this.#created, this.#applied, this.#doomed, this.#free].reduce(
      (sum, { first, next }) => sum + next - first,
      0,
    );
    const { count } = await this.#scope.size(this.#requests.path);
    if (faults.length === 0 && count !== wanted) faults.push(`There are ${count} pods, and there should be ${wanted}`);
    return { rows: results.map(rowOf), faults };
  }
}

/** A row of what became of requests. */
export function rowOf({ name, count, bytes, failures, latency, firstByte, seconds }: WorkResult): Row {
  return {
    ...{ name, count, bytes, failures, seconds },
    latency: Histogram.decode(latency),
    firstByte: Histogram.decode(firstByte),
  };
}
