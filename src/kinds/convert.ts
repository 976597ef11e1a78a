// Versions of a kind: conversion to and from the version it is stored in, without loss. Most versions differ in name
// only; those that differ in shape say in their behaviour how they get to the shape all versions meet in, and back.
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { convertRemotely, remoteOf } from "./remote.ts";
import { behaviourOf } from "./table.ts";

/**
 * The same object at another version of its kind; may reuse parts of `object`, which must not be used afterwards.
 * Where a version has no room for something, annotations carry it. Throws ConversionNeeded where a webhook converts and
 * was not asked about this object.
 */
export function convert(object: ApiObject, from: Resource, to: Resource, identity: Identity): ApiObject {
  if (from === to) return object;
  const converted = from.message === to.message ? object : reshaped(object, from, to, identity);
  converted.kind = to.kind;
  converted.apiVersion = to.apiVersion;
  return converted;
}

function reshaped(object: ApiObject, from: Resource, to: Resource, identity: Identity): ApiObject {
  const remote = remoteOf(to);
  // What was stored in some earlier version says so itself.
  if (remote !== undefined) return convertRemotely(object, to, remote);
  const { conversion, settle } = behaviourOf(to, identity);
  const hub = behaviourOf(from, identity).conversion?.toHub(object as never) ?? object;
  const shaped = conversion?.fromHub(hub as never) ?? hub;
  settle?.(shaped, true);
  return shaped;
}
