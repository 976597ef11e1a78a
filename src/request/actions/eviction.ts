// Eviction: a delete that asks the pod's disruption budget first. The budget is checked and charged in one conditional
// write of its status, so that two evictions cannot spend the same allowance (upstream: EvictionREST).
import { admit } from "../../admission/table.ts";
import type { Pod } from "../../api/gen/core/v1.ts";
import type { DeleteOptions } from "../../api/gen/meta/v1.ts";
import type { Eviction, PodDisruptionBudget, PodDisruptionBudgetStatus } from "../../api/gen/policy/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { badRequest, forbidden, isStatus, notFound, refuse, Status, timedOut } from "../../api/status.ts";
import { systemUser } from "../../api/user.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { limits } from "../../config/limits.ts";
import { selects } from "../../kinds/validation/selector.ts";
import { representRecord } from "../answer/toversion.ts";
import { validateDeleteOptions } from "../body/options.ts";
import type { Server } from "../call/context.ts";
import { catchUp } from "../commit/attempts.ts";
import { attributesOf } from "../commit/attributes.ts";
import { type Current, readCurrent, requestedObject, storedObject, storeOf, timeText } from "../commit/objectstore.ts";
import type { WriteRequest, WriteServices } from "../commit/writerequest.ts";
import { deleteObject } from "../delete/delete.ts";
import { serverPermit } from "../exchange/permit.ts";
import { writeMerged } from "../write/write.ts";

type Stored<T> = ApiObject & T;

/** Deletes the pod a request names unless its disruption budget forbids it (429). */
export async function evictPod({ writers }: Server, asked: WriteRequest, body: ApiObject): Promise<Status> {
  const eviction = body as Stored<Eviction>;
  const { name } = asked;
  if (eviction.metadata.name !== name) return badRequest("name in URL does not match name in Eviction object");
  const options = optionsOf(eviction, asked.dryRun, writers.scheme.identity);
  if (isStatus(options)) return options;
  const dryRun = (options.dryRun ?? []).length > 0;
  // What is refused below is refused for good: a budget that was charged is not charged again.
  const late = await catchUp(writers, asked.deadline);
  if (late !== undefined) return late;
  const attributes = attributesOf({ ...asked, dryRun }, "create", eviction, undefined);
  const refused = await admit(writers.admission, attributes);
  if (refused !== undefined) return refused;
  const request = { ...asked, subresource: "", dryRun };
  for (;;) {
    const current = readCurrent(writers, request.resource, request.namespace, name);
    if (current === undefined) return notFound(request.resource, name);
    const pod = storedObject(request.resource, current) as Stored<Pod>;
    const pinned = isPast(pod) ? isWaiting(pod) : await charge(writers, request, pod);
    if (isStatus(pinned)) return pinned;
    const done = await deleteObject(writers, request, pinned ? pinnedTo(options, current) : options, true);
    if (!isStatus(done) || done.success) return new Status(201, "", "");
    // The pod changed under a look that allowed its eviction: look again, unless the client meant that very version.
    const again = pinned && options.preconditions?.resourceVersion === undefined && done.reason === "Conflict";
    if (!again || readCurrent(writers, request.resource, request.namespace, name)?.revision === current.revision) {
      return done;
    }
    if (writers.clock.monotonic() >= request.deadline) return timedOut;
  }
}

/**
 * The delete to make: dry-run may be asked for in the query, in the options, or the same in both. Its options are
 * validated as those of a delete; upstream forgets to.
 */
function optionsOf({ deleteOptions = {} }: Eviction, dryRun: boolean, identity: Identity): DeleteOptions | Status {
  const invalid = validateDeleteOptions(deleteOptions, identity);
  if (invalid !== undefined) return invalid;
  return dryRun ? { ...deleteOptions, dryRun: ["All"] } : { ...deleteOptions };
}

function pinnedTo(options: DeleteOptions, { revision }: Current): DeleteOptions {
  const resourceVersion = options.preconditions?.resourceVersion ?? String(revision);
  return { ...options, preconditions: { ...options.preconditions, resourceVersion } };
}

/** Pods that serve no client, not yet or not any more, are no disruption. */
function isPast({ metadata, status }: Pod): boolean {
  return ["Succeeded", "Failed", "Pending"].includes(status.phase ?? "") || metadata.deletionTimestamp !== undefined;
}

/** Whether a pod may still come to serve clients. */
function isWaiting({ metadata, status }: Pod): boolean {
  return status.phase === "Pending" && metadata.deletionTimestamp === undefined;
}

