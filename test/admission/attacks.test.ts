// Known holes of admission and validation, each tried under its number in the list of attacks.
import t from "tap";
import { type Answer, type InProcess, openInProcess } from "../support/inprocess.ts";

const core = "/api/v1/namespaces/default";
const merge = { "content-type": "application/merge-patch+json" };

/** Every way to change an object: `patch` as a merge, `operations` as a JSON patch, `whole` applied or put in its place. */
function changes(
  server: InProcess,
  path: string,
  { patch, operations, whole }: { patch: object; operations: object[]; whole: object },
): [way: string, answer: () => Promise<Answer>][] {
  const types = ["merge-patch", "strategic-merge-patch"];
  return [
    ["update", () => server.call("PUT", path, whole)],
    ...types.map((type): [string, () => Promise<Answer>] => [
      type,
      () => server.call("PATCH", path, patch, { "content-type": `application/${type}+json` }),
    ]),
    ["JSON patch", () => server.call("PATCH", path, operations, { "content-type": "application/json-patch+json" })],
    [
      "apply",
      () =>
        server.call("PATCH", `${path}?fieldManager=m&force=true`, whole, {
          "content-type": "application/apply-patch+yaml",
        }),
    ],
  ];
}

t.test("D02: endpoints and slices accept no address of the node itself", async (t) => {
  const server = await openInProcess("kubernetes");
  t.teardown(() => server.close());
  const cases = [
    "127.0.0.1",
    "127.9.9.9",
    "127.1",
    "0127.0.0.1",
    "127.000.000.001",
    "0177.0.0.1",
    "0251.0376.1.1",
    "2130706433",
    "0x7f.0.0.1",
    "169.254.169.254",
    "224.0.0.1",
    "::1",
    "::",
    "fe80::1",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:7f00:1",
    "0.0.0.0",
  ];
  const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
  const subsets = (ip: string, list = "addresses"): object[] => [{ [list]: [{ ip }], ports: [{ port: 80 }] }];
  const slice = (name: string, ip: string): object => ({
    metadata: { name },
    addressType: ip.includes(":") ? "IPv6" : "IPv4",
    endpoints: [{ addresses: [ip] }],
    ports: [{ port: 80 }],
  });
  for (const [index, ip] of ["10.1.2.3", "fd00::1", "010.0.0.1"].entries()) {
    const endpoints = { metadata: { name: `good-${index}` }, subsets: subsets(ip) };
    t.equal((await server.call("POST", `${core}/endpoints`, endpoints)).code, 201, ip);
    t.equal((await server.call("POST", slices, slice(`good-${index}`, ip))).code, 201, ip);
  }
  for (const ip of cases) {
    const metadata = { name: "e" };
    for (const list of ["addresses", "notReadyAddresses"]) {
      const endpoints = { metadata, subsets: subsets(ip, list) };
      t.equal((await server.call("POST", `${core}/endpoints`, endpoints)).code, 422, `endpoints ${list} ${ip}`);
    }
    const late = await server.call("PATCH", `${core}/endpoints/good-0`, { subsets: subsets(ip) }, merge);
    t.equal(late.code, 422, `patch of endpoints ${ip}`);
    t.equal((await server.call("POST", slices, slice("s", ip))).code, 422, `slice ${ip}`);
    const changed = { endpoints: [{ addresses: [ip] }] };
    const patched = await server.call("PATCH", `${slices}/good-${ip.includes(":") ? 1 : 0}`, changed, merge);
    t.equal(patched.code, 422, `patch of slice ${ip}`);
  }
});

