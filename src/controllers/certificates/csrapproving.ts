// Approves requests of nodes for certificates as clients, where the user who asks may have them made: for the node they
// are, or for any (upstream: csrapproving of its controllers). No user may at first: installers bind the two roles.

import { parseTime } from "../../api/time.ts";
import type { Decision } from "../../authz/authorizer.ts";
import { ownerOf } from "../../authz/owner.ts";
import { assert } from "../../base/assert.ts";
import { failpoint } from "../../base/failpoint.ts";
import { compileSelector, type Match } from "../../cache/fanout/select.ts";
import { type Location, recordTypes } from "../../cache/shared/record.ts";
import { limits } from "../../config/limits.ts";
import { readSigningRequest } from "../../pki/csr.ts";
import { apiserverClientNodeAgent } from "../../pki/signers/apiserverclientnodeagent.ts";
import { commonNameOf } from "../../pki/signers/signer.ts";
import type { Server } from "../../request/call/context.ts";
import { Actor, failureOf } from "../actor.ts";
import type { Controller, Follows, Pace, Queue, Result } from "../reconciler.ts";
import {
  certificatesGroup,
  controllerManager,
  controllerUser,
  hasCondition,
  laneOf,
  nameOf,
  requesterOf,
  SigningRequests,
  type StoredRequest,
  settled,
} from "./signingrequests.ts";

/** What a user may be allowed to have approved, in the order it is asked. */
const permissions = [
  {
    subresource: "selfnodeclient",
    message: "Auto approving self kubelet client certificate after SubjectAccessReview.",
    onlySelf: true,
  },
  {
    subresource: "nodeclient",
    message: "Auto approving kubelet client certificate after SubjectAccessReview.",
    onlySelf: false,
  },
] as const;

/** Works on `user/request`. Follows the log of signing requests. */
export class RequestApprover implements Controller {
  readonly follows: Follows;
  readonly pace: Pace = { workers: limits.signingRequestsAtOnce, laneOf };
  readonly #server: Server;
  readonly #requests: SigningRequests;
  readonly #actor: Actor;
  /** Picks requests of the signer from the log, without reading others. */
  readonly #isOfSigner: Match;

  private constructor(server: Server, requests: SigningRequests) {
    this.#server = server;
    this.#requests = requests;
    this.#actor = new Actor(server.writers, controllerManager, controllerUser);
    const value = server.identity.spell(apiserverClientNodeAgent.name);
    const match = compileSelector({ labels: [], fields: [{ field: "spec.signerName", operator: "=", value }] });
    assert(match !== undefined, "A selector of one field is no selector for everything");
    this.#isOfSigner = match;
    const { view } = requests;
    this.follows = [[view, (queue, at, type) => type !== recordTypes.delete && this.#note(queue, at)]];
  }

  /** Undefined: signing requests are not served. */
  static of(server: Server): RequestApprover | undefined {
    const requests = SigningRequests.of(server);
    return requests && new RequestApprover(server, requests);
  }

  all(queue: Queue): Promise<void> {
    this.#requests.view.drain();
    return queue.scan(this.#requests.view, (at) => this.#note(queue, at));
  }

  async work(key: string): Promise<Result> {
    const name = nameOf(key);
    const request = this.#requests.get(name);
    if (request === undefined || !isUndecided(request)) return undefined;
    const asked = this.#recognize(request);
    if (asked === undefined) return undefined;
    const granted = await this.#granted(request, asked.commonName);
    if (granted === undefined) return { againMs: this.#pauseMs(request) };
    if ("overloaded" in granted) return { cause: granted.overloaded, message: `Request ${name} cannot be authorized` };
    failpoint("before-approval");
    const target = { resource: this.#requests.resource, name, subresource: "approval" };
    const done = await this.#actor.update<StoredRequest>(target, (now) => {
      if (now.metadata.uid !== request.metadata.uid || !isUndecided(now)) return settled;
      const approved = { type: "Approved", status: "True", reason: "AutoApproved", message: granted.message };
      now.status.conditions = [...(now.status.conditions ?? []), approved];
      return undefined;
    });
    failpoint("after-approval");
    return failureOf(done, `Request ${name} cannot be approved`);
  }

  #note(queue: Queue, at: Location): void {
    if (!this.#isOfSigner(this.#requests.view, at)) return;
    const key = this.#requests.keyOf(at, this.#server.identity, isUndecided);
    if (key !== undefined) queue.add(key);
  }

  /** What a request asks for; undefined: it is none that is approved here. */
  #recognize({ spec }: StoredRequest): { readonly commonName: string } | undefined {
    const pem = Buffer.from(spec.request ?? "", "base64");
    if (spec.signerName !== this.#server.identity.spell(apiserverClientNodeAgent.name)) return undefined;
    if (pem.length > limits.signedRequestBytesMax) return undefined;
    const request = readSigningRequest(pem);
    if (typeof request === "string") return undefined;
    if (apiserverClientNodeAgent.faultOf({ request, usages: spec.usages ?? [] }) !== undefined) return undefined;
    return { commonName: commonNameOf(request) };
  }

  /** The first permission the requester has; undefined: none. */
  async #granted(
    { spec }: StoredRequest,
    commonName: string,
  ): Promise<{ readonly message: string } | { readonly overloaded: unknown } | undefined> {
    const { authorizer, identity } = this.#server;
    const user = requesterOf(spec);
    for (const { subresource, message, onlySelf } of permissions) {
      if (onlySelf && user.name !== commonName) continue;
      const { verdict, overloaded, error, reason }: Decision = await authorizer.authorize({
        user,
        verb: "create",
        isResource: true,
        group: identity.spell(certificatesGroup),
        version: "*",
        resource: "certificatesigningrequests",
        subresource,
        namespace: "",
        name: "",
        path: "",
        owner: ownerOf(identity, user),
      });
      if (verdict === "allow") return { message };
      if (overloaded === true) return { overloaded: error ?? reason };
    }
    return undefined;
  }

  /** A grant that is made later is found by looking again, after as long as the request has been there. */
  #pauseMs({ metadata }: StoredRequest): number {
    const ageMs = this.#server.clock.now() - (parseTime(metadata.creationTimestamp ?? "") ?? 0);
    return Math.min(limits.approvalLookMsMax, Math.max(limits.approvalLookMsMin, ageMs));
  }
}

/** Whether a request is neither approved nor denied. */
function isUndecided(request: StoredRequest): boolean {
  return !hasCondition(request, "Approved") && !hasCondition(request, "Denied") && !request.status.certificate;
}
