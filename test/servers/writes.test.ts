// Writes where another server writes the same data: what is decided by reading is decided on what is newest, what the store
// leaves in doubt is not done again, and what must be unique or empty is so on all servers together.
import t, { type Test } from "tap";
import { AddressRepair } from "../../src/controllers/addresses.ts";
import { NamespaceController } from "../../src/controllers/namespace.ts";
import { storedKind } from "../../src/controllers/storedkind.ts";
import { type Change, changeTypes } from "../../src/storage/store.ts";
import { reconcilerOf, Told } from "../support/controllers.ts";
import { type InProcessOptions, until } from "../support/inprocess.ts";
import { headerOf, isPending, openTwo, type TwoServers } from "./two.ts";

const maps = "/api/v1/namespaces/ns/configmaps";
const services = "/api/v1/namespaces/ns/services";
const merge = { "content-type": "application/merge-patch+json" };
const jsonPatch = { "content-type": "application/json-patch+json" };
const apply = { "content-type": "application/apply-patch+yaml" };

/** A test with two servers. */
function running(
  name: string,
  work: (t: Test, servers: TwoServers) => Promise<void>,
  options?: InProcessOptions,
): void {
  t.test(name, async (t) => {
    const servers = await openTwo(options);
    t.teardown(() => servers.close());
    await work(t, servers);
    for (const { server } of [servers.a, servers.b]) t.same(server.faults, []);
  });
}

const named = (name: string, data: Record<string, string> = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data,
});

/** Has something done on B while A has written what B has not got yet, which it gets when B waits. */
async function behind(
  t: Test,
  { b }: TwoServers,
  write: () => Promise<unknown>,
  work: () => Promise<{ code: number }>,
) {
  b.store.pause();
  await write();
  const done = work();
  t.ok(await isPending(done), "it waits for what is newest");
  b.store.resume();
  return done;
}

/** Changes of an object that a server asked its store for. */
const asked = ({ store }: TwoServers["b"], name: string): Change[] =>
  store.asked.filter(({ key }) => key.endsWith(`/${name}`));

running("what another server created is found by each write of it", async (t, servers) => {
  const { a, b } = servers;
  const ways: readonly (readonly [string, (path: string, name: string) => Promise<{ code: number }>, number])[] = [
    ["patch", (path) => b.call("PATCH", path, { data: { k: "v" } }, merge), 200],
    ["json-patch", (path) => b.call("PATCH", path, [{ op: "add", path: "/data/k", value: "v" }], jsonPatch), 200],
    ["update", (path, name) => b.call("PUT", path, named(name, { k: "v" })), 200],
    [
      "apply",
      (path, name) => b.call("PATCH", `${path}?fieldManager=m&force=true`, named(name, { k: "v" }), apply),
      200,
    ],
    ["delete", (path) => b.call("DELETE", path), 200],
    ["dry-run", (path) => b.call("PATCH", `${path}?dryRun=All`, { data: { k: "v" } }, merge), 200],
    ["empty", (path) => b.call("PATCH", path, {}, merge), 200],
  ];
  for (const [name, write, code] of ways) {
    const done = await behind(
      t,
      servers,
      () => a.call("POST", maps, named(name, { a: "b" })),
      () => write(`${maps}/${name}`, name),
    );
    t.equal(done.code, code, name);
  }
  t.equal((await a.call("GET", `${maps}/patch`)).json.data.k, "v");
  t.equal((await a.call("GET", `${maps}/delete`)).code, 404);
});

