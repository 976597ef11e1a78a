// Whatever way an object is changed, a webhook hears of it, once, with the object as it is stored and as it will be.
import t, { type Test } from "tap";
import { type Answer, type InProcess, openInProcess } from "../../support/inprocess.ts";
import { openPeer, sayJson } from "../../support/peer.ts";

const registration = "/apis/admissionregistration.k8s.io/v1";
const core = "/api/v1/namespaces/default";
const merge = { "content-type": "application/merge-patch+json" };
const strategic = { "content-type": "application/strategic-merge-patch+json" };
const json = { "content-type": "application/json-patch+json" };
const apply = { "content-type": "application/apply-patch+yaml" };

// biome-ignore lint/suspicious/noExplicitAny: a review is whatever was sent
type Review = any;

interface Setup {
  readonly server: InProcess;
  /** What was reviewed since it was last asked for. */
  take(call: Promise<Answer>): Promise<Review[]>;
}

/** A server with one webhook for everything. */
async function open(t: Pick<Test, "teardown">, resources = ["*/*"], more: object = {}): Promise<Setup> {
  const server = await openInProcess("kubernetes");
  let reviews: Review[] = [];
  const peer = await openPeer((body, response) => {
    const { kind, apiVersion, request } = JSON.parse(body);
    reviews.push(request);
    sayJson(response, { kind, apiVersion, response: { uid: request.uid, allowed: true } });
  });
  t.teardown(() => {
    peer.close();
    server.close();
  });
  const webhook = {
    name: "all.example.com",
    clientConfig: { url: peer.url, caBundle: Buffer.from(peer.authority).toString("base64") },
    rules: [{ apiGroups: ["*"], apiVersions: ["*"], resources, operations: ["*"] }],
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    ...more,
  };
  const made = await server.call("POST", `${registration}/validatingwebhookconfigurations`, {
    metadata: { name: "all" },
    webhooks: [webhook],
  });
  if (made.code !== 201) throw new Error(made.text);
  return {
    server,
    async take(call) {
      reviews = [];
      const { code, text } = await call;
      if (code >= 300) throw new Error(text);
      return reviews;
    },
  };
}

function shown({ operation, resource, subResource, name }: Review): string {
  const at = subResource === undefined ? resource.resource : `${resource.resource}/${subResource}`;
  return `${operation} ${at} ${name ?? "?"}`;
}

t.test("B11: subresources, collections and applies reach webhooks", async (t) => {
  const { server, take } = await open(t);
  const names = async (call: Promise<Answer>): Promise<string[]> => (await take(call)).map(shown);
  const pod = { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } };
  t.same(await names(server.call("POST", `${core}/pods`, pod)), ["CREATE pods p"]);
  const debug = { spec: { ephemeralContainers: [{ name: "d", image: "i" }] } };
  t.same(await names(server.call("PATCH", `${core}/pods/p/ephemeralcontainers`, debug, strategic)), [
    "UPDATE pods/ephemeralcontainers p",
  ]);
  const target = { target: { kind: "Node", name: "n" } };
  t.same(await names(server.call("POST", `${core}/pods/p/binding`, { metadata: { name: "p" }, ...target })), [
    "CREATE pods/binding p",
  ]);
  const ready = { status: { phase: "Running" } };
  t.same(await names(server.call("PATCH", `${core}/pods/p/status`, ready, merge)), ["UPDATE pods/status p"]);
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" } };
  const evicted = await names(server.call("POST", `${core}/pods/p/eviction`, eviction));
  t.equal(evicted[0], "CREATE pods/eviction p");

  const labels = { a: "b" };
  const spec = { containers: [{ name: "c", image: "i" }] };
  const set = { spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } } };
  const path = "/apis/apps/v1/namespaces/default/replicasets";
  const applied = { apiVersion: "apps/v1", kind: "ReplicaSet", metadata: { name: "r" }, ...set };
  t.same(await names(server.call("PATCH", `${path}/r?fieldManager=m`, applied, apply)), ["CREATE replicasets r"]);
  t.same(await names(server.call("PATCH", `${path}/r/scale`, { spec: { replicas: 2 } }, merge)), [
    "UPDATE replicasets/scale r",
  ]);
  for (const name of ["x", "y"]) await server.call("POST", `${core}/configmaps`, { metadata: { name } });
  const deleted = await take(server.call("DELETE", `${core}/configmaps`));
  t.same(deleted.map(shown).toSorted(), ["DELETE configmaps x", "DELETE configmaps y"], "once per object");
  t.ok(deleted.every(({ oldObject, object, name }) => object === null && oldObject.metadata.name === name));
});

t.test("B11: webhooks are not asked about configurations of webhooks", async (t) => {
  const { server, take } = await open(t);
  for (const resource of ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"]) {
    const path = `${registration}/${resource}`;
    t.same(await take(server.call("POST", path, { metadata: { name: "other" } })), []);
    t.same(await take(server.call("PATCH", `${path}/other`, { metadata: { labels: { a: "b" } } }, merge)), []);
    t.same(await take(server.call("DELETE", `${path}/other`)), []);
  }
});

