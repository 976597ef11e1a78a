// Deletes: what a delete does to an object depends on its finalizers, its kind's grace and the policy asked for. It is
// removed at once, or marked and left for whoever holds it (deleteplan.ts decides; reference: registry Store.Delete).
import { AdmissionResult } from "../../admission/plugin.ts";
import { admit } from "../../admission/table.ts";
import type { DeleteOptions } from "../../api/gen/meta/v1.ts";
import type { ApiObject, ObjectMeta } from "../../api/object.ts";
import { conflict, isStatus, notFound, Status, type StatusDetails, timedOut } from "../../api/status.ts";
import { laneOf } from "../../authz/owner.ts";
import { severalAtOnce } from "../../base/atonce.ts";
import { nextTurn } from "../../base/turn.ts";
import type { Location } from "../../cache/shared/record.ts";
import type { RecordSource } from "../../cache/view/view.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { limits } from "../../config/limits.ts";
import { longWork } from "../../config/longwork.ts";
import { remoteOf } from "../../kinds/remote.ts";
import type { Strategy } from "../../kinds/strategy.ts";
import { strategyOf } from "../../kinds/table.ts";
import { WarningSieve } from "../answer/response.ts";
import { represent } from "../answer/toversion.ts";
import { releaseAll } from "../commit/allocate.ts";
import { changed, untilUnchanged } from "../commit/attempts.ts";
import { attributesOf } from "../commit/attributes.ts";
import { kindGroup } from "../commit/metadata.ts";
import {
  type Current,
  commitObject,
  commitRemoval,
  preconditionFailed,
  readCurrent,
  requestedBytes,
  requestedObject,
  requestedObjectOf,
  type StoredState,
  storableObject,
  storedAs,
  storedObject,
  strategyContext,
  unwritten,
} from "../commit/objectstore.ts";
import type { WriteRequest, WriteServices, Written } from "../commit/writerequest.ts";
import { serverPermit } from "../exchange/permit.ts";
import { isPending, planDelete } from "./deleteplan.ts";

/**
 * Deletes one object. Answers a success Status, or the object: always while it is still there, and for kinds that
 * answer the last state. 404, 403 and 409 (preconditions) Statuses as upstream's. `admitted`: plugins have said
 * yes to what makes this delete necessary, and are not asked again.
 */
export function deleteObject(
  writers: WriteServices,
  request: WriteRequest,
  options: DeleteOptions,
  admitted = false,
): Promise<Written | Status> {
  return untilUnchanged(writers, request.deadline, async () => {
    const notes = new AdmissionResult(request.heard, request.annotations);
    const done = await attempt(writers, request, options, notes, admitted);
    if (notes.unsettled) await notes.settle(done !== changed && !(isStatus(done) && !done.success));
    return done;
  });
}

/**
 * Deletes the objects at `items` of `view`, several at a time; what is gone meanwhile counts as deleted. Undefined when
 * all went well, else the first refusal in the order of the items; 504 when the deadline comes first.
 */
export async function deleteItems(
  writers: WriteServices,
  request: Omit<WriteRequest, "name">,
  view: Pick<RecordSource, "keyOf">,
  items: readonly Location[],
  options: DeleteOptions,
): Promise<Status | undefined> {
  const { namespaced } = request.resource;
  // Read before anything waits: records may be recycled once the caller's hold is over.
  const keys = items.map((at) => view.keyOf(at));
  let refusedAt = keys.length;
  let refusal: Status | undefined;
  const lane = laneOf(writers.scheme.identity, request.user);
  const sieve = request.heard && new WarningSieve(request.heard);
  // Several at a time share commits; where there are none they would only share a turn.
  const atOnce = request.dryRun ? 1 : limits.collectionDeletesMax;
  await severalAtOnce(keys.entries(), atOnce, async ([index, key]) => {
    if (index > refusedAt) return;
    // A dry run, and what is being deleted already, waits for no commit.
    await longWork.giveWay(lane);
    if (index > refusedAt) return;
    const [first = "", second = ""] = key.split("/");
    const heard = sieve && [];
    const one = namespaced ? { ...request, namespace: first, name: second, heard } : { ...request, name: first, heard };
    const late = writers.clock.monotonic() >= request.deadline;
    const done = late ? timedOut : await deleteObject(writers, one, options);
    if (heard !== undefined) sieve?.take(heard);
    if (!isStatus(done) || done.success || done.reason === "NotFound" || index > refusedAt) return;
    refusedAt = index;
    refusal = done;
  });
  return refusal;
}

