import t from "tap";
import { openEtcd } from "../../../src/storage/etcd/store.ts";
import { denseStore, type Numbers } from "../../contract/densestore.ts";
import { storeContract } from "../../contract/store.ts";
import { noEtcd } from "../../support/etcd/binary.ts";
import { Etcd } from "../../support/etcd/etcd.ts";
import { plainValues } from "../../support/etcd/store.ts";

t.test("the contract on etcd", { skip: noEtcd }, async (t) => {
  const etcd = await Etcd.open();
  t.teardown(() => etcd.close());
  let places = 0;
  const numbers = new Map<string, Numbers>();
  storeContract(t, {
    name: "etcd",
    isShared: true,
    isRemote: true,
    place: () => `/place-${places++}`,
    open: async ({ path, identity, clock }) => {
      const known = numbers.get(path) ?? [];
      numbers.set(path, known);
      const endpoints = { urls: etcd.endpoints };
      const cluster = { endpoints, prefix: path, values: plainValues, leaseSharedSeconds: 60, sizePollMs: 0 };
      return denseStore(await openEtcd({ cluster, identity, clock }), known);
    },
  });
});
