// Flow control on the request path: levels by the objects there are, seats from before authorization to the answer.
import t, { type Test } from "tap";
import type { User } from "../../../src/api/user.ts";
import { limits } from "../../../src/config/limits.ts";
import { FlowControl } from "../../../src/flowcontrol/flowcontrol.ts";
import { SeatWords, seatsMemory } from "../../../src/flowcontrol/seats.ts";
import { Shedding } from "../../../src/flowcontrol/shedding.ts";
import { Widths } from "../../../src/flowcontrol/width.ts";
import { flowMeter } from "../../../src/observe/flowcontrol.ts";
import { exposition, Registry } from "../../../src/observe/metrics.ts";
import type { FlowParts } from "../../../src/request/call/context.ts";
import type { Exchange, Headers } from "../../../src/request/exchange/transport.ts";
import { calmMs, threadCpuMs } from "../../support/cost.ts";
import { type Answer, type InProcess, openInProcess, until } from "../../support/inprocess.ts";

const base = "/apis/flowcontrol.apiserver.k8s.io/v1beta2";
const configMaps = "/api/v1/namespaces/default/configmaps";

function user(name: string): User {
  return { name, uid: "", groups: ["system:authenticated"], extra: new Map() };
}

interface Controlled {
  readonly server: InProcess;
  readonly flow: FlowControl;
  readonly words: SeatWords;
  readonly metrics: () => string;
}

/** A server with flow control of so many seats. */
async function controlled(t: Test, seats = 600): Promise<Controlled> {
  const server = await openInProcess();
  const registry = new Registry();
  const { scheme, objects } = server;
  const words = new SeatWords(seatsMemory(1), 1);
  const flow = new FlowControl({
    scheme,
    objects,
    clock: server.server.clock,
    seats,
    readOnlyMax: seats,
    mutatingMax: seats,
    waitMsMax: 60_000,
    secret: "x",
    words,
    front: 0,
    meter: (levels, kinds) => flowMeter(registry, levels, kinds),
    openSlot: () => undefined,
    closeSlot: () => undefined,
  });
  flow.start();
  const parts: FlowParts = {
    control: flow,
    widths: new Widths(),
    fronts: 1,
    headers: { schema: "X-Schema", level: "X-Level" },
    dump: () => Promise.resolve(undefined),
  };
  Object.assign(server.server, { flow: parts });
  t.teardown(() => {
    flow.close();
    server.close();
  });
  return { server, flow, words, metrics: () => exposition([registry.snapshot()]) };
}

function schema(name: string, level: string, of: string): object {
  return {
    metadata: { name },
    spec: {
      matchingPrecedence: 50,
      priorityLevelConfiguration: { name: level },
      distinguisherMethod: { type: "ByUser" },
      rules: [
        {
          subjects: [{ kind: "User", user: { name: of } }],
          resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
          nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
        },
      ],
    },
  };
}

function level(name: string, shares: number, queues = 0): object {
  const queuing = { queues, handSize: 1, queueLengthLimit: 5 };
  const limitResponse = queues === 0 ? { type: "Reject" } : { type: "Queue", queuing };
  return {
    metadata: { name },
    spec: { type: "Limited", limited: { assuredConcurrencyShares: shares, limitResponse } },
  };
}

/** A body that ends when the test says so. */
class Upload {
  end: (bytes: Buffer) => void = () => undefined;
  readonly exchange: Partial<Exchange>;
  readonly gone: (() => void)[] = [];

  constructor() {
    this.exchange = {
      body: () => new Promise((resolve) => (this.end = resolve)),
      onAbort: (gone) => void this.gone.push(gone),
    };
  }
}

function named(headers: Headers, name: string): string | undefined {
  return headers.find(([key]) => key === name)?.[1];
}

/** The same with a level of one seat and a queue, where the requests of its user run. */
async function ofOneSeat(t: Test): ReturnType<typeof controlled> {
  const made = await controlled(t, 1);
  const { server, flow } = made;
  await server.call("POST", `${base}/prioritylevelconfigurations`, level("l", 1, 1));
  await server.call("POST", `${base}/flowschemas`, schema("s", "l", "u"));
  flow.update();
  server.user = user("u");
  return made;
}

