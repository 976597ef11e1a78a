// Versions of a kind: conversion to and from the version it is stored in, without loss.
// Most versions differ in name only; those that differ in shape have a function per direction in conversions/.
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";

/** The same object at another version of its kind; may reuse parts of `object`, which must not be used afterwards. */
export function convert(object: ApiObject, from: Resource, to: Resource, _identity: Identity): ApiObject {
  if (from === to) return object;
  object.kind = to.kind;
  object.apiVersion = to.apiVersion;
  return object;
}
