// The 403 of authorization. Texts, details and the escaping of a client's text are upstream's (Forbidden of
// the endpoints package's response writers).
import { quote } from "../api/gotext.ts";
import { qualified, refuse, Status } from "../api/status.ts";
import { type Awaitable, andThen } from "../base/awaitable.ts";
import type { Attributes, Authorizer, Decision } from "./authorizer.ts";

const escapes = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
]);

/** The 403 for a denied request. */
export function denial(attributes: Attributes, reason: string): Status {
  const { group, resource, name, isResource } = attributes;
  const said = sentence(attributes).replace(/[&<>]/g, (character) => escapes.get(character) ?? character);
  const why = reason === "" ? said : `${said}: ${reason}`;
  if (!isResource || resource === "") return refuse("Forbidden", `forbidden: ${why}`, {});
  const what = name === "" ? "" : ` ${quote(name)}`;
  return refuse("Forbidden", `${qualified(group, resource)}${what} is forbidden: ${why}`, {
    ...(name === "" ? {} : { name }),
    ...(group === "" ? {} : { group }),
    kind: resource,
  });
}

function sentence(attributes: Attributes): string {
  const { user, verb, path, group, resource, subresource, namespace } = attributes;
  const who = `User ${quote(user.name)}`;
  if (!attributes.isResource) return `${who} cannot ${verb} path ${quote(path)}`;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${quote(namespace)}`;
  return `${who} cannot ${verb} resource ${quote(what)} in API group ${quote(group)} ${where}`;
}

const tooManyQuestions = new Status(
  429,
  "TooManyRequests",
  "The server has too many questions for the authorization webhook waiting, please try again later.",
  { retryAfterSeconds: 1 },
);

/**
 * Asks whether something is allowed; the 403 when it is not, 429 or 500 when that could not be decided. `told` is
 * called with the decision, for the audit event.
 */
export function refusalOf(
  authorizer: Authorizer,
  attributes: Attributes,
  told?: (decision: Decision) => void,
): Awaitable<Status | undefined> {
  return andThen(authorizer.authorize(attributes), (decision) => refusalBy(decision, attributes, told));
}

function refusalBy(
  decision: Decision,
  attributes: Attributes,
  told: ((decision: Decision) => void) | undefined,
): Status | undefined {
  told?.(decision);
  // The reason of an allowance is put in words when it is read: not here.
  if (decision.verdict === "allow") return undefined;
  const { verdict, reason, error, overloaded } = decision;
  if (overloaded === true) return tooManyQuestions;
  // No authorizer decided because one failed (upstream: an internal error, too).
  if (verdict === "none" && error !== undefined) return refuse("InternalError", `Internal error occurred: ${error}`);
  return denial(attributes, reason);
}
