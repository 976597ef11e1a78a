// The scale subresource: a Scale is read off the workload, changed, and put back; the workload's own write path does
// the rest, so that generation, rules and conflicts are those of the workload.
import { invalidObject } from "../../api/fielderror.ts";
import type { Scale } from "../../api/gen/autoscaling/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { ApiObject, ManagedFieldsEntry } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { badRequest, conflict, type GroupResource, isStatus, notFound, type Status } from "../../api/status.ts";
import type { Value } from "../../api/value.ts";
import { assert } from "../../base/assert.ts";
import { encode, Fault, toValue } from "../../codec/engine/json.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { type Scaling, validateScale } from "../../kinds/scale.ts";
import { behaviourOf } from "../../kinds/table.ts";
import type { Kind } from "../../merge/apply.ts";
import { trackUpdate } from "../../merge/managedfields.ts";
import { type SizeAt, scaleEntries, scaleVersion, size, workloadEntries } from "../../merge/scalefields.ts";
import { typeOfMessage } from "../../merge/schema.ts";
import { type Config, decodeAs, type ReadBody } from "../body/body.ts";
import { checkName } from "../commit/metadata.ts";
import { requestedObject, type StoredObject } from "../commit/objectstore.ts";
import type { WriteRequest, WriteServices, Written } from "../commit/writerequest.ts";
import { type ReadInput, readObject } from "../read/read.ts";
import { isScale, shapeOf } from "../route/info.ts";
import { applyTo } from "../write/apply.ts";
import { type Merge, mergeReplacement, patchDocument } from "../write/merge.ts";
import { blankOf, managedLimits, timeOf } from "../write/ownership.ts";
import { type Facade, writeMerged } from "../write/write.ts";

const encoder = new TextEncoder();

/** The Scale of an object, as JSON; 404, or 504 for a resource version that does not come. */
export async function readScale(input: ReadInput, name: string, resourceVersion: string): Promise<Uint8Array | Status> {
  const { resource, identity } = input;
  const found = await readObject(input, name, resourceVersion);
  if (!isStatus(found)) {
    const scaling = scalingOf(resource, identity);
    const scale = scaling.read(decodeStored(resource, found));
    // 500 upstream.
    return isSizeless(scaling, scale)
      ? badRequest(`the spec replicas field ${JSON.stringify(scaling.defined?.path)} does not exist`)
      : scaleBytes(resource, scale);
  }
  return found.reason === "NotFound" ? notFound(missingScale(resource), name) : found;
}

/** What is not there when a Scale is read, in upstream's words: they differ by kind. */
function missingScale({ group, resource, provided }: Resource): GroupResource {
  if (resource === "statefulsets" || provided === true) return { group, resource };
  return { group: resource === "replicationcontrollers" ? "autoscaling" : group, resource: `${resource}/scale` };
}

/** Replaces or patches the Scale of an object, or applies a configuration of it: its manager owns the size it names. */
export function writeScale(writers: WriteServices, request: WriteRequest, body: ReadBody): Promise<Written | Status> {
  const shape = scaleShape(request.resource);
  return resize(writers, request, (current, old, before) => {
    if (body.kind === "config") return applyScale(writers, request, body, before);
    const scale =
      body.kind === "patch"
        ? patchDocument(writers, request, shape, before.document, body)
        : mergeReplacement(writers, request, body, current, old);
    if (isStatus(scale)) return scale;
    const changed = scale as ApiObject & Scale;
    const { defined } = scalingOf(request.resource, writers.scheme.identity);
    if (defined === undefined) return trackScale(writers, request, changed, before);
    if (body.kind === "patch" && before.size === undefined && changed.spec.replicas === undefined) {
      return badRequest(`the spec replicas field ${JSON.stringify(defined.path)} cannot be empty`);
    }
    // A size that an update changed has no owner any more (upstream).
    return { scale: changed, entries: changed.spec.replicas === before.size ? before.entries : undefined };
  });
}

/** The object has no size where its definition says it should be. */
function isSizeless({ defined }: Scaling, { spec }: Scale): boolean {
  return defined !== undefined && spec.replicas === undefined;
}

/** A Scale with a configuration applied. */
function applyScale(
  writers: WriteServices,
  request: WriteRequest,
  config: Config,
  { document, entries }: OldScale,
): NewScale | Status {
  const { shape } = config;
  const kind = scaleKind(shape);
  const applied = applyTo(writers, request, config, { kind, value: document, blank: blankOf(shape), entries });
  if (isStatus(applied)) return applied;
  const scale = decodeAs(shape, applied.value);
  if (scale instanceof Fault) return badRequest(`failed to convert new typed object to object: ${scale.message}`);
  return checkName(request, scale) ?? { scale: scale as ApiObject & Scale, entries: applied.entries };
}

