// Which keys belong to which kind.
import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import { createScheme } from "../../../src/api/scheme.ts";
import { claimPrefixes } from "../../../src/request/commit/serviceallocations.ts";
import { StoredValues } from "../../../src/storage/values/storedvalues.ts";

const claims = Object.values(claimPrefixes);
const cluster = { family: "IPv4" } as const;
const table: [key: string, prefix: string | undefined][] = [
  ["/registry/pods/default/a", "/registry/pods"],
  ["/registry/services/specs/default/a", "/registry/services/specs"],
  ["/registry/services/endpoints/default/a", "/registry/services/endpoints"],
  ["/registry/minions/n1", "/registry/minions"],
  [
    "/registry/apiextensions.k8s.io/customresourcedefinitions/a.b.c",
    "/registry/apiextensions.k8s.io/customresourcedefinitions",
  ],
  ["/registry/example.com/widgets/default/a", "/registry/example.com/widgets"],
  ["/registry/example.com/widgets/a", "/registry/example.com/widgets"],
  ["/registry/ranges/serviceips/10.0.0.1", "/registry/ranges/serviceips"],
  ["/registry/ranges/servicenodeports/30000", "/registry/ranges/servicenodeports"],
  // Upstream's own records.
  ["/registry/ranges/serviceips", undefined],
  ["/registry/ranges/secondaryserviceips", undefined],
  ["/registry/masterleases/192.0.2.2", undefined],
  ["compact_rev_key", undefined],
  // No key of an object: too few names, too many, empty ones.
  ["/registry/pods/a", undefined],
  ["/registry/pods/default/a/b", undefined],
  ["/registry/pods/default/", undefined],
  ["/registry/pods//a", undefined],
  ["/registry/pods/", undefined],
  ["/registry/pods", undefined],
  ["/registry/minions/n1/b", undefined],
  ["/registry/services/default/a", undefined],
  ["/registry/example.com/widgets", undefined],
  ["/registry/example.com/widgets/", undefined],
  ["/registry/example.com//a", undefined],
  ["/registry/example.com/widgets/a/b/c", undefined],
  ["/registry/ranges/serviceips/a/b", undefined],
  ["/registry/thirdpartyresources/a", undefined],
  ["/other/pods/default/a", undefined],
  ["/registry/__proto__/a/b", undefined],
  ["", undefined],
  // A kind that is not served, though it has a dot in its prefix.
  ["/registry/apiregistration.k8s.io/apiservices/v1.", undefined],
  ["/registry/storageversions/a", undefined],
];

t.test("placeOf() tells the prefix of objects that are served, and of nothing else", (t) => {
  const runtimeConfig = new Map([["apiregistration.k8s.io/v1", false]]);
  const scheme = createScheme({ identity: identities.kubernetes, runtimeConfig });
  const values = new StoredValues({ scheme, mediaType: "application/json", claims, cluster });
  for (const [key, prefix] of table) t.equal(values.placeOf(key), prefix, key);
  t.end();
});

t.test("placeOf() has prefixes in the names of the identity", (t) => {
  const scheme = createScheme({ identity: identities.orch });
  const values = new StoredValues({ scheme, mediaType: "application/json", claims, cluster });
  const prefix = "/registry/apiextensions.orch.io/customresourcedefinitions";
  t.equal(values.placeOf(`${prefix}/a.b.c`), prefix);
  t.end();
});
