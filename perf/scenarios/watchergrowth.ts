// Watches of which there are more and more, while the events of all of them together stay as many: what one event costs.
import type { LoadProcess } from "../harness/loadprocess.ts";
import type { Case, LoadSource, Options, Round } from "../harness/scenario.ts";
import { Scope } from "../harness/scope.ts";
import type { Target } from "../harness/target.ts";
import { faultsOf } from "../harness/work.ts";
import { eventsRow } from "./fanout.ts";
import { MarkedObjects, Watchers } from "./watchers.ts";
import { rowOf } from "./write.ts";

const objectCount = 16;
const writers = 8;

/** Watches of config maps of one namespace. */
export class WatcherGrowth {
  readonly #objects: MarkedObjects;
  readonly #watchers: Watchers;
  readonly #writer: LoadProcess;
  readonly #events: number;
  #open = 0;
  #next = 0;

  private constructor(objects: MarkedObjects, watchers: Watchers, writer: LoadProcess, events: number) {
    this.#objects = objects;
    this.#watchers = watchers;
    this.#writer = writer;
    this.#events = events;
  }

  static async open(target: Target, load: LoadSource, options: Options): Promise<WatcherGrowth> {
    const objectBytes = options.number("object-bytes");
    const spread = { objects: objectCount, objectBytes, selectors: 1, protobuf: false };
    const events = options.number("events", 1);
    const objects = new MarkedObjects(await Scope.open(target), spread);
    const writer = await load.start();
    await objects.make(writer);
    return new WatcherGrowth(objects, await Watchers.start(load, options.number("processes", 1), 0), writer, events);
  }

  /** What an event costs with so many watches. */
  case(count: number): Case {
    return {
      ...{ name: `${count} watchers`, size: { of: "watchers", count } },
      prepare: async () => {
        if (this.#open >= count) return;
        const { version } = await this.#objects.scope.size(this.#objects.path);
        await this.#watchers.open(this.#objects.watches(count - this.#open, version), this.#objects.changes);
        this.#open = count;
      },
      run: (seconds) => this.#run(seconds, count),
    };
  }

  async close(): Promise<void> {
    await this.#objects.scope.close([this.#objects.path]);
  }

  async #run(seconds: number, count: number): Promise<Round> {
    const changesBefore = this.#objects.changes.slice();
    const before = (await this.#watchers.report(true)).sum("events");
    const begun = performance.now();
    const work = this.#objects.change(writers, this.#events / count, this.#next);
    const results = await this.#writer.run([work], seconds, this.#objects.changes);
    this.#next = results[0]?.next ?? this.#next;
    const wanted = before + this.#objects.expected(count, changesBefore);
    const report = await this.#watchers.settled(wanted);
    const faults = [...faultsOf(results), ...report.faults(wanted)];
    const open = report.sum("open");
    if (open !== count) faults.push(`${open} watches are open, and there should be ${count}`);
    const events = eventsRow(report, before, (performance.now() - begun) / 1000);
    return { rows: [events, ...results.map((result) => ({ ...rowOf(result), isCause: true }))], faults };
  }
}
