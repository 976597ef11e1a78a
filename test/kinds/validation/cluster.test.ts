// Namespaces, nodes, endpoints and events.
import t from "tap";
import type { Endpoints, Event, Namespace, Node } from "../../../src/api/gen/core/v1.ts";
import type * as events from "../../../src/api/gen/events/v1.ts";
import { validateEndpoints, validateEndpointsUpdate } from "../../../src/kinds/core/endpoints.ts";
import { validateEvent, validateEventUpdate } from "../../../src/kinds/core/event.ts";
import {
  validateNamespace,
  validateNamespaceFinalizeUpdate,
  validateNamespaceStatusUpdate,
  validateNamespaceUpdate,
} from "../../../src/kinds/core/namespace.ts";
import { validateNode, validateNodeStatusUpdate, validateNodeUpdate } from "../../../src/kinds/core/validation/node.ts";
import { context, contextOf, type Json, lines, make, texts } from "./build.ts";

t.test("validateNamespace() checks finalizers and phases", (t) => {
  const space = (finalizers: string[], status: Json = {}, metadata: Json = {}): Namespace =>
    make("Namespace", { metadata: { name: "n", ...metadata }, spec: { finalizers }, status });
  const plain = "name is neither a standard finalizer name nor is it fully qualified";
  t.same(lines(validateNamespace(space(["kubernetes", "a.b/c"]), context)), []);
  t.same(lines(validateNamespaceUpdate(space(["a b"]), space([]), context)), [
    `spec.finalizers: Invalid value: "a b": ${texts.name}`,
    `spec.finalizers: Invalid value: "a b": ${plain}`,
  ]);
  t.same(lines(validateNamespaceFinalizeUpdate(space(["kubernetes", "x"]), space([]), context)), [
    `spec.finalizers[1]: Invalid value: "x": ${plain}`,
  ]);
  const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  const update = (phase: string, metadata: Json = {}): string[] =>
    lines(validateNamespaceStatusUpdate(space([], { phase }, metadata), space([]), context));
  t.same(update("Active"), []);
  t.same(update("Terminating", deleted), []);
  t.same(update("Terminating"), [
    "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty",
  ]);
  t.same(update("Active", deleted), [
    "status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty",
  ]);
  t.end();
});

