// TokenReview: whose token this is, for others that are shown one. Never stored; the answer is the review with a status
// (upstream: the registry of token reviews).
import { admit } from "../../admission/table.ts";
import type { TokenReview } from "../../api/gen/authentication/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import { badRequest, type Status } from "../../api/status.ts";
import { type Accepted, type Refused, reasonText } from "../../authn/authenticator.ts";
import { ownerOf } from "../../authz/owner.ts";
import { encode } from "../../codec/engine/json.ts";
import type { Server } from "../call/context.ts";
import { attributesOf } from "../commit/attributes.ts";
import type { WriteRequest, Written } from "../commit/writerequest.ts";
import { trackManagers } from "../write/ownership.ts";

const encoder = new TextEncoder();

/** Answers a review; 400 for one without a token. */
export async function reviewToken(
  { writers }: Server,
  request: WriteRequest,
  body: ApiObject,
): Promise<Written | Status> {
  const review = body as ApiObject & TokenReview;
  trackManagers(writers, request, review, undefined, undefined);
  const attributes = attributesOf(request, "create", review, undefined);
  const refused = await admit(writers.admission, attributes, () =>
    (review.spec.token ?? "") === "" ? badRequest("token is required for TokenReview in authentication") : undefined,
  );
  if (refused !== undefined) return refused;
  const { token = "", audiences = [] } = review.spec;
  review.status = statusOf(
    await writers.authn.review(token, audiences, ownerOf(writers.scheme.identity, request.user), request.trace.spans),
  );
  return { code: 201, body: encoder.encode(encode(request.resource.message, review)), warnings: [] };
}

function statusOf(outcome: Accepted | Refused): TokenReview["status"] {
  if ("reasons" in outcome) return { user: {}, error: reasonText(outcome) };
  const { user, audiences } = outcome;
  const { name: username, uid, groups, extra } = user;
  const named = { username, ...(uid === "" ? {} : { uid }), groups: [...groups] };
  const more = extra.size === 0 ? {} : { extra: new Map([...extra].map(([key, values]) => [key, [...values]])) };
  return { authenticated: true, user: { ...named, ...more }, audiences: [...(audiences ?? [])] };
}