running("what another server deleted can be created, and is not found", async (t, servers) => {
  const { a, b } = servers;
  for (const name of ["x", "y", "z", "w"]) await a.call("POST", maps, named(name));
  await b.call("GET", maps);
  b.store.pause();
  for (const name of ["x", "y", "z", "w"]) await a.call("DELETE", `${maps}/${name}`);
  const created = b.call("POST", maps, named("x"));
  const put = b.call("PUT", `${maps}/y`, named("y"));
  const deleted = b.call("DELETE", `${maps}/z`);
  const patched = b.call("PATCH", `${maps}/w`, { data: { a: "b" } }, merge);
  for (const each of [created, put, deleted, patched]) t.ok(await isPending(each));
  b.store.resume();
  t.same(
    (await Promise.all([created, put, deleted, patched])).map(({ code }) => code),
    [201, 404, 404, 404],
    "a PUT creates where its kind allows that",
  );
});

running("a create of a name another server took is refused by the store, in one try", async (t, { a, b }) => {
  b.store.pause();
  await a.call("POST", maps, named("x"));
  const taken = b.call("POST", maps, named("x"));
  t.ok(await isPending(taken));
  b.store.resume();
  const { code, json } = await taken;
  t.same([code, json.reason], [409, "AlreadyExists"]);
  t.equal(asked(b, "x").length, 1);
});

running("a dry run of such a create is refused as well, and one of a name that is free is not", async (t, servers) => {
  const { a, b } = servers;
  const dry = `${maps}?dryRun=All`;
  const taken = await behind(
    t,
    servers,
    () => a.call("POST", maps, named("x")),
    () => b.call("POST", dry, named("x")),
  );
  t.equal(taken.code, 409);
  const free = await behind(
    t,
    servers,
    () => a.call("DELETE", `${maps}/x`),
    () => b.call("POST", dry, named("x")),
  );
  t.equal(free.code, 201);
  t.equal(asked(b, "x").length, 0);
});

running("a write that changes nothing of an old state is made on the new one", async (t, servers) => {
  const { a, b } = servers;
  await a.call("POST", maps, named("x", { k: "one" }));
  await b.call("GET", `${maps}/x`);
  const change = (k: string) => () => a.call("PATCH", `${maps}/x`, { data: { k } }, merge);
  const patched = await behind(t, servers, change("two"), () =>
    b.call("PATCH", `${maps}/x`, { data: { k: "one" } }, merge),
  );
  t.equal(patched.code, 200);
  t.equal((await a.call("GET", `${maps}/x`)).json.data.k, "one");
  t.equal(asked(b, "x").length, 1, "one change was made of it");
  const dry = await behind(t, servers, change("three"), () =>
    b.call("PATCH", `${maps}/x?dryRun=All`, { data: { l: "m" } }, merge),
  );
  t.same((dry as { json?: { data?: unknown } }).json?.data, { k: "three", l: "m" }, "a dry run shows the new state");
  const same = await b.call("PATCH", `${maps}/x`, { data: { k: "three" } }, merge);
  t.equal(same.json.metadata.resourceVersion, (await a.call("GET", `${maps}/x`)).json.metadata.resourceVersion);
});

running("a write that lost waits until what won is here before it tries again", async (t, { a, b }) => {
  await a.call("POST", maps, named("x", { k: "0" }));
  await b.call("GET", `${maps}/x`);
  b.store.pause();
  await a.call("PATCH", `${maps}/x`, { data: { k: "1" } }, merge);
  const patched = b.call("PATCH", `${maps}/x`, { data: { l: "m" } }, merge);
  t.ok(await isPending(patched));
  t.equal(asked(b, "x").length, 1);
  b.store.resume();
  t.same((await patched).json.data, { k: "1", l: "m" });
  t.equal(asked(b, "x").length, 2);
});

