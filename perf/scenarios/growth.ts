// How costs grow: memory and the CPU of a list with the number of objects, the CPU of an event with the number of watchers.
import { restFlag } from "../harness/memory.ts";
import type { LineSpec, LoadSource, Options, Scenario, Session } from "../harness/scenario.ts";
import type { Target } from "../harness/target.ts";
import { ObjectGrowth } from "./objectgrowth.ts";
import { WatcherGrowth } from "./watchergrowth.ts";

const memory = (name: string, title: string, figure: string): LineSpec => ({
  ...{ name, title, figure: `list.${figure}`, of: "objects", unit: "KiB", isTotal: false, growthMax: 1.5 },
});

const lines: readonly LineSpec[] = [
  memory("loaded-own", "Memory of its own per object, loaded", "loadedOwnKib"),
  memory("loaded-rss", "Resident memory per object, loaded", "loadedRssKib"),
  memory("restarted-own", "Memory of its own per object, restarted", "restartedOwnKib"),
  memory("restarted-rss", "Resident memory per object, restarted", "restartedRssKib"),
  {
    ...{ name: "list-cpu", title: "CPU per object of a list", unit: "µs", of: "objects", figure: "cpuUs" },
    ...{ isTotal: true, growthMax: 1.5 },
  },
  {
    ...{ name: "event-cpu", title: "CPU per delivered event", unit: "µs", of: "watchers", figure: "cpuUs" },
    ...{ isTotal: false, growthMax: 1.5 },
  },
];

/** `npm run perf -- growth`. */
export const growth: Scenario = {
  name: "growth",
  summary: "how memory and CPU grow with objects and watchers",
  detail:
    "Pods (5 KiB stored) are added up to each number of --objects. Memory is that of the process named server beyond what it " +
    "had before there were pods, of its own (RssAnon, RssShmem) and resident (Rss, files mapped included), after the load and, where " +
    "the server was started for the run, after a restart. Then one connection lists them: each list must have as many bytes " +
    "as all pods read in pages and counted. For each number of --watchers that many watches see config maps change, at a " +
    "rate that makes --events events per second in all: each watch must see each change once and in order. Costs are per " +
    "object or event, of all processes of the server; a line that rises by more than its bound between two sizes ends the " +
    "run with exit code 99. Without processes of the server (--pid) there are no costs.",
  flags: {
    objects: ["1000,10000,100000", "numbers of pods, rising; empty: none of that"],
    watchers: ["100,1000,5000", "numbers of watches, rising; empty: none of that"],
    events: ["5000", "events per second, of all watches together"],
    restart: ["true", "false: no memory after a restart"],
    processes: ["2", "processes that hold watches"],
    ...restFlag,
    "object-bytes": ["2048", "size of a watched config map as it is stored, about"],
  },
  examples: [
    "npm run perf -- growth --objects=500,2000 --watchers=20,100 --events=1000 --duration=3 --rest=10",
    "npm run perf -- growth --html=growth.html --threshold='list-cpu.growth<1.2'",
    "npm run perf -- growth --kubeconfig=$HOME/.kube/config --pid=server=4711 --pid=etcd=4712",
  ],
  lines,
  async open(target: Target, options: Options, load: LoadSource): Promise<Session> {
    const objects = sizes(options, "objects");
    const watchers = sizes(options, "watchers");
    const pods = objects.length === 0 ? undefined : await ObjectGrowth.open(target, load, options);
    const watched = watchers.length === 0 ? undefined : await WatcherGrowth.open(target, load, options);
    return {
      cases: [...objects.map((count) => pods?.case(count)), ...watchers.map((count) => watched?.case(count))].filter(
        (one) => one !== undefined,
      ),
      close: async () => {
        // With a server that ends with the run its objects go, too: a hundred thousand deletes would prove nothing.
        if (target.restart !== undefined) return;
        await pods?.close();
        await watched?.close();
      },
    };
  },
};

/** Numbers between commas, rising. */
function sizes(options: Options, name: string): number[] {
  const found = options.list(name).map(Number);
  for (const [index, count] of found.entries()) {
    if (Number.isInteger(count) && count > (found[index - 1] ?? 0)) continue;
    throw new Error(`--${name}=${options.text(name)}: expected rising numbers between commas: 100,1000`);
  }
  return found;
}
