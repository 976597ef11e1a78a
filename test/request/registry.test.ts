// Kinds come and go while the server runs: what is provided is served at once, and what is withdrawn is a 404 and leaves
// nothing behind. What is provided here borrows the shape of a config map.
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import { Registry } from "../../src/api/registry.ts";
import { compareVersions, createScheme, type Resource } from "../../src/api/scheme.ts";
import { systemClock } from "../../src/base/clock.ts";
import { nextTurn } from "../../src/base/turn.ts";
import { openPool } from "../../src/boot/pool.ts";
import { Registry as Metrics } from "../../src/observe/metrics.ts";
import { registerWatchMetrics } from "../../src/request/watch/watchmetrics.ts";
import { Merges } from "../../src/request/write/offload.ts";
import { type InProcess, openInProcess, until } from "../support/inprocess.ts";

/** A kind of a group of its own, `things7.example.com`. */
function kindOf(scheme: Registry, number: number, version = "v1"): Resource {
  const shape = scheme.find("", "v1", "configmaps");
  if (shape === undefined) throw new Error("No config maps");
  const group = `group-${number}.example.com`;
  const made = {
    ...shape,
    group,
    version,
    apiVersion: `${group}/${version}`,
    kind: `Thing${number}`,
    listKind: `Thing${number}List`,
    resource: `things${number}`,
    singular: `thing${number}`,
    shortNames: [],
    provided: true,
    prefix: `/registry/${group}/things${number}`,
  };
  return Object.assign(made, { stored: made });
}

function pathOf({ group, version, resource }: Resource): string {
  return `/apis/${group}/${version}/namespaces/default/${resource}`;
}

/** Provides a kind, as a definition would: its log first. */
async function provide(server: InProcess, resource: Resource): Promise<string | undefined> {
  await server.views.register(resource.prefix ?? "");
  return server.scheme.provide(resource.resource, [resource]);
}

async function withdraw(server: InProcess, { resource, prefix }: Resource): Promise<boolean> {
  server.scheme.withdraw(resource);
  return server.views.giveUp(prefix ?? "");
}

t.setTimeout(240_000);

t.test("10,000 kinds are served and withdrawn under load, at once, and leave nothing behind", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const metrics = new Metrics();
  registerWatchMetrics(metrics, server.fanout, server.scheme);
  const text = (): string => JSON.stringify(metrics.snapshot());
  const logs = server.logStats().logs.length;
  const used = server.logStats().usedBytes;
  const faults = new Map<string, number>();
  const note = (what: string): void => void faults.set(what, (faults.get(what) ?? 0) + 1);
  let stop = false;
  let loaded = 0;
  const load = (async () => {
    for (; !stop; loaded += 1) {
      const name = `load-${loaded % 50}`;
      const path = "/api/v1/namespaces/default/configmaps";
      const made = await server.call("POST", path, { metadata: { name } });
      if (made.code !== 201) note(`load: ${made.code}`);
      const gone = await server.call("DELETE", `${path}/${name}`);
      if (gone.code !== 200) note(`load: ${gone.code}`);
      await nextTurn();
    }
  })();
  for (let round = 0; round < 100; round += 1) {
    const kinds = Array.from({ length: 100 }, (_, at) => kindOf(server.scheme, 100 * round + at));
    const conflicts = await Promise.all(kinds.map((kind) => provide(server, kind)));
    if (conflicts.some((conflict) => conflict !== undefined)) note("a conflict");
    const [first] = kinds as [Resource];
    const watch = server.call("GET", `${pathOf(first)}?watch=1`);
    await Promise.all(
      kinds.map(async (kind, at) => {
        const path = pathOf(kind);
        const { apiVersion } = kind;
        const listed = await server.call("GET", path);
        if (listed.code !== 200 || listed.json.kind !== kind.listKind) note(`list: ${listed.code}`);
        if (at % 10 !== 0) return;
        const made = await server.call("POST", path, { apiVersion, kind: kind.kind, metadata: { name: "a" } });
        if (made.code !== 201 || made.json.apiVersion !== apiVersion) note(`create: ${made.code} ${made.text}`);
        const applied = await server.call(
          "PATCH",
          `${path}/a?fieldManager=m`,
          { apiVersion, kind: kind.kind, metadata: { name: "a" }, data: { a: "b" } },
          { "content-type": "application/apply-patch+yaml" },
        );
        if (applied.code !== 200) note(`apply: ${applied.code} ${applied.text}`);
        if (await server.views.giveUp(kind.prefix ?? "")) note("a log with an object was given up");
        const gone = await server.call("DELETE", `${path}/a`);
        if (gone.code !== 200) note(`delete: ${gone.code}`);
      }),
    );
    if (round % 20 === 0) {
      const group = await server.call("GET", `/apis/${first.group}/v1`);
      if (group.json?.resources?.[0]?.kind !== first.kind) note("discovery does not know it");
      if (!text().includes(first.group)) note("metrics do not know its watch");
    }
    if (!(await Promise.all(kinds.map((kind) => withdraw(server, kind)))).every(Boolean)) note("not given up");
    await watch;
    for (const kind of kinds.slice(0, 5)) {
      const answer = await server.call("GET", pathOf(kind));
      if (answer.code !== 404) note(`after: ${answer.code}`);
    }
    if (round % 20 === 0 && (await server.call("GET", `/apis/${first.group}/v1`)).code !== 404)
      note("still discovered");
  }
  stop = true;
  await load;
  t.same([...faults], []);
  t.ok(loaded > 100, `${loaded} writes and deletes beside it`);
  t.ok(await until(() => server.logStats().logs.length === logs), "logs");
  t.ok(server.logStats().usedBytes <= used + 64 * 1024 * 1024, "memory of logs");
  t.equal(server.fanout.watcherCount, 0);
  t.notMatch(text(), /example\.com/, "no figure is left of kinds that are gone");
  t.equal(server.scheme.current(), server.scheme.current(), "one snapshot");
  t.equal(server.scheme.resources.length, createScheme({ identity: identities.kubernetes }).resources.length);
});