running("conflicts and tests are decided on the new state", async (t, servers) => {
  const { a, b } = servers;
  const first = (await a.call("POST", maps, named("x", { k: "1" }))).json;
  await b.call("GET", `${maps}/x`);
  const versioned = (version: string) => ({
    ...named("x", { k: "9" }),
    metadata: { name: "x", resourceVersion: version },
  });
  let second = "";
  const bump = async (): Promise<void> => {
    const { json } = await a.call("PATCH", `${maps}/x`, { data: { k: "2" } }, merge);
    second = json.metadata.resourceVersion;
  };
  const old = await behind(t, servers, bump, () =>
    b.call("PUT", `${maps}/x`, versioned(first.metadata.resourceVersion)),
  );
  t.equal(old.code, 409, "the version was right here, and is old");
  let third = "";
  const again = async (): Promise<void> => {
    const { json } = await a.call("PATCH", `${maps}/x`, { data: { k: "3" } }, merge);
    third = json.metadata.resourceVersion;
  };
  const current = await behind(t, servers, again, () => b.call("PUT", `${maps}/x`, versioned(third)));
  t.equal(current.code, 200, "the version is not here yet, and is the newest");
  t.not(second, third);
  const tested = await behind(
    t,
    servers,
    () => a.call("PATCH", `${maps}/x`, { data: { k: "4" } }, merge),
    () =>
      b.call(
        "PATCH",
        `${maps}/x`,
        [
          { op: "test", path: "/data/k", value: "4" },
          { op: "add", path: "/data/l", value: "m" },
        ],
        jsonPatch,
      ),
  );
  t.equal(tested.code, 200);
  const uid = { preconditions: { uid: "another" } };
  t.equal((await b.call("DELETE", `${maps}/x`, uid)).code, 409);
  const made = async (): Promise<void> => {
    await a.call("DELETE", `${maps}/x`);
    await a.call("POST", maps, named("x"));
  };
  const stale = await behind(t, servers, made, () =>
    b.call("DELETE", `${maps}/x`, { preconditions: { uid: first.metadata.uid } }),
  );
  t.equal(stale.code, 409, "it is another object of that name");
});

running("a delete that waits for finalizers is answered by the new state", async (t, servers) => {
  const { a, b } = servers;
  await a.call("POST", maps, { ...named("x"), metadata: { name: "x", finalizers: ["a.example/b"] } });
  await a.call("DELETE", `${maps}/x`);
  t.equal((await b.call("DELETE", `${maps}/x`)).code, 200, "it is there, and waits");
  const release = () => a.call("PATCH", `${maps}/x`, { metadata: { finalizers: null } }, merge);
  const gone = await behind(t, servers, release, () => b.call("DELETE", `${maps}/x`));
  t.equal(gone.code, 404);
  const pod = { metadata: { name: "p" }, spec: { nodeName: "n", containers: [{ name: "c", image: "i" }] } };
  const pods = "/api/v1/namespaces/ns/pods";
  await a.call("POST", pods, pod);
  t.equal((await b.call("DELETE", `${pods}/p`)).code, 200);
  const removed = await behind(
    t,
    servers,
    () => a.call("DELETE", `${pods}/p`, { gracePeriodSeconds: 0 }),
    () => b.call("DELETE", `${pods}/p`),
  );
  t.equal(removed.code, 404, "its grace was running here");
  await a.call("POST", maps, named("y"));
  const dry = await behind(
    t,
    servers,
    () => a.call("DELETE", `${maps}/y`),
    () => b.call("DELETE", `${maps}/y?dryRun=All`),
  );
  t.equal(dry.code, 404);
});

running(
  "a store that does not say what is newest leaves a refusal open: 504, to be tried again",
  async (t, { a, b }) => {
    await a.call("POST", maps, named("x", { k: "v" }));
    await b.call("GET", maps);
    b.store.isAway = true;
    for (const write of [
      () => b.call("PATCH", `${maps}/y`, { data: { k: "v" } }, merge),
      () => b.call("DELETE", `${maps}/y`),
      () => b.call("PATCH", `${maps}/x`, { data: { k: "v" } }, merge),
      () => b.call("POST", "/api/v1/namespaces/none/configmaps", named("x")),
      () => b.call("PATCH", `${maps}/x`, "{", merge),
    ]) {
      const answer = await write();
      t.same([answer.code, answer.json.reason, headerOf(answer, "Retry-After")], [504, "Timeout", "1"]);
    }
    t.equal(
      (await b.call("PATCH", `${maps}/x`, { data: { k: "w" } }, merge)).code,
      200,
      "what the store decides needs no question",
    );
    b.store.before = () => "unavailable";
    const refused = await b.call("PATCH", `${maps}/x`, { data: { k: "u" } }, merge);
    t.same([refused.code, headerOf(refused, "Retry-After")], [503, "1"]);
  },
);

