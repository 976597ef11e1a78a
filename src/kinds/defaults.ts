// Defaults: one function per message type that has any, applied by walking the schema, outer types first.
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { unreachable } from "../base/assert.ts";

/** Fills in the defaults of an object in place. Idempotent. */
export function applyDefaults(_resource: Resource, _object: ApiObject, _identity: Identity): void {
  unreachable("Not built yet");
}
