import t, { type Test } from "tap";
import type { Pod } from "../../../../../src/api/gen/core/v1.ts";
import { validatePod } from "../../../../../src/kinds/core/validation/pod/pod.ts";
import { container, context, type Json, lines, make, texts } from "../../../build.ts";

type Row = readonly [why: string, container: Json, expected: readonly string[], spec?: Json];

const volumes = [
  { name: "v", emptyDir: {} },
  { name: "claim", persistentVolumeClaim: { claimName: "x" } },
];

function check(t: Test, rows: readonly Row[]): void {
  for (const [why, more, expected, spec] of rows) {
    const pod = make<Pod>("Pod", {
      metadata: { name: "p" },
      spec: { containers: [container(more)], volumes, ...spec },
    });
    const found = lines(validatePod(pod, context)).map((line) => line.replaceAll("spec.containers[0].", "c."));
    t.same(found, expected, why);
  }
}

t.test("validatePod() checks names, images and policies of containers", (t) => {
  check(t, [
    ["a small container", {}, []],
    ["no name", { name: "" }, ["c.name: Required value"]],
    ["a bad name", { name: "A_" }, [`c.name: Invalid value: "A_": ${texts.label}`]],
    ["no image", { image: "" }, ["c.image: Required value"]],
    [
      "spaces around the image",
      { image: " i" },
      ['c.image: Invalid value: " i": must not have leading or trailing whitespace'],
    ],
    [
      "pull policy",
      { imagePullPolicy: "Often" },
      ['c.imagePullPolicy: Unsupported value: "Often": supported values: "Always", "IfNotPresent", "Never"'],
    ],
    [
      "message policy",
      { terminationMessagePolicy: "X" },
      ["c.terminationMessagePolicy: Invalid value: \"X\": must be 'File' or 'FallbackToLogsOnError'"],
    ],
    [
      "one name for two",
      {},
      ['spec.containers[1].name: Duplicate value: "c"'],
      { containers: [container(), container()] },
    ],
    ["no container", {}, ["spec.containers: Required value"], { containers: [] }],
  ]);
  t.end();
});

t.test("validatePod() checks ports", (t) => {
  const port = (more: Json): Json => ({ ports: [{ containerPort: 80, ...more }] });
  check(t, [
    ["a port", port({ name: "http", hostPort: 8080 }), []],
    ["no number", port({ containerPort: 0 }), ["c.ports[0].containerPort: Required value"]],
    ["number", port({ containerPort: 65536 }), [`c.ports[0].containerPort: Invalid value: 65536: ${texts.port}`]],
    ["host port", port({ hostPort: -1 }), [`c.ports[0].hostPort: Invalid value: -1: ${texts.port}`]],
    [
      "protocol",
      port({ protocol: "ICMP" }),
      ['c.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"'],
    ],
    [
      "name",
      port({ name: "--" }),
      [
        'c.ports[0].name: Invalid value: "--": must contain at least one letter or number (a-z, 0-9)',
        'c.ports[0].name: Invalid value: "--": must not contain consecutive hyphens',
        'c.ports[0].name: Invalid value: "--": must not begin or end with a hyphen',
      ],
    ],
    [
      "a name twice",
      {
        ports: [
          { containerPort: 1, name: "a" },
          { containerPort: 2, name: "a" },
        ],
      },
      ['c.ports[1].name: Duplicate value: "a"'],
    ],
    [
      "a host port twice over the containers",
      {},
      ['spec.containers[1].ports[0].hostPort: Duplicate value: "TCP//9"'],
      { containers: [container(port({ hostPort: 9 })), container({ name: "d", ...port({ hostPort: 9 }) })] },
    ],
    [
      "init containers have ports of their own",
      {},
      [],
      {
        initContainers: [
          container({ name: "a", ...port({ hostPort: 9 }) }),
          container({ name: "b", ...port({ hostPort: 9 }) }),
        ],
      },
    ],
    [
      "host network",
      port({ hostPort: 81 }),
      ["c.ports[0].containerPort: Invalid value: 80: must match `hostPort` when `hostNetwork` is true"],
      { hostNetwork: true },
    ],
  ]);
  t.end();
});

const fieldPaths =
  'supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.podIP", "status.podIPs"';
const resourcePaths =
  'supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"';

