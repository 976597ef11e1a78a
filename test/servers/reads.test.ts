// Reads where another server writes the same data: most recent is what any server has acknowledged, never what happens to
// be here. Two servers over one store, whose deliveries are in the test's hand.
import t, { type Test } from "tap";
import { limits } from "../../src/config/limits.ts";
import { protoCache } from "../../src/request/answer/protocache.ts";
import type { Answer } from "../support/inprocess.ts";
import { headerOf, isPending, openTwo, type TwoServers } from "./two.ts";

const maps = "/api/v1/namespaces/ns/configmaps";
const merge = { "content-type": "application/merge-patch+json" };

/** A test with two servers. */
function running(name: string, work: (t: Test, servers: TwoServers) => Promise<void>): void {
  t.test(name, async (t) => {
    const servers = await openTwo();
    t.teardown(() => servers.close());
    await work(t, servers);
    for (const { server } of [servers.a, servers.b]) t.same(server.faults, []);
  });
}

const named = (name: string, data: Record<string, string> = {}) => ({ metadata: { name }, data });

function names({ json }: Answer): string[] {
  return (json as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name);
}

running(
  "a get without a version sees what another server acknowledged before, however late it is delivered",
  async (t, { a, b }) => {
    b.store.pause();
    t.equal((await a.call("POST", maps, named("x"))).code, 201);
    const stale = await b.call("GET", `${maps}/x?resourceVersion=0`);
    t.equal(stale.code, 404, "any version may be an old one");
    const most = b.call("GET", `${maps}/x`);
    t.ok(await isPending(most), "nothing is answered before it is here");
    b.store.resume();
    t.equal((await most).code, 200);
    t.equal((await b.call("GET", `${maps}/x?resourceVersion=0`)).code, 200);
  },
);

running("so does a list, a page of it, a scale, and a watch that begins with the state", async (t, { a, b }) => {
  const deployments = "/apis/apps/v1/namespaces/ns/deployments";
  b.store.pause();
  await a.call("POST", maps, named("x"));
  await a.call("POST", maps, named("y"));
  const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } };
  const spec = { selector: { matchLabels: { a: "b" } }, template, replicas: 3 };
  t.equal((await a.call("POST", deployments, { metadata: { name: "d" }, spec })).code, 201);
  t.same(names(await b.call("GET", `${maps}?resourceVersion=0`)), []);
  const scale = b.call("GET", `${deployments}/d/scale`);
  const reads = [`${maps}`, `${maps}?limit=1`, `/api/v1/configmaps`].map((path) => b.call("GET", path));
  const chunks: string[] = [];
  const watch = b.call(
    "GET",
    `${maps}?watch=1&timeoutSeconds=1`,
    undefined,
    {},
    {
      stream: () => ({
        write: (chunk) => chunks.push(Buffer.from(chunk).toString()) > 0,
        onDrain: () => undefined,
        end: () => undefined,
        abort: () => undefined,
      }),
    },
  );
  for (const read of [...reads, watch, scale]) t.ok(await isPending(read));
  b.store.resume();
  const [list, page, all] = await Promise.all(reads);
  t.same(names(list as Answer), ["x", "y"]);
  t.same(names(page as Answer), ["x"]);
  t.ok(names(all as Answer).includes("y"));
  t.equal((await scale).json.spec.replicas, 3);
  t.ok(await until(() => chunks.join("").includes('"name":"y"')));
});

async function until(condition: () => boolean): Promise<boolean> {
  for (let turn = 0; turn < 2000 && !condition(); turn += 1) await new Promise((resolve) => setImmediate(resolve));
  return condition();
}

running(
  "requests of a turn share one question, and none shares one that was asked before it came",
  async (t, { a, b }) => {
    await a.call("POST", maps, named("x"));
    const before = b.store.questions;
    t.ok(
      (await Promise.all(Array.from({ length: 50 }, () => b.call("GET", `${maps}/x`)))).every(
        ({ code }) => code === 200,
      ),
    );
    t.equal(b.store.questions, before + 1);
    // The store has read its newest revision, and its answer is on the way.
    let release = (): void => undefined;
    b.store.answering = () => new Promise((resolve) => (release = resolve));
    const first = b.call("GET", `${maps}/y`);
    t.ok(await isPending(first));
    t.equal(b.store.questions, before + 2);
    await a.call("POST", maps, named("y"));
    const second = b.call("GET", `${maps}/y`);
    t.ok(await isPending(second));
    b.store.answering = undefined;
    release();
    t.equal((await second).code, 200, "it was created before this request came");
    await first;
    t.equal(b.store.questions, before + 3);
  },
);

