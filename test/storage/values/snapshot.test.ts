// What kube-apiserver v1.23 left in etcd, a cluster with at least one object of nearly every kind: what is read from it is
// what that server lists, and what is written back are its bytes. Needs the shared snapshot.
import { existsSync, readFileSync } from "node:fs";
import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import { createScheme, type Resource } from "../../../src/api/scheme.ts";
import { assert } from "../../../src/base/assert.ts";
import { hasUnnamedField } from "../../../src/cache/shared/selection.ts";
import { represent } from "../../../src/request/answer/toversion.ts";
import { claimPrefixes } from "../../../src/request/commit/serviceallocations.ts";
import { type Content, StoredValues } from "../../../src/storage/values/storedvalues.ts";
import { readBoltFile } from "../../support/etcd/boltfile.ts";

const dir = "../shared/snapshots";
const identity = identities.kubernetes;
const scheme = createScheme({ identity, runtimeConfig: new Map([["api/all", true]]) });
const claims = Object.values(claimPrefixes);
const cluster = { family: "IPv4" } as const;
const json = new StoredValues({ scheme, mediaType: "application/json", claims, cluster });
const protobuf = new StoredValues({ scheme, mediaType: "application/vnd.kubernetes.protobuf", claims, cluster });

/** What upstream encrypted is not read here. */
const isEncrypted = (value: Buffer): boolean => value.subarray(0, 8).toString() === "k8s:enc:";

/** The change that stores what a record holds, at any revision. */
function withoutDigits({ body, versionAt }: Content, revision: number): Buffer {
  return Buffer.concat([body.subarray(0, versionAt), body.subarray(versionAt + String(revision).length)]);
}

interface Listed {
  readonly object: { readonly metadata: { readonly namespace?: string; readonly name: string } };
  /** Path of the list it is in. */
  readonly resource: string;
}

function servedAt(path: string): Resource | undefined {
  const [, group = "", version = "", resource = ""] = /^\/apis?\/(?:(.+)\/)?([^/]+)\/([^/]+)$/.exec(path) ?? [];
  return scheme.find(group, version, resource);
}

/** Everything that is listed, by the key it is stored at. */
function readListed(): Map<string, readonly [object: object, resource: Resource | undefined]> {
  const listed = new Map<string, readonly [object, Resource | undefined]>();
  for (const line of readFileSync(`${dir}/reference-1.23.objects.ndjson`, "utf8").trim().split("\n")) {
    const { object, resource: path } = JSON.parse(line) as Listed;
    const resource = servedAt(path);
    if (resource?.computed === true) continue;
    const prefix = resource?.prefix ?? path.replace(/^\/apis\/([^/]+)\/[^/]+\//, "/registry/$1/");
    const { namespace, name } = object.metadata;
    listed.set(namespace === undefined ? `${prefix}/${name}` : `${prefix}/${namespace}/${name}`, [object, resource]);
  }
  return listed;
}

if (existsSync(dir)) {
  const state = readBoltFile(`${dir}/reference-1.23.etcd.db`);
  const listed = readListed();

  t.test("decode() gives of upstream's values what upstream lists", (t) => {
    const left = new Set(listed.keys());
    for (const [key, { value, modRevision }] of state) {
      const prefix = json.placeOf(key);
      if (prefix === undefined || isEncrypted(value)) {
        left.delete(key);
        continue;
      }
      const { body } = json.decode(prefix, key, value, modRevision);
      const found = listed.get(key);
      if (found === undefined) continue;
      const [object, resource] = found;
      const shown = resource === undefined ? body : represent(resource, identity, body);
      t.strictSame(JSON.parse(Buffer.from(shown).toString()), object, key);
      left.delete(key);
    }
    t.strictSame([...left], [], "all that is listed was read");
    t.end();
  });

  t.test("placeOf() leaves upstream's own records alone", (t) => {
    t.strictSame([...state.keys()].filter((key) => json.placeOf(key) === undefined).sort(), [
      "/registry/masterleases/192.0.2.2",
      "/registry/ranges/serviceips",
      "/registry/ranges/servicenodeports",
    ]);
    t.end();
  });

  t.test("encode() gives back upstream's bytes, but for defaults it adds at a read", (t) => {
    const others: string[] = [];
    let same = 0;
    for (const [key, { value, modRevision }] of state) {
      const prefix = json.placeOf(key);
      if (prefix === undefined || isEncrypted(value)) continue;
      const content = json.decode(prefix, key, value, modRevision);
      const change = {
        prefix,
        key,
        expected: 0,
        type: 1,
        ...content,
        body: withoutDigits(content, modRevision),
      } as const;
      const written = Buffer.from(protobuf.encode(change));
      // What is JSON in any case has an empty resource version here, by which it is known.
      if (value[0] === 0x7b) {
        assert(written.equals(change.body), "JSON is stored as it is");
        continue;
      }
      if (written.equals(value)) same += 1;
      else others.push(key);
      t.equal(hasUnnamedField(content.selection), !written.equals(value), `${key} is stored anew where it is another`);
    }
    t.strictSame(others.sort(), [
      "/registry/controllerrevisions/snap/one",
      "/registry/persistentvolumeclaims/snap/one",
      "/registry/persistentvolumes/one-snapsh",
    ]);
    t.equal(same, 191);
    t.end();
  });

  t.test("decode() reads back what encode() wrote of upstream's values", (t) => {
    for (const [key, { value, modRevision }] of state) {
      const prefix = json.placeOf(key);
      if (prefix === undefined || isEncrypted(value)) continue;
      const content = json.decode(prefix, key, value, modRevision);
      const change = {
        prefix,
        key,
        expected: 0,
        type: 1,
        ...content,
        body: withoutDigits(content, modRevision),
      } as const;
      for (const values of [json, protobuf]) {
        const again = values.decode(prefix, key, values.encode(change), modRevision);
        t.equal(Buffer.from(again.body).toString(), Buffer.from(content.body).toString(), key);
      }
    }
    t.end();
  });
}
