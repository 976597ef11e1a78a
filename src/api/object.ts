// The few shapes every object shares, for code that works on any kind. Kinds' own types are in gen/.
import type { ObjectMeta } from "./gen/meta/v1.ts";

export type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from "./gen/meta/v1.ts";

/** Any object of the API. */
export interface ApiObject {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: ObjectMeta;
}

/** Finalizer that keeps an object until its dependents let go of it. */
export const orphanFinalizer = "orphan";
/** Finalizer that keeps an object until its dependents are gone. */
export const foregroundFinalizer = "foregroundDeletion";
