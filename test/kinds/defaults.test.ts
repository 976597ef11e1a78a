import { existsSync, readdirSync, readFileSync } from "node:fs";
import t from "tap";
import { kindData } from "../../src/api/gen/kinds.ts";
import { identities } from "../../src/api/identity.ts";
import { messageOf, messages } from "../../src/api/messages.ts";
import { applyMessageDefaults, defaultedPaths } from "../../src/kinds/defaults.ts";
import { dump, load } from "./load.ts";

const identity = identities.kubernetes;

function defaulted(name: string, json: object): Record<string, unknown> {
  const object = load<object>(name, json);
  applyMessageDefaults(messageOf(name), object, identity);
  return dump(object) as Record<string, unknown>;
}

t.test("applyDefaults() touches exactly the paths of the facts", (t) => {
  const path = "../shared/facts/defaults.json";
  if (existsSync(path)) {
    const facts = JSON.parse(readFileSync(path, "utf8")) as { kinds: Record<string, { path: string; fn?: string }[]> };
    for (const { message } of kindData) {
      const expected = (facts.kinds[message.replace("/", ".")] ?? []).map(
        (e) => `${e.path}: ${e.fn ? "rule" : "value"}`,
      );
      t.strictSame(new Set(defaultedPaths(messageOf(message), identity)), new Set(expected), message);
    }
  }
  t.end();
});

t.test("applyDefaults() changes nothing the second time", (t) => {
  const folder = "../shared/fixtures";
  const fixtures: [string, object][] = [];
  for (const file of existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".json")) : []) {
    const [, group, version, kind] = /^(.+)\.(v[^.]+)\.(.+)\.json$/.exec(file) ?? [];
    const name = `${group?.split(".")[0] ?? ""}/${version ?? ""}.${kind ?? ""}`;
    if (messages.has(name)) fixtures.push([name, JSON.parse(readFileSync(`${folder}/${file}`, "utf8")) as object]);
  }
  for (const { message } of kindData) fixtures.push([message, { metadata: { name: "a" } }]);
  for (const [name, json] of fixtures) {
    const object = load<object>(name, json);
    applyMessageDefaults(messageOf(name), object, identity);
    const once = dump(object);
    applyMessageDefaults(messageOf(name), object, identity);
    t.strictSame(dump(object), once, name);
  }
  t.end();
});

const cases: readonly [why: string, message: string, json: object, expected: object][] = [
  ["config maps get empty data", "core/v1.ConfigMap", {}, { metadata: {}, data: {} }],
  [
    "namespaces are labelled with their name",
    "core/v1.Namespace",
    { metadata: { name: "a", labels: { x: "y" } } },
    {
      metadata: { name: "a", labels: { x: "y", "kubernetes.io/metadata.name": "a" } },
      spec: {},
      status: { phase: "Active" },
    },
  ],
  [
    "sticky sessions last three hours",
    "core/v1.Service",
    { spec: { sessionAffinity: "ClientIP", ports: [{ port: 80 }] } },
    {
      metadata: {},
      status: { loadBalancer: {} },
      spec: {
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 10800 } },
        type: "ClusterIP",
        ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
        internalTrafficPolicy: "Cluster",
      },
    },
  ],
  [
    "a limit range completes its defaults",
    "core/v1.LimitRange",
    {
      spec: {
        limits: [
          { type: "Container", max: { cpu: "2" }, min: { memory: "100u" } },
          { type: "Pod", max: { cpu: "1" } },
        ],
      },
    },
    {
      metadata: {},
      spec: {
        limits: [
          {
            type: "Container",
            max: { cpu: "2" },
            min: { memory: "1m" },
            default: { cpu: "2" },
            defaultRequest: { cpu: "2", memory: "1m" },
          },
          { type: "Pod", max: { cpu: "1" } },
        ],
      },
    },
  ],
  [
    "webhooks",
    "admissionregistration/v1.MutatingWebhookConfiguration",
    { webhooks: [{ clientConfig: { service: {} }, rules: [{}] }] },
    {
      metadata: {},
      webhooks: [
        {
          clientConfig: { service: { port: 443 } },
          rules: [{ scope: "*" }],
          failurePolicy: "Fail",
          matchPolicy: "Equivalent",
          namespaceSelector: {},
          objectSelector: {},
          timeoutSeconds: 10,
          reinvocationPolicy: "Never",
        },
      ],
    },
  ],
  [
    "scaling rules merge member by member",
    "autoscaling/v2.HorizontalPodAutoscaler",
    { spec: { minReplicas: 2, metrics: [{ type: "Pods" }], behavior: { scaleUp: { selectPolicy: "Min" } } } },
    {
      metadata: {},
      status: {},
      spec: {
        scaleTargetRef: {},
        minReplicas: 2,
        metrics: [{ type: "Pods" }],
        behavior: {
          scaleUp: {
            stabilizationWindowSeconds: 0,
            selectPolicy: "Min",
            policies: [
              { type: "Pods", value: 4, periodSeconds: 15 },
              { type: "Percent", value: 100, periodSeconds: 15 },
            ],
          },
          scaleDown: { selectPolicy: "Max", policies: [{ type: "Percent", value: 100, periodSeconds: 15 }] },
        },
      },
    },
  ],
];

t.test("applyDefaults() fills in what was left out", (t) => {
  for (const [why, message, json, expected] of cases) t.hasStrict(defaulted(message, json), expected, why);
  t.end();
});

t.test("applyDefaults() follows limits with requests in pods and not in templates", (t) => {
  const spec = { containers: [{ name: "c", image: "i:1", resources: { limits: { cpu: "1" } } }], hostNetwork: true };
  const pod = defaulted("core/v1.Pod", { spec }) as {
    spec: { containers: { resources: object }[]; enableServiceLinks?: boolean };
  };
  t.strictSame(pod.spec.containers[0]?.resources, { limits: { cpu: "1" }, requests: { cpu: "1" } });
  t.equal(pod.spec.enableServiceLinks, true);
  const template = defaulted("core/v1.PodTemplate", { template: { spec } }) as { template: typeof pod };
  t.strictSame(template.template.spec.containers[0]?.resources, { limits: { cpu: "1" } });
  t.equal(template.template.spec.enableServiceLinks, undefined);
  t.end();
});
