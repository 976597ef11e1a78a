// The order of discovery: priorities of group versions, those of APIServices and those without.
import t from "tap";
import { aggregatedDiscovery, discoveryDocument } from "../../src/api/discovery.ts";
import {
  builtInRegistrations,
  definedRegistration,
  orderGroups,
  type Registration,
  registrationName,
} from "../../src/api/groups.ts";
import { identities } from "../../src/api/identity.ts";
import { Registry } from "../../src/api/registry.ts";
import { createScheme, type Resource } from "../../src/api/scheme.ts";

const scheme = createScheme({ identity: identities.kubernetes });

function of(text: string): Registration {
  const [groupVersion = "", groupPriority, versionPriority] = text.split(" ");
  const [group = "", version = ""] = groupVersion.split("/");
  return { group, version, groupPriority: Number(groupPriority), versionPriority: Number(versionPriority) };
}

const orders: readonly (readonly [title: string, registrations: readonly string[], expected: readonly string[]])[] = [
  ["the highest priority of a group's versions places it", ["a/v1 5 1", "b/v1 7 1", "a/v2 9 1"], ["a: v2 v1", "b: v1"]],
  [
    "versions of one priority are ordered by their names",
    ["a/v1beta1 1 9", "a/v10 1 9", "a/v2 1 9", "a/other 1 9", "a/v1alpha1 1 10"],
    ["a: v1alpha1 v10 v2 v1beta1 other"],
  ],
  // Of APIServices: v1.b comes before v2.a.
  ["groups of one priority are ordered by the names of APIServices", ["a/v2 3 1", "b/v1 3 1"], ["b: v1", "a: v2"]],
  [
    "of two with a group's priority, the first name counts",
    ["a/v3 3 1", "b/v2 3 1", "a/v1 3 1"],
    ["a: v3 v1", "b: v2"],
  ],
  ["a name of less priority does not count", ["a/v3 3 1", "b/v2 3 1", "a/v1 2 1"], ["b: v2", "a: v3 v1"]],
];

for (const [title, registrations, expected] of orders) {
  t.test(`orderGroups(): ${title}`, async (t) => {
    const groups = orderGroups(registrations.map(of));
    t.same(
      groups.map(({ group, versions }) => `${group}: ${versions.join(" ")}`),
      expected,
    );
    for (const group of groups) t.equal(group.preferredVersion, group.versions[0]);
  });
}

t.test("orderGroups() places built-in groups as the scheme does", async (t) => {
  const shown = (groups: typeof scheme.groups): string[] =>
    groups.map(({ group, versions, preferredVersion }) => `${group} ${versions.join()} ${preferredVersion}`);
  for (const identity of [identities.kubernetes, identities.orch]) {
    const all = createScheme({ identity, runtimeConfig: new Map([["api/all", true]]) });
    t.same(shown(orderGroups(builtInRegistrations(all).values())), shown(all.groups));
  }
});

/** A registry with two defined kinds, and APIServices as the test says. */
function registered(): { registry: Registry; say: (name: string, registration: Registration | undefined) => void } {
  const registry = new Registry(scheme);
  const shape = scheme.find("", "v1", "configmaps") as Resource;
  const define = (group: string, version: string): Resource => {
    return {
      ...shape,
      group,
      version,
      apiVersion: `${group}/${version}`,
      kind: "Thing",
      resource: "things",
      provided: true,
    };
  };
  registry.provide("a", [define("a.example.com", "v1"), define("a.example.com", "v1beta1")]);
  registry.provide("b", [define("b.example.com", "v1")]);
  const news: [string, Registration | undefined][] = [];
  registry.orderBy(() => news.splice(0));
  return { registry, say: (name, registration) => void news.push([name, registration]) };
}

function listed(registry: Registry): string[] {
  const { body = "" } = discoveryDocument(registry.current(), "/apis", "") ?? {};
  const { groups } = JSON.parse(body) as { groups: { name: string; versions: { version: string }[] }[] };
  return groups.map(({ name, versions }) => `${name} ${versions.map(({ version }) => version).join()}`);
}

t.test("Registry lists groups as APIServices say, and as before when they are gone", async (t) => {
  const { registry, say } = registered();
  const before = listed(registry);
  t.equal(before[0], "apiregistration.k8s.io v1");
  t.same(before.slice(-2), ["a.example.com v1,v1beta1", "b.example.com v1"]);
  say("v1.b.example.com", of("b.example.com/v1 20000 1"));
  say("v1beta1.a.example.com", of("a.example.com/v1beta1 1000 150"));
  t.same(listed(registry).slice(0, 3), ["apiregistration.k8s.io v1", "b.example.com v1", "apps v1"]);
  t.equal(listed(registry).at(-1), "a.example.com v1beta1,v1");
  const { body = "" } = discoveryDocument(registry.current(), "/apis/a.example.com", "") ?? {};
  t.equal(JSON.parse(body).preferredVersion.version, "v1beta1");
  say("v1.b.example.com", undefined);
  say("v1beta1.a.example.com", undefined);
  t.same(listed(registry), before);
});

