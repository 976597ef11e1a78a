// Secrets of service accounts: one of their type, with the annotation that names an account, has the account's token in
// it a moment after it was made. A secret ends with its account; an account that lists a secret forgets it when the secret
// ends. Each account has one such secret made for it, and lists it, unless a gate says otherwise (upstream:
// tokens_controller.go of its service account controllers).
import type { Secret, ServiceAccount } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus, type Status } from "../api/status.ts";
import { signLegacyToken } from "../authn/accountkeys.ts";
import { assert } from "../base/assert.ts";
import { compileSelector, type Match } from "../cache/fanout/select.ts";
import { type Location, recordTypes } from "../cache/shared/record.ts";
import type { LogView } from "../cache/view/view.ts";
import { toValue } from "../codec/engine/json.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { noTokenSecrets } from "../config/gates.ts";
import { limits } from "../config/limits.ts";
import type { Server } from "../request/call/context.ts";
import { generatedPrefixMax, generateName } from "../request/commit/metadata.ts";
import type { Written } from "../request/commit/writerequest.ts";
import { Actor, failureOf, isOfEndingNamespace } from "./actor.ts";
import type { Controller, Follows, Pace, Queue, Result } from "./reconciler.ts";
import { storedKind } from "./storedkind.ts";

type Kept = ApiObject & Secret;
type Account = ApiObject & ServiceAccount;

const manager = "kube-controller-manager";

/** Tries to make a secret under a random name that is free. */
const namesMax = 8;

/**
 * Works on `namespace/secret`, which is to be looked at; on `namespace/account/secret`, where an account is to forget a
 * secret; on `namespace/account/`, which is to list a secret of its own; and on `namespace//`, all secrets of which are
 * to be looked at. Follows the logs of secrets and of service accounts.
 */
export class AccountTokenController implements Controller {
  readonly follows: Follows;
  /** Several at once share a commit. */
  readonly pace: Pace = { workers: limits.companionWritesMax };
  readonly #server: Server;
  readonly #actor: Actor;
  readonly #authority: string;
  readonly #secrets: Resource;
  readonly #accounts: Resource;
  readonly #secretLog: LogView;
  readonly #accountLog: LogView;
  /** Every account has a secret made for it. */
  readonly #makes: boolean;
  readonly #type: string;
  /** Picks secrets of the type from the log, without reading them. */
  readonly #isToken: Match;
  readonly #nameKey: string;
  readonly #uidKey: string;

