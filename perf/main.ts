// `npm run perf -- <benchmark> [case…] [--server flag…]`: runs benchmarks against a server in a process of its own and
// appends their results to perf/results.ndjson.
import { custom } from "./load/custom.ts";
import { fanout } from "./load/fanout.ts";
import { list } from "./load/list.ts";
import { login } from "./load/login.ts";
import { silent } from "./load/silent.ts";
import { write } from "./load/write.ts";

type Benchmark = (only: readonly string[], args: readonly string[]) => Promise<void>;

/** A new benchmark is a file in load/ and a line here. */
const benchmarks: ReadonlyMap<string, Benchmark> = new Map([
  ["custom", custom],
  ["fanout", fanout],
  ["list", list],
  ["login", login],
  ["silent", silent],
  ["write", write],
]);

const [name = "", ...rest] = process.argv.slice(2);
const benchmark = benchmarks.get(name);
if (benchmark === undefined) {
  console.error(`perf: which benchmark? ${[...benchmarks.keys()].join(", ")}`);
  process.exitCode = 1;
} else {
  const flags = rest.filter((arg) => arg.startsWith("--"));
  await benchmark(
    rest.filter((arg) => !arg.startsWith("--")),
    flags,
  );
}
