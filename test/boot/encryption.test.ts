// Encryption at rest with a whole server: what its files hold, through restarts and kills; keys that are changed while it
// runs; KMS plugins that go and come back.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { documentOf, KmsPlugin, keyOf, type ProviderItem, type RuleOf } from "../storage/encryption/fixture.ts";
import { type Answer, eventually, startServer, type TestServer } from "../support/server.ts";
import { noOwnStore } from "../support/servers/storage.ts";

t.setTimeout(600_000);

const flag = "--encryption-provider-config";
const secrets = "/api/v1/namespaces/default/secrets";
const maps = "/api/v1/namespaces/default/configmaps";
const identity: ProviderItem = { identity: {} };
const aes = (...names: string[]): ProviderItem => ({
  aescbc: { keys: names.map((name) => keyOf(name, name.charCodeAt(0))) },
});

/** How long until a server has seen a file that changed, or looked at a plugin. */
const lookMsMax = 60_000;

function scratch(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), "orch-encryption-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function write(path: string, group: string, ...rules: RuleOf[]): void {
  writeFileSync(path, JSON.stringify({ ...documentOf(...rules), apiVersion: `${group}/v1` }));
}

/** Which of these texts are in any file of the store, as they are or in base64. */
function found(server: TestServer, ...texts: string[]): string[] {
  const store = join(server.dir, "store");
  const bytes = Buffer.concat(readdirSync(store).map((name) => readFileSync(join(store, name))));
  return texts.filter((text) => bytes.includes(text) || bytes.includes(base64(text)));
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

async function metric(server: TestServer, line: RegExp): Promise<number> {
  return Number(line.exec((await server.call("GET", "/metrics")).text)?.[1] ?? 0);
}

/** Writes an object back as it is, as `kubectl replace` does; whether it has another version then. */
async function isRewritten(server: TestServer, path: string): Promise<boolean> {
  const { json } = await server.call("GET", path);
  const answer = await server.call("PUT", path, json);
  if (answer.code !== 200) throw new Error(answer.text);
  return answer.json.metadata.resourceVersion !== json.metadata.resourceVersion;
}

const version = ({ json }: Answer): string => json.metadata.resourceVersion;

t.test(
  "secrets are encrypted on the disk, and nowhere else; keys change while the server runs",
  { skip: noOwnStore },
  async (t) => {
    const file = join(scratch(t), "encryption.json");
    const group = "apiserver.config.orch.io";
    const canaries = [
      "canary-of-data",
      "canary-of-annotations",
      "canary-of-fields",
      "canary-that-was-deleted",
    ] as const;
    const [data, annotation, field, deleted] = canaries;
    const body = (name: string): object => ({
      metadata: { name, annotations: { applied: annotation }, labels: { seen: "label-in-the-open" } },
      data: { [field]: base64(data) },
    });

    let server = await startServer([]);
    t.teardown(() => server.stop("SIGKILL"));
    await server.call("POST", secrets, body("old"));
    t.same(found(server, ...canaries), [data, annotation, field], "without the file everything is there");
    t.equal(await server.stop("SIGTERM"), 0);

    write(file, group, [["secrets"], aes("a"), identity]);
    const args = [`${flag}=${file}`, `${flag}-automatic-reload`];
    server = await startServer(args);
    const made = await server.call("POST", secrets, body("s"));
    t.equal(made.code, 201);
    const patch = { "content-type": "application/merge-patch+json" };
    const changed = await server.call("PATCH", `${secrets}/s`, { data: { more: base64(data) } }, patch);
    t.equal(changed.code, 200);
    await server.call("POST", secrets, { metadata: { name: "gone" }, stringData: { a: deleted } });
    t.equal((await server.call("DELETE", `${secrets}/gone`)).code, 200);
    await server.call("POST", maps, { metadata: { name: "m" }, data: { a: "config-in-the-open" } });
    t.same(found(server, ...canaries), []);
    t.same(found(server, "config-in-the-open", "label-in-the-open").length, 2, "what is not encrypted is there");

    await server.stop("SIGKILL", false);
    server = await startServer(args, server.dir);
    const read = await server.call("GET", `${secrets}/s`);
    t.same(read.json, changed.json, "it is what it was, with its version");
    t.equal((await server.call("GET", `${secrets}?labelSelector=seen%3Dlabel-in-the-open`)).json.items.length, 1);
    t.notOk(await isRewritten(server, `${secrets}/s`), "a write that changes nothing is not stored");

    const reloads = async (status: string, count: number): Promise<boolean> => {
      const line = new RegExp(
        `^apiserver_encryption_config_controller_automatic_reloads_total\\{.*status="${status}".*\\} (\\d+)$`,
        "m",
      );
      return eventually(async () => (await metric(server, line)) === count, lookMsMax);
    };
    write(file, group, [["secrets"], aes("b", "a")]);
    t.ok(await reloads("success", 1));
    t.ok(await isRewritten(server, `${secrets}/s`), "with another key it is");
    t.notOk(await isRewritten(server, `${secrets}/s`), "once");
    const rotated = version(await server.call("GET", `${secrets}/s`));
    writeFileSync(file, "kind: EncryptionConfiguration\nresources: secret-text\n");
    t.ok(await reloads("failure", 1));
    t.equal((await server.call("POST", secrets, body("while-the-file-is-wrong"))).code, 201);
    t.ok(await eventually(() => server.errors().includes("The former encryption configuration stays")));
    t.notMatch(server.errors(), /secret-text/);
    write(file, group, [["secrets"], aes("b")]);
    t.ok(await reloads("success", 2));
    t.same(found(server, ...canaries), []);

    await server.stop("SIGTERM", false);
    server = await startServer(args, server.dir);
    t.equal(version(await server.call("GET", `${secrets}/s`)), rotated, "the former key may go when nothing needs it");
    await server.stop("SIGTERM", false);

    const { dir } = server;
    const refused = async (message: RegExp, ...flags: string[]): Promise<void> => {
      const error = (await startServer(flags, dir).then(
        () => new Error("It started"),
        (error: unknown) => error,
      )) as Error;
      const [line = "", ...more] = error.message
        .replace(/^The server ended with 1: /, "")
        .trim()
        .split("\n");
      t.match(line, message);
      t.same(more, [], "one line");
      t.notMatch(line, /canary/);
    };
    const lost = `cannot open the store in ${dir}: /registry/secrets/default/s cannot be decrypted: it was encrypted as k8s:enc:aescbc:v1:b:, and`;
    await refused(new RegExp(`^orch: ${lost} there is no --encryption-provider-config$`));
    write(file, group, [["secrets"], aes("c", "a"), identity]);
    await refused(new RegExp(`^orch: ${lost} secrets has no such provider$`), ...args);
    write(file, group, [["secrets"], { aescbc: { keys: [{ name: "b", secret: "c2hvcnQ=" }] } }]);
    const wrong = `${flag} ${file}: resources\\[0\\].providers\\[0\\].aescbc.keys\\[0\\].secret: must be a key of 16, 24 or 32 bytes, not of 5`;
    await refused(new RegExp(`^orch: ${wrong}$`), ...args);
    write(file, group, [["secrets"], aes("b")]);
    server = await startServer(args, dir);
    t.equal(version(await server.call("GET", `${secrets}/s`)), rotated, "none of this changed anything");
  },
);

t.test("a KMS plugin that is away fails writes of its resources, and nothing else", async (t) => {
  const directory = scratch(t);
  const file = join(directory, "encryption.json");
  const group = "apiserver.config.k8s.io";
  const plugins = [
    new KmsPlugin(join(directory, "one"), "v1beta1"),
    new KmsPlugin(join(directory, "two"), "v2"),
  ] as const;
  const [one, two] = plugins;
  for (const plugin of plugins) {
    await plugin.start();
    t.teardown(() => plugin.stop());
  }
  const kms = ({ path }: KmsPlugin, name: string, more: object = {}): ProviderItem => ({
    kms: { name, endpoint: `unix://${path}`, timeout: "1s", ...more },
  });
  write(file, group, [["secrets"], kms(one, "one"), identity], [["configmaps"], kms(two, "two", { apiVersion: "v2" })]);
  const args = ["--identity=kubernetes", `${flag}=${file}`];
  let server = await startServer(args);
  t.teardown(() => server.stop("SIGKILL"));
  const health = (path: string): Promise<number> => server.call("GET", path).then(({ code }) => code);
  for (const path of ["/livez", "/readyz/kms-provider-0", "/livez/kms-provider-1"])
    t.equal(await health(path), 200, path);
  t.equal(await health("/livez/kms-provider-2"), 404);
  const make = (path: string, name: string): Promise<Answer> =>
    server.call("POST", path, {
      metadata: { name },
      ...(path === maps ? { data: { a: "canary" } } : { stringData: { a: "canary" } }),
    });
  t.equal((await make(secrets, "a")).code, 201);
  t.equal((await make(maps, "a")).code, 201);
  if (noOwnStore === false) t.same(found(server, "canary"), []);

  one.stop();
  t.ok(await eventually(async () => (await make(secrets, `b${Date.now()}`)).code === 500));
  const { json } = await make(secrets, "c");
  t.match(json, {
    kind: "Status",
    status: "Failure",
    reason: "InternalError",
    code: 500,
    message: "Internal error occurred: the object cannot be encrypted",
  });
  t.equal((await make(maps, "b")).code, 201, "the other plugin is there");
  t.equal((await make("/api/v1/namespaces/default/serviceaccounts", "b")).code, 201);
  t.equal((await server.call("GET", `${secrets}/a`)).code, 200, "reads need no plugin");
  t.ok(await eventually(async () => (await health("/livez/kms-provider-0")) === 500, lookMsMax));
  t.equal(await health("/livez/kms-provider-1"), 200);
  t.ok(await eventually(() => server.errors().includes("A KMS plugin fails")), "the log says why");
  await one.start();
  t.ok(await eventually(async () => (await make(secrets, `d${Date.now()}`)).code === 201, lookMsMax), "it came back");
  t.ok(await eventually(async () => (await health("/livez/kms-provider-0")) === 200, lookMsMax));

  await server.stop("SIGKILL", false);
  two.stop();
  // It is waited for at the start.
  const starting = startServer(args, server.dir);
  setTimeout(() => void two.start(), 3_000);
  server = await starting;
  t.equal((await server.call("GET", `${maps}/a`)).json.data.a, "canary");
  t.equal((await server.call("GET", `${secrets}/a`)).json.data.a, base64("canary"));
});
