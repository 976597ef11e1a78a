// What a front lists without a client after its start.
import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import { createScheme, type Resource } from "../../../src/api/scheme.ts";
import { assert } from "../../../src/base/assert.ts";
import { protoCache } from "../../../src/request/answer/protocache.ts";
import { type Looks, listLongest, type WarmUpSource, warmUp } from "../../../src/request/list/warmup.ts";
import type { ReadInput } from "../../../src/request/read/read.ts";
import { FakeLog } from "../../support/fakelog.ts";
import { eventually } from "../../support/server.ts";

const identity = identities.kubernetes;
const scheme = createScheme({ identity });

/** Logs of so many objects, by resource. */
function open(
  counts: Readonly<Record<string, number>>,
  padding = 0,
): { logs: Map<string, FakeLog>; source: WarmUpSource } {
  const logs = new Map<string, FakeLog>();
  for (const [name, count] of Object.entries(counts)) {
    const log = new FakeLog(`/registry/${name}`);
    for (let n = 0; n < count; n += 1) log.put({ namespace: "default", name: `${name}-${n}`, padding });
    log.drain();
    logs.set(name, log);
  }
  const input = (resource: Resource): ReadInput | undefined => {
    const view = logs.get(resource.resource);
    return view && { resource, identity, view, namespace: "", aborted: () => false };
  };
  return { logs, source: { resources: scheme.resources, input } };
}

/** Records of a log of which messages are kept. */
function kept(logs: ReadonlyMap<string, FakeLog>, name: string): number {
  const resource = scheme.resources.find((resource) => resource.resource === name && resource.stored === resource);
  const log = logs.get(name);
  assert(resource !== undefined && log !== undefined, `There is a log of ${name}`);
  const shelf = protoCache.shelf(log, resource, identity);
  let count = 0;
  for (let at = 1; at <= log.head; at += 1) if (shelf.placeOf(at) !== undefined) count += 1;
  return count;
}

const never = (): boolean => false;

/** A thread that was at work for these parts of the time, look by look, and rests from then on; how often it was looked at. */
function thread(...parts: number[]): Looks & { readonly seen: () => number } {
  let seen = 0;
  return { everyMs: 1, busyPart: () => parts[seen++] ?? 0, made: () => 0, seen: () => seen };
}

t.test("warmUp() lists when its thread rests", async (t) => {
  const { logs, source } = open({ endpoints: 1_000 });
  const at = thread(1, 0.5, 0.2);
  t.teardown(warmUp(source, (error) => t.fail(String(error)), at));
  t.ok(await eventually(() => kept(logs, "endpoints") === 1_000));
  t.equal(at.seen(), 4);
});

t.test("warmUp() gives up where its thread does not rest", async (t) => {
  const { logs, source } = open({ leases: 1_000 });
  const busy = thread(...Array.from({ length: 1_000 }, () => 1));
  t.teardown(warmUp(source, (error) => t.fail(String(error)), busy));
  t.ok(await eventually(() => busy.seen() === 240));
  const stopped = thread(1, 1, 1);
  warmUp(source, (error) => t.fail(String(error)), stopped)();
  const later = thread();
  t.teardown(warmUp(open({ leases: 1_000 }).source, (error) => t.fail(String(error)), later));
  t.ok(await eventually(() => later.seen() === 1));
  t.equal(busy.seen(), 240, "no further look");
  t.equal(stopped.seen(), 0);
  t.equal(kept(logs, "leases"), 0);
});

t.test("warmUp() tells of a fault", async (t) => {
  const source: WarmUpSource = {
    resources: scheme.resources,
    input: () => {
      throw new Error("no log");
    },
  };
  let told: unknown;
  t.teardown(warmUp(source, (error) => (told = error), thread()));
  t.ok(await eventually(() => told !== undefined));
  t.match(told, { message: "no log" });
});

t.test("listLongest() makes messages of the kind with the most objects, of a part of them", async (t) => {
  const { logs, source } = open({ leases: 1_200, configmaps: 5_100, secrets: 300 });
  await listLongest(source, never);
  t.equal(kept(logs, "configmaps"), 5_000);
  t.equal(kept(logs, "leases"), 0);
  t.equal(kept(logs, "secrets"), 0);
});

t.test("listLongest() lists no more bytes than a list of small objects has", async (t) => {
  const { logs, source } = open({ configmaps: 1_000 }, 40_000);
  await listLongest(source, never);
  const count = kept(logs, "configmaps");
  t.ok(count > 400 && count < 420, `${count} of 40 kB`);
});

t.test("listLongest() leaves few objects alone, and ends where the server does", async (t) => {
  const few = open({ leases: 999 });
  await listLongest(few.source, never);
  t.equal(kept(few.logs, "leases"), 0);
  const many = open({ leases: 2_000 });
  await listLongest(many.source, () => true);
  t.equal(kept(many.logs, "leases"), 0);
});

t.test("warmUp() leaves it where messages were made for clients", async (t) => {
  const { logs, source } = open({ leases: 1_000 });
  const at = { ...thread(), made: () => 9 * 1024 * 1024 };
  t.teardown(warmUp(source, (error) => t.fail(String(error)), at));
  const other = thread();
  t.teardown(warmUp(open({}).source, (error) => t.fail(String(error)), other));
  t.ok(await eventually(() => other.seen() === 1), "which was looked at after it");
  t.equal(at.seen(), 0);
  t.equal(kept(logs, "leases"), 0);
});
