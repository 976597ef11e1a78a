// What a client can send is bounded by the size of a request; what validation does with it must be, too: time linear in
// the object, and no answer that outgrows it. Sizes here are those of requests of about 3 MiB.
import t, { type Test } from "tap";
import { invalidObject } from "../../../src/api/fielderror.ts";
import type { Node, Pod, ResourceQuota } from "../../../src/api/gen/core/v1.ts";
import { limits } from "../../../src/config/limits.ts";
import { validateNode } from "../../../src/kinds/core/validation/node.ts";
import { validatePod, validatePodUpdate } from "../../../src/kinds/core/validation/pod/pod.ts";
import { validateResourceQuota } from "../../../src/kinds/core/validation/resourcequota.ts";
import { calmMs, threadCpuMs } from "../../support/cost.ts";
import { container, context, type Json, make, podSpec } from "../build.ts";

/** CPU; what is quadratic takes minutes. */
const msMax = 5_000;

function many<T>(count: number, item: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => item(i));
}

function within<T>(t: Test, why: string, run: () => T): T {
  const start = threadCpuMs();
  const result = run();
  const ms = calmMs(threadCpuMs() - start, msMax);
  t.ok(ms < msMax, `${why}: ${ms} ms`);
  return result;
}

const pod = (spec: Json, annotations: Json = {}): Pod =>
  make("Pod", { metadata: { name: "p", annotations }, spec: podSpec(spec) });

t.test("validatePod() takes time linear in the pod", (t) => {
  const objects: [why: string, pod: Pod][] = [
    [
      "mounts and devices",
      pod({
        volumes: many(15_000, (i) => ({ name: `v${i}`, persistentVolumeClaim: { claimName: "c" } })),
        containers: [
          container({
            volumeMounts: many(15_000, (i) => ({ name: `v${i}`, mountPath: `/${i}` })),
            volumeDevices: many(15_000, (i) => ({ name: `d${i}`, devicePath: `/d${i}` })),
          }),
        ],
      }),
    ],
    [
      "spreading",
      pod({
        topologySpreadConstraints: many(30_000, (i) => ({
          maxSkew: 1,
          topologyKey: `k${i}`,
          whenUnsatisfiable: "DoNotSchedule",
        })),
      }),
    ],
    ["tolerations", pod({ tolerations: many(50_000, (i) => ({ key: `k${i}`, operator: "Exists" })) })],
    [
      "profiles",
      pod(
        { containers: many(20_000, (i) => container({ name: `c${i}` })) },
        Object.fromEntries(many(3_000, (i) => [`container.apparmor.security.beta.kubernetes.io/x${i}`, "unconfined"])),
      ),
    ],
    ["variables without names", pod({ containers: [container({ env: many(200_000, () => ({ name: "" })) })] })],
  ];
  for (const [why, object] of objects) {
    const errors = within(t, why, () => validatePod(object, context));
    t.ok(errors.length <= limits.fieldErrorsMax + 10, `${why}: ${errors.length} errors`);
    within(t, `${why}, changed`, () => validatePodUpdate(object, object, context));
  }
  t.end();
});

t.test("validatePod() takes time linear in every text", (t) => {
  const parts = ["a", "a.", "-", "a-", "a/", ".", "0", "a_", "A\\", "[", ":", "iqn.2001-04.a.", " ", "['"];
  for (const part of parts) {
    const text = `${part.repeat(100_000)}!`;
    const object = pod({
      hostname: text,
      nodeName: text,
      nodeSelector: { [text]: text },
      tolerations: [{ key: text, value: text }],
      hostAliases: [{ ip: text, hostnames: [text] }],
      securityContext: { sysctls: [{ name: text, value: "" }], windowsOptions: { runAsUserName: text } },
      volumes: [
        { name: text, hostPath: { path: text } },
        { name: "i", iscsi: { targetPortal: text, iqn: text, lun: 0, initiatorName: text } },
        { name: "q", quobyte: { registry: text, volume: text } },
      ],
      containers: [
        container({
          name: text,
          env: [{ name: text, valueFrom: { fieldRef: { fieldPath: text } } }],
          ports: [{ name: text, containerPort: 1 }],
          resources: { limits: { [text]: "1" } },
          volumeMounts: [{ name: text, mountPath: text, subPath: text }],
        }),
      ],
    });
    within(t, JSON.stringify(part), () => validatePod(object, context));
  }
  t.end();
});

t.test("invalidObject() does not outgrow the object", (t) => {
  const ranges = many(300_000, () => "nope");
  const node: Node = make("Node", { metadata: { name: "n" }, spec: { podCIDRs: ranges } });
  const quota: ResourceQuota = make("ResourceQuota", { metadata: { name: "q" }, spec: { scopes: ranges } });
  // Each error is there twice, in the message and among the causes; quotes are escaped.
  const bodyBytesMax = 4 * limits.fieldErrorsMax * (limits.shownCharsMax + 200);
  for (const [why, errors] of [
    ["ranges", within(t, "ranges", () => validateNode(node, context))],
    ["scopes", within(t, "scopes", () => validateResourceQuota(quota, context))],
  ] as const) {
    const status = within(t, `${why}, answered`, () => invalidObject("", "Node", "n", errors));
    t.ok((status.details?.causes?.length ?? 0) <= limits.fieldErrorsMax, `${why}: causes`);
    t.ok(JSON.stringify(status).length < bodyBytesMax, `${why}: bytes`);
  }
  const cut = invalidObject(
    "",
    "Node",
    "n",
    many(limits.fieldErrorsMax + 1, (i) => ({ reason: "Required", field: `f${i}`, text: "x" })),
  );
  t.match(cut.message, /, and more\]$/);
  t.end();
});
