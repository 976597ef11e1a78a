// Writes of pods by every verb, and single reads: closed loops of some connections, or an open loop at a rate.
import { Histogram } from "../harness/histogram.ts";
import type { LoadProcess } from "../harness/loadprocess.ts";
import type { Case, LoadSource, Options, Round, Row, Scenario, Session } from "../harness/scenario.ts";
import { Scope } from "../harness/scope.ts";
import type { Target } from "../harness/target.ts";
import { faultsOf, type Work, type WorkResult } from "../harness/work.ts";
import { knownMax, PodRequests } from "./requests.ts";
import { Watchers } from "./watchers.ts";

const cases = [
  ...["create", "get", "update", "merge-patch", "strategic-patch", "json-patch", "status", "apply-new", "apply"],
  ...["bind", "event", "delete"],
] as const;
/** Cases that change no pod. */
const notOfPods: ReadonlySet<string> = new Set(["get", "event"]);
/** Seconds that preparing may take. */
const prepareSeconds = 300;
/** Pods that are made for each second in which they are deleted or bound, before it is known how fast that goes. */
const usedPerSecondMin = 600;
/** And then: so many times what went before. */
const usedRoom = 1.5;

/** `npm run perf -- write`. */
export const write: Scenario = {
  name: "write",
  summary: "every verb and patch type on pods, and GET",
  detail:
    "Pods of 2 KiB spec (5 KiB stored) in a namespace of their own. Each case is one kind of request from all connections. " +
    "A run is void when any request is not answered with the code it should be, when the collection does not have as " +
    "many pods afterwards as were created and not deleted, or when a watch did not get every change, or not in order.",
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
    const process = await load.start();
    const writing = new Writing(scope, process, await PodWatches.open(scope, load, options), options);
    return {
      cases: writing.cases(options.list("cases")),
      close: () => scope.close([`${scope.path}/events`]),
    };
  },
};

/** Watches of all pods, which see every change that is made. */
class PodWatches {
  readonly #open: () => Promise<Watchers>;
  #watchers: Watchers;
  /** Changes of pods since they were opened, each an event for every watch. */
  #changes = 0;
  #isWhole = true;

  private constructor(open: () => Promise<Watchers>, watchers: Watchers) {
    this.#open = open;
    this.#watchers = watchers;
  }

  /** Undefined: none are wanted. */
  static async open(scope: Scope, load: LoadSource, options: Options): Promise<PodWatches | undefined> {
    const count = options.number("watches");
    if (count === 0) return undefined;
    const open = async (): Promise<Watchers> => {
      const watchers = await Watchers.start(load, 1, count);
      const { version } = await scope.size("/api/v1/pods");
      const path = `/api/v1/pods?watch=1&resourceVersion=${version}&timeoutSeconds=86400`;
      await watchers.open([{ path, count, protobuf: options.isSet("protobuf"), stuck: false, reads: "versions" }]);
      return watchers;
    };
    return new PodWatches(open, await open());
  }

  /** So many changes of pods were made. */
  add(changes: number): void {
    this.#changes += changes;
  }

  /** Opens others in place of those that missed something, as clients do. */
  async renew(): Promise<void> {
    if (this.#isWhole) return;
    await this.#watchers.drop();
    this.#watchers = await this.#open();
    this.#changes = 0;
    this.#isWhole = true;
  }

  /** What they did not see as they should; others on the server may change pods, too. `areCounted`: all changes are known. */
  async missed(areCounted: boolean): Promise<readonly string[]> {
    const wanted = areCounted ? this.#changes * this.#watchers.count : 0;
    const seen = await this.#watchers.settled(wanted);
    const faults = seen.faults(undefined);
    const events = seen.sum("events");
    if (events < wanted) faults.push(`Watches saw ${events} events, and should have seen ${wanted} at least`);
    this.#isWhole = faults.length === 0;
    return faults;
  }
}

/** Objects of one kind by their numbers: those below `next` were made, and those below `used` deleted, or bound. */
interface Made {
  readonly prefix: string;
  next: number;
  used: number;
}

const none = (prefix: string): Made => ({ prefix, next: 0, used: 0 });

class Writing {
  readonly #scope: Scope;
  readonly #process: LoadProcess;
  readonly #watches: PodWatches | undefined;
  readonly #requests: PodRequests;
  /** Those that prepare: as fast as answers come. */
  readonly #seeding: PodRequests;
  readonly #rate: number;
  readonly #objects: number;
  /** Pods made by creates, by applies, to be deleted, and to be bound; events. */
  readonly #created = none("p");
  readonly #applied = none("a");
  readonly #doomed = none("d");
  readonly #free = none("f");
  readonly #events = none("e");
  #number = 0;

