// The rules of metadata that hold for every kind: checked once, by the write path, for create and update.
// Source: upstream's ObjectMeta validation; the order of the checks is the order of the causes it reports.
import type { FieldError } from "../api/fielderror.ts";
import { at, forbiddenField, invalid, required, tooLong } from "../api/fielderror.ts";
import { compareBytes, GoText, quote, stringList, timeText } from "../api/gotext.ts";
import type { Identity } from "../api/identity.ts";
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from "../api/object.ts";
import { limits } from "../config/limits.ts";
import {
  bytesOf,
  immutableMessage,
  isDns1123Label,
  isLabelValue,
  isName,
  isQualifiedName,
  nonNegativeMessage,
} from "./formats.ts";
import type { MetaRuns } from "./metarules.ts";
import type { NameFormat } from "./strategy.ts";

const managerBytesMax = 128;
const subresourceBytesMax = 256;
const ownersShownMax = 20;
const finalizersShownMax = 100;

/** The two finalizers garbage collection answers to. */
export const collectorFinalizers = { orphan: "orphan", foreground: "foregroundDeletion" } as const;

/** All faults of a new object's metadata. `anyFinalizer`: see MetaRules. */
export function validateMeta(
  meta: ObjectMeta,
  namespaced: boolean,
  format: NameFormat,
  identity: Identity,
  anyFinalizer = false,
): FieldError[] {
  const errors = validateAny(meta, namespaced, format);
  return anyFinalizer ? errors : [...errors, ...validateBuiltinFinalizers(meta.finalizers, identity)];
}

/**
 * All faults of a change of metadata, the rules of a new object included. What the server restores (creationTimestamp,
 * an existing deletionTimestamp, an absent uid) is restored by the caller before, and a missing resourceVersion is the
 * caller's to refuse. Upstream runs the rules once for all kinds, and then in the kind as often as `runs` says, and
 * reports each fault as often; so does this.
 */
export function validateMetaUpdate(
  meta: ObjectMeta,
  old: ObjectMeta,
  namespaced: boolean,
  format: NameFormat,
  identity: Identity,
  [rules, changes]: MetaRuns,
  anyFinalizer = false,
): FieldError[] {
  const names = validateNames(meta, "path-segment");
  const rest = validateBesideNames(meta, namespaced);
  const change = validateChange(meta, old);
  const errors = [...names, ...rest, ...change];
  const finalizers = anyFinalizer ? [] : validateBuiltinFinalizers(meta.finalizers, identity);
  const own = rules > 0 ? validateNames(meta, format) : [];
  for (let run = 0; run < rules; run++) errors.push(...own, ...rest, ...finalizers);
  for (let run = 0; run < changes; run++) errors.push(...change, ...finalizers);
  return errors;
}

/** Labels of any object, or of a template; `path` is that of the map. */
export function validateLabels(labels: ReadonlyMap<string, string> | undefined, path: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of labels ?? []) {
    if (errors.length > limits.fieldErrorsMax) break;
    for (const fault of isQualifiedName(key)) errors.push(invalid(path, key, fault));
    for (const fault of isLabelValue(value)) errors.push(invalid(path, value, fault));
  }
  return errors;
}

/** Annotations of any object, or of a template; `path` is that of the map. */
export function validateAnnotations(annotations: ReadonlyMap<string, string> | undefined, path: string): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of annotations ?? []) {
    if (errors.length > limits.fieldErrorsMax) break;
    for (const fault of isQualifiedName(key.toLowerCase())) errors.push(invalid(path, key, fault));
    bytes += bytesOf(key) + bytesOf(value);
  }
  if (bytes > limits.annotationsBytesMax) errors.push(tooLong(path, limits.annotationsBytesMax));
  return errors;
}

/** Name of a field manager: of an entry, or of a request's options. */
export function validateFieldManager(manager: string, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (bytesOf(manager) > managerBytesMax) errors.push(tooLong(path, managerBytesMax));
  if (/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(manager)) {
    errors.push(invalid(path, manager, "should only contain printable characters"));
  }
  return errors;
}

/** A finalizer of a built-in kind: qualified with a domain, or one of the standard ones. */
export function validateFinalizerName(finalizer: string, path: string, identity: Identity): FieldError[] {
  const standard: readonly string[] = [
    collectorFinalizers.orphan,
    collectorFinalizers.foreground,
    identity.spell("kubernetes"),
  ];
  if (finalizer.includes("/") || standard.includes(finalizer)) return [];
  return [invalid(path, finalizer, "name is neither a standard finalizer name nor is it fully qualified")];
}

