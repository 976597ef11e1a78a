// Options of reads (meta/v1 ListOptions and GetOptions) from the query, and the document's tables as decisions.
import { type FieldError, forbiddenField, invalidObject, notSupported } from "../../api/fielderror.ts";
import type { Identity } from "../../api/identity.ts";
import { badRequest, type Status } from "../../api/status.ts";
import { isTrue } from "./info.ts";
import { first, type Query } from "./query.ts";

/** ListOptions as sent. */
export interface ListOptions {
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly watch: boolean;
  readonly allowWatchBookmarks: boolean;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly limit: number;
  readonly continueToken: string;
  /** Undefined: not sent. */
  readonly timeoutSeconds: number | undefined;
  readonly sendInitialEvents: boolean | undefined;
}

/** Where a list is to be read. `revision` counts for the two that name one. */
export interface ListPlan {
  readonly mode: "any" | "most-recent" | "not-older" | "exact" | "continue";
  readonly revision: number;
  /** The limit counts: lists upstream answers from its cache ignore it. */
  readonly paged: boolean;
}

/** Reads ListOptions; 400 with upstream's text for what does not parse. */
export function parseListOptions(query: Query): ListOptions | Status {
  const limit = integer(first(query, "limit"));
  if (typeof limit === "string") return badRequest(limit);
  const timeout = integer(first(query, "timeoutSeconds"));
  if (typeof timeout === "string") return badRequest(timeout);
  return {
    labelSelector: first(query, "labelSelector") ?? "",
    fieldSelector: first(query, "fieldSelector") ?? "",
    watch: flag(query, "watch"),
    allowWatchBookmarks: flag(query, "allowWatchBookmarks"),
    resourceVersion: first(query, "resourceVersion") ?? "",
    resourceVersionMatch: first(query, "resourceVersionMatch") ?? "",
    limit: limit ?? 0,
    continueToken: first(query, "continue") ?? "",
    timeoutSeconds: timeout,
    sendInitialEvents: query.has("sendInitialEvents") ? flag(query, "sendInitialEvents") : undefined,
  };
}

function flag(query: Query, key: string): boolean {
  const value = first(query, key);
  return isTrue(value, value !== undefined);
}

/** Go's ParseInt for an int64 of the query; a text is its error. */
function integer(text: string | undefined): number | undefined | string {
  if (text === undefined) return undefined;
  if (!/^[+-]?\d+$/.test(text)) return `strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  if (BigInt.asIntN(64, value) !== value)
    return `strconv.ParseInt: parsing ${JSON.stringify(text)}: value out of range`;
  // Beyond 2^53 the exact number means no more than "very many".
  return Number(value);
}

/** A resource version from the wire: a decimal uint64 ("" and "0" are the caller's). A text is Go's error. */
export function parseRevision(text: string): number | string {
  if (!/^\d+$/.test(text)) {
    return `resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`;
  }
  const value = BigInt(text);
  if (value > 0xffffffffffffffffn) {
    return `resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: value out of range`;
  }
  return Number(value);
}

/** Combinations upstream refuses with 422, for lists and watches. */
export function validateListOptions(options: ListOptions, identity: Identity): Status | undefined {
  const path = "resourceVersionMatch";
  const match = options.resourceVersionMatch;
  const errors: FieldError[] = [];
  // sendInitialEvents is a later release's option; there it asks for a match on a watch.
  const initial = options.watch && options.sendInitialEvents !== undefined;
  if (initial) errors.push(...initialEventsFaults(options));
  else if (match !== "") {
    if (options.watch) errors.push(forbiddenField(path, "resourceVersionMatch is forbidden for watch"));
    if (options.resourceVersion === "") {
      errors.push(forbiddenField(path, "resourceVersionMatch is forbidden unless resourceVersion is provided"));
    }
    if (options.continueToken !== "") {
      errors.push(forbiddenField(path, "resourceVersionMatch is forbidden when continue is provided"));
    }
    if (match !== "Exact" && match !== "NotOlderThan")
      errors.push(notSupported(path, match, ["Exact", "NotOlderThan", ""]));
    if (match === "Exact" && options.resourceVersion === "0") {
      errors.push(forbiddenField(path, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
    }
  }
  return errors.length === 0 ? undefined : invalidObject(identity.spell("meta.k8s.io"), "ListOptions", "", errors);
}

function initialEventsFaults(options: ListOptions): FieldError[] {
  const errors: FieldError[] = [];
  const path = "resourceVersionMatch";
  if (options.resourceVersionMatch === "") {
    errors.push(forbiddenField(path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
  } else if (options.resourceVersionMatch !== "NotOlderThan") {
    errors.push(notSupported(path, options.resourceVersionMatch, ["NotOlderThan"]));
  }
  if (options.continueToken !== "") {
    errors.push(forbiddenField(path, "resourceVersionMatch is forbidden when continue is provided"));
  }
  return errors;
}

/**
 * The document's list table: match × paging × resourceVersion. The combinations it calls invalid were refused by
 * validateListOptions, except the one with a continue token, refused here.
 */
export function planList(options: ListOptions): ListPlan | Status {
  const { resourceVersion: version, resourceVersionMatch: match, limit, continueToken } = options;
  if (continueToken !== "") {
    if (version !== "" && version !== "0") {
      return badRequest("specifying resource version is not allowed when using continue");
    }
    return { mode: "continue", revision: 0, paged: true };
  }
  if (version === "") return { mode: "most-recent", revision: 0, paged: true };
  const revision = parseRevision(version);
  if (typeof revision === "string") {
    const storage = limit > 0 || match === "Exact";
    return badRequest(storage ? `invalid resource version: ${revision}` : revision);
  }
  if (match === "Exact") return { mode: "exact", revision, paged: true };
  if (match === "NotOlderThan")
    return revision === 0 ? { mode: "any", revision, paged: false } : { mode: "not-older", revision, paged: limit > 0 };
  if (revision === 0) return { mode: "any", revision, paged: false };
  return limit > 0 ? { mode: "exact", revision, paged: true } : { mode: "not-older", revision, paged: false };
}
