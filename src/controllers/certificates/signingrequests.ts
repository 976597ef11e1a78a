// What the controllers of signing requests share: how requests are found and read, in which state one is, and whose turn
// it is. A key is `user/request`, so that users take turns: ten thousand requests of one do not hold up those of others.
import type { CertificateSigningRequest, CertificateSigningRequestSpec } from "../../api/gen/certificates/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { refuse } from "../../api/status.ts";
import type { User } from "../../api/user.ts";
import { ownerOf } from "../../authz/owner.ts";
import type { Location } from "../../cache/shared/record.ts";
import type { LogView } from "../../cache/view/view.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { limits } from "../../config/limits.ts";
import type { Server } from "../../request/call/context.ts";
import { findStored, type StoredKind } from "../storedkind.ts";

/** A signing request as it is stored. */
export type StoredRequest = ApiObject & CertificateSigningRequest;

/** User of what these controllers write, in canonical spelling, and the field manager (upstream's). */
export const controllerUser = "system:serviceaccount:kube-system:certificate-controller";
export const controllerManager = "kube-controller-manager";

/** The group of signing requests, in canonical spelling. */
export const certificatesGroup = "certificates.k8s.io";

/** Signing requests as they are now. */
export class SigningRequests {
  readonly resource: Resource;
  readonly view: LogView;

  private constructor({ resource, view }: StoredKind) {
    this.resource = resource;
    this.view = view;
  }

  /** Undefined: the kind is not served. */
  static of(server: Server): SigningRequests | undefined {
    const requests = findStored(server, certificatesGroup, "v1", "certificatesigningrequests");
    return requests && new SigningRequests(requests);
  }

  /** The request of a record. */
  at(at: Location): StoredRequest {
    return decodeStored(this.resource, this.view.object(at)) as StoredRequest;
  }

  /** A request by name; undefined: there is none. */
  get(name: string): StoredRequest | undefined {
    this.view.drain();
    const at = this.view.get("", name);
    return at === 0 ? undefined : this.at(at);
  }

  /**
   * The key of a record, where `wanted` says that there is something to do about it. A record that is too long to be signed
   * is not read here, because many may be looked at in one turn; all of those share a lane.
   */
  keyOf(at: Location, identity: Identity, wanted: (request: StoredRequest) => boolean): string | undefined {
    const name = this.view.keyOf(at);
    if (this.view.object(at).length > 2 * limits.signedRequestBytesMax) return `/${name}`;
    const request = this.at(at);
    if (!wanted(request)) return undefined;
    return `${ownerOf(identity, requesterOf(request.spec)).name.slice(0, laneCharsMax)}/${name}`;
  }
}

/** Characters of a user's name in a key. */
const laneCharsMax = 256;

/** Whose key it is. */
export function laneOf(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf("/")));
}

/** Which request a key is of; no name has a slash. */
export function nameOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1);
}

/** The user who made a request, as the server saw them. */
export function requesterOf({
  username = "",
  uid = "",
  groups = [],
  extra = new Map(),
}: CertificateSigningRequestSpec): User {
  return { name: username, uid, groups, extra };
}

/** Whether a request has a condition of a type. */
export function hasCondition({ status }: StoredRequest, type: "Approved" | "Denied" | "Failed"): boolean {
  return status.conditions?.some((condition) => condition.type === type) === true;
}

/** The request changed in such a way that there is nothing to write any more. */
export const settled = refuse("Conflict", "the request was decided by someone else meanwhile");
