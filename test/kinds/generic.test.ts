import t from "tap";
import { type Json, type Kind, kind, updated } from "./written.ts";

t.test("Generations count what the kind counts", (t) => {
  const meta = { name: "a", generation: 4 };
  const template = (image: string) => ({ spec: { containers: [{ name: "c", image }] } });
  const cases: readonly [why: string, of: Kind, json: object, old: object, generation: number | undefined][] = [
    [
      "an annotation of a deployment",
      kind("apps", "v1", "deployments"),
      { metadata: { ...meta, annotations: { a: "b" } } },
      { metadata: meta },
      5,
    ],
    [
      "a label of a deployment",
      kind("apps", "v1", "deployments"),
      { metadata: { ...meta, labels: { a: "b" } } },
      { metadata: meta },
      4,
    ],
    [
      "the spec of a replica set",
      kind("apps", "v1", "replicasets"),
      { metadata: meta, spec: { replicas: 2 } },
      { metadata: meta },
      5,
    ],
    [
      "the template of a pod template",
      kind("", "v1", "podtemplates"),
      { metadata: meta, template: template("i") },
      { metadata: meta },
      5,
    ],
    [
      "a webhook",
      kind("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations"),
      { metadata: meta, webhooks: [{ name: "w" }] },
      { metadata: meta },
      5,
    ],
    [
      "a label of an endpoint slice",
      kind("discovery.k8s.io", "v1", "endpointslices"),
      { metadata: { ...meta, labels: { a: "b" } } },
      { metadata: meta },
      5,
    ],
    [
      "an annotation of an endpoint slice",
      kind("discovery.k8s.io", "v1", "endpointslices"),
      { metadata: { ...meta, annotations: { a: "b" } } },
      { metadata: meta },
      4,
    ],
    [
      "token requests of a driver",
      kind("storage.k8s.io", "v1", "csidrivers"),
      { metadata: meta, spec: { tokenRequests: [{ audience: "a" }] } },
      { metadata: meta },
      5,
    ],
    [
      "the rest of a driver",
      kind("storage.k8s.io", "v1", "csidrivers"),
      { metadata: meta, spec: { storageCapacity: true } },
      { metadata: meta },
      4,
    ],
    [
      "the value of a priority class",
      kind("scheduling.k8s.io", "v1", "priorityclasses"),
      { metadata: meta, value: 5 },
      { metadata: meta },
      4,
    ],
  ];
  for (const [why, of, json, old, generation] of cases) {
    t.equal((updated(of, json, old)["metadata"] as Json)["generation"], generation, why);
  }
  t.end();
});

t.test("Status writes that keep metadata keep all of it but managed fields", (t) => {
  const schemas = kind("flowcontrol.apiserver.k8s.io", "v1beta2", "flowschemas");
  const old = { metadata: { name: "f", uid: "u", labels: { a: "b" } }, spec: { matchingPrecedence: 5 } };
  const wish = {
    metadata: { name: "f", resourceVersion: "9", labels: { a: "c" }, managedFields: [{ manager: "m" }] },
    spec: { matchingPrecedence: 6 },
    status: { conditions: [{ type: "Dangling" }] },
  };
  t.hasStrict(updated(schemas, wish, old, "status"), {
    metadata: { uid: "u", labels: { a: "b" }, resourceVersion: "9", managedFields: [{ manager: "m" }] },
    spec: { matchingPrecedence: 5 },
    status: { conditions: [{ type: "Dangling" }] },
  });
  t.end();
});
