// Random heartbeats, silences, pauses of the server and restarts of the controller, against a model: no node that is heard
// of in time is ever marked, tainted or emptied, and each silent one is, once its grace is over.

import { draws, fuzzRun } from "../../support/random.ts";
import { scenario } from "../../support/scenario.ts";
import { Cluster } from "./cluster.ts";

const names = ["n0", "n1", "n2", "n3", "n4", "n5"];
const [periodMs, graceMs, pauseMsMax] = [5_000, 40_000, 10_000];

interface Agent {
  isAlive: boolean;
  /** When it was heard of last, by a clock that is never behind the controller's, in milliseconds. */
  heardMs: number;
  /** Looks of the monitor since then, or since a restart. */
  looks: number;
}

scenario("no node that is heard of is ever tainted, and each silent one is after its grace", async (t, server) => {
  const { seed, rounds } = fuzzRun(150);
  t.comment(`seed ${seed}`);
  const { chance, pick, next } = draws(seed);
  const cluster = new Cluster(server);
  await cluster.start();
  const agents = new Map<string, Agent>();
  let cutMs = 0;
  const now = (): number => server.server.clock.monotonic() - cutMs;
  for (const name of names) {
    await cluster.join(name, "True");
    await cluster.pod(`p-${name}`, name);
    agents.set(name, { isAlive: true, heardMs: now(), looks: 0 });
  }
  const beat = async (name: string, agent: Agent): Promise<void> => {
    agent.heardMs = now();
    agent.looks = 0;
    if ((await cluster.ready(name)).startsWith("Unknown") || chance(10)) await cluster.report(name, "True");
    await cluster.renew(name);
  };
  let lostCount = 0;
  const check = async (step: number): Promise<void> => {
    for (const [name, { isAlive, heardMs, looks }] of agents) {
      const [ready, taints] = [await cluster.ready(name), await cluster.taints(name)];
      const said = `step ${step}: ${name}, silent for ${now() - heardMs} ms and ${looks} looks: ${ready}, ${taints}`;
      if (isAlive && now() - heardMs <= graceMs && (ready !== "True Said" || taints !== "")) t.fail(said);
      if (looks * periodMs <= graceMs + periodMs) continue;
      lostCount += 1;
      if (ready !== "Unknown NodeStatusUnknown" || !taints.includes("unreachable:NoSchedule")) t.fail(said);
    }
  };
  for (let step = 0; step < rounds; step += 1) {
    // One that never fails: without a ready node nothing is evicted, which is another test's.
    const failing = agents.get(pick(names.slice(1)));
    if (chance(12) && failing !== undefined) failing.isAlive = !failing.isAlive;
    if (chance(3)) {
      const pauseMs = next(3_600_000);
      server.aheadMs += pauseMs;
      cutMs += Math.max(0, pauseMs - pauseMsMax);
    }
    if (chance(3)) {
      await cluster.restart();
      for (const agent of agents.values()) agent.looks = 0;
    }
    for (const [name, agent] of agents) {
      const isDue = now() - agent.heardMs > graceMs - pauseMsMax - 2 * periodMs;
      if (agent.isAlive && (isDue || chance(50))) await beat(name, agent);
    }
    await cluster.settle();
    await cluster.pass(periodMs);
    for (const agent of agents.values()) agent.looks += 1;
    await check(step);
    t.match(await cluster.pods(), /p-n0,/, "the pod of the node that never fails");
  }
  t.ok(lostCount > 0, `silent nodes were looked at ${lostCount} times`);
  for (const [index, agent] of [...agents.values()].entries()) agent.isAlive = index < 4;
  const living = async (): Promise<void> => {
    for (const [name, agent] of agents) if (agent.isAlive) await beat(name, agent);
  };
  await cluster.pass(150_000, living);
  for (const name of ["n4", "n5"]) t.match(await cluster.taints(name), "unreachable:NoExecute");
  t.match(await cluster.pods(), /p-n4!-,p-n5!-/);
  for (const name of ["n0", "n1", "n2", "n3"]) t.equal(await cluster.taints(name), "");
  t.strictSame(cluster.reports, []);
  await cluster.stop();
});
