// Writes at a steady pace: objects of one collection are created, replaced and deleted, each by one request at a time.
import type { TestServer } from "../support/server.ts";

/** What is written. */
export interface LoadOptions {
  readonly collection: string;
  /** Requests that are begun each second. */
  readonly perSecond: number;
  /** How many objects there are at most. */
  readonly objects: number;
  /** What an object is besides its name. */
  readonly contentOf: (count: number) => object;
}

const paceMs = 5;
/** More are not begun: a server that takes less is not flooded. */
const underWayMax = 64;

/** Requests of some time. */
export interface LoadFigures {
  readonly seconds: number;
  readonly writes: number;
  readonly perSecond: number;
  /** Least of all whole seconds. */
  readonly perSecondMin: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

interface Done {
  readonly atMs: number;
  readonly tookMs: number;
}

/** A load on one server. */
export class Load {
  /** Answers that are no success. */
  readonly errors: string[] = [];
  readonly #server: TestServer;
  readonly #options: LoadOptions;
  readonly #isThere: boolean[];
  readonly #isBusy: boolean[];
  readonly #done: Done[] = [];
  readonly #timer: NodeJS.Timeout;
  readonly #startedMs = performance.now();
  #begun = 0;
  #missed = 0;
  #underWay = 0;
  #count = 0;

  constructor(server: TestServer, options: LoadOptions) {
    this.#server = server;
    this.#options = options;
    this.#isThere = Array.from({ length: options.objects }, () => false);
    this.#isBusy = [...this.#isThere];
    this.#timer = setInterval(() => this.#begin(), paceMs);
  }

  /** Begins no more, and waits for those under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    while (this.#underWay > 0) await new Promise((resolve) => setTimeout(resolve, paceMs));
  }

  /** Writes that were acknowledged in a time, ms of performance.now(). */
  figures(fromMs: number, toMs: number): LoadFigures {
    const done = this.#done.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
    const sorted = done.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
    const at = (part: number): number => Math.round(sorted[Math.floor(sorted.length * part)] ?? 0);
    const whole = Math.floor((toMs - fromMs) / 1000);
    const counts = Array.from({ length: whole }, () => 0);
    for (const { atMs } of done) {
      const second = Math.floor((atMs - fromMs) / 1000);
      if (second < whole) counts[second] = (counts[second] as number) + 1;
    }
    const seconds = (toMs - fromMs) / 1000;
    return {
      seconds: Math.round(10 * seconds) / 10,
      writes: done.length,
      perSecond: Math.round(done.length / seconds),
      perSecondMin: whole > 0 ? Math.min(...counts) : Math.round(done.length / seconds),
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      maxMs: Math.round(sorted.at(-1) ?? 0),
    };
  }

  /** What is due by now. What could not be begun in time is not made up for. */
  #begin(): void {
    const { perSecond } = this.#options;
    const due = Math.floor(((performance.now() - this.#startedMs) * perSecond) / 1000) - this.#missed;
    for (; this.#begun < due; this.#begun += 1) {
      if (this.#underWay < underWayMax) void this.#write(this.#next());
      else {
        this.#missed += due - this.#begun;
        return;
      }
    }
  }

  /** The next object that no request is under way for. */
  #next(): number {
    for (;;) {
      const index = (this.#count += 1) % this.#options.objects;
      if (this.#isBusy[index] !== true) return index;
    }
  }

  async #write(index: number): Promise<void> {
    const { collection, contentOf } = this.#options;
    const name = `w-${index}`;
    const object = { ...contentOf(this.#count), metadata: { name } };
    const isThere = this.#isThere[index] === true;
    const method = !isThere ? "POST" : this.#count % 10 === 0 ? "DELETE" : "PUT";
    this.#isBusy[index] = true;
    this.#underWay += 1;
    const startedMs = performance.now();
    try {
      const path = method === "POST" ? collection : `${collection}/${name}`;
      const { code, text } = await this.#server.call(method, path, method === "DELETE" ? undefined : object);
      const atMs = performance.now();
      if (code === 200 || code === 201) this.#done.push({ atMs, tookMs: atMs - startedMs });
      else this.errors.push(`${method} ${name}: ${code} ${text}`);
      this.#isThere[index] = method !== "DELETE";
    } catch (error) {
      this.errors.push(`${method} ${name}: ${String(error)}`);
    } finally {
      this.#isBusy[index] = false;
      this.#underWay -= 1;
    }
  }
}