t.test("D05: a local seccomp profile is named, and inside its directory", async (t) => {
  const server = await openInProcess("kubernetes");
  t.teardown(() => server.close());
  for (const localhostProfile of [undefined, "", ".", "./.", "..", "/abs", "a/../b"]) {
    const seccompProfile = { type: "Localhost", localhostProfile };
    for (const spec of [
      { securityContext: { seccompProfile }, containers: [{ name: "c", image: "i" }] },
      { containers: [{ name: "c", image: "i", securityContext: { seccompProfile } }] },
      {
        containers: [{ name: "c", image: "i" }],
        initContainers: [{ name: "i", image: "i", securityContext: { seccompProfile } }],
      },
    ]) {
      const made = await server.call("POST", `${core}/pods`, { metadata: { name: "p" }, spec });
      t.equal(made.code, 422, JSON.stringify(spec));
    }
  }
  for (const localhostProfile of ["a.json", "a/b.json", "a/./b", ".a"]) {
    const seccompProfile = { type: "Localhost", localhostProfile };
    const spec = { securityContext: { seccompProfile }, containers: [{ name: "c", image: "i" }] };
    const made = await server.call("POST", `${core}/pods`, { metadata: { generateName: "p-" }, spec });
    t.equal(made.code, 201, localhostProfile);
  }
});

t.test("D10: pod security exempts exactly whom it names", async (t) => {
  const document = {
    defaults: { enforce: "baseline" },
    exemptions: { usernames: ["alice"], namespaces: ["free"], runtimeClasses: ["vm"] },
  };
  const settings = new Map([["PodSecurity", JSON.stringify(document)]]);
  const server = await openInProcess("kubernetes", {
    admission: { disabled: ["ServiceAccount", "RuntimeClass"], settings },
  });
  t.teardown(() => server.close());
  for (const name of ["free", "freedom"]) await server.call("POST", "/api/v1/namespaces", { metadata: { name } });
  const attempt = async (userName: string, namespace: string, runtimeClassName?: string): Promise<number> => {
    server.user = { ...server.user, name: userName };
    const metadata = { generateName: "p-" };
    const spec = { hostNetwork: true, runtimeClassName, containers: [{ name: "c", image: "i" }] };
    return (await server.call("POST", `/api/v1/namespaces/${namespace}/pods`, { metadata, spec })).code;
  };
  t.equal(await attempt("alice", "default"), 201);
  t.equal(await attempt("bob", "free"), 201);
  t.equal(await attempt("bob", "default", "vm"), 201);
  t.equal(await attempt("bob", "default"), 403);
  t.equal(await attempt("Alice", "default"), 403);
  t.equal(await attempt("alice2", "default"), 403);
  t.equal(await attempt("bob", "freedom"), 403);
  t.equal(await attempt("bob", "default", "vm2"), 403);
});

t.test("D10: pod security looks at pods, not at what makes them, and no change gets around it", async (t) => {
  const server = await openInProcess("kubernetes");
  t.teardown(() => server.close());
  const labels = { "pod-security.kubernetes.io/enforce": "baseline" };
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n", labels } });
  const inside = "/api/v1/namespaces/n";
  const spec = { hostNetwork: true, containers: [{ name: "c", image: "i" }] };
  const template = { metadata: { labels: { a: "b" } }, spec };
  const deployment = { metadata: { name: "d" }, spec: { selector: { matchLabels: { a: "b" } }, template } };
  t.equal((await server.call("POST", "/apis/apps/v1/namespaces/n/deployments", deployment)).code, 201);
  t.equal((await server.call("POST", `${inside}/pods`, { metadata: { name: "p" }, spec })).code, 403);

  // A pod from before the label: it stays, and nothing about its containers changes any more.
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "old" } });
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec };
  t.equal((await server.call("POST", "/api/v1/namespaces/old/pods", pod)).code, 201);
  const dry = await server.call("PATCH", "/api/v1/namespaces/old?dryRun=All", { metadata: { labels } }, merge);
  t.equal(dry.code, 200);
  const warned = (answer: Answer): number => answer.headers.filter(([name]) => name === "Warning").length;
  t.equal(warned(dry), 2, "the change is tried out with its warnings");
  t.equal(
    (await server.call("GET", "/api/v1/namespaces/old")).json.metadata.labels?.[Object.keys(labels)[0] ?? ""],
    undefined,
  );
  t.equal(warned(await server.call("PATCH", "/api/v1/namespaces/old", { metadata: { labels } }, merge)), 2);
  const { json: stored } = await server.call("GET", "/api/v1/namespaces/old/pods/p");
  const containers = [{ ...stored.spec.containers[0], image: "other" }];
  const ways = changes(server, "/api/v1/namespaces/old/pods/p", {
    patch: { spec: { containers } },
    operations: [{ op: "replace", path: "/spec/containers/0/image", value: "other" }],
    whole: { ...stored, metadata: { name: "p" }, spec: { ...stored.spec, containers } },
  });
  for (const [way, change] of ways) t.equal((await change()).code, 403, way);
});