t.test("answers name schema and level; both follow their objects, while requests run and after", async (t) => {
  const { server, flow, metrics } = await controlled(t);
  const { uid } = (await server.call("POST", `${base}/prioritylevelconfigurations`, level("l", 1))).json.metadata;
  await server.call("POST", `${base}/flowschemas`, schema("s", "l", "u"));
  flow.update();
  server.user = user("u");
  const upload = new Upload();
  const held = server.call("POST", configMaps, { metadata: { name: "x" } }, {}, upload.exchange);
  t.ok(await until(() => [...flow.levels].some(({ shape, executing }) => shape.name === "l" && executing === 1)));
  const answer = await server.call("GET", `${configMaps}/none`);
  t.equal(answer.code, 404);
  t.equal(named(answer.headers, "X-Level"), uid);
  t.ok(named(answer.headers, "X-Schema"));
  server.authorizer = { authorize: () => ({ verdict: "none", reason: "" }) };
  t.equal(named((await server.call("GET", configMaps)).headers, "X-Level"), uid, "on a 403, too");
  server.authorizer = { authorize: () => ({ verdict: "allow", reason: "" }) };
  server.user = { ...user("admin"), groups: ["system:masters"] };
  await server.call("DELETE", `${base}/prioritylevelconfigurations/l`);
  flow.update();
  t.ok(
    [...flow.levels].some(({ shape, isQuiescing }) => shape.name === "l" && isQuiescing),
    "it serves what it has",
  );
  server.user = user("u");
  t.equal(named((await server.call("GET", configMaps)).headers, "X-Level"), undefined, "a built-in level takes over");
  upload.end(Buffer.from('{"metadata":{"name":"x"}}'));
  t.equal((await held).code, 201);
  t.ok(await until(() => ![...flow.levels].some(({ shape }) => shape.name === "l")), "and goes when that is done");
  t.match(metrics(), 'apiserver_flowcontrol_dispatched_requests_total{flow_schema="s",priority_level="l"} 3\n');
});

t.test("seats are held for a body for a moment, then lent, and taken again", async (t) => {
  const { server, flow } = await ofOneSeat(t);
  const [first, second] = [new Upload(), new Upload()];
  const uploads = [first, second].map((upload, at) =>
    server.call("POST", configMaps, { metadata: { name: `x${at}` } }, {}, upload.exchange),
  );
  const own = [...flow.levels].find(({ shape }) => shape.name === "l");
  t.ok(await until(() => own?.executing === 1 && own.waiting === 1), "the second waits");
  const from = performance.now();
  const read = await server.call("GET", configMaps);
  t.equal(read.code, 200, "a read waits for the uploads, and not for their ends");
  t.ok(performance.now() - from > limits.bodySeatMsMax / 2);
  for (const [at, upload] of [first, second].entries()) upload.end(Buffer.from(`{"metadata":{"name":"x${at}"}}`));
  t.same(
    (await Promise.all(uploads)).map(({ code }) => code),
    [201, 201],
  );
  t.ok(await until(() => own?.executing === 0));
});

t.test("a request waits as an arrival, and neither waits nor is answered when its client went away", async (t) => {
  const { server, flow } = await ofOneSeat(t);
  const upload = new Upload();
  const held = server.call("POST", configMaps, { metadata: { name: "x" } }, {}, upload.exchange);
  const own = [...flow.levels].find(({ shape }) => shape.name === "l");
  t.ok(await until(() => own?.executing === 1));
  const { arrivals } = server.server.bounds;
  t.equal(arrivals.used, 1, "its body is awaited");
  const waiter = new Upload();
  const exchange = { ...waiter.exchange, aborted: false };
  void server.call("GET", configMaps, undefined, {}, exchange);
  t.ok(await until(() => own?.waiting === 1));
  t.equal(arrivals.used, 2);
  exchange.aborted = true;
  for (const gone of waiter.gone) gone();
  t.ok(await until(() => own?.waiting === 0 && arrivals.used === 1));
  upload.end(Buffer.from('{"metadata":{"name":"x"}}'));
  t.equal((await held).code, 201);
});

t.test("a full queue is answered in upstream's words", async (t) => {
  const { server, flow, metrics } = await controlled(t, 1);
  await server.call("POST", `${base}/prioritylevelconfigurations`, level("l", 1, 1));
  await server.call("POST", `${base}/flowschemas`, schema("s", "l", "u"));
  flow.update();
  server.user = user("u");
  const upload = new Upload();
  const held = server.call("POST", configMaps, { metadata: { name: "x" } }, {}, upload.exchange);
  const waiting = Array.from({ length: 5 }, () => server.call("GET", configMaps));
  const refused = await server.call("GET", configMaps, undefined, { accept: "application/yaml" });
  t.equal(refused.code, 429);
  t.equal(refused.text, "Too many requests, please try again later.\n");
  t.equal(named(refused.headers, "Retry-After"), "1");
  upload.end(Buffer.from('{"metadata":{"name":"x"}}'));
  await held;
  for (const { code } of await Promise.all(waiting)) t.equal(code, 200);
  const text = metrics();
  t.match(text, '_rejected_requests_total{flow_schema="s",priority_level="l",reason="queue-full"} 1\n');
  t.match(text, 'apiserver_flowcontrol_current_inqueue_requests{flow_schema="s",priority_level="l"} 0\n');
  t.match(text, '_request_wait_duration_seconds_count{execute="true",flow_schema="s",priority_level="l"} 5\n');
});

