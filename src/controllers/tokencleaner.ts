// Removes bootstrap tokens when their time is over. They let nobody in by then; this keeps them from piling up. A time
// that cannot be read is over (upstream: tokencleaner of its controllers, off by default).
import type { Secret } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus } from "../api/status.ts";
import { assert } from "../base/assert.ts";
import { compileSelector, type Match } from "../cache/fanout/select.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";
import { Actor } from "./actor.ts";
import { Reconciler, type Report } from "./reconciler.ts";

/** Runs from start() to stop(). */
export class TokenCleaner {
  readonly #writers: WriteServices;
  readonly #actor: Actor;
  readonly #report: Report;
  readonly #passes: Reconciler;
  readonly #secrets: Resource;
  readonly #view: LogView;
  readonly #isToken: Match;
  readonly #namespace: string;

  constructor(writers: WriteServices, report: Report) {
    this.#writers = writers;
    this.#actor = new Actor(writers, "kube-controller-manager", "system:serviceaccount:kube-system:token-cleaner");
    this.#report = report;
    this.#passes = new Reconciler(
      () => this.#pass(),
      (error) => report("Looking for expired bootstrap tokens failed", error),
    );
    const secrets = writers.scheme.find("", "v1", "secrets");
    assert(secrets?.prefix !== undefined, "Secrets are stored");
    this.#secrets = secrets;
    this.#view = writers.views.log(secrets.prefix);
    const { spell } = writers.scheme.identity;
    this.#namespace = spell("kube-system");
    const value = spell("bootstrap.kubernetes.io/token");
    const match = compileSelector({ labels: [], fields: [{ field: "type", operator: "=", value }] });
    assert(match !== undefined, "A selector of one field is no selector for everything");
    this.#isToken = match;
  }

  start(): void {
    this.#passes.follow([this.#view]);
  }

  stop(): void {
    this.#passes.stop();
  }

  /** Removes what is over, and looks again when the next one is. */
  async #pass(): Promise<void> {
    const now = this.#writers.clock.now();
    const over: (ApiObject & Secret)[] = [];
    let nextMs = Number.POSITIVE_INFINITY;
    this.#view.drain();
    this.#view.scan(this.#namespace, "", 0, (at) => {
      if (!this.#isToken(this.#view, at)) return true;
      const secret = decodeStored(this.#secrets, this.#view.object(at)) as ApiObject & Secret;
      const endMs = endOf(secret);
      if (endMs <= now) over.push(secret);
      else nextMs = Math.min(nextMs, endMs - now);
      return true;
    });
    for (const { metadata } of over) {
      const { name = "", uid } = metadata;
      const target = { resource: this.#secrets, namespace: this.#namespace, name };
      const done = await this.#actor.delete(target, uid === undefined ? {} : { preconditions: { uid } });
      if (!isStatus(done) || done.success || done.reason === "NotFound" || done.reason === "Conflict") continue;
      this.#report(`The expired bootstrap token ${name} cannot be removed`, done);
      nextMs = Math.min(nextMs, limits.companionRetryMs);
    }
    // A timer holds 24 days; a token that lasts longer is looked at again before.
    if (nextMs !== Number.POSITIVE_INFINITY) this.#passes.askIn(Math.min(nextMs, limits.tokenLookMsMax));
  }
}

/** When a token ends, milliseconds since 1970; never when it says nothing. */
function endOf({ data }: Secret): number {
  const text = Buffer.from(data?.get("expiration") ?? "", "base64").toString();
  if (text === "") return Number.POSITIVE_INFINITY;
  const parsed = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(parsed) ? 0 : parsed;
}
