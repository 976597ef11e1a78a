// The first half of a write, up to its field managers: what the client sent and what is stored become one object, which
// is defaulted and tracked. A replacement names its object again and may name the uid it means; a patch is applied to the
// current state at the requested version. All of it is a function of the body and the scheme, so that it runs on a front
// or, where it is big, in the pool (offload.ts), with one result.
import { at, forbiddenField, invalid, invalidObject } from "../../api/fielderror.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Message } from "../../api/schema.ts";
import type { Resource } from "../../api/scheme.ts";
import { badRequest, isStatus, notFound, refuse, Status } from "../../api/status.ts";
import type { Value } from "../../api/value.ts";
import { encode, Fault, writeValue } from "../../codec/engine/json.ts";
import { nullEmptyBytes } from "../../codec/engine/nullbytes.ts";
import { strictFaults } from "../../codec/engine/strict.ts";
import { limits } from "../../config/limits.ts";
import type { Settled } from "../../kinds/behaviour.ts";
import { applyDefaults } from "../../kinds/defaults.ts";
import type { Strategy } from "../../kinds/strategy.ts";
import { strategyOf } from "../../kinds/table.ts";
import { asPrinted, type Patched, PatchFault } from "../../merge/document.ts";
import { goText } from "../../merge/govalue.ts";
import { applyJsonPatch } from "../../merge/jsonpatch.ts";
import { deepEntry } from "../../merge/managedfields.ts";
import { applyMergePatch } from "../../merge/mergepatch.ts";
import { findMismatch } from "../../merge/mismatch.ts";
import { applyStrategicPatch } from "../../merge/strategic.ts";
import {
  type Body,
  decodeTyped,
  openMisnamed,
  type PatchBody,
  type ReadBody,
  type TypedContent,
  typeOf,
} from "../body/body.ts";
import { checkName, checkNewName, dedupOwners, nameless, ownerWarning } from "../commit/metadata.ts";
import {
  objectTooLarge,
  preconditionFailed,
  requestedDocument,
  type StoredObject,
  storedAs,
} from "../commit/objectstore.ts";
import type { MergeRequest, Merging } from "../commit/writerequest.ts";
import { mergeConfig } from "./apply.ts";
import { managedLimits, type Tracking, trackManagers } from "./ownership.ts";
import { patchTyped } from "./typedpatch.ts";

/** Makes the new state out of the current one; undefined stands for an object that does not exist. */
export type Merge = (current: StoredObject | undefined, old: ApiObject | undefined) => ApiObject | Status;

/** A merge, and how managedFields come to know of it. */
export interface TrackedMerge {
  readonly merge: Merge;
  readonly tracking: Tracking;
}

/** What a body makes of the current state. */
export function mergeOf(writers: Merging, request: MergeRequest, body: ReadBody): TrackedMerge {
  switch (body.kind) {
    case "patch":
      return { merge: (current, old) => mergePatch(writers, request, body, current, old), tracking: "patched" };
    case "config":
      return { merge: (current, old) => mergeConfig(writers, request, body, current, old), tracking: "recorded" };
    case "object":
      // What a create makes is named by its body.
      if (request.name === "") return { merge: () => mergeNew(request, body), tracking: "owns" };
      return { merge: (current, old) => mergeReplacement(writers, request, body, current, old), tracking: "owns" };
  }
}

function mergeNew(request: MergeRequest, body: Body): ApiObject | Status {
  const object = body.take();
  return checkNewName(request, object) ?? object;
}

/** The new state with defaults and field managers, as admission gets to see it. */
export function mergeHere(
  writers: Merging,
  request: MergeRequest,
  { merge, tracking }: TrackedMerge,
  current: StoredObject | undefined,
  old: ApiObject | undefined,
  warnings: string[],
): ApiObject | Status {
  const { resource, trace } = request;
  const { identity } = writers.scheme;
  const object = merge(current, old);
  if (isStatus(object)) return object;
  // What a patch lists twice stays until plugins have seen it (upstream), and has no owners.
  if (tracking === "owns") dedupOwners(object.metadata, ownerWarning, warnings);
  trace.done("merge");

  const settled = applyDefaults(resource, object, identity);
  const unsettled = settled && settleRefusal(request, settled);
  if (unsettled !== undefined) return unsettled;
  const strategy = strategyOf(resource, identity);
  strategy.canonicalize?.(object);
  strategy.truncate?.(object);
  trace.done("default");

  if (outgrowsStore(request, strategy, object, current)) return objectTooLarge;
  const deep = deepEntry(object.metadata.managedFields ?? [], managedLimits);
  if (deep >= 0) {
    const field = `${at("metadata.managedFields", deep)}.fieldsV1`;
    const why = forbiddenField(field, "keys and values that tell items of a list apart must not nest");
    return invalidObject(resource.group, resource.kind, object.metadata.name ?? "", [why]);
  }
  // Before admission: what plugins add has no manager (upstream).
  if (tracking !== "recorded") trackManagers(writers, request, object, current, old);
  trace.done("managers");
  return object;
}

