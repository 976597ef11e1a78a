// Create, update and patch: one path, in the order of DESIGN section 6. Read the current state, merge the request
// into it, default, mutating admission, the kind's own preparation, validation, validating admission, and a commit
// that holds only while no other client changed the object; else from the top until the request's deadline.
import { AdmissionResult } from "../../admission/plugin.ts";
import { admit } from "../../admission/table.ts";
import type { ApiObject } from "../../api/object.ts";
import { alreadyExists, internalError, isStatus, notFound, refuse, type Status } from "../../api/status.ts";
import { isPortable } from "../../kinds/custom/definition.ts";
import { remoteOf } from "../../kinds/remote.ts";
import type { Strategy } from "../../kinds/strategy.ts";
import { strategyOf } from "../../kinds/table.ts";
import { isPatch, type ReadBody } from "../body/body.ts";
import { allocate } from "../commit/allocate.ts";
import { changed, decidedByStore, untilUnchanged } from "../commit/attempts.ts";
import { attributesOf, type TryAttributes } from "../commit/attributes.ts";
import {
  checkName,
  checkNewName,
  dedupOwners,
  kindGroup,
  ownerWarningAfterAdmission,
  prepareCreate,
  prepareUpdate,
} from "../commit/metadata.ts";
import { guardOf } from "../commit/newest.ts";
import {
  type Committed,
  type Current,
  commitObject,
  commitRemoval,
  convertedFor,
  moved,
  readCurrent,
  requestedObject,
  storedObject,
  strategyContext,
} from "../commit/objectstore.ts";
import { othersFirst } from "../commit/steps.ts";
import type { Guarded, WriteRequest, WriteServices, Written } from "../commit/writerequest.ts";
import { afterRemoval } from "../delete/delete.ts";
import { type Merge, mergeHere, mergeOf, type TrackedMerge } from "./merge.ts";
import type { Tracking } from "./ownership.ts";

/** What plugins are shown in the place of an object: its Scale. */
export interface Facade {
  show(object: ApiObject): ApiObject;
  /** Takes over what plugins made of what they were shown; a Status when that does not fit. */
  take(shown: ApiObject, object: ApiObject): Status | undefined;
}

/**
 * Writes what a body says: an object that is created (its name is in it, or made from generateName) or replaced, a patch, a
 * configuration. Undefined: the body is so big that it is read where it is merged (goesToPool()).
 */
export function writeObject(
  writers: WriteServices,
  request: WriteRequest,
  body: ReadBody | undefined,
): Promise<Written | Status> {
  if (body === undefined) return writeMerged(writers, request, unread);
  const { merge, tracking } = mergeOf(writers, request, body);
  return writeMerged(writers, request, merge, tracking);
}

const unread: Merge = () => internalError("A body was merged before it was read");

/**
 * Writes what `merge` makes of the current state; it is asked again whenever another client changes that first.
 * `tracking`: how managedFields come to know of it (an apply records itself what it owns).
 */
export function writeMerged(
  writers: WriteServices,
  request: WriteRequest,
  merge: Merge,
  tracking: Tracking = "owns",
  facade?: Facade,
): Promise<Written | Status> {
  return untilUnchanged(writers, request.deadline, async () => {
    const notes = new AdmissionResult(request.heard, request.annotations);
    const done = await attempt(writers, request, merge, tracking, notes, facade);
    if (notes.unsettled) await notes.settle(done !== changed && !isStatus(done));
    return done;
  });
}

