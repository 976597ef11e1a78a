import t, { type Test } from "tap";
import type { Pod } from "../../../../../src/api/gen/core/v1.ts";
import { validatePod } from "../../../../../src/kinds/core/validation/pod/pod.ts";
import { context, type Json, lines, make, podSpec, texts } from "../../../build.ts";

type Row = readonly [why: string, source: Json, expected: readonly string[]];

function faults(volumes: Json[]): string[] {
  const spec = podSpec({ volumes, serviceAccountName: "a" });
  const pod = make<Pod>("Pod", { metadata: { name: "p" }, spec });
  return lines(validatePod(pod, context)).map((line) => line.replaceAll("spec.volumes[0].", "v."));
}

function check(t: Test, rows: readonly Row[]): void {
  for (const [why, source, expected] of rows) t.same(faults([{ name: "v", ...source }]), expected, why);
}

const mode = "must be a number between 0 and 0777 (octal), both inclusive";
const backsteps = "must not contain '..'";

t.test("validatePod() wants a name and one source of each volume", (t) => {
  t.same(faults([{ name: "a" }, { name: "b", emptyDir: {} }]), [], "none is an empty directory");
  t.same(faults([{ name: "", emptyDir: {} }]), ["v.name: Required value"]);
  t.same(faults([{ name: "A", emptyDir: {} }]), [`v.name: Invalid value: "A": ${texts.label}`]);
  t.same(faults([{ name: "a" }, { name: "a" }]), ['spec.volumes[1].name: Duplicate value: "a"']);
  check(t, [
    [
      "two sources",
      { emptyDir: {}, hostPath: { path: "/" } },
      ["v.hostPath: Forbidden: may not specify more than 1 volume type"],
    ],
    [
      "the second is not looked into",
      { secret: { secretName: "s" }, downwardAPI: { items: [{}] } },
      ["v.downwarAPI: Forbidden: may not specify more than 1 volume type"],
    ],
    [
      "another odd name",
      { cephfs: { monitors: ["m"] }, emptyDir: {} },
      ["v.cephFS: Forbidden: may not specify more than 1 volume type"],
    ],
  ]);
  t.end();
});

t.test("validatePod() checks local sources", (t) => {
  const types = '"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"';
  check(t, [
    [
      "a size",
      { emptyDir: { sizeLimit: "-1" } },
      ["v.emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"],
    ],
    ["no path", { hostPath: { path: "" } }, ["v.hostPath.path: Required value"]],
    [
      "a path upwards",
      { hostPath: { path: "/a/../b", type: "X" } },
      [
        `v.hostPath.path: Invalid value: "/a/../b": ${backsteps}`,
        `v.hostPath.type: Unsupported value: "X": supported values: ${types}`,
      ],
    ],
    [
      "a repository",
      { gitRepo: { repository: "", directory: "/d" } },
      ["v.gitRepo.repository: Required value", 'v.gitRepo.directory: Invalid value: "/d": must be a relative path'],
    ],
    ["a claim", { persistentVolumeClaim: { claimName: "" } }, ["v.persistentVolumeClaim.claimName: Required value"]],
  ]);
  t.end();
});

