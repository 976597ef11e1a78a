// `node dist/scripts/crossings.js [count] [--front=uws|node] [--seed=n]`: mixed requests of users of every kind on
// shared connections, a million on each front by default; four minutes and more per million. Ends with a line of JSON
// for each front and, when a client got another's answer, with exit code 1.
import { parseArgs } from "node:util";
import { runCrossings } from "../test/crossings/run.ts";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { front: { type: "string" }, seed: { type: "string" } },
});
const count = Number(positionals[0] ?? 1_000_000);
const seed = Number(values.seed ?? Date.now() % 1_000_000);
if (!Number.isSafeInteger(count) || count < 1) throw new Error(`${positionals[0]} is no number of requests`);
for (const front of values.front === undefined ? ["uws", "node"] : [values.front]) {
  const { examples, ...found } = await runCrossings(front, count, seed);
  for (const text of examples) console.error(text);
  console.log(JSON.stringify(found));
  if (found.crossings > 0) process.exitCode = 1;
}
