import { readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import t from "tap";
import { systemClock } from "../../../src/base/clock.ts";
import { openEtcd } from "../../../src/storage/etcd/store.ts";
import type { Outcome, Store } from "../../../src/storage/store.ts";
import { change, readBody } from "../../support/changes.ts";
import { noEtcd, noEtcdctl } from "../../support/etcd/binary.ts";
import { Etcd } from "../../support/etcd/etcd.ts";
import { openOn, plainValues, recordsOf } from "../../support/etcd/store.ts";
import { eventually } from "../../support/server.ts";

t.setTimeout(180_000);

const made = (outcome: Outcome | undefined): boolean => outcome !== undefined && "revision" in outcome;

/** Between a store and a member: answers can be held back, and connections cut. */
class Wire {
  readonly url: string;
  readonly #server: ReturnType<typeof createServer>;
  readonly #port: number;
  readonly #sockets = new Set<Socket>();
  /** Answers of the member are thrown away. */
  isDeaf = false;

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server;
    this.#port = (server.address() as { port: number }).port;
    this.url = `http://127.0.0.1:${this.#port}`;
  }

  static async open(url: string): Promise<Wire> {
    const { port } = new URL(url);
    const server = createServer((near) => {
      const far = connect(Number(port), "127.0.0.1");
      for (const socket of [near, far]) {
        wire.#sockets.add(socket);
        socket.on("error", () => undefined);
        socket.on("close", () => {
          wire.#sockets.delete(socket);
          near.destroy();
          far.destroy();
        });
      }
      near.on("data", (chunk) => far.write(chunk));
      far.on("data", (chunk) => {
        if (!wire.isDeaf) near.write(chunk);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const wire = new Wire(server);
    return wire;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Accepts connections again, at the same port. */
  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, "127.0.0.1", resolve));
  }

  /** Accepts no connection any more. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.cut();
    await closed;
  }
}

t.test(
  "a member that is killed, paused or cut off: another one goes on, nothing is lost or told twice",
  { skip: noEtcd },
  async (t) => {
    const etcd = await Etcd.open({ members: 3 });
    const store = await openOn({ urls: etcd.endpoints });
    t.teardown(async () => {
      await store.close();
      await etcd.close();
    });
    const records = await recordsOf(store);
    let next = 0;
    let longestMs = 0;
    let lastMs = performance.now();
    let running = true;
    const acknowledged: string[] = [];
    const write = async (): Promise<void> => {
      while (running) {
        const name = `w-${next++}`;
        const [outcome] = await store.commit([change("create", name, 0, name)]);
        if (!made(outcome)) continue;
        acknowledged.push(name);
        longestMs = Math.max(longestMs, performance.now() - lastMs);
        lastMs = performance.now();
      }
    };
    const writers = Array.from({ length: 8 }, write);
    const more = async (): Promise<void> => {
      const had = acknowledged.length;
      await eventually(() => acknowledged.length > had + 50);
    };
    await more();
    const first = etcd.members[0];
    await first?.kill();
    await more();
    first?.restart();
    await first?.healthy();
    const leader = await etcd.leader();
    await leader?.kill();
    await more();
    leader?.restart();
    await leader?.healthy();
    for (const member of etcd.members) {
      member.pause();
      await more();
      member.resume();
    }
    await more();
    running = false;
    await Promise.all(writers);
    await store.currentRevision();
    t.ok(longestMs < 10_000, `${longestMs.toFixed(0)} ms without a write`);
    const told = records.map(({ key }) => key.slice("/registry/configmaps/".length));
    t.equal(new Set(told).size, told.length, "nothing is told twice");
    const known = new Set(told);
    t.same(
      acknowledged.filter((name) => !known.has(name)),
      [],
      "what was acknowledged was told",
    );
    const revisions = records.map(({ revision }) => revision);
    t.ok(revisions.every((revision, i) => i === 0 || revision > (revisions[i - 1] ?? 0)));
    const again = await openOn({ urls: etcd.endpoints });
    const kept: string[] = [];
    await again.replay((some) => kept.push(...some.map(({ key }) => key.slice("/registry/configmaps/".length))));
    await again.close();
    t.same(new Set(kept), known, "what was told is what there is");
  },
);

t.test("a write whose answer is lost", { skip: noEtcd }, async (t) => {
  const etcd = await Etcd.open();
  const wire = await Wire.open(etcd.endpoints[0] as string);
  const store = await openOn({ urls: [wire.url] });
  const other = await openOn({ urls: etcd.endpoints });
  t.teardown(async () => {
    await store.close();
    await other.close();
    await wire.close();
    await etcd.close();
  });
  const records = await recordsOf(store);

  t.test("is acknowledged when its event comes back", async (t) => {
    wire.isDeaf = true;
    const committed = store.commit([change("create", "told", 0, "1")]);
    const seen = await recordsOf(other);
    await eventually(() => seen.length > 0);
    wire.isDeaf = false;
    wire.cut();
    const [outcome] = await committed;
    t.same(outcome, { revision: seen[0]?.revision });
    t.equal(records.length, 1);
  });

  t.test("is in doubt when it does not, and is made once", async (t) => {
    wire.isDeaf = true;
    const [outcome] = await store.commit([change("create", "doubted", 0, "1")]);
    t.match(outcome, { refused: "in-doubt" });
    await t.rejects(store.currentRevision(), { name: "StoreError" });
    wire.isDeaf = false;
    wire.cut();
    await store.currentRevision();
    t.equal(records.filter(({ key }) => key.endsWith("doubted")).length, 1);
    t.match(await store.commit([change("create", "doubted", 0, "1")]), [{ actual: records.at(-1)?.revision }]);
  });

  t.test("is refused for good when it was not sent", async (t) => {
    await etcd.members[0]?.kill();
    await wire.close();
    t.match(await store.commit([change("create", "unsent", 0, "1")]), [{ refused: /unavailable|in-doubt/ }]);
    t.match(await store.commit([change("create", "unsent", 0, "1")]), [{ refused: "unavailable" }]);
    await t.rejects(store.currentRevision(), { name: "StoreError" });
    etcd.members[0]?.restart();
    await etcd.healthy();
    await wire.listen();
    await eventually(async () => made((await store.commit([change("create", "unsent", 0, "1")]))[0]));
    t.equal(records.filter(({ key }) => key.endsWith("unsent")).length, 1);
  });
});

t.test("a cluster without room takes deletes, and writes again when there is some", { skip: noEtcd }, async (t) => {
  const etcd = await Etcd.open({ quotaBytes: 4 * 1024 * 1024 });
  const store = await openOn({ urls: etcd.endpoints });
  t.teardown(async () => {
    await store.close();
    await etcd.close();
  });
  const [first] = await store.commit([change("create", "first", 0)]);
  await etcd.fill();
  t.match(await store.commit([change("create", "second", 0)]), [{ refused: "full" }]);
  t.match(await store.commit([change("delete", "first", (first as { revision: number }).revision)]), [
    { revision: /\d/ },
  ]);
  await etcd.empty();
  t.match(await store.commit([change("create", "second", 0)]), [{ revision: /\d/ }]);
});

t.test("a cluster that was restored from an older state ends the store", { skip: noEtcd || noEtcdctl }, async (t) => {
  const etcd = await Etcd.open();
  const failed: Error[] = [];
  const store = await openOn({ urls: etcd.endpoints, fail: (error) => failed.push(error) });
  t.teardown(async () => {
    await store.close();
    await etcd.close();
  });
  await store.commit([change("create", "kept", 0, "1")]);
  const snapshot = await etcd.snapshot();
  for (let i = 0; i < 20; i++) await store.commit([change("create", `lost-${i}`, 0, "1")]);
  await etcd.restore(snapshot);
  await eventually(() => failed.length > 0);
  t.match(failed[0]?.message, /restored from an older state|another cluster/);
  await t.rejects(store.currentRevision(), failed[0] as Error);
  await t.rejects(store.commit([change("create", "late", 0, "1")]), failed[0] as Error);
  const again = await openOn({ urls: etcd.endpoints });
  const kept: string[] = [];
  await again.replay((records) => kept.push(...records.map(({ body }) => readBody(body).value)));
  await again.close();
  t.same(kept, ["1"]);
});

t.test(
  "a restored cluster that other programs brought past what was told ends the store before it tells or answers anything",
  { skip: noEtcd || noEtcdctl },
  async (t) => {
    const etcd = await Etcd.open();
    const [member] = etcd.members as [(typeof etcd.members)[number]];
    const wire = await Wire.open(member.url);
    const failed: Error[] = [];
    const store = await openOn({ urls: [wire.url], beatMs: 0, fail: (error) => failed.push(error) });
    t.teardown(async () => {
      await store.close();
      await wire.close();
      await etcd.close();
    });
    const records = await recordsOf(store);
    await store.commit([change("create", "kept", 0, "1")]);
    const snapshot = await etcd.snapshot();
    // The same key is at the same revisions, with another value, as a lease that one program renews.
    for (let i = 0; i < 5; i++) await etcd.put("/registry/other", `before ${i}`);
    await store.currentRevision();
    wire.cut();
    await store.currentRevision();
    t.same(failed, [], "a connection that was cut alone ends nothing");
    const told = store.revision;
    await wire.close();
    await etcd.restore(snapshot);
    while ((await etcd.revision()) < told) await etcd.put("/registry/other", "after");
    const asked = store.currentRevision();
    await wire.listen();
    await t.rejects(asked, /restored from an older state/, "a read at the revision that was told");
    await etcd.put("/registry/configmaps/default/late", "none of a record");
    t.match(failed[0]?.message, /has other writes up to revision \d+ than it told: it was restored/);
    t.equal(store.revision, told);
    t.equal(records.length, 1);
  },
);

t.test(
  "no write is acknowledged at a revision that was given out before a restore",
  { skip: noEtcd || noEtcdctl },
  async (t) => {
    const etcd = await Etcd.open();
    const failed: Error[] = [];
    // Without beats the answers of writes alone can tell.
    const store = await openOn({ urls: etcd.endpoints, beatMs: 0, fail: (error) => failed.push(error) });
    t.teardown(async () => {
      await store.close();
      await etcd.close();
    });
    await recordsOf(store);
    await store.commit([change("create", "kept", 0, "1")]);
    const snapshot = await etcd.snapshot();
    for (let i = 0; i < 50; i++) await store.commit([change("create", `lost-${i}`, 0, "1")]);
    const { revision } = store;
    const given: number[] = [];
    const again = (): number[] => given.filter((each) => each <= revision);
    let next = 0;
    const write = async (): Promise<void> => {
      while (failed.length === 0 && again().length === 0) {
        const outcomes = await store.commit([change("create", `late-${next++}`, 0, "1")]).catch(() => []);
        for (const outcome of outcomes) if ("revision" in outcome) given.push(outcome.revision);
      }
    };
    const restored = etcd.restore(snapshot);
    const writers = Array.from({ length: 8 }, write);
    await restored;
    await Promise.all(writers);
    t.same(again(), []);
    t.match(failed[0]?.message, /restored from an older state/);
  },
);

t.test("a cluster that asks for certificates and users", { skip: noEtcd }, async (t) => {
  const etcd = await Etcd.open({ tls: true, users: true });
  t.teardown(() => etcd.close());
  const { caFile = "", certFile = "", keyFile = "" } = etcd.tls ?? {};
  const [authority, certificate, key] = [caFile, certFile, keyFile].map((file) => readFileSync(file));
  const cluster = { prefix: "/registry", values: plainValues, leaseSharedSeconds: 60, sizePollMs: 0 };
  const endpoints = { urls: etcd.endpoints, authority, certificate, key };
  const store: Store = await openEtcd({ cluster: { ...cluster, endpoints }, identity: "orch", clock: systemClock });
  t.teardown(() => store.close());
  const records = await recordsOf(store);
  t.match(await store.commit([change("create", "private", 0, "1")]), [{ revision: /\d/ }]);
  t.equal(records.length, 1);
  await store.currentRevision();
  t.ok(await store.compact(store.revision), "what it may not do, it leaves to others");
});