t.test("validatePod() checks the environment", (t) => {
  const env = (more: Json): Json => ({ env: [{ name: "A", ...more }] });
  const from = (more: Json, rest: Json = {}): Json => env({ valueFrom: more, ...rest });
  const key = { name: "n", key: "k" };
  check(t, [
    [
      "values of all kinds",
      {
        env: [
          { name: "A", value: "1" },
          { name: "B.c-d_e", valueFrom: { secretKeyRef: key } },
        ],
      },
      [],
    ],
    ["no name", { env: [{ value: "1" }] }, ["c.env[0].name: Required value"]],
    ["a name out of its folder", { env: [{ name: ".." }] }, ["c.env[0].name: Invalid value: \"..\": must not be '..'"]],
    [
      "no source",
      from({}),
      [
        'c.env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`',
      ],
    ],
    [
      "two sources",
      from({ secretKeyRef: key, configMapKeyRef: key }),
      ['c.env[0].valueFrom: Invalid value: "": may not have more than one field specified at a time'],
    ],
    [
      "a source and a value",
      from({ secretKeyRef: key }, { value: "1" }),
      ['c.env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty'],
    ],
    ["no key", from({ configMapKeyRef: { name: "n" } }), ["c.env[0].valueFrom.configMapKeyRef.key: Required value"]],
    [
      "a bad key",
      from({ secretKeyRef: { name: "n", key: "a b" } }),
      [`c.env[0].valueFrom.secretKeyRef.key: Invalid value: "a b": ${texts.configKey}`],
    ],
    [
      "no name of a map",
      from({ configMapKeyRef: { key: "k" } }),
      [`c.env[0].valueFrom.configMapKeyRef.name: Invalid value: "": ${texts.subdomain}`],
    ],
    ["a field", from({ fieldRef: { fieldPath: "metadata.labels['a.b/c']" } }), []],
    ["the old name of a field", from({ fieldRef: { fieldPath: "spec.host" } }), []],
    ["no field", from({ fieldRef: {} }), ["c.env[0].valueFrom.fieldRef.fieldPath: Required value"]],
    [
      "another version",
      from({ fieldRef: { apiVersion: "v2", fieldPath: "metadata.name" } }),
      [
        'c.env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.name": error converting fieldPath: unsupported pod version: v2',
      ],
    ],
    [
      "an unknown field",
      from({ fieldRef: { fieldPath: "spec.x" } }),
      [
        'c.env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.x": error converting fieldPath: field label not supported: spec.x',
      ],
    ],
    [
      "a field variables do not show",
      from({ fieldRef: { fieldPath: "status.phase" } }),
      [`c.env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "status.phase": ${fieldPaths}`],
    ],
    [
      "a subscript of a field without",
      from({ fieldRef: { fieldPath: "metadata.name['a']" } }),
      [
        "c.env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"metadata.name['a']\": error converting fieldPath: field label does not support subscript: metadata.name['a']",
      ],
    ],
    [
      "a bad subscript",
      from({ fieldRef: { fieldPath: "metadata.annotations['A B']" } }),
      [`c.env[0].valueFrom.fieldRef: Invalid value: "a b": ${texts.name}`],
    ],
    ["a resource", from({ resourceFieldRef: { resource: "limits.cpu", divisor: "1m" } }), []],
    ["huge pages", from({ resourceFieldRef: { resource: "limits.hugepages-2Mi", divisor: "1Mi" } }), []],
    ["no resource", from({ resourceFieldRef: {} }), ["c.env[0].valueFrom.resourceFieldRef.resource: Required value"]],
    [
      "an unknown resource",
      from({ resourceFieldRef: { resource: "limits.x" } }),
      [`c.env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.x": ${resourcePaths}`],
    ],
    [
      "a divisor of processors",
      from({ resourceFieldRef: { resource: "limits.cpu", divisor: "2" } }),
      [
        'c.env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are supported with the cpu resource',
      ],
    ],
    [
      "a divisor of bytes",
      from({ resourceFieldRef: { resource: "requests.memory", divisor: "2Ki" } }),
      [
        'c.env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "requests.memory": only divisor\'s values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the memory resource',
      ],
    ],
  ]);
  t.end();
});

