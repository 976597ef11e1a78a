// A watch request becomes a watcher: the document's table of start points, the later releases' watch-list form, and
// what a kind's bookmarks look like. From here on the fan-out of the front owns the answer.
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import type { Selector } from "../../api/selector.ts";
import { badRequest, isStatus, refuse, type Status } from "../../api/status.ts";
import type { Owner } from "../../base/shares.ts";
import { errorEvent } from "../../cache/fanout/bookmark.ts";
import type { Fanout } from "../../cache/fanout/fanout.ts";
import type { WatchStart } from "../../cache/fanout/watcher.ts";
import type { LogView } from "../../cache/view/view.ts";
import { limits } from "../../config/limits.ts";
import type { FormInput } from "../answer/form.ts";
import type { AnswerStream } from "../exchange/transport.ts";
import { type AskNewest, waitForRevision } from "../read/freshness.ts";
import { type ListOptions, parseRevision } from "../route/listoptions.ts";
import { pinnedName } from "../route/selectors.ts";
import type { WatchBounds } from "./watchbounds.ts";
import { type WatchFormat, watchForms, withDefinitions } from "./watchforms.ts";

/** What a watch needs to know. */
export interface WatchInput {
  readonly fanout: Fanout;
  /** What the watches of the front hold, and the user this one is charged to. */
  readonly bounds: WatchBounds;
  readonly owner: Owner;
  readonly view: LogView;
  /** The resource at the version asked for. */
  readonly resource: Resource;
  readonly identity: Identity;
  readonly format: WatchFormat;
  /** Another form of objects than their own. */
  readonly form?: FormInput | undefined;
  /** Whether the resource is still defined as it is here; left out: always. */
  readonly isCurrent?: (() => boolean) | undefined;
  /** Empty: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string;
  readonly selector: Selector;
  /** Options that validateListOptions let through. */
  readonly options: ListOptions;
  readonly aborted: () => boolean;
  /** Waits for what other servers wrote; left out: there are none. */
  readonly newest?: AskNewest | undefined;
  /** Sends the headers of the answer. Called once, unless the watch is refused; `ended` is called when it is over. */
  readonly open: () => { readonly sink: AnswerStream; readonly ended: () => void };
  /** Calls `gone` when the client goes away, at once when it already has. */
  readonly onAbort: (gone: () => void) => void;
}

/** Where a watch begins. */
export interface WatchPlan {
  readonly start: WatchStart;
  /** Wait for this revision first; 0: for none. */
  readonly notBefore: number;
  /** Wait for what is most recent first. */
  readonly isMostRecent: boolean;
  /** A bookmark says where the initial state ends. */
  readonly marksInitialEnd: boolean;
}

/**
 * The document's watch table: unset and "0" start with the state, anything else with the changes after it. With
 * sendInitialEvents (API server releases from 1.27 on) the client says itself whether it wants the state. 400 for what
 * is no resource version (upstream answers 500 with the same text).
 */
export function planWatch(options: ListOptions): WatchPlan | Status {
  const { resourceVersion, sendInitialEvents: initial } = options;
  const revision = resourceVersion === "" ? 0 : parseRevision(resourceVersion);
  if (typeof revision === "string") return badRequest(revision);
  const plan = { notBefore: 0, isMostRecent: resourceVersion === "", marksInitialEnd: false };
  if (initial === true) {
    return { ...plan, start: { from: "state" }, notBefore: revision, marksInitialEnd: options.allowWatchBookmarks };
  }
  if (revision > 0) return { ...plan, start: { from: "revision", revision } };
  return { ...plan, start: { from: initial === false ? "now" : "state" } };
}

/**
 * Starts a watch: answers 200 and leaves the stream to the fan-out. A Status was not answered yet: 400 for a resource
 * version that is none, 504 for one that does not come (watch-list only) and where the store does not say what is newest, 429 when the user has its share of watches,
 * of selector terms or of waits. A version that is gone is answered in the stream, as upstream does: an ERROR event,
 * then the end. So is, after a while, one that is newer than all that a shared store has given out.
 */
