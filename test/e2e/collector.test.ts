// Deletions with dependents on a server of its own process: as kubectl asks for them, many at once, and with the server
// killed between any two steps of the collector.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { inspectable } from "../support/liveheap.ts";
import { Kubectl } from "../support/programs/kubectl.ts";
import { eventually, startServer, type TestServer } from "../support/server.ts";
import { collect } from "./collecting.ts";

t.setTimeout(900_000);

const maps = "/api/v1/namespaces/default/configmaps";
const policies = ["Background", "Foreground", "Orphan"] as const;

async function make(server: TestServer, name: string, owner?: object): Promise<object> {
  const ownerReferences = owner === undefined ? [] : [owner];
  const { code, json, text } = await server.call("POST", maps, { metadata: { name, ownerReferences } });
  if (code !== 201) throw new Error(text);
  return { apiVersion: "v1", kind: "ConfigMap", name, uid: json.metadata.uid, blockOwnerDeletion: true };
}

/** The config maps there are, with what keeps them and who owns them. */
async function left(server: TestServer): Promise<string[]> {
  const { json } = await server.call("GET", maps);
  const items = json.items as {
    metadata: { name: string; finalizers?: string[]; ownerReferences?: { name: string }[] };
  }[];
  return items.map(({ metadata: { name, finalizers = [], ownerReferences = [] } }) =>
    [name, ...finalizers, ...ownerReferences.map((owner) => owner.name)].join(" "),
  );
}

t.test("a server that is killed between any two steps of a collection ends it after the next start", async (t) => {
  const steps = ["looked:4", "before-change:1", "after-change:1", "before-delete:2", "after-delete:3"];
  for (const step of [...steps, "before-finalizer:1", "after-finalizer:1"]) {
    process.env["ORCH_FAILPOINT"] = `collector-${step}`;
    let server = await startServer(["--identity=kubernetes"]);
    delete process.env["ORCH_FAILPOINT"];
    const died = server.ended();
    for (const policy of policies) {
      const owner = await make(server, policy.toLowerCase());
      for (let index = 0; index < 5; index++) await make(server, `${policy.toLowerCase()}-${index}`, owner);
    }
    await make(server, "of-foreground-0", await make(server, "other"));
    const removeAll = async (): Promise<void> => {
      for (const propagationPolicy of policies)
        await server.call("DELETE", `${maps}/${propagationPolicy.toLowerCase()}`, { propagationPolicy });
    };
    await removeAll().catch(() => undefined);
    await died;
    await server.stop("SIGKILL", false);
    const { dir } = server;
    server = await startServer(["--identity=kubernetes"], dir);
    await removeAll();
    const expected = ["of-foreground-0 other", ...Array.from({ length: 5 }, (_, at) => `orphan-${at}`), "other"];
    const isDone = async (): Promise<boolean> => (await left(server)).join() === expected.join();
    if (!(await eventually(isDone, 60_000))) t.same(await left(server), expected, step);
    t.pass(step);
    await server.stop("SIGKILL");
  }
});

t.test("kubectl deletes with each cascade", async (t) => {
  if (spawnSync("kubectl", ["version", "--client"], { stdio: "ignore" }).status !== 0) {
    t.comment("there is no kubectl on the path");
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), "orch-cascade-"));
  const server = await startServer(["--identity=kubernetes"]);
  t.teardown(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const kubectl = new Kubectl("kubectl", server, folder, "cascade");
  for (const cascade of ["background", "foreground", "orphan"]) {
    const owner = await make(server, cascade);
    const inner = await make(server, `${cascade}-1`, owner);
    await make(server, `${cascade}-2`, inner);
    const { code, out, errors } = await kubectl.run(`delete cm ${cascade} --cascade=${cascade} --timeout=30s`);
    t.equal(code, 0, errors);
    t.match(out, `configmap "${cascade}" deleted`);
    t.notOk((await left(server)).includes(cascade));
    if (cascade === "foreground") t.same(await left(server), [], "dependents went before it");
    if (cascade === "background") t.ok(await eventually(async () => (await left(server)).length === 0));
  }
  t.same(await left(server), ["orphan-1", "orphan-2 orphan-1"]);
});

t.test("a thousand dependents go while others notice little", async (t) => {
  const server = await startServer(["--identity=kubernetes"], undefined, { nodeOptions: inspectable });
  t.teardown(() => server.stop());
  for (const policy of policies) {
    const { seconds, p99Ms, failures } = await collect(server, policy, 1_000);
    t.comment(`${policy}: ${seconds.toFixed(1)} s, 99th percentile of others ${p99Ms.toFixed(0)} ms`);
    t.ok(seconds < 60);
    t.equal(failures, 0);
  }
});