/** What a custom object is refused with that cannot take its shape, or has fields a strict request must not have. */
function settleRefusal({ resource, fields }: MergeRequest, { dropped, misfit }: Settled): Status | undefined {
  const { group, kind, version } = resource;
  // What takes too many steps is no fault of one field.
  if (misfit?.field === "<nil>") return invalidObject(group, kind, "", [misfit]);
  if (misfit !== undefined) return badRequest(`${misfit.field}: ${misfit.text}`);
  const refused = fields?.take(dropped.map((path) => `unknown field ${JSON.stringify(path)}`));
  return refused === undefined
    ? undefined
    : badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${refused}`);
}

/**
 * Whether an object is larger than the store takes, whatever else is wrong with it: to find owners of its fields and to
 * validate it takes far longer than to measure it. What is small cannot grow that much by defaults, and a kind with a
 * bound of its own says so in its own words.
 */
function outgrowsStore(
  { resource, sent }: MergeRequest,
  { boundsSize = false }: Strategy<ApiObject>,
  object: ApiObject,
  current: StoredObject | undefined,
): boolean {
  if (boundsSize) return false;
  const bytes = (sent?.bytes.length ?? 0) + (current?.text.length ?? 0);
  return bytes >= limits.measuredBytesMin && encode(resource.message, object).length > limits.objectBytesMax;
}

/** An object sent whole: it must be the one the path names. */
export function mergeReplacement(
  writers: Merging,
  request: MergeRequest,
  body: Body,
  current: StoredObject | undefined,
  old: ApiObject | undefined,
): ApiObject | Status {
  const object = body.take();
  const misnamed = checkName(request, object);
  if (misnamed !== undefined) return misnamed;
  const { resource, name, subresource } = request;
  const { uid } = object.metadata;
  const oldUid = old?.metadata.uid ?? "";
  if (uid !== undefined && uid !== "" && uid !== oldUid) {
    return preconditionFailed(request, "UID", uid, oldUid);
  }
  if (current !== undefined) return object;
  const strategy = strategyOf(resource, writers.scheme.identity);
  return subresource === "" && strategy.allowCreateOnUpdate ? object : notFound(resource, name);
}

/** The current state with a patch applied. */
export function mergePatch(
  writers: Merging,
  request: MergeRequest,
  patch: PatchBody,
  current: StoredObject | undefined,
  old: ApiObject | undefined,
): ApiObject | Status {
  const { resource, name } = request;
  if (current === undefined || old === undefined) return notFound(resource, name);
  const typed = patchObject(request, patch, old);
  const object =
    typed === undefined
      ? patchDocument(writers, request, resource, requestedDocument(resource, current, old), patch)
      : (checkName(request, typed) ?? typed);
  if (patch.type === "strategic" && !isStatus(object)) nullEmptyBytes(resource.message, object);
  return object;
}

/** The object with a simple patch applied; undefined: its document is to be patched. */
function patchObject({ resource, fields }: MergeRequest, patch: PatchBody, old: ApiObject): ApiObject | undefined {
  // At another version the document has the words of conversion; unknown fields are found in documents.
  if (patch.type === "json" || fields !== undefined || storedAs(resource).stored !== resource) return undefined;
  return patchTyped(resource.message, old, patch.patch, patch.type);
}

/** A document with a patch applied, as an object of the kind `resource`; the names in it must be those of the request. */
export function patchDocument(
  writers: Merging,
  request: MergeRequest,
  resource: Resource,
  document: Value,
  patch: PatchBody,
): ApiObject | Status {
  const patched = applyPatch(document, patch, resource.message);
  if (patched instanceof PatchFault) return refusePatch(patched);
  const isStrategic = patch.type === "strategic";
  const named = isStrategic ? typeOf(asKind(resource, patched.value)) : typeOf(patched.value);
  // Without a version upstream takes a built-in kind for its internal form, which has no metadata.
  const isBuiltIn = resource.message.open !== true;
  const isKind = isBuiltIn && !(named instanceof Fault) && (named.kind === "" || named.kind === resource.kind);
  if (!isStrategic && isKind && named.apiVersion === "") return nameless(request);
  const typed = named;
  const misnamed = typed instanceof Fault ? undefined : patchMisnamed(request, resource, typed);
  if (misnamed instanceof Status) return misnamed;
  if (misnamed !== undefined) return invalidPatch(writeValue(asPrinted(patched)), misnamed.message);
  const object = typed instanceof Fault ? typed : decodeTyped(writers.scheme, resource, typed);
  if (object instanceof Fault) {
    if (!isStrategic) return invalidPatch(writeValue(asPrinted(patched)), object.message);
    // Upstream converts the merged document without JSON in between, and prints the patch.
    const { message } = object;
    const told = message.startsWith("illegal base64 data") ? `error decoding from json: ${message}` : message;
    return invalidPatch(goText(patch.patch), findMismatch(resource.message, patched.value) ?? told);
  }
  const refused = strictRefusal(request, resource, patched, patch);
  if (refused !== undefined) {
    return invalidPatch(isStrategic ? goText(patch.patch) : writeValue(asPrinted(patched)), refused);
  }
  return checkName(request, object) ?? object;
}

/** What is wrong with the type a patched custom object says it has. */
function patchMisnamed({ name }: MergeRequest, resource: Resource, typed: TypedContent): Fault | Status | undefined {
  const misnamed = openMisnamed(resource, typed);
  const { apiVersion, kind } = resource;
  if (misnamed !== undefined || resource.message.open !== true || typed.apiVersion === apiVersion) return misnamed;
  const error = invalid("apiVersion", typed.apiVersion, `must be ${apiVersion}`);
  return invalidObject(resource.group, kind, name, [error]);
}

/** The document under the kind's own name: a strategic patch is applied to a type, whatever the document calls itself. */
function asKind({ kind, apiVersion }: Resource, value: Value): Value {
  if (!(value instanceof Map)) return value;
  const renamed = new Map(value);
  for (const [key, name] of [
    ["kind", kind],
    ["apiVersion", apiVersion],
  ] as const) {
    if (typeof value.get(key) === "string") renamed.set(key, name);
  }
  return renamed;
}

/** What a strict request is refused with: fields that come twice in the patch or are unknown after it. */
function strictRefusal(
  { fields }: MergeRequest,
  { message }: Resource,
  { value }: Patched,
  { duplicates = [] }: PatchBody,
): string | undefined {
  return fields?.take([...duplicates, ...strictFaults(message, writeValue(value))]);
}

function applyPatch(document: Value, { type, patch }: PatchBody, message: Message): Patched | PatchFault {
  if (type === "merge") return applyMergePatch(document, patch);
  if (type === "strategic") return applyStrategicPatch(document, patch, message, limits.strategicDepthMax);
  return applyJsonPatch(document, patch, {
    operationsMax: limits.patchOperationsMax,
    copyBytesMax: limits.patchCopyBytesMax,
    depthMax: limits.depthMax,
    shiftedItemsMax: limits.patchShiftedItemsMax,
  });
}

function refusePatch(fault: PatchFault): Status {
  switch (fault.kind) {
    case "malformed":
      return badRequest(fault.message);
    case "too-large":
      return refuse("RequestEntityTooLarge", `Request entity too large: ${fault.message}`);
    case "inapplicable":
      // Upstream keeps the operation at fault to itself.
      return refuse("Invalid", "the server rejected our request due to an error in our request", {});
    case "failed":
      return new Status(500, "", fault.message);
  }
}

/** 422 for a patched document that is no object of its kind any more. */
function invalidPatch(shown: string, fault: string): Status {
  const { reason, text, field } = invalid("patch", shown, fault);
  const causes = [{ reason: `FieldValue${reason}`, message: text, field }];
  return refuse("Invalid", ` "" is invalid: ${field}: ${text}`, { causes });
}
