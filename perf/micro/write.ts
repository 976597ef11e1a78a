// CPU the write path takes per 5 KiB pod, without HTTP, log and disk: a body (or patch) is read, merged, defaulted,
// validated, tracked and encoded, and the store only hands out a revision. `node dist/perf/micro/write.js [rounds]
// [case…]` prints one JSON line per case, `path/<case>`, with the best and the median of sixty runs, garbage included.
// Expected: create below 250 us, merge patch below 350 us, apply below 700 us.
import { isStatus, type Status } from "../../src/api/status.ts";
import { assert } from "../../src/base/assert.ts";
import { noTrace } from "../../src/observe/trace.ts";
import { readSent, type Sent } from "../../src/request/body/body.ts";
import type { WriteRequest, WriteServices, Written } from "../../src/request/commit/writerequest.ts";
import { serverPermit } from "../../src/request/exchange/permit.ts";
import { writeObject } from "../../src/request/write/write.ts";
import { openInProcess } from "../../test/support/inprocess.ts";
import { largePodBody, podAccount } from "../corpus/pod.ts";

const rounds = Number(process.argv[2] ?? 64);
const only = process.argv.slice(3);
const pods = 32;
const runs = 60;
const warmUps = 10;

const server = await openInProcess();
const found = server.scheme.find("", "v1", "pods");
assert(found !== undefined, "Pods are served");
const resource = found;
let revision = 1_000_000;
/** Nothing is kept: every round starts from the same state. */
const writers: WriteServices = {
  ...server.writers,
  store: { commit: () => Promise.resolve({ revision: ++revision }) },
};

const user = { name: "admin", uid: "", groups: ["system:masters"], extra: new Map<string, string[]>() };

function requestFor(name: string, manager: string): WriteRequest {
  const deadline = Number.POSITIVE_INFINITY;
  const common = {
    resource,
    subresource: "",
    namespace: "default",
    dryRun: false,
    user,
    permit: serverPermit,
    deadline,
    trace: noTrace,
  };
  return { ...common, name, manager };
}

function unwrap<T>(value: T | Status): T {
  if (isStatus(value)) throw new Error(value.message);
  return value;
}

async function write(
  to: WriteServices,
  request: WriteRequest,
  kind: Sent["kind"],
  bytes: Uint8Array,
): Promise<Written> {
  const body = unwrap(readSent(to.scheme, resource, { kind, format: "json", force: false, bytes }));
  return unwrap(await writeObject(to, request, body));
}

function create(to: WriteServices, bytes: Uint8Array): Promise<Written> {
  return write(to, requestFor("", "creator"), "create", bytes);
}

await server.call("POST", "/api/v1/namespaces/default/serviceaccounts", podAccount);
const bodies = Array.from({ length: pods }, (_, index) => Buffer.from(largePodBody(index)));
const stored: string[] = [];
for (const [index, bytes] of bodies.entries()) {
  stored.push(Buffer.from((await create(server.writers, bytes)).body).toString());
  await apply(server.writers, `a${index}`, largePodBody(index, `a${index}`));
}

async function patch(index: number, manager: string, round: number): Promise<Written> {
  const text = Buffer.from(`{"metadata":{"labels":{"n":"${round}"}}}`);
  return write(writers, requestFor(`p${index}`, manager), "merge", text);
}

async function update(index: number, round: number): Promise<Written> {
  const bytes = Buffer.from((stored[index] as string).replace('"labels":{', `"labels":{"n":"${round}",`));
  return write(writers, requestFor(`p${index}`, "creator"), "update", bytes);
}

async function apply(to: WriteServices, name: string, text: string): Promise<Written> {
  return write(to, requestFor(name, "applier"), "apply", Buffer.from(text));
}

async function measure(name: string, operation: (index: number, round: number) => Promise<Written>): Promise<void> {
  if (only.length > 0 && !only.some((part) => name.includes(part))) return;
  const times: number[] = [];
  let bytes = 0;
  for (let run = 0; run < runs + warmUps; run += 1) {
    // CPU rather than wall time: the machine may be busy with others.
    const start = process.cpuUsage();
    for (let round = 0; round < rounds; round += 1) {
      bytes = (await operation(round % pods, run * rounds + round)).body.length;
    }
    const { user: own, system } = process.cpuUsage(start);
    times.push((own + system) / rounds);
  }
  const sorted = times.slice(warmUps).sort((a, b) => a - b);
  const rounded = (value: number | undefined): number => Math.round((value ?? 0) * 10) / 10;
  const line = { case: `path/${name}`, usBest: rounded(sorted[0]), usMedian: rounded(sorted[runs >> 1]), bytes };
  console.log(JSON.stringify(line));
}

await measure("create: decode, default, validate, managed fields, encode", (index) =>
  create(writers, bodies[index] as Buffer),
);
await measure("merge patch by the creator", (index, round) => patch(index, "creator", round));
await measure("merge patch by another", (index, round) => patch(index, "other", round));
await measure("update", update);
/** Bodies of applies, made once: what is sent is not what is measured. */
const fresh = bodies.map((_, index) => largePodBody(index, `n${index}`));
const same = bodies.map((_, index) => largePodBody(index, `a${index}`));
const labelled = bodies.map((_, index) => largePodBody(index, `a${index}`, { n: "1" }));
await measure("apply of a new pod", (index) => apply(writers, `n${index}`, fresh[index] as string));
await measure("apply again, one label added", (index) => apply(writers, `a${index}`, labelled[index] as string));
await measure("apply again, nothing changed", (index) => apply(writers, `a${index}`, same[index] as string));
server.close();
