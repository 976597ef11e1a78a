// Requests that try to reach what they may not (ATTACKS A02, A03, A06, A07, C09, H07), against the server as its own
// process: a 4xx or the caller's own prefix, never a 5xx, never another object, and no other client notices.
import t from "tap";
import { openTarget, type Target } from "../support/target.ts";

const maps = "/api/v1/namespaces/default/configmaps";

/** A namespace whose name begins with another's, and objects likewise; what must not leak holds the word `leaked`. */
async function seed(target: Target): Promise<void> {
  for (const name of ["a", "ab"]) await target.raw("POST", "/api/v1/namespaces", `{"metadata":{"name":"${name}"}}`);
  const put = (namespace: string, kind: string, name: string, data: string): Promise<unknown> =>
    target.raw(
      "POST",
      `/api/v1/namespaces/${namespace}/${kind}`,
      `{"metadata":{"name":"${name}"},"data":{"k":"${data}"}}`,
    );
  for (const name of ["x", "x0", "x1", "x2"]) await put("a", "configmaps", name, "own");
  await put("ab", "configmaps", "x", "leaked");
  await put("default", "configmaps", "x", "leaked");
  await put("a", "secrets", "x", "bGVha2Vk");
}

const leak = /leaked|bGVha2Vk/;

t.test("A02: selectors and names never climb out of their collection", async (t) => {
  const target = await openTarget();
  t.teardown(() => target.stop());
  await seed(target);
  const own = "/api/v1/namespaces/a/configmaps";
  const names = [
    "../ab/x",
    "../../secrets/a/x",
    "..",
    ".",
    "a/../b",
    "%2e%2e",
    "..%2fab%2fx",
    "",
    "/",
    "x/",
    "x\0",
    "\ud83d\ude00",
  ];
  for (const name of names) {
    const selector = `fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`;
    for (const [method, query] of [
      ["GET", ""],
      ["GET", "&watch=1&timeoutSeconds=1"],
      ["DELETE", ""],
    ] as const) {
      const answer = await target.raw(method, `${own}?${selector}${query}`);
      const empty = answer.json === undefined ? answer.text.trim() === "" : (answer.json.items ?? []).length === 0;
      t.ok([200, 400].includes(answer.code) && empty, `${method} ${selector}${query}: ${answer.code}`);
    }
    const one = await target.raw("GET", `${own}/${encodeURIComponent(name)}`);
    t.ok((one.code >= 400 && one.code < 500) || name === "" || name === "/" || name === "x/", `${name}: ${one.code}`);
    t.notMatch(one.text, leak);
  }
  const listed = await target.raw("GET", own);
  t.strictSame(
    listed.json.items.map((item: { metadata: { name: string } }) => item.metadata.name),
    ["x", "x0", "x1", "x2"],
  );
  t.equal((await target.raw("GET", `${own}?fieldSelector=metadata.name%3Dx`)).json.items.length, 1, "x is not x0");
  t.equal((await target.raw("DELETE", "/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Dx")).code, 200);
  t.equal((await target.raw("GET", own)).json.items.length, 3, "only x is gone");
  t.equal((await target.raw("GET", "/api/v1/namespaces/ab/configmaps/x")).code, 200, "and only here");
  t.strictSame(await target.verdict(), []);
});

/** Tokens made from a real one, and texts that are none. */
function forgeries(real: string): string[] {
  const fields = JSON.parse(Buffer.from(real, "base64url").toString()) as Record<string, unknown>;
  const forge = (change: Record<string, unknown>): string =>
    Buffer.from(JSON.stringify({ ...fields, ...change })).toString("base64url");
  const starts = [
    "..",
    "../",
    "../../",
    "../ab/x",
    "a/../../ab",
    "/",
    "//",
    "/./",
    "./x",
    "x/.",
    "x//y",
    "/registry/secrets/a/x",
    "",
    "\0",
    "x\0\0",
    "\uffff",
    "x".repeat(20_000),
    null,
    1,
    {},
    [],
    true,
  ];
  const revisions = [0, -1, -2, 1, 99, 2 ** 40, 2 ** 53, 2 ** 63, 1.5, "1", null, "9223372036854775808", [], {}];
  return [
    ...starts.map((start) => forge({ start })),
    ...revisions.map((rv) => forge({ rv })),
    ...["v0", "meta.k8s.io/v2", "", 1, null].map((v) => forge({ v })),
    ...["", "/registry/secrets/a", "/registry/configmaps/ab", null, 7].map((of) => forge({ of })),
    forge({ n: -5 }),
    forge({ n: 1e300 }),
    forge({ n: "x" }),
    forge({ __proto__: { start: "../ab/x" } }),
    "x",
    "%",
    "====",
    "e30",
    "bnVsbA",
    "W10",
    "MQ",
    `${real}=`,
    real.slice(1),
    real.slice(0, -1),
    `${real}AAAA`,
    "-_-_",
  ];
}

