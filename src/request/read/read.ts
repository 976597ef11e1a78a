// GET of one object and of a collection: what there is to answer, by the document's table of versions. Nothing is parsed
// or copied; sendlist.ts writes lists.
import type { ListMeta } from "../../api/gen/meta/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import type { Selector } from "../../api/selector.ts";
import { badRequest, isStatus, notFound, refuse, type Status } from "../../api/status.ts";
import { assert } from "../../base/assert.ts";
import { copyOf } from "../../base/copy.ts";
import type { Location } from "../../cache/shared/record.ts";
import type { LogView, RecordSource } from "../../cache/view/view.ts";
import { limits } from "../../config/limits.ts";
import { type ConversionTerms, converted, remoteOf } from "../../kinds/remote.ts";
import { represent, representRecord, storedBytes } from "../answer/toversion.ts";
import { readOn } from "../exchange/longreads.ts";
import { type ListOptions, type ListPlan, parseRevision, planList } from "../route/listoptions.ts";
import { decodeContinue, encodeContinue } from "./continue.ts";
import { type AskNewest, isTooLarge, tooLarge, waitForRevision, withoutRetry } from "./freshness.ts";
import { type Past, readPast } from "./past.ts";
import { walk } from "./walk.ts";

/** What a read needs to know. */
export interface ReadInput {
  readonly resource: Resource;
  readonly identity: Identity;
  readonly view: LogView;
  readonly namespace: string;
  /** The owner of its long work; left out: the server itself. */
  readonly lane?: string | undefined;
  readonly aborted: () => boolean;
  /** On whose behalf conversion webhooks are asked; left out: the server's own. */
  readonly terms?: ConversionTerms;
  /** Waits for what other servers wrote; left out: there are none, and the view holds all that is acknowledged. */
  readonly newest?: AskNewest | undefined;
  /** Reads what the view does not reach back to; left out: nothing can. */
  readonly past?: Past | undefined;
}

/** One object's bytes at the requested version; 404, or 504 for a resource version that does not come. */
export async function readObject(
  input: ReadInput,
  name: string,
  resourceVersion: string,
): Promise<Uint8Array | Status> {
  const { resource, view } = input;
  const at = await locateObject(input, name, resourceVersion);
  if (isStatus(at)) return at;
  if (remoteOf(resource) === undefined) return representRecord(view, at, resource, input.identity);
  // The record may be recycled while the webhook is asked.
  const bytes = copyOf(storedBytes(view, at, resource, input.identity));
  return converted(input.terms ?? {}, () => represent(resource, input.identity, bytes));
}

/** Where one object's record is, good for this turn of the loop; 404, or 504 for a resource version that does not come. */
export async function locateObject(
  input: ReadInput,
  name: string,
  resourceVersion: string,
): Promise<Location | Status> {
  const { resource, view } = input;
  if (resourceVersion === "" || resourceVersion === "0") {
    if (resourceVersion === "" && input.newest !== undefined) {
      const newest = await input.newest();
      if (isStatus(newest)) return newest;
    }
    view.drain();
  } else {
    const revision = parseRevision(resourceVersion);
    if (typeof revision === "string") return badRequest(revision);
    const reached = await waitForRevision(view, revision, input.aborted, input.newest);
    if (isStatus(reached)) return reached;
  }
  const at = view.get(input.namespace, name);
  return at === 0 ? notFound(resource, name) : at;
}

/** A list that is ready to be written: where its items are, and what stands before them. */
export interface ListAnswer {
  readonly view: RecordSource;
  readonly items: readonly Location[];
  readonly metadata: ListMeta;
  /** The records are the list's own, and in no log. */
  readonly isPast: boolean;
}

/** Where the items of a list begin, and of which state they are. */
interface Start {
  /** Revision of the list. */
  readonly version: number;
  /** That it is read at: the present, or as it was, as far as the view or the store's past reach back. */
  readonly state: "now" | "then" | "past";
  /** Key the items come after; empty: the start. */
  readonly after: string;
  /** Items from there on; -1: unknown. */
  readonly remaining: number;
  /** What is answered when the past does not reach back as far. */
  readonly expired: () => Status;
}

/** Items of a list. */
interface Found {
  readonly view: RecordSource;
  readonly items: readonly Location[];
  /** Key of the last item when more follow, and how many do. */
  readonly next: string | undefined;
  readonly behind: () => Promise<number | Status>;
}

/** Finds the items of a list; a Status for what the document's table refuses and for versions that are gone or not there yet. */
export async function readList(
  input: ReadInput,
  options: ListOptions,
  selector: Selector,
): Promise<ListAnswer | Status> {
  const plan = planList(options);
  if (isStatus(plan)) return plan;
  const { identity, namespace } = input;
  const begun = await startOf(input, options, plan);
  if (isStatus(begun)) return begun;
  // Another request may have drained since; from here to the first look at the state nothing is waited for.
  const start = begun.state === "now" ? { ...begun, version: input.view.drain() } : begun;
  const limit = plan.paged && options.limit > 0 ? options.limit : Number.POSITIVE_INFINITY;
  const found = await (start.state === "past" ? findPast : findHere)(input, start, selector, limit);
  if (isStatus(found)) return found;
  const { view, items, next } = found;
  const { version: revision, remaining } = start;
  const unfiltered = selector.labels.length === 0 && selector.fields.length === 0;
  const metadata: ListMeta = { resourceVersion: String(revision) };
  if (next !== undefined) {
    const left = !unfiltered ? -1 : remaining >= 0 ? Math.max(remaining - items.length, 1) : await found.behind();
    if (isStatus(left)) return left;
    const from = namespace === "" ? next : next.slice(namespace.length + 1);
    metadata.continue = encodeContinue(identity, scopeOf(input), { revision, start: `${from}\0`, remaining: left });
    if (left > 0) metadata.remainingItemCount = left;
  }
  return { view, items, metadata, isPast: start.state === "past" };
}