t.test("validateNode() checks taints, ranges and resources", (t) => {
  const node = (spec: Json, status: Json = {}): Node => make("Node", { metadata: { name: "n" }, spec, status });
  const rows: [why: string, spec: Json, status: Json, expected: string[]][] = [
    [
      "a node",
      { podCIDRs: ["10.0.0.0/24", "fd00::/64"], taints: [{ key: "a", effect: "NoSchedule" }] },
      { capacity: { cpu: "4", "a.b/gpu": "1" } },
      [],
    ],
    [
      "taints",
      {
        taints: [
          { key: "a b", value: "c d", effect: "X" },
          { key: "a", effect: "" },
        ],
      },
      {},
      [
        `metadata.taints[0].key: Invalid value: "a b": ${texts.name}`,
        `metadata.taints[0].value: Invalid value: "c d": ${texts.labelValue}`,
        'metadata.taints[0].effect: Unsupported value: "X": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
        "metadata.taints[1].effect: Required value",
      ],
    ],
    [
      "a taint twice",
      {
        taints: [
          { key: "a", value: "1", effect: "NoExecute" },
          { key: "a", value: "2", effect: "NoExecute" },
        ],
      },
      {},
      [
        'metadata.taints[1]: Duplicate value: core.Taint{Key:"a", Value:"2", Effect:"NoExecute", TimeAdded:<nil>}: taints must be unique by key and effect pair',
      ],
    ],
    [
      "ranges",
      { podCIDRs: ["10.0.0.0/24", "10.0.0.0/24"] },
      {},
      [
        'spec.podCIDRs: Invalid value: []string{"10.0.0.0/24", "10.0.0.0/24"}: may specify no more than one CIDR for each IP family',
        'spec.podCIDRs[1]: Duplicate value: "10.0.0.0/24"',
      ],
    ],
    ["no range", { podCIDRs: ["x"] }, {}, ['spec.podCIDRs[0]: Invalid value: []string{"x"}: must be valid CIDR']],
    [
      "resources",
      {},
      { capacity: { cpu: "-1" }, allocatable: { pods: "500m" } },
      [
        `status.capacity.cpu: Invalid value: "-1": ${texts.nonNegative}`,
        'status.allocatable.pods: Invalid value: resource.Quantity{i:resource.int64Amount{value:500, scale:-3}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"500m", Format:"DecimalSI"}: must be an integer',
      ],
    ],
  ];
  for (const [why, spec, status, expected] of rows)
    t.same(lines(validateNode(node(spec, status), context)), expected, why);
  const old = node({ podCIDRs: ["10.0.0.0/24"], providerID: "a", externalID: "e" });
  t.same(lines(validateNodeUpdate(node({ podCIDRs: ["10.0.1.0/24"], providerID: "b" }), old, context)), [
    'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
    'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
    "spec.externalID: Forbidden: may not be updated",
  ]);
  t.same(lines(validateNodeUpdate(node({ podCIDRs: ["10.0.1.0/24"], providerID: "b" }), node({}), context)), []);
  const address = { type: "InternalIP", address: "10.0.0.1" };
  t.same(lines(validateNodeStatusUpdate(node({}, { addresses: [address, address] }), node({}), context)), [
    'status.addresses[1]: Duplicate value: core.NodeAddress{Type:"InternalIP", Address:"10.0.0.1"}',
  ]);
  const source = { configMap: { namespace: "", name: "n", uid: "u", kubeletConfigKey: "a b" } };
  t.same(
    lines(validateNodeStatusUpdate(node({ configSource: source }, { config: { active: {} } }), node({}), context)),
    [
      "spec.configSource.configMap.uid: Forbidden: uid must not be set in spec",
      "spec.configSource.configMap.namespace: Required value: namespace must be set",
      `spec.configSource.configMap.kubeletConfigKey: Invalid value: "a b": ${texts.configKey}`,
      "status.config.active: Invalid value: {}: exactly one reference subfield must be non-nil",
    ],
  );
  t.end();
});

