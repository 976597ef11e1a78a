// Which account a pod runs as, what it gets from it, and which secrets it may name (CVE-2023-2728, CVE-2024-3177).
import t from "tap";
import { type Answer, type InProcess, openInProcess } from "../support/inprocess.ts";

const pods = "/api/v1/namespaces/default/pods";
const accounts = "/api/v1/namespaces/default/serviceaccounts";
const mountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
const container = { name: "c", image: "i" };

async function open(): Promise<InProcess> {
  const server = await openInProcess("kubernetes", { admission: {} });
  const strict = { annotations: { "kubernetes.io/enforce-mountable-secrets": "true" } };
  for (const [name, rest, metadata] of [
    ["default", {}, {}],
    ["silent", { automountServiceAccountToken: false }, {}],
    ["pull", { imagePullSecrets: [{ name: "reg" }] }, {}],
    ["strict", { secrets: [{ name: "ok" }], imagePullSecrets: [{ name: "reg" }] }, strict],
  ] as const) {
    await server.call("POST", accounts, { metadata: { name, ...metadata }, ...rest });
  }
  return server;
}

let count = 0;

function create(server: InProcess, spec: object, metadata: object = {}): Promise<Answer> {
  const name = `p${count++}`;
  return server.call("POST", pods, { metadata: { name, ...metadata }, spec: { containers: [container], ...spec } });
}

t.test("ServiceAccount gives a pod the account's token and pull secrets", async (t) => {
  const server = await open();
  const own = [{ name: "own" }];
  const at = { ...container, volumeMounts: [{ name: "v", mountPath }] };
  for (const [title, spec, account, mounts, secrets] of [
    ["nothing said", {}, "default", 1, undefined],
    ["the old name of the field", { serviceAccount: "pull" }, "pull", 1, [{ name: "reg" }]],
    ["own pull secrets stay", { serviceAccountName: "pull", imagePullSecrets: own }, "pull", 1, own],
    ["the account says no", { serviceAccountName: "silent" }, "silent", 0, undefined],
    ["the pod says no", { automountServiceAccountToken: false }, "default", 0, undefined],
    ["the pod wins", { serviceAccountName: "silent", automountServiceAccountToken: true }, "silent", 1, undefined],
    ["the path is taken", { containers: [at], volumes: [{ name: "v", emptyDir: {} }] }, "default", 0, undefined],
  ] as const) {
    const { code, json } = await create(server, spec);
    t.equal(code, 201, title);
    t.equal(json.spec.serviceAccountName, account, title);
    t.equal(json.spec.serviceAccount, account, title);
    t.same(json.spec.imagePullSecrets, secrets, title);
    const volumes = (json.spec.volumes ?? []).filter((volume: { name: string }) => volume.name.startsWith("kube-api-"));
    t.equal(volumes.length, mounts, title);
  }
  server.close();
});

t.test("ServiceAccount mounts one projected volume in every container", async (t) => {
  const server = await open();
  const { json } = await create(server, { initContainers: [{ name: "i", image: "i" }] });
  const [{ name, projected }] = json.spec.volumes;
  t.match(name, /^kube-api-access-[a-z0-9]{5}$/);
  for (const { volumeMounts } of [...json.spec.containers, ...json.spec.initContainers]) {
    t.same(volumeMounts, [{ name, readOnly: true, mountPath }]);
  }
  t.same(projected, {
    defaultMode: 420,
    sources: [
      { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
      {
        downwardAPI: {
          items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
        },
      },
    ],
  });
  server.close();
});

t.test("ServiceAccount refuses a missing account, and waits a moment for the default one", async (t) => {
  const server = await open();
  const missing = await create(server, { serviceAccountName: "constructor" });
  t.equal(missing.code, 403);
  t.match(
    missing.json.message,
    /is forbidden: error looking up service account default\/constructor: serviceaccount "constructor" not found$/,
  );
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "young" } });
  const body = { metadata: { generateName: "p-" }, spec: { containers: [container] } };
  const early = server.call("POST", "/api/v1/namespaces/young/pods", body);
  const late = await server.call("POST", "/api/v1/namespaces/young/serviceaccounts", { metadata: { name: "default" } });
  t.equal(late.code, 201);
  t.equal((await early).code, 201);
  await server.call("DELETE", "/api/v1/namespaces/young/serviceaccounts/default");
  const never = await server.call("POST", "/api/v1/namespaces/young/pods", body);
  t.equal(never.code, 403);
  t.equal(
    never.json.message,
    'pods "p-" is forbidden: error looking up service account young/default: serviceaccount "default" not found',
  );
  server.close();
});

