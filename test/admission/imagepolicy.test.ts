// ImagePolicyWebhook against a real peer: what it is asked, what its answers do, and what holds while it is silent.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { readImagePolicy } from "../../src/admission/imagepolicy.ts";
import { limits } from "../../src/config/limits.ts";
import { type InProcess, openInProcess } from "../support/inprocess.ts";
import { openPeer, sayJson } from "../support/peer.ts";

const pods = "/api/v1/namespaces/default/pods";

// biome-ignore lint/suspicious/noExplicitAny: a review is whatever was sent
type Review = any;

interface Setup {
  readonly server: InProcess;
  readonly reviews: Review[];
}

async function open(
  t: Pick<Test, "teardown" | "testdir">,
  status: (review: Review) => object | undefined,
  more: object = {},
): Promise<Setup> {
  const reviews: Review[] = [];
  const peer = await openPeer((body, response) => {
    const review = JSON.parse(body);
    reviews.push(review);
    const said = status(review);
    if (said === undefined) response.socket?.destroy();
    else sayJson(response, { ...review, status: said });
  });
  const file = join(t.testdir({}), "connection.yaml");
  const authority = Buffer.from(peer.authority).toString("base64");
  writeFileSync(
    file,
    `clusters: [{name: c, cluster: {server: "${peer.url}", certificate-authority-data: ${authority}}}]`,
  );
  const settings = new Map([
    ["ImagePolicyWebhook", JSON.stringify({ imagePolicy: { kubeConfigFile: file, retryBackoff: 1, ...more } })],
  ]);
  const server = await openInProcess("kubernetes", { admission: { enabled: ["ImagePolicyWebhook"], settings } });
  t.teardown(() => {
    server.close();
    peer.close();
  });
  await server.call("POST", "/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "default" } });
  return { server, reviews };
}

function pod(name: string, image: string, annotations = {}): object {
  return { metadata: { name, annotations }, spec: { containers: [{ name: "c", image }] } };
}

t.test("images are asked about with the pod's own annotations for it, once while the answer counts", async (t) => {
  const { server, reviews } = await open(t, ({ spec }) => {
    const [{ image }] = spec.containers;
    return image === "bad" ? { allowed: false, reason: "too old" } : { allowed: image !== "worse" };
  });
  const annotations = { "mine.image-policy.k8s.io/ticket": "7", other: "x" };
  t.equal((await server.call("POST", pods, pod("a", "good", annotations))).code, 201);
  t.equal((await server.call("POST", pods, pod("b", "good", annotations))).code, 201);
  t.equal(reviews.length, 1);
  t.match(reviews[0], {
    kind: "ImageReview",
    apiVersion: "imagepolicy.k8s.io/v1alpha1",
    spec: {
      containers: [{ image: "good" }],
      annotations: { "mine.image-policy.k8s.io/ticket": "7" },
      namespace: "default",
    },
  });
  const bad = await server.call("POST", pods, pod("bad", "bad"));
  t.equal(bad.code, 403);
  const denied = "image policy webhook backend denied one or more images";
  t.equal(bad.json.message, `pods "bad" is forbidden: ${denied}: too old`);
  t.equal(
    (await server.call("POST", pods, pod("worse", "worse"))).json.message,
    `pods "worse" is forbidden: ${denied}`,
  );
});

t.test("answers are not kept for what a client made long", async (t) => {
  const { server, reviews } = await open(t, () => ({ allowed: true }));
  const long = { "mine.image-policy.k8s.io/ticket": "x".repeat(limits.webhookKeptCharsMax) };
  for (const name of ["a", "b"]) t.equal((await server.call("POST", pods, pod(name, "good", long))).code, 201);
  t.equal(reviews.length, 2);
});

t.test("D06: debugging containers are asked about, whichever way they come", async (t) => {
  const { server } = await open(t, ({ spec }) => ({
    allowed: spec.containers.every(({ image }: { image: string }) => image !== "bad"),
  }));
  const { code, json: stored } = await server.call("POST", pods, pod("a", "good"));
  t.equal(code, 201);
  const added = [{ name: "d", image: "bad" }];
  const spec = { ephemeralContainers: added };
  const apply = { apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, spec };
  for (const [method, query, type, body] of [
    ["PUT", "", "json", { ...stored, spec: { ...stored.spec, ...spec } }],
    ["PATCH", "", "strategic-merge-patch+json", { spec }],
    ["PATCH", "", "merge-patch+json", { spec }],
    ["PATCH", "", "json-patch+json", [{ op: "add", path: "/spec/ephemeralContainers", value: added }]],
    ["PATCH", "?fieldManager=m", "apply-patch+yaml", apply],
  ] as const) {
    const headers = { "content-type": `application/${type}` };
    const refused = await server.call(method, `${pods}/a/ephemeralcontainers${query}`, body, headers);
    t.equal(refused.code, 403, type);
    t.match(refused.json.message, /image policy webhook backend denied one or more images/, type);
  }
});

t.test("while the webhook does not answer the default holds, after several tries", async (t) => {
  const closed = await open(t, () => undefined);
  const refused = await closed.server.call("POST", pods, pod("a", "i"));
  t.equal(refused.code, 403);
  t.match(refused.json.message, /the image policy webhook gave no answer: /);
  t.equal(closed.reviews.length, 5);
  const opened = await open(t, () => undefined, { defaultAllow: true });
  t.equal((await opened.server.call("POST", pods, pod("a", "i"))).code, 201);
});

t.test("the end of a request's own time opens nothing", async (t) => {
  const silent = await open(t, () => undefined, { defaultAllow: true, retryBackoff: 300 });
  const { revision } = silent.server.store;
  for (const timeout of ["1ns", "1us", "1ms", "5ms", "100ms"]) {
    const { code, json } = await silent.server.call("POST", `${pods}?timeout=${timeout}`, pod("a", "i"));
    t.strictSame([code, json.reason], [504, "Timeout"], timeout);
  }
  t.equal(silent.server.store.revision, revision, "nothing was stored");
});

t.test("readImagePolicy() reads times, and needs a configuration", async (t) => {
  const read = (imagePolicy: object): unknown => readImagePolicy(JSON.stringify({ imagePolicy }));
  t.match(readImagePolicy(undefined), /it needs a configuration/);
  t.match(read({ kubeConfigFile: "f", denyTTL: -1 }), {
    allowMs: 300_000,
    denyMs: 0,
    retryMs: 500,
    defaultAllow: false,
  });
});
