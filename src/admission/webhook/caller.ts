// Calling a webhook: finding it by url or service, one client per peer, one review per call, and a time limit of its own,
// which begins when it is sent. Where the request's time ends first, or the call is not sent in time, the webhook has
// not failed: the write is refused.
import { randomUUID } from "node:crypto";
import type { WebhookClientConfig } from "../../api/gen/admissionregistration/v1.ts";
import type { Service } from "../../api/gen/core/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import { Status, timedOut } from "../../api/status.ts";
import { ownerOf } from "../../authz/owner.ts";
import { writeValue } from "../../codec/engine/json.ts";
import { checkedBefore } from "../../config/filecheck.ts";
import { CallFailure, type Connection } from "../../outbound/client.ts";
import type { Logins } from "../../outbound/connection.ts";
import { connectionOf, Peers } from "../../outbound/peers.ts";
import type { Attributes, Environment } from "../plugin.ts";
import type { Hook } from "./hooks.ts";
import { loginFor, readWebhookLogins } from "./logins.ts";
import { makeReview, type Reviewed, readVerdict, reviewVersion, type Verdict } from "./review.ts";

/** Default of timeoutSeconds. */
const timeoutSecondsDefault = 10;

/** Why a webhook gave no verdict: its failure policy decides, unless there is a refusal. */
export class HookFailure {
  readonly message: string;
  /** What is counted: what the webhook answered, 503 where that was nothing or no answer, else as a refusal of ours. */
  readonly code: number;
  /** The webhook did not fail, it was not asked in time: no policy overlooks that. */
  readonly refusal: Status | undefined;

  constructor(message: string, code: number, refusal?: Status) {
    this.message = message;
    this.code = code;
    this.refusal = refusal;
  }
}

/** 429 for a write whose webhook has too many calls of this server waiting. */
const tooManyCalls = new Status(
  429,
  "TooManyRequests",
  "The server has too many calls of an admission webhook waiting, please try again later.",
  { retryAfterSeconds: 1 },
);

/** Calls webhooks for one plugin. */
export class HookCaller {
  readonly #environment: Environment;
  readonly #peers = new Peers();
  /** A text: the file was good when the server started, and is not any more; why. */
  readonly #logins: Logins | string;

  constructor(environment: Environment) {
    this.#environment = environment;
    this.#logins = readWebhookLogins(environment.settings, checkedBefore);
  }

  /** One call; never rejects. */
  async call(hook: Hook, attributes: Attributes, reviewed: Reviewed): Promise<Verdict | HookFailure> {
    const { identity, clock } = this.#environment;
    const { clientConfig, admissionReviewVersions, name, timeoutSeconds = timeoutSecondsDefault } = hook.hook;
    const version = reviewVersion(admissionReviewVersions);
    if (version === undefined)
      return new HookFailure("webhook does not accept known AdmissionReview versions (v1, v1beta1)", 400);
    const connection = this.#connectionOf(clientConfig);
    if (typeof connection === "string") return new HookFailure(connection, 500);
    const leftMs = (): number => attributes.deadline - clock.monotonic();
    if (leftMs() <= 0) return new HookFailure("request timed out before the webhook was called", 504, timedOut);
    const timeoutMs = timeoutSeconds * 1000;
    const uid = randomUUID();
    const { spans } = attributes;
    const answer = await this.#peers.clientOf(connection).call({
      method: "POST",
      query: `timeout=${Math.max(1, Math.round(Math.min(timeoutMs, leftMs()) / 1000))}s`,
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: writeValue(makeReview(identity, version, uid, attributes, reviewed)),
      timeoutMs,
      leftMs,
      owner: ownerOf(identity, attributes.user),
      traced: spans && { spans, name: `webhook ${name}` },
    });
    if (answer instanceof CallFailure) {
      if (answer.failure === "busy") return new HookFailure(answer.message, tooManyCalls.code, tooManyCalls);
      if (answer.failure === "late") return new HookFailure(answer.message, timedOut.code, timedOut);
      const why = answer.failure === "timeout" ? "context deadline exceeded" : answer.message;
      return new HookFailure(`failed to call webhook: Post ${JSON.stringify(connection.url)}: ${why}`, 503);
    }
    if (answer.code !== 200) {
      return new HookFailure(`failed to call webhook: the server answered ${answer.code}`, answer.code);
    }
    const verdict = readVerdict(answer.body, identity, version, uid, name);
    return typeof verdict === "string"
      ? new HookFailure(`received invalid webhook response: ${verdict}`, 503)
      : verdict;
  }

  close(): void {
    this.#peers.close();
  }

  /** Where a webhook is; a text says why nowhere. */
  #connectionOf(config: WebhookClientConfig): Connection | string {
    const logins = this.#logins;
    if (typeof logins === "string") return `its credentials cannot be read: ${logins}`;
    const { objects } = this.#environment;
    const serviceAt = (namespace: string, name: string): Service | undefined =>
      objects.read<ApiObject & Service>("", "v1", "services", namespace, name);
    return connectionOf(config, serviceAt, (host, port) => loginFor(logins, host, port));
  }
}
