// What is counted of kinds that come and go.
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import { Registry as Kinds } from "../../src/api/registry.ts";
import { createScheme } from "../../src/api/scheme.ts";
import { forgetKinds } from "../../src/boot/count.ts";
import { definedAt } from "../../src/kinds/custom/prefix.ts";
import { Registry } from "../../src/observe/metrics.ts";

t.test("forgetKinds() forgets what was counted for kinds that are gone, and nothing else", async (t) => {
  const kinds = new Kinds(createScheme({ identity: identities.kubernetes }));
  const pods = kinds.find("", "v1", "pods");
  if (pods === undefined) throw new Error("No pods");
  const group = "example.com";
  const place = { group, version: "v1", apiVersion: "example.com/v1", prefix: "/registry/example.com/widgets" };
  const widgets = { ...pods, ...place, resource: "widgets", kind: "Widget" };
  const registry = new Registry();
  const counted = registry.counter("requests", "", "verb", "group", "resource");
  const open = registry.gauge("watches", "", "group", "resource");
  const lists = registry.counter("lists", "", "resource_prefix");
  forgetKinds(registry, kinds);
  const keys = (): string[] => registry.snapshot().flatMap(({ keys }) => keys.map((key) => key.replaceAll("\0", " ")));
  kinds.provide("widgets", [widgets]);
  for (const of of [
    "\0pods",
    "\0",
    "apps\0deployments",
    "example.com\0widgets",
    "example.com\0",
    "gone.example.com\0x",
  ]) {
    counted.add(`GET\0${of}`);
  }
  open.add("example.com\0widgets");
  lists.add("/registry/pods");
  lists.add("/registry/example.com/widgets");
  const builtIn = ["GET  pods", "GET  ", "GET apps deployments"];
  t.same(keys(), [...builtIn, "GET example.com widgets", "example.com widgets", "/registry/pods", widgets.prefix]);
  kinds.withdraw("widgets");
  t.same(keys(), [...builtIn, "example.com widgets", "/registry/pods"], "a watch that is open still counts");
});

t.test("definedAt() names custom resources by where they are kept", async (t) => {
  t.equal(definedAt("/registry/example.com/widgets"), "widgets.example.com");
  t.equal(definedAt("/registry/pods"), undefined);
  t.equal(definedAt("/registry/ranges/serviceips"), undefined);
});