t.test("A03: forged continue tokens are refused or stay in their collection", async (t) => {
  const target = await openTarget();
  t.teardown(() => target.stop());
  await seed(target);
  const own = "/api/v1/namespaces/a/configmaps";
  const first = await target.raw("GET", `${own}?limit=1`);
  const real = first.json.metadata.continue as string;
  const forged = forgeries(real);
  t.ok(forged.length > 40);
  for (const token of forged) {
    const answer = await target.raw("GET", `${own}?limit=2&continue=${encodeURIComponent(token)}`);
    t.ok([200, 400, 410].includes(answer.code), `${token.slice(0, 60)}: ${answer.code}`);
    t.notMatch(answer.text, leak);
  }
  const elsewhere = ["/api/v1/namespaces/ab/configmaps", maps, "/api/v1/configmaps", "/api/v1/namespaces/a/secrets"];
  for (const path of elsewhere) {
    const answer = await target.raw("GET", `${path}?limit=2&continue=${encodeURIComponent(real)}`);
    t.equal(answer.code, 400, `a token of ${own} at ${path}`);
  }
  const rest = await target.raw("GET", `${own}?limit=5&continue=${real}`);
  t.equal(rest.json.items.length, 3, "the real one still goes on");
  t.strictSame(await target.verdict(), []);
});

/** Encodings of one path: each keeps or changes its meaning, and none may surprise the server. */
function encodings(path: string): string[] {
  const last = path.slice(path.lastIndexOf("/") + 1);
  const head = path.slice(0, path.lastIndexOf("/"));
  const all = [...path].map((char) => `%${char.charCodeAt(0).toString(16).padStart(2, "0")}`).join("");
  return [
    path,
    `${path}/`,
    `/${path}`,
    `//${path}`,
    path.replaceAll("/", "//"),
    path.replace("/api", "/./api"),
    `/x/..${path}`,
    `${path}/..`,
    `${path}/../${last}`,
    `${path}/.`,
    `${path};a=b`,
    `${path}%00`,
    `${path}%0a`,
    `${path}%0d%0aX:y`,
    `${path}%2f`,
    `${path}%2F..`,
    `${head}%2f${last}`,
    `${head}%252f${last}`,
    `${head}/%2e%2e/${last}`,
    `${head}/%2e/${last}`,
    `/${all.slice(3)}`,
    path.replaceAll("a", "%61"),
    path.replaceAll("a", "%c1%a1"),
    path.replaceAll("/", "\\"),
    path.toUpperCase(),
    `${path}%`,
    `${path}%g0`,
    `${path}%e2%82`,
    `${path}%ff`,
    `${path}%f0%9f%98%80`,
    `${path}?`,
    `${path}?%`,
    `${path}?watch`,
    `${path}?=&&=;%00`,
    `${path}%3fwatch=1`,
    `${path}%23`,
    `${path}+`,
    `${path}~`,
    `${path}/proxy/../x`,
    `/proxy${path}`,
  ];
}

