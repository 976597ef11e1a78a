// Marked objects under watches: who watches what, what each watch must have seen, and how far it was from the first
// watcher to the last.
import { Histogram } from "../harness/histogram.ts";
import type { LoadProcess } from "../harness/loadprocess.ts";
import type { LoadSource } from "../harness/scenario.ts";
import type { Scope } from "../harness/scope.ts";
import type { WatchResult, WatchWork, Work } from "../harness/work.ts";

/** How objects and watches of them are spread. */
export interface Spread {
  readonly objects: number;
  readonly objectBytes: number;
  /** Objects have one of so many labels, and each watch selects one; 1: watches select nothing. */
  readonly selectors: number;
  readonly protobuf: boolean;
}

const prepareSeconds = 120;
/** How long events are waited for that are still on their way. */
const settleMsMax = 30_000;
const spanWords = 5;

/** Config maps of one namespace that carry marks. */
export class MarkedObjects {
  readonly scope: Scope;
  readonly #spread: Spread;
  /** The newest change of each object. */
  readonly changes: Int32Array;

  constructor(scope: Scope, spread: Spread) {
    this.scope = scope;
    this.#spread = spread;
    this.changes = new Int32Array(spread.objects);
  }

  get path(): string {
    return `${this.scope.path}/configmaps`;
  }