running("a namespace that another server made takes objects at once", async (t, servers) => {
  const { a, b } = servers;
  const made = (name: string) => () => a.call("POST", "/api/v1/namespaces", { metadata: { name } });
  const created = await behind(t, servers, made("fresh"), () =>
    b.call("POST", "/api/v1/namespaces/fresh/configmaps", named("x")),
  );
  t.equal(created.code, 201);
  const applied = await behind(t, servers, made("newer"), () =>
    b.call("PATCH", "/api/v1/namespaces/newer/configmaps/x?fieldManager=m", named("x"), apply),
  );
  t.equal(applied.code, 201);
  t.equal((await b.call("POST", "/api/v1/namespaces/none/configmaps", named("x"))).code, 404);
});

running("nothing is created in a namespace after another server began to delete it", async (t, { a, b }) => {
  const base = "/api/v1/namespaces/going";
  await a.call("POST", "/api/v1/namespaces", { metadata: { name: "going" } });
  await b.call("GET", base);
  // B's create was admitted, and is on its way to the store when A's delete is acknowledged.
  let arrived = (): void => undefined;
  const isThere = new Promise<void>((resolve) => (arrived = resolve));
  let release = (): void => undefined;
  b.store.before = () => {
    arrived();
    return new Promise((resolve) => (release = () => resolve("made")));
  };
  const racing = b.call("POST", `${base}/configmaps`, named("x"));
  await isThere;
  t.equal((await a.call("DELETE", base)).code, 200);
  // The controller's last look, on A: there is nothing, and the namespace goes.
  const controller = reconcilerOf(new NamespaceController(a.server.server), a.server.server.clock);
  controller.start();
  await controller.idle();
  t.equal((await a.call("GET", base)).code, 404, "the namespace is gone");
  b.store.before = undefined;
  release();
  const { code, json } = await racing;
  t.equal(code, 404, json.message);
  t.same((await a.call("GET", "/api/v1/configmaps")).json.items, []);
  await controller.stop();
});

running("a create whose namespace was changed otherwise in between is made all the same", async (t, { a, b }) => {
  let once = true;
  b.store.before = async ({ type }): Promise<"made"> => {
    if (once && type === changeTypes.create) {
      once = false;
      await a.call("PATCH", "/api/v1/namespaces/ns", { metadata: { labels: { a: "b" } } }, merge);
    }
    return "made";
  };
  t.equal((await b.call("POST", maps, named("x"))).code, 201);
  t.equal(asked(b, "x").length, 2, "tried again, and not taken for a name in use");
  once = true;
  t.equal((await b.call("PATCH", `${maps}/y?fieldManager=m`, named("y"), apply)).code, 201);
  once = true;
  const end = async ({ type }: Change): Promise<"made"> => {
    if (once && type === changeTypes.create) {
      once = false;
      await a.call("DELETE", "/api/v1/namespaces/ns");
    }
    return "made";
  };
  b.store.before = end;
  const refused = await b.call("POST", maps, named("z"));
  t.same([refused.code, refused.json.details?.causes?.[0]?.reason], [403, "NamespaceTerminating"]);
});

