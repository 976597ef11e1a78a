// The watches of one process: opened, read, checked, dropped and opened again.
import { Connection, type Endpoint } from "./connection.ts";
import { markedFrames, versionFrames } from "./frames.ts";
import { Histogram } from "./histogram.ts";
import { LineReader } from "./lines.ts";
import { type EventReader, type Findings, microseconds } from "./marks.ts";
import { VersionReader } from "./versions.ts";
import { protobufType, type Tick, type WatchResult, type WatchWork } from "./work.ts";

/** Handshakes at once: one takes half a millisecond of each side. */
const openingMax = 50;
const triesMax = 200;
const spanWords = 5;
/** Objects and changes of them in one number. */
const changesMax = 2 ** 40;

/** All watches of a process. */
export class Watching implements Findings {
  readonly #endpoint: Endpoint;
  readonly #watches = new Set<Connection>();
  readonly #latency = new Histogram();
  readonly #second = new Histogram();
  readonly #opening = new Histogram();
  readonly #retries = new Map<string, number>();
  /** By object and change: when it was first and last here, and by how many watches. */
  #spans = new Map<number, [firstUs: number, lastUs: number, count: number]>();
  #open = 0;
  #closed = 0;
  events = 0;
  bytes = 0;
  gaps = 0;
  torn = 0;
  errors = 0;

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
  }

  /** A reader has seen a change. */
  event(object: number, change: number, sentUs: number): void {
    const now = microseconds();
    this.#latency.add(now - sentUs);
    this.#second.add(now - sentUs);
    const key = object * changesMax + change;
    const span = this.#spans.get(key);
    if (span === undefined) this.#spans.set(key, [now, now, 1]);
    else {
      span[1] = now;
      span[2] += 1;
    }
  }

  /** Opens watches; `last`: the change of each object that is there already. Resolves when all are open. */
  async open(watches: readonly WatchWork[], last: Int32Array): Promise<void> {
    const wanted = watches.flatMap((watch) => Array.from({ length: watch.count }, () => watch));
    let next = 0;
    const line = async (): Promise<void> => {
      for (let index = next++; index < wanted.length; index = next++)
        await this.#watch(wanted[index] as WatchWork, last);
    };
    await Promise.all(Array.from({ length: openingMax }, line));
  }

  /** Closes all of them at once. */
  drop(): void {
    const dropped = [...this.#watches];
    this.#watches.clear();
    for (const watch of dropped) watch.close();
    this.#open = 0;
  }

  /** What was seen; histograms and spans since the last reset. */
  report(isReset: boolean): WatchResult {
    const spans = new Float64Array(this.#spans.size * spanWords);
    let at = 0;
    for (const [key, [first, last, count]] of this.#spans) {
      spans.set([Math.floor(key / changesMax), key % changesMax, first, last, count], at);
      at += spanWords;
    }
    const { events, bytes, gaps, torn, errors } = this;
    const report = {
      ...{ open: this.#open, events, bytes, gaps, torn, errors, closed: this.#closed },
      retries: Object.fromEntries(this.#retries),
      latency: this.#latency.encode(),
      opening: this.#opening.encode(),
      spans,
    };
    if (isReset) {
      this.#latency.reset();
      this.#opening.reset();
      this.#spans = new Map();
      this.#retries.clear();
    }
    return report;
  }

  /** What happened since the last call. */
  tick(): Tick {
    const { count } = this.#second;
    const tick = { name: "events", count, failures: 0, p50Ms: this.#second.at(0.5), p99Ms: this.#second.at(0.99) };
    this.#second.reset();
    return tick;
  }

  /** Opens one; refusals and broken connections are tried again, as clients do. */
  async #watch(work: WatchWork, last: Int32Array): Promise<void> {
    const begun = performance.now();
    for (let tries = 1; ; tries += 1) {
      const refused = await this.#try(work, last, begun);
      if (refused === undefined) return;
      // What it would go on from is not kept any more: told as it is where the answer begins before that is known.
      if (refused === "code 410") return void (this.errors += 1);
      this.#retries.set(refused, (this.#retries.get(refused) ?? 0) + 1);
      if (tries >= triesMax) throw new Error(`A watch of ${work.path} was not opened: ${refused}`);
      await new Promise((resolve) => setTimeout(resolve, Math.min(2000, 20 * 2 ** tries) * (0.5 + Math.random())));
    }
  }

  /** Resolves when it is open, with nothing, or with what stood against it. */
  #try(work: WatchWork, last: Int32Array, begun: number): Promise<string | undefined> {
    const connection = new Connection(this.#endpoint);
    const reader = this.#readerOf(work, last);
    return new Promise((resolve) => {
      let isOpen = false;
      const ended = connection.send(
        {
          method: "GET",
          path: work.path,
          accept: work.protobuf ? `${protobufType};stream=watch` : "application/json",
        },
        {
          head: (code) => {
            if (code !== 200) return;
            isOpen = true;
            this.#open += 1;
            this.#watches.add(connection);
            this.#opening.add((performance.now() - begun) * 1000);
            if (work.stuck) connection.pause();
            resolve(undefined);
          },
          body: (bytes, from, end) => {
            if (isOpen) reader.push(bytes, from, end);
          },
        },
      );
      void ended.then(({ code }) => {
        connection.close();
        if (!isOpen) return resolve(code === 0 ? "connection broke" : `code ${code}`);
        if (!this.#watches.delete(connection)) return;
        this.#open -= 1;
        this.#closed += 1;
      });
    });
  }

  #readerOf({ reads, protobuf }: WatchWork, last: Int32Array): EventReader {
    if (protobuf) return reads === "versions" ? versionFrames(this) : markedFrames(this, last);
    return reads === "versions" ? new VersionReader(this) : new LineReader(this, last);
  }
}
