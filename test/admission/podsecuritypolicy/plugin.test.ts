// PodSecurityPolicy through the request path: who may use a policy, what it fills in, and what it refuses.
import t, { type Test } from "tap";
import type { Attributes, Authorizer } from "../../../src/authz/authorizer.ts";
import { type InProcess, openInProcess } from "../../support/inprocess.ts";

const pods = "/api/v1/namespaces/default/pods";
const path = "/apis/policy/v1beta1/podsecuritypolicies";

const open = {
  privileged: true,
  allowPrivilegeEscalation: true,
  volumes: ["*"],
  hostNetwork: true,
  hostPID: true,
  hostIPC: true,
  hostPorts: [{ min: 0, max: 65_535 }],
  allowedCapabilities: ["*"],
  allowedProcMountTypes: ["Default", "Unmasked"],
  seLinux: { rule: "RunAsAny" },
  runAsUser: { rule: "RunAsAny" },
  supplementalGroups: { rule: "RunAsAny" },
  fsGroup: { rule: "RunAsAny" },
};

const closed = {
  allowPrivilegeEscalation: false,
  volumes: ["configMap", "secret", "hostPath"],
  allowedHostPaths: [{ pathPrefix: "/var/log", readOnly: true }],
  requiredDropCapabilities: ["NET_RAW"],
  readOnlyRootFilesystem: true,
  seLinux: { rule: "MustRunAs", seLinuxOptions: { level: "s0" } },
  runAsUser: { rule: "MustRunAs", ranges: [{ min: 1000, max: 2000 }] },
  supplementalGroups: { rule: "MayRunAs", ranges: [{ min: 1, max: 9 }] },
  fsGroup: { rule: "MustRunAs", ranges: [{ min: 5, max: 9 }] },
};

interface Setup {
  readonly server: InProcess;
  /** Who may use which policy, as `user policy`. */
  readonly allowed: Set<string>;
}

async function setUp(t: Pick<Test, "teardown">, policies: { [name: string]: object }): Promise<Setup> {
  const allowed = new Set<string>();
  const authorizer: Authorizer = {
    authorize: ({ verb, resource, user, name }: Attributes) => {
      const isUse = verb === "use" && resource === "podsecuritypolicies";
      return { verdict: !isUse || allowed.has(`${user.name} ${name}`) ? "allow" : "none", reason: "" } as const;
    },
  };
  const server = await openInProcess("kubernetes", {
    admission: { enabled: ["PodSecurityPolicy"], disabled: ["ServiceAccount"] },
  });
  server.authorizer = authorizer;
  t.teardown(() => server.close());
  for (const [name, spec] of Object.entries(policies)) {
    const made = await server.call("POST", path, { metadata: { name }, spec });
    if (made.code !== 201) throw new Error(made.text);
  }
  return { server, allowed };
}

function pod(name: string, container: object = {}, spec: object = {}): object {
  return { metadata: { name }, spec: { containers: [{ name: "c", image: "i", ...container }], ...spec } };
}

t.test("a pod needs a policy that its user or its account may use", async (t) => {
  const { server, allowed } = await setUp(t, { open });
  const refused = await server.call("POST", pods, pod("a"));
  t.equal(refused.code, 403);
  t.equal(refused.json.message, 'pods "a" is forbidden: PodSecurityPolicy: unable to admit pod: []');
  allowed.add("system:serviceaccount:default:web open");
  t.equal((await server.call("POST", pods, pod("a", {}, { serviceAccountName: "other" }))).code, 403);
  t.equal((await server.call("POST", pods, pod("a", {}, { serviceAccountName: "web" }))).code, 201);
  allowed.add("admin open");
  const made = await server.call("POST", pods, pod("b", { securityContext: { privileged: true } }));
  t.equal(made.code, 201);
  t.equal(made.json.metadata.annotations["kubernetes.io/psp"], "open");
});