running(
  "a change in doubt is answered 504, without a time to come again, and is not made twice",
  async (t, { a, b }) => {
    const doubtful = async (
      fate: "made in doubt" | "lost in doubt",
      write: () => Promise<Awaited<ReturnType<typeof b.call>>>,
    ): Promise<void> => {
      const before = b.store.asked.length;
      b.store.before = () => fate;
      const answer = await write();
      b.store.before = undefined;
      t.same([answer.code, answer.json.reason], [504, "Timeout"]);
      t.match(answer.json.message, /may have been/);
      t.equal(headerOf(answer, "Retry-After"), undefined, "clients send again what has one");
      t.equal(b.store.asked.length, before + 1, "one change was asked for");
    };
    for (const fate of ["made in doubt", "lost in doubt"] as const) {
      const isMade = fate === "made in doubt";
      await doubtful(fate, () => b.call("POST", maps, named("x")));
      t.equal((await a.call("GET", `${maps}/x`)).code, isMade ? 200 : 404);
      await doubtful(fate, () => b.call("POST", maps, { metadata: { generateName: "g-" } }));
      await a.call("POST", maps, named("y", { k: "0" }));
      await doubtful(fate, () => b.call("PATCH", `${maps}/y`, { data: { k: "1" } }, merge));
      t.equal((await a.call("GET", `${maps}/y`)).json.data.k, isMade ? "1" : "0");
      await doubtful(fate, () => b.call("DELETE", `${maps}/y`));
      t.equal((await a.call("GET", `${maps}/y`)).code, isMade ? 404 : 200);
      await a.call("DELETE", maps);
    }
  },
);

running("a change that outlasts its request is in doubt", async (t, { a, b }) => {
  await a.call("POST", maps, named("x"));
  await b.call("GET", `${maps}/x`);
  const gates: (() => void)[] = [];
  b.store.before = () => new Promise((resolve) => gates.push(() => resolve("made")));
  for (const write of [
    () => b.call("POST", `${maps}?timeout=50ms`, named("y")),
    () => b.call("PATCH", `${maps}/x?timeout=50ms`, { data: { k: "v" } }, merge),
    () => b.call("DELETE", `${maps}/x?timeout=50ms`),
  ]) {
    const answer = await write();
    t.same([answer.code, answer.json.reason, headerOf(answer, "Retry-After")], [504, "Timeout", undefined]);
    t.match(answer.json.message, /may have been/);
  }
  b.store.before = undefined;
  for (const release of gates) release();
  t.ok(await until(async () => (await a.call("GET", `${maps}/y`)).code === 200), "it was made in the end");
});

running("a collection whose delete is in doubt somewhere ends with that, and deletes no more", async (t, { a, b }) => {
  for (let n = 0; n < 200; n += 1) await a.call("POST", maps, named(`m${n}`));
  await b.call("GET", maps);
  let left = 5;
  b.store.before = () => (left-- > 0 ? "made" : "lost in doubt");
  const deleted = await b.call("DELETE", maps);
  t.equal(deleted.code, 504);
  const asked = b.store.asked.length;
  await isPending(new Promise(() => undefined));
  t.equal(b.store.asked.length, asked, "nothing goes on after the answer");
});

