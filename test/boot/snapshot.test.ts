// Snapshots with the whole program: one taken beside a server that is written to, what is refused, and what clients of the
// former server see of one that was started on a restored store.
import { existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { saveSnapshot } from "../../src/storage/snapshotfile.ts";
import { eventually, startServer, type TestServer } from "../support/server.ts";
import { orch, scratch } from "../support/servers/command.ts";
import { noOwnStore } from "../support/servers/storage.ts";

t.setTimeout(240_000);

const maps = "/api/v1/namespaces/default/configmaps";

/** Creates, changes and deletes objects until it is told to end; resolves with the number of writes. */
function keepWriting(server: TestServer): () => Promise<number> {
  let isRunning = true;
  let writes = 0;
  const writer = async (of: number): Promise<void> => {
    for (let i = 0; isRunning; i++) {
      const name = `w-${of}-${i % 40}`;
      const data = { value: `${of}.${i}` };
      const created = await server.call("POST", maps, { metadata: { name }, data });
      if (created.code === 409) await server.call("PUT", `${maps}/${name}`, { metadata: { name }, data });
      if (i % 7 === 0) await server.call("DELETE", `${maps}/${name}`);
      writes++;
    }
  };
  const all = Promise.all(Array.from({ length: 8 }, (_, of) => writer(of)));
  return async () => {
    isRunning = false;
    await all;
    return writes;
  };
}

t.test(
  "a snapshot taken beside a server that is written to is its state at one revision",
  { skip: noOwnStore },
  async (t) => {
    const directory = scratch(t);
    const file = join(directory, "saved");
    const server = await startServer();
    const end = keepWriting(server);
    await eventually(async () => (await server.call("GET", maps)).json.items.length > 100);
    const saved = await orch("snapshot", "save", file, `--data-dir=${server.dir}`);
    t.equal(saved.code, 0, saved.err);
    const revision = /revision (\d+)/.exec(saved.out)?.[1] ?? "";
    t.ok((await end()) > 100);
    const query = `resourceVersion=${revision}&resourceVersionMatch=Exact`;
    const then = (await server.call("GET", `${maps}?${query}`)).json;
    const later = (await server.call("POST", maps, { metadata: { name: "later" } })).json.metadata.resourceVersion;
    t.ok(Number(later) > Number(revision));
    t.equal(statSync(file).mode & 0o777, 0o600);
    t.equal((await orch("snapshot", "status", file)).out, saved.out);

    await t.test("a store in use is not checked, and nothing is written over", async (t) => {
      t.match(await orch("storage", "check", `--data-dir=${server.dir}`), { code: 1, err: /in use by process/ });
      t.match(await orch("snapshot", "save", file, `--data-dir=${server.dir}`), { code: 1, err: /is there already/ });
      t.match(await orch("snapshot", "restore", file, `--data-dir=${server.dir}`), {
        code: 1,
        err: /has a store already/,
      });
      t.equal((await orch("snapshot", "status", file)).out, saved.out);
    });

    await server.stop("SIGTERM", false);
    t.match(await orch("storage", "check", `--data-dir=${server.dir}`), { code: 0, out: /whole; --identity=orch, / });

    const home = join(directory, "restored");
    const restored = await orch("snapshot", "restore", file, `--data-dir=${home}`);
    t.equal(restored.code, 0, restored.err);
    t.match(await orch("storage", "check", `--data-dir=${home}`), { code: 0, out: /whole/ });
    const again = await startServer([], home);

    await t.test("the restored one holds that state, object by object", async (t) => {
      const now = (await again.call("GET", maps)).json;
      t.same(now.items, then.items);
      t.ok(Number(now.metadata.resourceVersion) > Number(later));
    });

    await t.test("who knew a later state, or the history, is told that it is gone", async (t) => {
      for (const version of [later, revision]) {
        const seen: string[] = [];
        const close = again.watch(`${maps}?watch=1&resourceVersion=${version}`, ({ type, object }) =>
          seen.push(`${type} ${(object as { code?: number }).code}`),
        );
        t.ok(await eventually(() => seen.length > 0));
        t.same(seen, ["ERROR 410"]);
        close();
      }
      t.match(await again.call("GET", `${maps}?${query}`), { code: 410 });
      const name = then.items[0].metadata.name as string;
      const stale = { metadata: { name, resourceVersion: later }, data: { value: "stale" } };
      t.match(await again.call("PUT", `${maps}/${name}`, stale), { code: 409 });
      const written = await again.call("PUT", `${maps}/${name}`, { ...then.items[0], data: { value: "new" } });
      t.equal(written.code, 200, "a version that is still the object's is one");
      t.ok(Number(written.json.metadata.resourceVersion) > Number(later));
    });

    await again.stop();
    rmSync(server.dir, { recursive: true, force: true });
  },
);

t.test("a damaged file is refused, and nothing is made of it", { skip: noOwnStore }, async (t) => {
  const directory = scratch(t);
  const file = join(directory, "saved");
  const server = await startServer();
  t.equal((await orch("snapshot", "save", file, `--data-dir=${server.dir}`)).code, 0);
  await server.stop();
  const whole = readFileSync(file);
  const damage: [string, (bytes: Buffer) => Buffer][] = [
    ["another beginning", (bytes) => Buffer.concat([Buffer.from("x"), bytes.subarray(1)])],
    ["another format", (bytes) => flipped(bytes, 8)],
    ["a head that is too long", (bytes) => flipped(bytes, 15)],
    ["another byte in the head", (bytes) => flipped(bytes, 20)],
    ["another byte in the middle", (bytes) => flipped(bytes, bytes.length >> 1)],
    ["another byte in the checksum", (bytes) => flipped(bytes, bytes.length - 1)],
    ["a byte more", (bytes) => Buffer.concat([bytes, Buffer.of(0)])],
    ["no end", (bytes) => bytes.subarray(0, -40)],
    ["nothing", () => Buffer.alloc(0)],
  ];
  const home = join(directory, "home");
  for (const [what, change] of damage) {
    writeFileSync(file, change(whole));
    t.match(await orch("snapshot", "restore", file, `--data-dir=${home}`), { code: 1, err: /the snapshot/ }, what);
    t.notOk(existsSync(home), what);
  }
  // Whole, of a later release.
  for (const identity of ["later", "constructor"]) {
    rmSync(file);
    await saveSnapshot(file, { identity, revision: 1, savedMs: 0 }, () => undefined);
    const { code, err } = await orch("snapshot", "restore", file, `--data-dir=${home}`);
    t.match({ code, err }, { code: 1, err: new RegExp(`has --identity=${identity}, and this release knows orch`) });
    t.notOk(existsSync(home), identity);
  }
  truncateSync(file);
  t.match(await orch("snapshot", "status", file), { code: 1, err: /the snapshot is damaged/ });
  t.match(await orch("snapshot", "status", join(directory, "none")), { code: 1, err: /no such file/ });
  t.match(await orch("snapshot", "save", file, `--data-dir=${home}`), { code: 1 });
  t.match(await orch("snapshot"), { code: 1, err: /usage: snapshot save FILE/ });
  t.match(await orch("storage", "mend"), { code: 1, err: /usage/ });
});

function flipped(bytes: Buffer, at: number): Buffer {
  const other = Buffer.from(bytes);
  other[at] = (other[at] ?? 0) ^ 0x55;
  return other;
}
