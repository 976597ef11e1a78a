// No input costs more than its size: objects of every kind with one part that grows, drawn from the schemas, go through
// every way in and out (create in three formats, strict, apply, update, patches; Table, YAML, protobuf, metadata), at
// one size and at eight times that. ORCH_FUZZ_SEED repeats a run, at larger sizes, ORCH_FUZZ_ROUNDS lengthens it.
import t from "tap";
import type { Resource } from "../../src/api/scheme.ts";
import { kinds } from "../support/bodies.ts";
import { threadCpuMs } from "../support/cost.ts";
import { drawGrower, type Grower, type Json } from "../support/growth.ts";
import { type Answer, type InProcess, openInProcess } from "../support/inprocess.ts";
import { type Draws, draws, fuzzRun } from "../support/random.ts";

/** A seed of its own makes a longer run, with bodies as large as the store takes. */
const isLong = process.env["ORCH_FUZZ_SEED"] !== undefined;
const { seed, rounds } = fuzzRun(isLong ? 40 : 60);
/** Bytes of what grows, one of which is drawn; the largest is then as large as the store takes. */
const sizes = (isLong ? [8, 32, 128] : [8, 8, 32]).map((kib) => kib * 1024);
const factor = 8;
/**
 * How much dearer a byte may be at the larger size: what grows with the square is eight times as dear. Three times was
 * met by what is linear: managed fields that are remembered at the smaller size and are too many at the larger.
 */
const dearerMax = 4;
/** What is cheaper than this at the larger size is not looked at, in milliseconds. */
const costMin = 40;
/** What a byte of a larger body may cost at all, in milliseconds: several times what the dearest honest one does. */
const byteCostMax = 0.004;

const json = { "content-type": "application/json" };
const apply = { "content-type": "application/apply-patch+yaml" };
const formats = [
  "application/json;as=Table;g=meta.k8s.io;v=v1",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
];

/** Costs of the steps of one walk of an object, by name, in milliseconds. */
type Costs = Map<string, number>;

/** Takes an object of so many bytes through all ways; `tag` tells walks apart. */
async function walk(server: InProcess, path: string, grower: Grower, size: number, tag: string): Promise<Costs> {
  const costs: Costs = new Map();
  const body = { ...grower.make(size) };
  const metadata = { ...(body["metadata"] as Json | undefined) };
  if (typeof metadata["name"] !== "string" || metadata["name"].length < 100) metadata["name"] = tag;
  metadata["namespace"] = undefined;
  const object = { ...body, metadata };
  const step = async (name: string, ask: () => Promise<Answer>): Promise<number> => {
    const start = threadCpuMs();
    const { code } = await ask();
    costs.set(name, threadCpuMs() - start);
    return code;
  };
  const text = JSON.stringify(object);
  const code = await step("create", () => server.call("POST", path, text));
  await step("create strictly", () => server.call("POST", `${path}?dryRun=All&fieldValidation=Strict`, text));
  await step("apply", () =>
    server.call("PATCH", `${path}/${tag}-a?fieldManager=f&force=true`, renamed(object, tag), apply),
  );
  if (code === 201) {
    const one = `${path}/${String(metadata["name"])}`;
    for (const accept of formats) await step(accept, () => server.call("GET", one, undefined, { accept }));
    await step("table", () => server.call("GET", path, undefined, { accept: formats[0] ?? "" }));
    await step("update", () => server.call("PUT", one, text));
    for (const type of ["merge-patch", "strategic-merge-patch"]) {
      const headers = { "content-type": `application/${type}+json` };
      await step(type, () => server.call("PATCH", one, text, headers));
    }
    await step("apply over", () => server.call("PATCH", `${one}?fieldManager=g&force=true`, text, apply));
    await step("delete", () => server.call("DELETE", one, { gracePeriodSeconds: 0 }, json));
  }
  await server.call("DELETE", `${path}/${tag}-a`, { gracePeriodSeconds: 0 }, json);
  return costs;
}

function renamed(object: Json, tag: string): Json {
  return { ...object, metadata: { ...(object["metadata"] as Json), name: `${tag}-a` } };
}

/** Steps whose cost grows faster than their input, or beyond all measure. */
function suspects(few: Costs, many: Costs, size: number): string[] {
  return [...many].flatMap(([name, ms]) => {
    const before = few.get(name);
    if (ms > byteCostMax * size) return [`${name}: ${ms.toFixed(0)} ms`];
    if (before === undefined || ms < costMin || ms <= factor * dearerMax * Math.max(before, 0.5)) return [];
    return [`${name}: ${ms.toFixed(0)} ms, ${before.toFixed(1)} at an eighth`];
  });
}

/** The least of two walks' costs, step by step. */
function least(one: Costs, other: Costs): Costs {
  return new Map([...one].map(([name, ms]) => [name, Math.min(ms, other.get(name) ?? ms)]));
}

function pathOf({ group, version, resource, namespaced }: Resource): string {
  const root = group === "" ? "/api/v1" : `/apis/${group}/${version}`;
  return `${root}${namespaced ? "/namespaces/default" : ""}/${resource}`;
}

/** A kind that is stored, where it is served, and an object of it that is valid or nearly. */
function drawKind({ pick, chance }: Draws, server: InProcess): { resource: Resource; path: string; base: Json } {
  const stored = server.writers.scheme.resources.filter(
    ({ prefix, verbs }) => prefix !== undefined && verbs.includes("create"),
  );
  const rich = stored.filter((resource) => kinds.some(([path]) => path === pathOf(resource)));
  const resource = pick(chance(60) ? rich : stored);
  const path = pathOf(resource);
  return { resource, path, base: (kinds.find(([known]) => known === path)?.[1] ?? {}) as Json };
}

t.test(`no object costs more than its size, whatever grows (seed ${seed})`, async (t) => {
  const server = await openInProcess("kubernetes", { admission: {} });
  t.teardown(() => server.close());
  const drawn = draws(seed);
  let tag = 0;
  for (let round = 0; round < rounds; round += 1) {
    const { resource, path, base } = drawKind(drawn, server);
    const { apiVersion, kind } = resource;
    const grower = drawGrower(drawn, resource, { apiVersion, kind, ...base });
    const small = drawn.pick(sizes);
    const run = (size: number): Promise<Costs> => walk(server, path, grower, size, `o${(tag += 1)}`);
    let few = await run(small);
    let many = await run(small * factor);
    // Others run on the machine, code is compiled, memory collected: what is slow three times is slow.
    for (let again = 0; again < 3 && suspects(few, many, small * factor).length > 0; again += 1) {
      few = least(few, await run(small));
      many = least(many, await run(small * factor));
    }
    t.same(
      suspects(few, many, small * factor),
      [],
      `${resource.apiVersion} ${grower.name} (seed ${seed}, round ${round})`,
    );
  }
  t.same(server.faults, []);
});
