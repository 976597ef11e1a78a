// The scale subresource through the whole request path; answers are those of the reference's transcripts.
import t from "tap";
import { type Answer, openInProcess } from "../support/inprocess.ts";

const deployments = "/apis/apps/v1/namespaces/default/deployments";
const scale = `${deployments}/one/scale`;
const merge = { "content-type": "application/merge-patch+json" };
const jsonPatch = { "content-type": "application/json-patch+json" };

function deployment(name: string) {
  return {
    metadata: { name },
    spec: {
      replicas: 2,
      selector: {
        matchLabels: { app: "web" },
        matchExpressions: [{ key: "a", operator: "NotIn", values: ["z", "b"] }],
      },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "i" }] } },
    },
  };
}

function body(spec: object, metadata: object = {}) {
  const names = { name: "one", namespace: "default", ...metadata };
  return { apiVersion: "autoscaling/v1", kind: "Scale", metadata: names, spec };
}

function brief({ code, json }: Answer): string {
  return json?.kind === "Scale" ? `${code} ${json.spec.replicas ?? 0}` : `${code} ${json?.message}`;
}

t.test("readScale() shows name, count and selector of a workload and nothing else", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const made = await server.call("POST", deployments, deployment("one"));
  const { uid, resourceVersion, creationTimestamp } = made.json.metadata;
  t.strictSame((await server.call("GET", scale)).json, {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name: "one", namespace: "default", uid, resourceVersion, creationTimestamp },
    spec: { replicas: 2 },
    status: { replicas: 0, selector: "a notin (b,z),app=web" },
  });
  t.equal(brief(await server.call("GET", `${deployments}/none/scale`)), '404 deployments/scale.apps "none" not found');
});

t.test("updateScale() and patchScale() write the workload as its own path does", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const made = await server.call("POST", deployments, deployment("one"));
  const stale = { resourceVersion: made.json.metadata.resourceVersion };
  const table: [want: string, method: string, body: unknown, headers?: Record<string, string>][] = [
    ["200 5", "PUT", body({ replicas: 5 })],
    [
      '409 Operation cannot be fulfilled on deployments.apps "one": the object has been modified; please apply your changes to the latest version and try again',
      "PUT",
      body({ replicas: 5 }, stale),
    ],
    [
      '422 Scale.autoscaling "one" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
      "PUT",
      body({ replicas: -1 }),
    ],
    ["400 the name of the object (two) does not match the name on the URL (one)", "PUT", body({}, { name: "two" })],
    ["409 Operation cannot be fulfilled", "PUT", body({ replicas: 4 }, { uid: "other" })],
    [
      '400 Deployment in version "v1" cannot be handled as a Scale: converting (v1.Deployment) to (autoscaling.Scale): unknown conversion',
      "PUT",
      { ...deployment("one"), apiVersion: "apps/v1", kind: "Deployment" },
    ],
    ["200 0", "PUT", body({})],
    ["200 3", "PATCH", { spec: { replicas: 3 } }, merge],
    ["200 3", "PATCH", { metadata: { labels: { a: "b" } }, status: { replicas: 9 } }, merge],
    ["200 2", "PATCH", [{ op: "replace", path: "/spec/replicas", value: 2 }], jsonPatch],
    ["422 ", "PATCH", { spec: { replicas: -2 } }, merge],
  ];
  for (const [want, method, sent, headers] of table) {
    t.match(brief(await server.call(method, scale, sent, headers)), want, want);
  }
  const after = (await server.call("GET", `${deployments}/one`)).json;
  t.equal(after.spec.replicas, 2);
  t.equal(after.metadata.generation, 5);
  t.equal(after.metadata.labels, undefined);
  const fields = JSON.stringify(after.metadata.managedFields);
  t.match(fields, "f:template");
  t.match(fields, '"f:replicas":{}}},"subresource":"scale"', "a patch of scale owns what somebody owned");
  t.match(brief(await server.call("PUT", `${deployments}/none/scale`, body({}, { name: "none" }))), "404 deployments");
  t.match(brief(await server.call("PATCH", `${deployments}/none/scale`, {}, merge)), "404 deployments.apps");
  t.equal(brief(await server.call("PUT", `${scale}?dryRun=All`, body({ replicas: 7 }))), "200 7");
  t.equal(brief(await server.call("GET", scale)), "200 2");
});

t.test("readScale() reads the plain selector of a replication controller", async (t) => {
  const server = await openInProcess("orch");
  t.teardown(() => server.close());
  const path = "/api/v1/namespaces/default/replicationcontrollers";
  const template = { metadata: { labels: { b: "1", a: "2" } }, spec: { containers: [{ name: "c", image: "i" }] } };
  await server.call("POST", path, { metadata: { name: "one" }, spec: { template } });
  t.match((await server.call("GET", `${path}/one/scale`)).json, {
    spec: { replicas: 1 },
    status: { selector: "a=2,b=1" },
  });
});
