// A storm of requests of one kind. At a rate, a request is timed from the moment it was due, also when no connection was
// free then: a server that stalls is charged for all that would have been sent meanwhile (no coordinated omission).
import { Connection, type Endpoint } from "./connection.ts";
import { Histogram } from "./histogram.ts";
import { type Template, templateOf } from "./template.ts";
import type { Tick, Work, WorkResult } from "./work.ts";

/** How long answers are waited for when the time is over. */
const graceMs = 15_000;
/** How often requests that are due are looked for. */
const dueEveryMs = 1;

/** One kind of requests on its way. */
export class Storm {
  readonly #work: Work;
  readonly #connections: Connection[];
  readonly #path: Template;
  readonly #body: Template | undefined;
  readonly #latency = new Histogram();
  readonly #firstByte = new Histogram();
  readonly #second = new Histogram();
  readonly #failures = new Map<string, number>();
  readonly #underWay = new Set<number>();
  #failuresInSecond = 0;
  #count = 0;
  #bytes = 0;
  #unsent = 0;
  #next: number;
  #sent = 0;

  /** `changes`: of the objects that marks are of. */
  constructor(endpoint: Endpoint, work: Work, changes: Int32Array) {
    this.#work = work;
    this.#next = work.from;
    this.#connections = Array.from({ length: work.connections }, () => new Connection(endpoint));
    this.#path = templateOf(work.path, changes);
    this.#body = work.body === undefined ? undefined : templateOf(work.body, changes);
  }

  /** Runs for so many seconds, and until all that was sent is answered. */
  async run(seconds: number): Promise<WorkResult> {
    const begun = performance.now();
    const end = begun + seconds * 1000;
    if (this.#work.rate > 0) await this.#open(end);
    else await Promise.all(this.#connections.map((connection, index) => this.#closed(connection, index, end)));
    const took = (performance.now() - begun) / 1000;
    for (const connection of this.#connections) connection.close();
    return {
      name: this.#work.name,
      count: this.#count,
      bytes: this.#bytes,
      seconds: took,
      failures: Object.fromEntries(this.#failures),
      unsent: this.#unsent,
      next: this.#next,
      latency: this.#latency.encode(),
      firstByte: this.#firstByte.encode(),
    };
  }

  /** What happened since the last call. */
  tick(): Tick {
    const tick = {
      name: this.#work.name,
      count: this.#second.count,
      failures: this.#failuresInSecond,
      p50Ms: this.#second.at(0.5),
      p99Ms: this.#second.at(0.99),
    };
    this.#second.reset();
    this.#failuresInSecond = 0;
    return tick;
  }

  get #isLast(): boolean {
    return this.#sent >= (this.#work.countMax ?? Number.POSITIVE_INFINITY);
  }

  /** One connection, one request after the other. Of objects, each connection changes its own. */
  async #closed(connection: Connection, index: number, end: number): Promise<void> {
    const { objects, connections, from } = this.#work;
    for (let turn = 0; performance.now() < end && !this.#isLast; turn += 1) {
      let n = this.#next;
      if (objects === undefined) this.#next += 1;
      else {
        const own = Math.ceil((objects - index) / connections);
        if (own <= 0) return;
        n = from + index + (turn % own) * connections + Math.floor(turn / own) * objects;
        this.#next = Math.max(this.#next, n + 1);
      }
      this.#sent += 1;
      if (!(await this.#send(connection, n, performance.now()))) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** Requests at a rate. */
  async #open(end: number): Promise<void> {
    const { rate, objects } = this.#work;
    const begun = performance.now() + (this.#work.delaySeconds ?? 0) * 1000;
    const waiting: { n: number; due: number }[] = [];
    const free = [...this.#connections];
    const answers = new Set<Promise<unknown>>();
    const release = (connection: Connection, n: number): void => {
      free.push(connection);
      if (objects !== undefined) this.#underWay.delete(n % objects);
      dispatch();
    };
    const dispatch = (): void => {
      while (free.length > 0) {
        const at = objects === undefined ? 0 : waiting.findIndex(({ n }) => !this.#underWay.has(n % objects));
        const next = at < 0 ? undefined : waiting.splice(at, 1)[0];
        if (next === undefined) return;
        if (objects !== undefined) this.#underWay.add(next.n % objects);
        const connection = free.pop() as Connection;
        const answer = this.#send(connection, next.n, next.due).then(() => release(connection, next.n));
        answers.add(answer);
        void answer.then(() => answers.delete(answer));
      }
    };
    for (let now = performance.now(); now < end && !this.#isLast; now = performance.now()) {
      for (; begun + (this.#sent * 1000) / rate <= now && !this.#isLast; this.#sent += 1) {
        waiting.push({ n: this.#next++, due: begun + (this.#sent * 1000) / rate });
      }
      dispatch();
      await new Promise((resolve) => setTimeout(resolve, dueEveryMs));
    }
    const late = performance.now() + graceMs;
    while ((waiting.length > 0 || answers.size > 0) && performance.now() < late) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    this.#unsent = waiting.length + answers.size;
    for (const { due } of waiting) this.#latency.add((performance.now() - due) * 1000);
  }

  async #send(connection: Connection, n: number, due: number): Promise<boolean> {
    const { method, accept, type, more, wanted, bodyBytes, bodySlackBytes = 0, isBinary } = this.#work;
    const text = this.#body?.(n);
    const body = text !== undefined && isBinary === true ? Buffer.from(text, "latin1") : text;
    const answer = await connection.send(
      { method, path: this.#path(n), accept, body, type, more },
      { head: () => this.#firstByte.add((performance.now() - due) * 1000) },
    );
    const us = (performance.now() - due) * 1000;
    this.#latency.add(us);
    this.#second.add(us);
    this.#bytes += answer.bodyBytes;
    if (answer.code !== wanted) return this.#failed(answer.code === 0 ? "connection broke" : `code ${answer.code}`);
    const off = bodyBytes === undefined ? 0 : Math.abs(answer.bodyBytes - bodyBytes);
    if (off > bodySlackBytes) return this.#failed("wrong length");
    this.#count += 1;
    return true;
  }

  #failed(why: string): false {
    this.#failures.set(why, (this.#failures.get(why) ?? 0) + 1);
    this.#failuresInSecond += 1;
    return false;
  }
}
