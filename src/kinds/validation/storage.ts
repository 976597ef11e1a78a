// The storage group.
import {
  duplicate,
  type FieldError,
  forbiddenField,
  invalid,
  notSupported,
  required,
  tooLong,
} from "../../api/fielderror.ts";
import type * as storage from "../../api/gen/storage/v1.ts";
import type { CSIStorageCapacity } from "../../api/gen/storage/v1beta1.ts";
import { bytesOf, immutableMessage, isDns1123Subdomain, isQualifiedName } from "../formats.ts";
import { isNegativeAmount } from "./amounts.ts";
import { checkNonNegative, checkSubdomain, type Errors, eachItem, empty, faults, isFull } from "./check.ts";
import { equal, equalStrings } from "./equal.ts";
import { checkLabelSelector } from "./selector.ts";

const parametersMax = 512;
const parametersBytesMax = 262_144;
const attachmentBytesMax = 262_144;
const driverBytesMax = 63;
const nodeIdBytesMax = 192;

/** Rules of a new storage class. */
export function validateStorageClass(object: storage.StorageClass): FieldError[] {
  const out: Errors = [];
  if (empty(object.provisioner)) out.push(required("provisioner"));
  else faults(out, "provisioner", object.provisioner, isQualifiedName(object.provisioner.toLowerCase()));
  checkParameters(out, object.parameters);
  checkSet(out, "reclaimPolicy", object.reclaimPolicy, ["Delete", "Retain"]);
  if (object.volumeBindingMode === undefined) out.push(required("volumeBindingMode"));
  checkSet(out, "volumeBindingMode", object.volumeBindingMode, ["Immediate", "WaitForFirstConsumer"]);
  return out;
}

/** Rules of a changed storage class. */
export function validateStorageClassUpdate(object: storage.StorageClass, old: storage.StorageClass): FieldError[] {
  const out: Errors = [];
  const refuse = (field: string) => out.push(forbiddenField(field, `updates to ${field} are forbidden.`));
  if (!equalStrings(object.parameters, old.parameters)) refuse("parameters");
  if (object.provisioner !== old.provisioner) refuse("provisioner");
  if (object.reclaimPolicy !== old.reclaimPolicy) refuse("reclaimPolicy");
  if (object.volumeBindingMode !== old.volumeBindingMode) {
    out.push(invalid("volumeBindingMode", object.volumeBindingMode, immutableMessage));
  }
  return out;
}

function checkSet(out: Errors, path: string, value: string | undefined, supported: readonly string[]): void {
  if (value !== undefined && !supported.includes(value)) out.push(notSupported(path, value, supported));
}

function checkParameters(out: Errors, parameters: ReadonlyMap<string, string> | undefined): void {
  let bytes = 0;
  if ((parameters?.size ?? 0) > parametersMax) {
    out.push(tooLong("parameters", parametersMax));
    return;
  }
  for (const [key, value] of parameters ?? []) {
    if (key === "") out.push(invalid("parameters", key, "field can not be empty."));
    bytes += bytesOf(key) + bytesOf(value);
  }
  if (bytes > parametersBytesMax) out.push(tooLong("parameters", parametersBytesMax));
}

