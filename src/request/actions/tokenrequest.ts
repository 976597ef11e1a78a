// The token subresource of service accounts: signs a token that ends with its time, or sooner with the pod or secret it
// is bound to. Nothing is stored (upstream: TokenREST of the service account registry).
import { admit } from "../../admission/table.ts";
import { type FieldError, invalid, invalidObject } from "../../api/fielderror.ts";
import type { BoundObjectReference, TokenRequest } from "../../api/gen/authentication/v1.ts";
import type { Pod } from "../../api/gen/core/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource, Scheme } from "../../api/scheme.ts";
import { badRequest, conflict, isStatus, notFound, type Status } from "../../api/status.ts";
import { formatTime } from "../../api/time.ts";
import { boundClaims, type ClaimedObject } from "../../authn/accountclaims.ts";
import { assert } from "../../base/assert.ts";
import { encode } from "../../codec/engine/json.ts";
import type { Server } from "../call/context.ts";
import { catchUp } from "../commit/attempts.ts";
import { attributesOf } from "../commit/attributes.ts";
import { readCurrent, storedObject } from "../commit/objectstore.ts";
import type { WriteRequest, WriteServices, Written } from "../commit/writerequest.ts";
import { shapeOf } from "../route/info.ts";
import { trackManagers } from "../write/ownership.ts";

const encoder = new TextEncoder();

const lifetimeDefault = 3_600;
const lifetimeMin = 600;
const lifetimeMax = 2 ** 32;
/** The life that pods' tokens are asked for with where clients may not know yet that they end: an hour and a mark. */
const markedLifetime = 3_607;
/** What such tokens get instead. */
const extendedLifetime = 365 * 24 * 60 * 60;

/** The object a token hangs on. */
interface Bound {
  readonly pod: ClaimedObject | undefined;
  readonly secret: ClaimedObject | undefined;
}

/** Signs a token for the service account a request names. */
export async function requestToken(
  { writers }: Server,
  asked: WriteRequest,
  body: ApiObject,
): Promise<Written | Status> {
  const request = body as ApiObject & TokenRequest;
  const { resource, namespace, name } = asked;
  const shape = shapeOfToken(writers.scheme, resource);
  const { identity } = writers.scheme;
  const { accounts } = writers.authn;
  // No token is signed for what is gone on any server.
  const late = await catchUp(writers, asked.deadline);
  if (late !== undefined) return late;
  request.spec.expirationSeconds ??= lifetimeDefault;
  trackManagers(writers, { ...asked, resource: shape }, request, undefined, undefined);
  const attributes = attributesOf(asked, "create", request, undefined);
  const refused = await admit(writers.admission, attributes);
  if (refused !== undefined) return refused;
  const errors = faultsOf(request);
  if (errors.length > 0) return invalidObject(shape.group, shape.kind, "", errors);
  const account = readCurrent(writers, resource, namespace, name);
  if (account === undefined) return notFound(resource, name);
  const uid = storedObject(resource, account).metadata.uid ?? "";
  const bound = findBound(writers, asked, request.spec.boundObjectRef);
  if (isStatus(bound)) return bound;

  const warnings: string[] = [];
  const { lifetimeSecondsMax } = accounts;
  let lifetime = Number(request.spec.expirationSeconds);
  if (lifetimeSecondsMax > 0 && lifetime > lifetimeSecondsMax) {
    warnings.push(`requested expiration of ${lifetime} seconds shortened to ${lifetimeSecondsMax} seconds`);
    lifetime = lifetimeSecondsMax;
    request.spec.expirationSeconds = lifetime;
  }
  const audiences = request.spec.audiences ?? [];
  if (audiences.length === 0) request.spec.audiences = [...accounts.audiences];
  else request.spec.audiences = audiences;
  const now = Math.floor(writers.clock.now() / 1000);
  const own = request.spec.audiences.every((audience) => accounts.audiences.includes(audience));
  const extended = accounts.extends && bound.pod !== undefined && lifetime === markedLifetime && own;
  const claims = { namespace, account: { name, uid }, ...bound, warnAfter: extended ? now + lifetime : undefined };
  const token = await accounts.signer.sign(
    boundClaims(identity, {
      issuer: accounts.issuer,
      audiences: request.spec.audiences,
      claims,
      now,
      lifetime: extended ? extendedLifetime : lifetime,
    }),
  );
  request.status = { token, expirationTimestamp: formatTime((now + lifetime) * 1000) };
  return { code: 201, body: encoder.encode(encode(shape.message, request)), warnings };
}

const shapes = new WeakMap<Scheme, Resource>();

/** One shape for all requests: what is derived from a kind is kept by it. */
function shapeOfToken(scheme: Scheme, resource: Resource): Resource {
  let shape = shapes.get(scheme);
  if (shape === undefined) {
    shape = shapeOf(
      resource,
      resource.subresources.find(({ name }) => name === "token"),
    );
    shapes.set(scheme, shape);
  }
  return shape;
}

function faultsOf({ spec }: TokenRequest): FieldError[] {
  const field = "spec.expirationSeconds";
  const seconds = spec.expirationSeconds ?? lifetimeDefault;
  if (seconds < lifetimeMin) return [invalid(field, seconds, "may not specify a duration less than 10 minutes")];
  if (seconds > lifetimeMax) return [invalid(field, seconds, "may not specify a duration larger than 2^32 seconds")];
  return [];
}

/** The object a token shall hang on, as it is now; a Status when it is not there, or another's. */
function findBound(
  writers: WriteServices,
  asked: WriteRequest,
  reference: BoundObjectReference | undefined,
): Bound | Status {
  if (reference === undefined) return { pod: undefined, secret: undefined };
  const { kind = "", apiVersion = "", name = "", uid: expected = "" } = reference;
  const slash = apiVersion.indexOf("/");
  const group = slash < 0 ? "" : apiVersion.slice(0, slash);
  const version = apiVersion.slice(slash + 1);
  if (group !== "" || (kind !== "Pod" && kind !== "Secret")) {
    return badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`);
  }
  const resource = writers.scheme.find("", "v1", kind === "Pod" ? "pods" : "secrets");
  assert(resource !== undefined, "Pods and secrets are always served");
  const current = readCurrent(writers, resource, asked.namespace, name);
  if (current === undefined) return notFound(resource, name);
  const object = storedObject(resource, current);
  if (kind === "Pod" && (object as ApiObject & Pod).spec.serviceAccountName !== asked.name) {
    const account = JSON.stringify(asked.name);
    return badRequest(
      `cannot bind token for serviceaccount ${account} to pod running with different serviceaccount name.`,
    );
  }
  const uid = object.metadata.uid ?? "";
  if (expected !== "" && expected !== uid) {
    const why = `the UID in the bound object reference (${expected}) does not match the UID in record. The object might have been deleted and then recreated`;
    return conflict({ group, resource: kind }, name, why);
  }
  const claimed = { name, uid };
  return kind === "Pod" ? { pod: claimed, secret: undefined } : { pod: undefined, secret: claimed };
}
