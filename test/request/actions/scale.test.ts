// The scale subresource through the whole request path; answers are those of upstream's transcripts.
import t from "tap";
import { type Answer, openInProcess } from "../../support/inprocess.ts";

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
  for (const [path, at] of [
    [deployments, "deployments/scale.apps"],
    [deployments.replace("deployments", "statefulsets"), "statefulsets.apps"],
    ["/api/v1/namespaces/default/replicationcontrollers", "replicationcontrollers/scale.autoscaling"],
  ]) {
    t.equal(brief(await server.call("GET", `${path}/none/scale`)), `404 ${at} "none" not found`);
  }
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
  t.notMatch(fields, "f:replicas", "a size that was left out once is owned by no update of scale any more");
  t.match(brief(await server.call("PUT", `${deployments}/none/scale`, body({}, { name: "none" }))), "404 deployments");
  t.match(brief(await server.call("PATCH", `${deployments}/none/scale`, {}, merge)), "404 deployments.apps");
  t.equal(brief(await server.call("PUT", `${scale}?dryRun=All`, body({ replicas: 7 }))), "200 7");
  t.equal(brief(await server.call("GET", scale)), "200 2");
});

interface Owner {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
  readonly time?: string;
  readonly fieldsV1: { readonly "f:spec"?: object };
}

t.test("writes of scale move the size between managers as upstream does", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const apply = { "content-type": "application/apply-patch+yaml" };
  const sized = (replicas: number) => JSON.stringify(body({ replicas }));
  /** Who owns the size, and how many other entries there are. */
  const owners = async () => {
    const { metadata } = (await server.call("GET", `${deployments}/one`)).json;
    const entries = metadata.managedFields as Owner[];
    const sizes = entries.filter(({ fieldsV1 }) => "f:replicas" in (fieldsV1["f:spec"] ?? {}));
    const names = sizes.map((e) => [e.manager, e.operation, e.subresource ?? "", e.time === undefined ? "" : "timed"]);
    return `${names.map((name) => name.join(" ").trim()).join(", ")} + ${entries.length - sizes.length}`;
  };
  const table: [want: string, owners: string, method: string, query: string, sent: unknown, type?: object][] = [
    ["200 5", "a Update scale + 1", "PUT", "fieldManager=a", body({ replicas: 5 })],
    ["200 5", "a Update scale + 1", "PUT", "fieldManager=b", body({ replicas: 5 })],
    ["200 6", "b Update scale + 1", "PATCH", "fieldManager=b", { spec: { replicas: 6 } }, merge],
    [
      '409 .*conflict with "b" with subresource "scale" using',
      "b Update scale + 1",
      "PATCH",
      "fieldManager=c",
      sized(7),
      apply,
    ],
    ["200 6", "c Apply scale, b Update scale + 1", "PATCH", "fieldManager=c", sized(6), apply],
    ["200 8", "c Apply scale + 1", "PATCH", "fieldManager=c&force=true", sized(8), apply],
    ["200 0", " + 1", "PUT", "fieldManager=a", body({})],
    ["200 4", " + 1", "PUT", "fieldManager=a", body({ replicas: 4 })],
    [
      '409 .*conflict with "before-first-apply" with subresource "scale"',
      " + 1",
      "PATCH",
      "fieldManager=c",
      sized(3),
      apply,
    ],
    ["200 4", "c Apply scale, before-first-apply Update scale + 1", "PATCH", "fieldManager=c", sized(4), apply],
  ];
  await server.call("POST", `${deployments}?fieldManager=m`, deployment("one"));
  for (const [want, owned, method, query, sent, type = {}] of table) {
    const answer = await server.call(method, `${scale}?${query}`, sent, type as Record<string, string>);
    t.match(brief(answer), new RegExp(`^${want}`), `${method} ${query}`);
    t.equal(await owners(), owned, `${method} ${query}: ${want}`);
  }
  // An updater of the object is another one in its Scale: a size that stays splits its entry.
  await server.call("DELETE", `${deployments}/one`);
  await server.call("POST", `${deployments}?fieldManager=m`, deployment("one"));
  t.equal(brief(await server.call("PUT", `${scale}?fieldManager=a`, body({ replicas: 2 }))), "200 2");
  t.equal(await owners(), "m Update + 1");
  const wrong = await server.call("PATCH", scale, { metadata: { uid: "other" } }, merge);
  t.match(brief(wrong), 'Operation cannot be fulfilled on deployments/scale.apps "one": Precondition failed: UID');
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