function validateBuiltinFinalizers(finalizers: readonly string[] | undefined, identity: Identity): FieldError[] {
  const errors: FieldError[] = [];
  for (const [index, finalizer] of (finalizers ?? []).entries()) {
    errors.push(...validateFinalizerName(finalizer, at("metadata.finalizers", index), identity));
    if (errors.length > limits.fieldErrorsMax) break;
  }
  return errors;
}

/** The rules every object keeps, new or changed. */
function validateAny(meta: ObjectMeta, namespaced: boolean, format: NameFormat): FieldError[] {
  return [...validateNames(meta, format), ...validateBesideNames(meta, namespaced)];
}

function validateBesideNames(meta: ObjectMeta, namespaced: boolean): FieldError[] {
  return [
    ...validateNamespace(meta.namespace ?? "", namespaced),
    ...((meta.generation ?? 0) < 0 ? [invalid("metadata.generation", meta.generation, nonNegativeMessage)] : []),
    ...validateLabels(meta.labels, "metadata.labels"),
    ...validateAnnotations(meta.annotations, "metadata.annotations"),
    ...validateOwners(meta.ownerReferences ?? []),
    ...validateFinalizers(meta.finalizers ?? []),
    ...validateManagedFields(meta.managedFields ?? []),
  ];
}

function validateNames(meta: ObjectMeta, format: NameFormat): FieldError[] {
  const errors: FieldError[] = [];
  const generateName = meta.generateName ?? "";
  const name = meta.name ?? "";
  if (generateName !== "") {
    for (const fault of isName(generateName, format, true)) {
      errors.push(invalid("metadata.generateName", generateName, fault));
    }
  }
  if (name === "") return [...errors, required("metadata.name", "name or generateName is required")];
  for (const fault of isName(name, format, false)) errors.push(invalid("metadata.name", name, fault));
  return errors;
}

function validateNamespace(namespace: string, namespaced: boolean): FieldError[] {
  if (!namespaced) return namespace === "" ? [] : [forbiddenField("metadata.namespace", "not allowed on this type")];
  if (namespace === "") return [required("metadata.namespace")];
  return isDns1123Label(namespace).map((fault) => invalid("metadata.namespace", namespace, fault));
}

function validateOwners(owners: readonly OwnerReference[]): FieldError[] {
  const path = "metadata.ownerReferences";
  const errors: FieldError[] = [];
  let controller: string | undefined;
  // The whole list is shown with every controller too many: printed once, and not all of a very long one.
  let list: GoText | undefined;
  for (const owner of owners) {
    errors.push(...validateOwner(owner, path));
    if (errors.length > limits.fieldErrorsMax) break;
    if (owner.controller !== true) continue;
    if (controller === undefined) {
      controller = owner.name ?? "";
      continue;
    }
    list ??= new GoText(`[]v1.OwnerReference{${owners.slice(0, ownersShownMax).map(ownerText).join(", ")}}`);
    const found = `Found "true" in references for ${controller} and ${owner.name ?? ""}`;
    errors.push(invalid(path, list, `Only one reference can have Controller set to true. ${found}`));
  }
  return errors;
}

function validateOwner(owner: OwnerReference, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const apiVersion = owner.apiVersion ?? "";
  const parts = apiVersion.split("/");
  const version = parts.length > 2 ? "" : (parts[parts.length - 1] ?? "");
  if (version === "") errors.push(invalid(`${path}.apiVersion`, apiVersion, "version must not be empty"));
  if (!owner.kind) errors.push(invalid(`${path}.kind`, "", "kind must not be empty"));
  if (!owner.name) errors.push(invalid(`${path}.name`, "", "name must not be empty"));
  if (!owner.uid) errors.push(invalid(`${path}.uid`, "", "uid must not be empty"));
  // Events have a time to live, so whatever they own would be collected with them.
  if (apiVersion === "v1" && owner.kind === "Event") {
    const detail = "/v1, Kind=Event is disallowed from being an owner";
    errors.push(invalid(path, new GoText(ownerText(owner)), detail));
  }
  return errors;
}

