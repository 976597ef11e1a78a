// The first step of an update: what the client sent and what is stored become one object. A replacement names its
// object again and may name the uid it means; a patch is applied to the current state at the requested version.

import { invalid } from "../../api/fielderror.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Message } from "../../api/schema.ts";
import type { Resource } from "../../api/scheme.ts";
import { badRequest, isStatus, notFound, refuse, Status } from "../../api/status.ts";
import type { Value } from "../../api/value.ts";
import { Fault, parseJson, textOf, toValue, writeValue } from "../../codec/engine/json.ts";
import { nullEmptyBytes } from "../../codec/engine/nullbytes.ts";
import { duplicateFaults, strictFaults } from "../../codec/engine/strict.ts";
import { limits } from "../../config/limits.ts";
import { strategyOf } from "../../kinds/table.ts";
import { asPrinted, type Patched, PatchFault } from "../../merge/document.ts";
import { goText } from "../../merge/govalue.ts";
import { applyJsonPatch } from "../../merge/jsonpatch.ts";
import { applyMergePatch } from "../../merge/mergepatch.ts";
import { findMismatch } from "../../merge/mismatch.ts";
import { applyStrategicPatch } from "../../merge/strategic.ts";
import { type Body, decodeTyped, faultStatus, typeOf } from "../body/body.ts";
import type { FieldReport } from "../body/fieldvalidation.ts";
import { preconditionFailed, type StoredObject, storedAs } from "../commit/objectstore.ts";
import type { MergeRequest, Merging, PatchType } from "../commit/writerequest.ts";
import { patchTyped } from "./typedpatch.ts";

/** A parsed patch. */
export interface PatchBody {
  readonly type: PatchType;
  readonly patch: Value;
  /** Fields that come twice in it, where somebody wants to know. */
  readonly duplicates?: readonly string[];
}

const patchTypes: ReadonlyMap<string, PatchType | "apply"> = new Map([
  ["application/json-patch+json", "json"],
  ["application/merge-patch+json", "merge"],
  ["application/strategic-merge-patch+json", "strategic"],
  ["application/apply-patch+yaml", "apply"],
]);

/**
 * Chooses the patch format by content type; a 415 Status for what is not a patch, a 406 where no length says that there is
 * anything (so upstream's router).
 */
export function negotiatePatch(
  contentType: string | undefined,
  length: string | undefined,
): PatchType | "apply" | Status {
  const type = (contentType ?? "").split(";")[0]?.trim() ?? "";
  const known = patchTypes.get(type);
  if (known !== undefined) return known;
  if (Number(length ?? 0) > 0) return refuse("UnsupportedMediaType", "415: Unsupported Media Type", {});
  return refuse("NotAcceptable", "406: Not Acceptable", {});
}

/** Parses a patch; a 400 Status in the words of upstream's patch library. */
export function readPatch(type: PatchType, bytes: Uint8Array, fields?: FieldReport): PatchBody | Status {
  const patch = parseJson(bytes, limits.bodyValuesMax);
  if (!(patch instanceof Fault)) {
    return fields === undefined ? { type, patch } : { type, patch, duplicates: duplicateFaults(textOf(bytes)) };
  }
  return faultStatus(patch, type === "merge" ? "Invalid JSON Patch" : patch.message);
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
  const { stored } = storedAs(resource);
  const document = () => (stored === resource ? current.document : toValue(resource.message, old));
  const object =
    typed === undefined
      ? patchDocument(writers, request, resource, document(), patch)
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
  // Without a version upstream takes what follows for its internal form, which has no metadata.
  const isKind = !(named instanceof Fault) && (named.kind === "" || named.kind === resource.kind);
  if (!isStrategic && isKind && named.apiVersion === "") return nameless(request);
  const typed = named;
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
  const misnamed = checkName(request, object);
  return isStatus(misnamed) ? misnamed : object;
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

function nameless({ name }: MergeRequest): Status {
  return badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
}

/** The name and namespace in an object agree with the path. */
export function checkName(request: MergeRequest, object: ApiObject): Status | undefined {
  const { name, namespace } = request;
  const meta = object.metadata;
  if ((meta.name ?? "") === "") return nameless(request);
  if (meta.name !== name) {
    return badRequest(`the name of the object (${meta.name}) does not match the name on the URL (${name})`);
  }
  if (namespace !== "" && (meta.namespace ?? "") !== "" && meta.namespace !== namespace) {
    return badRequest(
      `the namespace of the object (${meta.namespace}) does not match the namespace on the request (${namespace})`,
    );
  }
  return undefined;
}
