import { existsSync, readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import t from "tap";
import type { ApiObject } from "../../src/api/object.ts";
import { encode, zeroOf } from "../../src/codec/engine/json.ts";
import { decodeLean } from "../../src/codec/engine/stored.ts";
import { type Cell, elapsed, firstThree, labels, selector } from "../../src/kinds/columns.ts";
import { columnsOf } from "../../src/kinds/table.ts";
import { ObjectSource, objectFrom } from "../support/objects.ts";
import { draws } from "../support/random.ts";
import { cellsOf, created, identity, now, resourceOf, scheme } from "./cells.ts";

interface Fact {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly priority: number;
}

t.test("columnsOf() has upstream's columns for every kind", (t) => {
  const path = "../shared/facts/columns.json";
  const facts = existsSync(path)
    ? (JSON.parse(readFileSync(path, "utf8")) as { resources: Record<string, Fact[]> }).resources
    : {};
  for (const [key, expected] of Object.entries(facts)) {
    if (/[ (]/.test(key)) continue;
    const [name = "", ...group] = key.split(".");
    const found = columnsOf(resourceOf(group.join("."), name), identity).columns;
    const shown = found.map(({ name, type, format, priority }) => ({ name, type, format, priority }));
    t.same(
      shown,
      expected.map(({ name, type, format, priority }) => ({ name, type, format, priority })),
      key,
    );
  }
  t.end();
});

t.test("columnsOf() gives every resource a row, even for an object with nothing in it", (t) => {
  for (const resource of scheme.resources) {
    if (resource.virtual) continue;
    const stored = resource.stored ?? resource;
    const { columns, conditions } = columnsOf(resource, identity);
    const object = zeroOf<ApiObject>(stored.message);
    object.metadata ??= {};
    for (const { cell } of columns)
      t.not(
        cell(object, () => now),
        undefined,
        `${resource.apiVersion} ${resource.resource}`,
      );
    t.same(conditions?.(object) ?? [], []);
  }
  t.end();
});

t.test("elapsed() tells durations as people do", (t) => {
  const second = 1000;
  const minute = 60 * second;
  const hour = 60 * minute;
  const day = 24 * hour;
  const rows: [ms: number, expected: string][] = [
    [-2 * second, "<invalid>"],
    [-second, "0s"],
    [0, "0s"],
    [119 * second, "119s"],
    [2 * minute, "2m"],
    [9 * minute + 59 * second, "9m59s"],
    [10 * minute + 59 * second, "10m"],
    [179 * minute, "179m"],
    [3 * hour, "3h"],
    [7 * hour + 59 * minute, "7h59m"],
    [8 * hour + 59 * minute, "8h"],
    [47 * hour, "47h"],
    [2 * day, "2d"],
    [7 * day + 23 * hour, "7d23h"],
    [8 * day, "8d"],
    [729 * day, "729d"],
    [730 * day, "2y"],
    [731 * day, "2y1d"],
    [8 * 365 * day + day, "8y"],
  ];
  for (const [ms, expected] of rows) t.equal(elapsed(ms), expected, String(ms));
  t.end();
});

t.test("selector(), labels() and firstThree() write one line", (t) => {
  t.equal(selector(undefined), "<none>");
  t.equal(selector({}, ""), "");
  const expressions = [
    { key: "z", operator: "In", values: ["b", "a"] },
    { key: "c", operator: "NotIn", values: ["x"] },
    { key: "b", operator: "Exists" },
    { key: "a", operator: "DoesNotExist" },
  ];
  const matchLabels = new Map([["m", "1"]]);
  t.equal(selector({ matchLabels, matchExpressions: expressions }), "!a,b,c notin (x),m=1,z in (a,b)");
  t.equal(labels(undefined), "<none>");
  const special = new Map([
    ["b", ""],
    ["__proto__", "1"],
  ]);
  t.equal(labels(special), "__proto__=1,b=");
  t.equal(firstThree([], "-"), "-");
  t.equal(firstThree(["a", "b", "c"], "-"), "a,b,c");
  t.equal(firstThree(["a", "b", "c", "d", "e"], "-"), "a,b,c + 2 more...");
  t.end();
});

t.test("cells of other kinds follow their rules", (t) => {
  const template = {
    spec: {
      containers: [
        { name: "a", image: "x:1" },
        { name: "b", image: "y:2" },
      ],
    },
  };
  const service = {
    ports: [
      { port: 80, protocol: "TCP" },
      { port: 53, nodePort: 30053, protocol: "UDP" },
    ],
  };
  const balanced = { loadBalancer: { ingress: [{ ip: "9.9.9.9" }, { hostname: "h" }, { ip: "9.9.9.9" }] } };
  const target = { type: "Utilization", averageUtilization: 70 };
  const rows: [group: string, resource: string, object: object, cells: Record<string, Cell>][] = [
    [
      "apps",
      "deployments",
      { spec: { replicas: 2, template } },
      { Ready: "0/2", Containers: "a,b", Images: "x:1,y:2" },
    ],
    ["", "configmaps", { data: { a: "1" }, binaryData: { b: "AA==" } }, { Data: 2, Age: "60m" }],
    [
      "",
      "services",
      { spec: service },
      { "Port(s)": "80/TCP,53:30053/UDP", "Cluster-IP": "<none>", Selector: "<none>" },
    ],
    [
      "",
      "services",
      { spec: { type: "LoadBalancer", externalIPs: ["1.1.1.1"] }, status: balanced },
      { "External-IP": "9.9.9.9,h,1.1.1.1" },
    ],
    ["", "services", { spec: { type: "LoadBalancer" } }, { "External-IP": "<pending>" }],
    [
      "",
      "endpoints",
      { subsets: [{ addresses: [{ ip: "::1" }, { ip: "1.1.1.1" }], ports: [{ port: 1 }, { port: 2 }] }] },
      { Endpoints: "[::1]:1,1.1.1.1:1,[::1]:2 + 1 more..." },
    ],
    ["", "endpoints", { subsets: [{ notReadyAddresses: [{ ip: "1.1.1.1" }] }] }, { Endpoints: "" }],
    ["", "endpoints", {}, { Endpoints: "<none>" }],
    [
      "",
      "nodes",
      {
        metadata: { name: "n", labels: { "node-role.kubernetes.io/b": "", "kubernetes.io/role": "a" } },
        spec: { unschedulable: true },
        status: { conditions: [{ type: "Ready", status: "True" }], addresses: [{ type: "InternalIP", address: "i" }] },
      },
      { Status: "Ready,SchedulingDisabled", Roles: "a,b", "Internal-IP": "i", "OS-Image": "<unknown>" },
    ],
    [
      "",
      "events",
      {
        involvedObject: { kind: "Pod", name: "p" },
        source: { component: "c" },
        reportingInstance: "h",
        firstTimestamp: "2024-01-01T23:59:00Z",
        message: " m\n",
      },
      { Object: "pod/p", Source: "c, h", "Last Seen": "60s", "First Seen": "60s", Count: 1, Message: "m" },
    ],
    [
      "",
      "persistentvolumeclaims",
      {
        spec: { volumeName: "v" },
        status: { accessModes: ["ReadWriteMany", "ReadWriteOnce"], capacity: { storage: "1Gi" } },
      },
      { Capacity: "1Gi", "Access Modes": "RWO,RWX", VolumeMode: "<unset>" },
    ],
    ["batch", "jobs", { spec: { parallelism: 3, template } }, { Completions: "0/1 of 3", Duration: "" }],
    ["batch", "jobs", { status: { startTime: created, completionTime: "2024-01-01T23:00:30Z" } }, { Duration: "30s" }],
    [
      "autoscaling",
      "horizontalpodautoscalers",
      {
        spec: { scaleTargetRef: { kind: "Deployment", name: "d" }, maxReplicas: 3, targetCPUUtilizationPercentage: 70 },
      },
      { Reference: "Deployment/d", Targets: `<unknown>/${target.averageUtilization}%`, MinPods: "<unset>", MaxPods: 3 },
    ],
    [
      "networking.k8s.io",
      "ingresses",
      { spec: { tls: [{}], rules: [{ host: "a" }, { host: "b" }, { host: "c" }, {}, { host: "d" }] } },
      { Hosts: "a,b,c + 2 more...", Ports: "80, 443", Class: "<none>" },
    ],
    [
      "apps",
      "controllerrevisions",
      {
        metadata: {
          ownerReferences: [{ apiVersion: "apps/v1", kind: "DaemonSet", name: "d", uid: "u", controller: true }],
        },
        revision: 7,
      },
      { Controller: "daemonset.apps/d", Revision: 7 },
    ],
    [
      "certificates.k8s.io",
      "certificatesigningrequests",
      { spec: { expirationSeconds: 3600 }, status: { conditions: [{ type: "Approved" }], certificate: "AA==" } },
      { Condition: "Approved,Issued", RequestedDuration: "60m", SignerName: "<none>" },
    ],
    [
      "",
      "resourcequotas",
      { status: { hard: { pods: "3", "limits.cpu": "2" }, used: { pods: "1" } } },
      { Request: "pods: 1/3", Limit: "limits.cpu: 0/2" },
    ],
    [
      "storage.k8s.io",
      "storageclasses",
      { metadata: { name: "s", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } } },
      { Name: "s (default)", ReclaimPolicy: "Delete", AllowVolumeExpansion: false },
    ],
    [
      "apiregistration.k8s.io",
      "apiservices",
      { status: { conditions: [{ type: "Available", status: "False", reason: "Gone" }] } },
      { Service: "Local", Available: "False (Gone)" },
    ],
  ];
  for (const [group, resource, object, cells] of rows) {
    const found = cellsOf(group, resource, object);
    for (const [name, cell] of Object.entries(cells)) t.equal(found[name], cell, `${resource} ${name}`);
  }
  t.end();
});

t.test("cells of objects of which only what they read is read are those of whole objects", (t) => {
  const source = new ObjectSource(draws(7));
  let kinds = 0;
  let partly = 0;
  for (const resource of scheme.resources) {
    const { columns, conditions, reads } = columnsOf(resource, identity);
    if (reads === undefined || (resource.stored ?? resource) !== resource) continue;
    kinds += 1;
    for (let round = 0; round < 300; round += 1) {
      const object = objectFrom<ApiObject>(resource.message, source.json(resource.message));
      const read = decodeLean(resource, encode(resource.message, object), reads)?.object;
      // Some have what only the other reader reads.
      if (read === undefined) continue;
      partly += 1;
      const shown = (of: ApiObject) => [columns.map(({ cell }) => cell(of, () => now)), conditions?.(of)];
      if (!isDeepStrictEqual(shown(read), shown(object))) {
        t.same(shown(read), shown(object), resource.resource);
        break;
      }
    }
  }
  t.ok(kinds > 7 && partly > kinds * 150, `${partly} objects of ${kinds} kinds`);
  t.end();
});
