// Measures rounds: what each process used meanwhile, how busy the load's own processes and the machine were, and what
// happened when.
import { loadavg } from "node:os";
import { LoadProcess } from "./loadprocess.ts";
import { isRunning, type NamedProcesses, threadCpu, usageOf } from "./processes.ts";
import type { Case, LoadSource, Row } from "./scenario.ts";
import { type Reading, readMetrics, type Stages, stagesBetween } from "./stages.ts";
import type { Target } from "./target.ts";
import type { Tick } from "./work.ts";

const sampleMs = 500;
/** A process that has had so much of a core cannot give more load. */
const busyShare = 0.9;
/** A thread that has had so much of a core is what bounds a server. */
const busyThreadShare = 0.85;

/** Units end the names. */
export type Figures = Readonly<Record<string, number>>;

/** A moment of a round. */
export interface Sample {
  /** Since the round began, seconds. */
  readonly t: number;
  /** Percent of a core since the sample before, by name of the process. */
  readonly cpu: Readonly<Record<string, number>>;
  readonly memoryMib: Readonly<Record<string, number>>;
}

/** What was counted in a second. */
export interface Counted extends Tick {
  readonly t: number;
}

/** One kind of requests in a round. */
export interface MeasuredRow {
  readonly name: string;
  readonly isCause: boolean;
  readonly figures: Figures;
  /** Names of those that only this scenario has. */
  readonly own: readonly string[];
  /** Milliseconds at each of `curveShares`, and the same of skew; empty: there is none. */
  readonly curve: readonly number[];
  readonly skewCurve: readonly number[];
}

/** Shares of all values of which latencies are drawn. */
export const curveShares = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999, 1] as const;

/** One round of one case on one server. */
export interface Measured {
  readonly case: string;
  /** Seconds since the run began. */
  readonly at: number;
  readonly rows: readonly MeasuredRow[];
  /** Of an average request; undefined: the server does not tell. */
  readonly stages: Stages | undefined;
  /** Of the round as a whole. */
  readonly figures: Figures;
  readonly faults: readonly string[];
  /** What to know of it that is no fault. */
  readonly hints: readonly string[];
  readonly samples: readonly Sample[];
  readonly counted: readonly Counted[];
  /** It was ended before its time: what happened until then is there, and no figures. */
  readonly isPartial?: true;
}

/** A server with the processes that load it. */
export class Subject implements LoadSource {
  readonly target: Target;
  readonly #processes: LoadProcess[] = [];
  #counted: Counted[] = [];
  #begun = 0;
  /** Hears of every second. */
  readonly #live: (ticks: readonly Tick[]) => void;
  /** The round that runs. */
  #running: { readonly case: string; readonly at: number; readonly sampler: Sampler } | undefined;
  #isAbandoned = false;
  #fail: (error: Error) => void = () => undefined;
  /** Rejects when a process of the load has died. */
  readonly failed: Promise<never>;

