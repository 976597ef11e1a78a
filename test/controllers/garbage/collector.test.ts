// The garbage collector over the whole write path: what becomes of dependents, and of owners that wait for them.

import { nextTurn } from "../../../src/base/turn.ts";
import { changeTypes } from "../../../src/storage/store.ts";
import { definition, definitions, establishedIn, goneFrom, runDefinitions } from "../../support/definitions.ts";
import { until } from "../../support/inprocess.ts";
import { blocking, maps, merge, type Reference, yard } from "./fixture.ts";

const hold = { finalizers: ["example.com/hold"] };
const nodes = "/api/v1/nodes";

yard("background: dependents go after their owner, to the end of a chain", async (t, yard) => {
  const a = await yard.make(maps, "a");
  const b = await yard.make(maps, "b", [a]);
  await yard.make(maps, "c", [blocking(b)]);
  await yard.make(maps, "other");
  await yard.remove(`${maps}/a`);
  for (const name of ["a", "b", "c"]) t.ok(await yard.gone(`${maps}/${name}`), name);
  t.ok(await yard.metadata(`${maps}/other`));
  await yard.settled();
  t.equal(yard.collector.size, 0);
});

yard("an owner that is kept by a finalizer keeps its dependents until it is gone", async (t, yard) => {
  const m = await yard.make(maps, "m", [], hold);
  await yard.make(maps, "m1", [blocking(m)]);
  await yard.remove(`${maps}/m`, "Background");
  await yard.settled();
  t.equal((await yard.metadata(`${maps}/m1`))?.["deletionTimestamp"], undefined);
  await yard.free(`${maps}/m`);
  t.ok(await yard.gone(`${maps}/m1`));
});

yard("a dependent that is kept by its own finalizer keeps its reference while it ends", async (t, yard) => {
  const l = await yard.make(maps, "l");
  await yard.make(maps, "l1", [l], hold);
  await yard.remove(`${maps}/l`, "Background");
  t.ok(await yard.marked(`${maps}/l1`));
  await yard.settled();
  t.strictSame(await yard.owners(`${maps}/l1`), ["l"]);
  await yard.free(`${maps}/l1`);
  t.ok(await yard.gone(`${maps}/l1`));
});

yard("foreground: the owner goes with the last dependent that blocks it, and waits for no other", async (t, yard) => {
  const b = await yard.make(maps, "b");
  await yard.make(maps, "blocks", [blocking(b)], hold);
  await yard.make(maps, "free", [blocking(b)]);
  await yard.make(maps, "loose", [b], hold);
  t.equal((await yard.remove(`${maps}/b`, "Foreground")).json.metadata.finalizers[0], "foregroundDeletion");
  t.ok(await yard.gone(`${maps}/free`));
  t.ok(await yard.marked(`${maps}/blocks`));
  t.ok(await yard.marked(`${maps}/loose`));
  await yard.settled();
  t.ok(await yard.metadata(`${maps}/b`));
  await yard.free(`${maps}/blocks`);
  t.ok(await yard.gone(`${maps}/b`));
  t.ok(await yard.metadata(`${maps}/loose`));
});

yard("foreground goes along a chain, and in a circle the block is lifted", async (t, yard) => {
  const j = await yard.make(maps, "j");
  const j1 = await yard.make(maps, "j1", [blocking(j)]);
  await yard.make(maps, "j2", [blocking(j1)], hold);
  await yard.remove(`${maps}/j`, "Foreground");
  t.ok(await yard.marked(`${maps}/j2`));
  t.strictSame((await yard.metadata(`${maps}/j1`))?.["finalizers"], ["foregroundDeletion"]);
  await yard.free(`${maps}/j2`);
  t.ok(await yard.gone(`${maps}/j`));

  const k = await yard.make(maps, "k");
  const k1 = await yard.make(maps, "k1", [blocking(k)]);
  await yard.server.call("PATCH", `${maps}/k`, { metadata: { ownerReferences: [blocking(k1)] } }, merge);
  await yard.settled();
  await yard.remove(`${maps}/k`, "Foreground");
  t.ok(await yard.gone(`${maps}/k`));
  t.ok(await yard.gone(`${maps}/k1`));
});