t.test("D07: ServiceAccount keeps pods to the secrets their account lists, however they name them", async (t) => {
  const server = await open();
  const variable = (name: string): object => ({
    env: [{ name: "A", valueFrom: { secretKeyRef: { name, key: "k" } } }],
  });
  const environment = (name: string): object => ({ envFrom: [{ secretRef: { name } }] });
  const volume = (name: string): object => ({ volumes: [{ name: "v", secret: { secretName: name } }] });
  const projected = (name: string): object => ({
    volumes: [{ name: "v", projected: { sources: [{ secret: { name } }] } }],
  });
  const pulled = (name: string): object => ({ imagePullSecrets: [{ name: name === "ok" ? "reg" : name }] });
  const inside = (key: string, of: (name: string) => object) => (name: string) => ({
    [key]: [{ ...container, name: key === "containers" ? "c" : "i", ...of(name) }],
  });
  for (const [why, spec] of [
    ['container c with envVar A referencing secret.secretName="other"', inside("containers", variable)],
    ['container c with envFrom referencing secret.secretName="other"', inside("containers", environment)],
    ['init container i with envVar A referencing secret.secretName="other"', inside("initContainers", variable)],
    ['init container i with envFrom referencing secret.secretName="other"', inside("initContainers", environment)],
    ['volume with secret.secretName="other"', volume],
    ['volume with secret.secretName="other"', projected],
    ['imagePullSecrets[0].name="other"', pulled],
  ] as const) {
    const refused = await create(server, { serviceAccountName: "strict", ...spec("other") });
    t.equal(refused.code, 403, why);
    t.ok(refused.json.message.includes(`is forbidden: ${why} is not allowed because service account strict`), why);
    t.equal((await create(server, { serviceAccountName: "strict", ...spec("ok") })).code, 201, why);
    t.equal((await create(server, spec("other"))).code, 201, `${why}, under another account`);
  }
  server.close();
});

t.test("D06, D07: ServiceAccount looks at ephemeral containers, whichever way they come", async (t) => {
  const server = await open();
  const { json: pod } = await create(server, { serviceAccountName: "strict" }, { name: "debugged" });
  const target = `${pods}/debugged/ephemeralcontainers`;
  for (const [word, rest] of [
    ["envVar A", { env: [{ name: "A", valueFrom: { secretKeyRef: { name: "other", key: "k" } } }] }],
    ["envFrom", { envFrom: [{ secretRef: { name: "other" } }] }],
  ] as const) {
    const added = [{ name: "d", image: "i", ...rest }];
    const spec = { ephemeralContainers: added };
    const update = { ...pod, spec: { ...pod.spec, ...spec } };
    const operations = [{ op: "add", path: "/spec/ephemeralContainers", value: added }];
    const apply = { apiVersion: "v1", kind: "Pod", metadata: { name: "debugged" }, spec };
    for (const [method, query, type, body] of [
      ["PUT", "", "application/json", update],
      ["PATCH", "", "application/merge-patch+json", { spec }],
      ["PATCH", "", "application/strategic-merge-patch+json", { spec }],
      ["PATCH", "", "application/json-patch+json", operations],
      ["PATCH", "?fieldManager=m", "application/apply-patch+yaml", apply],
    ] as const) {
      const { code, json } = await server.call(method, `${target}${query}`, body, { "content-type": type });
      t.equal(code, 403, `${word} by ${type}`);
      t.ok(json.message.includes(`ephemeral container d with ${word} referencing secret.secretName="other"`), type);
    }
  }
  server.close();
});

t.test("ServiceAccount leaves mirror pods alone, and lets them ask for nothing", async (t) => {
  const server = await open();
  const metadata = { annotations: { "kubernetes.io/config.mirror": "x" } };
  const nodeName = "n";
  for (const [spec, why] of [
    [{ serviceAccountName: "default" }, "a mirror pod may not reference service accounts"],
    [{ volumes: [{ name: "v", secret: { secretName: "s" } }] }, "a mirror pod may not reference secrets"],
    [
      { volumes: [{ name: "v", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }] },
      "a mirror pod may not use ServiceAccountToken volume projections",
    ],
  ] as const) {
    const { code, json } = await create(server, { nodeName, ...spec }, metadata);
    t.equal(code, 403);
    t.ok(json.message.endsWith(why), why);
  }
  const { code, json } = await create(server, { nodeName }, metadata);
  t.equal(code, 201);
  t.equal(json.spec.serviceAccountName, undefined);
  t.equal(json.spec.volumes, undefined);
  server.close();
});

t.test("ServiceAccount leaves nothing behind in a dry run, and spells its names in the identity", async (t) => {
  const server = await openInProcess("orch", { admission: {} });
  await server.call("POST", accounts, { metadata: { name: "default" } });
  const before = server.store.changes.length;
  const { json } = await server.call("POST", `${pods}?dryRun=All`, {
    metadata: { name: "p" },
    spec: { containers: [container] },
  });
  t.match(json.spec.volumes[0].name, /^orch-api-access-/);
  t.equal(json.spec.volumes[0].projected.sources[1].configMap.name, "orch-root-ca.crt");
  t.equal(json.spec.containers[0].volumeMounts[0].mountPath, "/var/run/secrets/orch.io/serviceaccount");
  t.equal(server.store.changes.length, before);
  server.close();
});
