// Versions that are not served any more, or are not the one a kind is stored in: what kube-apiserver v1.23 reads of them is
// recorded in older.ndjson, with the value as JSON and as protobuf.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import { builtInResources, createScheme } from "../../../src/api/scheme.ts";
import { hasUnnamedField } from "../../../src/cache/shared/selection.ts";
import { olderVersions, storableKey, storableVersions } from "../../../src/kinds/older/table.ts";
import { StoredValues } from "../../../src/storage/values/storedvalues.ts";

interface Named {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: { readonly namespace?: string; readonly name: string };
}

interface Recorded {
  readonly why: string;
  readonly json: Named;
  /** In base64. */
  readonly protobuf: string;
  readonly read: Named;
}

/** The project's folder: tests run from dist/test/storage/values. */
const root = join(dirname(fileURLToPath(import.meta.url)), "../../../..");
const lines = readFileSync(join(root, "test/storage/values/older.ndjson"), "utf8").trim().split("\n");
const recorded = lines.map((line) => JSON.parse(line) as Recorded);

const identity = identities.kubernetes;
const resources = builtInResources(identity);
const versions = storableVersions(resources, identity);
const scheme = createScheme({ identity, runtimeConfig: new Map([["api/all", true]]) });
const cluster = { family: "IPv4" } as const;
const values = new StoredValues({ scheme, mediaType: "application/json", claims: [], cluster });

for (const { why, json, protobuf, read } of recorded) {
  t.test(`decode() reads ${json.kind} of ${json.apiVersion}: ${why}`, (t) => {
    const prefix = versions.get(storableKey(json.apiVersion, json.kind))?.stored.prefix ?? "";
    const { namespace, name } = json.metadata;
    const key = namespace === undefined ? `${prefix}/${name}` : `${prefix}/${namespace}/${name}`;
    t.equal(values.placeOf(key), prefix);
    for (const value of [Buffer.from(`${JSON.stringify(json)}\n`), Buffer.from(protobuf, "base64")]) {
      const { body, selection } = values.decode(prefix, key, value, 42);
      const want = { ...read, metadata: { ...read.metadata, resourceVersion: "42" } };
      t.strictSame(JSON.parse(Buffer.from(body).toString()), want);
      const isKept = json.kind === "CustomResourceDefinition";
      t.equal(
        hasUnnamedField(selection),
        !isKept,
        "the next write stores it in the version of today, unless upstream keeps it",
      );
    }
    t.end();
  });
}

t.test("every older version has a recorded value", (t) => {
  const have = new Set(recorded.map(({ json }) => `${json.apiVersion} ${json.kind}`));
  const missing = olderVersions.flatMap(({ group, version, kinds }) => {
    const groups = kinds.filter((kind) => have.has(storableKey(`${group}/${version}`, kind)));
    return groups.length > 0 ? [] : [`${group}/${version} ${kinds.join()}`];
  });
  t.strictSame(missing, []);
  t.end();
});

t.test("older versions are read in the names of an identity", (t) => {
  const orch = identities.orch;
  const served = createScheme({ identity: orch });
  const own = new StoredValues({ scheme: served, mediaType: "application/json", claims: [], cluster });
  const value = Buffer.from(
    '{"kind":"RoleBinding","apiVersion":"rbac.authorization.orch.io/v1alpha1","metadata":{"name":"a","namespace":"n"},' +
      '"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"u"}]}',
  );
  const { body } = own.decode("/registry/rolebindings", "/registry/rolebindings/n/a", value, 1);
  t.match(JSON.parse(Buffer.from(body).toString()), {
    apiVersion: "rbac.authorization.orch.io/v1",
    roleRef: { apiGroup: "rbac.authorization.orch.io" },
    subjects: [{ apiGroup: "rbac.authorization.orch.io" }],
  });
  t.end();
});
