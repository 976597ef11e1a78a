// Server-side apply: a configuration becomes part of the object, and its manager the owner of what it names. The texts
// and the order of checks are upstream's, and so are its codes: what does not fit the kind's type is a 500 there.
import type { ApiObject, ManagedFieldsEntry } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { badRequest, conflict, isStatus, notFound, refuse, type Status } from "../../api/status.ts";
import type { Value, ValueMap } from "../../api/value.ts";
import { Fault, writeValue } from "../../codec/engine/json.ts";
import { nullEmptyBytes } from "../../codec/engine/nullbytes.ts";
import type { Kind } from "../../merge/apply.ts";
import { asPrinted, type Container, isContainer, valuesOf } from "../../merge/document.ts";
import { type AppliedObject, applyConfig, ConflictFault, withoutManagedFields } from "../../merge/managedfields.ts";
import { typeOfMessage } from "../../merge/schema.ts";
import { checkType, TypeFault } from "../../merge/typed.ts";
import { type Config, decodeAs } from "../body/body.ts";
import { checkName } from "../commit/metadata.ts";
import { requestedDocument, requestedObject, type StoredObject } from "../commit/objectstore.ts";
import type { MergeRequest, Merging } from "../commit/writerequest.ts";
import { blankOf, kindOf, managedLimits, timeOf, untracked } from "./ownership.ts";

const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";
/** Bytes of all annotations of an object (upstream: 256 KiB). */
const annotationBytesMax = 256 * 1024;

/** The current state with a configuration applied, its owners recorded. */
export function mergeConfig(
  writers: Merging,
  request: MergeRequest,
  sent: Config,
  current: StoredObject | undefined,
  old: ApiObject | undefined,
): ApiObject | Status {
  const { resource, subresource, name, manager } = request;
  if (current === undefined && subresource !== "") return notFound(resource, name);
  const blank = blankOf(resource);
  const live = current === undefined || old === undefined ? blank : requestedDocument(resource, current, old);
  const last = old?.metadata.annotations?.get(writers.scheme.identity.spell(lastAppliedAnnotation));
  const applied = applyTo(writers, request, sent, {
    kind: kindOf(writers.scheme, resource, subresource),
    value: live,
    blank,
    entries: old?.metadata.managedFields,
    last: manager === "kubectl" && last !== undefined ? managedLimits.parse(last) : undefined,
  });
  if (isStatus(applied)) return applied;
  const object = objectOf(writers, resource, applied, live, current);
  if (isStatus(object)) return object;
  if (untracked.has(subresource)) object.metadata.managedFields = old?.metadata.managedFields;
  const { uid } = object.metadata;
  if (current === undefined && uid !== undefined && uid !== "") {
    return conflict(
      resource,
      name,
      `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
    );
  }
  if (manager === "kubectl") updateLastApplied(writers, object, sent.config);
  return checkName(request, object) ?? object;
}

/** What a configuration is applied to. */
export interface ApplyTarget {
  readonly kind: Kind;
  readonly value: Value;
  /** An object of the kind in which nothing is set. */
  readonly blank: Value;
  readonly entries: readonly ManagedFieldsEntry[] | undefined;
  /** What kubectl applied last without the server, where that counts. */
  readonly last?: Value | undefined;
}

/** The target with the configuration applied; a Status where it does not fit, or names what others own. */
export function applyTo(
  writers: Merging,
  { subresource, manager, fields }: MergeRequest,
  { shape, config, force, duplicates }: Config,
  { kind, value, blank, entries, last }: ApplyTarget,
): AppliedObject | Status {
  const misfit = checkFit(shape, config);
  if (misfit !== undefined) return misfit;
  const writer = { manager, version: shape.apiVersion, subresource, now: timeOf(writers) };
  const told = (): string => describe(shape, value);
  const applied = applyConfig(kind, managedLimits, writer, { value, blank, entries, told }, config, force, last);
  if (applied instanceof TypeFault) return badRequest(applied.message);
  if (applied instanceof ConflictFault) return refuseConflict(applied);
  const twice = fields?.takeYaml(duplicates);
  return twice === undefined ? applied : badRequest(twice);
}

/** The configuration is of the kind and fits its type. */
function checkFit(shape: Resource, config: ValueMap): Status | undefined {
  const kind = config.get("kind");
  if (kind !== shape.kind) {
    const text = `failed to merge config: expected objects of the same type, but got ${shape.kind} and `;
    return badRequest(text + (typeof kind === "string" ? kind : "nothing"));
  }
  const misfit = checkType(typeOfMessage(shape.message), config);
  if (misfit === undefined) return undefined;
  // Upstream answers 500 for built-in kinds; what does not fit is the client's to put right.
  return badRequest(`failed to create typed patch object (${describe(shape, config)}): ${misfit.message}`);
}

/** An object as messages about its type name it. */
function describe({ group, version, apiVersion, kind }: Resource, value: Value): string {
  const metadata = value instanceof Map ? value.get("metadata") : undefined;
  const meta = (key: string): string => {
    const found = metadata instanceof Map ? metadata.get(key) : undefined;
    return typeof found === "string" ? found : "";
  };
  return `${meta("namespace")}/${meta("name")}; ${group === "" ? `/${version}` : apiVersion}, Kind=${kind}`;
}

function refuseConflict({ message, causes }: ConflictFault): Status {
  const reason = "FieldManagerConflict";
  return refuse("Conflict", message, { causes: causes.map((cause) => ({ reason, ...cause })) });
}

function objectOf(
  writers: Merging,
  resource: Resource,
  { value, entries }: AppliedObject,
  live: Value,
  current: StoredObject | undefined,
): ApiObject | Status {
  const unchanged = value === live && current !== undefined;
  const object = unchanged
    ? requestedObject(writers, resource, current)
    : decodeAs(resource, withoutManagedFields(value));
  if (object instanceof Fault) return badRequest(`failed to convert new typed object to object: ${object.message}`);
  if (!unchanged) nullEmptyBytes(resource.message, object);
  if (entries === undefined) delete object.metadata.managedFields;
  else object.metadata.managedFields = entries;
  return object;
}

/** kubectl's client-side apply goes on from what its server-side apply wrote: the annotation follows. */
function updateLastApplied(writers: Merging, object: ApiObject, config: ValueMap): void {
  const { annotations } = object.metadata;
  const key = writers.scheme.identity.spell(lastAppliedAnnotation);
  if (annotations === undefined || (annotations.get(key) ?? "") === "") return;
  annotations.set(key, `${sortedText(withoutAnnotation(config, key))}\n`);
  let bytes = 0;
  for (const [name, value] of annotations) bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  if (bytes > annotationBytesMax) annotations.delete(key);
}

function withoutAnnotation(config: ValueMap, key: string): Value {
  const metadata = config.get("metadata");
  const annotations = metadata instanceof Map ? metadata.get("annotations") : undefined;
  if (!(metadata instanceof Map) || !(annotations instanceof Map) || !annotations.has(key)) return config;
  const rest = new Map(annotations);
  rest.delete(key);
  return new Map(config).set("metadata", new Map(metadata).set("annotations", rest));
}

/** JSON with the keys of every object in the order of their bytes. */
function sortedText(value: Value): string {
  const edited = new Set<Container>();
  const rest: Value[] = [value];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (!isContainer(next)) continue;
    edited.add(next);
    for (const item of valuesOf(next)) if (isContainer(item)) rest.push(item);
  }
  return writeValue(asPrinted({ value, edited }));
}