/** One try, top to bottom. */
async function attempt(
  writers: WriteServices,
  request: WriteRequest,
  merge: Merge,
  tracking: Tracking,
  notes: AdmissionResult,
  facade: Facade | undefined,
): Promise<Written | Status | typeof changed> {
  const { resource, namespace, trace } = request;
  const { warnings } = notes;
  const current = request.name === "" ? undefined : readCurrent(writers, resource, namespace, request.name);
  // Before anything is asked about the namespace.
  const guard = current === undefined ? guardOf(writers, namespace) : undefined;
  const remote = remoteOf(resource);
  const decodeOld = (): ApiObject | undefined => current && requestedObject(writers, resource, current);
  const pooled = mergeInPool(writers, request, current, warnings);
  const isBig = pooled !== undefined;
  const [old, merged] =
    remote !== undefined
      ? await mergeConverted(writers, request, { merge, tracking }, current, warnings)
      : isBig
        ? await Promise.all([othersFirst(writers, request).then(decodeOld), pooled])
        : [decodeOld(), undefined];
  trace.done("current");
  const object = merged ?? mergeHere(writers, request, { merge, tracking }, current, old, warnings);
  if (isStatus(object)) return object;
  if (isBig) await othersFirst(writers, request);
  // An apply or a PUT of what is not there is a create, and authorized as one.
  const forbidden = current === undefined && request.name !== "" ? await request.permit.mayCreate() : undefined;
  if (forbidden !== undefined) return forbidden;
  const strategy = strategyOf(resource, writers.scheme.identity);

  const [shown, before] = facade === undefined ? [object, old] : [facade.show(object), old && facade.show(old)];
  const attributes = attributesOf(request, old === undefined ? "create" : "update", shown, before, notes);
  const trying: Try = { current, old, object, strategy, isBig };
  const work = () => facade?.take(shown, object) ?? prepare(writers, request, trying, attributes);
  const refused = await admit(writers.admission, attributes, work);
  if (refused !== undefined) return refused;
  trace.done("admit");

  if (current !== undefined && old !== undefined && isReleased(strategy, object, old)) {
    return release(writers, request, strategy, object, current, warnings);
  }
  const guarded = guard === undefined ? request : { ...request, guard };
  const done = await commitTry(writers, guarded, trying);
  if (done === changed || isStatus(done)) return done;
  return { code: current === undefined ? 201 : 200, body: done.body, message: done.message, warnings };
}

/** Claims what the object is to have, and commits it. */
async function commitTry(
  writers: WriteServices,
  request: WriteRequest & Guarded,
  { current, old, object, strategy, isBig }: Try,
): Promise<Committed | Status | typeof changed> {
  const { resource, namespace, dryRun } = request;
  const { name = "", generateName = "" } = object.metadata;
  const isNew = request.name === "";
  const isTaken = isNew && dryRun && readCurrent(writers, resource, namespace, name) !== undefined;
  if (isTaken) return nameTaken(writers, request, name, generateName !== "");
  const claims = strategy.holdsAddresses === true && request.subresource === "";
  const allocation = claims ? await allocate(writers, request, object, old) : undefined;
  if (isStatus(allocation)) return allocation;
  if (isBig) await othersFirst(writers, request);
  const done = await commitObject(writers, request, name, object, current);
  const isLost = done === changed || done === moved;
  if (allocation !== undefined) await allocation.settle(!isLost && !isStatus(done));
  if (done === changed && isNew) return decidedByStore(nameTaken(writers, request, name, generateName !== ""));
  return isLost ? changed : done;
}

/**
 * The current state at the version of the request, and what is merged into it, where a webhook converts: the versions
 * field managers wrote at come up while that is done, and it begins again with each answer.
 */
async function mergeConverted(
  writers: WriteServices,
  request: WriteRequest,
  merge: TrackedMerge,
  current: Current | undefined,
  warnings: string[],
): Promise<[old: ApiObject | undefined, merged: ApiObject | Status]> {
  const merged = await convertedFor(writers, request, (): [ApiObject | undefined, ApiObject | Status] => {
    const old = current && requestedObject(writers, request.resource, current);
    const heard: string[] = [];
    const object = mergeHere(writers, request, merge, current, old, heard);
    warnings.push(...heard);
    return [old, object];
  });
  return isStatus(merged) ? [undefined, merged] : merged;
}

/** What one try works on. */
interface Try {
  readonly current: Current | undefined;
  /** The current state at the version of the request. */
  readonly old: ApiObject | undefined;
  /** The new state, changed in place. */
  readonly object: ApiObject;
  readonly strategy: Strategy<ApiObject>;
  readonly isBig: boolean;
}

