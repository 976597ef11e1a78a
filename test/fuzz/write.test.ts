// Random writes, sensible and not: whatever a client sends, the answer is a success or a refusal of the client's
// mistake, never a fault of ours. ORCH_SEED repeats a run.
import t from "tap";
import { type InProcess, openInProcess } from "../support/inprocess.ts";
import { random } from "../support/random.ts";

const seed = Number(process.env["ORCH_SEED"] ?? Date.now() % 1_000_000);
const requests = Number(process.env["ORCH_FUZZ_REQUESTS"] ?? 1500);
const pick = random(seed);

const core = "/api/v1/namespaces/default";
const containers = [
  { name: "c", image: "i", ports: [{ containerPort: 80 }], resources: { limits: { cpu: "1", memory: "1Gi" } } },
];
const template = { metadata: { labels: { a: "b" } }, spec: { containers } };
const selector = { matchLabels: { a: "b" } };
const kinds: readonly (readonly [path: string, body: Record<string, unknown>])[] = [
  [`${core}/configmaps`, { data: { k: "v" }, binaryData: { b: "AAAA" } }],
  [`${core}/secrets`, { stringData: { k: "v" }, type: "Opaque" }],
  [`${core}/pods`, { spec: { containers, volumes: [{ name: "v", emptyDir: {} }] }, status: { phase: "Running" } }],
  [`${core}/services`, { spec: { ports: [{ port: 80, targetPort: "http" }], selector: { a: "b" } } }],
  [
    `${core}/persistentvolumeclaims`,
    { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } },
  ],
  [`${core}/events`, { involvedObject: { kind: "Pod", namespace: "default" }, count: 1 }],
  ["/api/v1/namespaces", { spec: { finalizers: ["x.example/y"] } }],
  ["/api/v1/nodes", { spec: { podCIDR: "10.0.0.0/24", taints: [{ key: "k", effect: "NoSchedule" }] } }],
  ["/apis/apps/v1/namespaces/default/deployments", { spec: { replicas: 1, selector, template } }],
  ["/apis/apps/v1/namespaces/default/statefulsets", { spec: { serviceName: "s", selector, template } }],
  ["/apis/batch/v1/namespaces/default/jobs", { spec: { template: { spec: { restartPolicy: "Never", containers } } } }],
  [
    "/apis/autoscaling/v2beta2/namespaces/default/horizontalpodautoscalers",
    { spec: { maxReplicas: 2, scaleTargetRef: { kind: "X", name: "x" } } },
  ],
  [
    "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
    { spec: { rules: [{ host: "h", http: { paths: [] } }] } },
  ],
  [
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    { rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }] },
  ],
  [
    "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    { spec: { holderIdentity: "h", renewTime: "2026-01-01T00:00:00.000000Z" } },
  ],
  [
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    { spec: { group: "g.example", names: { plural: "x", kind: "X" }, scope: "Namespaced", versions: [] } },
  ],
];
const odd: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e300,
  2 ** 53,
  "",
  "x",
  "-",
  "__proto__",
  "\u0000",
  "\ud800",
  "é".repeat(300),
  "2001-01-01T00:00:00Z",
  [],
  [null],
  [[]],
  {},
  { a: null },
  { __proto__: 1 },
  ["a", "a"],
  { name: "n" },
];
const words = [
  "metadata",
  "name",
  "namespace",
  "labels",
  "annotations",
  "finalizers",
  "ownerReferences",
  "uid",
  "spec",
  "status",
  "containers",
  "0",
  "1",
  "-",
  "-1",
  "a",
  "data",
  "template",
  "generateName",
  "resourceVersion",
  "managedFields",
];

function one<T>(of: readonly T[]): T {
  return of[pick(of.length)] as T;
}

/** The value with some of its parts replaced, dropped or added. */
function mutate(value: unknown, depth = 0): unknown {
  if (pick(12) === 0) return one(odd);
  if (Array.isArray(value)) {
    const list = value.map((item) => mutate(item, depth + 1));
    return pick(8) === 0 ? [...list, one(odd)] : list;
  }
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).filter(() => pick(15) !== 0);
  const changed = entries.map(([key, item]) => [key, mutate(item, depth + 1)] as const);
  if (pick(8) === 0) changed.push([one(words), one(odd)]);
  return Object.fromEntries(changed);
}

function metadata(name: string): object {
  const all = { name, labels: { a: "b" }, annotations: { n: "1" }, finalizers: ["x.example/y"], generateName: "g-" };
  return Object.fromEntries(Object.entries(all).filter(([key]) => key === "name" || pick(3) === 0));
}

function pointer(): string {
  return Array.from({ length: pick(5) }, () => `/${one(words)}`).join("");
}

function jsonPatch(): unknown {
  const operations = ["add", "remove", "replace", "move", "copy", "test", "fly"];
  return Array.from({ length: pick(5) }, () => ({
    op: one(operations),
    path: pick(20) === 0 ? one(odd) : pointer(),
    from: pointer(),
    value: one(odd),
  }));
}

async function step(server: InProcess): Promise<{ sent: string; code: number }> {
  const [path, body] = one(kinds);
  const name = `o${pick(4)}`;
  const object = { metadata: metadata(name), ...body };
  const sent = pick(2) === 0 ? object : mutate(object);
  const query = one(["", "", "", "?dryRun=All", "?fieldManager=f", "?gracePeriodSeconds=0", "?pretty=1"]);
  const sub = one(["", "", "", "", "/status", "/finalize", "/scale"]);
  const [method, target, type, payload]: [string, string, string, unknown] = one([
    ["POST", `${path}${query}`, "application/json", sent],
    ["POST", `${path}${query}`, "application/yaml", sent],
    ["PUT", `${path}/${name}${sub}${query}`, "application/json", sent],
    ["PATCH", `${path}/${name}${sub}${query}`, "application/merge-patch+json", mutate(object)],
    ["PATCH", `${path}/${name}${sub}${query}`, "application/json-patch+json", jsonPatch()],
    [
      "DELETE",
      `${path}/${name}${query}`,
      "application/json",
      mutate({ propagationPolicy: "Orphan", preconditions: {} }),
    ],
    ["DELETE", `${path}${query}`, "application/json", undefined],
    ["GET", `${path}/${name}`, "application/json", undefined],
  ]);
  const text = payload === undefined ? undefined : JSON.stringify(payload);
  const answer = await server.call(method, target, text, text === undefined ? {} : { "content-type": type });
  return { sent: `${method} ${target} ${type} ${text}`, code: answer.code };
}

t.test(`write() never answers a client's mistake with a fault of ours (seed ${seed})`, async (t) => {
  const server = await openInProcess();
  const codes = new Map<number, number>();
  for (let i = 0; i < requests; i++) {
    const { sent, code } = await step(server);
    codes.set(code, (codes.get(code) ?? 0) + 1);
    if (code < 500 && server.faults.length === 0) continue;
    t.fail(`${code} for ${sent}`, { fault: String((server.faults[0] as Error | undefined)?.stack) });
    break;
  }
  t.ok((codes.get(201) ?? 0) > requests / 50, "some are created");
  t.ok((codes.get(200) ?? 0) > requests / 50, "some are changed");
  t.ok((codes.get(422) ?? 0) > requests / 50, "some are invalid");
  server.close();
});
