// Access reviews as API objects: SubjectAccessReview, SelfSubjectAccessReview, the local one, and
// SelfSubjectRulesReview. Checks, texts and answers are upstream's (authorization registry and its validation).
import { type FieldError, invalid } from "../api/fielderror.ts";
import type * as v1 from "../api/gen/authorization/v1.ts";
import type { ApiObject } from "../api/object.ts";
import { badRequest, type Status } from "../api/status.ts";
import type { User } from "../api/user.ts";
import type { Asker } from "../outbound/client.ts";
import type { Attributes, Authorizer } from "./authorizer.ts";
import type { RuleResolver } from "./rules.ts";

/** The kinds that carry a question about access; the self review has no user in its spec. */
export type AccessReview = ApiObject &
  (v1.SubjectAccessReview | v1.SelfSubjectAccessReview | v1.LocalSubjectAccessReview);

/** The subject, by resource: the user of the spec, the requester, or the user of the spec in one namespace. */
export type ReviewScope = "subject" | "self" | "local";

const exclusive = "cannot be specified in combination with resourceAttributes";
const oneOfBoth = "exactly one of nonResourceAttributes or resourceAttributes must be specified";

/** All that is wrong with a review. */
export function validateReview({ metadata, spec }: AccessReview, scope: ReviewScope): FieldError[] {
  const errors: FieldError[] = [];
  const { resourceAttributes, nonResourceAttributes } = spec;
  const path = "spec.nonResourceAttributes";
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined) {
    errors.push(invalid(path, nonResourceAttributes, exclusive));
  }
  if (resourceAttributes === undefined && nonResourceAttributes === undefined) {
    errors.push(invalid("spec.resourceAttributes", undefined, oneOfBoth));
  }
  if (scope !== "self") {
    const { user = "", groups = [] } = spec as v1.SubjectAccessReviewSpec;
    if (user === "" && groups.length === 0) {
      errors.push(invalid("spec.user", user, "at least one of user or group must be specified"));
    }
  }
  const set = Object.entries(metadata).filter(([, value]) => value !== undefined && value !== "");
  const named = set.filter(([key]) => key !== "managedFields" && !(scope === "local" && key === "namespace"));
  if (named.length > 0) {
    errors.push(
      invalid("metadata", metadata, scope === "local" ? "must be empty except for namespace" : "must be empty"),
    );
  }
  if (scope !== "local") return errors;
  const namespace = resourceAttributes?.namespace ?? "";
  if (resourceAttributes !== undefined && namespace !== (metadata.namespace ?? "")) {
    errors.push(invalid("spec.resourceAttributes.namespace", namespace, "must match metadata.namespace"));
  }
  if (nonResourceAttributes !== undefined) {
    errors.push(invalid(path, nonResourceAttributes, "disallowed on this kind of request"));
  }
  return errors;
}

/** 400 for a review of one namespace that is sent to another. */
export function checkNamespace({ metadata }: AccessReview, namespace: string): Status | undefined {
  if ((metadata.namespace ?? "") === namespace) return undefined;
  return badRequest(`spec.resourceAttributes.namespace must match namespace: ${namespace}`);
}

/** Fills in the status of a review that is valid; `requester` sent it. */
export async function answerReview(
  authorizer: Authorizer,
  review: AccessReview,
  scope: ReviewScope,
  requester: User,
  asker: Asker,
): Promise<void> {
  const user = scope === "self" ? requester : subjectOf(review.spec as v1.SubjectAccessReviewSpec);
  const { verdict, reason, error } = await authorizer.authorize(attributesOf(user, review.spec, asker));
  review.status = {
    allowed: verdict === "allow",
    ...(verdict === "deny" ? { denied: true } : {}),
    ...(reason === "" ? {} : { reason }),
    ...(error === undefined ? {} : { evaluationError: error }),
  };
}

function subjectOf({ user = "", uid = "", groups = [], extra = new Map() }: v1.SubjectAccessReviewSpec): User {
  return { name: user, uid, groups, extra };
}

function attributesOf(user: User, spec: v1.SelfSubjectAccessReviewSpec, { owner, spans }: Asker): Attributes {
  const { resourceAttributes: asked, nonResourceAttributes: page } = spec;
  return {
    user,
    isResource: asked !== undefined,
    verb: asked?.verb ?? page?.verb ?? "",
    group: asked?.group ?? "",
    version: asked?.version ?? "",
    resource: asked?.resource ?? "",
    subresource: asked?.subresource ?? "",
    namespace: asked?.namespace ?? "",
    name: asked?.name ?? "",
    path: page?.path ?? "",
    owner,
    spans,
  };
}

/** The rules that hold for a user in a namespace, as a review shows them. */
export function rulesStatus(rules: RuleResolver, user: User, namespace: string): v1.SubjectRulesReviewStatus {
  const held = rules.rulesFor(user, namespace);
  const resourceRules: v1.ResourceRule[] = [];
  const nonResourceRules: v1.NonResourceRule[] = [];
  for (const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } of held.rules) {
    if ((resources ?? []).length > 0) resourceRules.push({ verbs, apiGroups, resources, resourceNames });
    if ((nonResourceURLs ?? []).length > 0) nonResourceRules.push({ verbs, nonResourceURLs });
  }
  const { errors } = held;
  const evaluationError = errors.length > 1 ? `[${errors.join(", ")}]` : errors[0];
  return {
    resourceRules,
    nonResourceRules,
    incomplete: held.incomplete ?? false,
    ...(evaluationError === undefined ? {} : { evaluationError }),
  };
}
