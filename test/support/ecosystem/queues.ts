// Queues of work, of the cluster: nested quotas.
import {
  age,
  cel,
  column,
  condition,
  conditions,
  dnsName,
  inlined,
  integer,
  keyed,
  list,
  object,
  quantity,
  text,
} from "./parts.ts";
import type { Shape } from "./shape.ts";

const names = {
  group: "batchqueue.example.dev",
  kind: "ClusterQueue",
  plural: "clusterqueues",
  shortNames: ["cq"],
  categories: ["batchqueue"],
};
const label = text({ maxLength: 253, minLength: 1, pattern: dnsName });
const quota = object(
  { borrowingLimit: quantity, lendingLimit: quantity, name: text({ maxLength: 316 }), nominalQuota: quantity },
  ["name", "nominalQuota"],
);
const flavor = object(
  { name: label, resources: keyed(quota, ["name"], { maxItems: 16, minItems: 1 }) },
  ["name", "resources"],
  {
    "x-kubernetes-validations": [
      cel("self.resources.all(r, !has(r.borrowingLimit) || size(self.name) > 0)", "borrowingLimit needs a flavor"),
    ],
  },
);
const group = object(
  {
    coveredResources: list(text({ maxLength: 316 }), { maxItems: 16, minItems: 1, "x-kubernetes-list-type": "set" }),
    flavors: keyed(flavor, ["name"], { maxItems: 16, minItems: 1 }),
  },
  ["coveredResources", "flavors"],
  {
    "x-kubernetes-validations": [
      cel(
        "self.flavors.all(x, size(x.resources) == size(self.coveredResources))",
        "flavors must have the same number of resources as the coveredResources",
      ),
    ],
  },
);
const spec = object(
  {
    admissionChecks: list(text({ maxLength: 316 }), { "x-kubernetes-list-type": "set" }),
    cohort: label,
    flavorFungibility: object(
      {
        whenCanBorrow: text({ enum: ["Borrow", "TryNextFlavor"], default: "Borrow" }),
        whenCanPreempt: text({ enum: ["Preempt", "TryNextFlavor"], default: "TryNextFlavor" }),
      },
      [],
      { default: {} },
    ),
    namespaceSelector: inlined("meta/v1.LabelSelector"),
    preemption: object(
      {
        borrowWithinCohort: object(
          {
            maxPriorityThreshold: integer({ format: "int32" }),
            policy: text({ enum: ["Never", "LowerPriority"], default: "Never" }),
          },
          [],
          { default: {} },
        ),
        reclaimWithinCohort: text({ enum: ["Never", "LowerPriority", "Any"], default: "Never" }),
        withinClusterQueue: text({ enum: ["Never", "LowerPriority", "LowerOrNewerEqualPriority"], default: "Never" }),
      },
      [],
      {
        default: {},
        "x-kubernetes-validations": [
          cel(
            "!(self.reclaimWithinCohort == 'Never' && has(self.borrowWithinCohort) && self.borrowWithinCohort.policy != 'Never')",
            "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
          ),
        ],
      },
    ),
    queueingStrategy: text({ enum: ["StrictFIFO", "BestEffortFIFO"], default: "BestEffortFIFO" }),
    resourceGroups: list(group, { maxItems: 16, "x-kubernetes-list-type": "atomic" }),
    stopPolicy: text({ enum: ["None", "Hold", "HoldAndDrain"], default: "None" }),
  },
  [],
  {
    "x-kubernetes-validations": [
      cel(
        "!has(oldSelf.queueingStrategy) || self.queueingStrategy == oldSelf.queueingStrategy",
        "queueingStrategy is immutable",
      ),
    ],
  },
);
const usage = object({ borrowed: quantity, name: text(), total: quantity }, ["name"]);
const status = object({
  admittedWorkloads: integer({ format: "int32" }),
  conditions: conditions({ maxItems: 16 }),
  flavorsReservation: keyed(
    object({ name: label, resources: keyed(usage, ["name"], { maxItems: 16 }) }, ["name"]),
    ["name"],
    { maxItems: 16 },
  ),
  pendingWorkloads: integer({ format: "int32" }),
});
const columns = [
  column("Cohort", ".spec.cohort"),
  column("Strategy", ".spec.queueingStrategy", "string", { priority: 1 }),
  column("Pending Workloads", ".status.pendingWorkloads", "integer"),
  age,
];

/** A kind of queues. */
export const queues: Shape = {
  names,
  scope: "Cluster",
  versions: ["v1beta1"],
  spec,
  status,
  printed: columns,
  words: 40,
  object: (_name, number) => ({
    cohort: "all",
    namespaceSelector: {},
    resourceGroups: [
      {
        coveredResources: ["cpu", "memory"],
        flavors: [
          {
            name: "spot",
            resources: [
              { name: "cpu", nominalQuota: number + 1 },
              { name: "memory", nominalQuota: "36Gi", borrowingLimit: "1Gi" },
            ],
          },
        ],
      },
    ],
  }),
  defaults: [
    ["spec.flavorFungibility", { whenCanBorrow: "Borrow", whenCanPreempt: "TryNextFlavor" }],
    [
      "spec.preemption",
      { borrowWithinCohort: { policy: "Never" }, reclaimWithinCohort: "Never", withinClusterQueue: "Never" },
    ],
    ["spec.queueingStrategy", "BestEffortFIFO"],
    ["spec.stopPolicy", "None"],
  ],
  unknown: ["spec.resourceGroups[0].flavors[0].quota", "spec.preemption.within"],
  open: [],
  faults: [
    [
      ["spec.resourceGroups[0].coveredResources", ["cpu", "cpu"]],
      "spec.resourceGroups[0].coveredResources[1]",
      /Duplicate value: "cpu"/,
    ],
    [
      ["spec.resourceGroups[0].flavors[0].resources[1].nominalQuota", "many"],
      "spec.resourceGroups.flavors.resources.nominalQuota",
      /should match/,
    ],
    [
      ["spec.resourceGroups[0].flavors[0].resources", []],
      "spec.resourceGroups.flavors.resources",
      /should have at least 1 items/,
    ],
    [["spec.stopPolicy", "Now"], "spec.stopPolicy", /Unsupported value: "Now"/],
    [["spec.resourceGroups[0].flavors[0].name", undefined], "spec.resourceGroups.flavors.name", /Required value/],
  ],
  broken: [
    [
      ["spec.resourceGroups[0].coveredResources", ["cpu"]],
      "spec.resourceGroups[0]",
      /flavors must have the same number of resources/,
    ],
  ],
  list: {
    path: "status.conditions",
    items: [condition("Active"), condition("Drained", "False")],
    changed: condition("Drained", "Unknown"),
  },
  columns: ["COHORT", "STRATEGY", "PENDING WORKLOADS", "AGE"],
  explained: "spec.resourceGroups.flavors.resources.nominalQuota",
  size: undefined,
};
