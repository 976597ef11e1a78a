// Watch fan-out: many watches of objects that change at a rate, or as fast as writers can. What is counted is events.
import type { Case, LoadSource, Options, Round, Row, Scenario, Session } from "../harness/scenario.ts";
import { Scope } from "../harness/scope.ts";
import type { Target } from "../harness/target.ts";
import { faultsOf, type WorkResult } from "../harness/work.ts";
import { MarkedObjects, Watchers, type WatchReport } from "./watchers.ts";
import { rowOf } from "./write.ts";

/** `npm run perf -- fanout`. */
export const fanout: Scenario = {
  name: "fanout",
  summary: "many watches of objects that change",
  detail:
    "Config maps in namespaces of their own are changed in turn; each watch sees those of its namespace that its selector " +
    "names. Cases: rate (--rate changes per second) and saturated (--writers connections, as fast as answers come). " +
    "Each object carries the number of its change: a run is void when a watch misses an event, gets one twice, out of " +
    "order or torn, or is closed. Latency is from sending the change to the event at the watcher; skew is from the first " +
    "watcher to the last of one change.",
  flags: {
    cases: ["rate", "rate, saturated"],
    watchers: ["1000", "watches in all"],
    processes: ["2", "processes that hold them"],
    objects: ["64", "objects of each namespace"],
    "object-bytes": ["2048", "size of an object as it is stored, about"],
    namespaces: ["1", "namespaces; watches and changes are divided among them"],
    selectors: ["1", "1: watches select nothing; as many as --objects: each watch selects one object by label"],
    protobuf: ["false", "true: watches are in protobuf"],
    rate: ["50", "changes per second, case rate"],
    writers: ["16", "connections that change objects"],
    slow: ["0", "further watches that never read, beside the others"],
  },
  examples: [
    "npm run perf -- fanout --watchers=200 --rate=50 --duration=5",
    "npm run perf -- fanout --watchers=500 --cases=saturated --protobuf=true --start='--front-workers=1'",
  ],
  async open(target: Target, options: Options, load: LoadSource): Promise<Session> {
    const fan = await FanOut.open(target, options, load);
    return { cases: fan.cases(), close: () => fan.close() };
  },
};

/** One namespace: its objects, who changes them, and who watches. */
interface Part {
  readonly objects: MarkedObjects;
  readonly watchers: Watchers;
  readonly before: Int32Array;
  next: number;
}

class FanOut {
  readonly #options: Options;
  readonly #parts: Part[] = [];
  readonly #load: LoadSource;
  #writer: Awaited<ReturnType<LoadSource["start"]>> | undefined;
  #isOpen = false;

  private constructor(options: Options, load: LoadSource) {
    this.#options = options;
    this.#load = load;
  }

  static async open(target: Target, options: Options, load: LoadSource): Promise<FanOut> {
    const fan = new FanOut(options, load);
    const namespaces = options.number("namespaces", 1);
    const watchers = options.number("watchers", 1);
    const spread = {
      objects: options.number("objects", 1),
      objectBytes: options.number("object-bytes"),
      selectors: options.number("selectors", 1),
      protobuf: options.isSet("protobuf"),
    };
    fan.#writer = await load.start();
    for (let index = 0; index < namespaces; index += 1) {
      const objects = new MarkedObjects(await Scope.open(target), spread);
      await objects.make(fan.#writer);
      const share = Math.floor(watchers / namespaces) + (index < watchers % namespaces ? 1 : 0);
      const processes = Math.max(1, Math.round(options.number("processes", 1) / namespaces));
      const started = await Watchers.start(load, processes, share);
      fan.#parts.push({ objects, watchers: started, before: objects.changes.slice(), next: 0 });
    }
    return fan;
  }

  cases(): Case[] {
    const writers = this.#options.number("writers", 1);
    return this.#options.list("cases").map((name): Case => {
      if (name !== "rate" && name !== "saturated") throw new Error(`--cases: ${name} is none of rate, saturated`);
      const rate = name === "rate" ? this.#options.number("rate", 0.1) : 0;
      return { name, prepare: () => this.#watch(), run: (seconds) => this.#run(seconds, writers, rate) };
    });
  }

  async close(): Promise<void> {
    for (const { objects } of this.#parts) await objects.scope.close([objects.path]);
  }

  /** Opens the watches, once. */
  async #watch(): Promise<void> {
    if (this.#isOpen) return;
    this.#isOpen = true;
    for (const { objects, watchers } of this.#parts) {
      const { version } = await objects.scope.size(objects.path);
      await watchers.open(objects.watches(watchers.count, version), objects.changes);
    }
    const slow = this.#options.number("slow");
    const [first] = this.#parts;
    if (slow === 0 || first === undefined) return;
    const stuck = await Watchers.start(this.#load, 1, slow);
    const { version } = await first.objects.scope.size(first.objects.path);
    await stuck.open(first.objects.watches(slow, version, true), first.objects.changes);
  }

  async #run(seconds: number, writers: number, rate: number): Promise<Round> {
    const parts = this.#parts;
    const before = await Promise.all(parts.map(({ watchers }) => watchers.report(true)));
    const eventsBefore = before.map((report) => report.sum("events"));
    const results: WorkResult[] = [];
    const begun = performance.now();
    // One after the other where there are several namespaces: each has its share of the time.
    for (const part of parts) {
      const work = part.objects.change(writers, rate, part.next);
      const [result] = (await this.#writer?.run([work], seconds / parts.length, part.objects.changes)) ?? [];
      if (result === undefined) throw new Error("Nothing was changed");
      part.next = result.next;
      results.push(result);
    }
    const reports: WatchReport[] = [];
    const faults = faultsOf(results);
    for (const { objects, watchers, before: first } of parts) {
      const wanted = objects.expected(watchers.count, first);
      const report = await watchers.settled(wanted);
      faults.push(...report.faults(wanted));
      reports.push(report);
    }
    const took = (performance.now() - begun) / 1000;
    const rows = reports.map((report, index) => eventsRow(report, eventsBefore[index] ?? 0, took));
    const changes = results.map((result) => ({ ...rowOf(result), isCause: true }));
    return { rows: [...rows, ...changes], faults };
  }
}

/** What watches saw since `before` events. */
export function eventsRow(report: WatchReport, before: number, seconds: number): Row {
  return {
    name: "events",
    count: report.sum("events") - before,
    seconds,
    bytes: report.sum("bytes"),
    failures: {},
    latency: report.times("latency"),
    skew: report.skew(),
  };
}
