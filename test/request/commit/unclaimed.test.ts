// Claims of services that were written by a server without claims.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import { createScheme } from "../../../src/api/scheme.ts";
import { assert } from "../../../src/base/assert.ts";
import { limits } from "../../../src/config/limits.ts";
import { type Claim, claimChange } from "../../../src/request/commit/serviceallocations.ts";
import { UnclaimedAddresses } from "../../../src/request/commit/unclaimed.ts";
import { openMemory } from "../../../src/storage/memory/store.ts";
import { type Change, changeTypes, type Record, type Store, StoreError } from "../../../src/storage/store.ts";
import { HandClock } from "../../contract/store.ts";

const root = mkdtempSync(join(tmpdir(), "orch-unclaimed-"));
t.teardown(() => rmSync(root, { recursive: true, force: true }));
let stores = 0;

const services = createScheme({ identity: identities.kubernetes }).find("", "v1", "services")?.stored;
assert(services?.prefix !== undefined, "Services are stored");
const prefix = services.prefix;

function service(name: string, spec: object, type: Change["type"] = changeTypes.create, expected = 0): Change {
  const head = '{"kind":"Service","apiVersion":"v1","metadata":{"name":';
  const body = Buffer.from(
    `${head}"${name}","namespace":"n","uid":"uid-${name}","resourceVersion":"","creationTimestamp":null},` +
      `"spec":${JSON.stringify(spec)},"status":{"loadBalancer":{}}}`,
  );
  const versionAt = body.indexOf('""') + 1;
  return { prefix, key: `${prefix}/n/${name}`, expected, type, selection: Buffer.alloc(0), body, versionAt };
}

async function replayed(store: Store): Promise<Record[]> {
  const all: Record[] = [];
  await store.replay((records) => void all.push(...records));
  return all;
}

/** Claims of a store, as `key: owner` lines. */
async function claimsOf(store: Store): Promise<string[]> {
  return (await replayed(store))
    .filter((record) => record.prefix !== prefix)
    .map(({ key, body }) => `${key.slice("/registry/ranges/".length)}: ${(JSON.parse(body.toString()) as Claim).uid}`)
    .sort();
}

async function opened(changes: readonly Change[]): Promise<{ store: Store; unclaimed: UnclaimedAddresses }> {
  const store = openMemory({ path: join(root, String(stores++)), identity: "kubernetes", clock: new HandClock() });
  for (const change of changes) assert("revision" in ((await store.commit([change]))[0] ?? {}), change.key);
  assert(services !== undefined, "Services are stored");
  const unclaimed = new UnclaimedAddresses(services);
  for (const record of await replayed(store)) unclaimed.take(record);
  return { store, unclaimed };
}

t.test("claim() gives every service what it has, unless it is claimed", async (t) => {
  const { store, unclaimed } = await opened([
    service("one", {
      clusterIP: "10.0.0.1",
      clusterIPs: ["10.0.0.1", "fd00::1"],
      ports: [{ port: 1, nodePort: 30_001 }],
    }),
    service("claimed", { clusterIP: "10.0.0.2", clusterIPs: ["10.0.0.2"] }),
    claimChange("address", "10.0.0.2", { namespace: "n", name: "claimed", uid: "uid-claimed" }, 1),
    service("same", { clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.1"], healthCheckNodePort: 30_002 }),
    service("none", { clusterIP: "None", clusterIPs: ["None"] }),
    service("name", { type: "ExternalName", externalName: "x" }),
    service("gone", { clusterIP: "10.0.0.3", clusterIPs: ["10.0.0.3"] }),
    service("gone", { clusterIP: "10.0.0.3", clusterIPs: ["10.0.0.3"] }, changeTypes.delete, 7),
    service("moved", { clusterIP: "10.0.0.4", clusterIPs: ["10.0.0.4"] }),
    service("moved", { clusterIP: "10.0.0.5", clusterIPs: ["10.0.0.5"] }, changeTypes.update, 9),
  ]);
  await unclaimed.claim(store, 5);
  t.strictSame(
    await claimsOf(store),
    [
      "servicenodeports/30001: uid-one",
      "servicenodeports/30002: uid-same",
      "serviceips/10.0.0.1: uid-one",
      "serviceips/10.0.0.2: uid-claimed",
      "serviceips/10.0.0.5: uid-moved",
      "serviceips/fd00::1: uid-one",
    ].sort(),
  );
  const before = store.revision;
  const again = new UnclaimedAddresses(services as NonNullable<typeof services>);
  for (const record of await replayed(store)) again.take(record);
  await again.claim(store, 6);
  t.equal(store.revision, before, "nothing is left to do");
});

t.test("claim() commits as many as a transaction takes, and leaves a full store to the repair", async (t) => {
  const ip = (index: number): string => `10.0.${index >> 8}.${index & 255}`;
  const count = limits.commitChangesMax + 5;
  const many = Array.from({ length: count }, (_, i) => service(`s${i}`, { clusterIP: ip(i), clusterIPs: [ip(i)] }));
  const { store, unclaimed } = await opened(many);
  const sizes: number[] = [];
  const commit = (changes: readonly Change[]) => {
    sizes.push(changes.length);
    return store.commit(changes);
  };
  await unclaimed.claim({ commit }, 5);
  t.strictSame(sizes, [limits.commitChangesMax, 5]);
  t.equal((await claimsOf(store)).length, count);
  const failing = (kind: StoreError["kind"]) => ({ commit: () => Promise.reject(new StoreError(kind, "x")) });
  await unclaimed.claim(failing("full"), 5);
  await t.rejects(unclaimed.claim(failing("in-doubt"), 5), { name: "StoreError", message: "x" });
});
