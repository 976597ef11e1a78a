// Pods of nodes with taints: the last look before an eviction.
import { Actor } from "../../../src/controllers/actor.ts";
import { ListeningTime } from "../../../src/controllers/nodes/listeningtime.ts";
import { NodePods, type PodNode } from "../../../src/controllers/nodes/nodepods.ts";
import type { Queue } from "../../../src/controllers/reconciler.ts";
import { scenario } from "../../support/scenario.ts";

const lost: PodNode = {
  ready: "Unknown",
  taints: [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute" }],
};

scenario("a node is looked at again right before a pod is evicted from it", async (t, server) => {
  const path = "/api/v1/namespaces/default/pods";
  const spec = { nodeName: "n", terminationGracePeriodSeconds: 0, containers: [{ name: "c", image: "i" }] };
  await server.call("POST", path, { metadata: { name: "a" }, spec });
  const queue = { add: () => undefined, addAfter: () => undefined } as unknown as Queue;
  const events: string[] = [];
  let now: PodNode | undefined = { ready: "True", taints: [] };
  const pods: NodePods = new NodePods({
    writers: server.writers,
    actor: new Actor(server.writers, "test"),
    time: new ListeningTime(server.server.clock, 1_000),
    record: () => undefined,
    recordEviction: ({ name }, _type, reason) => void events.push(`${name} ${reason}`),
    refresh: (name) => pods.putNode(name, now, queue),
  });
  for (const state of [now, undefined]) {
    now = state;
    pods.putNode("n", lost, queue);
    await pods.work("evict default/a", queue);
    t.equal((await server.call("GET", `${path}/a`)).code, 200, state === undefined ? "it is gone" : "it is ready");
  }
  now = lost;
  pods.putNode("n", lost, queue);
  await pods.work("evict default/a", queue);
  t.equal((await server.call("GET", `${path}/a`)).code, 404);
  t.strictSame(events, ["a TaintManagerEviction"]);
});
