import t, { type Test } from "tap";
import { identities } from "../../../src/api/identity.ts";
import type { Clock } from "../../../src/base/clock.ts";
import { openPool } from "../../../src/boot/pool.ts";
import { limits } from "../../../src/config/limits.ts";
import type { Pool, PoolOptions } from "../../../src/pool/pool.ts";
import { Merges } from "../../../src/request/write/offload.ts";
import { type Answer, type InProcess, openInProcess, until } from "../../support/inprocess.ts";
import { change, definition, establish } from "../../support/published.ts";

t.setTimeout(300_000);

/** As the servers of tests have it. */
const clock: Clock = { now: () => Date.UTC(2026, 0, 2, 3, 4, 5), monotonic: () => performance.now() };

interface Opened {
  readonly server: InProcess;
  readonly pool: Pool | undefined;
}

/** What writes of a server go to the pool from, and what its pool has otherwise; undefined: it has none. */
type Pooled = Partial<PoolOptions> & { readonly bytesMin?: number; readonly gate?: SharedArrayBuffer };

async function open(t: Test, pooled?: Pooled): Promise<Opened> {
  const { gates, release } = (await openInProcess()).scheme;
  const { bytesMin, gate, ...options } = pooled ?? {};
  const setup = { identity: "kubernetes", runtimeConfig: new Map<string, boolean>(), gates, release, gate } as const;
  const pool = pooled && openPool(setup, options);
  const merges = pool && new Merges(pool, identities.kubernetes, clock, bytesMin);
  const server = await openInProcess("kubernetes", merges && { merges });
  t.teardown(() => {
    server.close();
    return pool?.close();
  });
  return { server, pool };
}

const base = "/apis/apps/v1/namespaces/default/deployments";

/** A seeded generator of small numbers. */
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8) % below;
  };
}

interface Request {
  readonly method: string;
  readonly target: string;
  readonly body: string;
  readonly type: string;
  readonly agent: string;
}

function deployment(roll: (below: number) => number, name: string): object {
  const env = Array.from({ length: roll(12) }, () => ({ name: `N${roll(9)}`, value: `v${roll(3)}` }));
  const labels = roll(2) === 0 ? { app: "x" } : { app: "x", [`l${roll(3)}`]: `${roll(3)}` };
  const ports = roll(2) === 0 ? [{ containerPort: 80 + roll(2), protocol: roll(2) === 0 ? "TCP" : "UDP" }] : undefined;
  const container = { name: "c", image: `i${roll(2)}`, env: roll(9) === 0 ? "wrong" : env, ports };
  return {
    apiVersion: roll(20) === 0 ? "apps/v2" : "apps/v1",
    kind: roll(20) === 0 ? "Pod" : "Deployment",
    metadata: {
      name,
      labels,
      finalizers: roll(3) === 0 ? ["a.io/x"] : undefined,
      uid: roll(12) === 0 ? "1-2" : undefined,
    },
    spec: {
      replicas: roll(4),
      selector: { matchLabels: { app: "x" } },
      template: { metadata: { labels }, spec: { containers: [container] } },
      unknown: roll(6) === 0 ? 1 : undefined,
    },
  };
}

function patch(roll: (below: number) => number, type: string): string {
  const container = {
    name: "c",
    env: [
      { name: `N${roll(9)}`, value: `p${roll(3)}` },
      { name: "N1", $patch: "delete" },
    ],
  };
  if (type === "json") {
    const path = ["/spec/replicas", "/metadata/labels/l1", "/spec/template/spec/containers/0/env/1", "/none/of/it"][
      roll(4)
    ];
    return JSON.stringify([{ op: ["replace", "add", "remove"][roll(3)], path, value: roll(5) }]);
  }
  if (roll(9) === 0) return '{"spec":';
  const spec =
    type === "strategic" && roll(2) === 0 ? { template: { spec: { containers: [container] } } } : { replicas: roll(5) };
  return JSON.stringify({ spec, metadata: { labels: { l1: roll(3) === 0 ? null : `${roll(4)}` } } });
}

