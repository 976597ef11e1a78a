// How long writes of big objects hold up a front: a Deployment with many environment variables, every one of them owned
// by itself. `node dist/perf/micro/big.js [variables,…] [case…]` prints one JSON line per case, merged on the front
// (`here`) and in the pool: CPU of the process, of the front's thread and of the longest turn of its loop, medians in
// milliseconds. Needs Linux, which says what a thread has used. Expected: no turn above 20 ms in the pool.
import { readFileSync } from "node:fs";
import { identities } from "../../src/api/identity.ts";
import { systemClock } from "../../src/base/clock.ts";
import { openPool } from "../../src/boot/pool.ts";
import { Merges } from "../../src/request/write/offload.ts";
import { type InProcess, openInProcess } from "../../test/support/inprocess.ts";

const sizes = (process.argv[2] ?? "1000,3000,6000").split(",").map(Number);
const only = process.argv.slice(3);
const runs = 11;
const base = "/apis/apps/v1/namespaces/default/deployments";

/** A configuration with the variables `has` says so; one value is `odd`. */
function config(name: string, variables: number, has: (index: number) => boolean = () => true, odd = ""): string {
  const env = Array.from({ length: variables }, (_, index) => ({
    name: `VARIABLE_${index}_SETTING`,
    value: `value-${index}-of-a-setting-that-is-longer-than-most-of-them${index === 5 ? odd : ""}`,
  })).filter((_, index) => has(index));
  const labels = { a: "b" };
  const spec = {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [] as object[] } },
  };
  spec.template.spec.containers.push({ name: "c", image: "i", env });
  return JSON.stringify({ apiVersion: "apps/v1", kind: "Deployment", metadata: { name }, spec });
}

interface Case {
  readonly name: string;
  /** Content type; of an apply where the object was applied before. */
  readonly type: "apply-patch+yaml" | "merge-patch+json" | "strategic-merge-patch+json" | "json";
  readonly isNew?: true;
  readonly body: (name: string, variables: number) => string;
}

const cases: readonly Case[] = [
  { name: "apply new", type: "apply-patch+yaml", isNew: true, body: config },
  { name: "apply, one value", type: "apply-patch+yaml", body: (name, n) => config(name, n, undefined, "!") },
  {
    name: "apply, half removed",
    type: "apply-patch+yaml",
    body: (name, n) => config(name, n, (index) => index % 2 === 1),
  },
  { name: "apply again", type: "apply-patch+yaml", body: config },
  { name: "update, one value", type: "json", body: (name, n) => config(name, n, undefined, "!") },
  { name: "merge patch, a label", type: "merge-patch+json", body: () => '{"metadata":{"labels":{"x":"y"}}}' },
  {
    name: "strategic patch, one value",
    type: "strategic-merge-patch+json",
    body: () =>
      '{"spec":{"template":{"spec":{"containers":[{"name":"c","env":[{"name":"VARIABLE_5_SETTING","value":"!"}]}]}}}}',
  },
];

async function send(server: InProcess, { type }: Pick<Case, "type">, name: string, body: string): Promise<void> {
  const method = type === "json" ? "PUT" : "PATCH";
  const path = `${base}/${name}?fieldManager=bench`;
  const answer = await server.call(method, path, body, { "content-type": `application/${type}` });
  if (answer.code >= 300) throw new Error(answer.text.slice(0, 300));
}

/** CPU of this thread alone, milliseconds: the machine may be busy with others. */
function threadMs(): number {
  return Number(readFileSync("/proc/thread-self/schedstat", "latin1").split(" ", 1)[0]) / 1e6;
}

/** Runs `work`; the longest the loop was held up meanwhile, milliseconds of CPU. */
async function longestTurn(work: () => Promise<void>): Promise<number> {
  let longest = 0;
  let done = false;
  let last = threadMs();
  const look = (): void => {
    const now = threadMs();
    longest = Math.max(longest, now - last);
    last = now;
    if (!done) setImmediate(look);
  };
  setImmediate(look);
  await work();
  done = true;
  return Math.max(longest, threadMs() - last);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round((sorted[sorted.length >> 1] ?? 0) * 10) / 10;
}

async function measure(server: InProcess, where: string, each: Case, variables: number): Promise<void> {
  const cpu: number[] = [];
  const front: number[] = [];
  const turns: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const name = `d-${variables}-${each.name.replace(/[^a-z]/g, "")}-${run}`;
    if (each.isNew !== true) await send(server, { type: "apply-patch+yaml" }, name, config(name, variables));
    const body = each.body(name, variables);
    const start = threadMs();
    const before = process.cpuUsage();
    turns.push(await longestTurn(() => send(server, each, name, body)));
    const { user, system } = process.cpuUsage(before);
    cpu.push((user + system) / 1000);
    front.push(threadMs() - start);
  }
  const line = {
    case: `big/${each.name}`,
    variables,
    where,
    cpuMs: median(cpu),
    frontMs: median(front),
    turnMs: median(turns),
  };
  console.log(JSON.stringify(line));
}

const here = await openInProcess();
const { gates, release } = here.scheme;
const pool = openPool({ identity: "kubernetes", runtimeConfig: new Map(), gates, release });
const merges = new Merges(pool, identities.kubernetes, systemClock, 0);
const pooled = await openInProcess("kubernetes", { merges });
for (const variables of sizes) {
  for (const each of cases) {
    if (only.length > 0 && !only.some((part) => each.name.includes(part))) continue;
    await measure(here, "here", each, variables);
    await measure(pooled, "pool", each, variables);
  }
}
here.close();
pooled.close();
await pool.close();