t.test("validatePod() checks sources of configuration", (t) => {
  check(t, [
    [
      "a secret",
      { secret: { defaultMode: 512, items: [{ key: "", path: "" }] } },
      [
        "v.secret.secretName: Required value",
        `v.secret.defaultMode: Invalid value: 512: ${mode}`,
        "v.secret.items[0].key: Required value",
        "v.secret.items[0].path: Required value",
      ],
    ],
    [
      "a map",
      { configMap: { items: [{ key: "k", path: "/p", mode: -1 }] } },
      [
        "v.configMap.name: Required value",
        'v.configMap.items[0].path: Invalid value: "/p": must be a relative path',
        `v.configMap.items[0].mode: Invalid value: -1: ${mode}`,
      ],
    ],
    [
      "reserved paths",
      {
        secret: {
          secretName: "s",
          items: [
            { key: "k", path: "..p" },
            { key: "k", path: "../p" },
            { key: "k", path: ".." },
          ],
        },
      },
      [
        "v.secret.items[0].path: Invalid value: \"..p\": must not start with '..'",
        `v.secret.items[1].path: Invalid value: "../p": ${backsteps}`,
        `v.secret.items[2].path: Invalid value: "..": ${backsteps}`,
        "v.secret.items[2].path: Invalid value: \"..\": must not start with '..'",
      ],
    ],
    [
      "the pod's own fields",
      {
        downwardAPI: {
          items: [
            { path: "a", fieldRef: { fieldPath: "metadata.labels" } },
            { path: "", fieldRef: { fieldPath: "status.podIP" } },
            { path: "b" },
            { path: "c", resourceFieldRef: { resource: "limits.cpu" } },
          ],
        },
      },
      [
        "v.downwardAPI.path: Required value",
        'v.downwardAPI.fieldRef.fieldPath: Unsupported value: "status.podIP": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"',
        "spec.volumes[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required",
        "v.downwardAPI.resourceFieldRef.containerName: Required value",
      ].map((line) => line.replaceAll("spec.volumes[0].", "v.")),
    ],
    [
      "several in one",
      {
        projected: {
          sources: [
            { secret: { name: "s", items: [{ key: "k", path: "p" }] } },
            { configMap: { items: [{ key: "k", path: "p" }] } },
            { serviceAccountToken: { expirationSeconds: 5, path: "" } },
            { secret: { name: "a" }, configMap: { name: "b" } },
          ],
        },
      },
      [
        "v.projected.sources[1].configMap.name: Required value",
        'v.projected: Invalid value: "": conflicting duplicate paths',
        "v.projected.sources[2].serviceAccountToken.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes",
        "v.projected.path: Required value",
        "v.projected.sources[3]: Forbidden: may not specify more than 1 volume type",
      ],
    ],
  ]);
  t.end();
});

t.test("validatePod() checks sources on the network", (t) => {
  const pairs = "must be a host:port pair or multiple pairs separated by commas";
  const iqn = "iqn.2001-04.com.example:storage.disk1";
  check(t, [
    [
      "nfs",
      { nfs: { server: "", path: "a" } },
      ["v.nfs.server: Required value", 'v.nfs.path: Invalid value: "a": must be an absolute path'],
    ],
    ["iscsi", { iscsi: { targetPortal: "p", iqn, lun: 0 } }, []],
    [
      "iscsi without anything",
      { iscsi: { targetPortal: "", iqn: "", lun: 256, chapAuthSession: true } },
      [
        "v.iscsi.targetPortal: Required value",
        "v.iscsi.iqn: Required value",
        "v.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive",
        "v.iscsi.secretRef: Required value",
      ],
    ],
    [
      "initiators",
      { iscsi: { targetPortal: "p".repeat(63), iqn: "x", lun: 0, initiatorName: "eui.1" } },
      [
        'v.iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa',
        'v.iscsi.initiatorname: Invalid value: "eui.1": must be valid format',
        'v.name: Invalid value: "v": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.',
      ],
    ],
    [
      "fc",
      { fc: { targetWWNs: ["a"], wwids: ["b"], lun: 256 } },
      [
        'v.fc.targetWWNs: Invalid value: []string{"a"}: targetWWNs and wwids can not be specified simultaneously',
        "v.fc.lun: Invalid value: 256: must be between 0 and 255, inclusive",
      ],
    ],
    [
      "fc without anything",
      { fc: {} },
      ["v.fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both"],
    ],
    [
      "fc without a lun",
      { fc: { targetWWNs: ["a"] } },
      ["v.fc.lun: Required value: lun is required if targetWWNs is specified"],
    ],
    [
      "glusterfs",
      { glusterfs: { endpoints: "", path: "" } },
      ["v.glusterfs.endpoints: Required value", "v.glusterfs.path: Required value"],
    ],
    [
      "flocker",
      { flocker: {} },
      ["spec.volumes[0].flocker: Required value: one of datasetName and datasetUUID is required"].map((line) =>
        line.replace("spec.volumes[0].", "v."),
      ),
    ],
    [
      "flocker twice",
      { flocker: { datasetName: "a/b", datasetUUID: "u" } },
      [
        'v.flocker: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously',
        "v.flocker.datasetName: Invalid value: \"a/b\": must not contain '/'",
      ],
    ],
    ["rbd", { rbd: { monitors: [], image: "" } }, ["v.rbd.monitors: Required value", "v.rbd.image: Required value"]],
    ["cephfs", { cephfs: {} }, ["v.cephfs.monitors: Required value"]],
    [
      "quobyte",
      { quobyte: { registry: "a:1,b", volume: "" } },
      [`v.quobyte.registry: Invalid value: "a:1,b": ${pairs}`, "v.quobyte.volume: Required value"],
    ],
    [
      "quobyte without a registry",
      { quobyte: { registry: "", volume: "v" } },
      [`v.quobyte.registry: Required value: ${pairs}`],
    ],
    [
      "cinder",
      { cinder: { volumeID: "", secretRef: {} } },
      ["v.cinder.volumeID: Required value", "v.cinder.secretRef.name: Required value"],
    ],
    [
      "storageos",
      { storageos: { volumeName: "A", volumeNamespace: "B", secretRef: {} } },
      [
        `v.storageos.volumeName: Invalid value: "A": ${texts.label}`,
        `v.storageos.volumeNamespace: Invalid value: "B": ${texts.label}`,
        "v.storageos.secretRef.name: Required value",
      ],
    ],
    [
      "scaleIO",
      { scaleIO: {} },
      ["v.scaleIO.gateway: Required value", "v.scaleIO.system: Required value", "v.scaleIO.volumeName: Required value"],
    ],
  ]);
  t.end();
});