t.test("connections and profiles take no part; watches give their seat back when they have begun", async (t) => {
  const { server, flow } = await controlled(t);
  server.user = user("u");
  const watch = new Upload();
  void server.call("GET", `${configMaps}?watch=1`, undefined, {}, watch.exchange);
  t.ok(await until(() => server.fanout.watcherCount === 1));
  t.ok(await until(() => [...flow.levels].every(({ executing }) => executing === 0)));
  const before = flow.figures().length;
  t.ok(before > 0);
  server.user = { ...user("admin"), groups: ["system:masters"] };
  const log = await server.call("GET", "/api/v1/namespaces/default/pods/none/log");
  t.equal(log.code, 404);
  t.equal(named(log.headers, "X-Schema"), undefined);
  await server.fanout.closeAll(1_000);
});

t.test("hundreds of flow schemas cost little when one of them changes, and little for each request", async (t) => {
  const { server, flow } = await controlled(t);
  const count = 300;
  for (let at = 0; at < count; at++) {
    await server.call("POST", `${base}/flowschemas`, schema(`s${at}`, "catch-all", `u${at}`));
  }
  flow.update();
  const from = threadCpuMs();
  for (let at = 0; at < 100; at++) {
    server.user = { ...user("admin"), groups: ["system:masters"] };
    await server.call("PATCH", `${base}/flowschemas/s1`, JSON.stringify({ spec: { matchingPrecedence: 60 + at } }), {
      "content-type": "application/merge-patch+json",
    });
    server.user = user("u1");
    await server.call("GET", configMaps);
  }
  const ms = calmMs(threadCpuMs() - from, 5_000);
  t.ok(ms < 5_000, `${ms} ms for a hundred changes and reads`);
});

t.test("lists are as wide as what they hold", async (t) => {
  const { server } = await controlled(t);
  const widths = new Widths();
  const { prefix = "" } = server.scheme.find("", "v1", "configmaps") ?? {};
  const view = server.views.log(prefix);
  const list = { verb: "list", view, namespace: "", name: "", limit: 0, isSelective: false, watchers: 0 };
  t.equal(widths.of(list, 0), 1);
  for (let at = 0; at < 250; at++) await server.call("POST", configMaps, { metadata: { name: `c${at}` } });
  view.drain();
  t.equal(widths.of(list, 1), 1, "as it was a moment ago");
  const later = limits.listEstimateMs + 1;
  t.equal(widths.of(list, later), 3);
  t.equal(widths.of({ ...list, limit: 10 }, later), 1);
  t.equal(widths.of({ ...list, limit: 10, isSelective: true }, later), 3);
  t.equal(widths.of({ ...list, namespace: "other" }, later), 1);
  t.equal(widths.of({ ...list, namespace: "default" }, later), 3);
  t.equal(widths.of({ ...list, name: "x" }, later), 1);
  t.equal(widths.of({ ...list, verb: "create", watchers: 2_500 }, later), 3);
  t.equal(widths.of({ ...list, verb: "create", watchers: 250_000 }, later), limits.seatsPerRequestMax);
  t.equal(widths.of({ ...list, verb: "get", watchers: 250_000 }, later), 1);
});

t.test("some responses end their connection, those of watches do not", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  let asked = 0;
  Object.assign(server.server, { ends: () => ++asked % 2 === 0 });
  const ends = async (): Promise<boolean> => {
    const { headers } = await server.call("GET", `${configMaps}/none`);
    return named(headers, "Connection") === "close";
  };
  t.same([await ends(), await ends(), await ends(), await ends()], [false, true, false, true]);
  const watch = new Upload();
  void server.call("GET", `${configMaps}?watch=1`, undefined, {}, watch.exchange);
  t.ok(await until(() => server.fanout.watcherCount === 1));
  t.equal(asked, 4);
  await server.fanout.closeAll(1_000);
});

