// Rules of persistent volumes: exactly one source, what it needs, and what may change.
import { type FieldError, forbiddenField, invalid, notSupported, required } from "../../../api/fielderror.ts";
import type {
  CSIPersistentVolumeSource,
  PersistentVolume,
  PersistentVolumeSource,
  PersistentVolumeSpec,
} from "../../../api/gen/core/v1.ts";
import { GoText } from "../../../api/gotext.ts";
import { isDns1123Label } from "../../formats.ts";
import type { StrategyContext } from "../../strategy.ts";
import { goQuantity, isPositiveAmount } from "../../validation/amounts.ts";
import { addAll, checkLabel1123, checkSubdomain, type Errors, empty, faults, isFull } from "../../validation/check.ts";
import { changeText, checkImmutable, checkImmutableScalar, equal } from "../../validation/equal.ts";
import { type Names, namesOf } from "../../validation/names.ts";
import { checkAccessModes, hasSingleMode, notPositive, volumeModes } from "./claim.ts";
import { checkNodeSelector } from "./pod/affinity.ts";
import { checkBasicAmount } from "./pod/resources.ts";
import * as source from "./pod/sources.ts";

const reclaimPolicies = ["Delete", "Recycle", "Retain"];

type SourceField = keyof PersistentVolumeSource;

interface Circumstances {
  readonly name: string;
  readonly names: Names;
  readonly placed: boolean;
}

interface SourceKind {
  readonly field: SourceField;
  /** How errors call it when it is one too many; undefined: never refused for that. */
  readonly surplus: string | undefined;
  readonly check: (out: Errors, path: string, spec: PersistentVolumeSpec, known: Circumstances) => void;
}

function kind<K extends SourceField>(
  field: K,
  check: (out: Errors, path: string, value: NonNullable<PersistentVolumeSource[K]>, known: Circumstances) => void,
  surplus: string | undefined = field,
  own: string = field,
): SourceKind {
  return {
    field,
    surplus,
    check: (out, path, spec, known) => {
      const value = (spec as PersistentVolumeSource)[field];
      if (value !== undefined) check(out, `${path}.${own}`, value as NonNullable<PersistentVolumeSource[K]>, known);
    },
  };
}

/** In upstream's order, which decides which of two is the one too many. */
const sources: readonly SourceKind[] = [
  kind("hostPath", source.checkHostPath),
  kind(
    "gcePersistentDisk",
    (out, path, disk) => source.checkDisk(out, path, "pdName", disk.pdName, disk.partition),
    "gcePersistentDisk",
    "persistentDisk",
  ),
  kind("awsElasticBlockStore", (out, path, disk) =>
    source.checkDisk(out, path, "volumeID", disk.volumeID, disk.partition),
  ),
  kind("glusterfs", (out, path, volume) => {
    source.checkGlusterfs(out, path, volume);
    const space = volume.endpointsNamespace;
    const why = "if the endpointnamespace is set, it must be a valid namespace name";
    if (space !== undefined) {
      faults(out, `${path}.endpointsNamespace`, space, space === "" ? [why] : isDns1123Label(space));
    }
  }),
  kind("flocker", source.checkFlocker),
  kind("nfs", source.checkNfs),
  kind("rbd", source.checkRbd),
  kind("quobyte", source.checkQuobyte),
  kind("cephfs", source.checkCephFs, "cephFS"),
  kind("iscsi", (out, path, iscsi, known) => source.checkIscsi(out, path, iscsi, known.name)),
  kind("cinder", (out, path, volume) => source.checkCinder(out, path, volume, true)),
  kind("fc", source.checkFc),
  {
    ...kind("flexVolume", (out, path, flex, known) => source.checkFlex(out, path, flex, known.names)),
    surplus: undefined,
  },
  kind("azureFile", (out, path, file) => {
    source.checkAzureFile(out, path, file);
    if (file.secretNamespace === "") out.push(required(`${path}.secretNamespace`));
  }),
  kind("vsphereVolume", (out, path, disk) => source.checkPresent(out, `${path}.volumePath`, disk.volumePath)),
  kind("photonPersistentDisk", (out, path, disk) => source.checkPresent(out, `${path}.pdID`, disk.pdID)),
  kind("portworxVolume", (out, path, disk) => source.checkPresent(out, `${path}.volumeID`, disk.volumeID)),
  kind("azureDisk", source.checkAzureDisk),
  kind("scaleIO", source.checkScaleIo),
  kind("local", (out, path, local, known) => {
    if (local.path === "") out.push(required(`${path}.path`));
    else if (local.path.split("/").includes(".."))
      out.push(invalid(`${path}.path`, local.path, "must not contain '..'"));
    if (!known.placed) out.push(required("spec.nodeAffinity", "Local volume requires node affinity"));
  }),
  kind("storageos", (out, path, volume) => source.checkStorageOs(out, path, volume, true)),
  kind("csi", checkCsiVolume),
];

