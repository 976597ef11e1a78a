// A crash: the server's process is killed under watches, starts again with its data, and everybody comes back.
import { within } from "../../src/base/within.ts";
import { Connection } from "../harness/connection.ts";
import { Histogram } from "../harness/histogram.ts";
import type { LoadProcess } from "../harness/loadprocess.ts";
import type { Figures } from "../harness/measure.ts";
import { restedMemory, restFlag } from "../harness/memory.ts";
import type { Usage } from "../harness/processes.ts";
import type { LoadSource, Options, Round, Row, Scenario, Session } from "../harness/scenario.ts";
import { Scope } from "../harness/scope.ts";
import type { Target } from "../harness/target.ts";
import { faultsOf, protobufType, type Work } from "../harness/work.ts";
import { wait } from "../results.ts";
import { PodRequests, prepareSecondsOf } from "./requests.ts";
import { MarkedObjects, Watchers, type WatchReport } from "./watchers.ts";
import { rowOf } from "./write.ts";

const spread = { objects: 16, objectBytes: 2048, selectors: 1, protobuf: false } as const;
/** Changes before the crash that a watch finds when it goes on, seconds and per second; as many follow after it. */
const [changesSeconds, changesRate] = [1, 50];
/** How often it is asked whether a server is ready, how long an answer may take, and all of it. */
const [askEveryMs, askMsMax, readyMsMax] = [5, 2000, 120_000];
/** Lists after the start: the first finds nothing made before. */
const lists = 8;
const listSecondsMax = 120;

/** `npm run perf -- crash`. */
export const crash: Scenario = {
  name: "crash",
  summary: "the server is killed and starts again, and its watches come back",
  detail:
    "Before each round objects change, the process that serves is killed (SIGKILL) and started again with its data. ready is " +
    "the time until /readyz is answered 200. All watches come back from the version before the last changes, tried again with " +
    "backoff as clients do: reopen counts them, its latency is from the first try of each, fifty at a time in a process, and " +
    "relists are those that were told 410 and would list again. Then the server rests and its memory is read (ownMib, " +
    "rssMib, of all its processes; loadedOwnMib and loadedRssMib were before the first crash), objects change once more, and " +
    "all pods are listed eight times, by one connection in protobuf: firstMs is the first list. A run is void when a pod or a " +
    "change is not there any more, or when a watch that was not told 410 misses an event or gets one twice. --duration means " +
    "nothing here.",
  flags: {
    objects: ["10000", "pods there are (5 KiB stored)"],
    watchers: ["1000", "watches of other objects; 0: none"],
    processes: ["2", "processes that hold them"],
    ...restFlag,
  },
  seconds: 1,
  examples: [
    "npm run perf -- crash --objects=300 --watchers=50 --warmup=0 --rest=5",
    "npm run perf -- crash --watchers=10000 --warmup=0 --threshold='reopen.relists<100'",
  ],
  async open(target: Target, options: Options, load: LoadSource): Promise<Session> {
    if (target.restart === undefined) throw new Error("crash needs a server that is started for the run (--start)");
    const crashes = await Crashes.open(target, options, load);
    return {
      cases: [{ name: "crash", prepare: () => crashes.crash(), run: () => crashes.run() }],
      // The server goes, and its data with it.
      close: () => Promise.resolve(),
    };
  },
};

/** Watches that went on after a crash, and those that were told 410. */
interface Back {
  readonly report: WatchReport;
  readonly relists: number;
  readonly faults: readonly string[];
}

class Crashes {
  readonly #target: Target;
  readonly #options: Options;
  readonly #pods: PodRequests;
  readonly #objects: MarkedObjects;
  readonly #process: LoadProcess;
  readonly #watchers: Watchers;
  readonly #count: number;
  #next = 0;
  #loaded: Figures = {};
  /** Of the last crash. */
  #seen: Round = { rows: [], faults: [] };

  private constructor(target: Target, options: Options, scope: Scope, process: LoadProcess, watchers: Watchers) {
    this.#target = target;
    this.#options = options;
    this.#pods = new PodRequests(scope.path, { connections: 16, rate: 0 });
    this.#objects = new MarkedObjects(scope, spread);
    this.#process = process;
    this.#watchers = watchers;
    this.#count = options.number("objects", 1);
  }

  /** Makes pods, and objects that change. */
  static async open(target: Target, options: Options, load: LoadSource): Promise<Crashes> {
    const watches = options.number("watchers");
    const watchers = await Watchers.start(load, watches === 0 ? 0 : options.number("processes", 1), watches);
    const made = new Crashes(target, options, await Scope.open(target), await load.start(), watchers);
    const count = made.#count;
    await made.#process.prepare({ ...made.#pods.createIdle("p"), countMax: count }, prepareSecondsOf(count));
    await made.#objects.make(made.#process);
    made.#loaded = memoryFigures(await restedMemory(target, options), "loadedOwnMib", "loadedRssMib");
    return made;
  }

