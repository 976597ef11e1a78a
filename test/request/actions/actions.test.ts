// Binding and eviction through the whole request path; answers are those of upstream's transcripts.
import type { Test } from "tap";
import { limits } from "../../../src/config/limits.ts";
import type { Answer, InProcess } from "../../support/inprocess.ts";
import { scenario } from "../../support/scenario.ts";

const pods = "/api/v1/namespaces/default/pods";
const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
const merge = { "content-type": "application/merge-patch+json" };
const blocked = "429 Cannot evict pod as it would violate the pod's disruption budget.";

function brief({ code, json }: Answer): string {
  return json?.kind === "Status" && json.message !== undefined ? `${code} ${json.message}` : String(code);
}

async function makePod(server: InProcess, name: string, nodeName?: string): Promise<void> {
  const spec = { containers: [{ name: "c", image: "i" }], nodeName };
  await server.call("POST", pods, { metadata: { name, labels: { app: "web" } }, spec });
}

async function setStatus(t: Test, server: InProcess, path: string, status: object): Promise<void> {
  const done = await server.call("PATCH", `${path}/status`, { status }, merge);
  t.equal(done.code, 200, done.text);
}

function evict(server: InProcess, name: string, more: object = {}, query = ""): Promise<Answer> {
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name }, ...more };
  return server.call("POST", `${pods}/${name}/eviction${query}`, body);
}

scenario("bindPod() assigns a pod once", async (t, server) => {
  for (const name of ["p", "q", "gone"]) await makePod(server, name);
  const bind = (name: string, metadata: object, target: object) =>
    server.call("POST", `${pods}/${name}/binding`, { metadata: { name, ...metadata }, target });
  const node = { kind: "Node", name: "n1" };
  const key = "/registry/pods/default/p";
  const table: [want: string, name: string, metadata: object, target: object][] = [
    ["400 name in URL does not match name in Binding object", "p", { name: "q" }, node],
    ["400 target.name: Required value", "p", {}, {}],
    ["400 target.name: Invalid value: \"..\": may not be '..'", "p", {}, { name: ".." }],
    ["400 target.name: Invalid value: \"a/b\": may not contain '/'", "p", {}, { name: "a/b" }],
    [
      '400 target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
      "p",
      {},
      { kind: "Pod", name: "x" },
    ],
    [
      `409 Operation cannot be fulfilled on pods "p": StorageError: invalid object, Code: 4, Key: ${key}, `,
      "p",
      { uid: "u" },
      node,
    ],
    ["ResourceVersion in precondition: 1, ", "p", { resourceVersion: "1" }, node],
    ["400 the namespace of the provided object does not match", "p", { namespace: "other" }, node],
    ['404 pods "none" not found', "none", {}, node],
    ["201", "p", { annotations: { a: "b" } }, node],
    ['409 Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"', "p", {}, node],
  ];
  for (const [want, name, metadata, target] of table) {
    t.match(brief(await bind(name, metadata, target)), want, want);
  }
  const pod = (await server.call("GET", `${pods}/p`)).json;
  t.equal(pod.spec.nodeName, "n1");
  t.strictSame(pod.metadata.annotations, { a: "b" });
  t.match(pod.status.conditions, [
    { type: "PodScheduled", status: "True", lastTransitionTime: "2026-01-02T03:04:05Z" },
  ]);

  const legacy = "/api/v1/namespaces/default/bindings";
  t.equal(brief(await server.call("POST", `${legacy}?dryRun=All`, { metadata: { name: "q" }, target: node })), "201");
  t.equal((await server.call("GET", `${pods}/q`)).json.spec.nodeName, undefined);
  const done = await server.call("POST", legacy, { metadata: { name: "q" }, target: node });
  t.strictSame(done.json, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 });
  t.equal((await server.call("GET", `${pods}/q`)).json.spec.nodeName, "n1");
  await server.call("PATCH", `${pods}/gone`, { metadata: { finalizers: ["x.io/y"] } }, merge);
  await server.call("DELETE", `${pods}/gone`);
  t.match(brief(await bind("gone", {}, node)), "pod gone is being deleted, cannot be assigned to a host");
});

scenario("bindPod() writes a pod as any other write does", async (t, server) => {
  const labels = { app: "web" };
  const container = {
    name: "c",
    image: "i",
    command: ["sh", "-c", 'echo "<é>" && sleep 1 # 🙂'],
    env: [{ name: "A", value: "a\u2028\n{}[]" }],
    resources: { limits: { cpu: "100m" } },
  };
  const volumes = [{ name: "v", emptyDir: {} }];
  const spec = { containers: [container], volumes, nodeSelector: { "a/b": "" }, tolerations: [{ operator: "Exists" }] };
  const made = await server.call("POST", pods, { metadata: { name: "full", labels }, spec });
  t.equal(brief(made), "201");
  const target = { kind: "Node", name: "n1" };
  t.equal(brief(await server.call("POST", `${pods}/full/binding`, { metadata: { name: "full" }, target })), "201");
  const pod = (await server.call("GET", `${pods}/full`)).json;
  t.strictSame(pod.spec, { ...made.json.spec, nodeName: "n1" });
  t.strictSame(pod.metadata, { ...made.json.metadata, resourceVersion: pod.metadata.resourceVersion });
  // A write that changes nothing is found by its bytes.
  const same = await server.call("PUT", `${pods}/full`, pod);
  t.equal(same.json.metadata.resourceVersion, pod.metadata.resourceVersion);
  const found = await server.call(
    "GET",
    `${pods}?labelSelector=app%3Dweb&fieldSelector=spec.nodeName%3Dn1,status.phase%3DPending`,
  );
  t.match(found.json.items, [{ metadata: { name: "full" } }]);
});