/** What the steps of one try share. */
interface Deletion {
  readonly writers: WriteServices;
  readonly request: WriteRequest;
  readonly options: DeleteOptions;
  readonly strategy: Strategy<ApiObject>;
  /** Of the object that is to go, marked once that is planned. */
  readonly meta: ObjectMeta;
}

async function attempt(
  writers: WriteServices,
  request: WriteRequest,
  options: DeleteOptions,
  notes: AdmissionResult,
  admitted: boolean,
): Promise<Written | Status | typeof changed> {
  const { resource, namespace, name, trace } = request;
  const { identity } = writers.scheme;
  const current = readCurrent(writers, resource, namespace, name);
  if (current === undefined) return notFound(resource, name);
  // What goes need not be converted; what stays is, by mark().
  const object = remoteOf(resource)
    ? storedObject(resource, current)
    : requestedObject(writers, storedAs(resource).stored, current);
  trace.done("current");
  const strategy = strategyOf(resource, identity);
  const context = strategyContext(writers, request);
  const kept = strategy.checkDelete?.(context, object);
  if (kept !== undefined) return kept;
  const deletion: Deletion = { writers, request, options, strategy, meta: object.metadata };
  const stale = checkPreconditions(deletion, current);
  if (stale !== undefined) return stale;
  trace.done("validate");
  // A delete that changes nothing is not admitted (upstream).
  if (isPending(strategy, object, options)) return pending(deletion, current);
  const refused = admitted ? undefined : await askPlugins(deletion, current, object, notes);
  if (refused !== undefined) return refused;
  trace.done("admit");

  const plan = planDelete(strategy, object, options, writers.clock.now());
  switch (plan.outcome) {
    case "pending":
      return pending(deletion, current);
    case "remove":
      return removeNow(deletion, current);
    case "mark":
      return mark(deletion, object, current, plan.thenRemove);
  }
}

/**
 * Asks the plugins, both halves at once, about the object as it is (upstream: AdmissionToValidateObjectDeleteFunc).
 * They are shown the version of the request.
 */
async function askPlugins(
  { writers, request }: Deletion,
  current: Current,
  stored: ApiObject,
  notes: AdmissionResult,
): Promise<Status | undefined> {
  const { resource } = request;
  const isShown = resource.stored === resource && !current.isOutdated;
  const asked = isShown ? stored : requestedObjectOf(writers, request, current);
  const old = asked instanceof Promise ? await asked : asked;
  if (isStatus(old)) return old;
  const attributes = attributesOf(request, "delete", undefined, old, notes);
  return admit(writers.admission, attributes);
}

/** 409 when the object is not the one, or not in the state, that is to be deleted. */
function checkPreconditions({ request, options, strategy, meta }: Deletion, current: Current): Status | undefined {
  const { uid, resourceVersion } = options.preconditions ?? {};
  const { resource, name } = request;
  const recorded = String(current.revision);
  // Such kinds have a path of their own on upstream, with other words and the resource for the kind.
  if (strategy.termination !== undefined) {
    const short = (what: string, wanted: string, found: string): string =>
      `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${found}`;
    if (uid !== undefined && uid !== meta.uid) return conflict(resource, name, short("UID", uid, meta.uid ?? ""));
    if (resourceVersion === undefined || resourceVersion === recorded) return undefined;
    return conflict(resource, name, short("ResourceVersion", resourceVersion, recorded));
  }
  const kind = { group: kindGroup(resource), resource: resource.kind };
  if (uid !== undefined && uid !== meta.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${meta.uid}). The object might have been deleted and then recreated`;
    return conflict(kind, name, why);
  }
  if (resourceVersion === undefined || resourceVersion === recorded) return undefined;
  const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${recorded}). The object might have been modified`;
  return conflict(kind, name, why);
}

/** Nothing is to be done: the answer is the object as it is. */
async function pending(deletion: Deletion, current: Current): Promise<Written | Status | typeof changed> {
  const { writers, request } = deletion;
  return (await unwritten(writers, request, request.name, current)) ?? answer(deletion, current, false);
}

