// What completes pods beside their account: priority, tolerations, runtime class.
import t from "tap";
import { type Answer, type InProcess, openInProcess } from "../support/inprocess.ts";

const pods = "/api/v1/namespaces/default/pods";
const classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
const runtimes = "/apis/node.k8s.io/v1/runtimeclasses";

async function open(): Promise<InProcess> {
  const server = await openInProcess("kubernetes", { admission: {} });
  await server.call("POST", "/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "default" } });
  return server;
}

let count = 0;

function create(server: InProcess, spec: object): Promise<Answer> {
  const containers = [{ name: "c", image: "i" }];
  return server.call("POST", pods, { metadata: { name: `p${count++}` }, spec: { containers, ...spec } });
}

t.test("Priority resolves classes, takes the default one, and lets no user choose a number", async (t) => {
  const server = await open();
  await server.call("POST", classes, { metadata: { name: "low" }, value: 7, preemptionPolicy: "Never" });
  for (const [spec, priority, policy] of [
    [{}, 0, "PreemptLowerPriority"],
    [{ priority: 0 }, 0, "PreemptLowerPriority"],
    [{ priorityClassName: "low" }, 7, "Never"],
    [{ priorityClassName: "low", priority: 7, preemptionPolicy: "Never" }, 7, "Never"],
  ] as const) {
    const { code, json } = await create(server, spec);
    t.equal(code, 201);
    t.equal(json.spec.priority, priority);
    t.equal(json.spec.preemptionPolicy, policy);
  }
  for (const [spec, why] of [
    [{ priorityClassName: "__proto__" }, "no PriorityClass with name __proto__ was found"],
    [
      { priority: 5 },
      "the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name",
    ],
    [
      { preemptionPolicy: "Never" },
      "the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name",
    ],
  ] as const) {
    const { code, json } = await create(server, spec);
    t.equal(code, 403);
    t.ok(json.message.endsWith(`is forbidden: ${why}`), json.message);
  }
  await server.call("POST", classes, { metadata: { name: "all" }, value: 9, globalDefault: true });
  const { json } = await create(server, {});
  t.match(json.spec, { priority: 9, priorityClassName: "all" });
  await server.call("DELETE", `${classes}/all`);
  t.equal((await create(server, {})).json.spec.priority, 0, "the class went");
  server.close();
});

t.test("Priority lets one class be the default, and keeps a pod's number through updates", async (t) => {
  const server = await open();
  await server.call("POST", classes, { metadata: { name: "one" }, value: 9, globalDefault: true });
  await server.call("POST", classes, { metadata: { name: "two" }, value: 9 });
  const why = "PriorityClass one is already marked as default. Only one default can exist";
  const second = await server.call("POST", classes, { metadata: { name: "three" }, value: 9, globalDefault: true });
  t.equal(second.json.message, `priorityclasses.scheduling.k8s.io "three" is forbidden: ${why}`);
  const patch = { "content-type": "application/merge-patch+json" };
  t.equal((await server.call("PATCH", `${classes}/two`, { globalDefault: true }, patch)).code, 403);
  t.equal((await server.call("PATCH", `${classes}/one`, { description: "x" }, patch)).code, 200);
  const { json: pod } = await create(server, {});
  delete pod.spec.priority;
  delete pod.spec.preemptionPolicy;
  const updated = await server.call("PUT", `${pods}/${pod.metadata.name}`, pod);
  t.equal(updated.code, 200);
  t.match(updated.json.spec, { priority: 9, preemptionPolicy: "PreemptLowerPriority" });
  server.close();
});

t.test("DefaultTolerationSeconds adds what a pod does not speak of, for as long as the flags say", async (t) => {
  const server = await openInProcess("kubernetes", {
    admission: { disabled: ["ServiceAccount"], notReadyTolerationSeconds: 1, unreachableTolerationSeconds: 2 },
  });
  const [ready, reach] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
  const added = (key: string, tolerationSeconds: number): object => ({
    key,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds,
  });
  for (const [tolerations, expected] of [
    [[], [added(ready, 1), added(reach, 2)]],
    [[{ key: ready, operator: "Exists" }], [added(reach, 2)]],
    [[{ key: ready, operator: "Exists", effect: "NoSchedule" }], [added(ready, 1), added(reach, 2)]],
    [[{ operator: "Exists" }], []],
  ] as const) {
    const { json } = await create(server, { tolerations });
    t.same(json.spec.tolerations, [...tolerations, ...expected]);
  }
  server.close();
});

t.test("RuntimeClass sets overhead and placement, and refuses what does not agree", async (t) => {
  const server = await open();
  await server.call("POST", runtimes, { metadata: { name: "bare" }, handler: "h" });
  await server.call("POST", runtimes, {
    metadata: { name: "rich" },
    handler: "h",
    overhead: { podFixed: { cpu: "500m" } },
    scheduling: {
      nodeSelector: { rt: "yes" },
      tolerations: [
        { key: "rt", operator: "Exists" },
        { key: "own", operator: "Equal", value: "v" },
      ],
    },
  });
  const own = { key: "own", operator: "Exists" };
  const { json } = await create(server, {
    runtimeClassName: "rich",
    overhead: { cpu: "0.5" },
    nodeSelector: { a: "b" },
    tolerations: [own],
  });
  t.same(json.spec.overhead, { cpu: "500m" });
  t.same(json.spec.nodeSelector, { a: "b", rt: "yes" });
  t.same(
    json.spec.tolerations.filter(({ key }: { key: string }) => !key.includes("/")),
    [own, { key: "rt", operator: "Exists" }],
  );
  for (const [spec, why] of [
    [{ runtimeClassName: "none" }, 'pod rejected: RuntimeClass "none" not found'],
    [
      { runtimeClassName: "rich", overhead: { cpu: "1" } },
      "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    ],
    [
      { runtimeClassName: "bare", overhead: { cpu: "1" } },
      "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
    ],
    [{ overhead: { cpu: "1" } }, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"],
    [
      { runtimeClassName: "rich", nodeSelector: { rt: "no" } },
      "conflict: runtimeClass.scheduling.nodeSelector[rt] = yes; pod.spec.nodeSelector[rt] = no",
    ],
    [
      {
        runtimeClassName: "rich",
        tolerations: Array.from({ length: 1000 }, (_, i) => ({ key: `k${i}`, operator: "Exists" })),
      },
      "pod rejected: more than 1000 tolerations",
    ],
  ] as const) {
    const { code, json: status } = await create(server, spec);
    t.equal(code, 403, why);
    t.ok(status.message.endsWith(`is forbidden: ${why}`), status.message);
  }
  server.close();
});
