// Claims and volumes that are being deleted stay while they are used, and go when they are not.
import type { Test } from "tap";
import { ClaimProtection } from "../../src/controllers/claimprotection.ts";
import { VolumeProtection } from "../../src/controllers/volumeprotection.ts";
import { reconcilerOf } from "../support/controllers.ts";
import { type InProcess, until } from "../support/inprocess.ts";
import { scenario } from "../support/scenario.ts";

const base = "/api/v1/namespaces/default";
const claims = `${base}/persistentvolumeclaims`;
const volumes = "/api/v1/persistentvolumes";
const merge = { "content-type": "application/merge-patch+json" };

function running(name: string, check: (t: Test, server: InProcess) => Promise<void>): void {
  scenario(name, async (t, server) => {
    const reports: string[] = [];
    const report = (message: string): void => void reports.push(message);
    const controllers = [new ClaimProtection(server.writers), new VolumeProtection(server.writers)];
    const running = controllers.map((each) => reconcilerOf(each, server.server.clock, report));
    for (const each of running) each.start();
    try {
      await check(t, server);
      t.strictSame(reports, []);
    } finally {
      for (const each of running) await each.stop();
    }
  });
}

const gone = (server: InProcess, path: string): Promise<boolean> =>
  until(async () => (await server.call("GET", path)).code === 404);

async function claim(server: InProcess, name: string, more: object = {}): Promise<void> {
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  await server.call("POST", claims, { metadata: { name, ...more }, spec });
}

async function pod(server: InProcess, name: string, volume: object, nodeName?: string): Promise<string> {
  const spec = { nodeName, containers: [{ name: "c", image: "i" }], volumes: [{ name: "v", ...volume }] };
  const { json, code, text } = await server.call("POST", `${base}/pods`, { metadata: { name }, spec });
  if (code !== 201) throw new Error(text);
  return json.metadata.uid as string;
}

running("a claim goes when the last pod with a node that uses it is gone", async (t, server) => {
  for (const name of ["used", "unused", "waiting"]) await claim(server, name);
  const of = (claimName: string): object => ({ persistentVolumeClaim: { claimName } });
  await pod(server, "one", of("used"), "n");
  await pod(server, "two", of("used"), "n");
  await pod(server, "three", of("waiting"));
  await server.call("PATCH", `${base}/pods/one/status`, { status: { phase: "Succeeded" } }, merge);
  for (const name of ["used", "unused", "waiting"]) await server.call("DELETE", `${claims}/${name}`);
  t.ok(await gone(server, `${claims}/unused`));
  t.ok(await gone(server, `${claims}/waiting`), "a pod without a node uses nothing");
  await server.call("DELETE", `${base}/pods/two?gracePeriodSeconds=0`);
  t.ok(await gone(server, `${base}/pods/two`));
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.equal((await server.call("GET", `${claims}/used`)).code, 200, "a pod that finished counts");
  await server.call("DELETE", `${base}/pods/one?gracePeriodSeconds=0`);
  t.ok(await gone(server, `${claims}/used`));
});

running("a claim that lives with a pod is used by that pod alone", async (t, server) => {
  const template = { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } };
  const uid = await pod(server, "p", { ephemeral: { volumeClaimTemplate: template } }, "n");
  await pod(server, "q", { ephemeral: { volumeClaimTemplate: template } }, "n");
  const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid, controller: true };
  await claim(server, "p-v", { ownerReferences: [owner] });
  await claim(server, "q-v", { ownerReferences: [owner] });
  for (const name of ["p-v", "q-v"]) await server.call("DELETE", `${claims}/${name}`);
  t.ok(await gone(server, `${claims}/q-v`));
  t.equal((await server.call("GET", `${claims}/p-v`)).code, 200);
  await server.call("DELETE", `${base}/pods/p?gracePeriodSeconds=0`);
  t.ok(await gone(server, `${claims}/p-v`));
});

running("a volume goes unless it is bound; other finalizers stay", async (t, server) => {
  const spec = { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/x" } };
  for (const name of ["bound", "free"]) {
    const made = await server.call("POST", volumes, { metadata: { name, finalizers: ["example.com/x"] }, spec });
    t.equal(made.code, 201, made.text);
  }
  await server.call("PATCH", `${volumes}/bound/status`, { status: { phase: "Bound" } }, merge);
  for (const name of ["bound", "free"]) await server.call("DELETE", `${volumes}/${name}`);
  const finalizers = async (name: string): Promise<unknown> =>
    (await server.call("GET", `${volumes}/${name}`)).json.metadata.finalizers;
  t.ok(await until(async () => String(await finalizers("free")) === "example.com/x"));
  t.same(await finalizers("bound"), ["example.com/x", "kubernetes.io/pv-protection"]);
  await server.call("PATCH", `${volumes}/bound/status`, { status: { phase: "Released" } }, merge);
  t.ok(await until(async () => String(await finalizers("bound")) === "example.com/x"));
});
