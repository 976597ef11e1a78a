import { existsSync, readFileSync } from "node:fs";
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import type { ApiObject } from "../../src/api/object.ts";
import { createScheme } from "../../src/api/scheme.ts";
import { assert } from "../../src/base/assert.ts";
import { decode, encode, isFault, parseJson } from "../../src/codec/engine/json.ts";
import { convert } from "../../src/kinds/convert.ts";

const identity = identities.kubernetes;
const scheme = createScheme({ identity, runtimeConfig: new Map([["api/all", true]]) });

function resourceOf(group: string, version: string, resource: string) {
  const found = scheme.find(group, version, resource);
  assert(found !== undefined, `${group}/${version} ${resource} is served`);
  return found;
}

function read(group: string, version: string, resource: string, json: object): ApiObject {
  const { message, kind, apiVersion } = resourceOf(group, version, resource);
  const value = parseJson(Buffer.from(JSON.stringify({ kind, apiVersion, ...json })));
  assert(!isFault(value), "The test's JSON parses");
  const object = decode<ApiObject>(message, value);
  assert(!isFault(object), `The test's object decodes: ${isFault(object) ? object.message : ""}`);
  return object;
}

/** `json` at `from`, converted to `to`, as JSON. */
function converted(group: string, resource: string, from: string, to: string, json: object): Record<string, unknown> {
  const target = resourceOf(group, to, resource);
  const object = convert(read(group, from, resource, json), resourceOf(group, from, resource), target, identity);
  return JSON.parse(encode(target.message, object)) as Record<string, unknown>;
}

const hpa = ["autoscaling", "horizontalpodautoscalers"] as const;
const target = { kind: "Deployment", name: "d" };
const cpuMetric = {
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } },
};
const cases: readonly [
  why: string,
  group: string,
  resource: string,
  from: string,
  to: string,
  json: object,
  expected: object,
][] = [
  [
    "cpu metrics are a field of v1",
    ...hpa,
    "v2",
    "v1",
    {
      spec: {
        scaleTargetRef: target,
        maxReplicas: 4,
        metrics: [cpuMetric],
      },
    },
    { metadata: {}, spec: { scaleTargetRef: target, maxReplicas: 4, targetCPUUtilizationPercentage: 60 } },
  ],
  [
    "other metrics and behavior travel in annotations of v1",
    ...hpa,
    "v2",
    "v1",
    {
      spec: {
        scaleTargetRef: target,
        maxReplicas: 4,
        behavior: {
          scaleDown: {
            stabilizationWindowSeconds: 60,
            selectPolicy: "Max",
            policies: [{ type: "Percent", value: 100, periodSeconds: 15 }],
          },
        },
        metrics: [
          {
            type: "External",
            external: {
              metric: { name: "q", selector: { matchLabels: { a: "b" } } },
              target: { type: "Value", value: "30" },
            },
          },
        ],
      },
    },
    {
      metadata: {
        annotations: {
          "autoscaling.alpha.kubernetes.io/behavior":
            '{"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":60,"SelectPolicy":"Max","Policies":[{"Type":"Percent","Value":100,"PeriodSeconds":15}]}}',
          "autoscaling.alpha.kubernetes.io/metrics":
            '[{"type":"External","external":{"metricName":"q","metricSelector":{"matchLabels":{"a":"b"}},"targetValue":"30"}}]',
        },
      },
    },
  ],
  [
    "v2beta1 has behavior in an annotation only",
    ...hpa,
    "v2beta2",
    "v2beta1",
    { spec: { scaleTargetRef: target, maxReplicas: 4, behavior: { scaleUp: { selectPolicy: "Min" } } } },
    {
      metadata: {
        annotations: {
          "autoscaling.alpha.kubernetes.io/behavior":
            '{"ScaleUp":{"StabilizationWindowSeconds":null,"SelectPolicy":"Min","Policies":null},"ScaleDown":null}',
        },
      },
    },
  ],
  [
    "metrics that stand before the cpu one in v1 are the others",
    ...hpa,
    "v1",
    "v2beta1",
    {
      metadata: {
        annotations: {
          "autoscaling.alpha.kubernetes.io/metrics":
            '[{"type":"Object","object":{"target":{"kind":"Service","name":"s"},"metricName":"m","targetValue":"10"}}]',
          mine: "x",
        },
      },
      spec: { scaleTargetRef: target, maxReplicas: 4, targetCPUUtilizationPercentage: 70 },
    },
    {
      metadata: { annotations: { mine: "x" } },
      spec: {
        metrics: [
          { type: "Object", object: { target: { kind: "Service", name: "s" }, metricName: "m", targetValue: "10" } },
          { type: "Resource", resource: { name: "cpu", targetAverageUtilization: 70 } },
        ],
      },
    },
  ],
  [
    "every kind of metric has its place in v1",
    ...hpa,
    "v2",
    "v1",
    {
      spec: {
        scaleTargetRef: target,
        maxReplicas: 4,
        metrics: [
          {
            type: "Object",
            object: {
              describedObject: target,
              metric: { name: "o" },
              target: { type: "AverageValue", averageValue: "5" },
            },
          },
          { type: "Pods", pods: { metric: { name: "p" }, target: { type: "AverageValue", averageValue: "5" } } },
          { type: "Resource", resource: { name: "memory", target: { type: "AverageValue", averageValue: "5Mi" } } },
          {
            type: "External",
            external: { metric: { name: "e" }, target: { type: "AverageValue", averageValue: "5" } },
          },
          cpuMetric,
        ],
      },
      status: {
        desiredReplicas: 3,
        currentMetrics: [
          { type: "Resource", resource: { name: "cpu", current: { averageValue: "3m", averageUtilization: 30 } } },
        ],
        conditions: [{ type: "AbleToScale", status: "True", lastTransitionTime: "2020-01-01T00:00:00Z" }],
      },
    },
    { spec: { targetCPUUtilizationPercentage: 60 }, status: { currentCPUUtilizationPercentage: 30 } },
  ],
  [
    "an annotation that is not ours is ignored",
    ...hpa,
    "v1",
    "v2",
    {
      metadata: {
        annotations: {
          "autoscaling.alpha.kubernetes.io/metrics": "[5",
          "autoscaling.alpha.kubernetes.io/behavior": "[]",
        },
      },
      spec: { scaleTargetRef: target, maxReplicas: 4 },
    },
    { metadata: {}, spec: { scaleTargetRef: target, maxReplicas: 4 } },
  ],
  [
    "an empty selector of v1 selects everything in v1beta1",
    "policy",
    "poddisruptionbudgets",
    "v1",
    "v1beta1",
    { spec: { selector: {} } },
    {
      spec: {
        selector: {
          matchExpressions: [
            { key: "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match", operator: "DoesNotExist" },
          ],
        },
      },
    },
  ],
  [
    "an empty selector of v1beta1 selects nothing in v1",
    "policy",
    "poddisruptionbudgets",
    "v1beta1",
    "v1",
    { spec: { selector: {} } },
    {
      spec: {
        selector: {
          matchExpressions: [{ key: "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match", operator: "Exists" }],
        },
      },
    },
  ],
  [
    "node and zone are topology in the old slices",
    "discovery.k8s.io",
    "endpointslices",
    "v1",
    "v1beta1",
    { addressType: "IPv4", endpoints: [{ addresses: ["10.1.2.3"], nodeName: "n1", zone: "z1" }] },
    {
      endpoints: [
        {
          addresses: ["10.1.2.3"],
          topology: { "kubernetes.io/hostname": "n1", "topology.kubernetes.io/zone": "z1" },
          nodeName: "n1",
        },
      ],
    },
  ],
  [
    "topology of the old slices is zone and the rest",
    "discovery.k8s.io",
    "endpointslices",
    "v1beta1",
    "v1",
    {
      addressType: "IPv4",
      endpoints: [
        {
          addresses: ["10.1.2.3"],
          topology: { "kubernetes.io/hostname": "n1", "topology.kubernetes.io/zone": "z1", rack: "r1" },
        },
      ],
    },
    {
      endpoints: [
        { addresses: ["10.1.2.3"], deprecatedTopology: { "kubernetes.io/hostname": "n1", rack: "r1" }, zone: "z1" },
      ],
    },
  ],
  [
    "runtime classes had a spec once",
    "node.k8s.io",
    "runtimeclasses",
    "v1alpha1",
    "v1",
    { spec: { runtimeHandler: "h", overhead: { podFixed: { cpu: "1" } } } },
    { handler: "h", overhead: { podFixed: { cpu: "1" } } },
  ],
];