running(
  "a store that does not answer is a 504 with a time to come again; what may be old is served",
  async (t, { a, b }) => {
    await a.call("POST", maps, named("x"));
    const page = await b.call("GET", `${maps}?limit=1`);
    b.store.isAway = true;
    const refused = async (path: string): Promise<void> => {
      const answer = await b.call("GET", path);
      t.equal(answer.code, 504, path);
      t.equal(answer.json.reason, "Timeout");
      t.equal(answer.json.details.retryAfterSeconds, 1);
      t.equal(headerOf(answer, "Retry-After"), "1");
    };
    await refused(`${maps}/x`);
    await refused(maps);
    await refused(`${maps}?limit=1`);
    await refused(`${maps}?watch=1`);
    await refused(`${maps}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`);
    await refused(`${maps}?resourceVersion=999999999`);
    await refused(`${maps}/x?resourceVersion=999999999`);
    const collection = await b.call("DELETE", maps);
    t.equal(collection.code, 504, "nothing of an old list is deleted");
    t.equal((await b.call("GET", `${maps}/x?resourceVersion=0`)).code, 200);
    t.same(names(await b.call("GET", `${maps}?resourceVersion=0`)), ["x"]);
    t.equal((await b.call("GET", `${maps}/x?resourceVersion=${page.json.metadata.resourceVersion}`)).code, 200);
    b.store.isAway = false;
    t.equal((await b.call("GET", `${maps}/x`)).code, 200);
  },
);

running(
  "one that says what is newest and does not deliver it is a 504, too, at the request's time",
  async (t, { a, b }) => {
    b.store.pause();
    await a.call("POST", maps, named("x"));
    const begun = performance.now();
    const late = await b.call("GET", `${maps}/x?timeout=50ms`);
    t.equal(late.code, 504);
    t.ok(performance.now() - begun < limits.recentMsMax, "the client's time is shorter than ours");
    t.equal((await b.call("GET", `${maps}/x`)).code, 504);
    b.store.resume();
    t.equal((await b.call("GET", `${maps}/x`)).code, 200);
  },
);

running(
  "a version that another server gave out is waited for, and continue tokens go on at any server",
  async (t, { a, b }) => {
    for (const name of ["m", "n", "o"]) await a.call("POST", maps, named(name));
    b.store.pause();
    const made = await a.call("POST", maps, named("p"));
    const version = made.json.metadata.resourceVersion as string;
    const page = await a.call("GET", `${maps}?limit=2`);
    const rest = `${maps}?limit=2&continue=${page.json.metadata.continue}`;
    const { questions } = b.store;
    const one = b.call("GET", `${maps}?resourceVersion=${version}`);
    t.ok(await isPending(one));
    t.equal(b.store.questions, questions + 1, "the store is asked whether it is there");
    const reads = [
      `${maps}/p?resourceVersion=${version}`,
      `${maps}?resourceVersion=${version}`,
      `${maps}?resourceVersion=${version}&resourceVersionMatch=Exact`,
      rest,
    ].map((path) => b.call("GET", path));
    for (const read of reads) t.ok(await isPending(read));
    b.store.resume();
    t.same(names(await one), ["m", "n", "o", "p"]);
    const [object, newer, exact, continued] = await Promise.all(reads);
    t.equal(object?.json.metadata.name, "p");
    t.same(
      [names(newer as Answer), names(exact as Answer)],
      [
        ["m", "n", "o", "p"],
        ["m", "n", "o", "p"],
      ],
    );
    t.same(names(continued as Answer), ["o", "p"]);
    const after = b.store.questions;
    await b.call("GET", `${maps}?resourceVersion=${version}`);
    await b.call("GET", rest);
    t.equal(b.store.questions, after, "what is here by now needs no question");
  },
);

running("the end of a list that is gone on without its state is most recent", async (t, { a, b }) => {
  for (const name of ["m", "n", "o"]) await a.call("POST", maps, named(name));
  const page = await a.call("GET", `${maps}?limit=1`);
  const start = Buffer.from(page.json.metadata.continue, "base64url").toString();
  const token = Buffer.from(start.replace(/"rv":\d+/, '"rv":-1')).toString("base64url");
  b.store.pause();
  await a.call("POST", maps, named("p"));
  const rest = b.call("GET", `${maps}?continue=${token}`);
  t.ok(await isPending(rest));
  b.store.resume();
  t.same(names(await rest), ["n", "o", "p"]);
});

