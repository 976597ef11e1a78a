// Limit ranges: what they complete, what they refuse, and in which words.
import t from "tap";
import { type InProcess, openInProcess } from "../support/inprocess.ts";

const pods = "/api/v1/namespaces/default/pods";
const claims = "/api/v1/namespaces/default/persistentvolumeclaims";
const ranges = "/api/v1/namespaces/default/limitranges";

async function open(limits: readonly object[]): Promise<InProcess> {
  const server = await openInProcess("kubernetes", { admission: { disabled: ["ServiceAccount"] } });
  const made = await server.call("POST", ranges, { metadata: { name: "lr" }, spec: { limits } });
  if (made.code !== 201) throw new Error(made.text);
  return server;
}

const container = (name: string, resources: object): object => ({ name, image: "i", resources });

t.test("LimitRanger completes containers and init containers, and says so", async (t) => {
  const server = await open([
    { type: "Container", default: { cpu: "200m", memory: "64Mi" }, defaultRequest: { cpu: "100m" } },
  ]);
  const { json } = await server.call("POST", pods, {
    metadata: { name: "p" },
    spec: {
      containers: [container("c", { limits: { cpu: "150m" } })],
      initContainers: [container("i", {})],
    },
  });
  t.same(json.spec.containers[0].resources, {
    limits: { cpu: "150m", memory: "64Mi" },
    requests: { cpu: "150m", memory: "64Mi" },
  });
  t.same(json.spec.initContainers[0].resources, {
    limits: { cpu: "200m", memory: "64Mi" },
    requests: { cpu: "100m", memory: "64Mi" },
  });
  t.equal(
    json.metadata.annotations["kubernetes.io/limit-ranger"],
    "LimitRanger plugin set: memory request for container c; memory limit for container c; cpu, memory request for init container i; cpu, memory limit for init container i",
  );
  const merge = { "content-type": "application/merge-patch+json" };
  await server.call("DELETE", `${ranges}/lr`);
  await server.call("POST", ranges, {
    metadata: { name: "strict" },
    spec: { limits: [{ type: "Container", max: { cpu: "1m" } }] },
  });
  const labelled = await server.call("PATCH", `${pods}/p`, { metadata: { labels: { a: "b" } } }, merge);
  t.equal(labelled.code, 200, "a pod that is there may be changed");
  server.close();
});

t.test("LimitRanger refuses what is out of bounds, in the words of upstream", async (t) => {
  for (const [limit, resources, why] of [
    [
      { min: { cpu: "50m" } },
      { requests: { cpu: "10m" } },
      "minimum cpu usage per Container is 50m, but request is 10m",
    ],
    [{ max: { "example.com/x": "2" } }, {}, undefined],
    [{ max: { cpu: "1" } }, { limits: { cpu: "1001m" } }, "maximum cpu usage per Container is 1, but limit is 1001m"],
    [{ max: { memory: "1Gi" } }, { limits: { memory: "1Gi" } }, undefined],
    [
      { maxLimitRequestRatio: { cpu: "5" } },
      { requests: { cpu: "1m" }, limits: { cpu: "7m" } },
      "cpu max limit to request ratio per Container is 5, but provided ratio is 7.000000",
    ],
    [
      { maxLimitRequestRatio: { cpu: "5" } },
      { limits: { memory: "1" } },
      "cpu max limit to request ratio per Container is 5, but no request is specified or request is 0",
    ],
    [
      { maxLimitRequestRatio: { cpu: "5" } },
      { requests: { cpu: "1" } },
      "cpu max limit to request ratio per Container is 5, but no limit is specified or limit is 0",
    ],
  ] as const) {
    const server = await open([{ type: "Container", ...limit }]);
    for (const list of ["containers", "initContainers"]) {
      // Values of the range itself that complete containers are of no interest here: give both where one is meant.
      const spec = {
        containers: [container("c", resources)],
        ...(list === "containers" ? {} : { initContainers: [container("i", resources)] }),
      };
      const { code, json } = await server.call("POST", pods, { metadata: { name: "p" }, spec });
      t.equal(code, why === undefined ? 201 : 403, `${list}: ${why ?? "within bounds"}`);
      if (why !== undefined) t.equal(json.message, `pods "p" is forbidden: ${why}`);
      await server.call("DELETE", `${pods}/p?gracePeriodSeconds=0`);
    }
    server.close();
  }
});

t.test(
  "LimitRanger sums pods, where every container says something, and takes the largest init container",
  async (t) => {
    const server = await open([{ type: "Pod", min: { "example.com/x": "1" } }]);
    const bare = await server.call("POST", pods, {
      metadata: { name: "p" },
      spec: { containers: [container("c", {})] },
    });
    t.match(bare.json.message, /: minimum example.com\/x usage per Pod is 1\. {2}No request is specified$/);
    await server.call("DELETE", `${ranges}/lr`);
    const limits = [{ type: "Pod", max: { cpu: "1500m", memory: "1Gi" } }];
    await server.call("POST", ranges, { metadata: { name: "sum" }, spec: { limits } });
    const of = (cpu: string): object => ({ limits: { cpu, memory: "1Mi" } });
    for (const [containers, initContainers, why] of [
      [[of("1"), of("500m")], [], undefined],
      [[of("1"), of("501m")], [], "maximum cpu usage per Pod is 1500m, but limit is 1501m"],
      [[of("1")], [of("2")], "maximum cpu usage per Pod is 1500m, but limit is 2"],
      [[of("1"), { limits: { memory: "1Mi" } }], [], "maximum cpu usage per Pod is 1500m.  No limit is specified"],
    ] as const) {
      const spec = {
        containers: containers.map((resources, i) => container(`c${i}`, resources)),
        initContainers: initContainers.map((resources, i) => container(`i${i}`, resources)),
      };
      const { code, json } = await server.call("POST", pods, { metadata: { name: "p" }, spec });
      t.equal(code, why === undefined ? 201 : 403);
      if (why !== undefined) t.equal(json.message, `pods "p" is forbidden: ${why}`);
      await server.call("DELETE", `${pods}/p?gracePeriodSeconds=0`);
    }
    server.close();
  },
);

t.test("LimitRanger bounds claims, when they are made and when they grow", async (t) => {
  const server = await open([{ type: "PersistentVolumeClaim", min: { storage: "1Gi" }, max: { storage: "5Gi" } }]);
  const claim = (storage: string): object => ({
    metadata: { name: "c" },
    spec: { storageClassName: "x", accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } },
  });
  for (const [storage, why] of [
    ["100Mi", "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 100Mi"],
    ["9Gi", "maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 9Gi"],
  ] as const) {
    const { code, json } = await server.call("POST", claims, claim(storage));
    t.equal(code, 403);
    t.equal(json.message, `persistentvolumeclaims "c" is forbidden: ${why}`);
  }
  t.equal((await server.call("POST", claims, claim("2Gi"))).code, 201);
  server.close();
});
