// CPU auditing adds to a GET: without a policy, with one that leaves it out, and at level Metadata with the thread that
// writes the file. `node dist/perf/micro/audit.js [rounds]` prints one JSON line per case: microseconds of CPU of the
// whole process per request beyond those without a policy, best and median of nine runs.
// Expected: Metadata below 15 us, both threads together; one rule that leaves a request out below 1 us.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Auditor, auditFamilies } from "../../src/audit/auditor.ts";
import { Outlet } from "../../src/audit/outlet.ts";
import { parsePolicy } from "../../src/audit/policy.ts";
import { systemClock } from "../../src/base/clock.ts";
import { AuditThread } from "../../src/boot/threads.ts";
import { readConfig } from "../../src/config/config.ts";
import { checkedBefore } from "../../src/config/filecheck.ts";
import { isFlagFault, parseFlags } from "../../src/config/flags.ts";
import { Registry } from "../../src/observe/metrics.ts";
import { openInProcess } from "../../test/support/inprocess.ts";

const rounds = Number(process.argv[2] ?? 5_000);
const runs = 9;
/** Requests under way at once: what shares a turn. */
const together = 8;

const directory = mkdtempSync(join(tmpdir(), "orch-audit-"));
const flags = parseFlags(["--audit-policy-file=x", `--audit-log-path=${join(directory, "audit.log")}`]);
if (isFlagFault(flags)) throw new Error(flags.fault);
const config = readConfig(flags);
if (typeof config === "string") throw new Error(config);
const script = new URL("../../workers/audit.js", import.meta.url);
const thread = new AuditThread(script, { config, connection: undefined }, new Uint8Array(), (message) => {
  throw new Error(message);
});
await thread.opened();
const { port } = thread.connect();
const outlet = new Outlet(port, "waits", () => undefined);

const server = await openInProcess();
const { identity } = server.scheme;
const path = "/api/v1/namespaces/default/configmaps/a";
await server.call("POST", "/api/v1/namespaces/default/configmaps", { metadata: { name: "a" }, data: { x: "y" } });

/** Takes events and drops them: what is left is the making of them. */
const nowhere = {
  pressure: "drops",
  put: () => undefined,
  room: () => undefined,
  stored: () => Promise.resolve(true),
} as const;

function auditor(rules: string, to: Pick<Outlet, keyof typeof nowhere> = outlet): Auditor {
  const policy = parsePolicy(Buffer.from(`apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: ${rules}`), checkedBefore);
  if (typeof policy === "string") throw new Error(policy);
  return new Auditor({ policy, outlet: to, identity, clock: systemClock, families: auditFamilies(new Registry()) });
}

const headers = { "user-agent": "kubectl/v1.23.17 (linux/amd64) kubernetes/953be89" };

async function run(): Promise<number> {
  const start = process.cpuUsage();
  for (let round = 0; round < rounds; round += together) {
    await Promise.all(Array.from({ length: together }, () => server.call("GET", path, undefined, headers)));
    await new Promise((resolve) => setImmediate(resolve));
  }
  // What is on its way to the file belongs to the requests.
  while (outlet.unwritten > 0) await new Promise((resolve) => setTimeout(resolve, 1));
  const { user, system } = process.cpuUsage(start);
  return (user + system) / rounds;
}

const cases: [name: string, auditor: Auditor | undefined][] = [
  ["no policy", undefined],
  ["left out", auditor("[{level: None}]")],
  ["Metadata, both stages, not sent", auditor("[{level: Metadata}]", nowhere)],
  ["Metadata, end only", auditor("[{level: Metadata, omitStages: [RequestReceived]}]")],
  ["Metadata, both stages", auditor("[{level: Metadata}]")],
  ["RequestResponse, both stages", auditor("[{level: RequestResponse}]")],
];
const times = cases.map((): number[] => []);
for (let round = 0; round < runs + 2; round += 1) {
  // In turns, so that a busy machine is as busy for all of them.
  for (const [index, [, audit]] of cases.entries()) {
    server.audit = audit;
    const time = await run();
    if (round >= 2) times[index]?.push(time);
  }
}
const of = (list: readonly number[] | undefined, at: number): number => (list ?? []).toSorted((a, b) => a - b)[at] ?? 0;
const rounded = (value: number): number => Math.round(value * 100) / 100;
const baseline = { best: of(times[0], 0), median: of(times[0], runs >> 1) };
for (const [index, [name]] of cases.entries()) {
  const best = of(times[index], 0);
  const median = of(times[index], runs >> 1);
  const added = { usBest: rounded(best - baseline.best), usMedian: rounded(median - baseline.median) };
  console.log(JSON.stringify({ case: `audit/${name}`, ...added, usRequest: rounded(median) }));
}
outlet.close();
await thread.close();
server.close();
rmSync(directory, { recursive: true, force: true });