  /** `authority`: PEM that pods verify this server by. */
  constructor(server: Server, authority: string) {
    this.#server = server;
    this.#actor = new Actor(server.writers, manager, "system:kube-controller-manager");
    this.#authority = authority;
    this.#makes = !server.scheme.gates.has(noTokenSecrets);
    const accounts = storedKind(server, "", "v1", "serviceaccounts");
    this.#accounts = accounts.resource;
    this.#accountLog = accounts.view;
    const secrets = storedKind(server, "", "v1", "secrets");
    this.#secrets = secrets.resource;
    this.#secretLog = secrets.view;
    const { spell } = server.identity;
    this.#nameKey = spell("kubernetes.io/service-account.name");
    this.#uidKey = spell("kubernetes.io/service-account.uid");
    this.#type = spell("kubernetes.io/service-account-token");
    const match = compileSelector({ labels: [], fields: [{ field: "type", operator: "=", value: this.#type }] });
    assert(match !== undefined, "A selector of one field is no selector for everything");
    this.#isToken = match;
    this.follows = [
      [this.#secretLog, (queue, at, type) => this.#noteSecret(queue, at, type === recordTypes.delete)],
      [this.#accountLog, (queue, at, type) => this.#noteAccount(queue, at, type === recordTypes.delete)],
    ];
  }

  async all(queue: Queue): Promise<void> {
    this.#secretLog.drain();
    await queue.scan(this.#secretLog, (at, key) => {
      if (this.#isToken(this.#secretLog, at)) queue.add(key);
    });
    this.#accountLog.drain();
    if (this.#makes) await queue.scan(this.#accountLog, (_at, key) => queue.add(`${key}/`));
  }

  async work(key: string, queue: Queue): Promise<Result> {
    const [namespace = "", name = "", secret] = key.split("/");
    if (secret === "" && name === "") return this.#lookAt(namespace, queue);
    const done = await (secret === undefined
      ? this.#fill(namespace, name)
      : secret === ""
        ? this.#provide(namespace, name)
        : this.#forget(namespace, name, secret));
    if (done === undefined) return undefined;
    // Nothing can be made in a namespace that ends, and what is there goes with it.
    if (isStatus(done) && isOfEndingNamespace(done)) return undefined;
    return failureOf(done, `The token of service account in ${key} cannot be looked after`);
  }

  #noteSecret(queue: Queue, at: Location, gone: boolean): void {
    if (!this.#isToken(this.#secretLog, at)) return;
    if (!gone) return queue.add(this.#secretLog.keyOf(at));
    const { metadata } = decodeStored(this.#secrets, this.#secretLog.object(at));
    const account = metadata.annotations?.get(this.#nameKey);
    if (account !== undefined) queue.add(`${metadata.namespace ?? ""}/${account}/${metadata.name ?? ""}`);
  }

  #noteAccount(queue: Queue, at: Location, gone: boolean): void {
    const key = this.#accountLog.keyOf(at);
    // Secrets that were there before their account are gone: each was looked at when it came.
    if (gone) queue.add(`${key.slice(0, key.indexOf("/"))}//`);
    else if (this.#makes) queue.add(`${key}/`);
  }

  /** Every secret of the type in a namespace is looked at. */
  async #lookAt(namespace: string, queue: Queue): Promise<undefined> {
    this.#secretLog.drain();
    const look = (at: Location, key: string): void => {
      if (this.#isToken(this.#secretLog, at)) queue.add(key);
    };
    await queue.scan(this.#secretLog, look, { namespace });
  }

  /** Makes a secret for an account and has the account list it, unless it lists one of its own. */
  async #provide(namespace: string, name: string): Promise<Written | Status | undefined> {
    const account = this.#account(namespace, name);
    if (account === undefined || account.metadata.deletionTimestamp !== undefined) return undefined;
    if (this.#hasSecret(account)) return undefined;
    const made = this.#unlisted(account) ?? (await this.#make(account));
    if (isStatus(made)) return made;
    const { metadata } = made;
    let isListed = false;
    const done = await this.#actor.update<Account>({ resource: this.#accounts, namespace, name }, (found) => {
      isListed = false;
      if (found.metadata.uid !== account.metadata.uid || this.#hasSecret(found)) return undefined;
      found.secrets = [...(found.secrets ?? []), { name: metadata.name }];
      isListed = true;
      return undefined;
    });
    if (isListed && !isStatus(done)) return undefined;
    const { uid } = metadata;
    const target = { resource: this.#secrets, namespace, name: metadata.name ?? "" };
    const removed = await this.#actor.delete(target, uid === undefined ? {} : { preconditions: { uid } });
    return isStatus(done) ? done : removed;
  }

  /** A secret with a token for an account, under a name that no secret had: a token is as good as its secret's name. */
  async #make({ metadata: { namespace = "", name = "", uid = "" } }: Account): Promise<Kept | Status> {
    for (let tries = 1; ; tries++) {
      const secretName = generateName(`${name}-token-`);
      const token = await this.#sign(namespace, { name, uid }, secretName);
      const secret = {
        metadata: {
          name: secretName,
          annotations: new Map([
            [this.#nameKey, name],
            [this.#uidKey, uid],
          ]),
        },
        type: this.#type,
        data: new Map([...this.#missing({ data: undefined }, namespace), ["token", token]]),
      };
      const target = { resource: this.#secrets, namespace };
      const done = await this.#actor.create(target, toValue(this.#secrets.message, secret));
      if (!isStatus(done)) return decodeStored(this.#secrets, Buffer.from(done.body)) as Kept;
      if (done.reason !== "AlreadyExists" || tries === namesMax) return done;
    }
  }

  #account(namespace: string, name: string): Account | undefined {
    return this.#server.objects.read<Account>("", "v1", "serviceaccounts", namespace, name);
  }

  /** Whether an account lists a secret with a token of its own. */
  #hasSecret({ metadata: { namespace = "", name, uid }, secrets = [] }: Account): boolean {
    this.#secretLog.drain();
    return secrets.some((reference) => {
      const at = this.#secretLog.get(namespace, reference.name ?? "");
      if (at === 0 || !this.#isToken(this.#secretLog, at)) return false;
      return this.#isOf(decodeStored(this.#secrets, this.#secretLog.object(at)), name, uid);
    });
  }

  /** Whether a secret's annotations name an account. */
  #isOf({ metadata: { annotations } }: ApiObject, name: string | undefined, uid: string | undefined): boolean {
    return annotations?.get(this.#nameKey) === name && annotations?.get(this.#uidKey) === uid;
  }

  /** A secret that was made for an account by a server that ended before the account listed it. */
  #unlisted({ metadata: { namespace = "", name = "", uid } }: Account): Kept | undefined {
    const base = `${name}-token-`.slice(0, generatedPrefixMax);
    const own = this.#server.identity.spell(manager);
    let found: Kept | undefined;
    // Names that begin so stand together.
    this.#secretLog.scan(namespace, `${namespace}/${base}`, 0, (at, key) => {
      if (!key.startsWith(`${namespace}/${base}`)) return false;
      if (!this.#isToken(this.#secretLog, at)) return true;
      const secret = decodeStored(this.#secrets, this.#secretLog.object(at)) as Kept;
      const { managedFields = [], deletionTimestamp } = secret.metadata;
      // Secrets of users are not listed, whatever their name.
      const isOwn = managedFields.length > 0 && managedFields.every((one) => one.manager === own);
      if (this.#isOf(secret, name, uid) && isOwn && deletionTimestamp === undefined) found = secret;
      return found === undefined;
    });
    return found;
  }

  /** Fills a secret, or removes it when its account is not there, or is another one of that name. */
  async #fill(namespace: string, name: string): Promise<Written | Status | undefined> {
    const secret = this.#server.objects.read<Kept>("", "v1", "secrets", namespace, name);
    if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return undefined;
    const { annotations, uid } = secret.metadata;
    const account = this.#account(namespace, annotations?.get(this.#nameKey) ?? "");
    const meant = annotations?.get(this.#uidKey);
    const accountUid = account?.metadata.uid ?? "";
    if (account === undefined || (meant !== undefined && meant !== "" && meant !== accountUid)) {
      const target = { resource: this.#secrets, namespace, name };
      return this.#actor.delete(target, uid === undefined ? {} : { preconditions: { uid } });
    }
    const missing = this.#missing(secret, namespace);
    if (missing.size === 0 && meant === accountUid) return undefined;
    if (!secret.data?.get("token")) {
      const { name: accountName = "" } = account.metadata;
      missing.set("token", await this.#sign(namespace, { name: accountName, uid: accountUid }, name));
    }
    return this.#actor.update<Kept>({ resource: this.#secrets, namespace, name }, (found) => {
      // A token that came meanwhile stays.
      for (const [key, value] of missing) {
        found.data ??= new Map();
        if (key !== "token" || !found.data.get(key)) found.data.set(key, value);
      }
      found.metadata.annotations ??= new Map();
      found.metadata.annotations.set(this.#uidKey, accountUid);
      return undefined;
    });
  }

  /** The token of an account that stands in a secret, in base64. */
  async #sign(namespace: string, account: { name: string; uid: string }, secretName: string): Promise<string> {
    const { identity, authn } = this.#server;
    const claims = { namespace, account, secretName };
    return base64(await signLegacyToken(authn.accounts.controllerSigner, identity, claims));
  }

  /** What a secret lacks beside its token, in base64. */
  #missing({ data }: Pick<Kept, "data">, namespace: string): Map<string, string> {
    const missing = new Map<string, string>();
    const authority = base64(this.#authority);
    if (this.#authority !== "" && data?.get("ca.crt") !== authority) missing.set("ca.crt", authority);
    if (!data?.get("namespace")) missing.set("namespace", base64(namespace));
    if (!data?.get("token")) missing.set("token", "");
    return missing;
  }

  /** Takes a secret that is gone from an account's list. */
  async #forget(namespace: string, name: string, secret: string): Promise<Written | Status | undefined> {
    this.#secretLog.drain();
    if (this.#secretLog.get(namespace, secret) !== 0) return undefined;
    const account = this.#account(namespace, name);
    if (account?.secrets?.some((reference) => reference.name === secret) !== true) return undefined;
    return this.#actor.update<Account>({ resource: this.#accounts, namespace, name }, (found) => {
      found.secrets = found.secrets?.filter((reference) => reference.name !== secret);
      return undefined;
    });
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
