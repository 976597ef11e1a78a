// Versions of a kind: conversion to and from the version it is stored in, without loss.
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { unreachable } from "../base/assert.ts";

/** The same object at another version of its kind; may reuse parts of `object`, which must not be used afterwards. */
export function convert(_object: ApiObject, _from: Resource, _to: Resource, _identity: Identity): ApiObject {
  return unreachable("Not built yet");
}
