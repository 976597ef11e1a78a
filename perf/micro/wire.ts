// CPU of a change between a front and the store thread: its bytes are written, and read again as the store thread does,
// without threads between. `node dist/perf/micro/wire.js [rounds]` prints one JSON line per case, `wire/<case>`: the best
// and the median of sixty runs, microseconds a change. Expected: 2 us; a sampled request costs its change some more.
import type { TraceParent } from "../../src/observe/spans.ts";
import { type Change, changeTypes } from "../../src/storage/store.ts";
import { RequestWriter, readRequest } from "../../src/storage/wire.ts";

const rounds = Number(process.argv[2] ?? 400);
const runs = 60;
const changesEach = 16;

const head = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"pod","resourceVersion":"`;
const body = Buffer.from(`${head}"},"spec":{"padding":"${"p".repeat(2048)}"}}`);
const parent: TraceParent = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };

/** As a write makes it. */
function changeOf(index: number, isSampled: boolean): Change {
  const prefix = "/registry/pods";
  const type = changeTypes.update;
  const place = { prefix, key: `${prefix}/default/pod-${index}`, expected: 1_000_000 + index, type, guard: undefined };
  const spans = isSampled ? { handOn: () => parent } : undefined;
  return { ...place, selection: Buffer.alloc(120), body, versionAt: head.length, spans } as unknown as Change;
}

function run(changes: readonly Change[], within: () => never): number {
  const writer = new RequestWriter();
  const start = process.cpuUsage();
  let read = 0;
  for (let round = 0; round < rounds; round++) {
    for (const change of changes) writer.add(change);
    read += readRequest(writer.take(round), within).length;
  }
  const { user, system } = process.cpuUsage(start);
  if (read !== rounds * changesEach) throw new Error(`${read} changes were read`);
  return (user + system) / read;
}

for (const name of ["plain", "sampled"] as const) {
  const changes = Array.from({ length: changesEach }, (_, index) => changeOf(index, name === "sampled"));
  const within = (): never => undefined as never;
  for (let run0 = 0; run0 < 10; run0++) run(changes, within);
  const times = Array.from({ length: runs }, () => run(changes, within)).sort((a, b) => a - b);
  const [bestUs = 0, medianUs = 0] = [times[0], times[runs / 2]];
  process.stdout.write(`${JSON.stringify({ case: `wire/${name}`, bestUs, medianUs })}\n`);
}
