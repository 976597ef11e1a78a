// Deletes signing requests that are over: an hour after they were issued, denied or failed, a day after
// they were made when they were neither approved nor denied, and when the issued certificate ends (upstream: csrcleaner of its controllers).
// Each is looked at when its time comes, where upstream looks at all of them once an hour.
import { X509Certificate } from "node:crypto";
import { parseTime } from "../../api/time.ts";
import { recordTypes } from "../../cache/shared/record.ts";
import { limits } from "../../config/limits.ts";
import { nextPemBlock } from "../../pki/pem.ts";
import type { Server } from "../../request/call/context.ts";
import { Actor, failureOf } from "../actor.ts";
import type { Controller, Follows, Pace, Queue, Result } from "../reconciler.ts";
import {
  controllerManager,
  controllerUser,
  hasCondition,
  SigningRequests,
  type StoredRequest,
} from "./signingrequests.ts";

/** Works on names of requests. Follows the log of signing requests. */
export class RequestCleaner implements Controller {
  readonly follows: Follows;
  readonly pace: Pace = { workers: limits.signingRequestsAtOnce };
  readonly #server: Server;
  readonly #requests: SigningRequests;
  readonly #actor: Actor;

  private constructor(server: Server, requests: SigningRequests) {
    this.#server = server;
    this.#requests = requests;
    this.#actor = new Actor(server.writers, controllerManager, controllerUser);
    const { view } = requests;
    this.follows = [[view, (queue, at, type) => type !== recordTypes.delete && queue.add(view.keyOf(at))]];
  }

  /** Undefined: signing requests are not served. */
  static of(server: Server): RequestCleaner | undefined {
    const requests = SigningRequests.of(server);
    return requests && new RequestCleaner(server, requests);
  }

  all(queue: Queue): Promise<void> {
    this.#requests.view.drain();
    return queue.scan(this.#requests.view, (_at, key) => queue.add(key));
  }

  /** Deletes a request whose time is over, and looks at any other again when it is. */
  async work(name: string): Promise<Result> {
    const request = this.#requests.get(name);
    if (request === undefined || request.metadata.deletionTimestamp !== undefined) return undefined;
    const leftMs = endOf(request) - this.#server.clock.now();
    if (leftMs === Number.POSITIVE_INFINITY) return undefined;
    // The wall clock may be put right meanwhile.
    if (leftMs > 0) return { againMs: Math.min(leftMs, limits.timerMsMax) };
    const { uid, resourceVersion } = request.metadata;
    // What it was judged by is what is deleted.
    const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
    const done = await this.#actor.delete({ resource: this.#requests.resource, name }, { preconditions });
    return failureOf(done, `The signing request ${name} cannot be deleted`);
  }
}

/** When a request is to go, milliseconds since 1970; infinite: never. A time that is not there is none. */
function endOf(request: StoredRequest): number {
  const { metadata, status } = request;
  const conditions = status.conditions ?? [];
  const ends = [Number.POSITIVE_INFINITY];
  if (conditions.length === 0) ends.push(msOf(metadata.creationTimestamp) + limits.pendingRequestMsMax);
  for (const { type, lastUpdateTime } of conditions) {
    const isOver = type === "Denied" || type === "Failed" || (type === "Approved" && status.certificate);
    if (isOver) ends.push(msOf(lastUpdateTime) + limits.decidedRequestMsMax);
  }
  if (status.certificate && hasCondition(request, "Approved")) ends.push(endOfCertificate(status.certificate));
  return Math.min(...ends);
}

function msOf(time: string | undefined): number {
  return parseTime(time ?? "") ?? Number.POSITIVE_INFINITY;
}

/** When the first certificate of a status ends; infinite where none can be read: others may sign, too. */
function endOfCertificate(text: string): number {
  const found = nextPemBlock(Buffer.from(text, "base64").toString("latin1"));
  try {
    const until = Date.parse(new X509Certificate(found?.block.bytes ?? "").validTo);
    return Number.isNaN(until) ? Number.POSITIVE_INFINITY : until;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