  /** Watches and changes, the crash, the way back, and changes again. */
  async crash(): Promise<void> {
    const { count } = this.#watchers;
    await this.#watchers.drop();
    await this.#openFrom(await this.#version(), this.#objects.changes);
    const [version, last] = [await this.#version(), this.#objects.changes.slice()];
    const faults = await this.#change();
    const before = await this.#watchers.report(true);
    const begun = performance.now();
    const restarted = this.#target.restart?.("killed");
    const [readyMs] = await Promise.all([untilReady(this.#target, begun), this.#openFrom(version, last), restarted]);
    const back = await this.#back(before, last);
    const memory = memoryFigures(await restedMemory(this.#target, this.#options), "ownMib", "rssMib");
    const retries = Object.values(back.report.retries()).reduce((sum, times) => sum + times, 0);
    const common = { seconds: readyMs / 1000, bytes: 0, failures: {}, isCause: true };
    const ready = new Histogram();
    ready.add(readyMs * 1000);
    const reopened = { name: "reopen", count: count - back.relists, latency: back.report.times("opening") };
    this.#seen = {
      rows: [
        { ...common, name: "ready", count: 1, latency: ready, figures: { ...memory, ...this.#loaded } },
        { ...common, ...reopened, figures: { relists: back.relists, retries } },
      ],
      faults: [...faults, ...back.faults, ...(await this.#change(count - back.relists))],
    };
  }

  /** Lists of all pods, the first ones of this start. */
  async run(): Promise<Round> {
    const list: Work = {
      ...{ name: "list", method: "GET", path: this.#pods.path, accept: protobufType, wanted: 200, connections: 1 },
      ...{ rate: 0, from: 0 },
    };
    const first = await this.#process.run([{ ...list, countMax: 1 }], listSecondsMax);
    const others = await this.#process.run([{ ...list, countMax: lists - 1 }], listSecondsMax);
    const results = [...first, ...others];
    const rows = results.map(rowOf);
    const latency = new Histogram();
    for (const row of rows) latency.merge(row.latency);
    const found = (await this.#objects.scope.size(this.#pods.path)).count;
    const missing = found === this.#count ? [] : [`There are ${found} pods, and there should be ${this.#count}`];
    const firstMs = rows[0]?.latency.at(1) ?? 0;
    const seconds = rows.reduce((sum, row) => sum + row.seconds, 0);
    const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
    const counted = rows.reduce((sum, row) => sum + row.count, 0);
    const row: Row = { name: "list", count: counted, seconds, bytes, failures: {}, latency, figures: { firstMs } };
    return { rows: [row, ...this.#seen.rows], faults: [...this.#seen.faults, ...faultsOf(results), ...missing] };
  }

  async #version(): Promise<string> {
    return (await this.#objects.scope.size(this.#objects.path)).version;
  }

  async #openFrom(version: string, last: Int32Array): Promise<void> {
    const { count } = this.#watchers;
    if (count > 0) await this.#watchers.open(this.#objects.watches(count, version), last);
  }

  /** Changes objects; each of so many watches must see it. Returns why the round counts for nothing. */
  async #change(watches = this.#watchers.count): Promise<string[]> {
    const last = this.#objects.changes.slice();
    const before = (await this.#watchers.report()).sum("events");
    const work = this.#objects.change(8, changesRate, this.#next);
    const results = await this.#process.run([work], changesSeconds, this.#objects.changes);
    this.#next = results[0]?.next ?? this.#next;
    const wanted = before + this.#objects.expected(watches, last);
    return [...faultsOf(results), ...disorder(await this.#watchers.settled(wanted), wanted)];
  }

  /** Waits until each watch has seen again what changed since `last`, or was told 410. `before` it was reported this. */
  async #back(before: WatchReport, last: Int32Array): Promise<Back> {
    const { count } = this.#watchers;
    const relistsOf = (report: WatchReport): number => report.sum("errors") - before.sum("errors");
    const wantedOf = (report: WatchReport): number =>
      before.sum("events") + this.#objects.expected(count - relistsOf(report), last);
    const report = await this.#watchers.reported(
      (seen) => seen.sum("open") === count - relistsOf(seen) && seen.sum("events") >= wantedOf(seen),
    );
    const relists = relistsOf(report);
    const open = report.sum("open");
    const missing =
      open + relists === count ? [] : [`${open} watches came back, and there should be ${count - relists}`];
    return { report, relists, faults: [...missing, ...disorder(report, wantedOf(report))] };
  }
}

/** Why what watches saw counts for nothing, apart from those that ended. */
function disorder(report: WatchReport, events: number): string[] {
  const [seen, gaps, torn] = [report.sum("events"), report.sum("gaps"), report.sum("torn")];
  const found = seen === events ? [] : [`Watches saw ${seen} events, and should have seen ${events}`];
  if (gaps > 0) found.push(`${gaps} events were missed, seen twice or out of order`);
  if (torn > 0) found.push(`${torn} events were torn`);
  return found;
}

/** Milliseconds from `begun` until a server that was killed then says that it is ready. */
async function untilReady({ endpoint }: Target, begun: number): Promise<number> {
  let wasAway = false;
  while (performance.now() - begun < readyMsMax) {
    const connection = new Connection(endpoint);
    const answer = await within(connection.send({ method: "GET", path: "/readyz" }), askMsMax);
    connection.close();
    if (answer === "late" || answer.code === 0) wasAway = true;
    else if (answer.code === 200 && wasAway) return performance.now() - begun;
    await wait(askEveryMs);
  }
  throw new Error(`The server was not ready within ${readyMsMax / 1000} s of its crash`);
}

/** Memory of all processes together; none where they are not on this machine. */
function memoryFigures(usages: ReadonlyMap<string, Usage>, own: string, resident: string): Figures {
  if (usages.size === 0) return {};
  const sum = (of: "ownBytes" | "residentBytes"): number =>
    [...usages.values()].reduce((total, usage) => total + usage[of], 0) / 2 ** 20;
  return { [own]: sum("ownBytes"), [resident]: sum("residentBytes") };
}