  /** Makes all objects. */
  async make(process: LoadProcess): Promise<void> {
    const work: Work = {
      ...{ name: "prepare", method: "POST", path: this.path, body: this.#body(), wanted: 201, connections: 8, rate: 0 },
      ...{ from: 0, countMax: this.#spread.objects },
    };
    const [result] = await process.run([work], prepareSeconds, this.changes);
    if (result?.count !== this.#spread.objects) throw new Error(`Objects were not made: ${JSON.stringify(result)}`);
  }

  /** What changes the objects in turn. */
  change(connections: number, rate: number, from: number): Work {
    const path = `${this.path}/${this.#name()}`;
    const { objects } = this.#spread;
    return {
      ...{ name: "changes", method: "PUT", path, body: this.#body(), wanted: 200, connections, rate, objects },
      from: Math.ceil(from / objects) * objects,
    };
  }

  /** Watches of these objects from a version on, and which label the watches of each list select. */
  watches(count: number, version: string, stuck = false): WatchWork[] {
    const { selectors, protobuf } = this.#spread;
    return Array.from({ length: Math.min(selectors, count) }, (_, group): WatchWork => {
      const selector = selectors === 1 ? "" : `&labelSelector=group%3Dg${group}`;
      const own = Math.floor(count / selectors) + (group < count % selectors ? 1 : 0);
      const path = `${this.path}?watch=1&allowWatchBookmarks=true&resourceVersion=${version}${selector}`;
      return { path, protobuf, count: own, stuck, reads: "marks" };
    });
  }

  /** Events that as many watches see of the changes since `before`. */
  expected(count: number, before: Int32Array): number {
    const { selectors } = this.#spread;
    let events = 0;
    for (let object = 0; object < this.changes.length; object += 1) {
      const group = object % selectors;
      const watches = Math.floor(count / selectors) + (group < count % selectors ? 1 : 0);
      events += watches * ((this.changes[object] ?? 0) - (before[object] ?? 0));
    }
    return events;
  }

  #name(): string {
    return `object-<n%${this.#spread.objects}:4>`;
  }

  #body(): string {
    const { objects, objectBytes, selectors } = this.#spread;
    const group = selectors === 1 ? "" : `,"labels":{"group":"g<n%${objects}>"}`;
    if (selectors > 1 && objects !== selectors) throw new Error("--selectors: as many as --objects, or 1");
    // What an object takes beside its padding, as it is stored.
    const pad = "p".repeat(Math.max(0, objectBytes - 420));
    const metadata = `{"name":"${this.#name()}","namespace":"${this.scope.namespace}"${group}}`;
    const data = `{"pad":"${pad}","seq":"<mark%${objects}>"}`;
    return `{"kind":"ConfigMap","apiVersion":"v1","metadata":${metadata},"data":${data}}`;
  }
}

/** Processes that hold watches. */
export class Watchers {
  readonly #processes: readonly LoadProcess[];
  readonly count: number;

  private constructor(processes: readonly LoadProcess[], count: number) {
    this.#processes = processes;
    this.count = count;
  }

  /** Starts processes; their watches are opened later. */
  static async start(load: LoadSource, processes: number, count: number): Promise<Watchers> {
    const started: LoadProcess[] = [];
    for (let index = 0; index < processes; index += 1) started.push(await load.start());
    return new Watchers(started, count);
  }

  /** Opens watches, divided among the processes. */
  async open(watches: readonly WatchWork[], last: Int32Array = new Int32Array(0)): Promise<void> {
    const lines = this.#processes.map((): WatchWork[] => []);
    for (const watch of watches) {
      lines.forEach((line, index) => {
        const share = Math.floor(watch.count / lines.length) + (index < watch.count % lines.length ? 1 : 0);
        if (share > 0) line.push({ ...watch, count: share });
      });
    }
    await Promise.all(this.#processes.map((process, index) => process.watch(lines[index] ?? [], last)));
  }

  /** Closes all of them. */
  async drop(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.drop()));
  }

  /** What all of them saw. */
  async report(isReset = false): Promise<WatchReport> {
    return new WatchReport(await Promise.all(this.#processes.map((process) => process.report(isReset))));
  }

  /** Waits until so many events were seen since they were started, or for half a minute. */
  settled(events: number): Promise<WatchReport> {
    return this.reported((seen) => seen.sum("events") >= events);
  }

  /** Waits until what they saw is what it should be, or for half a minute. */
  async reported(isComplete: (seen: WatchReport) => boolean): Promise<WatchReport> {
    const end = performance.now() + settleMsMax;
    for (let seen = await this.report(); ; seen = await this.report()) {
      if (isComplete(seen) || performance.now() > end) return seen;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** What watches of all processes saw. */
export class WatchReport {
  readonly #results: readonly WatchResult[];

  constructor(results: readonly WatchResult[]) {
    this.#results = results;
  }

  sum(what: "events" | "bytes" | "gaps" | "torn" | "errors" | "closed" | "open"): number {
    return this.#results.reduce((sum, result) => sum + result[what], 0);
  }

  /** From when a change was sent, or from when opening began. */
  times(what: "latency" | "opening"): Histogram {
    const all = new Histogram();
    for (const result of this.#results) all.merge(Histogram.decode(result[what]));
    return all;
  }

  /** Tries of opening that failed. */
  retries(): Record<string, number> {
    const all = new Map<string, number>();
    for (const { retries } of this.#results) {
      for (const [why, count] of Object.entries(retries)) all.set(why, (all.get(why) ?? 0) + count);
    }
    return Object.fromEntries(all);
  }

  /** From the first watcher of a change to the last. */
  skew(): Histogram {
    const spans = new Map<string, [first: number, last: number]>();
    for (const result of this.#results) {
      for (let at = 0; at < result.spans.length; at += spanWords) {
        const [object, change, first = 0, last = 0] = result.spans.subarray(at, at + spanWords);
        const key = `${object}/${change}`;
        const [firstBefore, lastBefore] = spans.get(key) ?? [first, last];
        spans.set(key, [Math.min(first, firstBefore), Math.max(last, lastBefore)]);
      }
    }
    const skew = new Histogram();
    for (const [first, last] of spans.values()) skew.add(last - first);
    return skew;
  }

  /** Why what they saw counts for nothing. `events`: how many there should be; undefined: not known. */
  faults(events: number | undefined): string[] {
    const found: string[] = [];
    const seen = this.sum("events");
    if (events !== undefined && seen !== events)
      found.push(`Watches saw ${seen} events, and should have seen ${events}`);
    for (const [what, text] of [
      ["gaps", "events were missed, seen twice or out of order"],
      ["torn", "events were torn"],
      ["errors", "watches were ended by an ERROR event"],
      ["closed", "watches were closed"],
    ] as const) {
      const count = this.sum(what);
      if (count > 0) found.push(`${count} ${text}`);
    }
    return found;
  }
}
