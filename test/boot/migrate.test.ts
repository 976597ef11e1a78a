// Objects on their way between an embedded store, a cluster and snapshots, with the whole program: nothing but their versions
// changes, versions of before mean nothing any more, and what was cut off is not taken for whole.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { documentOf, keyOf } from "../storage/encryption/fixture.ts";
import { noEtcd } from "../support/etcd/binary.ts";
import { Etcd } from "../support/etcd/etcd.ts";
import { rangeOf } from "../support/etcd/gateway.ts";
import { eventually, startServer, type TestServer } from "../support/server.ts";
import { orch, scratch } from "../support/servers/command.ts";
import { program } from "../support/servers/program.ts";
import { noOwnStore } from "../support/servers/storage.ts";

t.setTimeout(600_000);

const secret = "canary-of-a-secret";
const lists = {
  maps: "/api/v1/namespaces/default/configmaps",
  secrets: "/api/v1/namespaces/default/secrets",
  services: "/api/v1/services",
  roles: "/apis/rbac.authorization.orch.io/v1/clusterroles",
  definitions: "/apis/apiextensions.orch.io/v1/customresourcedefinitions",
  widgets: "/apis/example.com/v1/widgets",
  leases: "/apis/coordination.orch.io/v1/namespaces/default/leases",
};
const skip = noOwnStore || noEtcd;

/** Objects of every form: plain and encrypted, with addresses, built-in and custom. */
async function fill(server: TestServer): Promise<void> {
  const made = async (path: string, body: object): Promise<void> => {
    const { code, text } = await server.call("POST", path, body);
    if (code !== 201) throw new Error(text);
  };
  for (let index = 0; index < 200; index += 1) {
    await made(lists.maps, {
      metadata: { name: `m${index}`, labels: { at: `${index % 7}` } },
      data: { text: "ü\u2028" },
    });
  }
  for (let index = 0; index < 20; index += 1) {
    await made(lists.secrets, { metadata: { name: `s${index}` }, stringData: { key: `${secret}-${index}` } });
  }
  await made("/api/v1/namespaces/default/services", {
    metadata: { name: "service" },
    spec: { type: "NodePort", ports: [{ port: 80 }] },
  });
  await made("/apis/coordination.orch.io/v1/namespaces/default/leases", { metadata: { name: "lease" }, spec: {} });
  const names = { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" };
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  await made(lists.definitions, {
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      names,
      scope: "Namespaced",
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: JSON.parse(JSON.stringify(schema).replace("kubernetes", "orch")),
        },
      ],
    },
  });
  await eventually(async () => (await server.call("GET", lists.widgets)).code === 200);
  for (let index = 0; index < 20; index += 1) {
    await made("/apis/example.com/v1/namespaces/default/widgets", {
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: { name: `w${index}` },
      spec: { size: index },
    });
  }
}

/** All objects, as they are but for their versions; and the newest version there is. */
async function state(server: TestServer): Promise<{ objects: Record<string, unknown>; version: number }> {
  const objects: Record<string, unknown> = {};
  let version = 0;
  for (const [name, path] of Object.entries(lists)) {
    const { code, json, text } = await server.call("GET", path);
    if (code !== 200) throw new Error(`${path}: ${text}`);
    version = Math.max(version, Number(json.metadata.resourceVersion));
    // biome-ignore lint/suspicious/noExplicitAny: of any kind
    objects[name] = json.items.map(({ metadata: { resourceVersion, ...metadata }, ...rest }: any) => {
      version = Math.max(version, Number(resourceVersion));
      return { ...rest, metadata };
    });
  }
  return { objects, version };
}

/** What clients of a former store hear that know a version of it. */
async function isAnewFor(t: Test, server: TestServer, version: number): Promise<void> {
  const seen: string[] = [];
  const close = server.watch(`${lists.maps}?watch=1&resourceVersion=${version}`, ({ type, object }) =>
    seen.push(`${type} ${(object as { code?: number }).code}`),
  );
  t.ok(await eventually(() => seen.length > 0), "a watch hears of it");
  t.same(seen, ["ERROR 410"]);
  close();
  const stale = { metadata: { name: "m0", resourceVersion: String(version) }, data: { stale: "yes" } };
  t.match(await server.call("PUT", `${lists.maps}/m0`, stale), { code: 409 });
  const { json } = await server.call("GET", `${lists.maps}/m0`);
  const written = await server.call("PUT", `${lists.maps}/m0`, { ...json, data: { version: String(version) } });
  t.equal(written.code, 200, written.text);
  t.ok(Number(written.json.metadata.resourceVersion) > version, "versions go on above");
}

