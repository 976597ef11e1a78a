import t from "tap";
import type { Node } from "../../../../src/api/gen/core/v1.ts";
import {
  validateNode,
  validateNodeStatusUpdate,
  validateNodeUpdate,
} from "../../../../src/kinds/core/validation/node.ts";
import { context, type Json, lines, make, texts } from "../../build.ts";

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