/** Any write of a deployment, good or bad. */
function request(roll: (below: number) => number): Request {
  const name = `d${roll(3)}`;
  const agent = `m${roll(3)}`;
  const query = ["", "fieldValidation=Warn", "fieldValidation=Strict", "dryRun=All"][roll(9)] ?? "";
  const target = `${base}/${name}?${query}`;
  const json = "application/json";
  const kind = roll(10);
  if (kind === 0)
    return {
      method: "POST",
      target: `${base}?${query}`,
      body: JSON.stringify(deployment(roll, name)),
      type: json,
      agent,
    };
  if (kind < 3) return { method: "PUT", target, body: JSON.stringify(deployment(roll, name)), type: json, agent };
  if (kind < 7) {
    const all = `${target}&fieldManager=${agent}&force=${roll(2) === 0}`;
    const body = roll(20) === 0 ? "a: [" : JSON.stringify(deployment(roll, name));
    return { method: "PATCH", target: all, body, type: "application/apply-patch+yaml", agent };
  }
  const type = ["json", "merge", "strategic"][kind - 7] ?? "";
  const suffix = type === "json" ? "json-patch" : type === "merge" ? "merge-patch" : "strategic-merge-patch";
  return { method: "PATCH", target, body: patch(roll, type), type: `application/${suffix}+json`, agent };
}

function send(server: InProcess, { method, target, body, type, agent }: Request): Promise<Answer> {
  return server.call(method, target, body, { "content-type": type, "user-agent": agent });
}

/** What must not differ: everything but what is drawn at random, which may be cut short in a message. */
function essence({ code, headers, text }: Answer): string {
  const warnings = [...headers].filter(([name]) => name.toLowerCase() === "warning").map(([, value]) => value);
  return `${code} ${warnings.join()} ${text.replace(/[0-9a-f]{8}-[0-9a-f]{4}[0-9a-f-]*/g, "…")}`;
}

t.test("writes merged in the pool answer what writes merged on a front answer (seed 7)", async (t) => {
  const { server: here } = await open(t);
  const { server: there, pool } = await open(t, { bytesMin: 0 });
  const roll = dice(7);
  const codes = new Map<number, number>();
  let differences = 0;
  for (let round = 0; round < 600 && differences < 3; round += 1) {
    const next = request(roll);
    const [left, right] = [await send(here, next), await send(there, next)];
    codes.set(left.code, (codes.get(left.code) ?? 0) + 1);
    if (essence(left) === essence(right)) continue;
    differences += 1;
    t.equal(essence(right), essence(left), `${round}: ${JSON.stringify(next)}`);
  }
  t.equal(pool?.isStarted, true);
  for (const code of [200, 201, 400, 404, 409, 422]) t.ok((codes.get(code) ?? 0) > 2, `${code} was seen`);
  t.same(there.faults, []);
});