t.test("B11: a rule fires for every version that is served", async (t) => {
  const { server, take } = await open(t, ["*"], {
    rules: [{ apiGroups: ["policy"], apiVersions: ["v1"], resources: ["poddisruptionbudgets"], operations: ["*"] }],
  });
  const spec = { selector: { matchLabels: { a: "b" } }, maxUnavailable: 1 };
  for (const version of ["v1", "v1beta1"]) {
    const path = `/apis/policy/${version}/namespaces/default/poddisruptionbudgets`;
    const [review] = await take(server.call("POST", path, { metadata: { name: version }, spec }));
    t.match(review, {
      resource: { version: "v1" },
      requestResource: { version },
      object: { apiVersion: "policy/v1", spec: { maxUnavailable: 1 } },
    });
  }
});

t.test("B11: dry-run refuses webhooks that may have side effects", async (t) => {
  // Only stored by older releases: what was stored then has no promise.
  const { server } = await open(t, ["*"], { sideEffects: "NoneOnDryRun" });
  t.equal((await server.call("POST", `${core}/configmaps?dryRun=All`, { metadata: { name: "a" } })).code, 201);
  const made = await server.call("POST", `${registration}/validatingwebhookconfigurations`, {
    metadata: { name: "some" },
    webhooks: [{ name: "a.example.com", clientConfig: { url: "https://127.0.0.1:1/" }, sideEffects: "Some" }],
  });
  t.equal(made.code, 422);
  // What an older release stored: it is not known whether it has any.
  const rules = [{ apiGroups: [""], apiVersions: ["v1"], resources: ["secrets"], operations: ["*"] }];
  const clientConfig = { url: "https://127.0.0.1:1/" };
  const old = { name: "old.example.com", clientConfig, rules, admissionReviewVersions: ["v1"], sideEffects: "None" };
  for (const kind of ["validating", "mutating"]) {
    server.store.before = (change) => {
      server.store.before = undefined;
      const body = Buffer.from(Buffer.from(change.body).toString().replace('"None"', '"Unknown"'));
      return server.store.apply({ ...change, body });
    };
    const path = `${registration}/${kind}webhookconfigurations`;
    const webhooks = [{ ...old, failurePolicy: "Ignore" }];
    t.equal((await server.call("POST", path, { metadata: { name: "old" }, webhooks })).code, 201);
    const dry = await server.call("POST", `${core}/secrets?dryRun=All`, { metadata: { name: "a" } });
    t.equal(dry.code, 400, dry.text);
    t.equal(dry.json.message, 'admission webhook "old.example.com" does not support dry run');
    t.equal((await server.call("DELETE", `${path}/old`)).code, 200);
  }
});

t.test("D01: a webhook sees the stored node with every field, whatever changes it", async (t) => {
  const { server, take } = await open(t, ["nodes", "nodes/status"]);
  const node = {
    metadata: { name: "n", labels: { a: "b" }, annotations: { c: "d" } },
    spec: { providerID: "p", taints: [{ key: "k", effect: "NoSchedule" }] },
  };
  await take(server.call("POST", "/api/v1/nodes", node));
  const path = "/api/v1/nodes/n";
  const stored = async (): Promise<Review> => (await server.call("GET", path)).json;
  const config = { apiVersion: "v1", kind: "Node", metadata: { name: "n", labels: { x: "y" } } };
  const ways: [string, () => Promise<Answer>][] = [
    [
      "update",
      async () => server.call("PUT", path, { ...(await stored()), metadata: { name: "n", labels: { z: "1" } } }),
    ],
    ["merge patch", () => server.call("PATCH", path, { metadata: { labels: { e: "f" } } }, merge)],
    ["strategic patch", () => server.call("PATCH", path, { metadata: { labels: { g: "h" } } }, strategic)],
    ["JSON patch", () => server.call("PATCH", path, [{ op: "add", path: "/metadata/labels/i", value: "j" }], json)],
    ["apply", () => server.call("PATCH", `${path}?fieldManager=m&force=true`, config, apply)],
    ["status", () => server.call("PATCH", `${path}/status`, { status: { phase: "Running" } }, merge)],
  ];
  for (const [way, write] of ways) {
    const before = await stored();
    const [review] = await take(write());
    t.same(review.oldObject, before, way);
  }
});

t.test("D01: after a lost race a webhook sees the state that won", async (t) => {
  const { server, take } = await open(t, ["configmaps"]);
  await take(server.call("POST", `${core}/configmaps`, { metadata: { name: "m" }, data: { a: "1" } }));
  let raced = false;
  server.store.before = (change) => {
    if (raced || !change.key.endsWith("/m")) return undefined;
    raced = true;
    server.store.before = undefined;
    void server.call("PATCH", `${core}/configmaps/m`, { data: { winner: "yes" } }, merge);
    return undefined;
  };
  const reviews = await take(server.call("PATCH", `${core}/configmaps/m`, { data: { b: "2" } }, merge));
  const last = reviews.filter(({ object }) => object.data.b === "2").at(-1);
  const final = (await server.call("GET", `${core}/configmaps/m`)).json;
  t.match(final.data, { a: "1", b: "2" });
  t.match(last.object.data, { a: "1", b: "2" });
  t.equal(last.oldObject.data.winner, last.object.data.winner, "old and new are of one state");
});
