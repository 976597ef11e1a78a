// Kinds with behaviour, one line each. A kind that is not listed has the generic behaviour.
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { unreachable } from "../base/assert.ts";
import type { Strategy } from "./strategy.ts";

/** The behaviour of a resource (at the version asked for; versions of a kind share what they can). */
export function strategyOf(_resource: Resource, _identity: Identity): Strategy<ApiObject> {
  return unreachable("Not built yet");
}
