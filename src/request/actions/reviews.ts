// Creates that ask a question: the object is read, defaulted and admitted like any other, answered, and never kept.
import { admit } from "../../admission/table.ts";
import { invalidObject } from "../../api/fielderror.ts";
import type { SelfSubjectRulesReview } from "../../api/gen/authorization/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import { badRequest, type Status } from "../../api/status.ts";
import { ownerOf } from "../../authz/owner.ts";
import {
  type AccessReview,
  answerReview,
  checkNamespace,
  type ReviewScope,
  rulesStatus,
  validateReview,
} from "../../authz/reviews.ts";
import { encode } from "../../codec/engine/json.ts";
import type { Server } from "../call/context.ts";
import { attributesOf } from "../commit/attributes.ts";
import type { WriteRequest, Written } from "../commit/writerequest.ts";
import { trackManagers } from "../write/ownership.ts";

/** One kind of question. */
interface Review {
  /** Why it cannot be asked; undefined: it can. Asked before validating admission. */
  check(request: WriteRequest, object: ApiObject): Status | undefined;
  /** Puts the answer in, or makes the object that is the answer. */
  answer(server: Server, request: WriteRequest, object: ApiObject): Promise<ApiObject | Status>;
}

/** Answers reviews of access: whether a user may do something. */
export function accessReview(scope: ReviewScope) {
  const review: Review = {
    check({ resource, namespace }, object) {
      const errors = validateReview(object as AccessReview, scope);
      // Upstream has lost the kind by then, and says so.
      if (errors.length > 0) return invalidObject(resource.group, "", "", errors);
      return scope === "local" ? checkNamespace(object as AccessReview, namespace) : undefined;
    },
    async answer({ authorizer, identity }, { user, trace: { spans } }, object) {
      await answerReview(authorizer, object as AccessReview, scope, user, { owner: ownerOf(identity, user), spans });
      return object;
    },
  };
  return (server: Server, request: WriteRequest, object: ApiObject) => runReview(server, request, review, object);
}

/** Answers what the user may do in a namespace. */
export function reviewRules(server: Server, request: WriteRequest, object: ApiObject): Promise<Written | Status> {
  return runReview(server, request, { check: checkRules, answer: answerRules }, object);
}

/** Runs one, top to bottom. */
async function runReview(
  server: Server,
  request: WriteRequest,
  review: Review,
  object: ApiObject,
): Promise<Written | Status> {
  const { writers } = server;
  trackManagers(writers, request, object, undefined, undefined);
  const attributes = attributesOf(request, "create", object, undefined);
  const refused = await admit(writers.admission, attributes, () => review.check(request, object));
  if (refused !== undefined) return refused;
  const answer = await review.answer(server, request, object);
  if (!("metadata" in answer)) return answer;
  const body = Buffer.from(encode(request.resource.message, answer));
  return { code: 201, body, warnings: attributes.notes.warnings };
}

type RulesReview = ApiObject & SelfSubjectRulesReview;

function checkRules(_request: WriteRequest, object: ApiObject): Status | undefined {
  return ((object as RulesReview).spec.namespace ?? "") === "" ? badRequest("no namespace on request") : undefined;
}

async function answerRules({ rules }: Server, { resource, user }: WriteRequest, object: ApiObject): Promise<ApiObject> {
  const { namespace = "" } = (object as RulesReview).spec;
  const { kind, apiVersion } = resource;
  const answer: RulesReview = { kind, apiVersion, metadata: {}, spec: {}, status: rulesStatus(rules, user, namespace) };
  return answer;
}