/** Charges the budget of a pod. True: it was not asked, because of the state the pod is in, and only that state may go. */
async function charge(writers: WriteServices, request: WriteRequest, pod: Stored<Pod>): Promise<boolean | Status> {
  const resource =
    writers.scheme.find("policy", "v1", "poddisruptionbudgets") ??
    writers.scheme.find("policy", "v1beta1", "poddisruptionbudgets");
  const found = resource === undefined ? [] : budgetsOf(writers, resource, request.namespace, pod);
  const [budget, second] = found;
  if (resource === undefined || budget === undefined) return false;
  if (second !== undefined) {
    const why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    return new Status(500, "", why);
  }
  const { currentHealthy, desiredHealthy } = budget.status;
  // A pod that is not ready is not counted as healthy, and its end costs nothing while enough others are.
  if (!isReady(pod) && currentHealthy >= desiredHealthy && desiredHealthy > 0) return true;
  const name = budget.metadata.name ?? "";
  const { identity } = writers.scheme;
  const manager = identity.spell("kube-apiserver");
  const user = systemUser(identity);
  const write = { ...request, resource, subresource: "status", name, user, manager, permit: serverPermit };
  const done = await writeMerged(writers, write, (current) => {
    if (current === undefined) return notFound(resource, name);
    const latest = requestedObject(writers, resource, current) as Stored<PodDisruptionBudget>;
    return spend(latest, request.name, timeText(writers.clock.now()));
  });
  return isStatus(done) ? done : false;
}

function budgetsOf(
  writers: WriteServices,
  resource: Resource,
  namespace: string,
  pod: Stored<Pod>,
): Stored<PodDisruptionBudget>[] {
  const { labels } = pod.metadata;
  if (labels === undefined || labels.size === 0) return [];
  const { view } = storeOf(writers, resource);
  const found: Stored<PodDisruptionBudget>[] = [];
  view.drain();
  view.scan(namespace, "", 0, (at) => {
    const bytes = representRecord(view, at, resource, writers.scheme.identity);
    const budget = decodeStored(resource, bytes) as Stored<PodDisruptionBudget>;
    if (selects(budget.spec.selector, labels) === true) found.push(budget);
    // Two are as bad as many.
    return found.length < 2;
  });
  return found;
}

function isReady({ status }: Pod): boolean {
  return (status.conditions ?? []).some((one) => one.type === "Ready" && one.status === "True");
}

/** Takes one disruption from a budget, in place, and notes for whom; a Status when none is to be had. */
function spend(budget: Stored<PodDisruptionBudget>, pod: string, now: string): ApiObject | Status {
  const { metadata, status } = budget;
  const name = metadata.name ?? "";
  if (BigInt(status.observedGeneration ?? 0) < BigInt(metadata.generation ?? 0)) {
    return tooMany(`The disruption budget ${name} is still being processed by the server.`, 10);
  }
  const at = { group: "policy", resource: "poddisruptionbudget" };
  if (status.disruptionsAllowed < 0) return forbidden(at, name, "pdb disruptions allowed is negative");
  status.disruptedPods ??= new Map();
  if (status.disruptedPods.size > limits.disruptedPodsMax) {
    const why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
    return forbidden(at, name, why);
  }
  if (status.disruptionsAllowed === 0) {
    const { desiredHealthy, currentHealthy } = status;
    const why = `needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
    return tooMany(`The disruption budget ${name} ${why}`, undefined);
  }
  status.disruptionsAllowed -= 1;
  status.disruptedPods.set(pod, now);
  if (status.disruptionsAllowed === 0) noneAllowed(status, now);
  return budget;
}

function noneAllowed(status: PodDisruptionBudgetStatus, now: string): void {
  const conditions = status.conditions ?? [];
  const before = conditions.find(({ type }) => type === "DisruptionAllowed");
  const condition = {
    type: "DisruptionAllowed",
    status: "False",
    observedGeneration: status.observedGeneration,
    lastTransitionTime: before?.status === "False" ? before.lastTransitionTime : now,
    reason: "InsufficientPods",
    message: "",
  };
  status.conditions =
    before === undefined ? [...conditions, condition] : conditions.map((one) => (one === before ? condition : one));
}

function tooMany(message: string, retryAfterSeconds: number | undefined): Status {
  const causes = [{ reason: "DisruptionBudget", message }];
  const details = retryAfterSeconds === undefined ? { causes } : { causes, retryAfterSeconds };
  return refuse("TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.", details);
}
