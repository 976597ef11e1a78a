import t from "tap";
import { type Outcome, type Store, StoreError } from "../../../src/storage/store.ts";
import type { Values } from "../../../src/storage/values.ts";
import { change, readBody } from "../../support/changes.ts";
import { noEtcd } from "../../support/etcd/binary.ts";
import { Etcd } from "../../support/etcd/etcd.ts";
import { openOn, plainValues, recordsOf } from "../../support/etcd/store.ts";
import { eventually } from "../../support/server.ts";

const revisionOf = (outcome: Outcome | undefined): number => {
  if (outcome !== undefined && "revision" in outcome) return outcome.revision;
  throw new Error(`no revision: ${JSON.stringify(outcome)}`);
};

t.test("stores of several servers on one etcd", { skip: noEtcd }, async (t) => {
  const etcd = await Etcd.open();
  const stores: Store[] = [];
  const open = async (options: Partial<Parameters<typeof openOn>[0]> = {}): Promise<Store> => {
    const store = await openOn({ urls: etcd.endpoints, ...options });
    stores.push(store);
    return store;
  };
  t.teardown(async () => {
    for (const store of stores) await store.close();
    await etcd.close();
  });
  const [a, b] = [await open(), await open()];

  t.test("currentRevision() is not answered before what the other one wrote was told", async (t) => {
    const records = await recordsOf(b);
    for (let i = 0; i < 50; i++) {
      const [made] = await a.commit([change("create", `seen-${i}`, 0, "1")]);
      t.ok((await b.currentRevision()) >= revisionOf(made));
      t.ok(b.revision >= revisionOf(made));
      t.equal(records.at(-1)?.key, `/registry/configmaps/seen-${i}`);
    }
  });

  t.test("currentRevision() gets beyond what is no record", async (t) => {
    const before = await a.currentRevision();
    const revision = await etcd.put("/elsewhere/x", "1");
    t.ok(revision > before);
    t.ok((await a.currentRevision()) >= revision);
    t.ok(a.revision >= revision);
  });

  t.test("one of two changes that expect the same revision is made, and the other hears what there is", async (t) => {
    const [made] = await a.commit([change("create", "raced", 0, "1")]);
    await b.currentRevision();
    let revision = revisionOf(made);
    const records = await recordsOf(b);
    for (let i = 0; i < 30; i++) {
      const [one, other] = await Promise.all(
        [a, b].map((store) => store.commit([change("update", "raced", revision, `${i}`)])),
      );
      const outcomes = [one?.[0], other?.[0]];
      const won = outcomes.filter((outcome) => outcome !== undefined && "revision" in outcome);
      t.equal(won.length, 1, JSON.stringify(outcomes));
      const lost = outcomes.find((outcome) => outcome !== undefined && "actual" in outcome);
      revision = revisionOf(won[0]);
      t.same(lost, { actual: revision });
    }
    await b.currentRevision();
    t.equal(records.filter(({ key }) => key.endsWith("raced")).length, 30);
    t.same(
      records.map(({ body }) => readBody(body).version),
      records.map(({ revision }) => String(revision)),
    );
  });

  t.test("a guard that another server has moved holds a change back", async (t) => {
    const [namespace] = await a.commit([change("create", "guard", 0, "1")]);
    const guard = { key: "/registry/configmaps/guard", revision: revisionOf(namespace) };
    const [made] = await b.commit([{ ...change("create", "guarded-1", 0), guard }]);
    t.ok(revisionOf(made) > guard.revision);
    const [moved] = await a.commit([change("update", "guard", guard.revision, "2")]);
    t.same(await b.commit([{ ...change("create", "guarded-2", 0), guard }]), [{ guarded: revisionOf(moved) }]);
    t.same(
      await b.commit([{ ...change("create", "guarded-1", 0), guard }]),
      [{ actual: revisionOf(made) }],
      "its own key first",
    );
    const [gone] = await a.commit([change("delete", "guard", revisionOf(moved))]);
    t.ok(revisionOf(gone));
    t.same(await b.commit([{ ...change("create", "guarded-2", 0), guard }]), [{ guarded: 0 }]);
    t.ok(revisionOf((await b.commit([{ ...change("create", "guarded-2", 0), guard: { ...guard, revision: 0 } }]))[0]));
  });

  t.test("listAt() reads the past in pages, and says when it is compacted", async (t) => {
    const names = ["p/a", "p/b", "p/c", "q/a"];
    const made = await a.commit(names.map((name) => change("create", name, 0, "old")));
    const revision = Math.max(...made.map(revisionOf));
    await a.commit(names.map((name, i) => change("update", name, revisionOf(made[i]), "new")));
    const ask = { revision, prefix: "/registry/configmaps", namespace: "p", after: "", limit: 2 };
    const first = await b.listAt?.(ask);
    t.same(
      first?.records.map(({ key, body }) => [key, readBody(body).value]),
      [
        ["/registry/configmaps/p/a", "old"],
        ["/registry/configmaps/p/b", "old"],
      ],
    );
    t.equal(first?.remaining, 1);
    const second = await b.listAt?.({ ...ask, after: "p/b" });
    t.same([second?.records.map(({ key }) => key), second?.remaining], [["/registry/configmaps/p/c"], 0]);
    const all = await b.listAt?.({ ...ask, namespace: "", limit: 100 });
    t.ok(all?.records.some(({ key }) => key.endsWith("q/a")));
    await a.compact(a.revision);
    await t.rejects(async () => void (await b.listAt?.(ask)), { name: "StoreError", kind: "compacted" });
  });

  t.test("compact() is done by one of all servers, upstream's among them", async (t) => {
    const [one, two] = [await open(), await open()];
    await one.commit([change("create", "compacted", 0)]);
    const target = await two.currentRevision();
    await one.currentRevision();
    await one.compact(target);
    t.equal(one.floor, target);
    await two.compact(target - 1);
    t.equal(two.floor, target, "the other one learns what was compacted");
    // As upstream's server does it: the writes of the key are counted.
    const revision = await etcd.put("compact_rev_key", String(target));
    await one.currentRevision();
    await one.compact(revision);
    t.equal(one.floor, target, "another server has done it in this interval");
    await one.compact(revision);
    t.equal(one.floor, revision);
    const late = await open();
    t.ok(late.floor >= revision, "a server that starts later knows");
  });

  t.test("what ends with its lease is deleted in one revision", async (t) => {
    const values = { ...plainValues, ttlSecondsOf: (prefix: string) => (prefix.endsWith("events") ? 1 : 0) };
    const store = await open({ values });
    const records = await recordsOf(store);
    const event = (name: string) => change("create", name, 0, "1", 0, "/registry/events");
    await store.commit([event("x"), event("y"), change("create", "stays", 0)]);
    await eventually(() => records.filter(({ type }) => type === 3).length === 2);
    const deleted = records.filter(({ type }) => type === 3);
    t.same(new Set(deleted.map(({ revision }) => revision)).size, 1);
    t.same(
      deleted.map(({ body }) => readBody(body)),
      deleted.map(({ revision }) => ({ version: String(revision), value: "1" })),
    );
    const again = await open({ values });
    const state: string[] = [];
    await again.replay((some) => state.push(...some.filter(({ type }) => type !== 3).map(({ key }) => key)));
    t.ok(state.includes("/registry/configmaps/stays"));
  });

  t.test("a change whose value cannot be encrypted now is refused alone, as that", async (t) => {
    const fault = new StoreError("unavailable", "the plugin is away");
    const values: Values = {
      ...plainValues,
      toStored: (one, key) => (key.endsWith("secret") ? Promise.reject(fault) : plainValues.toStored(one, key)),
    };
    const store = await open({ values });
    const [secret, plain] = await store.commit([change("create", "secret", 0, "1"), change("create", "plain", 0, "1")]);
    t.same(secret, { refused: "not-encrypted", message: "the plugin is away" });
    t.ok(revisionOf(plain) > 0);
  });

  t.test("a store that is opened at once has the state and no history", async (t) => {
    const store = await open({ atOnce: true });
    t.equal(store.floor, store.revision);
    await a.commit([change("create", "meanwhile", 0, "1")]);
    await store.currentRevision();
    // What was written since is told though it is compacted.
    await a.compact(a.revision);
    const keys: string[] = [];
    const after = await store.replay((records) => keys.push(...records.map(({ key }) => key)));
    t.ok(keys.includes("/registry/configmaps/stays"));
    t.ok(keys.includes("/registry/configmaps/meanwhile"));
    await a.commit([change("create", "later", 0, "1")]);
    await store.currentRevision();
    await a.compact(a.revision);
    const told: string[] = [];
    await store.watch(after, (records) => told.push(...records.map(({ key }) => key)));
    t.same(told, ["/registry/configmaps/later"]);
  });

  t.test("another identity is refused, and what upstream wrote is its own", async (t) => {
    const { openEtcd } = await import("../../../src/storage/etcd/store.ts");
    const { systemClock } = await import("../../../src/base/clock.ts");
    const at = (prefix: string, identity: string): Promise<Store> => {
      const cluster = {
        endpoints: { urls: etcd.endpoints },
        prefix,
        values: plainValues,
        leaseSharedSeconds: 60,
        sizePollMs: 0,
      };
      return openEtcd({ cluster, identity, clock: systemClock });
    };
    await t.rejects(at("/registry", "kubernetes"), { name: "StoreError", holds: "orch" });
    await etcd.put("/upstream/namespaces/default", "k8s");
    await t.rejects(at("/upstream", "orch"), { name: "StoreError", holds: "kubernetes" });
    stores.push(await at("/upstream", "kubernetes"));
    const { kvs = [] } = await etcd.call("/v3/kv/range", {
      key: Buffer.from("/upstream/").toString("base64"),
      range_end: Buffer.from("/upstream0").toString("base64"),
    });
    t.equal(kvs.length, 1, "nothing is written to it");
  });
});
