import t, { type Test } from "tap";
import type { Binding, Pod, PodTemplate } from "../../../../../src/api/gen/core/v1.ts";
import { identities } from "../../../../../src/api/identity.ts";
import { messageOf } from "../../../../../src/api/messages.ts";
import { Settled, settledOf } from "../../../../../src/codec/engine/settled.ts";
import {
  validateBinding,
  validatePod,
  validatePodEphemeralContainersUpdate,
  validatePodStatusUpdate,
  validatePodTemplate,
  validatePodTemplateUpdate,
  validatePodUpdate,
} from "../../../../../src/kinds/core/validation/pod/pod.ts";
import { container, context, type Json, lines, make, podSpec, texts } from "../../../build.ts";

type Row = readonly [why: string, spec: Json, expected: readonly string[], annotations?: Json];

function pod(spec: Json = {}, annotations: Json = {}, status: Json = {}): Pod {
  return make<Pod>("Pod", { metadata: { name: "p", annotations }, spec: podSpec(spec), status });
}

function check(t: Test, rows: readonly Row[]): void {
  for (const [why, spec, expected, annotations] of rows) {
    t.same(lines(validatePod(pod(spec, annotations), context)), expected, why);
  }
}

t.test("validatePod() checks policies, names and classes", (t) => {
  check(t, [
    ["a small pod", {}, []],
    [
      "restart policy",
      { restartPolicy: "X" },
      ['spec.restartPolicy: Unsupported value: "X": supported values: "Always", "OnFailure", "Never"'],
    ],
    [
      "node selector",
      { nodeSelector: { "a b": "c d" } },
      [
        `spec.nodeSelector: Invalid value: "a b": ${texts.name}`,
        `spec.nodeSelector: Invalid value: "c d": ${texts.labelValue}`,
      ],
    ],
    ["account", { serviceAccountName: "A" }, [`spec.serviceAccountName: Invalid value: "A": ${texts.subdomain}`]],
    ["node", { nodeName: "A" }, [`spec.nodeName: Invalid value: "A": ${texts.subdomain}`]],
    [
      "deadline",
      { activeDeadlineSeconds: 2147483648 },
      ["spec.activeDeadlineSeconds: Invalid value: 2147483648: must be between 1 and 2147483647, inclusive"],
    ],
    [
      "host name",
      { hostname: "a.b", subdomain: "A" },
      [`spec.hostname: Invalid value: "a.b": ${texts.label}`, `spec.subdomain: Invalid value: "A": ${texts.label}`],
    ],
    [
      "classes",
      { priorityClassName: "A", runtimeClassName: "", preemptionPolicy: "X" },
      [
        `spec.priorityClassName: Invalid value: "A": ${texts.subdomain}`,
        `spec.runtimeClassName: Invalid value: "": ${texts.subdomain}`,
        'spec.preemptionPolicy: Unsupported value: "X": supported values: "PreemptLowerPriority", "Never"',
      ],
    ],
    [
      "operating system",
      { os: { name: "linux" } },
      ["spec.os: Forbidden: cannot be set when IdentifyPodOS feature is not enabled"],
    ],
    ["overhead", { overhead: { cpu: "-1" } }, [`spec.overhead.limits[cpu]: Invalid value: "-1": ${texts.nonNegative}`]],
    [
      "readiness gate",
      { readinessGates: [{ conditionType: "a b" }] },
      [`spec.readinessGates[0].conditionType: Invalid value: "a b": ${texts.name}`],
    ],
    [
      "host aliases",
      { hostAliases: [{ ip: "x", hostnames: ["A"] }] },
      [
        'spec.hostAliases.ip: Invalid value: "x": must be valid IP address',
        `spec.hostAliases.hostnames: Invalid value: "A": ${texts.subdomain}`,
      ],
    ],
    [
      "a token without an account",
      { volumes: [{ name: "v", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }] },
      [
        "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set",
      ],
    ],
  ]);
  t.end();
});

