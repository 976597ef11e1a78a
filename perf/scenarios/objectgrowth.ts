// Pods of which there are more and more: what they cost in memory, and what a list of all of them costs in CPU.
import type { LoadProcess } from "../harness/loadprocess.ts";
import { restedMemory } from "../harness/memory.ts";
import type { Usage } from "../harness/processes.ts";
import type { Case, LoadSource, Options, Round } from "../harness/scenario.ts";
import { Scope } from "../harness/scope.ts";
import type { Target } from "../harness/target.ts";
import { faultsOf, type Work } from "../harness/work.ts";
import { PodRequests, prepareSecondsOf } from "./requests.ts";
import { rowOf } from "./write.ts";

const pageSize = 2000;

/** Memory beyond that of no pods, KiB per pod. */
type Memory = Readonly<Record<string, number>>;

/** Pods of one namespace. */
export class ObjectGrowth {
  readonly #target: Target;
  readonly #scope: Scope;
  readonly #pods: PodRequests;
  readonly #process: LoadProcess;
  readonly #restarts: boolean;
  readonly #options: Options;
  #made = 0;
  /** Before there are pods. */
  #empty: Usage | undefined;
  #memory: Memory = {};
  #listBytes = 0;

  private constructor(target: Target, scope: Scope, process: LoadProcess, options: Options) {
    this.#target = target;
    this.#scope = scope;
    this.#pods = new PodRequests(scope.path, { connections: 16, rate: 0 });
    this.#process = process;
    this.#options = options;
    this.#restarts = options.isSet("restart") && target.restart !== undefined;
  }

  /** Reads the memory of a server without pods; after a restart where there are any: a first start makes much that others find. */
  static async open(target: Target, load: LoadSource, options: Options): Promise<ObjectGrowth> {
    const growth = new ObjectGrowth(target, await Scope.open(target), await load.start(), options);
    growth.#empty = growth.#restarts ? await growth.#restarted(0) : await growth.#rested();
    return growth;
  }

  get path(): string {
    return this.#pods.path;
  }

  /** Memory of so many pods, and lists of them. */
  case(count: number): Case {
    return {
      ...{ name: `${count} objects`, size: { of: "objects", count } },
      prepare: async () => {
        if (this.#made < count) await this.#grow(count);
        this.#listBytes = await this.#verifiedBytes(count);
      },
      run: async (seconds): Promise<Round> => {
        const work = { ...this.#list(), bodyBytes: this.#listBytes };
        const results = await this.#process.run([work], seconds);
        return {
          rows: results.map((result) => ({ ...rowOf(result), figures: this.#memory })),
          faults: faultsOf(results),
        };
      },
    };
  }

  async close(): Promise<void> {
    await this.#scope.close([this.path]);
  }

  async #grow(count: number): Promise<void> {
    const added = count - this.#made;
    const work = { ...this.#pods.createIdle("p"), from: this.#made, countMax: added };
    await this.#process.prepare(work, prepareSecondsOf(added));
    this.#made = count;
    const memory: Record<string, number> = {};
    const note = (name: string, now: Usage | undefined): void => {
      if (now === undefined || this.#empty === undefined) return;
      memory[`${name}OwnKib`] = (now.ownBytes - this.#empty.ownBytes) / count / 1024;
      memory[`${name}RssKib`] = (now.residentBytes - this.#empty.residentBytes) / count / 1024;
    };
    note("loaded", await this.#rested());
    if (this.#restarts) note("restarted", await this.#restarted(count));
    this.#memory = memory;
  }

  /** Restarts the server, which must have kept its pods; returns its memory. */
  async #restarted(count: number): Promise<Usage | undefined> {
    await this.#target.restart?.();
    const usage = await this.#rested();
    const found = (await this.#scope.size(this.path)).count;
    if (found !== count) throw new Error(`After a restart there are ${found} pods, and there should be ${count}`);
    return usage;
  }

  /** Memory of the server once it rests; undefined: it is not on this machine. */
  async #rested(): Promise<Usage | undefined> {
    return (await restedMemory(this.#target, this.#options)).get("server");
  }

  #list(): Work {
    return { name: "list", method: "GET", path: this.path, wanted: 200, connections: 1, rate: 0, from: 0 };
  }

  /**
   * Bytes that a list of all pods must have: its begin and end, and the pods as pages have them, each of which is decoded
   * and its pods counted. A list of a hundred thousand is too long for one text.
   */
  async #verifiedBytes(count: number): Promise<number> {
    let [items, itemBytes] = [0, 0];
    let token = "";
    do {
      const path = `${this.path}?limit=${pageSize}&continue=${encodeURIComponent(token)}`;
      const { code, text, bytes } = await this.#target.connection.ask({ method: "GET", path });
      if (code !== 200) throw new Error(`A page was answered ${code}: ${text.slice(0, 300)}`);
      const page = JSON.parse(text) as { metadata: { continue?: string }; items: unknown[] };
      token = page.metadata.continue ?? "";
      itemBytes += bytes.lastIndexOf("]") - bytes.indexOf(listStart) - listStart.length + (items > 0 ? 1 : 0);
      items += page.items.length;
    } while (token !== "");
    if (items !== count) throw new Error(`Pages have ${items} pods, and should have ${count}`);
    const { head, tailBytes, bodyBytes } = await this.#ends();
    const wanted = head.indexOf(listStart) + listStart.length + itemBytes + tailBytes;
    if (bodyBytes !== wanted) throw new Error(`A list has ${bodyBytes} bytes, and its pages make ${wanted}`);
    return wanted;
  }

  /** Reads a list and keeps its begin and end. */
  async #ends(): Promise<{ head: Buffer; tailBytes: number; bodyBytes: number }> {
    let [head, tail] = [Buffer.alloc(0), Buffer.alloc(0)];
    const { code, bodyBytes } = await this.#target.connection.send(
      { method: "GET", path: this.path },
      {
        body: (bytes, from, end) => {
          const part = bytes.subarray(from, end);
          if (head.length < endBytes) head = Buffer.concat([head, part]).subarray(0, endBytes);
          tail = Buffer.concat([tail, part]).subarray(-endBytes);
        },
      },
    );
    if (code !== 200) throw new Error(`A list was answered ${code}`);
    return { head, tailBytes: tail.length - tail.lastIndexOf("]"), bodyBytes };
  }
}

const listStart = '"items":[';
/** As much as the begin of a list takes at most. */
const endBytes = 1024;