t.test("A06: no spelling of a path is a fault, or another object", async (t) => {
  const target = await openTarget();
  t.teardown(() => target.stop());
  await seed(target);
  const own = "/api/v1/namespaces/a/configmaps";
  const paths = [
    own,
    `${own}/x1`,
    `${own}/x1/status`,
    "/api/v1/namespaces/a",
    "/api/v1/namespaces/a/status",
    "/api/v1/nodes/n/proxy/x",
    "/apis/apps/v1/namespaces/a/deployments/d/scale",
    "/api/v1/watch/namespaces/a/configmaps/x1",
    "/apis/apps/v1",
    "/apis",
    "/api/v1",
    "/healthz/ping",
    "/metrics",
    "/version",
    "/openapi/v2",
    "/apis/none.example.com/v1/things/x",
    "/",
    "/api/v1/namespaces/a/pods/p/exec",
    "/api/v1/namespaces/a/pods/p/log",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/x",
  ];
  const spelled = [...new Set(paths.flatMap(encodings))];
  t.ok(spelled.length > 300, `${spelled.length} spellings`);
  const before = await target.warmMib();
  for (const path of spelled) {
    const limited = path.includes("?") ? `${path}&timeoutSeconds=1` : `${path}?timeoutSeconds=1`;
    for (const method of ["GET", "POST", "PUT", "PATCH"]) {
      const answer = await target.raw(method, limited, method === "GET" ? undefined : "{}");
      const name = `${method} ${limited}: ${answer.code}`;
      // 0: a close, where the front takes it for no request at all.
      if (answer.code >= 500 && answer.code !== 505) t.fail(`${name} ${answer.text.slice(0, 200)}`);
      if (leak.test(answer.text)) t.fail(`${name} leaks ${answer.text.slice(0, 200)}`);
      const asked = answer.json?.kind === "ConfigMap" ? answer.json.metadata : undefined;
      if (asked !== undefined && method === "GET" && (asked.namespace !== "a" || asked.name !== "x1")) t.fail(name);
    }
  }
  t.equal((await target.raw("GET", own)).json.items.length, 4, "nothing was made or lost");
  t.ok(
    await target.cameBackTo(before),
    `memory came back: ${Math.round(before)}, ${Math.round(target.residentMib)} MiB`,
  );
  t.strictSame(await target.verdict(), []);
});

