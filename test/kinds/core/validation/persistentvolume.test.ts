import t from "tap";
import type { PersistentVolume } from "../../../../src/api/gen/core/v1.ts";
import {
  validatePersistentVolume,
  validatePersistentVolumeStatusUpdate,
  validatePersistentVolumeUpdate,
} from "../../../../src/kinds/core/validation/persistentvolume.ts";
import { context, type Json, lines, make, texts } from "../../build.ts";

const good = { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, hostPath: { path: "/a" } };

const volume = (spec: Json = {}, annotations: Json = {}): PersistentVolume =>
  make("PersistentVolume", { metadata: { name: "v", annotations }, spec: { ...good, ...spec } });

const modes = 'supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"';
const once = { accessModes: ["ReadWriteOncePod"] };

t.test("validatePersistentVolume() checks modes, capacity and source", (t) => {
  const affinity = { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "Exists" }] }] } };
  const none = { hostPath: undefined };
  const rows: [why: string, spec: Json, expected: string[]][] = [
    ["a volume", {}, []],
    [
      "nothing",
      { accessModes: [], capacity: undefined, hostPath: undefined },
      [
        "spec.accessModes: Required value",
        "spec.capacity: Required value",
        'spec.capacity: Unsupported value: core.ResourceList(nil): supported values: "storage"',
        "spec: Required value: must specify a volume type",
      ],
    ],
    ["modes", { accessModes: ["X"] }, [`spec.accessModes: Unsupported value: "X": ${modes}`]],
    [
      "the mode for one pod",
      { accessModes: ["ReadWriteOncePod", "ReadOnlyMany"] },
      [
        `spec.accessModes: Unsupported value: "ReadWriteOncePod": ${modes}`,
        "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
      ],
    ],
    [
      "capacity",
      { capacity: { storage: "0" } },
      ['spec.capacity[storage]: Invalid value: "0": must be greater than zero'],
    ],
    [
      "a negative capacity",
      { capacity: { storage: "-5" } },
      [
        "spec.capacity[storage]: Invalid value: -5: must be a valid resource quantity",
        'spec.capacity[storage]: Invalid value: "-5": must be greater than zero',
      ],
    ],
    [
      "policies",
      { persistentVolumeReclaimPolicy: "X", volumeMode: "X", storageClassName: "A" },
      [
        'spec.persistentVolumeReclaimPolicy: Unsupported value: "X": supported values: "Delete", "Recycle", "Retain"',
        `spec.storageClassName: Invalid value: "A": ${texts.subdomain}`,
        'spec.volumeMode: Unsupported value: "X": supported values: "Block", "Filesystem"',
      ],
    ],
    [
      "the root again",
      { hostPath: { path: "/." }, persistentVolumeReclaimPolicy: "Recycle" },
      ["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"],
    ],
    [
      "two sources",
      { nfs: { server: "s", path: "/p" } },
      ["spec.nfs: Forbidden: may not specify more than 1 volume type"],
    ],
    [
      "a disk of a node",
      { ...none, local: { path: "/d" } },
      ["spec.nodeAffinity: Required value: Local volume requires node affinity"],
    ],
    ["on its node", { ...none, local: { path: "/d" }, nodeAffinity: affinity }, []],
    [
      "no node",
      { nodeAffinity: {} },
      ["spec.nodeAffinity.required: Required value: must specify required node constraints"],
    ],
    [
      "a driver",
      { ...none, csi: { driver: "d", volumeHandle: "", nodePublishSecretRef: { name: "A" } } },
      [
        "spec.csi.volumeHandle: Required value",
        `spec.csi.nodePublishSecretRef.name: Invalid value: "A": ${texts.label}`,
        "spec.csi.nodePublishSecretRef.namespace: Required value",
      ],
    ],
    [
      "other sources",
      { ...none, glusterfs: { endpoints: "", path: "", endpointsNamespace: "" } },
      [
        "spec.glusterfs.endpoints: Required value",
        "spec.glusterfs.path: Required value",
        'spec.glusterfs.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it must be a valid namespace name',
      ],
    ],
    [
      "secrets with their namespaces",
      { ...none, cinder: { volumeID: "v", secretRef: {} } },
      ["spec.cinder.secretRef.name: Required value", "spec.cinder.secretRef.namespace: Required value"],
    ],
    [
      "iscsi",
      { ...none, iscsi: { targetPortal: "p".repeat(63), iqn: "x", lun: 0, initiatorName: "y", secretRef: {} } },
      [
        `spec.iscsi.targetportal: Invalid value: "${"p".repeat(63)}": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.`,
        'spec.iscsi.iqn: Invalid value: "x": must be valid format',
        "spec.iscsi.secretRef.name: Required value",
        'spec.iscsi.initiatorname: Invalid value: "y": must be valid format starting with iqn, eui, or naa',
      ],
    ],
  ];
  for (const [why, spec, expected] of rows)
    t.same(lines(validatePersistentVolume(volume(spec), context)), expected, why);
  t.same(lines(validatePersistentVolume(volume({}, { "volume.beta.kubernetes.io/mount-options": "ro" }), context)), [
    "metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: may not specify mount options for this volume type",
  ]);
  t.end();
});

t.test("validatePersistentVolumeUpdate() keeps source, mode and node", (t) => {
  const csi = { hostPath: undefined, csi: { driver: "d", volumeHandle: "h" } };
  const secret = { name: "a", namespace: "b" };
  const update = (now: Json, old: Json): string[] =>
    lines(validatePersistentVolumeUpdate(volume(now), volume(old), context));
  t.same(update({ persistentVolumeReclaimPolicy: "Delete" }, {}), []);
  t.same(update({ hostPath: { path: "/b" } }, {}), [
    "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation",
  ]);
  t.same(
    update({ hostPath: undefined, csi: { ...csi.csi, controllerExpandSecretRef: secret } }, csi),
    [],
    "a secret may be added",
  );
  t.same(update({ volumeMode: "Block" }, { volumeMode: "Filesystem" }), [
    'volumeMode: Invalid value: "Block": field is immutable',
  ]);
  const on = (key: string): Json => ({
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: "Exists" }] }] } },
  });
  t.same(update(on("a"), {}), [], "a node may be named once");
  t.match(update(on("b"), on("a")), [/^nodeAffinity: Invalid value: .*: field is immutable$/]);
  t.same(update({ accessModes: [] }, {}), Array(2).fill("spec.accessModes: Required value"), "an update reports twice");
  t.same(update(once, once), [], "the alpha mode may stay");
  const status = volume();
  t.same(lines(validatePersistentVolumeStatusUpdate(status, volume(), context)), ["resourceVersion: Required value"]);
  status.metadata.resourceVersion = "1";
  t.same(validatePersistentVolumeStatusUpdate(status, volume(), context), []);
  t.end();
});
