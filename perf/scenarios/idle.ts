// Watches of which nothing happens: what each of them holds of a server's memory, and what CPU all of them take.

import { restedMemory, restFlag } from "../harness/memory.ts";
import type { LoadSource, Options, Round, Row, Scenario, Session } from "../harness/scenario.ts";
import { Scope } from "../harness/scope.ts";
import type { Target } from "../harness/target.ts";
import { MarkedObjects, Watchers } from "./watchers.ts";

const spread = { objects: 1, objectBytes: 1024, selectors: 1, protobuf: false } as const;
/** A server makes much for the first of its connections: so many are opened and closed before. */
const firstShare = 0.1;

/** `npm run perf -- idle`. */
export const idle: Scenario = {
  name: "idle",
  summary: "many watches of which nothing happens",
  detail:
    "Watches are opened on connections of their own, once, and then nothing changes. serverOwnKib and serverRssKib are memory " +
    "of the process named server for each watch, of its own (RssAnon, RssShmem) and resident, beyond what it had after a tenth " +
    "as many were opened and closed; the row's latency is what opening one took, and CPU is that of a watch for as long as " +
    "the round. With a --kubeconfig that has a client certificate each connection presents it. A run is void when a watch is " +
    "closed or gets an event.",
  flags: {
    watchers: ["5000", "watches in all"],
    processes: ["2", "processes that hold them"],
    ...restFlag,
  },
  seconds: 10,
  examples: [
    "npm run perf -- idle --watchers=300 --duration=2 --rest=10",
    "npm run perf -- idle --kubeconfig=$HOME/.kube/config --pid=server=4711 --threshold='watches.serverRssKib<10'",
  ],
  async open(target: Target, options: Options, load: LoadSource): Promise<Session> {
    const objects = new MarkedObjects(await Scope.open(target), spread);
    await objects.make(await load.start());
    const watchers = await Watchers.start(load, options.number("processes", 1), options.number("watchers", 1));
    const watches = new IdleWatches(target, options, objects, watchers);
    return {
      cases: [{ name: "idle", prepare: () => watches.open(), run: (seconds) => watches.run(seconds) }],
      close: () => objects.scope.close([objects.path]),
    };
  },
};

class IdleWatches {
  readonly #target: Target;
  readonly #options: Options;
  readonly #objects: MarkedObjects;
  readonly #watchers: Watchers;
  /** Undefined: they are not open yet. */
  #figures: Record<string, number> | undefined;

  constructor(target: Target, options: Options, objects: MarkedObjects, watchers: Watchers) {
    this.#target = target;
    this.#options = options;
    this.#objects = objects;
    this.#watchers = watchers;
  }

  /** Opens them, once. */
  async open(): Promise<void> {
    if (this.#figures !== undefined) return;
    const { count } = this.#watchers;
    await this.#open(Math.ceil(count * firstShare));
    await this.#watchers.drop();
    const before = await restedMemory(this.#target, this.#options);
    await this.#watchers.report(true);
    await this.#open(count);
    const after = await restedMemory(this.#target, this.#options);
    this.#figures = {};
    for (const [name, { ownBytes, residentBytes }] of after) {
      const first = before.get(name) ?? { ownBytes: 0, residentBytes: 0 };
      this.#figures[`${name}OwnKib`] = (ownBytes - first.ownBytes) / count / 1024;
      this.#figures[`${name}RssKib`] = (residentBytes - first.residentBytes) / count / 1024;
    }
  }

  async run(seconds: number): Promise<Round> {
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    const report = await this.#watchers.report();
    const open = report.sum("open");
    const { count } = this.#watchers;
    const row: Row = {
      ...{ name: "watches", count: open, seconds, bytes: report.sum("bytes"), failures: {} },
      ...{ latency: report.times("opening"), figures: this.#figures ?? {} },
    };
    const missing = open === count ? [] : [`${open} watches are open, and there should be ${count}`];
    return { rows: [row], faults: [...report.faults(0), ...missing] };
  }

  async #open(count: number): Promise<void> {
    const { version } = await this.#objects.scope.size(this.#objects.path);
    await this.#watchers.open(this.#objects.watches(count, version), this.#objects.changes);
  }
}
