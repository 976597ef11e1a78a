import t, { type Test } from "tap";
import type { Service } from "../../../../src/api/gen/core/v1.ts";
import {
  validateService,
  validateServiceStatusUpdate,
  validateServiceUpdate,
} from "../../../../src/kinds/core/validation/service.ts";
import { context, type Json, lines, make, texts } from "../../build.ts";

function service(spec: Json = {}, annotations: Json = {}, status: Json = {}): Service {
  return make("Service", { metadata: { name: "s", annotations }, spec: { ports: [{ port: 80 }], ...spec }, status });
}

type Row = readonly [why: string, spec: Json, expected: readonly string[], annotations?: Json];

function check(t: Test, rows: readonly Row[]): void {
  for (const [why, spec, expected, annotations] of rows) {
    t.same(lines(validateService(service(spec, annotations), context)), expected, why);
  }
}

const badIp = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

t.test("validateService() checks ports", (t) => {
  const goPort = (name: string, protocol: string, port: number): string =>
    `core.ServicePort{Name:"${name}", Protocol:"${protocol}", AppProtocol:(*string)(nil), Port:${port}, TargetPort:intstr.IntOrString{Type:0, IntVal:${port}, StrVal:""}, NodePort:0}`;
  const shown =
    'core.ServicePort{Name:"", Protocol:"TCP", AppProtocol:(*string)(nil), Port:80, TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:""}, NodePort:0}';
  check(t, [
    ["a service", {}, []],
    ["no port", { ports: [] }, ["spec.ports: Required value"]],
    ["no port of a headless one", { ports: [], clusterIP: "None", clusterIPs: ["None"] }, []],
    [
      "names of several",
      { ports: [{ port: 1 }, { port: 2, name: "A" }] },
      ["spec.ports[0].name: Required value", `spec.ports[1].name: Invalid value: "A": ${texts.label}`],
    ],
    [
      "a name twice",
      {
        ports: [
          { port: 1, name: "a" },
          { port: 2, name: "a" },
        ],
      },
      ['spec.ports[1].name: Duplicate value: "a"'],
    ],
    [
      "numbers",
      { ports: [{ port: 0, targetPort: 70000, protocol: "X", appProtocol: "a b" }] },
      [
        `spec.ports[0].port: Invalid value: 0: ${texts.port}`,
        'spec.ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
        `spec.ports[0].targetPort: Invalid value: 70000: ${texts.port}`,
        `spec.ports[0].appProtocol: Invalid value: "a b": ${texts.name}`,
      ],
    ],
    [
      "a node port inside",
      { ports: [{ port: 1, nodePort: 30000 }] },
      ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
    ],
    [
      "a node port twice",
      {
        type: "NodePort",
        ports: [
          { port: 1, name: "a", nodePort: 30000 },
          { port: 2, name: "b", nodePort: 30000 },
        ],
      },
      ["spec.ports[1].nodePort: Duplicate value: 30000"],
    ],
    [
      "a node port for two protocols",
      {
        type: "NodePort",
        ports: [
          { port: 1, name: "a", nodePort: 30000 },
          { port: 1, name: "b", protocol: "UDP", nodePort: 30000 },
        ],
      },
      [],
    ],
    [
      "a port twice",
      {
        ports: [
          { port: 80, name: "a" },
          { port: 80, name: "b" },
        ],
      },
      [`spec.ports[1]: Duplicate value: ${shown}`],
    ],
    [
      "protocols of a balancer",
      {
        type: "LoadBalancer",
        ports: [
          { port: 1, name: "a" },
          { port: 2, name: "b", protocol: "UDP" },
        ],
      },
      [
        `spec.ports: Invalid value: []core.ServicePort{${goPort("a", "TCP", 1)}, ${goPort("b", "UDP", 2)}}: may not contain more than 1 protocol when type is 'LoadBalancer'`,
      ],
    ],
    [
      "the agent's port",
      { type: "LoadBalancer", ports: [{ port: 10250 }] },
      ["spec.ports[0]: Invalid value: 10250: may not expose port 10250 externally since it is used by kubelet"],
    ],
  ]);
  t.end();
});