/** What a continue token belongs to. */
function scopeOf({ resource, namespace }: ReadInput): string {
  return `${resource.prefix}/${namespace}`;
}

/** Waits for the state that the plan of a list names. */
async function startOf(input: ReadInput, options: ListOptions, plan: ListPlan): Promise<Start | Status> {
  const { view, newest } = input;
  const from = { after: "", remaining: -1, expired: tooOld };
  switch (plan.mode) {
    case "any":
      return { ...from, version: view.drain(), state: "now" };
    case "most-recent": {
      const reached = newest === undefined ? 0 : await newest();
      if (isStatus(reached)) return reached;
      return { ...from, version: view.drain(), state: "now" };
    }
    case "not-older": {
      const reached = await waitForRevision(view, plan.revision, input.aborted, newest);
      if (isStatus(reached)) return plan.paged && isTooLarge(reached) ? withoutRetry(reached) : reached;
      // Others may have drained since: the state that is read is named, not the one that was waited for.
      return { ...from, version: view.drain(), state: "now" };
    }
    case "exact": {
      const reached = await waitForRevision(view, plan.revision, input.aborted, newest);
      // 504 like any version that does not come (the document); 500 upstream.
      if (isStatus(reached)) return reached;
      return stateAt(input, { ...from, version: plan.revision });
    }
    case "continue":
      return continued(input, options.continueToken);
  }
}

const tooOld = (): Status => refuse("Expired", "The resourceVersion for the provided list is too old.");

/** A state of the past, as far as it can be read. */
function stateAt({ view, past }: ReadInput, start: Omit<Start, "state">): Start | Status {
  if (start.version >= view.floor) return { ...start, state: "then" };
  return past === undefined ? start.expired() : { ...start, state: "past" };
}

/** Where a continue token goes on. It may be another server's, whose newest changes are not here yet. */
async function continued(input: ReadInput, text: string): Promise<Start | Status> {
  const { view, identity, namespace, newest } = input;
  const token = decodeContinue(identity, scopeOf(input), text);
  if (isStatus(token)) return token;
  const { revision, remaining } = token;
  if (newest !== undefined && (revision < 0 || revision > view.drain())) {
    const reached = await newest();
    if (isStatus(reached)) return reached;
  }
  const version = view.drain();
  if (revision > version) return badRequest(tooLarge(revision, version).message);
  const start = token.start.endsWith("\0") ? token.start.slice(0, -1) : token.start;
  const after = namespace === "" ? start : `${namespace}/${start}`;
  const from = { after, remaining, expired: () => expired(identity, scopeOf(input), token.start) };
  return revision > 0 ? stateAt(input, { ...from, version: revision }) : { ...from, version, state: "now" };
}

/** Finds items in the view. */
async function findHere(input: ReadInput, start: Start, selector: Selector, limit: number): Promise<Found | Status> {
  const { view, namespace, resource, lane, aborted } = input;
  const from = { after: start.after, revision: start.version, now: start.state === "now" };
  const page = await walk({
    view,
    namespaced: resource.namespaced,
    namespace,
    selector,
    ...from,
    limit,
    lane,
    aborted,
  });
  if (isStatus(page)) return page;
  const { items, next } = page;
  return { view, items, next, behind: () => countAfter(input, next ?? "", page.at) };
}

/** Finds items in the store's past. */
async function findPast(input: ReadInput, start: Start, selector: Selector, limit: number): Promise<Found | Status> {
  const { view, namespace, aborted, past } = input;
  assert(past !== undefined, "There is a past to be read");
  const { after, version: revision } = start;
  const found = await readPast(past, { prefix: view.prefix, namespace, selector, after, revision, limit, aborted });
  if (found === undefined || isStatus(found)) return found ?? start.expired();
  const { records, items, next, remaining } = found;
  return { view: records, items, next, behind: () => Promise.resolve(remaining) };
}

/** 410 with a token that goes on at the newest state, as upstream words it. */
function expired(identity: Identity, of: string, start: string): Status {
  const message =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without " +
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. " +
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or " +
    "deleted between the time the first chunk was returned and now may show up in the list.";
  return refuse("Expired", message, {
    continueToken: encodeContinue(identity, of, { revision: -1, start, remaining: -1 }),
  });
}

/** Items after the page that ends with `last`; of a state of before they are gone through. */
async function countAfter(input: ReadInput, last: string, revision: number): Promise<number | Status> {
  const { view, namespace, lane, aborted } = input;
  if (revision === 0) return view.countAfter(namespace, last);
  const hold = view.hold();
  let [count, counted, after] = [0, 0, last];
  const step = (): boolean => {
    view.scan(namespace, after, revision, (_, key) => {
      after = key;
      count++;
      return count % limits.initialRecordsMax !== 0;
    });
    const isAll = count === counted || count % limits.initialRecordsMax !== 0;
    counted = count;
    return isAll;
  };
  try {
    return (step() ? undefined : await readOn(step, () => hold.expired || aborted(), lane)) ?? count;
  } finally {
    hold.release();
  }
}
