// No client ever gets another's answer (ATTACKS E13): a short run of what `scripts/crossings.ts` does a million times.
import t from "tap";
import { runCrossings } from "./run.ts";

const seed = Number(process.env["ORCH_SEED"] ?? Date.now() % 1_000_000);
const count = Number(process.env["ORCH_REQUESTS"] ?? 20_000);
t.comment(`ORCH_SEED=${seed}`);
t.setTimeout(600_000);

for (const front of ["uws", "node"]) {
  t.test(`E13: ${front}: users on shared connections, pipelined and not, get their own answers`, async (t) => {
    const { examples, ...found } = await runCrossings(front, count, seed);
    t.comment(JSON.stringify(found));
    t.same(examples, []);
    t.equal(found.crossings, 0);
    t.equal(found.requests, count);
    t.ok(
      Object.values(found.kinds).every((answers) => answers > 50),
      "every client was answered",
    );
  });
}
