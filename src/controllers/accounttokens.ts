// Secrets of service accounts: whoever makes one of their type, with the annotation that names an account, finds the
// account's token in it a moment later. A secret ends with its account; an account that lists a secret forgets it when
// the secret ends (upstream: tokens_controller.go of its service account controllers).
import type { Secret, ServiceAccount } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus, type Status } from "../api/status.ts";
import { signLegacyToken } from "../authn/accountkeys.ts";
import { assert } from "../base/assert.ts";
import { compileSelector, type Match } from "../cache/fanout/select.ts";
import { type Location, recordTypes } from "../cache/shared/record.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import type { Server } from "../request/call/context.ts";
import type { Written } from "../request/commit/writerequest.ts";
import { Actor } from "./actor.ts";
import type { Controller, Follows, Queue, Result } from "./reconciler.ts";

type Kept = ApiObject & Secret;
type Account = ApiObject & ServiceAccount;

/**
 * Works on `namespace/secret`, which is to be looked at, and on `namespace/account/secret`, where an account is to forget
 * a secret. Follows the logs of secrets and of service accounts.
 */
export class AccountTokenController implements Controller {
  readonly follows: Follows;
  readonly #server: Server;
  readonly #actor: Actor;
  readonly #authority: string;
  readonly #secrets: Resource;
  readonly #accounts: Resource;
  readonly #secretLog: LogView;
  /** Picks secrets of the type from the log, without reading them. */
  readonly #isToken: Match;
  readonly #nameKey: string;
  readonly #uidKey: string;

  /** `authority`: PEM that pods verify this server by. */
  constructor(server: Server, authority: string) {
    this.#server = server;
    this.#actor = new Actor(server.writers, "kube-controller-manager", "system:kube-controller-manager");
    this.#authority = authority;
    const [accounts, accountLog] = storedIn(server, "serviceaccounts");
    this.#accounts = accounts;
    [this.#secrets, this.#secretLog] = storedIn(server, "secrets");
    const { spell } = server.identity;
    this.#nameKey = spell("kubernetes.io/service-account.name");
    this.#uidKey = spell("kubernetes.io/service-account.uid");
    const type = spell("kubernetes.io/service-account-token");
    const match = compileSelector({ labels: [], fields: [{ field: "type", operator: "=", value: type }] });
    assert(match !== undefined, "A selector of one field is no selector for everything");
    this.#isToken = match;
    this.follows = [
      [this.#secretLog, (queue, at, type) => this.#noteSecret(queue, at, type === recordTypes.delete)],
      [
        accountLog,
        (queue, at) => {
          const key = accountLog.keyOf(at);
          this.#noteSecretsOf(queue, key.slice(0, key.indexOf("/")));
        },
      ],
    ];
  }

  all(queue: Queue): Promise<void> {
    this.#secretLog.drain();
    return queue.scan(this.#secretLog, (at, key) => {
      if (this.#isToken(this.#secretLog, at)) queue.add(key);
    });
  }

  async work(key: string): Promise<Result> {
    const [namespace = "", name = "", secret] = key.split("/");
    const done = await (secret === undefined ? this.#fill(namespace, name) : this.#forget(namespace, name, secret));
    if (!isStatus(done) || done.success || done.reason === "NotFound" || done.reason === "Conflict") return undefined;
    return { cause: done, message: `The token of service account in ${key} cannot be looked after` };
  }

  #noteSecret(queue: Queue, at: Location, gone: boolean): void {
    if (!this.#isToken(this.#secretLog, at)) return;
    if (!gone) return queue.add(this.#secretLog.keyOf(at));
    const { metadata } = decodeStored(this.#secrets, this.#secretLog.object(at));
    const account = metadata.annotations?.get(this.#nameKey);
    if (account !== undefined) queue.add(`${metadata.namespace ?? ""}/${account}/${metadata.name ?? ""}`);
  }

  /** Every secret of the type in a namespace. */
  #noteSecretsOf(queue: Queue, namespace: string): void {
    this.#secretLog.drain();
    this.#secretLog.scan(namespace, "", 0, (at, key) => {
      if (this.#isToken(this.#secretLog, at)) queue.add(key);
      return true;
    });
  }

  /** Fills a secret, or removes it when its account is not there, or is another one of that name. */
  async #fill(namespace: string, name: string): Promise<Written | Status | undefined> {
    const { objects, identity, authn } = this.#server;
    const secret = objects.read<Kept>("", "v1", "secrets", namespace, name);
    if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return undefined;
    const { annotations, uid } = secret.metadata;
    const account = objects.read<Account>(
      "",
      "v1",
      "serviceaccounts",
      namespace,
      annotations?.get(this.#nameKey) ?? "",
    );
    const meant = annotations?.get(this.#uidKey);
    const accountUid = account?.metadata.uid ?? "";
    if (account === undefined || (meant !== undefined && meant !== "" && meant !== accountUid)) {
      const target = { resource: this.#secrets, namespace, name };
      return this.#actor.delete(target, uid === undefined ? {} : { preconditions: { uid } });
    }
    const missing = this.#missing(secret, namespace);
    if (missing.size === 0 && meant === accountUid) return undefined;
    if (!secret.data?.get("token")) {
      const claims = {
        namespace,
        account: { name: account.metadata.name ?? "", uid: accountUid },
        secretName: name,
      };
      const token = await signLegacyToken(authn.accounts.controllerSigner, identity, claims);
      missing.set("token", Buffer.from(token).toString("base64"));
    }
    return this.#actor.update<Kept>({ resource: this.#secrets, namespace, name }, (found) => {
      // Somebody else may have been there meanwhile; a token that is there stays.
      for (const [key, value] of missing) {
        found.data ??= new Map();
        if (key !== "token" || !found.data.get(key)) found.data.set(key, value);
      }
      found.metadata.annotations ??= new Map();
      found.metadata.annotations.set(this.#uidKey, accountUid);
      return undefined;
    });
  }

  /** What a secret lacks beside its token, in base64. */
  #missing({ data }: Kept, namespace: string): Map<string, string> {
    const missing = new Map<string, string>();
    const authority = Buffer.from(this.#authority).toString("base64");
    if (this.#authority !== "" && data?.get("ca.crt") !== authority) missing.set("ca.crt", authority);
    if (!data?.get("namespace")) missing.set("namespace", Buffer.from(namespace).toString("base64"));
    if (!data?.get("token")) missing.set("token", "");
    return missing;
  }

  /** Takes a secret that is gone from an account's list. */
  async #forget(namespace: string, name: string, secret: string): Promise<Written | Status | undefined> {
    this.#secretLog.drain();
    if (this.#secretLog.get(namespace, secret) !== 0) return undefined;
    const account = this.#server.objects.read<Account>("", "v1", "serviceaccounts", namespace, name);
    if (account?.secrets?.some((reference) => reference.name === secret) !== true) return undefined;
    return this.#actor.update<Account>({ resource: this.#accounts, namespace, name }, (found) => {
      found.secrets = found.secrets?.filter((reference) => reference.name !== secret);
      return undefined;
    });
  }
}

function storedIn({ scheme, views }: Server, plural: string): [Resource, LogView] {
  const resource = scheme.find("", "v1", plural);
  assert(resource?.prefix !== undefined, `${plural} are stored`);
  return [resource, views.log(resource.prefix)];
}