yard("an object that owns itself does not wait for itself", async (t, yard) => {
  for (const policy of ["Foreground", "Orphan", "Background"]) {
    const a = await yard.make(maps, "a");
    await yard.server.call("PATCH", `${maps}/a`, { metadata: { ownerReferences: [blocking(a)] } }, merge);
    await yard.settled();
    await yard.remove(`${maps}/a`, policy);
    t.ok(await yard.gone(`${maps}/a`), policy);
  }
});

yard("foreground: a reference that is taken off or blocks no more lets the owner go", async (t, yard) => {
  const b = await yard.make(maps, "b");
  await yard.make(maps, "one", [blocking(b)], hold);
  await yard.make(maps, "two", [blocking(b)], hold);
  await yard.remove(`${maps}/b`, "Foreground");
  t.ok(await yard.marked(`${maps}/two`));
  await yard.settled();
  await yard.server.call("PATCH", `${maps}/one`, { metadata: { ownerReferences: null } }, merge);
  await yard.settled();
  t.ok(await yard.metadata(`${maps}/b`));
  await yard.server.call("PATCH", `${maps}/two`, { metadata: { ownerReferences: [b] } }, merge);
  t.ok(await yard.gone(`${maps}/b`));
});

yard("orphan: dependents lose their reference, and then the owner goes", async (t, yard) => {
  const d = await yard.make(maps, "d");
  const x = await yard.make(maps, "x");
  await yard.make(maps, "d1", [blocking(d)]);
  await yard.make(maps, "d2", [d, x], hold);
  await yard.make(maps, "ending", [d], hold);
  await yard.remove(`${maps}/ending`);
  t.strictSame((await yard.remove(`${maps}/d`, "Orphan")).json.metadata.finalizers, ["orphan"]);
  t.ok(await yard.gone(`${maps}/d`));
  t.strictSame(await yard.owners(`${maps}/d1`), []);
  t.strictSame(await yard.owners(`${maps}/d2`), ["x"]);
  t.strictSame(await yard.owners(`${maps}/ending`), []);
  t.notOk((await yard.metadata(`${maps}/d1`))?.["deletionTimestamp"]);
});

yard("of several owners only those that are gone or wait are taken off while another lives", async (t, yard) => {
  const [e, f, g] = [await yard.make(maps, "e"), await yard.make(maps, "f"), await yard.make(maps, "g")];
  await yard.make(maps, "efg", [e, f, blocking(g)]);
  await yard.remove(`${maps}/e`);
  t.ok(await until(async () => (await yard.owners(`${maps}/efg`))?.join() === "f,g"));
  await yard.remove(`${maps}/g`, "Foreground");
  t.ok(await yard.gone(`${maps}/g`));
  t.strictSame(await yard.owners(`${maps}/efg`), ["f"]);
  await yard.remove(`${maps}/f`);
  t.ok(await yard.gone(`${maps}/efg`));
});

yard("an owner of another uid, name, kind or namespace is none", async (t, yard) => {
  const a = await yard.make(maps, "a");
  await yard.make("/api/v1/namespaces/kube-system/configmaps", "far");
  const far = await yard.make("/api/v1/namespaces/kube-public/configmaps", "far");
  const wrong = [
    { ...a, uid: "11111111-2222-3333-4444-555555555555" },
    { ...a, name: "b" },
    { ...a, kind: "Secret" },
    { ...a, apiVersion: "batch/v1", kind: "CronJob" },
    far,
  ];
  for (const [at, owner] of wrong.entries()) {
    await yard.make(maps, `w${at}`, [owner]);
    t.ok(await yard.gone(`${maps}/w${at}`), JSON.stringify(owner));
  }
  await yard.make(maps, "right", [a]);
  await yard.settled();
  t.ok(await yard.metadata(`${maps}/right`));
});

