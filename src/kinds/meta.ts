// The rules of metadata that hold for every kind: checked once, by the write path, for create and update.
import type { FieldError } from "../api/fielderror.ts";
import type { Identity } from "../api/identity.ts";
import type { ObjectMeta } from "../api/object.ts";
import { unreachable } from "../base/assert.ts";
import type { NameFormat } from "./strategy.ts";

/** All faults of a new object's metadata. */
export function validateMeta(
  _meta: ObjectMeta,
  _namespaced: boolean,
  _format: NameFormat,
  _identity: Identity,
): FieldError[] {
  return unreachable("Not built yet");
}

/** All faults of a change of metadata, the rules of a new object included. */
export function validateMetaUpdate(
  _meta: ObjectMeta,
  _old: ObjectMeta,
  _namespaced: boolean,
  _identity: Identity,
): FieldError[] {
  return unreachable("Not built yet");
}
