// PodSecurity through the request path: what each level refuses, in upstream's words, by version; what is only
// warned of; and what a namespace is told that becomes stricter.
import t, { type Test } from "tap";
import { readSettings } from "../../../src/admission/podsecurity/settings.ts";
import { type Answer, type InProcess, openInProcess } from "../../support/inprocess.ts";

const prefix = "pod-security.kubernetes.io/";

async function open(t: Pick<Test, "teardown">): Promise<InProcess> {
  const server = await openInProcess("kubernetes");
  t.teardown(() => server.close());
  return server;
}

async function namespace(server: InProcess, name: string, labels: { [key: string]: string }): Promise<void> {
  const prefixed = Object.fromEntries(Object.entries(labels).map(([key, value]) => [prefix + key, value]));
  const made = await server.call("POST", "/api/v1/namespaces", { metadata: { name, labels: prefixed } });
  if (made.code !== 201) throw new Error(made.text);
}

interface Shape {
  readonly metadata?: object;
  readonly spec?: object;
  readonly container?: object;
}

function pod(name: string, { metadata = {}, spec = {}, container = {} }: Shape): object {
  return { metadata: { name, ...metadata }, spec: { containers: [{ name: "c", image: "i", ...container }], ...spec } };
}

/** What the restricted level of v1.23 accepts. */
const hardened = {
  spec: { securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } } },
  container: { securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } } },
};

function warningsOf({ headers }: Answer): string[] {
  return headers
    .filter(([name]) => name === "Warning")
    .map(([, value]) => value.slice('299 - "'.length, -1).replaceAll('\\"', '"'));
}

const context = (securityContext: object): Shape => ({ container: { securityContext } });
const podContext = (securityContext: object): Shape => ({ spec: { securityContext } });

const baseline: [name: string, shape: Shape, why: string][] = [
  [
    "privileged",
    context({ privileged: true }),
    'privileged (container "c" must not set securityContext.privileged=true)',
  ],
  [
    "capabilities",
    context({ capabilities: { add: ["SYS_ADMIN", "NET_RAW", "CHOWN"] } }),
    'non-default capabilities (container "c" must not include "NET_RAW", "SYS_ADMIN" in securityContext.capabilities.add)',
  ],
  [
    "host namespaces",
    { spec: { hostNetwork: true, hostPID: true, hostIPC: true } },
    "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)",
  ],
  ["host path", { spec: { volumes: [{ name: "v", hostPath: { path: "/" } }] } }, 'hostPath volumes (volume "v")'],
  [
    "host ports",
    {
      container: {
        ports: [
          { containerPort: 80, hostPort: 80 },
          { containerPort: 81, hostPort: 81 },
        ],
      },
    },
    'hostPort (container "c" uses hostPorts 80, 81)',
  ],
  [
    "AppArmor",
    { metadata: { annotations: { "container.apparmor.security.beta.kubernetes.io/c": "unconfined" } } },
    'forbidden AppArmor profile (container.apparmor.security.beta.kubernetes.io/c="unconfined")',
  ],
  [
    "SELinux",
    podContext({ seLinuxOptions: { type: "spc_t", user: "u", role: "r" } }),
    'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set; role may not be set)',
  ],
  [
    "seccomp",
    context({ seccompProfile: { type: "Unconfined" } }),
    'seccompProfile (container "c" must not set securityContext.seccompProfile.type to "Unconfined")',
  ],
  ["sysctls", podContext({ sysctls: [{ name: "kernel.msgmax", value: "1" }] }), "forbidden sysctls (kernel.msgmax)"],
];

t.test("the baseline level refuses what escapes a container", async (t) => {
  const server = await open(t);
  await namespace(server, "n", { enforce: "baseline" });
  for (const [name, shape, why] of baseline) {
    const refused = await server.call("POST", "/api/v1/namespaces/n/pods", pod("p", shape));
    t.equal(refused.code, 403, name);
    t.equal(refused.json.message, `pods "p" is forbidden: violates PodSecurity "baseline:latest": ${why}`, name);
    t.equal((await server.call("POST", "/api/v1/namespaces/default/pods", pod("p", shape))).code, 201, name);
    await server.call("DELETE", "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0");
  }
  t.equal((await server.call("POST", "/api/v1/namespaces/n/pods", pod("plain", {}))).code, 201);
});

