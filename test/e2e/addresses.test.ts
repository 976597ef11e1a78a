// Service addresses on two fronts, through a crash: no service gets what another has.
import { join } from "node:path";
import t from "tap";
import { systemClock } from "../../src/base/clock.ts";
import { claimPrefixes } from "../../src/request/commit/serviceallocations.ts";
import { openLmdb } from "../../src/storage/lmdb/store.ts";
import { changeTypes, type Record } from "../../src/storage/store.ts";
import { startServer } from "../support/server.ts";
import { forgetStored, isOnEtcd } from "../support/servers/storage.ts";

const services = "/api/v1/namespaces/default/services";

t.test("two fronts never give out one address twice, not even around a crash", async (t) => {
  const flags = [
    "--front-workers=2",
    "--service-cluster-ip-range=10.7.0.0/28",
    "--service-node-port-range=30000-30013",
  ];
  let server = await startServer(flags);
  const make = (name: string, spec: object = {}) =>
    server.call("POST", services, { metadata: { name }, spec: { type: "NodePort", ports: [{ port: 80 }], ...spec } });
  const used = async (): Promise<string[]> => {
    const { items } = (await server.call("GET", services)).json as { items: Service[] };
    return items.flatMap(({ spec }) => [spec.clusterIP, String(spec.ports[0]?.nodePort)]);
  };
  try {
    const same = await Promise.all(["a", "b", "c", "d"].map((name) => make(name, { clusterIP: "10.7.0.5" })));
    t.strictSame(same.map(({ code }) => code).sort(), [201, 422, 422, 422]);
    const many = await Promise.all(Array.from({ length: 20 }, (_, index) => make(`s${index}`)));
    t.strictSame([...new Set(many.map(({ code }) => code))].sort(), [201, 500]);
    const all = await used();
    t.equal(all.length, 2 * 14);
    t.equal(new Set(all).size, all.length);

    await server.stop("SIGKILL", false);
    server = await startServer(flags, server.dir);
    t.strictSame((await used()).sort(), all.sort());
    t.equal((await make("late")).code, 500, "the range is still full");
    const [first] = ((await server.call("GET", services)).json as { items: Service[] }).items;
    await server.call("DELETE", `${services}/${first?.metadata.name}`);
    t.equal((await make("late")).json.spec.clusterIP, first?.spec.clusterIP);
  } finally {
    await server.stop();
  }
});

/** Takes all claims out of a store, as if a server that keeps none had written it. */
async function forgetClaims(dir: string): Promise<number> {
  if (isOnEtcd) return forgetStored(dir, "/ranges");
  const store = openLmdb({ path: join(dir, "store"), identity: "orch", clock: systemClock });
  const claims = new Map<string, Record>();
  const prefixes: readonly string[] = Object.values(claimPrefixes);
  await store.replay((records) => {
    for (const record of records) {
      if (!prefixes.includes(record.prefix)) continue;
      if (record.type === changeTypes.delete) claims.delete(record.key);
      else claims.set(record.key, record);
    }
  });
  const deletes = [...claims.values()].map((record) => {
    const { body, versionAt, revision } = record;
    const bare = Buffer.concat([body.subarray(0, versionAt), body.subarray(versionAt + String(revision).length)]);
    return { ...record, body: bare, expected: revision, type: changeTypes.delete };
  });
  const outcomes = await store.commit(deletes);
  await store.close();
  return outcomes.filter((outcome) => "revision" in outcome).length;
}

t.test("services that a server without claims wrote have theirs before the first request", async (t) => {
  const flags = ["--service-cluster-ip-range=10.7.0.0/28", "--service-node-port-range=30000-30013"];
  let server = await startServer(flags);
  const make = (name: string) =>
    server.call("POST", services, { metadata: { name }, spec: { type: "NodePort", ports: [{ port: 80 }] } });
  try {
    const made = await Promise.all(Array.from({ length: 14 }, (_, index) => make(`s${index}`)));
    t.ok(made.every(({ code }) => code === 201));
    await server.stop("SIGTERM", false);
    t.equal(await forgetClaims(server.dir), 2 * 14);
    server = await startServer(flags, server.dir);
    const late = await Promise.all(Array.from({ length: 4 }, (_, index) => make(`late${index}`)));
    t.strictSame([...new Set(late.map(({ code }) => code))], [500], "nothing is free");
    await server.call("DELETE", `${services}/s3`);
    const { code, json } = await make("after");
    t.equal(code, 201);
    t.equal(json.spec.clusterIP, made[3]?.json.spec.clusterIP, "their claims are released with them");
    const { items } = (await server.call("GET", "/api/v1/namespaces/default/events")).json as { items: Event[] };
    t.strictSame(
      items.filter(({ reason }) => reason.endsWith("NotAllocated")),
      [],
      "nothing was left for the repair",
    );
  } finally {
    await server.stop();
  }
});

interface Event {
  readonly reason: string;
}

interface Service {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly clusterIP: string; readonly ports: readonly { readonly nodePort?: number }[] };
}
