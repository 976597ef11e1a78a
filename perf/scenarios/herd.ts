// A herd: many watches that are dropped at once and come back, each from the version before the drop, while objects change.
import type { Case, LoadSource, Options, Round, Scenario, Session } from "../harness/scenario.ts";
import { Scope } from "../harness/scope.ts";
import type { Target } from "../harness/target.ts";
import { faultsOf } from "../harness/work.ts";
import { eventsRow } from "./fanout.ts";
import { MarkedObjects, Watchers } from "./watchers.ts";
import { rowOf } from "./write.ts";

/** `npm run perf -- herd`. */
export const herd: Scenario = {
  name: "herd",
  summary: "many watches that drop and come back",
  detail:
    "All watches are closed at once and opened again from the version before, as after a network fault; meanwhile and " +
    "afterwards objects change. The row reopen counts watches: its latency is from the begin of a connection to the head " +
    "of the answer, refusals and broken connections tried again with backoff included. Each watch must get every change " +
    "since that version once and in order, or the run is void.",
  flags: {
    watchers: ["1000", "watches in all"],
    processes: ["2", "processes that hold them"],
    objects: ["32", "objects that change"],
    "object-bytes": ["2048", "size of an object as it is stored, about"],
    protobuf: ["false", "true: watches are in protobuf"],
    rate: ["50", "changes per second"],
  },
  examples: ["npm run perf -- herd --watchers=300 --duration=4", "npm run perf -- herd --watchers=5000 --rounds=3"],
  async open(target: Target, options: Options, load: LoadSource): Promise<Session> {
    const spread = {
      objects: options.number("objects", 1),
      objectBytes: options.number("object-bytes"),
      selectors: 1,
      protobuf: options.isSet("protobuf"),
    };
    const objects = new MarkedObjects(await Scope.open(target), spread);
    const writer = await load.start();
    await objects.make(writer);
    const count = options.number("watchers", 1);
    const watchers = await Watchers.start(load, options.number("processes", 1), count);
    let isOpen = false;
    let next = 0;
    const run = async (seconds: number): Promise<Round> => {
      const { version } = await objects.scope.size(objects.path);
      const last = objects.changes.slice();
      const before = (await watchers.report(true)).sum("events");
      const begun = performance.now();
      await watchers.drop();
      const writing = writer.run([objects.change(8, options.number("rate", 0.1), next)], seconds, objects.changes);
      await watchers.open(objects.watches(count, version), last);
      const opened = (performance.now() - begun) / 1000;
      const results = await writing;
      next = results[0]?.next ?? next;
      const report = await watchers.settled(before + objects.expected(count, last));
      const faults = [...faultsOf(results), ...report.faults(before + objects.expected(count, last))];
      const retries = Object.values(report.retries()).reduce((sum, times) => sum + times, 0);
      const reopen = {
        ...{ name: "reopen", count: report.sum("open"), seconds: opened, bytes: 0, failures: {} },
        latency: report.times("opening"),
        figures: { retries },
      };
      const events = eventsRow(report, before, (performance.now() - begun) / 1000);
      return {
        rows: [reopen, { ...events, isCause: true }, ...results.map((one) => ({ ...rowOf(one), isCause: true }))],
        faults,
      };
    };
    const herdCase: Case = {
      name: "herd",
      prepare: async () => {
        if (isOpen) return;
        isOpen = true;
        const { version } = await objects.scope.size(objects.path);
        await watchers.open(objects.watches(count, version), objects.changes);
      },
      run,
    };
    return { cases: [herdCase], close: () => objects.scope.close([objects.path]) };
  },
};
