// What a write makes of its body, up to its field managers: read, merged into the current state, defaulted, tracked.
// All of it is a function of bytes and the scheme, so that it runs on a front or, where it is big, in the pool
// (offload.ts), with one result.
import { at, forbiddenField, invalidObject } from "../../api/fielderror.ts";
import type { ApiObject } from "../../api/object.ts";
import { isStatus, type Status } from "../../api/status.ts";
import { encode } from "../../codec/engine/json.ts";
import { limits } from "../../config/limits.ts";
import { applyDefaults } from "../../kinds/defaults.ts";
import type { Strategy } from "../../kinds/strategy.ts";
import { strategyOf } from "../../kinds/table.ts";
import { deepEntry } from "../../merge/managedfields.ts";
import { readBody } from "../body/body.ts";
import { dedupOwners, ownerWarning } from "../commit/metadata.ts";
import { objectTooLarge, type StoredObject } from "../commit/objectstore.ts";
import type { MergeRequest, Merging, Sent } from "../commit/writerequest.ts";
import { mergeConfig, readConfig } from "./apply.ts";
import { mergePatch, mergeReplacement, readPatch } from "./merge.ts";
import { managedLimits, type Tracking, trackManagers } from "./ownership.ts";

/** Makes the new state out of the current one; undefined stands for an object that does not exist. */
export type Merge = (current: StoredObject | undefined, old: ApiObject | undefined) => ApiObject | Status;

/** A body that was read. */
export interface ReadBody {
  readonly merge: Merge;
  readonly tracking: Tracking;
}

/** Reads a body; a Status for one that does not fit. */
export function readSent(writers: Merging, request: MergeRequest, sent: Sent): ReadBody | Status {
  const { resource, fields } = request;
  const { kind, format, force, bytes } = sent;
  switch (kind) {
    case "apply": {
      const duplicates: string[] = [];
      const config = readConfig(resource, bytes, fields && duplicates);
      if (isStatus(config)) return config;
      const all = { shape: resource, config, force, duplicates };
      return { merge: (current, old) => mergeConfig(writers, request, all, current, old), tracking: "recorded" };
    }
    case "create":
    case "update": {
      const body = readBody(writers.scheme, resource, bytes, format, fields);
      if (isStatus(body)) return body;
      if (kind === "create") return { merge: () => body.take(), tracking: "owns" };
      return { merge: (current, old) => mergeReplacement(writers, request, body, current, old), tracking: "owns" };
    }
    default: {
      const patch = readPatch(kind, bytes, fields);
      if (isStatus(patch)) return patch;
      return { merge: (current, old) => mergePatch(writers, request, patch, current, old), tracking: "patched" };
    }
  }
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

/** The new state with defaults and field managers, as admission gets to see it. */
export function mergeHere(
  writers: Merging,
  request: MergeRequest,
  { merge, tracking }: ReadBody,
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

  applyDefaults(resource, object, identity);
  const strategy = strategyOf(resource, identity);
  strategy.canonicalize?.(object);
  trace.done("default");

  if (outgrowsStore(request, strategy, object, current)) return objectTooLarge;
  const deep = deepEntry(object.metadata.managedFields ?? [], managedLimits);
  if (deep >= 0) {
    const field = `${at("metadata.managedFields", deep)}.fieldsV1`;
    const why = forbiddenField(field, "keys and values that tell items of a list apart must not nest");
    return invalidObject(resource.group, resource.kind, object.metadata.name ?? "", [why]);
  }
  // Before admission: what plugins add belongs to nobody (upstream).
  if (tracking !== "recorded") trackManagers(writers, request, object, current, old);
  trace.done("managers");
  return object;
}
