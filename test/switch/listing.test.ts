// What the comparison of two servers' lists finds, on lists made here: the run itself needs upstream's program.
import t from "tap";
import { addressesOf, unreadKeys, wronglyStored } from "./checks.ts";
import { knownDifferences, sortOut } from "./known.ts";
import {
  compareObjects,
  compareOrder,
  firstDifference,
  keyOf,
  type Listed,
  type Listing,
  type StoredKey,
} from "./listing.ts";

function object(kind: string, name: string, resourceVersion: string, more: object = {}): Listed {
  return { apiVersion: "v1", kind, metadata: { namespace: "a", name, resourceVersion }, ...more };
}

function listing(path: string, ...objects: Listed[]): Listing {
  return { resources: [], objects: new Map(objects.map((each) => [keyOf(path, each), each])) };
}

t.test("firstDifference() tells where two values differ", (t) => {
  t.equal(firstDifference({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }), undefined);
  t.equal(firstDifference({ a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }), ".a[1].b: 2 and 3");
  t.equal(firstDifference({ a: "" }, {}), '.a: "" and nothing');
  t.end();
});

t.test("lists differ by objects, fields, versions and order", (t) => {
  const path = "/api/v1/configmaps";
  const one = listing(path, object("ConfigMap", "a", "1"), object("ConfigMap", "b", "2"));
  const other = listing(path, object("ConfigMap", "b", "3"), object("ConfigMap", "c", "4"));
  t.strictSame(compareObjects(one.objects, one.objects), []);
  t.strictSame(compareObjects(one.objects, other.objects), [
    `${path} a/a: only the first has it`,
    `${path} a/b .metadata.resourceVersion: "2" and "3"`,
    `${path} a/c: only the second has it`,
  ]);
  const turned = listing(path, object("ConfigMap", "b", "2"), object("ConfigMap", "a", "1"));
  t.strictSame(compareOrder(one, turned), [`order: ${path} a/a comes where the second has ${path} a/b`]);
  t.end();
});

t.test("what is known is counted by its reason, and the rest stays", (t) => {
  const met: Record<string, number> = {};
  const lines = [
    "/apis/coordination.k8s.io/v1/leases kube-system/apiserver-controllers .spec: 1 and 2",
    "/api/v1/pods a/b: 1 and 2",
  ];
  t.strictSame(sortOut(lines, knownDifferences, met), [lines[1]]);
  t.strictSame(Object.values(met), [1]);
  t.end();
});

t.test("keys without an object, in the clear or without a lease, and addresses of two services are found", (t) => {
  const stored = (key: string, text: string, modRevision: string, lease = "0"): StoredKey => {
    return { key, value: Buffer.from(text), modRevision, lease };
  };
  const keys = [
    stored("/registry/secrets/a/a", "k8s:enc:aescbc:v1:key1:x", "1"),
    stored("/registry/secrets/a/b", "{}", "2"),
    stored("/registry/events/a/c", "{}", "3", "7"),
    stored("/registry/events/a/d", "{}", "4"),
  ];
  const map = new Map(keys.map((each) => [each.key, each]));
  t.strictSame(unreadKeys(map, listing("/api/v1/secrets", object("Secret", "a", "1"), object("Event", "d", "4"))), [
    "/registry/secrets/a/b",
    "/registry/events/a/c",
  ]);
  t.strictSame(wronglyStored(map), ["/registry/secrets/a/b: in the clear", "/registry/events/a/d: its lease is 0"]);
  const spec = {
    clusterIPs: ["10.0.0.1"],
    ports: [
      { protocol: "TCP", nodePort: 30001 },
      { protocol: "UDP", nodePort: 30001 },
    ],
  };
  const services = listing(
    "/api/v1/services",
    object("Service", "a", "1", { spec }),
    object("Service", "b", "2", { spec }),
  );
  t.strictSame(addressesOf(services), [
    "10.0.0.1 belongs to /api/v1/services a/a and /api/v1/services a/b",
    "30001 belongs to /api/v1/services a/a and /api/v1/services a/b",
  ]);
  t.end();
});