t.test("D06: who may only debug pods gets no more than pod security allows", async (t) => {
  const server = await openInProcess("kubernetes");
  t.teardown(() => server.close());
  const labels = { "pod-security.kubernetes.io/enforce": "baseline" };
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n", labels } });
  const spec = { containers: [{ name: "c", image: "i" }] };
  const { json: pod } = await server.call("POST", "/api/v1/namespaces/n/pods", { metadata: { name: "p" }, spec });
  const attempt = async (privileged: boolean): Promise<[string, number][]> => {
    const added = [{ name: "d", image: "i", securityContext: { privileged } }];
    const ways = changes(server, "/api/v1/namespaces/n/pods/p/ephemeralcontainers", {
      patch: { spec: { ephemeralContainers: added } },
      operations: [{ op: "add", path: "/spec/ephemeralContainers", value: added }],
      whole: { ...pod, metadata: { name: "p" }, spec: { ...pod.spec, ephemeralContainers: added } },
    });
    const codes: [string, number][] = [];
    for (const [way, change] of ways) codes.push([way, (await change()).code]);
    return codes;
  };
  for (const [way, code] of await attempt(true)) t.equal(code, 403, way);
  for (const [way, code] of await attempt(false)) t.equal(code, 200, way);
});

t.test("D11: paths inside volumes climb nowhere", async (t) => {
  const server = await openInProcess("kubernetes");
  t.teardown(() => server.close());
  const mounted = (more: object): object => ({
    containers: [{ name: "c", image: "i", volumeMounts: [{ name: "v", mountPath: "/m", ...more }] }],
    volumes: [{ name: "v", emptyDir: {} }],
  });
  const volume = (source: object): object => ({
    containers: [{ name: "c", image: "i" }],
    volumes: [{ name: "v", ...source }],
  });
  const paths = ["..", "../x", "a/../../b", "/abs"];
  const repository = "https://example.com/r";
  const item = (path: string): object => ({ configMap: { name: "m", items: [{ key: "k", path }] } });
  for (const [code, spec] of [
    ...paths.flatMap((path) => [
      [422, mounted({ subPath: path })] as const,
      [422, mounted({ subPathExpr: path })] as const,
      [422, volume({ gitRepo: { repository, directory: path } })] as const,
      [422, volume(item(path))] as const,
    ]),
    [422, volume({ hostPath: { path: "/a/../etc" } })],
    [422, volume({ hostPath: { path: ".." } })],
    [201, mounted({ subPath: "a/b" })],
    [201, volume({ hostPath: { path: "/a" } })],
    [201, volume({ gitRepo: { repository, directory: "." } })],
  ] as const) {
    const made = await server.call("POST", `${core}/pods`, { metadata: { generateName: "p-" }, spec });
    t.equal(made.code, code, JSON.stringify(spec));
  }
  const terms = [{ matchExpressions: [{ key: "k", operator: "In", values: ["v"] }] }];
  for (const [path, code] of [
    ["/a/../b", 422],
    ["", 422],
    ["/a", 201],
  ] as const) {
    const capacity = { storage: "1Gi" };
    const spec = {
      capacity,
      accessModes: ["ReadWriteOnce"],
      local: { path },
      nodeAffinity: { required: { nodeSelectorTerms: terms } },
    };
    const made = await server.call("POST", "/api/v1/persistentvolumes", { metadata: { name: "v" }, spec });
    t.equal(made.code, code, `local ${path}`);
  }
});