scenario("evictPod() spends what the disruption budget allows and no more", async (t, server) => {
  const ready = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
  for (const name of ["a", "b", "c", "free"]) {
    await makePod(server, name, "n1");
    await setStatus(t, server, `${pods}/${name}`, ready);
  }
  await server.call("PATCH", `${pods}/free`, { metadata: { labels: { app: "other" } } }, merge);
  const now = { deleteOptions: { gracePeriodSeconds: 0 } };
  t.match(
    brief(await evict(server, "a", { metadata: { name: "b" } })),
    "400 name in URL does not match name in Eviction",
  );
  t.equal(brief(await evict(server, "none")), '404 pods "none" not found');
  const old = await server.call("POST", `${pods}/free/eviction`, {
    apiVersion: "policy/v1beta1",
    kind: "Eviction",
    metadata: { name: "free" },
  });
  t.equal(brief(old), "201");
  t.equal((await server.call("GET", `${pods}/free`)).json.metadata.deletionGracePeriodSeconds, 30);

  const refused = (what: string): string => `422 DeleteOptions.meta.k8s.io "" is invalid: ${what}`;
  const policies = 'supported values: "Foreground", "Background", "Orphan", "nil"';
  const faulty: [deleteOptions: object, expected: string][] = [
    [{ dryRun: ["Some"] }, refused('dryRun: Unsupported value: []string{"Some"}: supported values: "All"')],
    [{ propagationPolicy: "Sideways" }, refused(`propagationPolicy: Unsupported value: "Sideways": ${policies}`)],
    [
      { propagationPolicy: "Orphan", orphanDependents: true },
      refused(
        'propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
      ),
    ],
    [{ preconditions: { uid: "other" } }, "409"],
    [{ preconditions: { resourceVersion: "1" } }, "409"],
  ];
  for (const [deleteOptions, expected] of faulty) {
    const told = brief(await evict(server, "a", { deleteOptions }));
    t.equal(expected === "409" ? told.slice(0, 3) : told, expected, JSON.stringify(deleteOptions));
  }
  t.equal((await server.call("GET", `${pods}/a`)).json.metadata.deletionTimestamp, undefined);

  const spec = { minAvailable: 2, selector: { matchLabels: { app: "web" } } };
  await server.call("POST", budgets, { metadata: { name: "one" }, spec });
  const unseen = await evict(server, "a");
  t.equal(brief(unseen), blocked);
  t.equal(unseen.json.details.retryAfterSeconds, 10);
  const allowed = {
    observedGeneration: 1,
    disruptionsAllowed: 1,
    currentHealthy: 3,
    desiredHealthy: 2,
    expectedPods: 3,
  };
  await setStatus(t, server, `${budgets}/one`, allowed);
  t.equal(brief(await evict(server, "a", now, "?dryRun=All")), "201");
  t.equal(brief(await evict(server, "a", { deleteOptions: { dryRun: ["All"] } })), "201");
  t.equal((await server.call("GET", `${pods}/a`)).code, 200);
  t.equal((await server.call("GET", `${budgets}/one`)).json.status.disruptionsAllowed, 1);

  // The budget was charged when the request's time ended: nothing more is written for it.
  server.store.before = () => {
    server.store.before = undefined;
    server.aheadMs += limits.requestMsMax;
    return undefined;
  };
  const late = await evict(server, "a", now);
  t.strictSame([late.code, late.json.reason], [504, "Timeout"]);
  t.equal((await server.call("GET", `${pods}/a`)).json.metadata.deletionTimestamp, undefined);
  await setStatus(t, server, `${budgets}/one`, allowed);

  const both = await Promise.all([evict(server, "a", now), evict(server, "b", now)]);
  t.strictSame(both.map(brief).sort(), ["201", blocked]);
  const [lost, won] = both[0]?.code === 201 ? ["b", "a"] : ["a", "b"];
  const { status } = (await server.call("GET", `${budgets}/one`)).json;
  t.strictSame(status.disruptedPods, { [won]: "2026-01-02T03:04:05Z" });
  t.match(status, { disruptionsAllowed: 0, conditions: [{ type: "DisruptionAllowed", status: "False" }] });
  const [cause] = (await evict(server, lost)).json.details.causes;
  t.equal(cause.message, "The disruption budget one needs 2 healthy pods and has 3 currently");

  // Not ready: it costs nothing.
  await setStatus(t, server, `${pods}/c`, { conditions: [{ type: "Ready", status: "False" }] });
  t.equal(brief(await evict(server, "c", now)), "201");
  await server.call("POST", budgets, { metadata: { name: "two" }, spec });
  t.match(brief(await evict(server, lost)), "500 This pod has more than one PodDisruptionBudget");
  await setStatus(t, server, `${pods}/${lost}`, { phase: "Succeeded" });
  t.equal(brief(await evict(server, lost)), "201");
  t.equal((await server.call("GET", `${pods}/${lost}`)).code, 404);
});