  constructor(target: Target, live: (ticks: readonly Tick[]) => void) {
    this.target = target;
    this.#live = live;
    this.failed = new Promise((_, reject) => (this.#fail = reject));
    this.failed.catch(() => undefined);
  }

  async start(): Promise<LoadProcess> {
    const take = (ticks: readonly Tick[]): void => {
      const t = (performance.now() - this.#begun) / 1000;
      for (const tick of ticks) this.#counted.push({ ...tick, t });
      this.#live(ticks);
    };
    const started = await LoadProcess.start(this.target.endpoint, take, (why) => this.#fail(new Error(why)));
    this.#processes.push(started);
    // The run was ended while it started.
    if (this.#isAbandoned) started.kill();
    return started;
  }

  /** Runs a round of a case. */
  async measure(one: Case, seconds: number, runBegun: number): Promise<Measured> {
    const { processes } = this.target;
    const clients = this.#processes.map(({ pid }) => pid);
    const at = (performance.now() - runBegun) / 1000;
    this.#counted = [];
    const metricsBefore = await readMetrics(this.target.connection);
    this.#begun = performance.now();
    const sampler = new Sampler([...processes, { name: "client", pids: clients }]);
    this.#running = { case: one.name, at, sampler };
    const threads = threadCpu(processes.flatMap(({ pids }) => pids));
    const clientsBefore = clients.map((pid) => usageOf([pid]).cpuUs);
    const { rows, faults } = await one.run(seconds);
    const tookUs = (performance.now() - this.#begun) * 1000;
    const busiest =
      Math.max(0, ...clients.map((pid, index) => usageOf([pid]).cpuUs - (clientsBefore[index] ?? 0))) / tookUs;
    const hints = busyThreads(threads, threadCpu(processes.flatMap(({ pids }) => pids)), tookUs);
    if (busiest > busyShare) {
      hints.unshift(
        `client-bound: a process of the load had ${Math.round(busiest * 100)} % of a core; CPU per operation counts, rates and latencies are the client's`,
      );
    }
    const { figures, samples } = sampler.end(rows);
    this.#running = undefined;
    const metricsAfter = await readMetrics(this.target.connection);
    hints.push(...busyLoops(metricsAfter), ...rejections(metricsBefore, metricsAfter));
    const gone = processes.flatMap(({ name, pids }) =>
      pids.filter((pid) => !isRunning(pid)).map(() => `${name} has ended`),
    );
    return {
      // A copy: the preparation of the next round counts on.
      ...{ case: one.name, at, samples, hints, counted: [...this.#counted] },
      figures: { ...figures, clientShare: busiest, load: loadavg()[0] ?? 0 },
      rows: rows.map((row) => ({
        ...{ name: row.name, isCause: row.isCause === true, figures: figuresOf(row) },
        own: Object.keys(row.figures ?? {}),
        curve: curveShares.map((share) => row.latency.at(share)),
        skewCurve: row.skew === undefined ? [] : curveShares.map((share) => row.skew?.at(share) ?? 0),
      })),
      stages: stagesOf(metricsBefore, metricsAfter, rows),
      faults: [...faults, ...gone],
    };
  }

  /** Ends its processes at once; returns what is known of the round that ran. */
  abandon(): Measured | undefined {
    this.#isAbandoned = true;
    for (const process of this.#processes) process.kill();
    // An exchange that is under way ends with that.
    this.target.connection.close();
    const running = this.#running;
    this.#running = undefined;
    if (running === undefined) return undefined;
    const { samples } = running.sampler.end([]);
    return {
      ...{ case: running.case, at: running.at, samples, counted: this.#counted, isPartial: true },
      ...{ rows: [], figures: {}, stages: undefined, faults: [], hints: [] },
    };
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.stop()));
  }
}

/** CPU and memory of some processes, over the time of a round. */
class Sampler {
  readonly #named: readonly NamedProcesses[];
  readonly #first: readonly number[];
  readonly #samples: Sample[] = [];
  readonly #begun = performance.now();
  #last: readonly number[];
  #lastAt = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(named: readonly NamedProcesses[]) {
    this.#named = named;
    this.#first = named.map(({ pids }) => usageOf(pids).cpuUs);
    this.#last = this.#first;
    this.#timer = setInterval(() => this.#sample(), sampleMs);
  }

  end(rows: readonly Row[]): { figures: Figures; samples: readonly Sample[] } {
    clearInterval(this.#timer);
    this.#sample();
    const operations = rows.filter(({ isCause }) => isCause !== true).reduce((sum, { count }) => sum + count, 0);
    const figures: Record<string, number> = {};
    let total = 0;
    const seconds = (performance.now() - this.#begun) / 1000;
    this.#named.forEach(({ name, pids }, index) => {
      const { cpuUs, residentBytes, ownBytes } = usageOf(pids);
      const used = cpuUs - (this.#first[index] ?? 0);
      if (name !== "client") total += used;
      figures[`${name}.cpuUs`] = operations === 0 ? 0 : used / operations;
      figures[`${name}.cpuPercent`] = used / seconds / 10_000;
      figures[`${name}.memoryMib`] = residentBytes / 2 ** 20;
      figures[`${name}.ownMemoryMib`] = ownBytes / 2 ** 20;
      figures[`${name}.growthMibPerHour`] = this.#growth(name);
    });
    figures["cpuUs"] = operations === 0 ? 0 : total / operations;
    return { figures, samples: this.#samples };
  }

  /** How memory grows over the second half of the round, MiB per hour: the slope of its line of least squares. */
  #growth(name: string): number {
    const half = this.#samples.slice(this.#samples.length >> 1);
    const points = half.map(({ t, memoryMib }) => [t / 3600, memoryMib[name] ?? 0] as const);
    const mean = (at: 0 | 1): number => points.reduce((sum, point) => sum + point[at], 0) / points.length;
    const [hours, mib] = [mean(0), mean(1)];
    const spread = points.reduce((sum, [x]) => sum + (x - hours) ** 2, 0);
    return spread === 0 ? 0 : points.reduce((sum, [x, y]) => sum + (x - hours) * (y - mib), 0) / spread;
  }

  #sample(): void {
    const now = performance.now() - this.#begun;
    if (now - this.#lastAt < sampleMs / 4) return;
    const usages = this.#named.map(({ pids }) => usageOf(pids));
    const percent = usages.map(({ cpuUs }, index) => (cpuUs - (this.#last[index] ?? 0)) / (now - this.#lastAt) / 10);
    const names = this.#named.map(({ name }) => name);
    this.#samples.push({
      t: now / 1000,
      cpu: Object.fromEntries(names.map((name, index) => [name, Math.max(0, percent[index] ?? 0)])),
      memoryMib: Object.fromEntries(names.map((name, index) => [name, (usages[index]?.residentBytes ?? 0) / 2 ** 20])),
    });
    this.#last = usages.map(({ cpuUs }) => cpuUs);
    this.#lastAt = now;
  }
}

function busyThreads(
  before: ReturnType<typeof threadCpu>,
  after: ReturnType<typeof threadCpu>,
  tookUs: number,
): string[] {
  const found: string[] = [];
  for (const [id, { name, cpuUs }] of after) {
    const share = (cpuUs - (before.get(id)?.cpuUs ?? 0)) / tookUs;
    if (share > busyThreadShare)
      found.push(`server-bound: thread ${name} (${id}) had ${Math.round(share * 100)} % of a core`);
  }
  return found;
}

/** Of requests; of events there is no telling. */
function stagesOf(before: Reading | undefined, after: Reading | undefined, rows: readonly Row[]): Stages | undefined {
  const requests = rows.filter(({ skew }) => skew === undefined);
  const count = requests.reduce((sum, { latency }) => sum + latency.count, 0);
  if (before === undefined || after === undefined || count === 0) return undefined;
  const waited = requests.reduce((sum, { latency }) => sum + latency.meanMs * latency.count, 0);
  return stagesBetween(before, after, waited / count);
}

function busyLoops(reading: Reading | undefined): string[] {
  const busy = [...(reading?.busyLoops ?? [])].filter(([, share]) => share > busyThreadShare);
  return busy.map(
    ([thread, share]) => `server-bound: the loop of ${thread} was busy ${Math.round(share * 100)} % of the time`,
  );
}

function rejections(before: Reading | undefined, after: Reading | undefined): string[] {
  if (before === undefined || after === undefined) return [];
  const found: string[] = [];
  for (const [level, count] of after.rejected) {
    const more = count - (before.rejected.get(level) ?? 0);
    if (more > 0) found.push(`flow control rejected ${more} requests of the priority level ${level}`);
  }
  return found;
}

function figuresOf({ count, seconds, bytes, latency, failures, firstByte, skew, figures }: Row): Figures {
  const failed = Object.values(failures).reduce((sum, times) => sum + times, 0);
  return {
    count,
    perSecond: count / seconds,
    p50Ms: latency.at(0.5),
    p90Ms: latency.at(0.9),
    p99Ms: latency.at(0.99),
    p999Ms: latency.at(0.999),
    maxMs: latency.at(1),
    mibPerSecond: bytes / seconds / 2 ** 20,
    failed,
    ...(firstByte === undefined ? {} : { firstByteP50Ms: firstByte.at(0.5) }),
    ...(skew === undefined ? {} : { skewP50Ms: skew.at(0.5), skewP99Ms: skew.at(0.99) }),
    ...figures,
  };
}