running("claims of addresses race across servers, and doubt gives none away twice", async (t, servers) => {
  const { a, b } = servers;
  const service = (name: string, clusterIP?: string) => ({
    metadata: { name },
    spec: { ports: [{ port: 80 }], ...(clusterIP === undefined ? {} : { clusterIP }) },
  });
  // Each one is asked for: one taken at random might be one that is asked for below.
  const first = "10.0.0.70";
  t.equal((await a.call("POST", services, service("first", first))).code, 201);
  const taken = await behind(
    t,
    servers,
    () => a.call("POST", services, service("second", "10.0.0.77")),
    () => b.call("POST", services, service("third", "10.0.0.77")),
  );
  t.equal(taken.code, 422);
  const free = await behind(
    t,
    servers,
    () => a.call("DELETE", `${services}/first`),
    () => b.call("POST", services, service("fourth", first)),
  );
  t.equal(free.code, 201, "it was given back at the other server");
  const racing = await Promise.all(
    Array.from({ length: 12 }, (_, i) =>
      (i % 2 === 0 ? a : b).call("POST", services, service(`race${i}`, "10.0.0.88")),
    ),
  );
  t.equal(racing.filter(({ code }) => code === 201).length, 1);
  // The service itself is in doubt: what it claimed may be in use.
  for (const [fate, name, ip] of [
    ["made in doubt", "made", "10.0.0.90"],
    ["lost in doubt", "lost", "10.0.0.91"],
  ] as const) {
    b.store.before = ({ prefix }) => (prefix === "/registry/services/specs" ? fate : "made");
    t.equal((await b.call("POST", services, service(name, ip))).code, 504);
    b.store.before = undefined;
    t.equal((await a.call("POST", services, service(`${name}2`, ip))).code, 422, "until the repair knows better");
  }
  // The claim is in doubt: the service is not written.
  b.store.before = ({ prefix }) => (prefix.startsWith("/registry/ranges") ? "made in doubt" : "made");
  const unclaimed = await b.call("POST", services, service("fifth", "10.0.0.92"));
  t.same([unclaimed.code, headerOf(unclaimed, "Retry-After")], [503, "1"], "it was certainly not made");
  b.store.before = undefined;
  t.equal((await a.call("GET", `${services}/fifth`)).code, 404);
  t.equal(
    (await a.call("POST", services, service("sixth", "10.0.0.92"))).code,
    201,
    "and what it claimed was given back",
  );
});

running("the repair of claims goes by its own clock, and by what is newest", async (t, { a, b }) => {
  const ip = "10.0.0.95";
  const service = { metadata: { name: "s" }, spec: { clusterIP: ip, ports: [{ port: 80 }] } };
  const { writers, server } = b.server;
  const claims = new AddressRepair(writers, storedKind(server, "", "v1", "services"), new Told());
  const causes: unknown[] = [];
  const repair = reconcilerOf(claims, server.clock, (_message, cause) => void causes.push(cause));
  const look = (): Promise<void> => {
    claims.all(repair);
    return repair.idle();
  };
  const held = async (): Promise<boolean> => {
    const answer = await a.call("POST", services, { ...service, metadata: { name: "other" } });
    if (answer.code === 201) await a.call("DELETE", `${services}/other`);
    return answer.code === 422;
  };
  // A claims, and its service is on its way to the store; the clock of B is ten minutes ahead.
  let release = (): void => undefined;
  a.store.before = ({ prefix }) =>
    prefix === "/registry/services/specs" ? new Promise((resolve) => (release = () => resolve("made"))) : "made";
  const made = a.call("POST", services, service);
  t.ok(await isPending(made));
  b.server.nowMs += 600_000;
  await look();
  await look();
  a.store.before = undefined;
  t.ok(await held(), "it has not been known for a minute here");
  b.server.aheadMs += 61_000;
  // A minute later the service has come to the store, and not to B.
  b.store.pause();
  release();
  await made;
  const looking = look();
  t.ok(await isPending(looking));
  b.store.resume();
  await looking;
  t.ok(await held(), "the service is looked for where it is newest");
  b.store.isAway = true;
  await look();
  t.equal(causes.length, 1, "it fails where that cannot be asked");
  b.store.isAway = false;
  await a.call("DELETE", `${services}/s`);
  a.store.before = ({ prefix }) => (prefix === "/registry/services/specs" ? "lost in doubt" : "made");
  await a.call("POST", services, service);
  a.store.before = undefined;
  b.server.nowMs += 61_000;
  await look();
  t.ok(await held());
  b.server.aheadMs += 61_000;
  await look();
  t.notOk(await held(), "an orphan is released in the end");
  await repair.stop();
});