function checkCsiVolume(out: Errors, path: string, csi: CSIPersistentVolumeSource): void {
  source.checkDriverName(out, `${path}.driver`, csi.driver);
  source.checkPresent(out, `${path}.volumeHandle`, csi.volumeHandle);
  for (const field of ["controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef"] as const) {
    const ref = csi[field];
    if (ref === undefined) continue;
    for (const part of ["name", "namespace"] as const) {
      const value = ref[part];
      if (empty(value)) out.push(required(`${path}.${field}.${part}`));
      else checkLabel1123(out, `${path}.${field}.${part}`, value);
    }
  }
}

/** Rules of a new volume. */
export function validatePersistentVolume(object: PersistentVolume, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  const names = namesOf(context.identity);
  checkVolumeSpec(out, object, names, false);
  checkMountOptions(out, object, names);
  return out;
}

/** Rules of a changed volume: its source stays. Upstream checks the new spec twice. */
export function validatePersistentVolumeUpdate(
  object: PersistentVolume,
  old: PersistentVolume,
  context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  const names = namesOf(context.identity);
  const keepsSingle = hasSingleMode(old.spec.accessModes);
  checkVolumeSpec(out, object, names, keepsSingle);
  const again = [...out];
  checkMountOptions(out, object, names);
  addAll(out, again);
  checkSourceChange(out, object.spec, old.spec);
  // These two paths have no spec in front: so upstream.
  checkImmutableScalar(out, "volumeMode", object.spec.volumeMode, old.spec.volumeMode);
  if (old.spec.nodeAffinity !== undefined) {
    const type = "core/v1.VolumeNodeAffinity";
    checkImmutable(out, "nodeAffinity", type, object.spec.nodeAffinity, old.spec.nodeAffinity);
  }
  return out;
}

/** Rules of a changed status of a volume. */
export function validatePersistentVolumeStatusUpdate(
  object: PersistentVolume,
  _old: PersistentVolume,
  _context: StrategyContext,
): FieldError[] {
  return empty(object.metadata.resourceVersion) ? [required("resourceVersion")] : [];
}

function checkVolumeSpec(out: Errors, { metadata, spec }: PersistentVolume, names: Names, keepsSingle: boolean): void {
  if ((spec.accessModes?.length ?? 0) === 0) out.push(required("spec.accessModes"));
  checkAccessModes(out, "spec.accessModes", spec.accessModes, keepsSingle);
  checkCapacity(out, "spec.capacity", spec.capacity);
  const policy = spec.persistentVolumeReclaimPolicy;
  const policyPath = "spec.persistentVolumeReclaimPolicy";
  if (!empty(policy) && !reclaimPolicies.includes(policy)) out.push(notSupported(policyPath, policy, reclaimPolicies));
  const affinity = spec.nodeAffinity;
  if (affinity !== undefined) {
    const path = "spec.nodeAffinity.required";
    if (affinity.required === undefined) out.push(required(path, "must specify required node constraints"));
    else checkNodeSelector(out, path, affinity.required);
  }
  checkSources(out, "spec", spec, { name: metadata.name ?? "", names, placed: affinity !== undefined });
  if (spec.hostPath !== undefined && policy === "Recycle" && isRoot(spec.hostPath.path)) {
    out.push(forbiddenField(policyPath, "may not be 'recycle' for a hostPath mount of '/'"));
  }
  if (!empty(spec.storageClassName)) checkSubdomain(out, "spec.storageClassName", spec.storageClassName);
  if (spec.volumeMode !== undefined && !volumeModes.some((mode) => mode === spec.volumeMode)) {
    out.push(notSupported("spec.volumeMode", spec.volumeMode, volumeModes));
  }
}