t.test("A07: what is done is what method and query say", async (t) => {
  const target = await openTarget();
  t.teardown(() => target.stop());
  await seed(target);
  const own = "/api/v1/namespaces/a/configmaps";
  const head = await target.raw("HEAD", `${own}/x`);
  t.strictSame([head.code, head.text], [200, ""], "HEAD is a GET without a body");
  for (const method of ["OPTIONS", "TRACE", "PROPFIND", "LOCK", "REPORT"]) {
    const { code } = await target.raw(method, `${own}/x`);
    t.equal(code, 405, method);
  }
  const watches = ["watch", "watch=", "watch=true", "watch=1", "watch=yes", "watch=TRUE", "watch=2", "watch=0&watch=1"];
  for (const query of watches) {
    const { code, text } = await target.raw("GET", `${own}?${query}&timeoutSeconds=1`);
    const events = text.startsWith('{"type":"ADDED"');
    const lists = text.startsWith('{"kind":"ConfigMapList"');
    // A text that is no boolean is upstream's 400 once the verb is known to be a watch.
    t.ok((code === 200 && (events || (query === "watch=0&watch=1" && lists))) || code === 400, `${query}: ${code}`);
  }
  for (const query of ["watch=0", "watch=false", "watch=False", "watch=FALSE", "Watch=1", "watc=1", ""]) {
    const { text } = await target.raw("GET", `${own}?${query}`);
    t.match(text, /^\{"kind":"ConfigMapList"/, `${query} is a list`);
  }
  const named = await target.raw("GET", "/api/v1/watch/namespaces/a/configmaps/x?timeoutSeconds=1");
  t.match(named.text, /^\{"type":"ADDED"[^\n]*"name":"x"[^\n]*\n$/, "the legacy watch of one object");
  const other = "/api/v1/watch/namespaces/a/configmaps";
  for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
    t.ok([404, 405].includes((await target.raw(method, `${other}/x`, "{}")).code), `${method} of a watch path`);
  }
  t.equal((await target.raw("POST", `${own}/x`, "{}")).code, 405, "a create has no name in its path");
  t.equal((await target.raw("DELETE", "/api/v1/configmaps")).code, 405, "collections go namespace by namespace");
  t.equal((await target.raw("GET", own)).json.items.length, 4);
  t.strictSame(await target.verdict(), []);
});

t.test("queries and selectors of any size are answered in time", async (t) => {
  // Long request lines are for the node front.
  const target = await openTarget(["--identity=kubernetes", "--front=node"]);
  t.teardown(() => target.stop());
  await seed(target);
  const many = (count: number, text: (i: number) => string, by = ","): string =>
    Array.from({ length: count }, (_, i) => text(i)).join(by);
  const queries: readonly [string, string, readonly number[]][] = [
    ["a label selector of 50 kB", `labelSelector=${"a".repeat(50_000)}`, [400]],
    ["8,000 values", `labelSelector=a+in+(${many(8000, (i) => `v${i}`)})`, [200]],
    ["1,000 requirements", `labelSelector=${many(1000, (i) => `k${i}`)}`, [200]],
    ["5,000 requirements", `labelSelector=${many(5000, (i) => `k${i}`)}`, [400]],
    ["5,000 keys", many(5000, (i) => `k${i}=v`, "&"), [200]],
    ["5,000 times one key", many(5000, () => "limit=1", "&"), [200]],
    ["nested brackets", `labelSelector=${"(".repeat(20_000)}`, [400]],
    ["a field selector of 50 kB", `fieldSelector=${"metadata.name%3D".repeat(3000)}`, [400]],
    ["limit -1", "limit=-1", [200, 400]],
    ["limit 0", "limit=0", [200]],
    ["limit 2^63", "limit=9223372036854775808", [400]],
    ["limit 2^63-1", "limit=9223372036854775807", [200]],
    ["limit 1e3", "limit=1e3", [400]],
    ["a resource version of 2^64", "resourceVersion=18446744073709551616", [400]],
    ["a negative resource version", "resourceVersion=-1", [400]],
    ["a time-out beyond int64", "watch=1&timeoutSeconds=99999999999999999999", [400]],
    ["a time-out below zero", "watch=1&timeoutSeconds=-9223372036854775808", [200]],
    ["a query of 64 KiB", "x".repeat(65_536), [431, 414, 400, 0]],
  ];
  for (const [name, query, wanted] of queries) {
    const { code, tookMs, text } = await target.raw("GET", `/api/v1/namespaces/a/configmaps?${query}`);
    t.ok(wanted.includes(code), `${name}: ${code} ${wanted.includes(code) ? "" : text.slice(0, 200)}`);
    t.ok(tookMs < 3_000, `${name}: ${Math.round(tookMs)} ms`);
  }
  t.strictSame(await target.verdict(), []);
});

t.test("no text of a request becomes a header of its answer", async (t) => {
  for (const front of ["uws", "node"]) {
    const target = await openTarget(["--identity=kubernetes", `--front=${front}`]);
    t.teardown(() => target.stop());
    const evil = [
      "\r\nX-Evil: 1",
      "\n\nbody",
      "\0",
      "\x1b[31m",
      "\x07",
      "\u202e",
      '"',
      "\\",
      "é",
      "\u{1f600}",
      "x".repeat(100_000),
    ];
    for (const [index, uid] of evil.entries()) {
      const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid };
      const object = { metadata: { name: `w${index}`, ownerReferences: [owner, owner] } };
      const answer = await target.raw("POST", maps, JSON.stringify(object));
      const shown = `${front}, ${JSON.stringify(uid.slice(0, 20))}: ${answer.code}`;
      t.equal(answer.code, 201, shown);
      t.equal(answer.headers["x-evil"], undefined, shown);
      t.match(answer.headers.warning ?? "", /^299 - "[\x20-\x7e]*"$/, shown);
      t.equal(answer.json?.metadata.ownerReferences.length, 1, shown);
    }
    const asked = await target.raw("GET", "/api/v1/namespaces/a%0d%0aX-Evil:%201/configmaps/x", undefined, {
      "audit-id": "a\u00ff",
      accept: "application/json;x=\u00ff",
    });
    t.equal(asked.headers["x-evil"], undefined, `${front}: a path`);
    t.ok(asked.code >= 400 && asked.code < 500, `${front}: ${asked.code}`);
    t.strictSame(await target.verdict(), [], front);
  }
});
