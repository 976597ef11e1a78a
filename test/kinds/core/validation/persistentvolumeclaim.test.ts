import t from "tap";
import type { PersistentVolumeClaim } from "../../../../src/api/gen/core/v1.ts";
import {
  validatePersistentVolumeClaim,
  validatePersistentVolumeClaimStatusUpdate,
  validatePersistentVolumeClaimUpdate,
} from "../../../../src/kinds/core/validation/persistentvolumeclaim.ts";
import { context, type Json, lines, make, texts } from "../../build.ts";

const claimed = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };

const claim = (spec: Json = {}, status: Json = {}, annotations: Json = {}): PersistentVolumeClaim =>
  make("PersistentVolumeClaim", { metadata: { name: "c", annotations }, spec: { ...claimed, ...spec }, status });
const modes = 'supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"';

t.test("validatePersistentVolumeClaim() checks modes, size and source", (t) => {
  const rows: [why: string, spec: Json, expected: string[]][] = [
    ["a claim", {}, []],
    [
      "nothing",
      { accessModes: [], resources: {} },
      [
        "spec.accessModes: Required value: at least 1 access mode is required",
        "spec.resources[storage]: Required value",
      ],
    ],
    [
      "size",
      { resources: { requests: { storage: "0" } } },
      ['spec.resources[storage]: Invalid value: "0": must be greater than zero'],
    ],
    [
      "names",
      { accessModes: ["X"], storageClassName: "A", volumeMode: "X", selector: { matchLabels: { "a b": "" } } },
      [
        `spec.selector.matchLabels: Invalid value: "a b": ${texts.name}`,
        `spec.accessModes: Unsupported value: "X": ${modes}`,
        `spec.storageClassName: Invalid value: "A": ${texts.subdomain}`,
        'spec.volumeMode: Unsupported value: "X": supported values: "Block", "Filesystem"',
      ],
    ],
    [
      "sources",
      { dataSource: { kind: "", name: "" }, dataSourceRef: { kind: "Pod", name: "p" } },
      [
        "spec.dataSource.name: Required value",
        "spec.dataSource.kind: Required value",
        'spec.dataSource: Invalid value: ""',
        'spec.dataSourceRef: Invalid value: "Pod"',
        "spec: Invalid value: spec.dataSource: must match dataSourceRef",
      ],
    ],
  ];
  for (const [why, spec, expected] of rows)
    t.same(lines(validatePersistentVolumeClaim(claim(spec), context)), expected, why);
  t.end();
});

t.test("validatePersistentVolumeClaimUpdate() lets bound claims grow", (t) => {
  const size = (storage: string): Json => ({ resources: { requests: { storage } } });
  const frozen = "spec: Forbidden: spec is immutable after creation except resources.requests for bound claims";
  const less = "spec.resources.requests.storage: Forbidden: field can not be less than previous value";
  const bound = { phase: "Bound" };
  const beta = "volume.beta.kubernetes.io/storage-class";
  const rows: [why: string, now: PersistentVolumeClaim, old: PersistentVolumeClaim, expected: string[]][] = [
    ["nothing", claim(), claim(), []],
    ["the same size in other words", claim(size("1024Mi")), claim(), []],
    ["a volume, once", claim({ volumeName: "v" }), claim(), []],
    ["another volume", claim({ volumeName: "w" }), claim({ volumeName: "v" }), [frozen]],
    ["growing before it is bound", claim(size("2Gi")), claim(), [frozen]],
    ["growing", claim(size("2Gi"), bound), claim(), []],
    ["shrinking", claim(size("1Mi"), bound), claim(), [less]],
    ["shrinking before", claim(size("1Mi")), claim(), [frozen, less]],
    ["class", claim({ storageClassName: "b" }), claim({ storageClassName: "a" }), [frozen]],
    [
      "class out of its annotation",
      claim({ storageClassName: "a" }, {}, { [beta]: "a" }),
      claim({}, {}, { [beta]: "a" }),
      [],
    ],
    [
      "annotation",
      claim({}, {}, { [beta]: "b" }),
      claim({}, {}, { [beta]: "a" }),
      [`metadata.annotations.${beta}: Invalid value: "b": field is immutable`],
    ],
    [
      "mode",
      claim({ volumeMode: "Block" }),
      claim({ volumeMode: "Filesystem" }),
      [frozen, 'volumeMode: Invalid value: "Block": field is immutable'],
    ],
    [
      "faults twice",
      claim({ accessModes: [] }),
      claim({ accessModes: [] }),
      Array<string>(2).fill("spec.accessModes: Required value: at least 1 access mode is required"),
    ],
  ];
  for (const [why, now, old, expected] of rows) {
    t.same(lines(validatePersistentVolumeClaimUpdate(now, old, context)), expected, why);
  }
  const status = claim({}, { capacity: { storage: "-1" } });
  t.same(lines(validatePersistentVolumeClaimStatusUpdate(status, claim(), context)), [
    "resourceVersion: Required value",
    "status.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
  ]);
  t.end();
});