yard("the same owner is named through another served version of its kind", async (t, yard) => {
  const path = "/apis/batch/v1/namespaces/default/cronjobs";
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } };
  const spec = { schedule: "0 0 1 1 *", suspend: true, jobTemplate: { spec: { template } } };
  const { json } = await yard.server.call("POST", path, { metadata: { name: "cj" }, spec });
  const owner = { apiVersion: "batch/v1beta1", kind: "CronJob", name: "cj", uid: json.metadata.uid };
  await yard.make(maps, "of", [owner]);
  await yard.settled();
  t.ok(await yard.metadata(`${maps}/of`));
  await yard.remove(`${path}/cj`);
  t.ok(await yard.gone(`${maps}/of`));
});

yard("an owner of a kind that is not served leaves an object alone", async (t, yard) => {
  const a = await yard.make(maps, "a");
  const unknown = { apiVersion: "example.com/v1", kind: "Widget", name: "w", uid: "1" };
  await yard.make(maps, "u", [unknown, a]);
  await yard.make(maps, "v", [{ ...a, apiVersion: "v2" }]);
  await yard.make(maps, "review", [{ ...a, apiVersion: "authentication.k8s.io/v1", kind: "TokenReview" }]);
  await yard.remove(`${maps}/a`);
  await yard.settled();
  t.strictSame(await yard.owners(`${maps}/u`), ["w", "a"]);
  t.ok(await yard.metadata(`${maps}/v`));
  t.ok(await yard.metadata(`${maps}/review`));
});

yard("cluster-scoped owners have dependents everywhere; owners in a namespace none outside", async (t, yard) => {
  const n = await yard.make(nodes, "n");
  const a = await yard.make(maps, "a");
  await yard.make(maps, "of-node", [n]);
  await yard.make(nodes, "of-node", [n]);
  await yard.make(nodes, "of-map", [a]);
  await yard.remove(`${maps}/a`);
  await yard.remove(`${nodes}/n`, "Foreground");
  t.ok(await yard.gone(`${maps}/of-node`));
  t.ok(await yard.gone(`${nodes}/of-node`));
  t.ok(await yard.gone(`${nodes}/n`));
  await yard.settled();
  t.strictSame(await yard.owners(`${nodes}/of-map`), ["a"]);
});

yard("a new object of the owner's name does not adopt its dependents", async (t, yard) => {
  await yard.reconciler.stop();
  const a = await yard.make(maps, "a");
  await yard.make(maps, "old", [a]);
  await yard.remove(`${maps}/a`);
  const again = await yard.make(maps, "a");
  await yard.make(maps, "new", [again]);
  await yard.restart();
  t.ok(await yard.gone(`${maps}/old`));
  await yard.settled();
  t.ok(await yard.metadata(`${maps}/new`));
});

yard("a finalizer of its own says how a dependent is deleted", async (t, yard) => {
  const a = await yard.make(maps, "a");
  const b = await yard.make(maps, "b", [a], { finalizers: ["orphan"] });
  await yard.make(maps, "c", [b]);
  await yard.remove(`${maps}/a`);
  t.ok(await yard.gone(`${maps}/b`));
  t.strictSame(await yard.owners(`${maps}/c`), []);
});

yard("a dependent that gets a living owner meanwhile is not deleted", async (t, yard) => {
  const [a, b] = [await yard.make(maps, "a"), await yard.make(maps, "b")];
  await yard.make(maps, "d", [a]);
  let isAdopted = false;
  yard.server.store.before = async (change) => {
    if (isAdopted || change.type !== 3 || !change.key.endsWith("/d")) return undefined;
    isAdopted = true;
    await yard.server.call("PATCH", `${maps}/d`, { metadata: { ownerReferences: [a, b] } }, merge);
    return undefined;
  };
  await yard.remove(`${maps}/a`);
  t.ok(await until(async () => isAdopted && (await yard.owners(`${maps}/d`))?.join() === "b"));
});

yard("an object of many owners is looked at in pieces, and goes with the last of them", async (t, yard) => {
  const owners = [];
  for (let index = 0; index < 100; index++) owners.push(await yard.make(maps, `o${index}`));
  await yard.make(maps, "d", owners);
  await yard.remove(`${maps}/o7`);
  t.ok(await until(async () => (await yard.owners(`${maps}/d`))?.length === 99));
  for (let index = 0; index < 100; index++) await yard.remove(`${maps}/o${index}`);
  t.ok(await yard.gone(`${maps}/d`));
});