t.test("validateService() checks types and affinity", (t) => {
  const name = { type: "ExternalName", ports: undefined };
  const affine = (seconds: unknown): Json => ({
    sessionAffinity: "ClientIP",
    sessionAffinityConfig: { clientIP: { timeoutSeconds: seconds } },
  });
  check(t, [
    [
      "type",
      { type: "X" },
      ['spec.type: Unsupported value: "X": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'],
    ],
    ["a name outside", { ...name, externalName: "a.example." }, []],
    ["no name", name, ["spec.externalName: Required value"]],
    [
      "a bad name with addresses",
      { ...name, externalName: "A", clusterIPs: ["10.0.0.1"], ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" },
      [
        "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
        "spec.ipFamilies: Forbidden: may not be set for ExternalName services",
        "spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services",
        `spec.externalName: Invalid value: "A": ${texts.subdomain}`,
      ],
    ],
    ["selector", { selector: { "a b": "" } }, [`spec.selector: Invalid value: "a b": ${texts.name}`]],
    [
      "affinity",
      { sessionAffinity: "X" },
      ['spec.sessionAffinity: Unsupported value: "X": supported values: "ClientIP", "None"'],
    ],
    [
      "seconds",
      affine(86401),
      [
        "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400",
      ],
    ],
    [
      "external addresses",
      { externalIPs: ["x", "127.0.0.1", "0.0.0.0", "169.254.1.1", "224.0.0.1"] },
      [
        `spec.externalIPs[0]: Invalid value: "x": ${badIp}`,
        'spec.externalIPs[1]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
        'spec.externalIPs[2]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)',
        'spec.externalIPs[3]: Invalid value: "169.254.1.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
        'spec.externalIPs[4]: Invalid value: "224.0.0.1": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)',
      ],
    ],
  ]);
  const none = service();
  none.spec.sessionAffinityConfig = {};
  t.same(lines(validateService(none, context)), [
    "spec.sessionAffinityConfig: Forbidden: must not be set when session affinity is None",
  ]);
  const config = service({ sessionAffinity: "ClientIP" });
  delete config.spec.sessionAffinityConfig;
  t.same(lines(validateService(config, context)), [
    "spec.sessionAffinityConfig: Required value: when session affinity type is ClientIP",
  ]);
  t.end();
});

t.test("validateService() checks addresses and families", (t) => {
  const ips = (...list: string[]): Json => ({ clusterIP: list[0], clusterIPs: list });
  const shown = (...list: string[]): string => `[]string{${list.map((ip) => `"${ip}"`).join(", ")}}`;
  check(t, [
    [
      "one of each",
      { ...ips("10.1.0.1", "fd00::1"), ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" },
      [],
    ],
    [
      "not in step",
      { clusterIP: "10.1.0.1", clusterIPs: ["10.1.0.2"] },
      [`spec.clusterIPs: Invalid value: ${shown("10.1.0.2")}: first value must match \`clusterIP\``],
    ],
    [
      "without the first",
      { clusterIPs: ["10.1.0.2"] },
      [`spec.clusterIPs: Invalid value: ${shown("10.1.0.2")}: must be empty when \`clusterIP\` is not specified`],
    ],
    ["without the list", { clusterIP: "10.1.0.2" }, ["spec.clusterIPs: Required value"]],
    ["no addresses", ips("x"), [`spec.clusterIPs[0]: Invalid value: "x": ${badIp}`]],
    [
      "none with another",
      ips("None", "10.1.0.1"),
      [`spec.clusterIPs: Invalid value: ${shown("None", "10.1.0.1")}: 'None' must be the first and only value`],
    ],
    [
      "three",
      ips("10.1.0.1", "fd00::1", "10.1.0.2"),
      [`spec.clusterIPs: Invalid value: ${shown("10.1.0.1", "fd00::1", "10.1.0.2")}: may only hold up to 2 values`],
    ],
    [
      "two of one family",
      ips("10.1.0.1", "10.1.0.2"),
      [
        `spec.clusterIPs: Invalid value: ${shown("10.1.0.1", "10.1.0.2")}: may specify no more than one IP for each IP family`,
      ],
    ],
    [
      "families",
      { ipFamilies: ["IPv4", "IPv4", "X"], ipFamilyPolicy: "X" },
      [
        'spec.ipFamilies[1]: Duplicate value: "IPv4"',
        'spec.ipFamilies[2]: Unsupported value: "X": supported values: "IPv4", "IPv6"',
        'spec.ipFamilyPolicy: Unsupported value: "X": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"',
      ],
    ],
    [
      "an address of another family",
      { ...ips("10.1.0.1"), ipFamilies: ["IPv6"] },
      ['spec.clusterIPs[0]: Invalid value: "10.1.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`'],
    ],
    [
      "headless node ports",
      { type: "NodePort", ...ips("None") },
      ["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"],
    ],
  ]);
  t.end();
});

t.test("validateService() checks what belongs to balancers and traffic", (t) => {
  const only = "may only be used when `type` is 'LoadBalancer'";
  const ranges = "must be a list of IP ranges. For example, 10.240.0.0/24,10.250.0.0/24 ";
  const annotation = "service.beta.kubernetes.io/load-balancer-source-ranges";
  check(t, [
    ["a balancer", { type: "LoadBalancer", loadBalancerSourceRanges: [" 10.0.0.0/8"], loadBalancerClass: "a.b/c" }, []],
    [
      "without one",
      { loadBalancerSourceRanges: ["10.0.0.0/8"], loadBalancerClass: "a", allocateLoadBalancerNodePorts: true },
      [
        `spec.LoadBalancerSourceRanges: Forbidden: ${only}`,
        `spec.allocateLoadBalancerNodePorts: Forbidden: ${only}`,
        `spec.loadBalancerClass: Forbidden: ${only}`,
      ],
    ],
    [
      "no ranges",
      { type: "LoadBalancer", loadBalancerSourceRanges: ["x", "y"] },
      [`spec.LoadBalancerSourceRanges: Invalid value: "[x y]": ${ranges}`],
    ],
    [
      "noted ranges",
      { type: "LoadBalancer" },
      [`metadata.annotations[${annotation}]: Invalid value: "x": ${ranges}`],
      { [annotation]: "x" },
    ],
    [
      "class",
      { type: "LoadBalancer", loadBalancerClass: "a b" },
      [`spec.loadBalancerClass: Invalid value: "a b": ${texts.name}`],
    ],
    [
      "external traffic inside",
      { externalTrafficPolicy: "Local" },
      [
        "spec.externalTrafficPolicy: Invalid value: \"Local\": may only be set when `type` is 'NodePort' or 'LoadBalancer'",
      ],
    ],
    [
      "external traffic",
      { type: "NodePort", externalTrafficPolicy: "X" },
      ['spec.externalTrafficPolicy: Unsupported value: "X": supported values: "Cluster", "Local"'],
    ],
    [
      "internal traffic",
      { internalTrafficPolicy: "X" },
      ['spec.internalTrafficPolicy: Unsupported value: "X": supported values: "Cluster", "Local"'],
    ],
    [
      "a health port",
      { healthCheckNodePort: 1 },
      [
        "spec.healthCheckNodePort: Invalid value: 1: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      ],
    ],
    ["of a local balancer", { type: "LoadBalancer", externalTrafficPolicy: "Local", healthCheckNodePort: 1 }, []],
  ]);
  t.end();
});

t.test("validateServiceUpdate() keeps what was given out", (t) => {
  const v4 = { clusterIP: "10.1.0.1", clusterIPs: ["10.1.0.1"], ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" };
  const dual = {
    clusterIP: "10.1.0.1",
    clusterIPs: ["10.1.0.1", "fd00::1"],
    ipFamilies: ["IPv4", "IPv6"],
    ipFamilyPolicy: "RequireDualStack",
  };
  const headless = { clusterIP: "None", clusterIPs: ["None"] };
  const balancer = { type: "LoadBalancer", externalTrafficPolicy: "Local", healthCheckNodePort: 1 };
  const rows: [why: string, now: Json, old: Json, expected: string[]][] = [
    ["nothing", v4, v4, []],
    [
      "another address",
      { ...v4, clusterIP: "10.1.0.2", clusterIPs: ["10.1.0.2"] },
      v4,
      ['spec.clusterIPs[0]: Invalid value: []string{"10.1.0.2"}: may not change once set'],
    ],
    [
      "no address any more",
      { ports: [{ port: 1 }] },
      v4,
      [
        "spec.clusterIPs[0]: Invalid value: []string(nil): primary clusterIP can not be unset",
        "spec.ipFamilies[0]: Invalid value: []core.IPFamily(nil): primary ipFamily can not be unset",
      ],
    ],
    ["a second stack", dual, v4, []],
    ["back to one", v4, dual, []],
    [
      "back to one without saying so",
      { ...v4, ipFamilyPolicy: "PreferDualStack" },
      dual,
      [
        "spec.ipFamilyPolicy: Invalid value: \"PreferDualStack\": must be set to 'SingleStack' when releasing the secondary clusterIP",
        "spec.ipFamilyPolicy: Invalid value: \"PreferDualStack\": must be set to 'SingleStack' when releasing the secondary ipFamily",
      ],
    ],
    ["to a name outside", { type: "ExternalName", externalName: "a.b" }, v4, []],
    ["to headless", headless, v4, ['spec.clusterIPs[0]: Invalid value: []string{"None"}: may not change once set']],
    ["headless stays", headless, headless, []],
    [
      "class",
      { type: "LoadBalancer", loadBalancerClass: "b" },
      { type: "LoadBalancer", loadBalancerClass: "a" },
      ['spec.loadBalancerClass: Invalid value: "b": may not change once set'],
    ],
    [
      "health port",
      { ...balancer, healthCheckNodePort: 2 },
      balancer,
      ["spec.healthCheckNodePort: Forbidden: field is immutable"],
    ],
  ];
  for (const [why, now, old, expected] of rows) {
    t.same(lines(validateServiceUpdate(service(now), service(old), context)), expected, why);
  }
  t.end();
});

t.test("validateServiceStatusUpdate() checks the balancer's addresses", (t) => {
  const update = (ingress: Json): string[] =>
    lines(validateServiceStatusUpdate(service({}, {}, { loadBalancer: { ingress: [ingress] } }), service(), context));
  t.same(update({ ip: "10.0.0.1", hostname: "a.b" }), []);
  t.same(update({ ip: "x", hostname: "10.0.0.1" }), [
    'status.loadBalancer.ingress[0].ip: Invalid value: "x": must be a valid IP address',
    'status.loadBalancer.ingress[0].hostname: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
  ]);
  t.end();
});
