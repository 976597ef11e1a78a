// The interface of authorizers. The attributes are those of the request info, so that the request that is
// authorized is the one executed; the write path and admission ask further questions of the same kind.
import type { User } from "../api/user.ts";
import type { Owner } from "../base/shares.ts";
import type { TraceSpans } from "../observe/spans.ts";

/** The attributes of a request (the document's "attributes examined"). */
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
  /** The owner that webhook calls are charged to; absent: the user. */
  readonly owner?: Owner | undefined;
  /** The trace that webhook calls belong to; absent: none. */
  readonly spans?: TraceSpans | undefined;
}

/** Attributes without the user. */
export type Question = Omit<Attributes, "user" | "owner" | "spans">;

/** Attributes with the user: copied field by field, because a copy by spread costs more than all of RBAC. */
export function askedBy(user: User, question: Question, spans?: TraceSpans): Attributes {
  return {
    user,
    verb: question.verb,
    isResource: question.isResource,
    group: question.group,
    version: question.version,
    resource: question.resource,
    subresource: question.subresource,
    namespace: question.namespace,
    name: question.name,
    path: question.path,
    spans,
  };
}

/** Allowed; denied, whatever the next authorizer would say; or nothing to say. */
export type Verdict = "allow" | "deny" | "none";

/** The result of an authorization. */
export interface Decision {
  readonly verdict: Verdict;
  /** Why, for the 403 and the audit log; may be empty. */
  readonly reason: string;
  /** Errors of the evaluation; for reviews. */
  readonly error?: string;
  /** A denial for lack of means of ours: the request may be tried again (429). */
  readonly overloaded?: boolean;
}

/** One authorizer, or several in order. Answers at once where it can. */
export interface Authorizer {
  authorize(attributes: Attributes): Decision | Promise<Decision>;
}

/** The administrator's group: may do anything, whatever the mode (upstream: AuthorizeClientBearerToken's union). */
export const mastersGroup = "system:masters";

const allowed: Decision = { verdict: "allow", reason: "" };
const nothing: Decision = { verdict: "none", reason: "" };

/** The mode AlwaysAllow. */
export const alwaysAllow: Authorizer = { authorize: () => allowed };

/** The mode AlwaysDeny, for tests: every request is denied (upstream: no opinion, with a reason). */
export const alwaysDeny: Authorizer = {
  authorize: () => ({ verdict: "none", reason: "Everything is forbidden." }),
};

/** Allows the administrator's group everything. */
export const masters: Authorizer = {
  authorize: ({ user }) => (user.groups.includes(mastersGroup) ? allowed : nothing),
};

/** Asks one after the other; the first that allows or denies decides. Else all their reasons are given. */
export function inOrder(authorizers: readonly Authorizer[]): Authorizer {
  return { authorize: (attributes) => ask(authorizers, 0, attributes, [], []) };
}

function ask(
  authorizers: readonly Authorizer[],
  from: number,
  attributes: Attributes,
  reasons: string[],
  errors: string[],
): Decision | Promise<Decision> {
  for (let index = from; index < authorizers.length; index++) {
    const answer = (authorizers[index] as Authorizer).authorize(attributes);
    if (answer instanceof Promise) {
      return answer.then((decision) =>
        note(decision, reasons, errors) ? decision : ask(authorizers, index + 1, attributes, reasons, errors),
      );
    }
    if (note(answer, reasons, errors)) return answer;
  }
  const reason = reasons.join("\n");
  if (errors.length === 0) return reason === "" ? nothing : { verdict: "none", reason };
  return { verdict: "none", reason, error: errors.length === 1 ? (errors[0] as string) : `[${errors.join(", ")}]` };
}

/** Collects the reason of a decision; true when it decides. */
function note(decision: Decision, reasons: string[], errors: string[]): boolean {
  // The reason of an allowance is not looked at: it may be put in words only then.
  if (decision.verdict !== "none") return true;
  const { reason, error } = decision;
  if (reason !== "") reasons.push(reason);
  if (error !== undefined) errors.push(error);
  return false;
}
