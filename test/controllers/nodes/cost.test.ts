// What nodes cost (5,000 with ORCH_FUZZ_ROUNDS=5000): renewals of leases, looks of the monitor, the start, and many nodes lost at once.
import t from "tap";
import { NodeLifecycle } from "../../../src/controllers/nodes/lifecycle.ts";
import { leastOf, threadCpuMs } from "../../support/cost.ts";
import { openInProcess } from "../../support/inprocess.ts";
import { fuzzRun } from "../../support/random.ts";
import { longestTurn } from "../../support/turns.ts";
import { Cluster, nodesConfig } from "./cluster.ts";

const { rounds: nodeCount } = fuzzRun(1_000);
/** A node's image list is most of it. */
const images = Array.from({ length: 40 }, (_none, index) => ({
  names: [
    `registry.example/team/image-${index}@sha256:${"ab".repeat(32)}`,
    `registry.example/team/image-${index}:v1.2.3`,
  ],
  sizeBytes: 123_456_789 + index,
}));

t.test("nodes cost what their heartbeats cost, in short turns", async (t) => {
  const server = await openInProcess();
  const cluster = new Cluster(server);
  for (let index = 0; index < nodeCount; index += 1) {
    await cluster.join(`n${index}`, "True");
    if (index % 5 === 0) await cluster.ask("PATCH", `/api/v1/nodes/n${index}/status`, { status: { images } });
    await cluster.pod(`p${index}`, `n${index}`);
  }
  let startMs = Number.POSITIVE_INFINITY;
  await cluster.start();
  const startTurn = await leastOf(20, async () => {
    const beforeMs = threadCpuMs();
    const turn = await longestTurn(() => cluster.restart());
    startMs = Math.min(startMs, threadCpuMs() - beforeMs);
    return turn;
  });
  t.comment(`start: ${startMs.toFixed(0)} ms of CPU, longest turn ${startTurn.toFixed(1)} ms`);
  t.ok(startTurn <= 20, `${startTurn} ms`);

  // Another one over the same logs, whose handler is called by hand.
  const config = nodesConfig();
  const meter = { counted: () => undefined, evicted: () => undefined };
  const other = new NodeLifecycle(server.writers, { config, meter, recorders: { recorder: () => () => undefined } });
  const queue = {
    signal: new AbortController().signal,
    add: () => undefined,
    has: () => true,
    giveWay: () => Promise.resolve(),
    scan: (...args: Parameters<typeof cluster.reconciler.scan>) => cluster.reconciler.scan(...args),
  } as unknown as typeof cluster.reconciler;
  await other.all(queue);
  const [, , leases] = other.follows;
  if (leases === undefined) throw new Error("Leases are not followed");
  const [view, renewed] = leases;
  let renewalMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3; round += 1) {
    server.nowMs += 10_000;
    for (let index = 0; index < nodeCount; index += 1) await cluster.renew(`n${index}`);
    view.drain();
    const locations: number[] = [];
    view.scan("kube-node-lease", "", 0, (at) => locations.push(at) > 0);
    t.equal(locations.length, nodeCount);
    const beforeMs = threadCpuMs();
    for (const at of locations) renewed(queue, at, view.typeOf(at));
    renewalMs = Math.min(renewalMs, threadCpuMs() - beforeMs);
  }
  t.comment(`a renewal: ${((1000 * renewalMs) / nodeCount).toFixed(2)} us`);
  t.ok(renewalMs / nodeCount < 0.02, `${renewalMs} ms`);

  const lookMs = await leastOf(20, async () => {
    const beforeMs = threadCpuMs();
    await other.work("monitor", queue);
    return threadCpuMs() - beforeMs;
  });
  t.comment(`a look of the monitor: ${lookMs.toFixed(2)} ms`);
  t.ok(lookMs <= 20, `${lookMs} ms`);

  const tendMs = threadCpuMs();
  for (let index = 0; index < nodeCount; index += 1) await other.work(`node n${index}`, queue);
  t.comment(`a node that changed: ${((1000 * (threadCpuMs() - tendMs)) / nodeCount).toFixed(0)} us`);

  const half = nodeCount / 2;
  const renewHalf = async (): Promise<void> => {
    for (let index = 0; index < half; index += 1) await cluster.renew(`n${index}`);
  };
  await cluster.pass(35_000, renewHalf);
  await renewHalf();
  await cluster.settle();
  const silentMs = threadCpuMs();
  const silentTurn = await longestTurn(() => cluster.pass(10_000));
  t.strictSame(cluster.counted, [`${half}/${half}`]);
  const cpu = `${(threadCpuMs() - silentMs).toFixed(0)} ms of CPU with all writes`;
  t.comment(`half of them lost: ${cpu}, longest turn ${silentTurn.toFixed(1)} ms`);
  t.match(await cluster.pods(), `p${nodeCount - 1}!`);
  t.strictSame(server.faults, []);
  await cluster.stop();
  server.close();
});
