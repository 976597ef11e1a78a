// What authorization is asked and what it answers. The attributes are those of the request info, so that what is
// authorized is what is executed; the write path and admission ask further questions of the same kind.
import type { User } from "../api/user.ts";

/** What somebody wants to do (the document's "attributes examined"). */
export interface Attributes {
  readonly user: User;
  /** API verb of a resource request (`get`, `list`, `deletecollection`, `use`, …), else the HTTP method in lower case. */
  readonly verb: string;
  readonly isResource: boolean;
  /** Spelled in the identity; empty for the core group. As the rest up to `name`, empty for a path. */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  /** Empty: cluster-scoped, or all namespaces. */
  readonly namespace: string;
  /** Empty: none in particular. */
  readonly name: string;
  /** Decoded path of the request; authorizers look at it where `isResource` is false. */
  readonly path: string;
}

/** Allowed; denied, whatever the next authorizer would say; or nothing to say. */
export type Verdict = "allow" | "deny" | "none";

/** What came of a question. */
export interface Decision {
  readonly verdict: Verdict;
  /** Why, for the 403 and the audit log; may be empty. */
  readonly reason: string;
}

/** One authorizer, or several in order. Answers at once where it can. */
export interface Authorizer {
  authorize(attributes: Attributes): Decision | Promise<Decision>;
}

const allowed: Decision = { verdict: "allow", reason: "" };

/** The mode AlwaysAllow. */
export const alwaysAllow: Authorizer = { authorize: () => allowed };