t.test("a policy that takes the pod as it is goes before one that must fill in", async (t) => {
  const { server, allowed } = await setUp(t, { "a-closed": closed, "b-open": open });
  allowed.add("admin a-closed");
  const filled = await server.call("POST", pods, pod("a"));
  t.equal(filled.code, 201, filled.text);
  t.match(filled.json, {
    metadata: { annotations: { "kubernetes.io/psp": "a-closed" } },
    spec: {
      securityContext: { fsGroup: 5, seLinuxOptions: { level: "s0" } },
      containers: [
        {
          securityContext: {
            runAsUser: 1000,
            readOnlyRootFilesystem: true,
            allowPrivilegeEscalation: false,
            capabilities: { drop: ["NET_RAW"] },
          },
        },
      ],
    },
  });
  allowed.add("admin b-open");
  const plain = await server.call("POST", pods, pod("b"));
  t.equal(plain.json.metadata.annotations["kubernetes.io/psp"], "b-open");
  t.same(plain.json.spec.containers[0].securityContext, undefined);
});

t.test("what a policy forbids is told field by field", async (t) => {
  const { server, allowed } = await setUp(t, { closed });
  allowed.add("admin closed");
  const cases: [name: string, pod: object, why: string][] = [
    [
      "privileged",
      pod("p", { securityContext: { privileged: true } }),
      "spec.containers[0].securityContext.privileged: Invalid value: true: Privileged containers are not allowed",
    ],
    [
      "host network",
      pod("p", {}, { hostNetwork: true }),
      "spec.securityContext.hostNetwork: Invalid value: true: Host network is not allowed to be used",
    ],
    [
      "user",
      pod("p", { securityContext: { runAsUser: 0 } }),
      "spec.containers[0].securityContext.runAsUser: Invalid value: 0: must be in the ranges: [{1000 2000}]",
    ],
    [
      "capability",
      pod("p", { securityContext: { capabilities: { add: ["SYS_ADMIN"] } } }),
      'spec.containers[0].securityContext.capabilities.add: Invalid value: "SYS_ADMIN": capability may not be added',
    ],
    [
      "volume",
      pod("p", {}, { volumes: [{ name: "v", emptyDir: {} }] }),
      'spec.volumes[0]: Invalid value: "emptyDir": emptyDir volumes are not allowed to be used',
    ],
    [
      "host path",
      pod("p", {}, { volumes: [{ name: "v", hostPath: { path: "/var/logs" } }] }),
      'spec.volumes[0].hostPath.pathPrefix: Invalid value: "/var/logs": is not allowed to be used',
    ],
    [
      "writable host path",
      pod(
        "p",
        { volumeMounts: [{ name: "v", mountPath: "/m" }] },
        { volumes: [{ name: "v", hostPath: { path: "/var/log/x" } }] },
      ),
      "spec.containers[0].volumeMounts[0].readOnly: Invalid value: false: must be read-only",
    ],
    [
      "host port",
      pod("p", { ports: [{ containerPort: 80, hostPort: 80 }] }),
      "spec.containers[0].ports[0].hostPort: Invalid value: 80: Host port 80 is not allowed to be used. Allowed ports: []",
    ],
    [
      "sysctl",
      pod("p", {}, { securityContext: { sysctls: [{ name: "kernel.msgmax", value: "1" }] } }),
      'spec.securityContext.sysctls[0]: Forbidden: unsafe sysctl "kernel.msgmax" is not allowed',
    ],
  ];
  for (const [name, body, why] of cases) {
    const refused = await server.call("POST", pods, body);
    t.equal(refused.code, 403, name);
    t.ok(refused.json.message.includes(why), `${name}: ${refused.json.message}`);
  }
});

t.test("debugging containers and later changes are held to a policy, too", async (t) => {
  const { server, allowed } = await setUp(t, { closed });
  allowed.add("admin closed");
  t.equal((await server.call("POST", pods, pod("p"))).code, 201);
  const strategic = { "content-type": "application/strategic-merge-patch+json" };
  const debug = { spec: { ephemeralContainers: [{ name: "d", image: "i", securityContext: { privileged: true } }] } };
  const refused = await server.call("PATCH", `${pods}/p/ephemeralcontainers`, debug, strategic);
  t.equal(refused.code, 403);
  t.match(refused.json.message, /PodSecurityPolicy: unable to validate pod: /);
  allowed.clear();
  const labels = { metadata: { labels: { a: "b" } } };
  t.equal((await server.call("PATCH", `${pods}/p`, labels, strategic)).code, 200, "labels run nowhere");
});
