// What a write waits for where other servers write the same data, and what its commit depends on besides its own key. One
// server's logs hold all that is acknowledged, and nothing here waits.
import type { Status } from "../../api/status.ts";
import { assert } from "../../base/assert.ts";
import { within } from "../../base/within.ts";
import type { LogView } from "../../cache/view/view.ts";
import { limits } from "../../config/limits.ts";
import type { Guard, Mismatch, Outcome } from "../../storage/store.ts";
import { catchUp, changed, InDoubt } from "./attempts.ts";
import type { CommitRequest, StoreAccess } from "./writerequest.ts";

type Timed = Pick<CommitRequest, "deadline">;

/**
 * What a create in a namespace depends on: the namespace as it is now. Once it is marked as ending it takes no create that
 * was admitted before, on whatever server, and when its controller then finds it empty it stays so. Within one server that
 * controller looks once more for creates that were under way.
 */
export function guardOf({ scheme, store, views }: StoreAccess, namespace: string): Guard | undefined {
  if (store.recent === undefined || namespace === "") return undefined;
  const prefix = scheme.find("", "v1", "namespaces")?.stored?.prefix;
  assert(prefix !== undefined, "Namespaces are stored");
  const view = views.log(prefix);
  view.drain();
  return { key: `${prefix}/${namespace}`, revision: revisionIn(view, "", namespace) };
}

/**
 * What becomes of a change that a request asked the store for. One that other servers write may take longer than the
 * request has: then the change is in doubt. One of our own is waited for.
 */
export function inTime(
  { store, clock }: StoreAccess,
  { deadline }: Timed,
  outcome: Promise<Outcome>,
): Promise<Outcome> {
  if (store.recent === undefined) return outcome;
  return within(outcome, Math.min(deadline - clock.monotonic(), limits.requestMsMax)).then((made) => {
    if (made === "late") throw new InDoubt("the request's time is over");
    return made;
  });
}

/**
 * Why what was found without a change may not be answered: an object that is not at `revision` (0: that is there) any more
 * in `view`, or a store that does not say. Undefined: it may, or a promise of that.
 */
export function checkNewest(
  writers: StoreAccess,
  { deadline, namespace }: Timed & Pick<CommitRequest, "namespace">,
  view: LogView,
  name: string,
  revision: number,
): Promise<Status | typeof changed | undefined> | undefined {
  if (writers.store.recent === undefined) return undefined;
  return catchUp(writers, deadline).then((late) => {
    if (late !== undefined) return late;
    view.drain();
    return revisionIn(view, namespace, name) === revision ? undefined : changed;
  });
}

/** A change lost to another one, which the next try has to see. A Status when that does not come in time. */
export function lost(
  writers: StoreAccess,
  request: Timed,
  { actual }: Mismatch,
): typeof changed | Promise<Status | typeof changed> {
  if (writers.store.recent === undefined) return changed;
  return reached(writers, request, actual).then((late) => late ?? changed);
}

/** Waits until the logs here hold a revision the store named, or what is newest (0: it names none). */
export async function reached(
  writers: StoreAccess,
  { deadline }: Timed,
  revision: number,
): Promise<Status | undefined> {
  return revision > 0 && revision <= writers.views.revision ? undefined : catchUp(writers, deadline);
}

/** The revision of an object as of the last drain(); 0: there is none. */
function revisionIn(view: LogView, namespace: string, name: string): number {
  const at = view.get(namespace, name);
  return at === 0 ? 0 : view.revisionOf(at);
}