function ownerText(owner: OwnerReference): string {
  const pointer = (value: boolean | undefined) => (value === undefined ? "(*bool)(nil)" : "(*bool)(0xc000000000)");
  const fields = [
    `APIVersion:${quote(owner.apiVersion ?? "")}`,
    `Kind:${quote(owner.kind ?? "")}`,
    `Name:${quote(owner.name ?? "")}`,
    `UID:${quote(owner.uid ?? "")}`,
    `Controller:${pointer(owner.controller)}`,
    `BlockOwnerDeletion:${pointer(owner.blockOwnerDeletion)}`,
  ];
  return `v1.OwnerReference{${fields.join(", ")}}`;
}

function validateFinalizers(finalizers: readonly string[]): FieldError[] {
  const path = "metadata.finalizers";
  const errors: FieldError[] = [];
  for (const finalizer of finalizers) {
    for (const fault of isQualifiedName(finalizer)) errors.push(invalid(path, finalizer, fault));
    if (errors.length > limits.fieldErrorsMax) break;
  }
  const { orphan, foreground } = collectorFinalizers;
  if (finalizers.includes(orphan) && finalizers.includes(foreground)) {
    errors.push(invalid(path, finalizers, `finalizer ${orphan} and ${foreground} cannot be both set`));
  }
  return errors;
}

function validateManagedFields(entries: readonly ManagedFieldsEntry[]): FieldError[] {
  const errors: FieldError[] = [];
  for (const [index, entry] of entries.entries()) {
    const path = at("metadata.managedFields", index);
    const operation = entry.operation ?? "";
    if (operation !== "Apply" && operation !== "Update") {
      errors.push(invalid(`${path}.operation`, operation, "must be `Apply` or `Update`"));
    }
    if (entry.fieldsType !== undefined && entry.fieldsType !== "" && entry.fieldsType !== "FieldsV1") {
      errors.push(invalid(`${path}.fieldsType`, entry.fieldsType, "must be `FieldsV1`"));
    }
    errors.push(...validateFieldManager(entry.manager ?? "", `${path}.manager`));
    if (errors.length > limits.fieldErrorsMax) break;
    if (bytesOf(entry.subresource ?? "") > subresourceBytesMax) {
      errors.push(tooLong(`${path}.subresource`, subresourceBytesMax));
    }
  }
  return errors;
}

/** What a change of metadata may not do. */
function validateChange(meta: ObjectMeta, old: ObjectMeta): FieldError[] {
  const errors: FieldError[] = [];
  if (old.deletionTimestamp !== undefined) {
    const known = new Set(old.finalizers);
    const added = new Set(meta.finalizers?.filter((finalizer) => !known.has(finalizer)));
    if (added.size > 0) {
      const list = stringList([...added].slice(0, finalizersShownMax).sort(compareBytes));
      const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`;
      errors.push(forbiddenField("metadata.finalizers", why));
    }
  }
  if ((meta.generation ?? 0) < (old.generation ?? 0)) {
    errors.push(invalid("metadata.generation", meta.generation ?? 0, "must not be decremented"));
  }
  errors.push(...immutableText("name", meta, old), ...immutableText("namespace", meta, old));
  errors.push(...immutableText("uid", meta, old));
  errors.push(...immutableTime("creationTimestamp", meta, old), ...immutableTime("deletionTimestamp", meta, old));
  const seconds = meta.deletionGracePeriodSeconds;
  const secondsOld = old.deletionGracePeriodSeconds;
  if (
    seconds === undefined
      ? secondsOld !== undefined
      : secondsOld === undefined || BigInt(seconds) !== BigInt(secondsOld)
  ) {
    errors.push(invalid("metadata.deletionGracePeriodSeconds", seconds, immutableMessage));
  }
  errors.push(...validateLabels(meta.labels, "metadata.labels"));
  errors.push(...validateAnnotations(meta.annotations, "metadata.annotations"));
  errors.push(...validateOwners(meta.ownerReferences ?? []));
  errors.push(...validateManagedFields(meta.managedFields ?? []));
  return errors;
}

function immutableText(field: "name" | "namespace" | "uid", meta: ObjectMeta, old: ObjectMeta): FieldError[] {
  const value = meta[field] ?? "";
  return value === (old[field] ?? "") ? [] : [invalid(`metadata.${field}`, value, immutableMessage)];
}

function immutableTime(
  field: "creationTimestamp" | "deletionTimestamp",
  meta: ObjectMeta,
  old: ObjectMeta,
): FieldError[] {
  const value = meta[field];
  if (value === old[field]) return [];
  const shown = value === undefined ? undefined : new GoText(timeText(value));
  return [invalid(`metadata.${field}`, shown, immutableMessage)];
}