export async function serveWatch(input: WatchInput): Promise<Status | undefined> {
  const plan = planWatch(input.options);
  if (isStatus(plan)) return plan;
  const newest = waits(input, plan) ? await reach(input, plan) : undefined;
  if (isStatus(newest)) return newest;
  const { bounds, owner, form, format, namespace, resource, selector, view } = input;
  if (form?.form.kind === "PartialObjectMetadataList") return endAtOnce(input);
  const place = [view.prefix, resource.version, format, form?.form.kind ?? "", namespace].join(" ");
  const leave = bounds.open(owner, place, selector);
  if (isStatus(leave)) return leave;
  try {
    if (newest !== undefined && plan.start.from === "revision" && plan.start.revision > newest)
      expireLater(input, plan.start.revision, newest, leave);
    else start(input, plan, leave);
  } catch (error) {
    leave();
    throw error;
  }
  return undefined;
}

function start(input: WatchInput, plan: WatchPlan, leave: () => void): void {
  const { fanout, view, resource, identity, format, form, options } = input;
  const forms = watchForms(resource, identity, format, form, input.isCurrent);
  const opened = input.open();
  const sink = forms.definitions === undefined ? opened.sink : withDefinitions(opened.sink, forms.definitions);
  const gone = fanout.watch({
    view,
    namespaced: resource.namespaced,
    namespace: input.namespace,
    selector: input.selector,
    representation: forms.representation,
    start: plan.start,
    bookmarks: options.allowWatchBookmarks,
    initialEnd: plan.marksInitialEnd ? forms.initialEnd : undefined,
    timeoutMs: timeoutMs(options),
    sink,
    user: input.owner.name,
    ended: () => {
      leave();
      opened.ended();
    },
  });
  input.onAbort(gone);
}

/** Whether the logs must hold something before the watch begins, or the store must say what is newest. */
function waits({ newest, view }: WatchInput, { start, notBefore, isMostRecent }: WatchPlan): boolean {
  if (notBefore > 0) return true;
  return newest !== undefined && (isMostRecent || (start.from === "revision" && start.revision > view.drain()));
}

/**
 * A watch at a version that no server of the store has given out: the store was restored from an older state, and the
 * client has seen changes that are no more. It is told to list again. At first it gets nothing, which is all that
 * upstream's clients get.
 */
function expireLater(input: WatchInput, revision: number, newest: number, leave: () => void): void {
  const { resource, identity, format, form, options, open, onAbort } = input;
  const { framing } = watchForms(resource, identity, format, form, input.isCurrent).representation;
  const { sink, ended } = open();
  const lifeMs = timeoutMs(options) ?? Number.POSITIVE_INFINITY;
  const isToldSo = lifeMs > limits.watchUnknownMs;
  const end = (): void => {
    clearTimeout(timer);
    leave();
    ended();
  };
  const timer = setTimeout(
    () => {
      const status = refuse(
        "Expired",
        `resource version ${revision} is of a state before a restore, newest: ${newest}`,
      );
      if (isToldSo) sink.write(errorEvent(status, framing));
      sink.end();
      end();
    },
    Math.max(0, Math.min(lifeMs, limits.watchUnknownMs)),
  );
  onAbort(end);
}

/**
 * Waits for a resource version, or for the newest; the version that was reached, or the Status of one that does not come
 * or of too many that wait.
 */
async function reach(input: WatchInput, { notBefore }: WatchPlan): Promise<number | Status | undefined> {
  const { bounds, owner, view, aborted, newest } = input;
  const leave = bounds.wait(owner);
  if (isStatus(leave)) return leave;
  try {
    return notBefore > 0 ? await waitForRevision(view, notBefore, aborted, newest) : await newest?.();
  } finally {
    leave();
  }
}

/** No event is a list: upstream answers 200 and ends at the first one. */
function endAtOnce({ open }: WatchInput): undefined {
  const { sink, ended } = open();
  sink.end();
  ended();
}

/** The selector of a legacy watch of one object: the name joins the field selector. 400 when the two disagree. */
export function pinName(selector: Selector, name: string): Selector | Status {
  const pinned = pinnedName(selector);
  if (pinned !== undefined && pinned !== name) {
    return badRequest("fieldSelector metadata.name doesn't match requested name");
  }
  if (pinned !== undefined) return selector;
  return { ...selector, fields: [...selector.fields, { field: "metadata.name", operator: "=", value: name }] };
}

/** Zero counts as unset; below zero ends at once. */
function timeoutMs({ timeoutSeconds }: ListOptions): number | undefined {
  return timeoutSeconds === undefined || timeoutSeconds === 0 ? undefined : timeoutSeconds * 1000;
}
