// The ways kubectl changes objects and shows them: apply by client and server, diff, edit, patches, scale, rollouts, and
// what get prints of many kinds.
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import type { Kubectl } from "../support/programs/kubectl.ts";
import type { TestServer } from "../support/server.ts";

/** What is run; what it must print, or whom it must fail with; what it reads; what else is in its environment. */
interface Step {
  readonly words: string;
  readonly out?: RegExp;
  readonly code?: number;
  readonly errors?: RegExp;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

async function runs(t: Test, kubectl: Kubectl, steps: readonly Step[]): Promise<void> {
  for (const { words, out: wanted, code: wantedCode = 0, errors: wantedErrors, input, env } of steps) {
    const { code, out, errors } = await kubectl.run(words, input, env);
    const fits = code === wantedCode && (wanted?.test(out) ?? true) && (wantedErrors?.test(errors) ?? true);
    t.ok(fits, fits ? words : `${words}: exit ${code}\n${out.slice(0, 1000)}\n${errors.slice(0, 1000)}`);
  }
}

const containers = (image: string): object[] => [{ name: "web", image }];
const selector = { matchLabels: { app: "web" } };
const template = (image: string): object => ({
  metadata: { labels: { app: "web" } },
  spec: { containers: containers(image) },
});

function deployment(image: string): string {
  const spec = { replicas: 1, selector, template: template(image) };
  return JSON.stringify({ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "roll" }, spec });
}

function shared(value: string): string {
  return JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "shared" }, data: { k: value } });
}

/** Everything below, in the namespace default. */
export async function changes(t: Test, server: TestServer, kubectl: Kubectl, folder: string): Promise<void> {
  await applies(t, kubectl);
  await edits(t, kubectl, folder);
  await rollsBack(t, server, kubectl);
  await shows(t, kubectl);
}

async function applies(t: Test, kubectl: Kubectl): Promise<void> {
  const serverSide = "apply --server-side -f - --field-manager";
  await runs(t, kubectl, [
    { words: "apply -f -", input: deployment("web:1"), out: /^deployment\.apps\/roll created$/m },
    { words: "apply -f -", input: deployment("web:1"), out: /^deployment\.apps\/roll unchanged$/m },
    { words: "diff -f -", input: deployment("web:1") },
    { words: "diff -f -", input: deployment("web:2"), code: 1, out: /^\+ +- image: web:2$/m },
    { words: "apply -f -", input: deployment("web:2"), out: /^deployment\.apps\/roll configured$/m },
    { words: "apply -f - --dry-run=server", input: deployment("web:3"), out: /configured \(server dry run\)$/m },
    { words: "get deploy roll -o jsonpath={..image}", out: /^web:2$/ },
    { words: `${serverSide}=one`, input: shared("1"), out: /^configmap\/shared serverside-applied$/m },
    { words: `${serverSide}=two`, input: shared("1"), out: /^configmap\/shared serverside-applied$/m },
    { words: `${serverSide}=two`, input: shared("2"), code: 1, errors: /conflict with "one": \.data\.k/ },
    { words: `${serverSide}=two --force-conflicts`, input: shared("2"), out: /serverside-applied$/m },
    { words: `${serverSide}=one`, input: shared("1"), code: 1, errors: /conflict with "two": \.data\.k/ },
    { words: "get cm shared -o jsonpath={.data.k}", out: /^2$/ },
  ]);
}

async function edits(t: Test, kubectl: Kubectl, folder: string): Promise<void> {
  const editor = join(folder, "editor.sh");
  writeFileSync(editor, '#!/bin/sh\nsed -i "s/web:2/web:4/" "$1"\n');
  chmodSync(editor, 0o755);
  const image = '{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:5"}]}}}}';
  const env = '{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"A","value":"1"}]}]}}}}';
  await runs(t, kubectl, [
    { words: "edit deploy roll", env: { KUBE_EDITOR: editor }, out: /^deployment\.apps\/roll edited$/m },
    { words: "get deploy roll -o jsonpath={..image}", out: /^web:4$/ },
    { words: "edit deploy roll", env: { KUBE_EDITOR: "true" }, errors: /no changes/ },
    { words: `patch deploy roll -p ${image}`, out: /patched$/m },
    { words: `patch deploy roll --type=strategic -p ${env}`, out: /patched$/m },
    { words: "get deploy roll -o jsonpath={..image}{..env[0].name}", out: /^web:5A$/ },
    { words: 'patch deploy roll --type=merge -p {"spec":{"minReadySeconds":3}}', out: /patched$/m },
    { words: 'patch deploy roll --type=json -p [{"op":"remove","path":"/spec/minReadySeconds"}]', out: /patched$/m },
    { words: "get deploy roll -o jsonpath=[{.spec.minReadySeconds}]", out: /^\[\]$/ },
    { words: "scale deploy roll --replicas=3", out: /^deployment\.apps\/roll scaled$/m },
    { words: "scale deploy roll --current-replicas=2 --replicas=9", code: 1 },
    { words: "get deploy roll -o jsonpath={.spec.replicas}", out: /^3$/ },
    { words: "label deploy roll a=b", out: /labeled$/m },
    { words: "annotate deploy roll a=b", out: /annotated?$/m },
    { words: "set image deploy/roll web=web:6", out: /image updated$/m },
    { words: "explain pod.spec.containers --recursive", out: /volumeMounts[\s\S]*mountPath/ },
    { words: "explain pod.spec.containers", out: /The containers of the pod: at least one/ },
    { words: "explain deployment.spec.strategy.rollingUpdate.maxSurge", out: /maxSurge/ },
    { words: "explain services", out: /KIND: +Service/ },
    { words: "explain pods.nothing", code: 1 },
  ]);
}