/** Rules of a new volume attachment; the reference looks at the attacher twice. */
export function validateVolumeAttachment({ spec, status }: storage.VolumeAttachment): FieldError[] {
  const out: Errors = [];
  if (empty(spec.attacher)) out.push(required("spec.attacher"));
  const { inlineVolumeSpec, persistentVolumeName } = spec.source;
  if ((inlineVolumeSpec === undefined) === (persistentVolumeName === undefined)) {
    const why = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    out.push(inlineVolumeSpec === undefined ? required("spec.source", why) : invalid("spec.source", spec.source, why));
  } else if (persistentVolumeName === "") {
    out.push(required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName"));
  }
  checkSubdomain(out, "spec.nodeName", spec.nodeName);
  checkAttachment(out, status);
  checkDriverName(out, "spec.attacher", spec.attacher);
  return out;
}

/** Rules of a changed volume attachment. */
export function validateVolumeAttachmentUpdate(
  object: storage.VolumeAttachment,
  old: storage.VolumeAttachment,
): FieldError[] {
  const out: Errors = [];
  checkAttachment(out, object.status);
  if (!equal("storage/v1.VolumeAttachmentSpec", object.spec, old.spec)) {
    out.push(invalid("spec", object.spec, "field is immutable"));
  }
  return out;
}

function checkAttachment(out: Errors, status: storage.VolumeAttachmentStatus): void {
  let bytes = 0;
  for (const [key, value] of status.attachmentMetadata ?? []) bytes += bytesOf(key) + bytesOf(value);
  if (bytes > attachmentBytesMax) out.push(tooLong("status.attachmentMetadata", attachmentBytesMax));
  for (const member of ["attachError", "detachError"] as const) {
    if (bytesOf(status[member]?.message ?? "") > 1024) out.push(tooLong(`status.${member}.message`, 1024));
  }
}

function checkDriverName(out: Errors, path: string, name: string): void {
  if (name === "") out.push(required(path));
  if (bytesOf(name) > driverBytesMax) out.push(tooLong(path, driverBytesMax));
  faults(out, path, name, isDns1123Subdomain(name.toLowerCase()));
}

/** Rules of a new CSI driver. */
export function validateCsiDriver({ metadata, spec }: storage.CSIDriver): FieldError[] {
  const out: Errors = [];
  checkDriverName(out, "metadata.name", metadata.name ?? "");
  if (spec.attachRequired === undefined) out.push(required("spec.attachedRequired"));
  if (spec.podInfoOnMount === undefined) out.push(required("spec.podInfoOnMount"));
  if (spec.storageCapacity === undefined) out.push(required("spec.storageCapacity"));
  checkSet(out, "spec.fsGroupPolicy", spec.fsGroupPolicy, ["File", "None", "ReadWriteOnceWithFSType"]);
  checkTokenRequests(out, spec.tokenRequests ?? []);
  for (const mode of spec.volumeLifecycleModes ?? []) {
    if (isFull(out)) break;
    checkSet(out, "spec.volumeLifecycleModes", mode, ["Persistent", "Ephemeral"]);
  }
  return out;
}

function checkTokenRequests(out: Errors, requests: readonly storage.TokenRequest[]): void {
  const audiences = new Set<string>();
  eachItem(out, requests, "spec.tokenRequests", ({ audience, expirationSeconds }, path) => {
    if (audiences.has(audience)) out.push(duplicate(`${path}.audience`, audience));
    audiences.add(audience);
    if (expirationSeconds === undefined) return;
    const place = `${path}.expirationSeconds`;
    if (expirationSeconds < 600)
      out.push(invalid(place, expirationSeconds, "may not specify a duration less than 10 minutes"));
    if (expirationSeconds > 2 ** 32)
      out.push(invalid(place, expirationSeconds, "may not specify a duration larger than 2^32 seconds"));
  });
}

/** Rules of a changed CSI driver. */
export function validateCsiDriverUpdate(object: storage.CSIDriver, old: storage.CSIDriver): FieldError[] {
  const out = validateCsiDriver(object);
  const [now, before] = [object.spec, old.spec];
  const keep = (path: string, same: boolean, value: unknown) => {
    if (!same) out.push(invalid(path, value, immutableMessage));
  };
  keep("spec.attachedRequired", now.attachRequired === before.attachRequired, now.attachRequired);
  keep("spec.fsGroupPolicy", now.fsGroupPolicy === before.fsGroupPolicy, now.fsGroupPolicy);
  keep("spec.podInfoOnMount", now.podInfoOnMount === before.podInfoOnMount, now.podInfoOnMount);
  const modes = (spec: storage.CSIDriverSpec) => (spec.volumeLifecycleModes ?? []).join("\n");
  keep("spec.volumeLifecycleModes", modes(now) === modes(before), now.volumeLifecycleModes);
  return out;
}

/** Rules of a new CSI node. */
export function validateCsiNode({ spec }: storage.CSINode): FieldError[] {
  const out: Errors = [];
  const names = new Set<string>();
  eachItem(out, spec.drivers, "spec.drivers", (driver, path) => {
    checkDriverName(out, `${path}.name`, driver.name);
    if (driver.nodeID === "") out.push(required(`${path}.nodeID`));
    if (bytesOf(driver.nodeID) > nodeIdBytesMax) {
      out.push(invalid(`${path}.nodeID`, driver.nodeID, `nodeID must be ${nodeIdBytesMax} characters or less`));
    }
    checkNonNegative(out, `${path}.allocatable.count`, driver.allocatable?.count);
    checkTopologyKeys(out, path, driver.topologyKeys ?? []);
    if (names.has(driver.name)) out.push(duplicate(`${path}.name`, driver.name));
    names.add(driver.name);
  });
  return out;
}

function checkTopologyKeys(out: Errors, path: string, keys: readonly string[]): void {
  const seen = new Set<string>();
  for (const key of keys) {
    if (isFull(out)) return;
    if (key === "") out.push(required(path));
    if (seen.has(key)) out.push(duplicate(path, key));
    seen.add(key);
    faults(out, path, key, isQualifiedName(key));
  }
}

/** Rules of a changed CSI node: drivers come and go but do not change. */
export function validateCsiNodeUpdate(object: storage.CSINode, old: storage.CSINode): FieldError[] {
  const out = validateCsiNode(object);
  const drivers = new Map(object.spec.drivers?.map((driver) => [driver.name, driver]));
  for (const before of old.spec.drivers ?? []) {
    const now = drivers.get(before.name);
    if (now !== undefined && !equal("storage/v1.CSINodeDriver", now, before)) {
      out.push(invalid("CSINodeDriver", now, immutableMessage));
    }
  }
  return out;
}

/** Rules of a new storage capacity; the reference reports the class twice. */
export function validateCsiStorageCapacity(object: CSIStorageCapacity): FieldError[] {
  const out: Errors = [];
  checkLabelSelector(out, "nodeTopology", object.nodeTopology);
  const messages = isDns1123Subdomain(object.storageClassName);
  faults(out, "storageClassName", object.storageClassName, [...messages, ...messages]);
  for (const member of ["capacity", "maximumVolumeSize"] as const) {
    const amount = object[member];
    if (amount !== undefined && isNegativeAmount(amount)) {
      out.push(invalid(member, amount, "must be greater than or equal to 0"));
    }
  }
  return out;
}

/** Rules of a changed storage capacity. */
export function validateCsiStorageCapacityUpdate(object: CSIStorageCapacity, old: CSIStorageCapacity): FieldError[] {
  const out = validateCsiStorageCapacity(object);
  if (!equal("meta/v1.LabelSelector", object.nodeTopology, old.nodeTopology)) {
    out.push(invalid("nodeTopology", object.nodeTopology, immutableMessage));
  }
  if (object.storageClassName !== old.storageClassName) {
    out.push(invalid("storageClassName", object.storageClassName, immutableMessage));
  }
  return out;
}