yard("events have no owner", async (t, yard) => {
  const a = await yard.make(maps, "a");
  const events = "/api/v1/namespaces/default/events";
  const metadata = { name: "e", ownerReferences: [a] };
  await yard.server.call("POST", events, {
    metadata,
    involvedObject: { namespace: "default", kind: "Pod", name: "p" },
  });
  await yard.remove(`${maps}/a`);
  await yard.settled();
  t.ok(await yard.metadata(`${events}/e`));
});

yard(
  "kinds that are defined while it runs own and are owned; with their definition all of it goes",
  async (t, yard) => {
    const control = runDefinitions(yard.server, yard.reports);
    const widgets = "/apis/example.com/v1/namespaces/default/widgets";
    const body = (name: string, owners: readonly object[]): object => ({
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: { name, ownerReferences: owners },
    });
    const early = { apiVersion: "example.com/v1", kind: "Widget", name: "w", uid: "nobody" };
    await yard.make(maps, "early", [early]);
    await yard.settled();
    t.ok(await yard.metadata(`${maps}/early`), "nothing is known of its owner");
    await yard.server.call("POST", definitions, definition("widgets", "Widget"));
    t.ok(await establishedIn(yard.server, "widgets.example.com"));
    t.ok(await yard.gone(`${maps}/early`), "its owner is not there");
    const o = await yard.make(maps, "o");
    const w = (await yard.server.call("POST", widgets, body("w", [blocking(o)]))).json;
    const owner = { apiVersion: w.apiVersion, kind: w.kind, name: "w", uid: w.metadata.uid };
    await yard.make(maps, "of-w", [blocking(owner)]);
    await yard.remove(`${maps}/o`, "Foreground");
    for (const path of [`${maps}/of-w`, `${widgets}/w`, `${maps}/o`]) t.ok(await yard.gone(path), path);
    const v = (await yard.server.call("POST", widgets, body("v", []))).json;
    await yard.make(maps, "of-v", [{ ...owner, name: "v", uid: v.metadata.uid }]);
    await yard.settled();
    await yard.remove(`${definitions}/widgets.example.com`);
    t.ok(await goneFrom(yard.server, "widgets.example.com"));
    t.ok(await yard.gone(`${maps}/of-v`), "its owner went with the kind");
    await yard.make(maps, "late", [owner]);
    await yard.settled();
    t.ok(await yard.metadata(`${maps}/late`), "what is written later is left alone");
    await control.stop();
  },
);

yard("what a kind's end left undone is done after a restart", async (t, yard) => {
  const control = runDefinitions(yard.server, yard.reports);
  await yard.server.call("POST", definitions, definition("widgets", "Widget"));
  t.ok(await establishedIn(yard.server, "widgets.example.com"));
  const widgets = "/apis/example.com/v1/namespaces/default/widgets";
  const v = (
    await yard.server.call("POST", widgets, { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "v" } })
  ).json;
  await yard.make(maps, "of-v", [{ apiVersion: v.apiVersion, kind: v.kind, name: "v", uid: v.metadata.uid }]);
  await yard.reconciler.stop();
  await yard.remove(`${definitions}/widgets.example.com`);
  t.ok(await goneFrom(yard.server, "widgets.example.com"));
  t.ok(await yard.metadata(`${maps}/of-v`));
  await yard.restart();
  t.ok(await yard.gone(`${maps}/of-v`));
  await control.stop();
});

yard("nothing is left half done by one that was stopped", async (t, yard) => {
  const owners = [];
  for (const name of ["a", "b", "c"]) owners.push(await yard.make(maps, name));
  for (let i = 0; i < 30; i++) await yard.make(maps, `d${i}`, [blocking(owners[i % 3] as (typeof owners)[0])]);
  await yard.reconciler.stop();
  await yard.remove(`${maps}/a`, "Foreground");
  await yard.remove(`${maps}/b`, "Orphan");
  await yard.remove(`${maps}/c`, "Background");
  await yard.restart();
  for (const name of ["a", "b", "c"]) t.ok(await yard.gone(`${maps}/${name}`), name);
  await yard.settled();
  const left = (await yard.server.call("GET", maps)).json.items as {
    metadata: { name: string; ownerReferences?: [] };
  }[];
  t.equal(left.length, 10);
  t.ok(
    left.every(({ metadata }) => metadata.ownerReferences === undefined && Number(metadata.name.slice(1)) % 3 === 1),
  );
});

