// What waits in a queue: pod templates in a list that is told apart by names, with rules about what may change.
import {
  age,
  cel,
  column,
  conditions,
  dnsName,
  flag,
  inlined,
  integer,
  keyed,
  mapOf,
  object,
  quantity,
  text,
  time,
} from "./parts.ts";
import type { Shape } from "./shape.ts";

const names = {
  group: "batchqueue.example.dev",
  kind: "Workload",
  plural: "workloads",
  shortNames: ["wl"],
  categories: ["batchqueue"],
};
const name = text({ maxLength: 63, pattern: "^(?i)[a-z0-9]([-a-z0-9]*[a-z0-9])?$", default: "main" });
const template = inlined("core/v1.PodTemplateSpec");
const podSet = object(
  {
    count: integer({ format: "int32", minimum: 0, default: 1 }),
    minCount: integer({ format: "int32", minimum: 1 }),
    name,
    template,
  },
  ["count", "template"],
  {
    "x-kubernetes-validations": [
      cel(
        "has(self.minCount) ? self.minCount <= self.count : true",
        "minCount should be positive and less or equal to count",
      ),
    ],
  },
);
const spec = object(
  {
    active: flag({ default: true }),
    podSets: keyed(podSet, ["name"], { maxItems: 8, minItems: 1 }),
    priority: integer({ format: "int32" }),
    priorityClassName: text({ maxLength: 253, pattern: dnsName }),
    priorityClassSource: text({ enum: ["scheduling/priorityclass", "queue/priorityclass", ""], default: "" }),
    queueName: text({ maxLength: 253, pattern: dnsName }),
  },
  [],
  {
    "x-kubernetes-validations": [
      cel(
        "has(self.priorityClassName) ? has(self.priority) : true",
        "priority should not be nil when priorityClassName is set",
      ),
    ],
  },
);
const assignment = object({
  count: integer({ format: "int32", minimum: 0 }),
  flavors: mapOf(text()),
  name,
  resourceUsage: mapOf(quantity),
});
const status = object(
  {
    admission: object({ clusterQueue: text({ maxLength: 253 }), podSetAssignments: keyed(assignment, ["name"]) }, [
      "clusterQueue",
      "podSetAssignments",
    ]),
    conditions: conditions({ maxItems: 16 }),
    reclaimablePods: keyed(
      object({ count: integer({ format: "int32", minimum: 0 }), name: text() }, ["count", "name"]),
      ["name"],
      { maxItems: 8 },
    ),
    requeueState: object({ count: integer({ format: "int32", minimum: 0 }), requeueAt: time }),
  },
  [],
);
const columns = [
  column("Queue", ".spec.queueName"),
  column("Reserved in", ".status.admission.clusterQueue"),
  column("Admitted", ".status.conditions[?(@.type=='Admitted')].status"),
  age,
];
const frozen = cel(
  "(has(oldSelf.status) && has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True')) ? (oldSelf.spec.podSets == self.spec.podSets) : true",
  "field is immutable",
);

/** A kind of what waits in queues. */
export const workloads: Shape = {
  names,
  scope: "Namespaced",
  versions: ["v1beta1"],
  more: { "x-kubernetes-validations": [frozen] },
  spec,
  status,
  printed: columns,
  words: 26,
  object: (_name, number) => ({
    queueName: "main",
    podSets: [
      {
        name: "driver",
        count: number + 1,
        template: {
          metadata: { labels: { a: "b" } },
          spec: {
            restartPolicy: "Never",
            containers: [
              {
                name: "c",
                image: "c:1",
                resources: { requests: { cpu: "100m", memory: 1000 } },
                livenessProbe: { httpGet: { port: "http", path: "/" } },
              },
            ],
          },
        },
      },
      {
        name: "workers",
        count: 3,
        template: {
          spec: {
            containers: [{ name: "w", ports: [{ containerPort: 1 }, { containerPort: 1, protocol: "UDP" }] }],
          },
        },
      },
    ],
  }),
  defaults: [
    ["spec.active", true],
    ["spec.priorityClassSource", ""],
    ["spec.podSets[1].template.spec.containers[0].ports[0].protocol", "TCP"],
  ],
  unknown: ["spec.podSets[0].template.spec.containers[0].imagee", "spec.podSets[0].temp"],
  open: [],
  faults: [
    [
      ["spec.podSets[1].name", "driver"],
      "spec.podSets[1]",
      /Duplicate value: map\[string\]interface \{\}\{"name":"driver"\}/,
    ],
    [
      ["spec.podSets[0].template.spec.containers", undefined],
      "spec.podSets.template.spec.containers",
      /Required value/,
    ],
    [
      ["spec.podSets[0].template.spec.containers[0].livenessProbe.httpGet.port", true],
      "spec.podSets.template.spec.containers.livenessProbe.httpGet.port",
      /must be of type integer,string: "boolean"/,
    ],
    [["spec.podSets[0].count", -1], "spec.podSets.count", /should be greater than or equal to 0/],
    [["spec.queueName", "UPPER"], "spec.queueName", /should match/],
  ],
  broken: [[["spec.priorityClassName", "high"], "spec", /priority should not be nil when priorityClassName is set/]],
  list: {
    path: "status.reclaimablePods",
    items: [
      { name: "driver", count: 1 },
      { name: "workers", count: 2 },
    ],
    changed: { name: "workers", count: 3 },
  },
  columns: ["QUEUE", "RESERVED IN", "ADMITTED", "AGE"],
  explained: "spec.podSets.template.spec.containers.resources.limits",
  size: undefined,
};
