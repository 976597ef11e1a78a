// Silent nodes are found, tainted and emptied, and nodes that are heard of are not.
import type { Test } from "tap";
import type { IdentityName } from "../../../src/api/identity.ts";
import type { NodesConfig } from "../../../src/config/nodeflags.ts";
import type { Refusal } from "../../../src/storage/store.ts";
import type { InProcess } from "../../support/inprocess.ts";
import { scenario } from "../../support/scenario.ts";
import { Cluster } from "./cluster.ts";

/** A test with a cluster whose controller runs, and complains about nothing. */
function cluster(
  name: string,
  check: (t: Test, cluster: Cluster, server: InProcess) => Promise<void>,
  instead: Partial<NodesConfig> = {},
  identity: IdentityName = "kubernetes",
): void {
  scenario(
    name,
    async (t, server) => {
      const opened = new Cluster(server, instead);
      await opened.start();
      await check(t, opened, server);
      t.strictSame(opened.reports, []);
      await opened.stop();
    },
    identity,
  );
}

for (const identity of ["kubernetes", "orch"] as const) {
  cluster(
    `a silent node becomes Unknown and unreachable after its grace, and comes back with its agent: ${identity}`,
    async (t, cluster) => {
      const labels = { [cluster.spell("kubernetes.io/os")]: "linux", [cluster.spell("kubernetes.io/arch")]: "arm64" };
      await cluster.join("n", "True", labels);
      await cluster.join("other", "True");
      const both = async (): Promise<void> => {
        await cluster.renew("n");
        await cluster.renew("other");
      };
      await cluster.pass(120_000, both);
      t.equal(await cluster.ready("n"), "True Said", "renewals are enough");
      t.equal(await cluster.taints("n"), "");
      const node = await cluster.node("n");
      t.match(node.metadata.labels, {
        [cluster.spell("beta.kubernetes.io/os")]: "linux",
        [cluster.spell("beta.kubernetes.io/arch")]: "arm64",
      });
      const alone = (): Promise<void> => cluster.renew("other");
      await both();
      await cluster.settle();
      await cluster.pass(35_000, alone);
      t.equal(await cluster.ready("n"), "True Said");
      await cluster.pass(15_000, alone);
      t.equal(await cluster.ready("n"), "Unknown NodeStatusUnknown");
      t.equal(await cluster.taints("n"), "unreachable:NoExecute,unreachable:NoSchedule");
      const { status, spec } = await cluster.node("n");
      t.match(spec.taints?.[0]?.key, cluster.spell("node.kubernetes.io/unreachable"));
      t.match(
        status.conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`),
        [
          "Ready Unknown NodeStatusUnknown",
          "MemoryPressure Unknown NodeStatusNeverUpdated",
          "DiskPressure Unknown NodeStatusNeverUpdated",
          "PIDPressure Unknown NodeStatusNeverUpdated",
        ],
      );
      t.equal(await cluster.taints("other"), "");
      t.strictSame(cluster.evicted, [""]);
      t.strictSame(cluster.counted, ["1/1"]);
      await cluster.renew("n");
      await cluster.report("n", "True");
      await cluster.settle();
      t.equal(await cluster.taints("n"), "");
      t.strictSame(cluster.events, [
        "Node n node-controller Normal RegisteredNode Node n event: Registered Node n in Controller",
        "Node other node-controller Normal RegisteredNode Node other event: Registered Node other in Controller",
        "Node n node-controller Normal NodeNotReady Node n status is now: NodeNotReady",
      ]);
      await cluster.ask("DELETE", "/api/v1/nodes/n");
      await cluster.settle();
      t.equal(
        cluster.events.at(-1),
        "Node n node-controller Normal RemovingNode Node n event: Removing Node n from Controller",
      );
    },
    {},
    identity,
  );
}

cluster("a node that never reported has its own grace", async (t, cluster) => {
  await cluster.join("ready", "True");
  await cluster.join("n");
  const alone = (): Promise<void> => cluster.renew("ready");
  await cluster.pass(55_000, alone);
  t.equal(await cluster.ready("n"), "");
  await cluster.pass(15_000, alone);
  t.equal(await cluster.ready("n"), "Unknown NodeStatusNeverUpdated");
  const { status, metadata } = await cluster.node("n");
  t.equal(status.conditions?.length, 4);
  t.equal(status.conditions?.[0]?.lastHeartbeatTime, (metadata as { creationTimestamp?: string }).creationTimestamp);
  t.equal(await cluster.taints("n"), "unreachable:NoExecute,unreachable:NoSchedule");
});

cluster("conditions lead to taints, and agents that say they are not ready, too", async (t, cluster) => {
  for (const name of ["n", "other"]) await cluster.join(name, "True");
  const checks: readonly [conditions: Record<string, string>, taints: string][] = [
    [{ MemoryPressure: "True" }, "memory-pressure:NoSchedule"],
    [{ DiskPressure: "True", PIDPressure: "True" }, "disk-pressure:NoSchedule,pid-pressure:NoSchedule"],
    [{ NetworkUnavailable: "True" }, "network-unavailable:NoSchedule"],
    [{ NetworkUnavailable: "Unknown", MemoryPressure: "Unknown" }, ""],
    [{}, ""],
  ];
  for (const [conditions, taints] of checks) {
    await cluster.report("n", "True", conditions);
    await cluster.settle();
    t.equal(await cluster.taints("n"), taints, JSON.stringify(conditions));
  }
  await cluster.ask("PATCH", "/api/v1/nodes/n", { spec: { unschedulable: true } });
  await cluster.settle();
  t.equal(await cluster.taints("n"), "unschedulable:NoSchedule");
  await cluster.ask("PATCH", "/api/v1/nodes/n", { spec: { unschedulable: false } });
  const mine = { key: "mine", effect: "NoSchedule" };
  await cluster.ask("PATCH", "/api/v1/nodes/n", { spec: { taints: [mine] } });
  await cluster.report("n", "False");
  await cluster.settle();
  t.equal(await cluster.taints("n"), "mine:NoSchedule,not-ready:NoExecute,not-ready:NoSchedule");
  await cluster.pass(60_000, () => cluster.renew("other"));
  t.equal(
    await cluster.taints("n"),
    "mine:NoSchedule,unreachable:NoExecute,unreachable:NoSchedule",
    "the reason changes without another turn",
  );
  t.strictSame(cluster.evicted, [""]);
  await cluster.report("n", "True");
  await cluster.settle();
  t.equal(await cluster.taints("n"), "mine:NoSchedule");
});

cluster("pods of a silent node are marked, and evicted when their time is over", async (t, cluster) => {
  for (const name of ["n", "other"]) await cluster.join(name, "True");
  const unreachable = { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" };
  await cluster.pod("a-soon", "n");
  await cluster.pod("b-later", "n", [{ ...unreachable, tolerationSeconds: 60 }]);
  await cluster.pod("c-stays", "n", [unreachable]);
  await cluster.pod("d-other", "other");
  await cluster.pod("e-unready", "n", [{ operator: "Exists" }], "False");
  const alone = (): Promise<void> => cluster.renew("other");
  await cluster.pass(50_000, alone);
  t.equal(await cluster.pods(), "a-soon!-,b-later!,c-stays!,d-other,e-unready!");
  await cluster.pod("f-late", "n", [{ ...unreachable, tolerationSeconds: 600 }]);
  await cluster.settle();
  t.equal(await cluster.pods(), "a-soon!-,b-later!,c-stays!,d-other,e-unready!,f-late!", "also those that come later");
  await cluster.pass(45_000, alone);
  t.match(await cluster.pods(), /,b-later!,/);
  await cluster.pass(30_000, alone);
  t.equal(await cluster.pods(), "a-soon!-,b-later!-,c-stays!,d-other,e-unready!,f-late!");
  await cluster.report("n", "True");
  await cluster.settle();
  await cluster.pass(700_000, async () => {
    await alone();
    await cluster.renew("n");
  });
  t.equal(
    await cluster.pods(),
    "a-soon!-,b-later!-,c-stays!,d-other,e-unready!,f-late!",
    "a node that came back keeps its pods",
  );
  t.strictSame(cluster.events.filter((event) => event.startsWith("Pod")).sort(), [
    "Pod a-soon node-controller Warning NodeNotReady Node is not ready",
    "Pod a-soon taint-controller Normal TaintManagerEviction Marking for deletion Pod default/a-soon",
    "Pod b-later node-controller Warning NodeNotReady Node is not ready",
    "Pod b-later taint-controller Normal TaintManagerEviction Marking for deletion Pod default/b-later",
    "Pod c-stays node-controller Warning NodeNotReady Node is not ready",
    "Pod f-late node-controller Warning NodeNotReady Node is not ready",
    "Pod f-late taint-controller Normal TaintManagerEviction Cancelling deletion of Pod default/f-late",
  ]);
});

cluster("a NoExecute taint of a user evicts pods that do not tolerate it", async (t, cluster) => {
  await cluster.join("n", "True");
  await cluster.pod("a", "n");
  await cluster.pod("b", "n", [{ key: "mine", value: "x", effect: "NoExecute" }]);
  await cluster.pod("c", "n", [{ key: "mine", value: "y" }]);
  await cluster.ask("PATCH", "/api/v1/nodes/n", {
    spec: { taints: [{ key: "mine", value: "x", effect: "NoExecute" }] },
  });
  await cluster.settle();
  t.equal(await cluster.pods(), "a-,b,c-");
  t.equal(await cluster.ready("n"), "True Said");
});

cluster("when no node is ready any more, nothing is evicted", async (t, cluster) => {
  const names = ["a", "b", "c"];
  for (const name of names) await cluster.join(name, "True");
  for (const name of names) await cluster.pod(name, name);
  await cluster.pass(600_000);
  for (const name of names) t.equal(await cluster.taints(name), "unreachable:NoSchedule");
  t.equal(await cluster.pods(), "a!,b!,c!");
  t.strictSame(cluster.counted, ["0/3"]);
  await cluster.report("a", "True");
  const alone = (): Promise<void> => cluster.renew("a");
  await cluster.pass(40_000, alone);
  for (const name of ["b", "c"]) t.equal(await cluster.taints(name), "unreachable:NoSchedule", "it may be coming back");
  await cluster.pass(10_000, alone);
  t.equal(await cluster.taints("b"), "unreachable:NoExecute,unreachable:NoSchedule", "the first one's turn");
  t.equal(await cluster.taints("c"), "unreachable:NoSchedule");
  await cluster.pass(15_000, alone);
  t.equal(await cluster.taints("c"), "unreachable:NoExecute,unreachable:NoSchedule", "the next one's");
  t.equal(await cluster.pods(), "a!,b!-,c!-");
});

cluster(
  "a zone of which many nodes are lost is left alone, and another one is not",
  async (t, cluster) => {
    const zone = (name: string) => ({ "topology.kubernetes.io/zone": name });
    for (const name of ["a1", "a2", "a3", "a4"]) await cluster.join(name, "True", zone("a"));
    for (const name of ["b1", "b2"]) await cluster.join(name, "True", zone("b"));
    await cluster.pass(60_000, async () => {
      for (const name of ["a1", "b1"]) await cluster.renew(name);
    });
    t.strictSame(cluster.counted, ["::a 1/3", "::b 1/1"]);
    t.strictSame(cluster.evicted, ["::b"]);
    t.equal(await cluster.taints("a2"), "unreachable:NoSchedule");
    t.equal(await cluster.taints("b2"), "unreachable:NoExecute,unreachable:NoSchedule");
  },
  { unhealthyFraction: 0.7 },
);

cluster(
  "without the taint manager nodes are marked and no pod is deleted",
  async (t, cluster) => {
    for (const name of ["n", "other"]) await cluster.join(name, "True");
    await cluster.pod("a", "n");
    await cluster.pass(400_000, () => cluster.renew("other"));
    await cluster.ask("PATCH", "/api/v1/nodes/other", {
      spec: { taints: [{ key: "mine", effect: "NoExecute" }] },
    });
    await cluster.pod("b", "other");
    await cluster.settle();
    t.equal(await cluster.taints("n"), "unreachable:NoSchedule");
    t.equal(await cluster.taints("other"), "mine:NoExecute");
    t.equal(await cluster.pods(), "a!,b");
  },
  { evicts: false },
);

cluster(
  "grace begins anew after a start, a pause of the server, and a store that refused writes",
  async (t, cluster, server) => {
    for (const name of ["n", "other"]) await cluster.join(name, "True");
    await cluster.pass(35_000);
    await cluster.restart();
    await cluster.pass(35_000);
    t.equal(await cluster.ready("n"), "True Said", "after a start");
    for (const name of ["n", "other"]) await cluster.renew(name);
    await cluster.pass(20_000);
    server.aheadMs += 3_600_000;
    await cluster.pass(10_000);
    t.equal(await cluster.ready("n"), "True Said", "the server did not run for an hour");
    for (const name of ["n", "other"]) await cluster.renew(name);
    const full: Refusal = { refused: "full", message: "no space" };
    server.store.before = () => full;
    await cluster.pass(120_000);
    server.store.before = undefined;
    await cluster.pass(5_000);
    t.equal(await cluster.ready("n"), "True Said", "agents were refused as well");
    t.ok(cluster.reports.length > 0);
    cluster.reports.length = 0;
    await cluster.pass(50_000, () => cluster.renew("other"));
    t.equal(await cluster.ready("n"), "Unknown NodeStatusUnknown");
  },
);

cluster("a node that is heard of while it is marked stays as it is", async (t, cluster, server) => {
  for (const name of ["n", "other"]) await cluster.join(name, "True");
  const alone = (): Promise<void> => cluster.renew("other");
  await cluster.pass(35_000, alone);
  let isReported = false;
  server.store.before = async (change) => {
    if (isReported || !change.key.endsWith("/n")) return undefined;
    isReported = true;
    await cluster.report("n", "True");
    return undefined;
  };
  await cluster.pass(15_000, alone);
  t.ok(isReported);
  t.equal(await cluster.ready("n"), "True Said");
  t.equal(await cluster.taints("n"), "");
  t.notMatch(cluster.events.join("\n"), /NodeNotReady/);
});

cluster("a pod is not evicted from a node that came back in between", async (t, cluster, server) => {
  for (const name of ["n", "other"]) await cluster.join(name, "True");
  await cluster.pod("a", "n");
  let isBack = false;
  server.store.before = async (change) => {
    // The taint that evicts is what is being written.
    if (isBack || !change.key.endsWith("/n") || !Buffer.from(change.body).includes("NoExecute")) return undefined;
    isBack = true;
    const outcome = server.store.apply(change);
    await cluster.report("n", "True");
    return outcome;
  };
  await cluster.pass(60_000, () => cluster.renew("other"));
  t.ok(isBack);
  t.equal(await cluster.taints("n"), "");
  t.equal(await cluster.pods(), "a!");
});

cluster("a node of the same name is another one", async (t, cluster) => {
  for (const name of ["n", "other"]) await cluster.join(name, "True");
  const alone = (): Promise<void> => cluster.renew("other");
  await cluster.pass(35_000, alone);
  await cluster.ask("DELETE", "/api/v1/nodes/n");
  await cluster.ask("POST", "/api/v1/nodes", { metadata: { name: "n" } });
  await cluster.pass(50_000, alone);
  t.equal(await cluster.ready("n"), "");
  t.match(cluster.events.join("\n"), /RemovingNode.*\n.*RegisteredNode Node n event/);
});

cluster("labels and annotations of a lease are no heartbeat", async (t, cluster) => {
  for (const name of ["n", "other"]) await cluster.join(name, "True");
  let count = 0;
  await cluster.pass(50_000, async () => {
    await cluster.renew("other");
    count += 1;
    const annotations = { renewTime: `2026-01-01T00:00:${String(count).padStart(2, "0")}.000000Z` };
    const path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n";
    await cluster.ask("PATCH", path, { metadata: { annotations } });
  });
  t.equal(await cluster.ready("n"), "Unknown NodeStatusUnknown");
});