t.test("validatePod() checks environments taken from maps", (t) => {
  check(t, [
    ["one source each", { envFrom: [{ configMapRef: { name: "a" } }, { prefix: "P_", secretRef: { name: "b" } }] }, []],
    [
      "no source",
      { envFrom: [{}] },
      ['c.envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`'],
    ],
    [
      "two sources",
      { envFrom: [{ configMapRef: { name: "a" }, secretRef: { name: "b" } }] },
      ['c.envFrom: Invalid value: "": may not have more than one field specified at a time'],
    ],
    ["no name", { envFrom: [{ secretRef: {} }] }, ["c.envFrom[0].secretRef.name: Required value"]],
    [
      "a bad name",
      { envFrom: [{ configMapRef: { name: "A" } }] },
      [`c.envFrom[0].configMapRef.name: Invalid value: "A": ${texts.subdomain}`],
    ],
  ]);
  t.end();
});

t.test("validatePod() checks mounts and devices", (t) => {
  const mount = (more: Json): Json => ({ volumeMounts: [{ name: "v", mountPath: "/a", ...more }] });
  const devices = [{ name: "claim", devicePath: "/dev/x" }];
  check(t, [
    ["a mount and a device", { ...mount({}), volumeDevices: devices }, []],
    [
      "no name",
      mount({ name: "" }),
      ["c.volumeMounts[0].name: Required value", 'c.volumeMounts[0].name: Not found: ""'],
    ],
    ["no such volume", mount({ name: "x" }), ['c.volumeMounts[0].name: Not found: "x"']],
    ["no path", mount({ mountPath: "" }), ["c.volumeMounts[0].mountPath: Required value"]],
    [
      "a path twice",
      {
        volumeMounts: [
          { name: "v", mountPath: "/a" },
          { name: "v", mountPath: "/a" },
        ],
      },
      ['c.volumeMounts[1].mountPath: Invalid value: "/a": must be unique'],
    ],
    [
      "an absolute sub-path",
      mount({ subPath: "/x" }),
      ['c.volumeMounts.subPath: Invalid value: "/x": must be a relative path'],
    ],
    [
      "a sub-path upwards",
      mount({ subPath: "a/../b" }),
      ["c.volumeMounts.subPath: Invalid value: \"a/../b\": must not contain '..'"],
    ],
    [
      "both sub-paths",
      mount({ subPath: "a", subPathExpr: "b" }),
      ['c.volumeMounts[0].subPathExpr: Invalid value: "b": subPathExpr and subPath are mutually exclusive'],
    ],
    [
      "propagation",
      mount({ mountPropagation: "X" }),
      [
        'c.volumeMounts.mountPropagation: Unsupported value: "X": supported values: "Bidirectional", "HostToContainer", "None"',
      ],
    ],
    [
      "propagation both ways",
      mount({ mountPropagation: "Bidirectional" }),
      [
        "c.volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers",
      ],
    ],
    ["privileged", { ...mount({ mountPropagation: "Bidirectional" }), securityContext: { privileged: true } }, []],
    [
      "a volume as both",
      { volumeMounts: [{ name: "claim", mountPath: "/dev/x" }], volumeDevices: devices },
      [
        'c.volumeMounts[0].name: Invalid value: "claim": must not already exist in volumeDevices',
        'c.volumeMounts[0].mountPath: Invalid value: "/dev/x": must not already exist as a path in volumeDevices',
        'c.volumeDevices[0].name: Invalid value: "claim": must not already exist in volumeMounts',
        'c.volumeDevices[0].devicePath: Invalid value: "/dev/x": must not already exist as a path in volumeMounts',
      ],
    ],
    [
      "a device of no claim",
      { volumeDevices: [{ name: "v", devicePath: "/a/../b" }] },
      [
        'c.volumeDevices[0].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
        "c.volumeDevices[0].devicePath: Invalid value: \"/a/../b\": can not contain backsteps ('..')",
      ],
    ],
    [
      "a device twice",
      { volumeDevices: [...devices, ...devices] },
      [
        'c.volumeDevices[1].name: Invalid value: "claim": must be unique',
        'c.volumeDevices[1].devicePath: Invalid value: "/dev/x": must be unique',
      ],
    ],
    [
      "a device without anything",
      { volumeDevices: [{ name: "", devicePath: "" }] },
      [
        "c.volumeDevices[0].name: Required value",
        'c.volumeDevices[0].name: Not found: ""',
        "c.volumeDevices[0].devicePath: Required value",
      ],
    ],
  ]);
  t.end();
});

