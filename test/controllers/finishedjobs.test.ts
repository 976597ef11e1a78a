// Jobs that finished are deleted when their time is over, in the foreground.
import { FinishedJobs } from "../../src/controllers/finishedjobs.ts";
import { storedKind } from "../../src/controllers/storedkind.ts";
import { reconcilerOf } from "../support/controllers.ts";
import { until } from "../support/inprocess.ts";
import { scenario } from "../support/scenario.ts";

const jobs = "/apis/batch/v1/namespaces/default/jobs";
const merge = { "content-type": "application/merge-patch+json" };
const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } };

scenario("a job goes when it finished and its time is over, not before", async (t, server) => {
  const reports: string[] = [];
  const controller = new FinishedJobs(server.writers, storedKind(server, "batch", "v1", "jobs"));
  const reconciler = reconcilerOf(controller, server.server.clock, (message) => void reports.push(message));
  const make = async (name: string, ttlSecondsAfterFinished?: number): Promise<void> => {
    const { code, text } = await server.call("POST", jobs, {
      metadata: { name, finalizers: ["example.com/hold"] },
      spec: { suspend: true, template, ttlSecondsAfterFinished },
    });
    if (code !== 201) throw new Error(text);
  };
  const finish = async (name: string, type: string, more: object = {}): Promise<void> => {
    const lastTransitionTime = new Date(server.nowMs - 1000).toISOString().replace(/\.\d+/, "");
    const status = { conditions: [{ type, status: "True", lastTransitionTime, ...more }] };
    await server.call("PATCH", `${jobs}/${name}/status`, { status }, merge);
  };
  const finalizers = async (name: string): Promise<string[] | undefined> => {
    const { metadata } = (await server.call("GET", `${jobs}/${name}`)).json;
    return metadata.deletionTimestamp === undefined ? undefined : metadata.finalizers;
  };
  await make("before", 0);
  await finish("before", "Complete");
  reconciler.start();
  for (const [name, life] of [
    ["now", 0],
    ["soon", 4],
    ["stays"],
    ["runs", 0],
    ["suspended", 0],
    ["untold", 0],
  ] as const)
    await make(name, life);
  await finish("now", "Failed");
  await finish("soon", "Complete");
  await finish("stays", "Complete");
  await finish("suspended", "Suspended");
  await finish("untold", "Complete", { lastTransitionTime: null });
  t.ok(await until(async () => (await finalizers("now")) !== undefined));
  t.same(await finalizers("now"), ["example.com/hold", "foregroundDeletion"]);
  t.ok(await until(async () => (await finalizers("before")) !== undefined), "one that finished before the start");
  for (const name of ["soon", "stays", "runs", "suspended", "untold"]) t.equal(await finalizers(name), undefined, name);
  server.nowMs += 4000;
  server.aheadMs += 4000;
  t.ok(await until(async () => (await finalizers("soon")) !== undefined));
  for (const name of ["stays", "runs", "suspended", "untold"]) t.equal(await finalizers(name), undefined, name);
  t.same(reports, ["Job default/untold does not say when it finished"]);
  await reconciler.stop();
});
