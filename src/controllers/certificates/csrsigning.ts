// Signs requests that were approved, in the pool, and writes certificate or refusal to their status (upstream: csrsigning
// of its controllers). What is written is checked against the newest state, so that a request has one certificate, however
// often signing begins anew.
import { ownerOf } from "../../authz/owner.ts";
import { failpoint } from "../../base/failpoint.ts";
import { type Location, recordTypes } from "../../cache/shared/record.ts";
import { limits } from "../../config/limits.ts";
import type { AuthorityBundle } from "../../pki/authority.ts";
import { serialNumber } from "../../pki/issue.ts";
import type { Pool } from "../../pool/pool.ts";
import type { Server } from "../../request/call/context.ts";
import { Actor, failureOf } from "../actor.ts";
import type { Controller, Follows, Pace, Queue, Result } from "../reconciler.ts";
import {
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
import { type SignOutput, signTask } from "./signtask.ts";

/** What signs, and for how long at most. */
export interface Signing {
  /** By the name of their signer, in canonical spelling: requests for others are left alone. */
  readonly authorities: ReadonlyMap<string, AuthorityBundle>;
  /** The longest life of a certificate, and what it is unless its request asks for less, in milliseconds. */
  readonly lifeMsMax: number;
  /** Where signing runs. */
  readonly pool: Pool;
}

/** Reason of the condition Failed (upstream). */
const refusalReason = "SignerValidationFailure";

/** Works on `user/request`. Follows the log of signing requests. */
export class RequestSigner implements Controller {
  readonly follows: Follows;
  readonly pace: Pace = { workers: limits.signingRequestsAtOnce, laneOf };
  readonly #server: Server;
  readonly #requests: SigningRequests;
  readonly #actor: Actor;
  readonly #signing: Signing;
  /** Canonical names of signers by the identity's. */
  readonly #signers: ReadonlyMap<string, string>;

  private constructor(server: Server, requests: SigningRequests, signing: Signing) {
    this.#server = server;
    this.#requests = requests;
    this.#signing = signing;
    this.#actor = new Actor(server.writers, controllerManager, controllerUser);
    this.#signers = new Map([...signing.authorities.keys()].map((name) => [server.identity.spell(name), name]));
    const { view } = requests;
    this.follows = [[view, (queue, at, type) => type !== recordTypes.delete && this.#note(queue, at)]];
  }

  /** Undefined: signing requests are not served. */
  static of(server: Server, signing: Signing): RequestSigner | undefined {
    const requests = SigningRequests.of(server);
    return requests && new RequestSigner(server, requests, signing);
  }

  all(queue: Queue): Promise<void> {
    this.#requests.view.drain();
    return queue.scan(this.#requests.view, (at) => this.#note(queue, at));
  }

  async work(key: string): Promise<Result> {
    const name = nameOf(key);
    const request = this.#requests.get(name);
    if (request === undefined || !this.#isMine(request)) return undefined;
    const signed = await this.#sign(request);
    if ("cause" in signed) return { ...signed, message: `Request ${name} cannot be signed` };
    failpoint("before-certificate");
    const target = { resource: this.#requests.resource, name, subresource: "status" };
    const done = await this.#actor.update<StoredRequest>(target, (now) => {
      if (now.metadata.uid !== request.metadata.uid || !isToSign(now)) return settled;
      if (signed.refused === undefined) now.status.certificate = Buffer.from(signed.certificate).toString("base64");
      else {
        const failed = { type: "Failed", status: "True", reason: refusalReason, message: signed.refused };
        now.status.conditions = [...(now.status.conditions ?? []), failed];
      }
      return undefined;
    });
    failpoint("after-certificate");
    return failureOf(done, `The certificate of request ${name} cannot be written`);
  }

  #note(queue: Queue, at: Location): void {
    const key = this.#requests.keyOf(at, this.#server.identity, (request) => this.#isMine(request));
    if (key !== undefined) queue.add(key);
  }

  #isMine(request: StoredRequest): boolean {
    return this.#signers.has(request.spec.signerName) && isToSign(request);
  }

  async #sign({ spec }: StoredRequest): Promise<SignOutput | { readonly cause: unknown }> {
    const { clock, identity } = this.#server;
    const { authorities, lifeMsMax, pool } = this.#signing;
    const signer = this.#signers.get(spec.signerName) ?? "";
    const bundle = authorities.get(signer);
    const authority = bundle?.authority;
    if (bundle === undefined || authority === undefined) return { cause: new Error(`${signer} has no authority`) };
    const nowMs = clock.now();
    if (nowMs >= authority.notAfter) {
      return {
        cause: new Error(
          `the authority in ${bundle.files.certFile} ended at ${new Date(authority.notAfter).toISOString()}`,
        ),
      };
    }
    const lifeMs = Math.min(lifeMsMax, (spec.expirationSeconds ?? Number.POSITIVE_INFINITY) * 1000);
    const input = {
      signer,
      request: Buffer.from(spec.request ?? "", "base64"),
      usages: spec.usages ?? [],
      lifeMs,
      nowMs,
      serial: serialNumber(),
      authority,
    };
    const owner = ownerOf(identity, requesterOf(spec));
    const output = await pool.run(signTask, input, { owner, msMax: limits.signingMsMax });
    if (!("fault" in output)) return output;
    return { cause: output.fault === "failed" ? output.error : new Error(`the pool is ${output.fault}`) };
  }
}

/** Whether a request was approved and nothing came of it yet. */
function isToSign(request: StoredRequest): boolean {
  if (!hasCondition(request, "Approved") || request.status.certificate) return false;
  return !hasCondition(request, "Denied") && !hasCondition(request, "Failed");
}
