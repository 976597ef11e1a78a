// What is served, under both identities and with versions switched on and off.
import { existsSync, readFileSync } from "node:fs";
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import { checkRuntimeConfig, createScheme } from "../../src/api/scheme.ts";

const kubernetes = createScheme({ identity: identities.kubernetes });
const orch = createScheme({ identity: identities.orch });

t.test("createScheme() serves every resource that is on by default", async (t) => {
  t.equal(kubernetes.resources.length, 66);
  t.equal(kubernetes.groups.length, 20);
  t.equal(kubernetes.find("apps", "v1", "deployments")?.kind, "Deployment");
  t.equal(kubernetes.findKind("", "v1", "Pod")?.prefix, "/registry/pods");
  for (const name of ["__proto__", "constructor", "pod", "pods/status", ""]) {
    t.equal(kubernetes.find("", "v1", name), undefined, name);
  }
});

t.test("createScheme() links a version to the one it is stored in", async (t) => {
  const events = kubernetes.find("events.k8s.io", "v1", "events");
  t.equal(events?.stored, kubernetes.find("", "v1", "events"));
  const crds = kubernetes.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  t.equal(crds?.stored, crds);
  t.equal(kubernetes.find("authentication.k8s.io", "v1", "tokenreviews")?.stored, undefined);
  t.equal(
    kubernetes.find("", "v1", "pods")?.subresources.every((s) => s.message !== undefined),
    true,
  );
});

t.test("createScheme() spells names in the identity, once", async (t) => {
  t.ok(orch.find("networking.orch.io", "v1", "ingresses"));
  t.equal(orch.find("networking.k8s.io", "v1", "ingresses"), undefined);
  t.equal(orch.find("", "v1", "serviceaccounts")?.subresources[0]?.group, "authentication.orch.io");
});

const switches: readonly (readonly [rules: Record<string, boolean>, served: Record<string, boolean>])[] = [
  [{ "storage.k8s.io/v1alpha1": true }, { "storage.k8s.io/v1alpha1/csistoragecapacities": true }],
  [{ "batch/v1beta1": false }, { "batch/v1beta1/cronjobs": false, "batch/v1/cronjobs": true }],
  [{ "api/beta": false }, { "batch/v1beta1/cronjobs": false, "batch/v1/cronjobs": true }],
  [
    { "api/all": false, "api/v1": true },
    { "/v1/pods": true, "apps/v1/deployments": false },
  ],
  [{ "api/all": false, v1: true }, { "/v1/pods": true }],
  [{ "batch/v1beta1": false, "batch/v1beta1/cronjobs": true }, { "batch/v1beta1/cronjobs": true }],
  [{ "api/alpha": true }, { "node.k8s.io/v1alpha1/runtimeclasses": true }],
];

for (const [rules, served] of switches) {
  t.test(`createScheme() obeys ${JSON.stringify(rules)}`, async (t) => {
    const scheme = createScheme({ identity: identities.kubernetes, runtimeConfig: new Map(Object.entries(rules)) });
    for (const [name, expected] of Object.entries(served)) {
      const [group = "", version = "", resource = ""] = name.split("/");
      t.equal(scheme.find(group, version, resource) !== undefined, expected, name);
    }
  });
}

t.test(
  "createScheme() leaves out what a later release serves no longer, whatever the configuration says",
  async (t) => {
    const at = (release: number, rules: Record<string, boolean> = {}) =>
      createScheme({ identity: identities.orch, release, runtimeConfig: new Map(Object.entries(rules)) });
    const served = (scheme: ReturnType<typeof at>, group: string, version: string, resource: string): boolean =>
      scheme.find(group, version, resource) !== undefined;
    const removed: readonly (readonly [release: number, group: string, version: string, resource: string])[] = [
      [25, "batch", "v1beta1", "cronjobs"],
      [25, "discovery.orch.io", "v1beta1", "endpointslices"],
      [25, "events.orch.io", "v1beta1", "events"],
      [25, "autoscaling", "v2beta1", "horizontalpodautoscalers"],
      [25, "policy", "v1beta1", "poddisruptionbudgets"],
      [25, "policy", "v1beta1", "podsecuritypolicies"],
      [25, "node.orch.io", "v1beta1", "runtimeclasses"],
      [26, "autoscaling", "v2beta2", "horizontalpodautoscalers"],
      [26, "flowcontrol.orch.io", "v1beta1", "flowschemas"],
    ];
    for (const [release, group, version, resource] of removed) {
      t.ok(served(at(release - 1), group, version, resource), `${version} ${resource} before 1.${release}`);
      const rules = { [`${group}/${version}`]: true, [`${group}/${version}/${resource}`]: true };
      t.notOk(served(at(release, rules), group, version, resource), `${version} ${resource} in 1.${release}`);
    }
    t.ok(served(at(40), "batch", "v1", "cronjobs"));
  },
);

t.test("checkRuntimeConfig() refuses keys that are nothing", async (t) => {
  const cases: readonly (readonly [rules: Record<string, boolean>, want: string | undefined])[] = [
    [{}, undefined],
    [{ "api/all": false }, "invalid key with only api/all=false"],
    [{ "api/all": false, v1: true, "api/beta": true, "api/legacy": true }, undefined],
    [{ v1: true, "api/v1": true, "v1/pods": true, "apps/v1/deployments": true, "batch/v1beta1": false }, undefined],
    [{ "networking.orch.io/v1": true }, undefined],
    [{ "networking.k8s.io/v1": true }, "unknown api groups networking.k8s.io"],
    [{ "batch/v2alpha1": true }, "group version batch/v2alpha1 that has not been registered"],
    [{ "batch/v1/things": true }, "runtime-config invalid key batch/v1/things"],
    [{ batch: true }, "runtime-config invalid key batch"],
    [{ "a/b/c/d": true }, "runtime-config invalid key a/b/c/d"],
  ];
  for (const [rules, want] of cases) {
    const runtimeConfig = new Map(Object.entries(rules));
    t.equal(checkRuntimeConfig({ identity: identities.orch, runtimeConfig }), want, JSON.stringify(rules));
  }
});

const facts = "../shared/facts/kinds.json";
if (existsSync(facts)) {
  t.test("createScheme() computes the storage version hashes of the facts", async (t) => {
    interface Fact {
      group: string;
      orchGroup: string;
      version: string;
      resource: string;
      storageVersionHash?: string;
      orchStorageVersionHash?: string;
      servedByDefault: boolean;
    }
    const { kinds } = JSON.parse(readFileSync(facts, "utf8")) as { kinds: Fact[] };
    for (const kind of kinds.filter((k) => k.servedByDefault)) {
      const name = `${kind.group}/${kind.version}/${kind.resource}`;
      const hash = kubernetes.find(kind.group, kind.version, kind.resource)?.storageVersionHash;
      t.equal(hash, kind.storageVersionHash ?? "", name);
      const branded = orch.find(kind.orchGroup, kind.version, kind.resource)?.storageVersionHash;
      t.equal(branded, kind.orchStorageVersionHash ?? "", name);
    }
  });
}
