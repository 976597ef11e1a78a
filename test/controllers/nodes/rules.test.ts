// What follows from a node's conditions.
import t from "tap";
import type { NodeCondition, Taint } from "../../../src/api/gen/core/v1.ts";
import { identities } from "../../../src/api/identity.ts";
import { type NodeObject, NodeRules, type TaintLeave } from "../../../src/controllers/nodes/rules.ts";

const rules = new NodeRules(identities.kubernetes);
const now = "2026-01-02T03:04:05Z";
const usual: TaintLeave = { evicts: true, isDisrupted: false, mayTaint: false };

/** A node from `type=status` of its conditions, and `key:effect` of its taints. */
function node(conditions: string, taints: string, labels: Record<string, string> = {}): NodeObject {
  const split = (list: string): string[] => list.split(" ").filter((one) => one !== "");
  return {
    metadata: { name: "n", creationTimestamp: "2026-01-01T00:00:00Z", labels: new Map(Object.entries(labels)) },
    spec: {
      taints: split(taints).map((text): Taint => {
        const [key = "", effect = ""] = text.split(":");
        return { key: key.startsWith("my") ? key : `node.kubernetes.io/${key}`, effect };
      }),
    },
    status: {
      conditions: split(conditions).map((text): NodeCondition => {
        const [type = "", status = ""] = text.split("=");
        return { type, status };
      }),
    },
  } as unknown as NodeObject;
}

function taintsOf({ spec }: NodeObject): string {
  return (spec.taints ?? []).map(({ key, effect }) => `${key.split("/").at(-1)}:${effect}`).join(" ");
}

t.test("settle() makes taints follow from conditions, and leaves those of others alone", (t) => {
  const cases: readonly [conditions: string, before: string, after: string, leave?: Partial<TaintLeave>][] = [
    ["", "not-ready:NoSchedule", ""],
    ["", "not-ready:NoExecute unreachable:NoExecute", "not-ready:NoExecute unreachable:NoExecute"],
    ["Ready=True", "", ""],
    ["Ready=True", "my:NoSchedule my:NoExecute", "my:NoSchedule my:NoExecute"],
    ["Ready=True", "not-ready:NoSchedule not-ready:NoExecute unreachable:NoExecute", ""],
    ["Ready=True", "not-ready:PreferNoSchedule", "not-ready:PreferNoSchedule"],
    ["Ready=False", "", "not-ready:NoSchedule"],
    ["Ready=False", "", "not-ready:NoSchedule not-ready:NoExecute", { mayTaint: true }],
    ["Ready=False", "", "not-ready:NoSchedule", { mayTaint: true, isDisrupted: true }],
    ["Ready=False", "", "not-ready:NoSchedule", { mayTaint: true, evicts: false }],
    ["Ready=False", "my:NoExecute unreachable:NoExecute", "my:NoExecute not-ready:NoSchedule not-ready:NoExecute"],
    ["Ready=Unknown", "not-ready:NoSchedule not-ready:NoExecute", "unreachable:NoSchedule unreachable:NoExecute"],
    ["Ready=Unknown", "unreachable:NoExecute not-ready:NoExecute", "unreachable:NoSchedule unreachable:NoExecute"],
    ["Ready=Unknown", "unreachable:NoSchedule unreachable:NoExecute", "unreachable:NoSchedule", { isDisrupted: true }],
    ["Ready=True", "not-ready:NoExecute", "not-ready:NoExecute", { evicts: false }],
    ["Ready=Odd", "not-ready:NoExecute", "not-ready:NoExecute"],
    ["Ready=True MemoryPressure=True PIDPressure=False", "disk-pressure:NoSchedule", "memory-pressure:NoSchedule"],
    ["Ready=True DiskPressure=True", "disk-pressure:NoSchedule", "disk-pressure:NoSchedule"],
    ["Mine=True", "my:NoSchedule", "my:NoSchedule"],
  ];
  for (const [conditions, before, after, leave] of cases) {
    const name = `${conditions}: ${before} ${JSON.stringify(leave ?? {})}`;
    const one = node(conditions, before);
    const all = { ...usual, ...leave };
    t.equal(rules.settle(one, all, now), before !== after, name);
    t.equal(taintsOf(one), after, name);
    t.notOk(rules.settle(one, all, now), `${name}, again`);
  }
  t.end();
});