t.test("validatePod() checks disks of clouds and drivers", (t) => {
  const managed = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
  check(t, [
    [
      "gce",
      { gcePersistentDisk: { pdName: "", partition: 256 } },
      [
        "v.persistentDisk.pdName: Required value",
        "v.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive",
      ],
    ],
    ["aws", { awsElasticBlockStore: { volumeID: "" } }, ["v.awsElasticBlockStore.volumeID: Required value"]],
    [
      "azure",
      { azureDisk: { diskName: "", diskURI: "x", cachingMode: "X", kind: "Managed" } },
      [
        "v.azureDisk.diskName: Required value",
        'v.azureDisk.cachingMode: Unsupported value: "X": supported values: "None", "ReadOnly", "ReadWrite"',
        `v.azureDisk.diskURI: Unsupported value: "x": supported values: "${managed}"`,
      ],
    ],
    [
      "azure files",
      { azureFile: { secretName: "", shareName: "" } },
      ["v.azureFile.secretName: Required value", "v.azureFile.shareName: Required value"],
    ],
    ["others", { vsphereVolume: { volumePath: "" } }, ["v.vsphereVolume.volumePath: Required value"]],
    ["photon", { photonPersistentDisk: { pdID: "" } }, ["v.photonPersistentDisk.pdID: Required value"]],
    ["portworx", { portworxVolume: { volumeID: "" } }, ["v.portworxVolume.volumeID: Required value"]],
    [
      "flex",
      { flexVolume: { driver: "", options: { "a.kubernetes.io/x": "", "k8s.io": "", "myk8s.io/y": "" } } },
      [
        "v.flexVolume.driver: Required value",
        'v.flexVolume.options[a.kubernetes.io/x]: Invalid value: "a.kubernetes.io/x": kubernetes.io and k8s.io namespaces are reserved',
        'v.flexVolume.options[k8s.io]: Invalid value: "k8s.io": kubernetes.io and k8s.io namespaces are reserved',
      ],
    ],
    [
      "a driver",
      { csi: { driver: "" } },
      ["v.csi.driver: Required value", `v.csi.driver: Invalid value: "": ${texts.subdomain}`],
    ],
    [
      "a long driver",
      { csi: { driver: "A".repeat(64), nodePublishSecretRef: {} } },
      ["v.csi.driver: Too long: must have at most 63 bytes", "v.csi.nodePublishSecretRef.name: Required value"],
    ],
  ]);
  t.end();
});

t.test("validatePod() checks claims made for the pod", (t) => {
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1" } } };
  check(t, [
    ["a claim", { ephemeral: { volumeClaimTemplate: { spec } } }, []],
    ["no claim", { ephemeral: {} }, ["v.ephemeral.volumeClaimTemplate: Required value"]],
    [
      "a claim with a name",
      {
        ephemeral: {
          volumeClaimTemplate: { metadata: { name: "n", labels: { a: "1" } }, spec: { ...spec, accessModes: ["X"] } },
        },
      },
      [
        "v.ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set for an ephemeral volume",
        'v.ephemeral.volumeClaimTemplate.spec.accessModes: Unsupported value: "X": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"',
      ],
    ],
  ]);
  const both = [
    { name: "v", ephemeral: { volumeClaimTemplate: { spec } } },
    { name: "w", persistentVolumeClaim: { claimName: "p-v" } },
  ];
  t.same(faults(both), [
    'spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "p-v": must not reference a PVC that gets created for an ephemeral volume',
  ]);
  t.end();
});