t.test("validatePod() checks probes and hooks", (t) => {
  const exec = { exec: { command: ["x"] } };
  check(t, [
    ["all probes", { livenessProbe: exec, readinessProbe: { tcpSocket: { port: "http" } }, startupProbe: exec }, []],
    ["no handler", { readinessProbe: {} }, ["c.readinessProbe: Required value: must specify a handler type"]],
    [
      "two handlers",
      { livenessProbe: { ...exec, httpGet: { port: 1 } } },
      ["c.livenessProbe.httpGet: Forbidden: may not specify more than 1 handler type"],
    ],
    ["no command", { livenessProbe: { exec: {} } }, ["c.livenessProbe.exec.command: Required value"]],
    [
      "http",
      { livenessProbe: { httpGet: { port: 0, scheme: "FTP", httpHeaders: [{ name: "a b", value: "" }] } } },
      [
        `c.livenessProbe.httpGet.port: Invalid value: 0: ${texts.port}`,
        'c.livenessProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"',
        "c.livenessProbe.httpGet.httpHeaders: Invalid value: \"a b\": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
      ],
    ],
    [
      "numbers",
      { readinessProbe: { ...exec, initialDelaySeconds: -1, periodSeconds: -2, failureThreshold: -3 } },
      [
        `c.readinessProbe.initialDelaySeconds: Invalid value: -1: ${texts.nonNegative}`,
        `c.readinessProbe.periodSeconds: Invalid value: -2: ${texts.nonNegative}`,
        `c.readinessProbe.failureThreshold: Invalid value: -3: ${texts.nonNegative}`,
      ],
    ],
    [
      "successes",
      { livenessProbe: { ...exec, successThreshold: 2 } },
      ["c.livenessProbe.successThreshold: Invalid value: 2: must be 1"],
    ],
    [
      "grace of a readiness probe",
      { readinessProbe: { ...exec, terminationGracePeriodSeconds: 5 } },
      ["c.readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes"],
    ],
    [
      "grace",
      { livenessProbe: { ...exec, terminationGracePeriodSeconds: 0 } },
      ["c.livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0"],
    ],
    [
      "a startup probe is looked at twice",
      { startupProbe: {} },
      [
        "c.startupProbe: Required value: must specify a handler type",
        "c.startupProbe: Required value: must specify a handler type",
      ],
    ],
    [
      "a hook",
      { lifecycle: { postStart: {} } },
      ["c.lifecycle.postStart: Required value: must specify a handler type"],
    ],
  ]);
  t.end();
});