/** Stores the marked state; answers it, or goes on to remove the object. */
async function mark(
  deletion: Deletion,
  object: ApiObject,
  current: Current,
  thenRemove: boolean,
): Promise<Written | Status | typeof changed> {
  const { writers, request, options } = deletion;
  const { resource, name } = request;
  const { stored } = storedAs(resource);
  const storing = storableObject(writers, request, object);
  const storable = storing instanceof Promise ? await storing : storing;
  if (isStatus(storable)) return storable;
  const done = await commitObject(writers, { ...request, resource: stored }, name, storable, current);
  if (done === changed || isStatus(done)) return done;
  const marked: StoredState = { ...done, selection: current.selection };
  if (thenRemove && !request.dryRun) {
    return removeMarked({ ...deletion, request: withTime(writers, request) }, marked);
  }
  const code = !thenRemove && options.orphanDependents === false ? 202 : 200;
  const answering = requestedBytes(writers, request, marked);
  const body = answering instanceof Promise ? await answering : answering;
  return isStatus(body) ? body : { code, body, warnings: [] };
}

/** A request with time to end what it has begun, whatever time its client gave it. */
function withTime({ clock }: WriteServices, request: WriteRequest): WriteRequest {
  return { ...request, deadline: Math.max(request.deadline, clock.monotonic() + limits.requestMsMax) };
}

/**
 * Removes what this delete has marked. An object that another client removed meanwhile is gone as was asked; one that
 * was written to is not the one a resource version was given for, and else the delete starts over (reference:
 * Store.Delete takes the mark's version for the precondition, and ignores "not found" after it).
 */
async function removeMarked(deletion: Deletion, marked: StoredState): Promise<Written | Status | typeof changed> {
  const { writers, request, options } = deletion;
  const { resource, namespace, name } = request;
  let found: Current | undefined;
  do {
    const done = await removeNow(deletion, marked);
    if (done !== changed) return done;
    if (writers.clock.monotonic() >= request.deadline) return timedOut;
    // The change that won is published by now or will be in a turn of the loop or two.
    await nextTurn();
    found = readCurrent(writers, resource, namespace, name);
  } while (found?.revision === marked.revision);
  if (found === undefined) return answer(deletion, marked, true);
  if (options.preconditions?.resourceVersion === undefined) return changed;
  return preconditionFailed(request, "ResourceVersion", String(marked.revision), String(found.revision));
}

async function removeNow(deletion: Deletion, current: StoredState): Promise<Written | Status | typeof changed> {
  const { writers, request, strategy } = deletion;
  const removed = await commitRemoval(writers, request, current, "delete");
  if (removed === changed || isStatus(removed)) return removed;
  await afterRemoval(writers, request, strategy, current);
  return answer(deletion, current, true);
}

/** What goes with an object that is gone, as its kind says: a service's addresses and ports, and its endpoints. */
export async function afterRemoval(
  writers: WriteServices,
  request: WriteRequest,
  { holdsAddresses, removesToo }: Strategy<ApiObject>,
  last: StoredState,
): Promise<void> {
  if (request.dryRun) return;
  // The last object of a kind that goes takes the log with it: nothing looks at it after this.
  const { stored } = storedAs(request.resource);
  if (holdsAddresses === true) await releaseAll(writers, decodeStored(stored, last.body));
  const along = removesToo === undefined ? undefined : writers.scheme.find("", "v1", removesToo);
  if (along === undefined) return;
  const whole = withTime(writers, request);
  await deleteObject(writers, { ...whole, resource: along, subresource: "", permit: serverPermit }, {}, true);
}

/** The last state for kinds that answer it, else a success Status; 202 while it is not gone and that was asked for. */
function answer(deletion: Deletion, current: StoredState, removed: boolean): Written | Status {
  const { writers, request, options, strategy, meta } = deletion;
  const { resource, name } = request;
  const code = !removed && options.orphanDependents === false ? 202 : 200;
  if (strategy.returnsDeletedObject) {
    // Built-in kinds alone do, which no webhook converts.
    return { code, body: represent(resource, writers.scheme.identity, current.body), warnings: [] };
  }
  const details: StatusDetails = {
    name,
    ...(resource.group === "" ? {} : { group: resource.group }),
    kind: resource.resource,
    uid: meta.uid ?? "",
  };
  return new Status(code, "", "", details);
}
