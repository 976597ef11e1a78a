// `node dist/scripts/collect.js [count]`: deletes owners of many dependents (10,000 by default) with each policy, while
// other requests go on. Ends with a line of JSON for each, and with exit code 1 where one took over a minute, or the 99th
// percentile of the others' requests was above 250 ms.
import { collect } from "../test/e2e/collecting.ts";
import { inspectable } from "../test/support/liveheap.ts";
import { startServer } from "../test/support/server.ts";

const count = Number(process.argv[2] ?? 10_000);
if (!Number.isSafeInteger(count) || count < 1) throw new Error(`${process.argv[2]} is no number of dependents`);
const server = await startServer(["--identity=kubernetes"], undefined, { nodeOptions: inspectable });
try {
  for (const policy of ["Background", "Foreground", "Orphan"]) {
    const found = await collect(server, policy, count);
    const rounded = Object.entries(found).map(([key, value]) => [
      key,
      typeof value === "number" ? Math.round(value * 10) / 10 : value,
    ]);
    console.log(JSON.stringify(Object.fromEntries(rounded)));
    if (found.seconds > 60 || found.p99Ms > 250 || found.failures > 0) process.exitCode = 1;
  }
} finally {
  await server.stop();
}