t.test("convert() says the same in the other version's fields", (t) => {
  for (const [why, group, resource, from, to, json, expected] of cases) {
    t.hasStrict(converted(group, resource, from, to, json), expected, why);
  }
  t.end();
});

t.test("convert() loses nothing on the way to storage and back", (t) => {
  let count = 0;
  for (const [group, version, resource, file] of [
    ["autoscaling", "v2", "horizontalpodautoscalers", "autoscaling.v2.HorizontalPodAutoscaler"],
    ["batch", "v1", "cronjobs", "batch.v1.CronJob"],
    ["", "v1", "events", "core.v1.Event"],
  ] as const) {
    const path = `../shared/fixtures/${file}.json`;
    if (!existsSync(path)) continue;
    const source = resourceOf(group, version, resource);
    const json = JSON.parse(readFileSync(path, "utf8")) as object;
    // The fixture's metrics are of no type at all, which only v2 and v2beta2 can say.
    const shapes = group === "autoscaling" ? ["v2beta2"] : ["v1", "v1beta1"];
    for (const other of scheme.resources.filter(
      (r) => r.stored === source.stored && r !== source && shapes.includes(r.version),
    )) {
      const object = convert(read(group, version, resource, json), source, other, identity);
      const before = encode(source.message, read(group, version, resource, json));
      t.equal(
        encode(source.message, convert(object, other, source, identity)),
        before,
        `${version} ${other.apiVersion}`,
      );
      count++;
    }
  }
  t.equal(count, existsSync("../shared/fixtures") ? 4 : 0);
  for (const [why, group, resource, from, to, json] of cases) {
    if (why.includes("ignored")) continue;
    const source = resourceOf(group, from, resource);
    const other = resourceOf(group, to, resource);
    const back = convert(convert(read(group, from, resource, json), source, other, identity), other, source, identity);
    t.equal(encode(source.message, back), encode(source.message, read(group, from, resource, json)), why);
  }
  t.end();
});