t.test("objects move to a cluster, into a snapshot of it, and back", { skip }, async (t) => {
  const directory = scratch(t);
  const file = join(directory, "encryption.json");
  const rules = documentOf([["secrets"], { aescbc: { keys: [keyOf("one", 1)] } }, { identity: {} }]);
  writeFileSync(file, JSON.stringify({ ...rules, apiVersion: "apiserver.config.orch.io/v1" }));
  const encryption = `--encryption-provider-config=${file}`;
  const etcd = await Etcd.open();
  t.teardown(() => etcd.close());
  const members = `--etcd-servers=${etcd.endpoints.join()}`;

  const home = join(directory, "home");
  let server = await startServer([encryption], home);
  await fill(server);
  const before = await state(server);
  await server.stop("SIGTERM", false);

  await t.test("a store that moves has no other writer, and its place is empty", async (t) => {
    const other = await startServer([encryption], home);
    t.match(await orch("storage", "migrate", `--from=${home}`, `--to=${etcd.endpoints.join()}`, encryption), {
      code: 1,
      err: /in use by process/,
    });
    await other.stop("SIGTERM", false);
    await etcd.put("/registry/configmaps/default/other", "{}");
    t.match(await orch("storage", "migrate", `--from=${home}`, `--to=${etcd.endpoints.join()}`, encryption), {
      code: 1,
      err: /There are objects below --etcd-prefix already, as \/registry\/configmaps\/default\/other/,
    });
    await etcd.remove("/registry/");
    t.match(await orch("storage", "migrate", `--from=${home}`, `--to=${etcd.endpoints.join()}`), {
      code: 1,
      err: /\/registry\/secrets\/default\/s\d+ cannot be decrypted/,
    });
    t.match(await orch("storage", "migrate", `--from=${home}`), { code: 1, err: /usage/ });
  });

  await t.test("what was cut off is not served, and begins anew", async (t) => {
    await etcd.put("/registry/orch/format", "2");
    const older = await startServer([encryption, members], home).catch((error: unknown) => String(error));
    t.match(older, /The data have format 2, and this release reads 1/);
    await etcd.put("/registry/orch/filling", "");
    await etcd.put("/registry/configmaps/default/left", "{}");
    const refused = await startServer([encryption, members], home).catch((error: unknown) => String(error));
    t.match(refused, /such a move was cut off/);
  });

  const moved = await orch("storage", "migrate", `--from=${home}`, `--to=${etcd.endpoints.join()}`, encryption);
  t.equal(moved.code, 0, moved.err);
  t.match(moved.out, / objects moved, up to revision /);
  t.match(await orch("storage", "check", members, encryption), { code: 0, out: /etcd: whole; --identity=orch/ });
  server = await startServer([encryption, members], home);
  t.same((await state(server)).objects, before.objects);
  await isAnewFor(t, server, before.version);
  const inEtcd = await state(server);
  await server.stop("SIGTERM", false);

  const saved = join(directory, "saved");
  const taken = await orch("snapshot", "save", saved, members, encryption);
  t.equal(taken.code, 0, taken.err);
  t.notOk(readFileSync(saved).includes(Buffer.from(secret).toString("base64").slice(0, 20)), "secrets stay encrypted");
  t.equal((await orch("snapshot", "status", saved)).out, taken.out);

  await t.test("a snapshot of a cluster makes an embedded store", async (t) => {
    const place = join(directory, "restored");
    t.match(await orch("snapshot", "restore", saved, `--data-dir=${place}`), { code: 0 });
    t.match(await orch("storage", "check", `--data-dir=${place}`, encryption), { code: 0, out: /whole/ });
    const restored = await startServer([encryption], place);
    t.same((await state(restored)).objects, inEtcd.objects);
    // Objects keep their versions there: what was given out later is void.
    await isAnewFor(t, restored, inEtcd.version + 1);
    await restored.stop("SIGTERM", false);
  });

  await t.test("and another cluster's prefix", async (t) => {
    const prefix = "--etcd-prefix=/other";
    const restored = await orch("snapshot", "restore", saved, members, prefix, encryption);
    t.equal(restored.code, 0, restored.err);
    const other = await startServer([encryption, members, prefix], home);
    t.same((await state(other)).objects, inEtcd.objects);
    await isAnewFor(t, other, inEtcd.version);
    await other.stop("SIGTERM", false);
  });

  await t.test("and back to an embedded store", async (t) => {
    const back = join(directory, "back");
    const done = await orch("storage", "migrate", `--from=${etcd.endpoints.join()}`, `--to=${back}`, encryption);
    t.equal(done.code, 0, done.err);
    const bytes = Buffer.concat(
      readdirSync(join(back, "store")).map((name) => readFileSync(join(back, "store", name))),
    );
    t.notOk(bytes.includes(Buffer.from(secret).toString("base64").slice(0, 20)), "secrets stay encrypted");
    const again = await startServer([encryption], back);
    t.same((await state(again)).objects, inEtcd.objects);
    await isAnewFor(t, again, inEtcd.version);
    await again.stop("SIGTERM", false);
  });
});