t.test("a level that goes and comes back before its slot is told has the last one told", async (t) => {
  const { server, flow, words } = await controlled(t);
  const admin = server.user;
  for (const { shape } of [...flow.levels]) if (!shape.isExempt) flow.slotted(shape.name, undefined);
  for (const method of ["POST", "DELETE", "POST"]) {
    const path = `${base}/prioritylevelconfigurations${method === "DELETE" ? "/l" : ""}`;
    await server.call(method, path, method === "DELETE" ? undefined : level("l", 1));
    flow.update();
  }
  await server.call("POST", `${base}/flowschemas`, schema("s", "l", "u"));
  flow.update();
  flow.slotted("l", 7);
  flow.slotted("l", 9);
  flow.slotted("gone", 11);
  server.user = user("u");
  const upload = new Upload();
  const held = server.call("POST", configMaps, { metadata: { name: "x" } }, {}, upload.exchange);
  t.ok(await until(() => words.used(9) === 1));
  t.equal(words.used(7), 0);
  upload.end(Buffer.from('{"metadata":{"name":"x"}}'));
  t.equal((await held).code, 201);
  t.ok(await until(() => words.used(9) === 0));
  server.user = admin;
});

/** Sheds on a server whose lag and time a test says. */
function shedding(server: InProcess): { readonly looks: (lagMs: number) => void; readonly levels: string[] } {
  const levels: string[] = [];
  let nowMs = 0;
  const made = new Shedding({
    limitMs: 500,
    now: () => nowMs,
    shed: (level) => levels.push(level),
    turned: () => undefined,
  });
  Object.assign(server.server, { shedding: made });
  const looks = (lagMs: number): void => {
    nowMs += Math.max(250, lagMs);
    made.looked(lagMs);
  };
  nowMs = limits.shedGraceMs;
  return { looks, levels };
}

for (const fair of [true, false]) {
  t.test(`a late front refuses the heavy user, and nothing that matters; fairness: ${fair}`, async (t) => {
    const { server } = await controlled(t);
    if (!fair) Object.assign(server.server, { flow: undefined });
    const { looks, levels } = shedding(server);
    const admin = server.user;
    const filler = "x".repeat(30_000);
    for (let at = 0; at < 10; at++)
      t.equal((await server.call("POST", configMaps, { metadata: { name: `m${at}` }, data: { filler } })).code, 201);
    const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    await server.call("POST", leases, { metadata: { name: "l" }, spec: {} });
    const node: User = { ...user("system:node:n"), groups: ["system:nodes", "system:authenticated"] };
    const manager = user("system:kube-controller-manager");
    const as = async (who: User, path: string, count = 1): Promise<Record<number, number>> => {
      server.user = who;
      const codes: Record<number, number> = {};
      for (let at = 0; at < count; at++) {
        const { code } = await server.call("GET", path);
        codes[code] = (codes[code] ?? 0) + 1;
      }
      return codes;
    };
    const lightWatch = new Upload();
    server.user = user("light");
    void server.call("GET", `${configMaps}?watch=1`, undefined, {}, lightWatch.exchange);
    t.ok(await until(() => server.fanout.watcherCount === 1));
    for (let at = 0; at < 30; at++) {
      t.same(await as(user("heavy"), configMaps, 5), { 200: 5 });
      looks(100);
    }
    for (let at = 0; at < 12; at++) {
      await as(user("heavy"), configMaps, 20);
      looks(600);
    }
    t.ok(levels.length > 0);
    levels.splice(0);
    const codes = await as(user("heavy"), configMaps, 20);
    t.ok((codes[429] ?? 0) > 5, JSON.stringify(codes));
    t.same(new Set(levels), new Set([fair ? "global-default" : "ordinary"]), "what is counted");
    server.user = user("heavy");
    const answers: Answer[] = [];
    for (let at = 0; at < 20; at++)
      void server.call("GET", `${configMaps}?watch=1`).then((answer) => answers.push(answer));
    t.ok(await until(() => answers.some(({ code }) => code === 429)), "new watches are refused");
    const refused = answers.find(({ code }) => code === 429);
    t.equal(server.lastRecord?.dropped, true);
    t.equal(refused?.text, "Too many requests, please try again later.\n");
    t.equal(named(refused?.headers ?? [], "Retry-After"), "1");
    const rows: [who: User, path: string][] = [
      [user("light"), configMaps],
      [admin, configMaps],
      [node, configMaps],
      [node, `${leases}/l`],
      [manager, `${leases}/l`],
      [manager, configMaps],
    ];
    for (const [who, path] of rows) t.same(await as(who, path, 3), { 200: 3 }, `${who.name} ${path}`);
    t.notOk((await as(user("heavy"), "/healthz"))[429], "probes are answered");
    t.ok(server.fanout.watcherCount >= 1, "a watch that was there goes on");
    for (let at = 0; at < 60; at++) looks(10);
    t.same(await as(user("heavy"), configMaps, 20), { 200: 20 }, "when the lag is down");
    await server.fanout.closeAll(1_000);
  });
}