t.test("validatePod() checks name resolution", (t) => {
  const config = (more: Json): Json => ({ dnsConfig: more });
  const seven = Array.from({ length: 7 }, (_, i) => `d${i}.example`);
  check(t, [
    [
      "policy",
      { dnsPolicy: "X" },
      [
        'spec.dnsPolicy: Unsupported value: "X": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
      ],
    ],
    [
      "none without a configuration",
      { dnsPolicy: "None" },
      ["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
    ],
    [
      "none without servers",
      { dnsPolicy: "None", ...config({}) },
      ["spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None"],
    ],
    [
      "servers",
      config({ nameservers: ["1.1.1.1", "::1", "x", "1.2.3.4"] }),
      [
        'spec.dnsConfig.nameservers: Invalid value: []string{"1.1.1.1", "::1", "x", "1.2.3.4"}: must not have more than 3 nameservers',
        'spec.dnsConfig.nameservers[2]: Invalid value: "x": must be valid IP address',
      ],
    ],
    [
      "search paths",
      config({ searches: ["a.example.", "A"] }),
      [`spec.dnsConfig.searches[1]: Invalid value: "A": ${texts.subdomain}`],
    ],
    [
      "too many",
      config({ searches: seven }),
      [
        `spec.dnsConfig.searches: Invalid value: []string{${seven.map((s) => `"${s}"`).join(", ")}}: must not have more than 6 search paths`,
      ],
    ],
    [
      "options",
      config({ options: [{ value: "1" }] }),
      ["spec.dnsConfig.options[0]: Required value: must not be empty"],
    ],
  ]);
  t.end();
});

t.test("validatePod() checks affinity, tolerations and spreading", (t) => {
  const required = "requiredDuringSchedulingIgnoredDuringExecution";
  const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
  const node = (matchExpressions: Json[], matchFields: Json[] = []): Json => ({
    affinity: { nodeAffinity: { [required]: { nodeSelectorTerms: [{ matchExpressions, matchFields }] } } },
  });
  const term = `spec.affinity.nodeAffinity.${required}.nodeSelectorTerms[0]`;
  check(t, [
    [
      "no term",
      { affinity: { nodeAffinity: { [required]: {} } } },
      [
        `spec.affinity.nodeAffinity.${required}.nodeSelectorTerms: Required value: must have at least one node selector term`,
      ],
    ],
    [
      "expressions",
      node([
        { key: "a", operator: "In" },
        { key: "a", operator: "Exists", values: ["x"] },
        { key: "a", operator: "Gt", values: ["1", "2"] },
        { key: "a b", operator: "X" },
      ]),
      [
        `${term}.matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
        `${term}.matchExpressions[1].values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
        `${term}.matchExpressions[2].values: Required value: must be specified single value when \`operator\` is 'Lt' or 'Gt'`,
        `${term}.matchExpressions[3].operator: Invalid value: "X": not a valid selector operator`,
        `${term}.matchExpressions[3].key: Invalid value: "a b": ${texts.name}`,
      ],
    ],
    [
      "fields",
      node(
        [],
        [
          { key: "metadata.name", operator: "In", values: ["A"] },
          { key: "spec.x", operator: "Exists" },
        ],
      ),
      [
        `${term}.matchFields[0].values[0]: Invalid value: "A": ${texts.subdomain}`,
        `${term}.matchFields[1].operator: Invalid value: "Exists": not a valid selector operator`,
        `${term}.matchFields[1].key: Invalid value: "spec.x": not a valid field selector key`,
      ],
    ],
    [
      "weights",
      {
        affinity: {
          nodeAffinity: { [preferred]: [{ weight: 0, preference: {} }] },
          podAntiAffinity: { [preferred]: [{ weight: 101, podAffinityTerm: { topologyKey: "k" } }] },
        },
      },
      [
        `spec.affinity.nodeAffinity.${preferred}[0].weight: Invalid value: 0: must be in the range 1-100`,
        `spec.affinity.podAntiAffinity.${preferred}[0].weight: Invalid value: 101: must be in the range 1-100`,
      ],
    ],
    [
      "pods",
      {
        affinity: {
          podAffinity: { [required]: [{ namespaces: ["A"], labelSelector: { matchLabels: { "a b": "" } } }] },
        },
      },
      [
        `spec.affinity.podAffinity.${required}[0].labelSelector.matchLabels: Invalid value: "a b": ${texts.name}`,
        `spec.affinity.podAffinity.${required}[0].namespace: Invalid value: "A": ${texts.label}`,
        `spec.affinity.podAffinity.${required}[0].topologyKey: Required value: can not be empty`,
        `spec.affinity.podAffinity.${required}[0].topologyKey: Invalid value: "": name part must be non-empty`,
        `spec.affinity.podAffinity.${required}[0].topologyKey: Invalid value: "": ${texts.name}`,
      ],
    ],
    [
      "tolerations",
      {
        tolerations: [
          { key: "a b", operator: "X", effect: "Y" },
          { operator: "Equal", value: "c d" },
          { key: "a", operator: "Exists", value: "v", tolerationSeconds: 5 },
        ],
      },
      [
        `spec.tolerations[0].key: Invalid value: "a b": ${texts.name}`,
        'spec.tolerations[0].operator: Unsupported value: "X": supported values: "Equal", "Exists"',
        'spec.tolerations[0].effect: Unsupported value: "Y": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
        'spec.tolerations[1].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
        `spec.tolerations[1].operator: Invalid value: "c d": ${texts.labelValue}`,
        "spec.tolerations[2].effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set",
        'spec.tolerations[2].operator: Invalid value: core.Toleration{Key:"a", Operator:"Exists", Value:"v", Effect:"", TolerationSeconds:(*int64)(5)}: value must be empty when `operator` is \'Exists\'',
      ],
    ],
    [
      "spreading",
      {
        topologySpreadConstraints: [
          { maxSkew: 0, topologyKey: "", whenUnsatisfiable: "X" },
          { maxSkew: 1, topologyKey: "k", whenUnsatisfiable: "DoNotSchedule" },
          { maxSkew: 1, topologyKey: "k", whenUnsatisfiable: "DoNotSchedule" },
        ],
      },
      [
        "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
        "spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
        'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "X": supported values: "DoNotSchedule", "ScheduleAnyway"',
        'spec.topologySpreadConstraints[1].{topologyKey, whenUnsatisfiable}: Duplicate value: "{k, DoNotSchedule}"',
      ],
    ],
  ]);
  t.end();
});

t.test("validatePod() checks security contexts", (t) => {
  const ids = "must be between 0 and 2147483647, inclusive";
  const own = (securityContext: Json): Json => ({ containers: [container({ securityContext })] });
  check(t, [
    [
      "ids",
      { securityContext: { fsGroup: -1, runAsUser: -2, runAsGroup: -3, supplementalGroups: [1, 4294967296] } },
      [
        `spec.securityContext.fsGroup: Invalid value: -1: ${ids}`,
        `spec.securityContext.runAsUser: Invalid value: -2: ${ids}`,
        `spec.securityContext.runAsGroup: Invalid value: -3: ${ids}`,
        `spec.securityContext.supplementalGroups[1]: Invalid value: 4294967296: ${ids}`,
      ],
    ],
    [
      "namespaces of processes",
      { hostPID: true, shareProcessNamespace: true },
      [
        "spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled",
      ],
    ],
    [
      "kernel parameters",
      {
        securityContext: {
          sysctls: [
            { name: "net.ipv4/conf", value: "" },
            { name: "", value: "" },
            { name: "a..b", value: "" },
            { name: "net.ipv4/conf", value: "" },
          ],
        },
      },
      [
        "spec.securityContext.sysctls[1].name: Required value",
        'spec.securityContext.sysctls[2].name: Invalid value: "a..b": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$',
        'spec.securityContext.sysctls[3].name: Duplicate value: "net.ipv4/conf"',
      ],
    ],
    [
      "group policy",
      { securityContext: { fsGroupChangePolicy: "X" } },
      [
        'spec.securityContext.fsGroupChangePolicy: Unsupported value: "X": supported values: "Always", "OnRootMismatch"',
      ],
    ],
    [
      "seccomp",
      {
        securityContext: { seccompProfile: { type: "Localhost" } },
        ...own({ seccompProfile: { type: "X", localhostProfile: "a" } }),
      },
      [
        'spec.containers[0].securityContext.seccompProfile.type: Unsupported value: "X": supported values: "Localhost", "RuntimeDefault", "Unconfined"',
        'spec.containers[0].securityContext.seccompProfile.localhostProfile: Invalid value: {"type":"X","localhostProfile":"a"}: can only be set when seccomp type is Localhost',
        "spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost",
      ],
    ],
    [
      "escalation",
      own({ capabilities: { add: ["CAP_SYS_ADMIN"] }, privileged: true, allowPrivilegeEscalation: false }),
      [
        'spec.containers[0].securityContext: Invalid value: {"capabilities":{"add":["CAP_SYS_ADMIN"]},"privileged":true,"allowPrivilegeEscalation":false}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
        'spec.containers[0].securityContext: Invalid value: {"capabilities":{"add":["CAP_SYS_ADMIN"]},"privileged":true,"allowPrivilegeEscalation":false}: cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN',
      ],
    ],
    [
      "mount of processes",
      own({ procMount: "X", runAsUser: -1 }),
      [
        `spec.containers[0].securityContext.runAsUser: Invalid value: -1: ${ids}`,
        'spec.containers[0].securityContext.procMount: Unsupported value: "X": supported values: "Default", "Unmasked"',
      ],
    ],
    [
      "processes of the host",
      {
        securityContext: { windowsOptions: { hostProcess: true } },
        ...own({ windowsOptions: { hostProcess: false } }),
      },
      [
        "spec.containers[0].securityContext.windowsOptions.hostProcess: Invalid value: false: pod hostProcess value must be identical if both are specified, was true",
      ],
    ],
    [
      "without the host's network",
      { securityContext: { windowsOptions: { hostProcess: true } } },
      ["spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers"],
    ],
    [
      "Windows users",
      own({ windowsOptions: { gmsaCredentialSpecName: "A", gmsaCredentialSpec: "", runAsUserName: "a\\b\\c" } }),
      [
        `spec.containers[0].securityContext.windowsOptions.gmsaCredentialSpecName: Invalid value: "A": ${texts.subdomain}`,
        'spec.containers[0].securityContext.windowsOptions.gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot be an empty string',
        'spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value: "a\\\\b\\\\c": runAsUserName cannot contain more than one backslash',
      ],
    ],
  ]);
  t.end();
});

t.test("validatePod() checks annotations with a meaning", (t) => {
  const cost = "controller.kubernetes.io/pod-deletion-cost";
  const armor = "container.apparmor.security.beta.kubernetes.io/";
  const wrongCost = (value: string): string =>
    `metadata.annotations[${cost}]: Invalid value: "${value}": must be a 32bit integer`;
  const seccomp = "seccomp.security.alpha.kubernetes.io/pod";
  check(t, [
    [
      "a mirror",
      {},
      [
        'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set',
      ],
      { "kubernetes.io/config.mirror": "x" },
    ],
    ["costs", {}, [], { [cost]: "-2147483648" }],
    ...["+1", "01", "", "1.0", "2147483648", "-"].map(
      (value): Row => ["a bad cost", {}, [wrongCost(value)], { [cost]: value }],
    ),
    [
      "profiles",
      {},
      [
        `metadata.annotations[${armor}x]: Invalid value: "x": container not found`,
        `metadata.annotations[${armor}c]: Invalid value: "y": invalid AppArmor profile name: "y"`,
      ],
      { [`${armor}x`]: "unconfined", [`${armor}c`]: "y" },
    ],
    [
      "seccomp",
      {},
      [`metadata.annotations.${seccomp}: Invalid value: "x": must be a valid seccomp profile`],
      { [seccomp]: "x" },
    ],
    [
      "seccomp upwards",
      {},
      [`metadata.annotations.${seccomp}: Invalid value: "../a": must not contain '..'`],
      { [seccomp]: "localhost/../a" },
    ],
    [
      "two opinions",
      { securityContext: { seccompProfile: { type: "Unconfined" } } },
      ["spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match"],
      { [seccomp]: "runtime/default" },
    ],
    [
      "two profiles",
      { securityContext: { seccompProfile: { type: "Localhost", localhostProfile: "a" } } },
      [
        "spec.securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile in annotation and field must match",
      ],
      { [seccomp]: "localhost/b" },
    ],
  ]);
  const branded = { ...context, identity: identities.orch };
  t.same(lines(validatePod(pod({}, { "orch.io/config.mirror": "x" }), branded)), [
    'metadata.annotations[orch.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set',
  ]);
  t.same(lines(validatePod(pod({}, { "kubernetes.io/config.mirror": "x" }), branded)), []);
  t.end();
});

t.test("validatePodUpdate() lets hardly anything of a spec change", (t) => {
  const frozen = (change: string): string[] => [change];
  const sentence =
    "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations` (only additions to existing tolerations) or `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
  const tolerations = [{ key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 1 }];
  const rows: [why: string, old: Json, now: Json, expected: string[]][] = [
    ["nothing", {}, {}, []],
    ["an image", {}, { containers: [container({ image: "j" })] }, []],
    [
      "no image",
      {},
      { containers: [container({ image: "", imagePullPolicy: "Always" })] },
      ["spec.containers[0].image: Required value", "spec.containers[0].image: Required value"],
    ],
    ["a node", {}, { nodeName: "n" }, frozen(sentence)],
    [
      "one more container",
      {},
      { containers: [container(), container({ name: "d" })] },
      ["spec.containers: Forbidden: pod updates may not add or remove containers"],
    ],
    ["a first deadline", {}, { activeDeadlineSeconds: 5 }, []],
    ["a nearer deadline", { activeDeadlineSeconds: 9 }, { activeDeadlineSeconds: 5 }, []],
    [
      "a later deadline",
      { activeDeadlineSeconds: 5 },
      { activeDeadlineSeconds: 9 },
      ["spec.activeDeadlineSeconds: Invalid value: 9: must be less than or equal to previous value"],
    ],
    [
      "no deadline any more",
      { activeDeadlineSeconds: 5 },
      {},
      ['spec.activeDeadlineSeconds: Invalid value: "null": must not update from a positive integer to nil value'],
    ],
    ["one more toleration", { tolerations }, { tolerations: [...tolerations, { operator: "Exists" }] }, []],
    ["other seconds", { tolerations }, { tolerations: [{ ...tolerations[0], tolerationSeconds: 2 }] }, []],
    [
      "one toleration less",
      { tolerations },
      {},
      ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"],
    ],
    ["a corrected grace period", { terminationGracePeriodSeconds: -5 }, { terminationGracePeriodSeconds: 1 }, []],
    [
      "another grace period",
      { terminationGracePeriodSeconds: 5 },
      { terminationGracePeriodSeconds: 1 },
      frozen(sentence),
    ],
    ["an ephemeral container", {}, { ephemeralContainers: [container({ name: "e" })] }, frozen(sentence)],
  ];
  for (const [why, old, now, expected] of rows) {
    t.same(lines(validatePodUpdate(pod(now), pod(old), context)), expected, why);
  }
  const [{ text } = { text: "" }] = validatePodUpdate(pod({ nodeName: "n" }), pod({ hostname: "h" }), context);
  t.equal(
    text.slice(text.indexOf("\n")),
    '\n  spec.nodeName: unset → "n"\n  spec.hostname: "h" → unset\n',
    "what changed is said",
  );
  t.end();
});

t.test("validatePodUpdate() keeps annotations that are part of what a pod is", (t) => {
  const mirror = "kubernetes.io/config.mirror";
  const armor = "container.apparmor.security.beta.kubernetes.io/c";
  const update = (now: Json, old: Json): string[] =>
    lines(validatePodUpdate(pod({ nodeName: "n" }, now), pod({ nodeName: "n" }, old), context));
  t.same(update({ a: "1" }, {}), []);
  t.same(update({ [mirror]: "x" }, {}), [
    `metadata.annotations[${mirror}]: Forbidden: may not add mirror pod annotation`,
  ]);
  t.same(update({ [mirror]: "x" }, { [mirror]: "y" }), [
    `metadata.annotations[${mirror}]: Forbidden: may not remove or update mirror pod annotation`,
  ]);
  t.same(update({}, { [armor]: "unconfined" }), [
    `metadata.annotations[${armor}]: Forbidden: may not remove or update AppArmor annotations`,
  ]);
  const cost = "controller.kubernetes.io/pod-deletion-cost";
  t.same(update({ [cost]: "x" }, { [cost]: "y" }), [], "a cost that was wrong may stay wrong");
  t.end();
});

t.test("validatePodStatusUpdate() checks conditions, restarts and addresses", (t) => {
  const ended = (exitCode: number): Json => ({ name: "c", state: { terminated: { exitCode } } });
  const running: Json = { name: "c", state: { running: {} } };
  const restart = "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state";
  const rows: [why: string, policy: string, old: Json, now: Json, expected: string[]][] = [
    [
      "conditions",
      "Always",
      {},
      { conditions: [{ type: "Ready" }, { type: "a b" }] },
      [`metadata.conditions[1].Type: Invalid value: "a b": ${texts.name}`],
    ],
    [
      "nominated node",
      "Always",
      {},
      { nominatedNodeName: "A" },
      [`status.nominatedNodeName: Invalid value: "A": ${texts.subdomain}`],
    ],
    ["restarted always", "Always", { containerStatuses: [ended(1)] }, { containerStatuses: [running] }, []],
    ["restarted after a failure", "OnFailure", { containerStatuses: [ended(1)] }, { containerStatuses: [running] }, []],
    [
      "restarted after success",
      "OnFailure",
      { containerStatuses: [ended(0)] },
      { containerStatuses: [running] },
      [restart],
    ],
    ["never restarted", "Never", { containerStatuses: [ended(1)] }, { containerStatuses: [running] }, [restart]],
    [
      "ephemeral ones never",
      "Always",
      { ephemeralContainerStatuses: [ended(1)] },
      { ephemeralContainerStatuses: [running] },
      ["status.ephemeralContainerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"],
    ],
    ["addresses", "Always", {}, { podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] }, []],
    [
      "two of one family",
      "Always",
      {},
      { podIPs: [{ ip: "10.0.0.1" }, { ip: "10.0.0.1" }] },
      [
        'status.podIPs: Invalid value: [{"ip":"10.0.0.1"},{"ip":"10.0.0.1"}]: may specify no more than one IP for each IP family',
        'status.podIPs[1]: Duplicate value: {"ip":"10.0.0.1"}',
      ],
    ],
    [
      "no address",
      "Always",
      {},
      { podIPs: [{ ip: "x" }] },
      ['status.podIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
    ],
  ];
  for (const [why, restartPolicy, old, now, expected] of rows) {
    const [after, before] = [pod({ restartPolicy }, {}, now), pod({ restartPolicy }, {}, old)];
    t.same(lines(validatePodStatusUpdate(after, before, context)), expected, why);
  }
  t.end();
});

t.test("validatePodEphemeralContainersUpdate() lets containers only be added", (t) => {
  const looking = (...names: string[]): Pod =>
    pod({ ephemeralContainers: names.map((name) => container({ name: name.slice(0, 1), image: name })) });
  const update = (now: Pod, old: Pod): string[] => lines(validatePodEphemeralContainersUpdate(now, old, context));
  t.same(update(looking("a", "b"), looking("a")), []);
  t.same(update(looking("b"), looking("a")), [
    'spec.ephemeralContainers: Forbidden: existing ephemeral containers "a" may not be removed',
  ]);
  t.same(update(looking("a2"), looking("a1")), [
    'spec.ephemeralContainers: Forbidden: existing ephemeral containers "a" may not be changed',
  ]);
  t.end();
});

t.test("validateBinding() wants a node", (t) => {
  const binding = (target: Json): string[] =>
    lines(validateBinding(make<Binding>("Binding", { metadata: { name: "p" }, target }), context));
  t.same(binding({ name: "n" }), []);
  t.same(binding({ kind: "Pod" }), [
    'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
    "target.name: Required value",
  ]);
  t.end();
});

t.test("validatePodTemplate() checks what templates may not have", (t) => {
  const made = (spec: Json, metadata: Json = {}): PodTemplate =>
    make<PodTemplate>("PodTemplate", { metadata: { name: "t" }, template: { metadata, spec: podSpec(spec) } });
  t.same(lines(validatePodTemplate(made({}), context)), []);
  t.same(
    lines(validatePodTemplate(made({ containers: [container({ image: " " })] }), context)),
    [],
    "spaces are fine in a template",
  );
  const wrong = made(
    { ephemeralContainers: [container({ name: "e" })] },
    { labels: { "a b": "" }, annotations: { "A B": "" } },
  );
  const expected = [
    `template.labels: Invalid value: "a b": ${texts.name}`,
    `template.annotations: Invalid value: "A B": ${texts.name}`,
    "template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template",
  ];
  t.same(lines(validatePodTemplate(wrong, context)), expected);
  t.same(lines(validatePodTemplateUpdate(wrong, made({}), context)), expected);
  t.end();
});

t.test("validatePod() asks once about a spec that pods share, but for what depends on the pod", (t) => {
  const message = messageOf("core/v1.PodSpec");
  const share = (spec: Json): Pod["spec"] => {
    const { spec: part } = pod(spec);
    t.ok(Settled.of(message, part, 1000, 1000), "it is shared");
    return part;
  };
  const sound = { ...pod(), spec: share({}) };
  t.same(lines(validatePod(sound, context)), []);
  t.ok(settledOf(sound.spec)?.isSound([context.identity, context.gates]), "it is known");
  t.same(lines(validatePod(sound, context)), []);
  const annotated = { ...pod({}, { "controller.kubernetes.io/pod-deletion-cost": "x" }), spec: sound.spec };
  t.equal(lines(validatePod(annotated, context)).length, 1, "annotations are looked at each time");

  const wrong = { ...pod(), spec: share({ restartPolicy: "X" }) };
  for (const _time of [1, 2]) t.equal(lines(validatePod(wrong, context)).length, 1, "what is wrong stays so");

  const systems = { ...pod(), spec: share({ os: { name: "linux" } }) };
  const open = { ...context, gates: new Set([...context.gates, "IdentifyPodOS"]) };
  t.same(lines(validatePod(systems, open)), []);
  t.equal(lines(validatePod(systems, context)).length, 1, "other gates, other rules");

  const claim = {
    volumeClaimTemplate: { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1" } } } },
  };
  const claims = { ...pod(), spec: share({ volumes: [{ name: "v", ephemeral: claim }] }) };
  t.same(lines(validatePod(claims, context)), []);
  claims.metadata.name = "p".repeat(252);
  t.equal(lines(validatePod(claims, context)).length, 1, "the claim would have too long a name");
  t.end();
});