t.test("the restricted level asks for hardening, more of it with each version", async (t) => {
  const server = await open(t);
  await namespace(server, "now", { enforce: "restricted" });
  await namespace(server, "old", { enforce: "restricted", "enforce-version": "v1.7" });
  await namespace(server, "later", { enforce: "restricted", "enforce-version": "v1.99" });
  const refused = await server.call("POST", "/api/v1/namespaces/now/pods", pod("p", {}));
  t.equal(
    refused.json.message,
    'pods "p" is forbidden: violates PodSecurity "restricted:latest": ' +
      'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), ' +
      'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), ' +
      'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), ' +
      'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
  );
  t.match(
    (await server.call("POST", "/api/v1/namespaces/later/pods", pod("p", {}))).json.message,
    /"restricted:v1.99"/,
  );
  const old = await server.call("POST", "/api/v1/namespaces/old/pods", pod("p", {}));
  t.match(old.json.message, /"restricted:v1.7": runAsNonRoot != true \([^)]*\)$/);
  t.equal((await server.call("POST", "/api/v1/namespaces/now/pods", pod("good", hardened))).code, 201);
  const root = { ...hardened, spec: { securityContext: { ...hardened.spec.securityContext, runAsUser: 0 } } };
  const asRoot = await server.call("POST", "/api/v1/namespaces/now/pods", pod("root", root));
  t.match(asRoot.json.message, /runAsUser=0 \(pod must not set runAsUser=0\)/);
  const nfs = { ...hardened, spec: { ...hardened.spec, volumes: [{ name: "v", nfs: { server: "s", path: "/" } }] } };
  const volume = await server.call("POST", "/api/v1/namespaces/now/pods", pod("nfs", nfs));
  t.match(volume.json.message, /restricted volume types \(volume "v" uses restricted volume type "nfs"\)/);
});

t.test("debugging containers and changed images are looked at, other updates are not", async (t) => {
  const server = await open(t);
  await namespace(server, "n", {});
  t.equal((await server.call("POST", "/api/v1/namespaces/n/pods", pod("p", context({ privileged: true })))).code, 201);
  const merge = { "content-type": "application/merge-patch+json" };
  const strategic = { "content-type": "application/strategic-merge-patch+json" };
  const labels = { [`${prefix}enforce`]: "baseline" };
  const stricter = await server.call("PATCH", "/api/v1/namespaces/n", { metadata: { labels } }, merge);
  t.equal(stricter.code, 200);
  t.same(warningsOf(stricter), [
    'existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"',
    "p: privileged",
  ]);
  const path = "/api/v1/namespaces/n/pods/p";
  t.equal((await server.call("PATCH", path, { metadata: { labels: { a: "b" } } }, merge)).code, 200);
  t.equal((await server.call("PATCH", `${path}/status`, { status: { phase: "Running" } }, merge)).code, 200);
  const image = { spec: { containers: [{ name: "c", image: "other" }] } };
  t.equal((await server.call("PATCH", path, image, strategic)).code, 403);
  const debug = { spec: { ephemeralContainers: [{ name: "d", image: "i", securityContext: { privileged: true } }] } };
  const refused = await server.call("PATCH", `${path}/ephemeralcontainers`, debug, strategic);
  t.equal(refused.code, 403, refused.text);
  t.match(refused.json.message, /containers "c", "d" must not set/);
});

t.test("warn and audit tell; workloads are only warned about", async (t) => {
  const server = await open(t);
  await namespace(server, "n", { warn: "baseline", "warn-version": "v1.22", enforce: "baseline" });
  const template = pod("x", { spec: { hostNetwork: true } }) as { spec: object };
  const labels = { a: "b" };
  const deployment = {
    metadata: { name: "d" },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: template.spec } },
  };
  const made = await server.call("POST", "/apis/apps/v1/namespaces/n/deployments", deployment);
  t.equal(made.code, 201);
  t.same(warningsOf(made), ['would violate PodSecurity "baseline:v1.22": host namespaces (hostNetwork=true)']);
  await namespace(server, "w", { warn: "restricted", audit: "baseline" });
  const warned = await server.call("POST", "/api/v1/namespaces/w/pods", pod("p", {}));
  t.equal(warned.code, 201);
  t.match(warningsOf(warned)[0], /^would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false/);
});

t.test("labels that cannot be read are refused, and enforce the most where they are already", async (t) => {
  const server = await open(t);
  const made = await server.call("POST", "/api/v1/namespaces", {
    metadata: { name: "bad", labels: { [`${prefix}enforce`]: "strict", [`${prefix}warn-version`]: "1.2" } },
  });
  t.equal(made.code, 422);
  t.match(
    made.json.message,
    /metadata.labels\[pod-security.kubernetes.io\/enforce\]: Invalid value: "strict": must be one of privileged, baseline, restricted/,
  );
  t.match(made.json.message, /warn-version\]: Invalid value: "1.2": must be "latest" or "v1.x"/);
});

t.test("readSettings() reads defaults and exemptions", async (t) => {
  const read = (document: object): unknown => readSettings(JSON.stringify(document));
  t.match(read({ defaults: { enforce: "baseline", "enforce-version": "v1.20" }, exemptions: { usernames: ["u"] } }), {
    defaults: { enforce: { level: "baseline", version: "v1.20" }, warn: { level: "privileged" } },
    exemptions: { users: new Set(["u"]) },
  });
});
