// Removes bootstrap tokens when their time is over. They authenticate no client by then; this keeps them from piling up. A time
// that cannot be read is over (upstream: tokencleaner of its controllers, off by default).
import type { Secret } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { assert } from "../base/assert.ts";
import { failpoint } from "../base/failpoint.ts";
import { compileSelector, type Match } from "../cache/fanout/select.ts";
import type { Location } from "../cache/shared/record.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";
import { Actor, failureOf } from "./actor.ts";
import type { Controller, Follows, Queue, Result } from "./reconciler.ts";
import { storedKind } from "./storedkind.ts";

/** Works on names of secrets in the system's namespace. Follows the log of secrets. */
export class TokenCleaner implements Controller {
  readonly follows: Follows;
  readonly #writers: WriteServices;
  readonly #actor: Actor;
  readonly #secrets: Resource;
  readonly #view: LogView;
  readonly #isToken: Match;
  readonly #namespace: string;

  constructor(writers: WriteServices) {
    this.#writers = writers;
    this.#actor = new Actor(writers, "kube-controller-manager", "system:serviceaccount:kube-system:token-cleaner");
    const secrets = storedKind(writers, "", "v1", "secrets");
    this.#secrets = secrets.resource;
    this.#view = secrets.view;
    const { spell } = writers.scheme.identity;
    this.#namespace = spell("kube-system");
    const value = spell("bootstrap.kubernetes.io/token");
    const match = compileSelector({ labels: [], fields: [{ field: "type", operator: "=", value }] });
    assert(match !== undefined, "A selector of one field is no selector for everything");
    this.#isToken = match;
    this.follows = [[this.#view, (queue, at) => this.#note(queue, at, this.#view.keyOf(at))]];
  }

  all(queue: Queue): Promise<void> {
    this.#view.drain();
    return queue.scan(this.#view, (at, key) => this.#note(queue, at, key), { namespace: this.#namespace });
  }

  /** Removes a token that is over, and looks at any other again when it is. */
  async work(name: string): Promise<Result> {
    this.#view.drain();
    const at = this.#view.get(this.#namespace, name);
    if (at === 0 || !this.#isToken(this.#view, at)) return undefined;
    const secret = decodeStored(this.#secrets, this.#view.object(at)) as ApiObject & Secret;
    const leftMs = tokenEndMs(secret) - this.#writers.clock.now();
    if (leftMs === Number.POSITIVE_INFINITY) return undefined;
    // The wall clock may be put right meanwhile.
    if (leftMs > 0) return { againMs: Math.min(leftMs, limits.timerMsMax) };
    const { uid } = secret.metadata;
    const target = { resource: this.#secrets, namespace: this.#namespace, name };
    failpoint("cleaner-before-delete");
    const done = await this.#actor.delete(target, uid === undefined ? {} : { preconditions: { uid } });
    failpoint("cleaner-after-delete");
    return failureOf(done, `The expired bootstrap token ${name} cannot be removed`);
  }

  #note(queue: Queue, at: Location, key: string): void {
    const space = `${this.#namespace}/`;
    if (key.startsWith(space) && this.#isToken(this.#view, at)) queue.add(key.slice(space.length));
  }
}

/** When a bootstrap token ends, milliseconds since 1970; never when it says nothing, long ago when it cannot be read. */
export function tokenEndMs({ data }: Secret): number {
  const text = Buffer.from(data?.get("expiration") ?? "", "base64").toString();
  if (text === "") return Number.POSITIVE_INFINITY;
  const parsed = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(parsed) ? 0 : parsed;
}
