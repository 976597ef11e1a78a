// Stored bytes in the version a request asks for. The stored version is a slice of shared memory; another version is
// decoded, converted and encoded, which callers bound and cache as they need.

import type { Identity } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import type { Location } from "../../cache/shared/record.ts";
import { formAt } from "../../cache/shared/selection.ts";
import type { RecordSource } from "../../cache/view/view.ts";
import { encode } from "../../codec/engine/json.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { convert } from "../../kinds/convert.ts";
import { convertRemotely, remoteOf } from "../../kinds/remote.ts";
import { behaviourOf } from "../../kinds/table.ts";

const encoder = new TextEncoder();

/** Whether objects are stored in the version of `resource`, so that nothing is converted. */
export function isStoredVersion(resource: Resource): boolean {
  return resource.stored === undefined || resource.stored === resource;
}

/**
 * The stored bytes at the version of `resource`: the same bytes when that is the stored one. Throws ConversionNeeded where
 * a webhook was not asked yet.
 */
export function represent(resource: Resource, identity: Identity, bytes: Uint8Array): Uint8Array {
  const { stored } = resource;
  if (remoteOf(resource) !== undefined) return representRemotely(resource, identity, bytes);
  if (stored === undefined || isStoredVersion(resource)) return bytes;
  const object = convert(decodeStored(stored, bytes), stored, resource, identity);
  return encoder.encode(encode(resource.message, object));
}

/** Objects say themselves what version they were stored in: it may be an earlier one. */
function representRemotely(resource: Resource, identity: Identity, bytes: Uint8Array): Uint8Array {
  if (isAtVersion(resource, bytes)) return bytes;
  const object = toPresent(decodeStored(resource, bytes), resource, identity);
  return encoder.encode(encode(resource.message, object));
}

/** Whether an object of ours is at the version of `resource`: its kind and version stand at its beginning. */
function isAtVersion(resource: Resource, bytes: Uint8Array): boolean {
  let head = heads.get(resource);
  if (head === undefined) heads.set(resource, (head = Buffer.from(typeMeta(resource))));
  return head.compare(bytes, 0, Math.min(head.length, bytes.length)) === 0;
}

const heads = new WeakMap<Resource, Buffer>();

/** Whether what is stored of a record is what representRecord() gives, byte for byte. */
export function isAsStored(resource: Resource): boolean {
  return isStoredVersion(resource) && resource.redefined !== true && remoteOf(resource) === undefined;
}

/** The record's object at the version of `resource`. Throws ConversionNeeded where a webhook was not asked yet. */
export function representRecord(view: RecordSource, at: Location, resource: Resource, identity: Identity): Uint8Array {
  return represent(resource, identity, storedBytes(view, at, resource, identity));
}

/**
 * The record's object at the version it is stored in. One that was kept when its definition said something else is
 * brought into the shape that it gives now (upstream: on every read). Where a webhook converts, what was stored in another
 * version stays at it: represent() makes what is asked for of that.
 */
export function storedBytes(view: RecordSource, at: Location, resource: Resource, identity: Identity): Uint8Array {
  const bytes = view.object(at);
  const { stored } = resource;
  if (stored === undefined) return bytes;
  if (!isOutdated(resource, identity, () => formAt(view.selectionSource(at), view.selectionAt(at)))) return bytes;
  const remote = remoteOf(resource);
  if (remote !== undefined && !isAtVersion(resource, bytes)) return bytes;
  const object = decodeStored(stored, bytes);
  if (remote === undefined) reshape(object, resource, stored, identity);
  else behaviourOf(resource, identity).settle?.(object, true);
  return encoder.encode(encode(stored.message, object));
}

/** Whether what is stored with a side-table of this form was kept when its definition said something else. */
export function isOutdated(resource: Resource, identity: Identity, form: () => number): boolean {
  if (resource.redefined !== true || resource.stored === undefined) return false;
  return behaviourOf(resource.stored, identity).form !== form();
}

/**
 * Brings an object that is outdated into the shape of the version objects are stored in. One that was stored in another
 * version, and is asked for at another one than the present, is converted from there: it may have fields that the
 * versions in between do not know.
 */
export function reshape(object: ApiObject, resource: Resource, stored: Resource, identity: Identity): void {
  const isOfOtherVersion = object.apiVersion !== stored.apiVersion;
  object.apiVersion = stored.apiVersion;
  if (!isOfOtherVersion || resource === stored) behaviourOf(stored, identity).settle?.(object, true);
}

/**
 * An object that was stored in some version of a custom resource, in the shape of the version of `resource` now. May reuse
 * `object`. Throws ConversionNeeded.
 */
export function toPresent(object: ApiObject, resource: Resource, identity: Identity): ApiObject {
  const remote = remoteOf(resource);
  if (remote !== undefined && object.apiVersion !== resource.apiVersion) {
    return convertRemotely(object, resource, remote);
  }
  object.apiVersion = resource.apiVersion;
  behaviourOf(resource, identity).settle?.(object, true);
  return object;
}

/**
 * At which version forms are given objects: at the stored one, and where a webhook converts at the one asked for, since
 * it may change labels and annotations.
 */
export function formSource(resource: Resource): Resource {
  return remoteOf(resource) === undefined ? (resource.stored ?? resource) : resource;
}

/** The record's object at the version of formSource(). Throws ConversionNeeded where a webhook was not asked yet. */
export function formBytes(view: RecordSource, at: Location, resource: Resource, identity: Identity): Uint8Array {
  const bytes = storedBytes(view, at, resource, identity);
  return remoteOf(resource) === undefined ? bytes : represent(resource, identity, bytes);
}

/** Length of the leading `{"kind":…,"apiVersion":…,` of an object. */
export function typeMetaBytes(resource: Resource): number {
  return encoder.encode(typeMeta(resource)).length;
}

function typeMeta({ kind, apiVersion }: Resource): string {
  return `{"kind":"${kind}","apiVersion":"${apiVersion}",`;
}

/** What a list item leaves out of an object's beginning: items of built-in kinds do not say what they are (upstream). */
export function itemOffset(resource: Resource): number {
  return resource.message.open === true ? 1 : typeMetaBytes(resource);
}
