// The scale subresource: a Scale is read off the workload, changed, and put back; the workload's own write path does
// the rest, so that generation, rules and conflicts are those of the workload.
import { invalidObject } from "../api/fielderror.ts";
import type { Scale } from "../api/gen/autoscaling_v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource, Subresource } from "../api/scheme.ts";
import { isStatus, notFound, type Status } from "../api/status.ts";
import type { Value, ValueMap } from "../api/value.ts";
import { assert } from "../base/assert.ts";
import { encode, toValue } from "../codec/json.ts";
import { decodeStored } from "../codec/stored.ts";
import { applyScale, scaleOf, validateScale } from "../kinds/scale.ts";
import { type Config, checkFit, mergeConfig } from "./apply.ts";
import type { Body } from "./body.ts";
import { mergeReplacement, type PatchBody, patchDocument } from "./merge.ts";
import type { Tracking } from "./ownership.ts";
import { requestedObject } from "./persist.ts";
import { type ReadInput, readObject } from "./read.ts";
import type { Merge } from "./sent.ts";
import { type Facade, writeMerged } from "./write.ts";
import type { WriteRequest, Writers, Written } from "./writerequest.ts";

const encoder = new TextEncoder();

/** Whether a subresource is read and written as a Scale. */
export function isScale(subresource: Subresource | undefined): boolean {
  return subresource?.name === "scale";
}

/** What a body of a subresource decodes as: the subresource's own kind, which is not stored. */
export function shapeOf(resource: Resource, subresource: Subresource | undefined): Resource {
  if (subresource === undefined || subresource.kind === resource.kind) return resource;
  const { group, version, kind, message } = subresource;
  assert(message !== undefined, `${kind} has no shape`);
  const apiVersion = group === "" ? version : `${group}/${version}`;
  return { ...resource, group, version, kind, apiVersion, message, stored: undefined, prefix: undefined };
}

/** The Scale of an object, as JSON; 404, or 504 for a resource version that does not come. */
export async function readScale(input: ReadInput, name: string, resourceVersion: string): Promise<Uint8Array | Status> {
  const { resource } = input;
  const found = await readObject(input, name, resourceVersion);
  if (!isStatus(found)) return scaleBytes(resource, found);
  const { group } = resource;
  return found.reason === "NotFound" ? notFound({ group, resource: `${resource.resource}/scale` }, name) : found;
}

/** Replaces the Scale of an object. */
export function updateScale(writers: Writers, request: WriteRequest, body: Body): Promise<Written | Status> {
  return writeScale(writers, request, (current, old) => mergeReplacement(writers, request, body, current, old));
}

/** Applies a patch to the Scale of an object. */
export function patchScale(writers: Writers, request: WriteRequest, patch: PatchBody): Promise<Written | Status> {
  const { resource, subresource, name } = request;
  const shape = shapeOf(
    resource,
    resource.subresources.find((found) => found.name === subresource),
  );
  const merge: Merge = (current, old) => {
    if (current === undefined || old === undefined) return notFound(resource, name);
    const document = toValue(shape.message, scaleOf(old));
    return patchDocument(writers, request, shape, document, patch);
  };
  // A patched size that nobody owned stays nobody's (upstream), so that an apply that names it is no conflict.
  return writeScale(writers, request, merge, "disowns");
}

/** Applies a configuration of a Scale: the size it names becomes the manager's in the workload. */
export async function applyScaleConfig(
  writers: Writers,
  request: WriteRequest,
  { shape, config, force, duplicates }: Config,
): Promise<Written | Status> {
  const { resource, name } = request;
  const part = (key: string): ValueMap => {
    const value = config.get(key);
    return value instanceof Map ? value : new Map();
  };
  const only = (map: ValueMap, key: string): ValueMap => new Map([...map].filter(([found]) => found === key));
  const workload: ValueMap = new Map<string, Value>([
    ["apiVersion", resource.apiVersion],
    ["kind", resource.kind],
    ["metadata", only(part("metadata"), "resourceVersion").set("name", part("metadata").get("name") ?? name)],
    ["spec", only(part("spec"), "replicas")],
  ]);
  const misfit = checkFit(shape, config);
  const done = await writeMerged(
    writers,
    request,
    (current, old) => {
      if (current === undefined) return notFound(resource, name);
      return (
        misfit ?? mergeConfig(writers, request, { shape: resource, config: workload, force, duplicates }, current, old)
      );
    },
    "recorded",
    facadeOf(writers, name),
  );
  return isStatus(done) ? done : { ...done, body: scaleBytes(resource, done.body) };
}

/** `merge` makes a Scale; the workload of that size is written, and answered as a Scale. */
async function writeScale(
  writers: Writers,
  request: WriteRequest,
  merge: Merge,
  tracking: Tracking = "owns",
): Promise<Written | Status> {
  const { resource, name } = request;
  const { identity } = writers.scheme;
  const resize: Merge = (current, old) => {
    const merged = merge(current, old);
    if (isStatus(merged)) return merged;
    if (current === undefined) return notFound(resource, name);
    const scale = merged as ApiObject & Scale;
    const errors = validateScale(scale, identity);
    if (errors.length > 0) return invalidObject("autoscaling", "Scale", name, errors);
    const workload = requestedObject(writers, resource, current);
    applyScale(workload, scale);
    return workload;
  };
  const done = await writeMerged(writers, request, resize, tracking, facadeOf(writers, name));
  return isStatus(done) ? done : { ...done, body: scaleBytes(resource, done.body) };
}

/** Plugins see Scales, the present one and the new one, and never the workload. */
function facadeOf(writers: Writers, name: string): Facade {
  const { identity } = writers.scheme;
  return {
    show: scaleOf,
    take(shown, workload) {
      const scale = shown as ApiObject & Scale;
      const errors = validateScale(scale, identity);
      if (errors.length > 0) return invalidObject("autoscaling", "Scale", name, errors);
      applyScale(workload, scale);
      return undefined;
    },
  };
}

function scaleBytes(resource: Resource, workload: Uint8Array): Uint8Array {
  const scale = resource.subresources.find(({ name }) => name === "scale");
  assert(scale?.message !== undefined, `${resource.resource} cannot be scaled`);
  return encoder.encode(encode(scale.message, scaleOf(decodeStored(resource, workload))));
}