  constructor(scope: Scope, process: LoadProcess, watches: PodWatches | undefined, options: Options) {
    this.#scope = scope;
    this.#process = process;
    this.#watches = watches;
    const connections = options.number("connections", 1);
    this.#rate = options.number("rate");
    this.#requests = new PodRequests(scope.path, { connections, rate: this.#rate }, options.isSet("protobuf"));
    this.#seeding = this.#requests.with({ connections, rate: 0 });
    this.#objects = options.number("objects", 1);
  }

  cases(names: readonly string[]): Case[] {
    return names.map((name) => {
      const { prepare, ...one } = this.#case(name);
      return {
        ...one,
        prepare: async (seconds) => {
          await this.#watches?.renew();
          await prepare?.(seconds);
        },
      };
    });
  }

  #case(name: string): Case {
    const { prefix: doomed } = this.#doomed;
    const { prefix: free } = this.#free;
    switch (name) {
      case "create":
        return this.#making(name, this.#created, this.#requests.create(this.#created.prefix));
      case "apply-new":
        return this.#making(name, this.#applied, this.#requests.applyNew(this.#applied.prefix));
      case "apply":
        return this.#change(name, this.#applied, this.#seeding.applyNew(this.#applied.prefix));
      case "delete":
        return this.#using(name, this.#doomed, this.#seeding.create(doomed), this.#requests.delete(doomed));
      case "bind":
        return this.#using(name, this.#free, this.#seeding.createFree(free), this.#requests.bind(free));
      case "event":
        return this.#making(name, this.#events, this.#requests.event(this.#events.prefix));
      default:
        if (!cases.some((known) => known === name)) throw new Error(`--cases: ${name} is none of ${cases.join(", ")}`);
        return this.#change(name, this.#created, this.#seeding.create(this.#created.prefix));
    }
  }

  /** Requests that make a new object each. */
  #making(name: string, made: Made, work: Work): Case {
    return {
      name,
      run: async (seconds) => {
        const result = await this.#send({ ...work, from: made.next }, seconds);
        made.next = result.next;
        return this.#checked([result]);
      },
    };
  }

  /** Requests of which each needs a pod of its own, made by `maker` before. */
  #using(name: string, made: Made, maker: Work, work: Work): Case {
    let perSecond = usedPerSecondMin;
    return {
      name,
      prepare: async (seconds) => {
        const most = Math.max(this.#objects, perSecond * seconds);
        await this.#seed(maker, made, made.used + (this.#rate > 0 ? Math.ceil(this.#rate * seconds) + 1 : most));
      },
      run: async (seconds) => {
        const { used, next } = made;
        const result = await this.#send({ ...work, from: used, countMax: next - used }, seconds);
        made.used = result.next;
        perSecond = Math.max(perSecond, Math.ceil((result.count / result.seconds) * usedRoom));
        return this.#checked([result]);
      },
    };
  }

  /** Requests about pods there are, made by `maker` where there are too few. */
  #change(name: string, pods: Made, maker: Work): Case {
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

  async #seed(maker: Work, pods: Made, upTo: number): Promise<void> {
    if (pods.next >= upTo) return;
    const work = { ...maker, from: pods.next, countMax: upTo - pods.next };
    const { next, count } = await this.#process.prepare(work, prepareSeconds);
    pods.next = next;
    this.#watches?.add(count);
  }

  async #send(work: Work, seconds: number): Promise<WorkResult> {
    const result = (await this.#process.run([work], seconds))[0] as WorkResult;
    if (!notOfPods.has(work.name)) this.#watches?.add(result.count);
    return result;
  }

  async #checked(results: readonly WorkResult[]): Promise<Round> {
    const faults = faultsOf(results);
    const made = [this.#created, this.#applied, this.#doomed, this.#free].reduce((sum, { next }) => sum + next, 0);
    const wanted = made - this.#doomed.used;
    const { count } = await this.#scope.size(this.#requests.path);
    if (faults.length === 0 && count !== wanted) faults.push(`There are ${count} pods, and there should be ${wanted}`);
    faults.push(...((await this.#watches?.missed(faults.length === 0)) ?? []));
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