/** What the deployment controller would have left behind: two replica sets and a status. */
async function rollsBack(t: Test, server: TestServer, kubectl: Kubectl): Promise<void> {
  const path = "/apis/apps/v1/namespaces/default";
  const { json: owner } = (await server.call("GET", `${path}/deployments/roll`)) as { json: Json };
  const controller = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    name: "roll",
    uid: owner.metadata.uid,
    controller: true,
  };
  for (const [revision, image] of Object.entries({ 1: "web:1", 2: "web:6" })) {
    const annotations = { "deployment.kubernetes.io/revision": revision };
    const metadata = { name: `roll-${revision}`, annotations, labels: { app: "web" }, ownerReferences: [controller] };
    const made = await server.call("POST", `${path}/replicasets`, {
      metadata,
      spec: { selector, template: template(image) },
    });
    t.equal(made.code, 201, `replica set ${revision}`);
  }
  const merge = { "content-type": "application/merge-patch+json" };
  const annotations = { "deployment.kubernetes.io/revision": "2" };
  await server.call("PATCH", `${path}/deployments/roll`, { metadata: { annotations } }, merge);
  await runs(t, kubectl, [
    { words: "rollout status deploy/roll --timeout=1s", code: 1 },
    { words: "rollout history deploy/roll", out: /REVISION[\s\S]*\n1 [\s\S]*\n2 / },
    { words: "rollout history deploy/roll --revision=1", out: /Image:\s+web:1$/m },
    { words: "rollout undo deploy/roll --to-revision=1", out: /rolled back$/m },
    { words: "get deploy roll -o jsonpath={.spec.template.spec.containers[0].image}", out: /^web:1$/ },
    { words: "rollout restart deploy/roll", out: /restarted$/m },
    { words: "get deploy roll -o jsonpath={.spec.template.metadata.annotations}", out: /restartedAt/ },
    { words: "rollout pause deploy/roll", out: /paused$/m },
    { words: "rollout undo deploy/roll", code: 1 },
    { words: "rollout resume deploy/roll", out: /resumed$/m },
  ]);
  const { json: now } = (await server.call("GET", `${path}/deployments/roll`)) as { json: Json };
  const counts = { replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3 };
  const status = { observedGeneration: now.metadata.generation, ...counts };
  await server.call("PATCH", `${path}/deployments/roll/status`, { status }, merge);
  await runs(t, kubectl, [
    { words: "rollout status deploy/roll --timeout=20s", out: /successfully rolled out$/m },
    { words: "get deploy roll", out: /^roll +3\/3 +3 +3 +\S+$/m },
  ]);
}

interface Json {
  readonly metadata: { readonly uid: string; readonly generation: number };
}

const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }];
const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "shown" };
const jobSpec = { template: { spec: { restartPolicy: "Never", containers: containers("web:1") } } };
const capacity = { storage: "1Gi" };

