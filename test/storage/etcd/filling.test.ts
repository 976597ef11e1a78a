// A cluster that objects of another store are moved to: what may be there, what is removed, and who comes to an end.
import t from "tap";
import { Progress } from "../../../src/base/progress.ts";
import { EtcdClient } from "../../../src/storage/etcd/client.ts";
import { checkUsable, Filling, identityAt } from "../../../src/storage/etcd/filling.ts";
import { Keys } from "../../../src/storage/etcd/keys.ts";
import type { Cluster } from "../../../src/storage/store.ts";
import { noEtcd } from "../../support/etcd/binary.ts";
import { Etcd } from "../../support/etcd/etcd.ts";

t.setTimeout(240_000);

t.test("a cluster that is filled", { skip: noEtcd }, async (t) => {
  const etcd = await Etcd.open();
  t.teardown(() => etcd.close());
  const progress = new Progress({ write: () => undefined }, () => 0);
  const clusterAt = (prefix: string): Cluster =>
    ({ endpoints: { urls: etcd.endpoints }, prefix }) as Partial<Cluster> as Cluster;
  const usable = async (prefix: string): Promise<void> => {
    const client = new EtcdClient({ urls: etcd.endpoints });
    await checkUsable(client, new Keys(prefix), 5_000).finally(() => client.close());
  };

  await t.test("nothing is removed that another program wrote, wherever it stands", async (t) => {
    for (const key of ["/a/configmaps/x", "/b/secrets/x", "/c/orchids/x"]) {
      const prefix = key.slice(0, 2);
      await etcd.put(`${prefix}/orch/identity`, "orch");
      await etcd.put(`${prefix}/orch/touch`, "");
      await etcd.put(key, "value");
      const filling = new Filling(clusterAt(prefix));
      await t.rejects(filling.begin("orch", 0, progress), {
        kind: "full",
        message: new RegExp(`as ${key}: name another`),
      });
      filling.close();
      const { count } = await etcd.call("/v3/kv/range", { key: Buffer.from(key).toString("base64"), count_only: true });
      t.equal(Number(count), 1, key);
    }
  });

  await t.test("its revision is raised, and versions of before are gone at its end", async (t) => {
    const above = (await etcd.revision()) + 3_000;
    const filling = new Filling(clusterAt("/d"));
    await filling.begin("orch", above, progress);
    t.ok((await etcd.revision()) >= above);
    await t.rejects(usable("/d"), { kind: "corrupt", message: /being moved to this one/ });
    await etcd.put("/d/configmaps/x", "value");
    await filling.end();
    filling.close();
    await usable("/d");
    t.equal(await identityAt(clusterAt("/d")), "orch");
    const past = { key: Buffer.from("/d/").toString("base64"), revision: String(above) };
    await t.rejects(etcd.call("/v3/kv/range", past), /compacted/);
    const far = new Filling(clusterAt("/e"));
    await t.rejects(far.begin("orch", above + 20_000_000, progress), { kind: "full", message: /--bump-revision \d/ });
    far.close();
    t.equal(await identityAt(clusterAt("/e")), undefined, "nothing was written");
  });

  await t.test("of two moves one comes to its end", async (t) => {
    const [first, second] = [new Filling(clusterAt("/f")), new Filling(clusterAt("/f"))];
    await first.begin("orch", 0, progress);
    await etcd.put("/f/configmaps/x", "of the first");
    await second.begin("kubernetes", 0, progress);
    t.equal(await identityAt(clusterAt("/f")), undefined, "what the first wrote is gone, its identity too");
    await t.rejects(first.end(), { kind: "unavailable", message: /Another move to this cluster began/ });
    await t.rejects(usable("/f"));
    await second.end();
    await usable("/f");
    for (const filling of [first, second]) filling.close();
  });
});