t.test("validatePod() checks resources", (t) => {
  const set = (limits: Json, requests: Json = {}): Json => ({ resources: { limits, requests } });
  const quantity =
    'resource.Quantity{i:resource.int64Amount{value:1500, scale:-3}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"1500m", Format:"DecimalSI"}';
  check(t, [
    ["resources", set({ cpu: "2", memory: "1Gi", "a.b/gpu": "1" }, { cpu: "1", "a.b/gpu": "1" }), []],
    [
      "negative",
      set({ cpu: "-1" }, { cpu: "-1" }),
      [
        `c.resources.limits[cpu]: Invalid value: "-1": ${texts.nonNegative}`,
        `c.resources.requests[cpu]: Invalid value: "-1": ${texts.nonNegative}`,
      ],
    ],
    [
      "over the limit",
      set({ cpu: "1" }, { cpu: "1001m" }),
      ['c.resources.requests: Invalid value: "1001m": must be less than or equal to cpu limit'],
    ],
    [
      "an unknown name",
      set({ x: "1" }, { x: "1" }),
      [
        'c.resources.limits[x]: Invalid value: "x": must be a standard resource type or fully qualified',
        'c.resources.limits[x]: Invalid value: "x": must be a standard resource for containers',
        'c.resources.requests[x]: Invalid value: "x": must be a standard resource type or fully qualified',
        'c.resources.requests[x]: Invalid value: "x": must be a standard resource for containers',
      ],
    ],
    [
      "a name of quotas",
      set({ pods: "1" }, { pods: "1" }),
      [
        'c.resources.limits[pods]: Invalid value: "pods": must be a standard resource for containers',
        'c.resources.requests[pods]: Invalid value: "pods": must be a standard resource for containers',
      ],
    ],
    [
      "a fraction of an extended one",
      set({ "a.b/gpu": "1500m" }, { "a.b/gpu": "1500m" }),
      [
        `c.resources.limits[a.b/gpu]: Invalid value: ${quantity}: must be an integer`,
        `c.resources.requests[a.b/gpu]: Invalid value: ${quantity}: must be an integer`,
      ],
    ],
    [
      "requests of an extended one differ",
      set({ "a.b/gpu": "2" }, { "a.b/gpu": "1" }),
      ['c.resources.requests: Invalid value: "1": must be equal to a.b/gpu limit'],
    ],
    [
      "no limit of an extended one",
      { resources: { requests: { "a.b/gpu": "1" } } },
      ["c.resources.limits: Required value: Limit must be set for non overcommitable resources"],
    ],
    [
      "a prefix of quotas",
      set({ "requests.a.b/x": "1" }, { "requests.a.b/x": "1" }),
      [
        'c.resources.limits[requests.a.b/x]: Invalid value: "requests.a.b/x": doesn\'t follow extended resource name standard',
        'c.resources.requests[requests.a.b/x]: Invalid value: "requests.a.b/x": doesn\'t follow extended resource name standard',
      ],
    ],
    [
      "huge pages alone",
      set({ "hugepages-2Mi": "4Mi" }, { "hugepages-2Mi": "4Mi" }),
      ["spec.containers[0].resources: Forbidden: HugePages require cpu or memory"].map((line) =>
        line.replace("spec.containers[0].", "c."),
      ),
    ],
    [
      "a part of a page",
      set({ cpu: "1", "hugepages-2Mi": "3Mi" }, { cpu: "1", "hugepages-2Mi": "3Mi" }),
      [
        'c.resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
        'c.resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
      ],
    ],
    [
      "pages of no size",
      set({ cpu: "1", "hugepages-x": "1" }, { cpu: "1", "hugepages-x": "1" }),
      [
        'c.resources.limits[hugepages-x]: Invalid value: "1": 1 is not positive integer multiple of hugepages-x',
        'c.resources.requests[hugepages-x]: Invalid value: "1": 1 is not positive integer multiple of hugepages-x',
      ],
    ],
  ]);
  t.end();
});

t.test("validatePod() checks init and ephemeral containers", (t) => {
  const init = (more: Json): Json => ({ initContainers: [container({ name: "i", ...more })] });
  const looking = (more: Json): Json => ({ ephemeralContainers: [container({ name: "e", ...more })] });
  const created = "spec.ephemeralContainers: Forbidden: cannot be set on create";
  const why = "Forbidden: cannot be set for an Ephemeral Container";
  check(t, [
    ["an init container", {}, [], init({})],
    ["a taken name", {}, ['spec.initContainers[0].name: Duplicate value: "c"'], init({ name: "c" })],
    [
      "what init containers have not",
      {},
      [
        'spec.initContainers[0].lifecycle: Invalid value: {"preStop":{"exec":{"command":["x"]}}}: must not be set for init containers',
      ],
      init({ lifecycle: { preStop: { exec: { command: ["x"] } } } }),
    ],
    ["an ephemeral container", {}, [created], looking({ targetContainerName: "c" })],
    [
      "no such target",
      {},
      ['spec.ephemeralContainers[0].targetContainerName: Not found: "x"', created],
      looking({ targetContainerName: "x" }),
    ],
    [
      "a name of another",
      {},
      ['spec.ephemeralContainers[0].name: Duplicate value: "c"', created],
      looking({ name: "c" }),
    ],
    [
      "no name at all",
      {},
      ["spec.ephemeralContainers[0]: Required value: ephemeralContainer requires a name", created],
      looking({ name: "" }),
    ],
    [
      "a fault inside has an index of its own",
      {},
      ["spec.ephemeralContainers[0][0].image: Required value", created],
      looking({ image: "" }),
    ],
    [
      "what ephemeral containers have not",
      {},
      [
        `spec.ephemeralContainers[0].ports: ${why}`,
        `spec.ephemeralContainers[0].resources: ${why}`,
        `spec.ephemeralContainers[0].volumeMounts[0].subPath: ${why}`,
        created,
      ],
      looking({
        ports: [{ containerPort: 1 }],
        resources: { limits: { cpu: "1" } },
        volumeMounts: [{ name: "v", mountPath: "/a", subPath: "b" }],
      }),
    ],
  ]);
  t.end();
});
