// Pods nothing looks after any more are removed.
import { limits } from "../../src/config/limits.ts";
import { PodGarbage } from "../../src/controllers/podgarbage.ts";
import { reconcilerOf } from "../support/controllers.ts";
import { type InProcess, until } from "../support/inprocess.ts";
import { scenario } from "../support/scenario.ts";

const pods = "/api/v1/namespaces/default/pods";
const nodes = "/api/v1/nodes";
const merge = { "content-type": "application/merge-patch+json" };

async function pod(server: InProcess, name: string, nodeName?: string, finalizers?: string[]): Promise<void> {
  const spec = { nodeName, containers: [{ name: "c", image: "i" }] };
  const { code, text } = await server.call("POST", pods, { metadata: { name, finalizers }, spec });
  if (code !== 201) throw new Error(text);
}

async function names(server: InProcess): Promise<string> {
  const { items } = (await server.call("GET", pods)).json as { items: { metadata: { name: string } }[] };
  return items.map(({ metadata }) => metadata.name).join();
}

scenario(
  "pods of a node that is gone are removed after a while, and never where no node is known",
  async (t, server) => {
    const reports: string[] = [];
    const controller = new PodGarbage(server.writers);
    const reconciler = reconcilerOf(controller, server.server.clock, (message) => void reports.push(message));
    reconciler.start();
    await pod(server, "early", "away");
    await reconciler.idle();
    server.aheadMs += limits.nodeMissedMs;
    t.ok(await until(() => reconciler.laterCount === 0));
    t.equal(await names(server), "early", "no node is known");
    for (const name of ["here", "there"]) await server.call("POST", nodes, { metadata: { name } });
    for (const [name, node] of [["a", "here"], ["b", "there"], ["c"]] as const) await pod(server, name, node);
    await server.call("DELETE", `${nodes}/there`);
    t.ok(await until(() => reconciler.laterCount === 2));
    server.aheadMs += limits.nodeMissedMs / 2;
    t.equal(await names(server), "a,b,c,early");
    server.aheadMs += limits.nodeMissedMs / 2;
    t.ok(await until(async () => (await names(server)) === "a,c"));
    await server.call("DELETE", `${nodes}/here`);
    t.ok(await until(() => reconciler.laterCount === 1));
    await server.call("POST", nodes, { metadata: { name: "here" } });
    server.aheadMs += limits.nodeMissedMs;
    t.ok(await until(() => reconciler.laterCount === 0));
    await reconciler.idle();
    t.equal(await names(server), "a,c", "a node that came back has its pods");
    t.same(reports, []);
    await reconciler.stop();
  },
);

scenario("the oldest pods that finished are removed beyond a number", async (t, server) => {
  const max = limits.finishedPodsMax;
  const bound = limits as { finishedPodsMax: number };
  bound.finishedPodsMax = 3;
  t.teardown(() => (bound.finishedPodsMax = max));
  const reconciler = reconcilerOf(new PodGarbage(server.writers), server.server.clock);
  reconciler.start();
  for (const name of ["a", "b", "c", "d", "e"]) await pod(server, name);
  for (const [name, phase] of [
    ["e", "Failed"],
    ["a", "Succeeded"],
    ["b", "Failed"],
    ["d", "Succeeded"],
  ] as const)
    await server.call("PATCH", `${pods}/${name}/status`, { status: { phase } }, merge);
  t.ok(await until(() => reconciler.laterCount === 1));
  server.aheadMs += limits.podGarbageLookMs;
  t.ok(await until(async () => (await names(server)) === "b,c,d,e"));
  await reconciler.stop();
});