t.test("a move that is killed leaves nothing that is served, and the next one is whole", { skip }, async (t) => {
  const directory = scratch(t);
  const etcd = await Etcd.open();
  t.teardown(() => etcd.close());
  const home = join(directory, "home");
  const server = await startServer([], home);
  await fill(server);
  const before = await state(server);
  await server.stop("SIGTERM", false);
  const args = ["storage", "migrate", `--from=${home}`, `--to=${etcd.endpoints.join()}`];
  const members = `--etcd-servers=${etcd.endpoints.join()}`;
  /** Keys of objects that are there, as long as the move says that it is under way; 0: it does not. */
  const underWay = async (): Promise<number> => {
    const { kvs = [] } = await etcd.call("/v3/kv/range", { ...rangeOf("/registry/"), keys_only: true });
    const keys = kvs.map(({ key }: { key: string }) => Buffer.from(key, "base64").toString());
    const own = keys.filter((key: string) => key.startsWith("/registry/orch/"));
    return own.includes("/registry/orch/filling") ? 1 + keys.length - own.length : 0;
  };
  for (const killAt of [1, 100]) {
    const move = spawn(process.execPath, [program, ...args], { stdio: "ignore" });
    const ended = new Promise((resolve) => move.once("exit", resolve));
    await eventually(async () => move.exitCode !== null || (await underWay()) >= killAt, 60_000);
    move.kill("SIGKILL");
    await ended;
    // It may have come to its end before the signal.
    if ((await underWay()) === 0) continue;
    const refused = await startServer([members], home).catch((error: unknown) => String(error));
    t.match(refused, /such a move was cut off/, `killed at ${killAt} keys`);
  }
  if ((await underWay()) === 0) await etcd.remove("/registry/");
  const done = await orch(...args);
  t.equal(done.code, 0, done.err);
  const moved = await startServer([members], home);
  t.same((await state(moved)).objects, before.objects);
  await moved.stop("SIGTERM", false);
  const place = join(directory, "file");
  const back = spawn(
    process.execPath,
    [program, "storage", "migrate", `--from=${etcd.endpoints.join()}`, `--to=${place}`],
    { stdio: "ignore" },
  );
  const ended = new Promise((resolve) => back.once("exit", resolve));
  await eventually(() => back.exitCode !== null || existsSync(join(place, "store.restoring")));
  back.kill("SIGKILL");
  await ended;
  if (!existsSync(join(place, "store"))) {
    const again = await orch("storage", "migrate", `--from=${etcd.endpoints.join()}`, `--to=${place}`);
    t.equal(again.code, 0, again.err);
  }
  t.match(await orch("storage", "check", `--data-dir=${place}`), { code: 0, out: /whole/ });
  const embedded = await startServer([], place);
  t.same((await state(embedded)).objects, before.objects);
  await embedded.stop("SIGTERM", false);
});