t.test("Registry lists what nothing is served of, and serves no document of its resources", async (t) => {
  const { registry, say } = registered();
  const before = listed(registry);
  say("v1.c.example.com", of("c.example.com/v1 100 1"));
  say("v9.a.example.com", of("a.example.com/v9 100 200"));
  say("v9.apps", of("apps/v9 100 1"));
  const now = listed(registry);
  t.equal(now.at(-1), "c.example.com v1");
  t.ok(now.includes("a.example.com v9,v1,v1beta1"), "with the group's priority, which v1 has");
  t.ok(now.includes("apps v1,v9"));
  t.match(discoveryDocument(registry.current(), "/apis/c.example.com", "")?.body, /"name":"c.example.com"/);
  for (const path of [
    "/apis/c.example.com/v1",
    "/apis/a.example.com/v9",
    "/apis/apps/v9",
    "/apis//v1",
    "/apis/",
    "//apis",
  ])
    t.equal(discoveryDocument(registry.current(), path, ""), undefined, path);
  const aggregated = aggregatedDiscovery(registry.current(), "/apis", "v2")?.body ?? "";
  t.notMatch(aggregated, /c\.example\.com|"v9"/);
  t.match(aggregated, /"name":"a.example.com"/);
  registry.withdraw("a");
  t.ok(listed(registry).includes("a.example.com v9"));
  for (const name of ["v1.c.example.com", "v9.a.example.com", "v9.apps"]) say(name, undefined);
  registry.provide(
    "a",
    [...(registry.groupVersion("b.example.com", "v1") ?? [])].map((b) => {
      return { ...b, group: "a.example.com", apiVersion: "a.example.com/v1" };
    }),
  );
  t.equal(listed(registry).length, before.length);
});

t.test("Registry lists the group of APIServices first, whatever they say", async (t) => {
  const { registry, say } = registered();
  say("v1.apiregistration.k8s.io", of("apiregistration.k8s.io/v1 1 1"));
  say("v2.apiregistration.k8s.io", of("apiregistration.k8s.io/v2 1 1"));
  t.equal(listed(registry)[0], "apiregistration.k8s.io v1,v2");
});

t.test("Registry lays nothing out for APIServices that say what goes without them", async (t) => {
  const { registry, say } = registered();
  const first = registry.current();
  for (const registration of [...builtInRegistrations(scheme).values(), definedRegistration("a.example.com", "v1")])
    say(registrationName(registration), registration);
  t.equal(registry.current(), first);
  say("v1.a.example.com", undefined);
  t.equal(registry.current(), first);
  say("v1.apps", of("apps/v1 17800 14"));
  t.not(registry.current(), first);
  const second = registry.current();
  say("v1.apps", of("apps/v1 17800 14"));
  t.equal(registry.current(), second);
  // What was laid out for it stays when the definition goes.
  say("v1.b.example.com", definedRegistration("b.example.com", "v1"));
  t.equal(registry.current(), second);
  registry.withdraw("b");
  t.equal(listed(registry).at(-1), "b.example.com v1");
});

t.test("Registry is the built-in kinds alone where nothing else is said", async (t) => {
  const { registry, say } = registered();
  for (const registration of builtInRegistrations(scheme).values()) say(registrationName(registration), registration);
  registry.withdraw("a");
  registry.withdraw("b");
  t.equal(registry.current(), scheme);
  say("v1.apps", of("apps/v1 1 1"));
  t.not(registry.current(), scheme);
  say("v1.apps", undefined);
  t.equal(registry.current(), scheme);
});

t.test("Registry lists what an APIService of the server's own stands for as long as it is served", async (t) => {
  const { registry, say } = registered();
  const before = listed(registry);
  const automatic = { ...definedRegistration("b.example.com", "v1"), isAutomatic: true };
  say("v1.b.example.com", automatic);
  const snapshot = registry.current();
  t.same(listed(registry), before);
  say("v1.b.example.com", { ...automatic, groupPriority: 20_000 });
  t.equal(listed(registry)[1], "b.example.com v1", "with the priority it has");
  registry.withdraw("b");
  t.notOk(listed(registry).includes("b.example.com v1"), "its definition went before it");
  t.equal(discoveryDocument(registry.current(), "/apis/b.example.com", ""), undefined);
  const gone = registry.current();
  say("v1.b.example.com", undefined);
  t.equal(registry.current(), gone, "when it goes itself, nothing is laid out anew");
  t.not(gone, snapshot);
  say("v1.b.example.com", automatic);
  t.notOk(listed(registry).includes("b.example.com v1"));
  say("v1.b.example.com", definedRegistration("b.example.com", "v1"));
  t.ok(listed(registry).includes("b.example.com v1"), "one that a user made is listed by itself");
});