/** A kind of clients that looks like a deployment. */
function deploymentDefinition(): Record<string, unknown> {
  const text = { type: "string" };
  const keyed = (items: object) => ({
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    items: { type: "object", required: ["name"], ...items },
  });
  const container = {
    properties: {
      name: text,
      image: { ...text, default: "i" },
      env: keyed({ properties: { name: text, value: { ...text, maxLength: 2 } } }),
      ports: { type: "array", items: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    },
  };
  const spec = {
    type: "object",
    properties: {
      replicas: { type: "integer", minimum: 1 },
      selector: { type: "object", additionalProperties: { type: "object", additionalProperties: text } },
      template: {
        type: "object",
        properties: {
          metadata: { type: "object" },
          spec: { type: "object", properties: { containers: keyed(container) } },
        },
      },
    },
  };
  const schema = { type: "object", properties: { spec } };
  return definition("Deployment", { schema, subresources: { status: {} } });
}

/** The same request for that kind. */
function ofClients({ target, body, ...request }: Request): Request {
  const toOurs = (text: string): string => text.replaceAll("apps/v", "example.com/v");
  return { ...request, target: toOurs(target), body: toOurs(body) };
}

t.test("writes of custom resources are merged in the pool as on a front, also by a changed definition", async (t) => {
  const { server: here } = await open(t);
  const { server: there, pool } = await open(t, { bytesMin: 0 });
  const servers = [here, there];
  for (const server of servers) await establish(server, deploymentDefinition());
  const roll = dice(11);
  const codes = new Map<number, number>();
  let differences = 0;
  for (let round = 0; round < 600 && differences < 3; round += 1) {
    if (round === 300) {
      const path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
      const replaced = [
        { op: "remove", path: `${path}/selector` },
        { op: "add", path: `${path}/added`, value: { type: "string", default: "later" } },
      ];
      for (const server of servers) await change(server, "deployments.example.com", replaced);
    }
    const next = ofClients(request(roll));
    const [left, right] = [await send(here, next), await send(there, next)];
    codes.set(left.code, (codes.get(left.code) ?? 0) + 1);
    if (essence(left) === essence(right)) continue;
    differences += 1;
    t.equal(essence(right), essence(left), `${round}: ${JSON.stringify(next)}`);
  }
  t.equal(pool?.isStarted, true);
  for (const code of [200, 201, 400, 404, 409, 415, 422]) t.ok((codes.get(code) ?? 0) > 2, `${code} was seen`);
  const shown = await there.call("GET", base.replace("apps", "example.com"), undefined, { accept: "application/yaml" });
  t.match(shown.text, /added: later/);
  t.same(there.faults, []);
});

t.test("a big custom object is printed in the pool as on a front", async (t) => {
  const { server: here } = await open(t);
  const { server: there } = await open(t, { bytesMin: 0 });
  const texts: string[][] = [];
  for (const server of [here, there]) {
    await establish(server, deploymentDefinition());
    const made = ofClients({ method: "POST", target: base, body: big(3), type: "application/json", agent: "m" });
    t.equal((await send(server, { ...made, body: made.body.replaceAll("x".repeat(50), "") })).code, 201);
    const target = ofClients({ ...made, target: `${base}/big` }).target;
    const yaml = await server.call("GET", target, undefined, { accept: "application/yaml" });
    const pretty = await server.call("GET", `${target}?pretty=true`);
    texts.push([essence(yaml), essence(pretty)]);
  }
  t.same(texts[1], texts[0]);
  t.match(texts[0]?.[0], /^200 .*\n?apiVersion: example\.com\/v1/);
  t.same(there.faults, []);
});

t.test("a job merged in the pool has the labels it has when it is merged on a front", async (t) => {
  const { server: here } = await open(t);
  const { server: there } = await open(t, { bytesMin: 0 });
  const jobs = "/apis/batch/v1/namespaces/default/jobs";
  const spec = (labels?: object) => ({
    template: { metadata: { labels }, spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } },
  });
  const cases = [
    { metadata: { name: "shares" }, spec: spec({ a: "b" }) },
    { metadata: { name: "alike", labels: { a: "b" } }, spec: spec({ a: "b" }) },
    { metadata: { name: "bare" }, spec: spec() },
  ];
  for (const body of cases) {
    const text = JSON.stringify({ apiVersion: "batch/v1", kind: "Job", ...body });
    for (const [method, target, type] of [
      ["POST", jobs, "application/json"],
      ["PATCH", `${jobs}/${body.metadata.name}-apply?fieldManager=m`, "application/apply-patch+yaml"],
    ] as const) {
      const named = method === "POST" ? text : text.replace(/("name":"\w+)/, "$1-apply");
      const [left, right] = [
        await send(here, { method, target, body: named, type, agent: "m" }),
        await send(there, { method, target, body: named, type, agent: "m" }),
      ];
      t.equal(left.code, 201, left.text);
      t.equal(essence(right), essence(left), `${method} ${named}`);
    }
  }
});

function big(items: number, value = ""): string {
  const env = Array.from({ length: items }, (_, index) => ({
    name: `VARIABLE_${index}`,
    value: `${"x".repeat(50)}${value}`,
  }));
  const containers = [{ name: "c", image: "i", env }];
  const template = { metadata: { labels: { a: "b" } }, spec: { containers } };
  const spec = { selector: { matchLabels: { a: "b" } }, template };
  return JSON.stringify({ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "big" }, spec });
}

const applied: Omit<Request, "body"> = {
  method: "PATCH",
  target: `${base}/big?fieldManager=m`,
  type: "application/apply-patch+yaml",
  agent: "m",
};

t.test("small writes start no thread, big ones are merged in one", async (t) => {
  const { server, pool } = await open(t, {});
  t.equal((await send(server, { ...applied, body: big(10) })).code, 201);
  t.equal(pool?.isStarted, false);
  const items = Math.ceil(limits.mergeHereBytesMax / 60);
  const answer = await send(server, { ...applied, body: big(items) });
  t.equal(answer.code, 200);
  t.equal(pool?.isStarted, true);
  t.equal(answer.json.spec.template.spec.containers[0].env.length, items);
  const changed = await send(server, { ...applied, body: big(items >> 1, "y") });
  t.equal(changed.json.spec.template.spec.containers[0].env.length, items >> 1);
  t.same(server.faults, []);
});

const failingScript = new URL("../merge.worker.js", import.meta.url);

/** A write of a user whose merge does what the user's name says. */
function bad(server: InProcess, manager: string): Promise<Answer> {
  server.user = { name: manager, uid: "", groups: [], extra: new Map() };
  return send(server, { ...applied, target: `${base}/big?fieldManager=${manager}`, body: big(1) });
}

t.test("a merge whose thread ends or hangs ends with its request, and others go on", async (t) => {
  const script = failingScript;
  const failing = (await open(t, { bytesMin: 0, script, pauseMs: 120_000 })).server;
  const hanging = (await open(t, { bytesMin: 0, script, taskMsMax: 2_000, pauseMs: 120_000 })).server;
  const table: [InProcess, string, number, string][] = [
    [failing, "exit", 500, "Internal error occurred: see the server's log"],
    [failing, "throw", 500, "Internal error occurred: see the server's log"],
    [hanging, "hang", 504, "Timeout: request did not complete within the allotted timeout"],
  ];
  for (const [server, manager, code, message] of table) {
    t.match(await bad(server, manager), { code, json: { kind: "Status", message } }, manager);
  }
  t.match(await bad(failing, "exit"), { code: 429, json: { message: /ended the thread that worked on it/ } });
  t.match(await bad(hanging, "hang"), { code: 429, json: { details: { retryAfterSeconds: 10 } } });
  t.equal((await bad(failing, "m")).code, 201);
  // A busy machine may end a good merge here, too, and its user's are refused then.
  let users = 0;
  t.ok(await until(async () => (await bad(hanging, `m${users++}`)).code < 300, 200_000));
});

t.test("merges wait for their turn up to their user's part of the queue", async (t) => {
  // How many threads are held, and whether they may go on.
  const gate = new SharedArrayBuffer(8);
  const words = new Int32Array(gate);
  const { server } = await open(t, { bytesMin: 0, script: failingScript, gate });
  const held = ["wait-0", "wait-1"].map((manager) => bad(server, manager));
  t.ok(await until(() => Atomics.load(words, 0) === limits.poolThreadsMax, 200_000), "every thread is held");
  const flood = Array.from({ length: limits.poolQueueMax + 3 }, () => bad(server, "m"));
  const refused = await Promise.race(flood);
  t.match(refused, { code: 429, json: { reason: "TooManyRequests", details: { retryAfterSeconds: 1 } } });
  t.match(refused.json.message, /^too many large requests waiting: user "m"/);
  Atomics.store(words, 1, 1);
  Atomics.notify(words, 1);
  const codes = new Set((await Promise.all([...held, ...flood])).map(({ code }) => code));
  t.same(
    [...codes].filter((code) => ![200, 201, 409, 429].includes(code)),
    [],
  );
  t.ok(codes.has(200), "what waited had its turn");
});

t.test("answers printed in the pool are those a front prints", async (t) => {
  const [pooled, here] = [await open(t, { bytesMin: 0 }), await open(t)];
  const path = "/api/v1/namespaces/default/configmaps";
  const body = { metadata: { name: "m", uid: "u" }, data: { a: "x\ny", b: '"< é' } };
  const forms = ["application/yaml", "application/json;pretty=1", "application/vnd.kubernetes.protobuf"];
  for (const { server } of [pooled, here]) await server.call("POST", path, body);
  for (const accept of forms) {
    const [there, local] = await Promise.all(
      [pooled, here].map(({ server }) => server.call("GET", `${path}/m`, undefined, { accept })),
    );
    t.equal(there?.code, 200);
    t.equal(without(there as Answer), without(local as Answer), accept);
  }
  t.equal(pooled.pool?.isStarted, true);
  // What was written is told, also where the pool is no more.
  await pooled.pool?.close();
  const headers = { accept: "application/yaml" };
  t.equal((await pooled.server.call("GET", `${path}/m`, undefined, headers)).code, 500);
  const gone = await pooled.server.call("DELETE", `${path}/m`, undefined, headers);
  t.match(gone, { code: 200, text: /status: Success/ });
});

t.test("items of lists printed in the pool are those a front prints", async (t) => {
  const [pooled, here] = [await open(t, { bytesMin: 0 }), await open(t)];
  const some = [{ a: "x\ny" }, { b: '"< é', c: "1" }, {}, { d: "word ".repeat(60) }];
  for (const { server } of [pooled, here]) {
    for (const [index, data] of some.entries())
      await server.call("POST", maps, { metadata: { name: `m${index}`, uid: `u${index}` }, data });
    await establish(server, deploymentDefinition());
    const custom = {
      apiVersion: "example.com/v1",
      kind: "Deployment",
      metadata: { name: "a" },
      spec: { z: 1, b: "x" },
    };
    for (const name of ["a", "b"]) {
      const made = await server.call("POST", base.replace("apps", "example.com"), { ...custom, metadata: { name } });
      t.equal(made.code, 201, made.text);
    }
  }
  const forms = ["", ";as=Table;g=meta.k8s.io;v=v1", ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"];
  for (const path of [maps, `${maps}?limit=2`, base.replace("apps", "example.com")]) {
    for (const type of ["yaml", "json;pretty=1"]) {
      for (const form of forms) {
        const accept = `application/${type}${form}`;
        const [there, local] = await Promise.all(
          [pooled, here].map(({ server }) => server.call("GET", path, undefined, { accept })),
        );
        t.equal(there?.code, 200, accept);
        t.equal(without(there as Answer), without(local as Answer), `${path} ${accept}`);
      }
    }
  }
  t.equal(pooled.pool?.isStarted, true);
  t.same(pooled.server.faults, []);
});

t.test("lists whose user's share of the pool is in use are refused before they begin, and never cut", async (t) => {
  const { server } = await open(t, { bytesMin: 0 });
  for (let index = 0; index < 5; index += 1)
    await server.call("POST", maps, { metadata: { name: `m${index}` }, data: { a: "x".repeat(100) } });
  const list = (): Promise<Answer> => server.call("GET", maps, undefined, { accept: "application/yaml" });
  const whole = await list();
  t.equal(whole.code, 200);
  // Reads of single objects want as many places as there are, all the time.
  let isOver = false;
  const reads = Array.from({ length: limits.poolQueueMax + 8 }, async () => {
    while (!isOver) {
      await server.call("GET", `${maps}/m0`, undefined, { accept: "application/yaml" });
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });
  const answers: Answer[] = [];
  for (let round = 0; round < 3; round += 1)
    answers.push(...(await Promise.all(Array.from({ length: limits.poolQueueMax }, list))));
  isOver = true;
  await Promise.all(reads);
  for (const { code, text } of answers) {
    if (code === 200) t.equal(text, whole.text);
    else t.equal(code, 429);
  }
  t.ok(
    answers.some(({ code }) => code === 429),
    "some were refused",
  );
  t.ok(
    answers.some(({ code }) => code === 200),
    "some were not",
  );
});

t.test("a list that has begun asks the pool again, until its time is over", async (t) => {
  const { server, pool } = await open(t, { bytesMin: 0 });
  if (pool === undefined) throw new Error("The server of the test has a pool");
  for (let index = 0; index < 3; index += 1)
    await server.call("POST", maps, { metadata: { name: `m${index}` }, data: { a: `${index}` } });
  const list = (query = ""): Promise<Answer> =>
    server.call("GET", `${maps}${query}`, undefined, { accept: "application/yaml" });
  const whole = await list();
  const run = pool.run.bind(pool);
  let asked = 0;
  let refusals = [2, 3, 5];
  pool.run = (task, input, terms) => {
    asked += 1;
    return refusals.includes(asked) ? Promise.resolve({ fault: "full" }) : run(task, input, terms);
  };
  const late = await list();
  t.equal(late.text, whole.text);
  t.equal(asked, whole.text.split("name: m").length - 1 + refusals.length);
  asked = 0;
  refusals = [1];
  t.equal((await list()).code, 429, "one that has not begun is refused");
  asked = 0;
  refusals = Array.from({ length: 100 }, (_, index) => index + 2);
  t.notSame((await list("?timeout=1s")).text, whole.text, "one whose time is over is cut");
  t.ok(asked < 100, `after ${asked} questions`);
});

const maps = "/api/v1/namespaces/default/configmaps";

/** An answer without what is of chance. */
function without({ bytes }: Answer): string {
  return bytes.toString("latin1").replace(/[0-9a-f-]{36}/g, "");
}