running("a collection is deleted as it is on any server", async (t, { a, b }) => {
  await a.call("POST", maps, named("x"));
  b.store.pause();
  await a.call("POST", maps, named("y"));
  const deleted = b.call("DELETE", maps);
  t.ok(await isPending(deleted));
  b.store.resume();
  t.same(names(await deleted), ["x", "y"]);
  t.same(names(await a.call("GET", maps)), []);
});

running(
  "a list older than the log is read from the store's past, in every form, until that is compacted",
  async (t, { a, b }) => {
    for (let n = 0; n < 12; n += 1)
      await a.call("POST", maps, { metadata: { name: `m${10 + n}`, labels: { n: `${n % 3}` } }, data: { n: `${n}` } });
    const page = await a.call("GET", `${maps}?limit=4`);
    const then = page.json.metadata.resourceVersion as string;
    const whole = await a.call("GET", maps);
    await a.call("PATCH", `${maps}/m10`, { data: { n: "changed" } }, merge);
    await a.call("DELETE", `${maps}/m15`);
    await a.call("POST", maps, named("z"));
    await a.call("GET", maps);
    // A server that starts later: its log holds the state of now and nothing older.
    const exact = (more = "") => `${maps}?resourceVersion=${then}&resourceVersionMatch=Exact${more}`;
    const before = [await b.call("GET", exact()), await b.call("GET", exact("&labelSelector=n%3D1"))];
    forget(b);
    t.equal(b.store.pages, 0);
    b.store.pageMax = 5;
    const list = await b.call("GET", exact());
    t.same(list.json, before[0]?.json);
    t.same(list.json.items, whole.json.items);
    t.ok(b.store.pages >= 3, "page by page");
    t.same((await b.call("GET", exact("&labelSelector=n%3D1"))).json, before[1]?.json);
    const protobuf = "application/vnd.kubernetes.protobuf";
    const tables = "application/json;as=Table;g=meta.k8s.io;v=v1";
    for (const accept of [protobuf, tables, "application/yaml"]) {
      const cached = protoCache.bytes;
      const got = await b.call("GET", exact(), undefined, { accept });
      t.equal(protoCache.bytes, cached, "of what is in no log nothing is remembered");
      const wanted = await a.call("GET", exact(), undefined, { accept });
      t.equal(got.code, 200, accept);
      t.same(got.bytes, wanted.bytes, accept);
    }
    const collected: string[] = [];
    for (let token: string = page.json.metadata.continue; token !== undefined; ) {
      const next = await b.call("GET", `${maps}?limit=3&continue=${token}`);
      t.equal(next.json.metadata.resourceVersion, then);
      collected.push(...names(next));
      if (next.json.metadata.continue !== undefined)
        t.equal(next.json.metadata.remainingItemCount, 8 - collected.length);
      token = next.json.metadata.continue;
    }
    t.same(collected, names(whole).slice(4));
    const selected = await b.call("GET", exact("&labelSelector=n%3D1&limit=3"));
    t.same(names(selected), ["m11", "m14", "m17"]);
    t.same(names(await b.call("GET", `${maps}?labelSelector=n%3D1&continue=${selected.json.metadata.continue}`)), [
      "m20",
    ]);
    b.store.isAway = true;
    t.equal((await b.call("GET", exact())).code, 504);
    b.store.isAway = false;
    for (let done = false; !done; ) done = await b.store.compact(b.store.revision);
    const gone = await b.call("GET", exact());
    t.same([gone.code, gone.json.reason], [410, "Expired"]);
    const lost = await b.call("GET", `${maps}?limit=3&continue=${page.json.metadata.continue}`);
    t.same([lost.code, lost.json.reason], [410, "Expired"]);
    t.ok(lost.json.metadata.continue, "and how to go on without it");
  },
);

/** The log of config maps of a server forgets its history. */
function forget({ server }: TwoServers["b"]): void {
  const view = server.views.log("/registry/configmaps");
  Object.defineProperty(view, "floor", { get: () => view.drain(), set: () => undefined });
}