t.test("validateEndpoints() checks addresses and ports", (t) => {
  const endpoints = (subset: Json): Endpoints => make("Endpoints", { metadata: { name: "e" }, subsets: [subset] });
  const addresses = [{ ip: "10.0.0.1" }];
  const rows: [why: string, subset: Json, expected: string[]][] = [
    ["a subset", { addresses, ports: [{ port: 1 }] }, []],
    ["nothing", {}, ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"]],
    [
      "addresses",
      { addresses: [{ ip: "x", hostname: "A", nodeName: "B" }], notReadyAddresses: [{ ip: "::1" }] },
      [
        'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        `subsets[0].addresses[0].hostname: Invalid value: "A": ${texts.label}`,
        `subsets[0].addresses[0].nodeName: Invalid value: "B": ${texts.subdomain}`,
        'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address',
        'subsets[0].notReadyAddresses[0].ip: Invalid value: "::1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
      ],
    ],
    [
      "ports",
      {
        addresses,
        ports: [
          { port: 0, protocol: "X" },
          { port: 1, name: "A", appProtocol: "a b" },
        ],
      },
      [
        "subsets[0].ports[0].name: Required value",
        `subsets[0].ports[0].port: Invalid value: 0: ${texts.port}`,
        'subsets[0].ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
        `subsets[0].ports[1].name: Invalid value: "A": ${texts.label}`,
        `subsets[0].ports[1].appProtocol: Invalid value: "a b": ${texts.name}`,
      ],
    ],
  ];
  for (const [why, subset, expected] of rows) {
    t.same(lines(validateEndpoints(endpoints(subset), context)), expected, why);
    t.same(lines(validateEndpointsUpdate(endpoints(subset), endpoints({}), context)), expected, `${why}, changed`);
  }
  t.end();
});

t.test("validateEvent() checks where an event belongs and what a timed one says", (t) => {
  const namespace = "involvedObject.namespace";
  const event = (more: Json, metadata: Json = { namespace: "a" }): Event =>
    make("Event", { metadata: { name: "e", ...metadata }, involvedObject: { namespace: "a" }, ...more });
  const rows: [why: string, object: Event, expected: string[]][] = [
    ["an event", event({}), []],
    [
      "of another namespace",
      event({ involvedObject: { namespace: "b" } }),
      [`${namespace}: Invalid value: "b": does not match event.namespace`],
    ],
    ["of a cluster's object", event({ involvedObject: {} }, { namespace: "default" }), []],
    [
      "of a cluster's object elsewhere",
      event({ involvedObject: {} }),
      [`${namespace}: Invalid value: "": does not match event.namespace`],
    ],
    [
      "timed, of the system",
      event(
        {
          involvedObject: {},
          eventTime: "2026-01-01T00:00:00.000000Z",
          reportingComponent: "a.b/c",
          reportingInstance: "i",
          action: "a",
          reason: "r",
        },
        { namespace: "kube-system" },
      ),
      [],
    ],
    [
      "timed, empty",
      event({ eventTime: "2026-01-01T00:00:00.000000Z", message: "x".repeat(1025), reason: "r".repeat(129) }),
      [
        "reportingComponent: Required value",
        `reportingComponent: Invalid value: "": name part must be non-empty`,
        `reportingComponent: Invalid value: "": ${texts.name}`,
        "reportingInstance: Required value",
        "action: Required value",
        'reason: Invalid value: "": can have at most 128 characters',
        'message: Invalid value: "": can have at most 1024 characters',
      ],
    ],
    [
      "in no namespace",
      event({ involvedObject: {} }, { namespace: "" }),
      [`namespace: Invalid value: "": ${texts.subdomain}`],
    ],
  ];
  for (const [why, object, expected] of rows) {
    t.same(lines(validateEvent(object, context)), expected, why);
    t.same(lines(validateEventUpdate(object, event({}), context)), expected, `${why}, changed`);
  }
  t.end();
});

t.test("validateEvent() is stricter in events.k8s.io/v1", (t) => {
  const context = contextOf("events.k8s.io");
  const event = (more: Json): events.Event =>
    make("Event", { metadata: { name: "e", namespace: "a" }, regarding: { namespace: "a" }, ...more }, "events.k8s.io");
  const good = {
    eventTime: "2026-01-01T00:00:00.000000Z",
    reportingController: "a.b/c",
    reportingInstance: "i",
    action: "a",
    reason: "r",
    type: "Normal",
  };
  t.same(lines(validateEvent(event(good), context)), []);
  t.same(
    lines(
      validateEvent(
        event({
          ...good,
          series: { count: 1 },
          type: "X",
          deprecatedCount: 1,
          deprecatedFirstTimestamp: "2026-01-01T00:00:00Z",
          deprecatedLastTimestamp: "2026-01-01T00:00:00Z",
          deprecatedSource: { host: "h" },
        }),
        context,
      ),
    ),
    [
      'series.count: Invalid value: "": should be at least 2',
      "series.lastObservedTime: Required value",
      'type: Invalid value: "": has invalid value: X',
      'firstTimestamp: Invalid value: "": needs to be unset',
      'lastTimestamp: Invalid value: "": needs to be unset',
      'count: Invalid value: "": needs to be unset',
      'source: Invalid value: "": needs to be unset',
    ],
  );
  t.same(lines(validateEvent(event({ type: "Normal" }), context)), ["eventTime: Required value"]);
  t.same(lines(validateEventUpdate(event({ ...good, series: { count: 1 } }), event(good), context)), [
    'series.count: Invalid value: "": should be at least 2',
    "series.lastObservedTime: Required value",
  ]);
  t.end();
});