/** The work between mutating and validating plugins: names, grants, the kind's own preparation and rules. */
async function prepare(
  writers: WriteServices,
  request: WriteRequest,
  { current, old, object, strategy, isBig }: Try,
  attributes: TryAttributes,
): Promise<Status | undefined> {
  const { trace } = request;
  const { warnings } = attributes.notes;
  // Plugins may have named it otherwise than the request that was authorized.
  const renamed = request.name === "" ? checkNewName(request, object) : checkName(request, object);
  if (renamed !== undefined) return renamed;
  dedupOwners(object.metadata, ownerWarningAfterAdmission, warnings);
  trace.done("admit");
  if (isBig) await othersFirst(writers, request);

  const checking = writers.checkGrants(request, object, old);
  const excess = checking instanceof Promise ? await checking : checking;
  if (excess !== undefined) return excess;

  const context = strategyContext(writers, request);
  const preparing =
    current === undefined || old === undefined
      ? prepareCreate(context, request, strategy, object)
      : prepareUpdate(context, request, strategy, object, old, current.revision);
  const invalid = preparing instanceof Promise ? await preparing : preparing;
  if (invalid !== undefined) return invalid;
  // It may have been made from generateName.
  attributes.name = object.metadata.name ?? "";
  for (const warning of strategy.warnings?.(context, object, old) ?? []) warnings.push(warning);
  trace.done("validate");
  if (isBig) await othersFirst(writers, request);
  return undefined;
}

/** Whether a write of so many bytes, body and stored object together, is merged on another thread. */
export function goesToPool({ merges }: WriteServices, { resource, sent }: WriteRequest, bytes: number): boolean {
  return sent !== undefined && merges?.takes(bytes) === true && isPortable(resource);
}

/** Merges on another thread what is big; undefined: it is merged here. */
function mergeInPool(
  writers: WriteServices,
  request: WriteRequest,
  current: Current | undefined,
  warnings: string[],
): Promise<ApiObject | Status> | undefined {
  const { sent } = request;
  if (sent === undefined || !goesToPool(writers, request, sent.bytes.length + (current?.bytes ?? 0))) return undefined;
  // A patch is read when there is an object to apply it to.
  if (isPatch(sent.kind) && current === undefined) return Promise.resolve(notFound(request.resource, request.name));
  return writers.merges?.merge(request, sent, current, warnings);
}

/** An update that takes the last finalizer from an object being deleted removes it (upstream: ShouldDeleteDuringUpdate). */
function isReleased(strategy: Strategy<ApiObject>, object: ApiObject, old: ApiObject): boolean {
  if ((object.metadata.finalizers ?? []).length > 0 || old.metadata.deletionTimestamp === undefined) return false;
  if (strategy.termination?.isHeld?.(object) === true) return false;
  const grace = old.metadata.deletionGracePeriodSeconds;
  return grace === undefined || Number(grace) === 0;
}

/** Removes the object; the answer is what the client wrote, the DELETED event what was stored. */
async function release(
  writers: WriteServices,
  request: WriteRequest,
  strategy: Strategy<ApiObject>,
  object: ApiObject,
  current: Current,
  warnings: readonly string[],
): Promise<Written | Status | typeof changed> {
  const answer = await commitObject(writers, { ...request, dryRun: true }, request.name, object, current);
  if (answer === changed || isStatus(answer)) return answer;
  const removed = await commitRemoval(writers, request, current, "release");
  if (removed === changed || isStatus(removed)) return removed;
  await afterRemoval(writers, request, strategy, current);
  return { code: 200, body: answer.body, warnings };
}

/** 409 for a create of a name in use. */
function nameTaken(writers: WriteServices, request: WriteRequest, name: string, generated: boolean): Status {
  const { resource, namespace } = request;
  const current = readCurrent(writers, resource, namespace, name);
  // Metadata is the same at all versions.
  const old = current === undefined ? undefined : storedObject(resource, current);
  // A name that was made is told of by the kind's group (upstream).
  const at = generated ? { group: kindGroup(resource), resource: resource.resource } : resource;
  const plain = alreadyExists(at, name);
  const going = old?.metadata.deletionTimestamp === undefined ? "" : "object is being deleted: ";
  if (!generated) return refuse("AlreadyExists", `${going}${plain.message}`, plain.details);
  const message = `${going}${plain.message}, the server was not able to generate a unique name for the object`;
  return refuse("AlreadyExists", message, { ...plain.details, retryAfterSeconds: 1 });
}
