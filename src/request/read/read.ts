// GET of one object and of a collection: what there is to answer, by the document's table of versions. Nothing is parsed
// or copied; sendlist.ts writes lists.
import type { ListMeta } from "../../api/gen/meta/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import type { Selector } from "../../api/selector.ts";
import { badRequest, isStatus, notFound, refuse, type Status } from "../../api/status.ts";
import { copyOf } from "../../base/copy.ts";
import type { Location } from "../../cache/shared/record.ts";
import type { LogView } from "../../cache/view/view.ts";
import { type ConversionTerms, converted, remoteOf } from "../../kinds/remote.ts";
import { represent, representRecord, storedBytes } from "../answer/toversion.ts";
import { type ListOptions, parseRevision, planList } from "../route/listoptions.ts";
import { decodeContinue, encodeContinue } from "./continue.ts";
import { tooLarge, waitForRevision, withoutRetry } from "./freshness.ts";
import { walk } from "./walk.ts";

/** What a read needs to know. */
export interface ReadInput {
  readonly resource: Resource;
  readonly identity: Identity;
  readonly view: LogView;
  readonly namespace: string;
  readonly aborted: () => boolean;
  /** On whose behalf conversion webhooks are asked; left out: the server's own. */
  readonly terms?: ConversionTerms;
}

/** One object's bytes at the requested version; 404, or 504 for a resource version that does not come. */
export async function readObject(
  input: ReadInput,
  name: string,
  resourceVersion: string,
): Promise<Uint8Array | Status> {
  const { resource, view } = input;
  if (resourceVersion === "" || resourceVersion === "0") view.drain();
  else {
    const revision = parseRevision(resourceVersion);
    if (typeof revision === "string") return badRequest(revision);
    const reached = await waitForRevision(view, revision, input.aborted);
    if (isStatus(reached)) return reached;
  }
  const at = view.get(input.namespace, name);
  if (at === 0) return notFound(resource, name);
  if (remoteOf(resource) === undefined) return representRecord(view, at, resource, input.identity);
  // The record may be recycled while the webhook is asked.
  const bytes = copyOf(storedBytes(view, at, resource, input.identity));
  return converted(input.terms ?? {}, () => represent(resource, input.identity, bytes));
}

/** A list that is ready to be written: where its items are, and what stands before them. */
export interface ListAnswer {
  readonly view: LogView;
  readonly items: readonly Location[];
  readonly metadata: ListMeta;
}

/** Finds the items of a list; a Status for what the document's table refuses and for versions that are gone or not there yet. */
export async function readList(
  input: ReadInput,
  options: ListOptions,
  selector: Selector,
): Promise<ListAnswer | Status> {
  const plan = planList(options);
  if (isStatus(plan)) return plan;
  const { view, identity, resource, namespace } = input;
  const of = `${resource.prefix}/${namespace}`;
  let after = "";
  let exact = 0;
  let remaining = -1;
  let version: number;
  switch (plan.mode) {
    case "any":
    case "most-recent":
      version = view.drain();
      break;
    case "not-older": {
      const reached = await waitForRevision(view, plan.revision, input.aborted);
      if (isStatus(reached)) return plan.paged ? withoutRetry(reached) : reached;
      // Others may have drained since: the state that is read is named, not the one that was waited for.
      version = view.drain();
      break;
    }
    case "exact": {
      const reached = await waitForRevision(view, plan.revision, input.aborted);
      // 504 like any version that does not come (the document); 500 upstream.
      if (isStatus(reached)) return reached;
      if (plan.revision < view.floor) return refuse("Expired", "The resourceVersion for the provided list is too old.");
      version = exact = plan.revision;
      break;
    }
    case "continue": {
      const token = decodeContinue(identity, of, options.continueToken);
      if (isStatus(token)) return token;
      version = view.drain();
      after = token.start.endsWith("\0") ? token.start.slice(0, -1) : token.start;
      if (namespace !== "") after = `${namespace}/${after}`;
      remaining = token.remaining;
      if (token.revision > version) return badRequest(tooLarge(token.revision, version).message);
      if (token.revision > 0 && token.revision < view.floor) return expired(identity, of, token.start);
      if (token.revision > 0) version = exact = token.revision;
    }
  }
  const limit = plan.paged && options.limit > 0 ? options.limit : Number.POSITIVE_INFINITY;
  const { namespaced } = resource;
  const { aborted } = input;
  const from = { after, revision: version, now: exact === 0 };
  const page = await walk({ view, namespaced, namespace, selector, ...from, limit, aborted });
  if (isStatus(page)) return page;
  const unfiltered = selector.labels.length === 0 && selector.fields.length === 0;
  const metadata: ListMeta = { resourceVersion: String(version) };
  if (page.next !== undefined) {
    const left = unfiltered
      ? remaining >= 0
        ? Math.max(remaining - page.items.length, 1)
        : countAfter(input, page.next, page.at)
      : -1;
    const start = namespace === "" ? page.next : page.next.slice(namespace.length + 1);
    metadata.continue = encodeContinue(identity, of, { revision: version, start: `${start}\0`, remaining: left });
    if (left > 0) metadata.remainingItemCount = left;
  }
  return { view, items: page.items, metadata };
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

/** Items after the page that ends with `last`. */
function countAfter(input: ReadInput, last: string, revision: number): number {
  let count = 0;
  input.view.scan(input.namespace, last, revision, () => {
    count++;
    return true;
  });
  return count;
}