t.test("settle() dates taints it adds and keeps those that are there", (t) => {
  const one = node("Ready=False MemoryPressure=True", "memory-pressure:NoSchedule");
  rules.settle(one, usual, now);
  t.strictSame(
    one.spec.taints?.map(({ timeAdded }) => timeAdded),
    [undefined, now],
  );
  t.end();
});

t.test("settle() makes older labels follow the stable ones", (t) => {
  const one = node("Ready=True", "", { "kubernetes.io/os": "linux", "beta.kubernetes.io/os": "plan9", other: "x" });
  t.ok(rules.settle(one, usual, now));
  t.strictSame(Object.fromEntries(one.metadata.labels ?? []), {
    "kubernetes.io/os": "linux",
    "beta.kubernetes.io/os": "linux",
    other: "x",
  });
  const two = node("Ready=True", "", { "beta.kubernetes.io/arch": "arm64" });
  t.notOk(rules.settle(two, usual, now), "there is nothing to follow");
  t.end();
});

t.test("executing() leaves out taints of ours that are about to go", (t) => {
  const keys = (conditions: string, taints: string, isDisrupted = false): string =>
    rules
      .executing(node(conditions, taints), isDisrupted)
      .map(({ key }) => key.split("/").at(-1))
      .join();
  t.equal(keys("Ready=Unknown", "unreachable:NoExecute my:NoExecute my2:NoSchedule"), "unreachable,my");
  t.equal(keys("Ready=True", "unreachable:NoExecute my:NoExecute"), "my");
  t.equal(keys("Ready=Unknown", "unreachable:NoExecute my:NoExecute", true), "my");
  t.end();
});

t.test("silence() makes reported conditions Unknown, and says which were never reported", (t) => {
  const one = node("Ready=True MemoryPressure=Unknown NetworkUnavailable=False", "");
  rules.silence(one, now);
  t.strictSame(
    one.status.conditions?.map(({ type, status, reason = "" }) => `${type} ${status} ${reason}`),
    [
      "Ready Unknown NodeStatusUnknown",
      "MemoryPressure Unknown ",
      "NetworkUnavailable False ",
      "DiskPressure Unknown NodeStatusNeverUpdated",
      "PIDPressure Unknown NodeStatusNeverUpdated",
    ],
  );
  t.match(one.status.conditions?.[0], {
    message: "Kubelet stopped posting node status.",
    lastTransitionTime: now,
    lastHeartbeatTime: undefined,
  });
  t.match(one.status.conditions?.[3], {
    message: "Kubelet never posted node status.",
    lastTransitionTime: now,
    lastHeartbeatTime: "2026-01-01T00:00:00Z",
  });
  t.end();
});

t.test("zoneOf() and isExcluded() read labels of either spelling", (t) => {
  const zone = (labels: Record<string, string>): string => rules.zoneOf(node("", "", labels));
  t.equal(zone({}), "");
  t.equal(zone({ "topology.kubernetes.io/zone": "z" }), "::z");
  t.equal(zone({ "topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r" }), "r::z");
  t.equal(zone({ "topology.kubernetes.io/zone": "z", "failure-domain.beta.kubernetes.io/zone": "old" }), "::old");
  t.ok(rules.isExcluded(node("", "", { "node.kubernetes.io/exclude-disruption": "" })));
  t.notOk(rules.isExcluded(node("", "")));
  const orch = new NodeRules(identities.orch);
  t.equal(orch.zoneOf(node("", "", { "topology.orch.io/zone": "z" })), "::z");
  t.end();
});