t.test("provide() refuses what another provider has, and changes nothing then", async (t) => {
  const registry = new Registry(createScheme({ identity: identities.kubernetes }));
  const builtIn = registry.current();
  const one = kindOf(registry, 1);
  t.equal(registry.provide("a", [one, kindOf(registry, 1, "v1beta1")]), undefined);
  const before = registry.current();
  t.not(before, builtIn);
  t.equal(builtIn.find(one.group, "v1", one.resource), undefined, "a snapshot does not change");
  t.equal(registry.provide("b", [one]), "resource things1 of group-1.example.com/v1");
  t.equal(registry.provide("b", [{ ...one, resource: "others" }]), "kind Thing1 of group-1.example.com/v1");
  t.equal(registry.provide("b", [{ ...one, group: "apps", apiVersion: "apps/v1" }]), "group version apps/v1");
  t.equal(registry.current(), before);
  t.equal(registry.provide("a", [one]), undefined, "what was its own it may have again");
  t.equal(registry.groupVersion(one.group, "v1beta1"), undefined);
  t.same(registry.groups.at(-1), { group: one.group, priority: 1000, versions: ["v1"], preferredVersion: "v1" });
  t.equal(registry.hasGroup(one.group), true);
  for (const scheme of [registry, registry.current()]) {
    const { find, findKind, groupVersion, hasGroup } = scheme;
    t.ok(find(one.group, "v1", one.resource) && findKind(one.group, "v1", one.kind), "look-ups can be taken off it");
    t.ok(groupVersion(one.group, "v1") && hasGroup(one.group));
  }
  registry.withdraw("a");
  t.equal(registry.current(), builtIn);
});

t.test("compareVersions() puts what is stable and new first", async (t) => {
  const sorted = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"];
  t.same([...sorted].reverse().sort(compareVersions), sorted);
});

t.test(
  "objects of provided kinds without a definition are merged and printed on their front, however big: pool threads do not know them",
  async (t) => {
    const { gates, release } = createScheme({ identity: identities.kubernetes });
    const setup = { identity: "kubernetes", runtimeConfig: new Map(), gates, release } as const;
    const pool = openPool(setup);
    const merges = new Merges(pool, identities.kubernetes, systemClock, 1);
    const server = await openInProcess("kubernetes", { merges });
    t.teardown(() => {
      server.close();
      return pool.close();
    });
    const kind = kindOf(server.scheme, 1);
    t.equal(await provide(server, kind), undefined);
    const object = { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name: "a" }, data: { a: "b" } };
    const made = await server.call("POST", pathOf(kind), object);
    t.equal(made.code, 201, made.text);
    const patched = await server.call(
      "PATCH",
      `${pathOf(kind)}/a`,
      { data: { a: "c" } },
      { "content-type": "application/merge-patch+json" },
    );
    t.equal(patched.json.data?.a, "c", patched.text);
    const printed = await server.call("GET", `${pathOf(kind)}/a`, undefined, { accept: "application/yaml" });
    t.match(printed.text, /^kind: Thing1$/m);
    t.notOk(pool.isStarted);
  },
);