/** A path that is the root whatever it is written like. */
function isRoot(path: string): boolean {
  if (!path.startsWith("/")) return false;
  let depth = 0;
  for (const part of path.split("/")) {
    if (part === "..") depth = Math.max(0, depth - 1);
    else if (part !== "" && part !== ".") depth += 1;
  }
  return depth === 0;
}

function checkCapacity(out: Errors, path: string, capacity: ReadonlyMap<string, string> | undefined): void {
  if ((capacity?.size ?? 0) === 0) out.push(required(path));
  if (capacity?.has("storage") !== true || capacity.size > 1) {
    out.push(notSupported(path, goResources(capacity), ["storage"]));
  }
  for (const [name, amount] of capacity ?? []) {
    if (isFull(out)) return;
    checkBasicAmount(out, `${path}[${name}]`, amount);
    if (!isPositiveAmount(amount)) out.push(invalid(`${path}[${name}]`, amount, notPositive));
  }
}

function goResources(resources: ReadonlyMap<string, string> | undefined): GoText {
  if (resources === undefined) return new GoText("core.ResourceList(nil)");
  // No client reads more, and one can send many.
  const entries = [...resources].slice(0, 100).sort(([a], [b]) => (a < b ? -1 : 1));
  const texts = entries.map(([name, amount]) => `${JSON.stringify(name)}:${goQuantity(amount).text}`);
  return new GoText(`core.ResourceList{${texts.join(", ")}}`);
}

function checkSources(out: Errors, path: string, spec: PersistentVolumeSpec, known: Circumstances): void {
  let count = 0;
  for (const { field, surplus, check } of sources) {
    if (spec[field] === undefined) continue;
    count += 1;
    if (count > 1 && surplus !== undefined) {
      out.push(forbiddenField(`${path}.${surplus}`, "may not specify more than 1 volume type"));
    } else check(out, path, spec, known);
  }
  if (count === 0) out.push(required(path, "must specify a volume type"));
}

const mountable: readonly SourceField[] = [
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "glusterfs",
  "nfs",
  "rbd",
  "quobyte",
  "iscsi",
  "cinder",
  "cephfs",
  "azureFile",
  "vsphereVolume",
  "azureDisk",
  "photonPersistentDisk",
];

/** The annotation with mount options works for some sources only. */
function checkMountOptions(out: Errors, { metadata, spec }: PersistentVolume, names: Names): void {
  if (metadata.annotations?.has(names.mountOptions) !== true) return;
  if (mountable.some((field) => spec[field] !== undefined)) return;
  const why = "may not specify mount options for this volume type";
  out.push(forbiddenField(`metadata.annotations.${names.mountOptions}`, why));
}

/** A secret for growing the volume may be named later. */
function checkSourceChange(out: Errors, spec: PersistentVolumeSpec, old: PersistentVolumeSpec): void {
  const type = "core/v1.PersistentVolumeSource";
  const csi = spec.csi;
  const added = old.csi !== undefined && old.csi.controllerExpandSecretRef === undefined;
  const kept = added && csi !== undefined ? { ...spec, csi: { ...csi, controllerExpandSecretRef: undefined } } : spec;
  if (equal(type, kept, old)) return;
  const why = "spec.persistentvolumesource is immutable after creation";
  const text = changeText(type, "spec", old, kept);
  out.push(forbiddenField("spec.persistentvolumesource", `${why}\n${text}`));
}