/** Version, kind, the rest of the object, its name among resources, and the head of what `-o wide` prints. */
const kinds: readonly (readonly [version: string, kind: string, rest: object, resource: string, head: RegExp])[] = [
  ["v1", "Pod", { spec: { containers: containers("web:1") } }, "po", /^NAME +READY +STATUS +RESTARTS +AGE +IP +NODE/],
  [
    "v1",
    "Service",
    { spec: { ports: [{ port: 80 }] } },
    "svc",
    /^NAME +TYPE +CLUSTER-IP +EXTERNAL-IP +PORT\(S\) +AGE +SELECTOR/,
  ],
  ["v1", "ConfigMap", { data: { a: "b" } }, "cm", /^NAME +DATA +AGE/],
  ["v1", "Secret", {}, "secrets", /^NAME +TYPE +DATA +AGE/],
  ["v1", "ServiceAccount", {}, "sa", /^NAME +SECRETS +AGE/],
  ["v1", "Endpoints", {}, "ep", /^NAME +ENDPOINTS +AGE/],
  ["v1", "Node", {}, "no", /^NAME +STATUS +ROLES +AGE +VERSION +INTERNAL-IP +EXTERNAL-IP +OS-IMAGE/],
  ["v1", "LimitRange", { spec: { limits: [] } }, "limits", /^NAME +CREATED AT/],
  ["v1", "ResourceQuota", { spec: { hard: { pods: "5" } } }, "quota", /^NAME +AGE +REQUEST +LIMIT/],
  [
    "v1",
    "PersistentVolumeClaim",
    { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: capacity } } },
    "pvc",
    /^NAME +STATUS +VOLUME +CAPACITY +ACCESS MODES +STORAGECLASS/,
  ],
  [
    "v1",
    "PersistentVolume",
    { spec: { capacity, accessModes: ["ReadWriteOnce"], hostPath: { path: "/tmp/x" } } },
    "pv",
    /^NAME +CAPACITY +ACCESS MODES +RECLAIM POLICY +STATUS +CLAIM/,
  ],
  [
    "apps/v1",
    "Deployment",
    { spec: { selector, template: template("web:1") } },
    "deploy",
    /^NAME +READY +UP-TO-DATE +AVAILABLE +AGE +CONTAINERS +IMAGES +SELECTOR/,
  ],
  [
    "apps/v1",
    "ReplicaSet",
    { spec: { selector, template: template("web:1") } },
    "rs",
    /^NAME +DESIRED +CURRENT +READY +AGE +CONTAINERS +IMAGES +SELECTOR/,
  ],
  [
    "apps/v1",
    "StatefulSet",
    { spec: { serviceName: "s", selector, template: template("web:1") } },
    "sts",
    /^NAME +READY +AGE +CONTAINERS +IMAGES/,
  ],
  [
    "apps/v1",
    "DaemonSet",
    { spec: { selector, template: template("web:1") } },
    "ds",
    /^NAME +DESIRED +CURRENT +READY +UP-TO-DATE +AVAILABLE +NODE SELECTOR +AGE +CONTAINERS/,
  ],
  [
    "batch/v1",
    "Job",
    { spec: jobSpec },
    "jobs",
    /^NAME +(STATUS +)?COMPLETIONS +DURATION +AGE +CONTAINERS +IMAGES +SELECTOR/,
  ],
  [
    "batch/v1",
    "CronJob",
    { spec: { schedule: "* * * * *", jobTemplate: { spec: jobSpec } } },
    "cj",
    /^NAME +SCHEDULE +(TIMEZONE +)?SUSPEND +ACTIVE +LAST SCHEDULE +AGE +CONTAINERS/,
  ],
  [
    "networking.k8s.io/v1",
    "Ingress",
    { spec: { defaultBackend: { service: { name: "s", port: { number: 80 } } } } },
    "ing",
    /^NAME +CLASS +HOSTS +ADDRESS +PORTS +AGE/,
  ],
  ["networking.k8s.io/v1", "NetworkPolicy", { spec: { podSelector: {} } }, "netpol", /^NAME +POD-SELECTOR +AGE/],
  [
    "policy/v1",
    "PodDisruptionBudget",
    { spec: { minAvailable: 1, selector } },
    "pdb",
    /^NAME +MIN AVAILABLE +MAX UNAVAILABLE +ALLOWED DISRUPTIONS +AGE/,
  ],
  [
    "autoscaling/v1",
    "HorizontalPodAutoscaler",
    { spec: { maxReplicas: 3, scaleTargetRef: { kind: "Deployment", name: "roll", apiVersion: "apps/v1" } } },
    "hpa",
    /^NAME +REFERENCE +TARGETS +MINPODS +MAXPODS +REPLICAS +AGE/,
  ],
  ["rbac.authorization.k8s.io/v1", "Role", { rules }, "roles", /^NAME +CREATED AT/],
  [
    "rbac.authorization.k8s.io/v1",
    "RoleBinding",
    { roleRef, subjects: [{ kind: "User", apiGroup: roleRef.apiGroup, name: "u" }] },
    "rolebindings",
    /^NAME +ROLE +AGE +USERS +GROUPS +SERVICEACCOUNTS/,
  ],
  [
    "storage.k8s.io/v1",
    "StorageClass",
    { provisioner: "example.com/p" },
    "sc",
    /^NAME +PROVISIONER +RECLAIMPOLICY +VOLUMEBINDINGMODE/,
  ],
  ["scheduling.k8s.io/v1", "PriorityClass", { value: 7 }, "pc", /^NAME +VALUE +GLOBAL-DEFAULT +AGE/],
  ["coordination.k8s.io/v1", "Lease", { spec: { holderIdentity: "me" } }, "leases", /^NAME +HOLDER +AGE/],
];

async function shows(t: Test, kubectl: Kubectl): Promise<void> {
  const items = kinds.map(([apiVersion, kind, rest]) => ({ apiVersion, kind, metadata: { name: "shown" }, ...rest }));
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  await runs(t, kubectl, [
    { words: "create -f -", input: list, out: /^lease\.coordination\.k8s\.io\/shown created$/m },
  ]);
  for (const [, kind, , resource, head] of kinds) {
    const { out, errors } = await kubectl.run(`get ${resource} shown -o wide`);
    t.match(out, head, `the head of ${kind}${errors}`);
    t.match(out, /^shown /m, `the row of ${kind}`);
  }
}