/** References to objects that never were, by the names of others. */
function repeated(names: readonly string[], count: number): Reference[] {
  const owner = { apiVersion: "v1", kind: "ConfigMap" };
  return Array.from({ length: count }, (_none, at) => ({
    ...owner,
    name: names[at % names.length] ?? "",
    uid: `u${at}`,
  }));
}

/** Keeps an object from being deleted, whatever its other owners are. */
const unknownOwner: Reference = { apiVersion: "example.com/v1", kind: "Unknown", name: "x", uid: "x" };

yard("an object that names many owners of one name is a dependent of the one with that uid", async (t, yard) => {
  const o = await yard.make(maps, "o", [], hold);
  await yard.make(maps, "many", [unknownOwner, blocking(o), ...repeated(["o"], 500)]);
  await yard.settled();
  t.equal(yard.collector.size, 502);
  await yard.remove(`${maps}/o`, "Foreground");
  await yard.settled();
  t.strictSame((await yard.metadata(`${maps}/o`))?.["finalizers"], ["example.com/hold", "foregroundDeletion"]);
  await yard.server.call("PATCH", `${maps}/many`, { metadata: { ownerReferences: null } }, merge);
  await yard.settled();
  t.equal(yard.collector.size, 0);
  t.strictSame((await yard.metadata(`${maps}/o`))?.["finalizers"], hold.finalizers);
});

yard("each owner is read once for an object, however often it is named", async (t, yard) => {
  await yard.make(maps, "a");
  await yard.make(maps, "b");
  await yard.settled();
  const { scheme, views } = yard.server.server;
  const view = views.find(scheme.find("", "v1", "configmaps")?.prefix ?? "");
  if (view === undefined) throw new Error("Config maps are stored");
  view.drain();
  const owners = [view.get("default", "a"), view.get("default", "b")];
  const read: number[] = [];
  const object = view.object.bind(view);
  view.object = (at) => {
    read.push(...owners.filter((owner) => owner === at));
    return object(at);
  };
  await yard.make(maps, "many", [unknownOwner, ...repeated(["a", "b"], 500)]);
  await yard.settled();
  t.strictSame(read, owners);
});

yard("namespaces take turns: one with many dependents holds up another by a few", async (t, yard) => {
  const elsewhere = "/api/v1/namespaces/elsewhere/configmaps";
  await yard.make("/api/v1/namespaces", "elsewhere");
  const [many, one] = [await yard.make(maps, "many"), await yard.make(elsewhere, "one")];
  for (let index = 0; index < 300; index += 1) await yard.make(maps, `of-many-${index}`, [many]);
  await yard.make(elsewhere, "of-one", [one]);
  const deleted: string[] = [];
  // Both are noted before anything is done about either, however much of the work fits in a turn; then each commit takes
  // a turn of the loop, as one of another thread does.
  let goOn: (() => void) | undefined;
  const noted = new Promise<void>((resolve) => (goOn = resolve));
  const inTurn = async (): Promise<undefined> => {
    await noted;
    await nextTurn();
    return undefined;
  };
  yard.server.store.before = ({ type, key }) => {
    if (type === changeTypes.delete) deleted.push(key);
    return key.includes("/of-") ? inTurn() : undefined;
  };
  await Promise.all([yard.remove(`${maps}/many`), yard.remove(`${elsewhere}/one`)]);
  t.ok(await until(() => yard.reconciler.catchUp()));
  goOn?.();
  t.ok(await yard.gone(`${elsewhere}/of-one`));
  await yard.settled();
  const turnOf = (name: string): number => deleted.findIndex((key) => key.endsWith(`/elsewhere/${name}`));
  const turns = turnOf("of-one") - turnOf("one");
  t.ok(turns > 0 && turns < 100, `${turns} deletes after its owner's, of ${deleted.length}`);
});
