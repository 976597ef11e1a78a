// Impersonation: the Impersonate headers of a request, each permission authorized separately, and the resulting
// user. Rules as the document's section Impersonation and upstream's filter; a request with groups, a uid or
// extra values but no user is rejected, and so is an empty Impersonate-User: the uws front's parser drops
// characters beyond ASCII from the ends of a value, and a request must not run as its sender for that. There a name
// with such characters inside is refused, too: its ends may be missing, and the rest is another user's name.
import type { Identity } from "../api/identity.ts";
import { badRequest, isStatus, type Status } from "../api/status.ts";
import type { User } from "../api/user.ts";
import { isDns1123Label, isDns1123Subdomain } from "../kinds/formats.ts";
import type { TraceSpans } from "../observe/spans.ts";
import type { Attributes, Authorizer } from "./authorizer.ts";
import { refusalOf } from "./denial.ts";

/** Header fields in order, names in lower case. */
type Headers = readonly (readonly [name: string, value: string])[];

/**
 * Returns the user a request acts as: the authenticated user without such headers; 400 or 403 when it may not.
 * `clipped`: the front may have dropped characters beyond ASCII from both ends of every value.
 */
export type Impersonate = (
  headers: Headers,
  user: User,
  clipped?: boolean,
  spans?: TraceSpans,
) => User | Promise<User | Status>;

const prefix = "impersonate-";
const extraPrefix = "impersonate-extra-";
const accountPrefix = "system:serviceaccount:";
const plainHeaders = new Set(["impersonate-user", "impersonate-group", "impersonate-uid"]);
const beyondAscii = /[^\x00-\x7f]/;
const anonymous = "system:anonymous";
const authenticated = "system:authenticated";
const unauthenticated = "system:unauthenticated";

/** The requested user; values with a permission of their own are in lists. */
interface Wish {
  readonly name: string;
  readonly groups: readonly string[];
  /** Key and value, in the order of the headers. */
  readonly extra: readonly (readonly [key: string, value: string])[];
  readonly uid: string;
}

/** Makes the stage for a front. */
export function createImpersonation(identity: Identity, authorizer: Authorizer): Impersonate {
  const group = identity.spell("authentication.k8s.io");
  return (headers, user, clipped = false, spans = undefined) => {
    // Most requests have none.
    if (!headers.some(([name]) => name.startsWith(prefix))) return user;
    const wish = readWish(headers, clipped);
    if (isStatus(wish)) return Promise.resolve(wish);
    if (wish === undefined) return user;
    const account = accountOf(wish.name);
    return act(authorizer, questions(group, user, wish, account, spans), wish, account);
  };
}

/** Undefined: the headers ask for nothing. */
function readWish(headers: Headers, clipped: boolean): Wish | Status | undefined {
  const valuesOf = (name: string): string[] => headers.filter(([key]) => key === name).map(([, value]) => value);
  const [name = ""] = valuesOf("impersonate-user");
  const [uid = ""] = valuesOf("impersonate-uid");
  const groups = valuesOf("impersonate-group");
  const empty = headers.find(([key, value]) => value === "" && plainHeaders.has(key))?.[0];
  if (empty !== undefined) return badRequest(`the header ${empty} must not be empty`);
  const torn = clipped ? headers.find(([key, value]) => key.startsWith(prefix) && isTorn(value)) : undefined;
  if (torn !== undefined) {
    return badRequest(
      `the header ${torn[0]} is empty or has characters beyond ASCII, which are read in full with --front=node alone`,
    );
  }
  const extra = headers
    .filter(([key]) => key.startsWith(extraPrefix))
    .map(([key, value]) => [unescapeKey(key.slice(extraPrefix.length)), value] as const);
  if (name !== "") return { name, groups, extra, uid };
  if (groups.length === 0 && extra.length === 0 && uid === "") return undefined;
  return badRequest(
    "Impersonate-Group, Impersonate-Extra- and Impersonate-Uid headers need an Impersonate-User header",
  );
}

/** Whether characters may be missing from a clipped value: it has others of their kind inside, or nothing is left. */
function isTorn(value: string): boolean {
  return value === "" || beyondAscii.test(value);
}

/** Percent-decoded, or as it came where that cannot be done (upstream: unescapeExtraKey). */
function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

async function act(
  authorizer: Authorizer,
  asks: readonly Attributes[],
  wish: Wish,
  account: Account | undefined,
): Promise<User | Status> {
  for (const asked of asks) {
    const refused = await refusalOf(authorizer, asked);
    if (refused !== undefined) return refused;
  }
  const implied =
    account === undefined ? [] : ["system:serviceaccounts", `system:serviceaccounts:${account.namespace}`];
  const groups = wish.groups.length > 0 ? [...wish.groups] : implied;
  const extra = new Map<string, string[]>();
  for (const [key, value] of wish.extra) extra.set(key, [...(extra.get(key) ?? []), value]);
  return { name: wish.name, uid: wish.uid, groups: withAuthenticationGroup(wish.name, groups), extra };
}

/** One for each header value, in upstream's order. */
function questions(
  authentication: string,
  user: User,
  wish: Wish,
  account: Account | undefined,
  spans: TraceSpans | undefined,
): Attributes[] {
  const kind = { verb: "impersonate", isResource: true, group: "", version: "", subresource: "", path: "" };
  const core = { user, spans, ...kind };
  const own = { ...core, group: authentication, version: "v1", namespace: "" };
  return [
    account === undefined
      ? { ...core, resource: "users", namespace: "", name: wish.name }
      : { ...core, version: "v1", resource: "serviceaccounts", namespace: account.namespace, name: account.name },
    ...wish.groups.map((name) => ({ ...core, resource: "groups", namespace: "", name })),
    ...wish.extra.map(([key, value]) => ({ ...own, resource: "userextras", subresource: key, name: value })),
    ...(wish.uid === "" ? [] : [{ ...own, resource: "uids", name: wish.uid }]),
  ];
}

interface Account {
  readonly namespace: string;
  readonly name: string;
}

/** The service account of a user name. */
function accountOf(user: string): Account | undefined {
  if (!user.startsWith(accountPrefix)) return undefined;
  const [namespace = "", name = "", ...more] = user.slice(accountPrefix.length).split(":");
  if (more.length > 0 || isDns1123Label(namespace).length > 0) return undefined;
  return isDns1123Subdomain(name).length > 0 ? undefined : { namespace, name };
}

/** Adds the groups of service accounts or authenticated users, unless groups are requested. */
function withAuthenticationGroup(name: string, groups: readonly string[]): readonly string[] {
  if (name === anonymous) return groups.includes(unauthenticated) ? groups : [...groups, unauthenticated];
  return groups.includes(authenticated) || groups.includes(unauthenticated) ? groups : [...groups, authenticated];
}