/** The Scale of what is stored, and who owns the size in it. */
interface OldScale {
  readonly document: Value;
  readonly entries: ManagedFieldsEntry[] | undefined;
  /** Undefined: a custom resource has none. */
  readonly size: number | undefined;
}

/** The Scale a write asks for, and who owns the size then. */
interface NewScale {
  readonly scale: ApiObject & Scale;
  readonly entries: ManagedFieldsEntry[] | undefined;
}

type ScaleMerge = (current: StoredObject, old: ApiObject, before: OldScale) => NewScale | Status;

/** What an update of a Scale makes its manager own. */
function trackScale(
  writers: WriteServices,
  { resource, subresource, manager }: WriteRequest,
  scale: ApiObject & Scale,
  { document, entries }: OldScale,
): NewScale {
  const shape = scaleShape(resource);
  const writer = { manager, version: scaleVersion, subresource, now: timeOf(writers) };
  const live = { value: () => document, entries, exists: true };
  const next = { value: () => toValue(shape.message, scale), entries: undefined };
  return { scale, entries: trackUpdate(scaleKind(shape), managedLimits, writer, live, next) };
}

/** `merge` makes a Scale; the workload of that size is written, and answered as a Scale. */
async function resize(writers: WriteServices, request: WriteRequest, merge: ScaleMerge): Promise<Written | Status> {
  const { resource, name } = request;
  const { identity } = writers.scheme;
  const shape = scaleShape(resource);
  const scaling = scalingOf(resource, identity);
  const sizeAt: SizeAt = scaling.defined?.at ?? ((version) => (groupOf(version) === resource.group ? size : undefined));
  const resized: Merge = (current, old) => {
    if (current === undefined || old === undefined) return notFound(resource, name);
    const { uid, managedFields } = old.metadata;
    const entries = scaleEntries(managedFields, managedLimits, sizeAt);
    const shown = scaling.read(old);
    const document = toValue(shape.message, shown);
    const merged = merge(current, old, { document, entries, size: shown.spec.replicas });
    if (isStatus(merged)) return merged;
    const { scale } = merged;
    const invalid = checkScale(scaling, scale, name, identity);
    if (invalid !== undefined) return invalid;
    const meant = scale.metadata.uid ?? "";
    if (meant !== "" && meant !== uid) {
      const why = `Precondition failed: UID in precondition: ${meant}, UID in object meta: ${uid}`;
      return conflict({ group: resource.group, resource: `${resource.resource}/scale` }, name, why);
    }
    const workload = requestedObject(writers, resource, current);
    scaling.write(workload, scale);
    const { apiVersion } = resource;
    workload.metadata.managedFields = workloadEntries(managedFields, merged.entries, managedLimits, sizeAt, apiVersion);
    return workload;
  };
  const done = await writeMerged(writers, request, resized, "recorded", facadeOf(writers, resource, name));
  if (isStatus(done)) return done;
  return { ...done, body: scaleBytes(resource, scaling.read(decodeStored(resource, done.body))) };
}

/** 422 for a Scale that breaks its rules; of a custom resource the object alone has rules. */
function checkScale({ defined }: Scaling, scale: Scale, name: string, identity: Identity): Status | undefined {
  const errors = defined === undefined ? validateScale(scale, identity) : [];
  return errors.length === 0 ? undefined : invalidObject("autoscaling", "Scale", name, errors);
}

function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}

/** How objects of a resource with a scale subresource are resized. */
function scalingOf(resource: Resource, identity: Identity): Scaling {
  const { scale } = behaviourOf(resource, identity);
  assert(scale !== undefined, `${resource.resource} cannot be scaled`);
  return scale;
}

function scaleShape(resource: Resource): Resource {
  return shapeOf(resource, resource.subresources.find(isScale));
}

/** Scale has one version, and nothing in it is put back by the server. */
function scaleKind({ message }: Resource): Kind {
  const type = typeOfMessage(message);
  return {
    typeOf: (version) => (version === scaleVersion ? type : undefined),
    convert: () => undefined,
    ignored: () => undefined,
  };
}

/** Plugins see Scales, the present one and the new one, and never the workload. */
function facadeOf(writers: WriteServices, resource: Resource, name: string): Facade {
  const { identity } = writers.scheme;
  const scaling = scalingOf(resource, identity);
  return {
    show: scaling.read,
    take(shown, workload) {
      const scale = shown as ApiObject & Scale;
      const invalid = checkScale(scaling, scale, name, identity);
      if (invalid !== undefined) return invalid;
      scaling.write(workload, scale);
      return undefined;
    },
  };
}

function scaleBytes(resource: Resource, scale: Scale): Uint8Array {
  return encoder.encode(encode(scaleShape(resource).message, scale));
}
