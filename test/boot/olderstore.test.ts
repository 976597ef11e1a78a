// A store that an earlier release wrote: format1.mdb.gz is the data.mdb of release 0.1.0 from before engines other than LMDB,
// with updates and deletes in its history, a definition and its object, and a service with its claims.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import t from "tap";
import { eventually, startServer } from "../support/server.ts";
import { program } from "../support/servers/program.ts";
import { noOwnStore } from "../support/servers/storage.ts";

t.setTimeout(240_000);

const stored = new URL("../../../test/boot/format1.mdb.gz", import.meta.url);
const maps = "/api/v1/namespaces/default/configmaps";
const widgets = "/apis/example.com/v1/namespaces/default/widgets";

t.test("a store of an earlier release is opened as it is, and goes on", { skip: noOwnStore }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "orch-older-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  mkdirSync(join(directory, "store"), { mode: 0o700 });
  writeFileSync(join(directory, "store", "data.mdb"), gunzipSync(readFileSync(stored)));
  const checked = execFileSync(process.execPath, [program, "storage", "check", `--data-dir=${directory}`], {
    encoding: "utf8",
  });
  t.match(checked, /whole; --identity=orch, .* up to revision 285,/);

  const server = await startServer([], directory);
  const { json } = await server.call("GET", maps);
  t.ok(Number(json.metadata.resourceVersion) >= 285, "revisions go on");
  type Map = { metadata: { name: string; resourceVersion: string }; data: { text: string } };
  const found = (json.items as Map[]).map(({ metadata, data }) => `${metadata.name} ${data.text}`);
  t.same(found, ["m0 é 0", "m1 changed", "m3 é 3", "m4 é 4"]);
  t.equal((await server.call("GET", `${maps}?labelSelector=at=3`)).json.items.length, 1, "side-tables are read");

  t.ok(await eventually(async () => (await server.call("GET", widgets)).code === 200));
  t.equal((await server.call("GET", `${widgets}/w`)).json.spec.size, 3);
  t.match(await server.call("GET", "/apis/apps/v1/namespaces/default/deployments/d"), { code: 200 });
  t.equal((await server.call("GET", "/api/v1/namespaces/default/secrets/s")).json.data.a, "Yg==");

  const first = (json.items as Map[])[0];
  t.equal((await server.call("PUT", `${maps}/m0`, { ...first, data: { text: "now" } })).code, 200);
  const web = (await server.call("GET", "/api/v1/namespaces/default/services/web")).json.spec;
  const other = { metadata: { name: "other" }, spec: { clusterIP: web.clusterIP, ports: [{ port: 80 }] } };
  t.match(await server.call("POST", "/api/v1/namespaces/default/services", other), {
    code: 422,
    text: /provided IP is already allocated/,
  });
  await server.stop();
});