running(
  "a quota is charged for what is in doubt, and by both servers together never exceeded",
  async (t, { a, b }) => {
    const quotas = "/api/v1/namespaces/ns/resourcequotas";
    await a.call("POST", quotas, { metadata: { name: "q" }, spec: { hard: { "count/configmaps": "10" } } });
    await a.call(
      "PATCH",
      `${quotas}/q/status`,
      { status: { hard: { "count/configmaps": "10" }, used: { "count/configmaps": "0" } } },
      merge,
    );
    await b.call("GET", quotas);
    const used = async (): Promise<string> => (await a.call("GET", `${quotas}/q`)).json.status.used["count/configmaps"];
    b.store.before = ({ prefix }) => (prefix === "/registry/configmaps" ? "made in doubt" : "made");
    t.equal((await b.call("POST", maps, named("x"))).code, 504);
    t.equal(await used(), "1");
    b.store.before = ({ prefix }) => (prefix === "/registry/resourcequotas" ? "lost in doubt" : "made");
    const uncharged = await b.call("POST", maps, named("y"));
    t.same([uncharged.code, headerOf(uncharged, "Retry-After")], [503, "1"], "the config map was certainly not made");
    b.store.before = undefined;
    const racing = await Promise.all(
      Array.from({ length: 30 }, (_, i) => (i % 2 === 0 ? a : b).call("POST", maps, named(`r${i}`))),
    );
    t.equal(racing.filter(({ code }) => code === 201).length, 9);
    t.equal(await used(), "10");
  },
  { admission: { enabled: ["ResourceQuota"] } },
);

running("pods are bound, evicted and given tokens for as they are on any server", async (t, servers) => {
  const { a, b } = servers;
  const pods = "/api/v1/namespaces/ns/pods";
  const pod = (name: string) => ({ metadata: { name }, spec: { containers: [{ name: "c", image: "i" }] } });
  const binding = (name: string) => ({ metadata: { name }, target: { kind: "Node", name: "n" } });
  const bound = await behind(
    t,
    servers,
    () => a.call("POST", pods, pod("p")),
    () => b.call("POST", `${pods}/p/binding`, binding("p")),
  );
  t.equal(bound.code, 201);
  const later = async (): Promise<void> => {
    await a.call("POST", "/api/v1/namespaces", { metadata: { name: "late" } });
    await a.call("POST", "/api/v1/namespaces/late/pods", pod("p"));
  };
  const other = await behind(t, servers, later, () =>
    b.call("POST", "/api/v1/namespaces/late/pods/p/binding", binding("p")),
  );
  t.equal(other.code, 201, "in a namespace that was just made, too");
  const eviction = { metadata: { name: "q" } };
  const evicted = await behind(
    t,
    servers,
    () => a.call("POST", pods, pod("q")),
    () => b.call("POST", `${pods}/q/eviction`, eviction),
  );
  t.equal(evicted.code, 201);
  const accounts = "/api/v1/namespaces/ns/serviceaccounts";
  const signed = await behind(
    t,
    servers,
    () => a.call("POST", accounts, { metadata: { name: "s" } }),
    () => b.call("POST", `${accounts}/s/token`, { spec: {} }),
  );
  t.equal(signed.code, 201);
  const unsigned = await behind(
    t,
    servers,
    () => a.call("DELETE", `${accounts}/s`),
    () => b.call("POST", `${accounts}/s/token`, { spec: {} }),
  );
  t.equal(unsigned.code, 404, "no client gets a token for an account that is gone");
  const log = await behind(
    t,
    servers,
    () => a.call("POST", pods, pod("r")),
    () => b.call("GET", `${pods}/r/log`),
  );
  t.not(log.code, 404);
});

running("answers find their requests, in whatever order commits end", async (t, { a, b }) => {
  const gates: (() => void)[] = [];
  b.store.after = () => new Promise((resolve) => gates.push(resolve));
  const writes = ["x", "y", "z"].map(async (name) => b.call("POST", maps, named(name)));
  for (let turn = 0; gates.length < 3 && turn < 1000; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  for (const release of gates.toReversed()) {
    release();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const answers = await Promise.all(writes);
  t.same(
    answers.map(({ code, json }) => [code, json.metadata.name]),
    [
      [201, "x"],
      [201, "y"],
      [201, "z"],
    ],
  );
  t.equal((await a.call("GET", maps)).json.items.length, 3);
});
