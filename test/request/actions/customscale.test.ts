// The scale subresource of custom resources, whose size is where their definition says.
import t from "tap";
import { openDefined, widgets } from "../../support/definitions.ts";
import type { Answer } from "../../support/inprocess.ts";

const path = "/apis/example.com/v1/namespaces/default/widgets";
const merge = { "content-type": "application/merge-patch+json" };
const apply = { "content-type": "application/apply-patch+yaml" };

const schema = {
  openAPIV3Schema: {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: { pool: { type: "object", properties: { size: { type: "integer" }, name: { type: "string" } } } },
      },
      status: { type: "object", properties: { size: { type: "integer" } } },
    },
  },
};
const subresources = {
  status: {},
  scale: { specReplicasPath: ".spec.pool.size", statusReplicasPath: ".status.size" },
};

function widget(name: string, spec: object) {
  return { apiVersion: "example.com/v1", kind: "Widget", metadata: { name }, spec };
}

function scale(spec: object, metadata: object = {}) {
  return { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "a", ...metadata }, spec };
}

function brief({ code, json }: Answer): string {
  return json.kind === "Scale" ? `${code} ${json.spec.replicas}` : `${code} ${json.message}`;
}

function ownersOf({ json }: Answer): string[] {
  const entries = json.metadata.managedFields as { manager: string; subresource?: string; fieldsV1: object }[];
  return entries.map((entry) => `${entry.manager}/${entry.subresource ?? ""} ${JSON.stringify(entry.fieldsV1)}`);
}

t.test("a custom resource is scaled at the path of its definition", async (t) => {
  const server = await openDefined(widgets({ name: "v1", schema, subresources }));
  t.teardown(() => server.stop());
  const made = await server.call("POST", path, widget("a", { pool: { size: 1 } }));
  t.equal(made.code, 201);
  const stale = { resourceVersion: made.json.metadata.resourceVersion };
  const modified =
    'Operation cannot be fulfilled on widgets.example.com "a": the object has been modified; please apply your changes to the latest version and try again';
  const negative =
    'Widget.example.com "a" is invalid: .spec.pool.size: Invalid value: -3: should be a non-negative integer';
  const table: [want: string, method: string, body: unknown, headers?: Record<string, string>][] = [
    ["200 5", "PATCH", { spec: { replicas: 5 } }, merge],
    ["200 3", "PUT", scale({ replicas: 3 })],
    [`409 ${modified}`, "PUT", scale({ replicas: 4 }, stale)],
    [`422 ${negative}`, "PATCH", { spec: { replicas: -3 } }, merge],
    [`422 ${negative}`, "PUT", scale({ replicas: -3 })],
    ["400 the name of the object (b) does not match the name on the URL (a)", "PUT", scale({}, { name: "b" })],
  ];
  for (const [want, method, body, headers] of table) {
    t.equal(brief(await server.call(method, `${path}/a/scale`, body, headers)), want);
  }
  const after = await server.call("GET", `${path}/a`);
  t.strictSame(after.json.spec, { pool: { size: 3 } });
  t.equal(after.json.metadata.generation, 3);
  t.equal(brief(await server.call("GET", `${path}/none/scale`)), '404 widgets.example.com "none" not found');
});

t.test("updates of the size of a custom resource take it from its owners, and an apply owns it", async (t) => {
  const server = await openDefined(widgets({ name: "v1", schema, subresources }));
  t.teardown(() => server.stop());
  await server.call("POST", `${path}?fieldManager=maker`, widget("a", { pool: { size: 1, name: "x" } }));
  const size = (owners: Answer): string[] => ownersOf(owners).filter((entry) => entry.includes("f:size"));
  await server.call("PUT", `${path}/a/scale?fieldManager=scaler`, scale({ replicas: 3 }));
  t.strictSame(size(await server.call("GET", `${path}/a`)), []);
  await server.call("PUT", `${path}/a?fieldManager=owner`, {
    ...(await server.call("GET", `${path}/a`)).json,
    spec: { pool: { size: 4, name: "x" } },
  });
  const owner = 'owner/ {"f:spec":{"f:pool":{"f:size":{}}}}';
  t.strictSame(size(await server.call("GET", `${path}/a`)), [owner]);
  const applied = `${path}/a/scale?fieldManager=applier`;
  const refused = await server.call("PATCH", applied, scale({ replicas: 7 }), apply);
  t.equal(refused.code, 409);
  t.match(refused.json.message, "conflict with");
  t.equal(brief(await server.call("PATCH", `${applied}&force=true`, scale({ replicas: 7 }), apply)), "200 7");
  t.strictSame(ownersOf(await server.call("GET", `${path}/a`)), [
    'applier/scale {"f:spec":{"f:pool":{"f:size":{}}}}',
    'maker/ {"f:spec":{".":{},"f:pool":{".":{},"f:name":{}}}}',
  ]);
});

t.test("a custom resource without a size has no Scale until it is given one", async (t) => {
  const server = await openDefined(widgets({ name: "v1", schema, subresources }));
  t.teardown(() => server.stop());
  await server.call("POST", path, widget("a", {}));
  const at = `${path}/a/scale`;
  t.equal(brief(await server.call("GET", at)), '400 the spec replicas field ".spec.pool.size" does not exist');
  const empty = '400 the spec replicas field ".spec.pool.size" cannot be empty';
  t.equal(brief(await server.call("PATCH", at, { metadata: { labels: { a: "b" } } }, merge)), empty);
  t.equal(brief(await server.call("PATCH", at, { spec: { replicas: 2 } }, merge)), "200 2");
  t.strictSame((await server.call("GET", `${path}/a`)).json.spec, { pool: { size: 2 } });
});
