// Objects every active namespace has from its beginning to its end: the service account `default`, and the config map
// with the certificate authority of this server. Follows the logs of namespaces and of the companions; whoever deletes
// or changes one finds it again as it was.
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus } from "../api/status.ts";
import type { Value } from "../api/value.ts";
import { assert } from "../base/assert.ts";
import { nextTurn } from "../base/turn.ts";
import { compileSelector } from "../cache/fanout/select.ts";
import { eachChange } from "../cache/view/changes.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";
import { Actor } from "./actor.ts";
import { Reconciler, type Report } from "./reconciler.ts";

/** What every namespace is to have. */
export interface Companion {
  readonly resource: Resource;
  readonly name: string;
  /** Who writes it, in canonical spelling. */
  readonly userName: string;
  /** Fields beside metadata, as they are to be. */
  readonly content: ReadonlyMap<string, Value>;
  /** Whether a present one is as it should be; left out: its presence is enough. */
  readonly isRight?: (object: ApiObject) => boolean;
}

/** The service account pods run as that name none. */
export function defaultAccount(writers: WriteServices): Companion {
  const resource = writers.scheme.find("", "v1", "serviceaccounts");
  assert(resource !== undefined, "Service accounts are served");
  const userName = "system:serviceaccount:kube-system:service-account-controller";
  return { resource, name: "default", userName, content: new Map() };
}

/** The config map with the PEM that pods verify this server by. */
export function rootCaConfigMap(writers: WriteServices, authority: string): Companion {
  const resource = writers.scheme.find("", "v1", "configmaps");
  assert(resource !== undefined, "Config maps are served");
  const { spell } = writers.scheme.identity;
  const annotation = spell("kubernetes.io/description");
  const description =
    "Contains a CA bundle that can be used to verify the API server when using internal endpoints such as the internal service IP or its default service name.";
  const metadata = new Map([["annotations", new Map([[annotation, description]])]]);
  const data = new Map([["ca.crt", authority]]);
  return {
    resource,
    name: spell("kube-root-ca.crt"),
    userName: "system:serviceaccount:kube-system:root-ca-cert-publisher",
    content: new Map<string, Value>([
      ["metadata", metadata],
      ["data", data],
    ]),
    isRight: (object) => (object as ApiObject & { data?: Map<string, string> }).data?.get("ca.crt") === authority,
  };
}

/** Runs from start() to stop(). */
export class CompanionController {
  readonly #companion: Companion;
  readonly #actor: Actor;
  readonly #report: Report;
  readonly #passes: Reconciler;
  readonly #namespaces: LogView;
  readonly #view: LogView;
  readonly #terminating = compileSelector({
    labels: [],
    fields: [{ field: "status.phase", operator: "=", value: "Terminating" }],
  });
  /** Namespaces to look at. */
  readonly #due = new Set<string>();
  /** Those that could not be put right, to look at in a while. */
  readonly #late = new Set<string>();
  /** Positions up to which the two logs were followed; -1: not at all. */
  #followed: [namespaces: number, companions: number] = [-1, -1];
  #timer: NodeJS.Timeout | undefined;

  constructor(writers: WriteServices, companion: Companion, report: Report) {
    this.#companion = companion;
    this.#actor = new Actor(writers, "kube-controller-manager", companion.userName);
    this.#report = report;
    const failed = `Looking after ${companion.name} in every namespace failed`;
    this.#passes = new Reconciler(
      () => this.#pass(),
      (error) => report(failed, error),
    );
    const namespaces = writers.scheme.find("", "v1", "namespaces")?.prefix;
    const { prefix } = companion.resource;
    assert(namespaces !== undefined, "Namespaces are stored");
    assert(prefix !== undefined, "Companions are stored");
    this.#namespaces = writers.views.log(namespaces);
    this.#view = writers.views.log(prefix);
  }

  /** Looks at every namespace, then at each that changes or loses its companion. */
  start(): void {
    this.#passes.follow([this.#namespaces, this.#view]);
  }

  /** Nothing is written after this but what is under way. */
  stop(): void {
    this.#passes.stop();
    clearTimeout(this.#timer);
  }

  /** Takes in what changed and puts it right. */
  async #pass(): Promise<void> {
    this.#follow();
    await this.#settle();
  }

  #follow(): void {
    this.#namespaces.drain();
    this.#view.drain();
    const [namespaces, companions] = this.#followed;
    this.#followed = [this.#namespaces.head, this.#view.head];
    const ending = `/${this.#companion.name}`;
    const all =
      namespaces === -1 ||
      !this.#take(this.#namespaces, namespaces, (key) => key) ||
      !this.#take(this.#view, companions, (key) => (key.endsWith(ending) ? key.slice(0, -ending.length) : undefined));
    if (!all) return;
    this.#namespaces.scan("", "", 0, (_at, key) => this.#due.add(key).size > 0);
  }

  /** Notes what changed from a position on; false when some of it is not to be had any more. */
  #take(view: LogView, from: number, namespaceOf: (key: string) => string | undefined): boolean {
    return eachChange(view, from, (at) => {
      const namespace = namespaceOf(view.keyOf(at));
      if (namespace !== undefined) this.#due.add(namespace);
    });
  }

  async #settle(): Promise<void> {
    let looked = 0;
    const work = async (): Promise<void> => {
      for (const namespace of this.#due) {
        if (this.#passes.stopped) return;
        this.#due.delete(namespace);
        // Most of them are found as they should be, at a start, without waiting for anything.
        if (++looked % limits.companionsPerTurn === 0) await nextTurn();
        await this.#ensure(namespace);
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.#due.size, limits.companionWritesMax) }, work));
  }

  async #ensure(namespace: string): Promise<void> {
    this.#namespaces.drain();
    this.#view.drain();
    const at = this.#namespaces.get("", namespace);
    if (at === 0 || this.#terminating?.(this.#namespaces, at) === true) return;
    const { resource, name, content, isRight } = this.#companion;
    const present = this.#view.get(namespace, name);
    let done: unknown;
    if (present === 0) {
      const metadata = content.get("metadata");
      const named = new Map<string, Value>([...(metadata instanceof Map ? metadata : []), ["name", name]]);
      done = await this.#actor.create({ resource, namespace }, new Map([...content, ["metadata", named]]));
    } else if (isRight !== undefined && !isRight(decodeStored(resource, this.#view.object(present)))) {
      done = await this.#actor.patch({ resource, namespace, name }, new Map(content));
    }
    if (!isStatus(done) || done.reason === "AlreadyExists" || done.reason === "NotFound") return;
    // A namespace that began to go meanwhile is done with; anything else may be better in a while.
    this.#namespaces.drain();
    const now = this.#namespaces.get("", namespace);
    if (now === 0 || this.#terminating?.(this.#namespaces, now) === true) return;
    this.#report(`${name} in namespace ${namespace} cannot be written`, done);
    this.#late.add(namespace);
    this.#timer ??= setTimeout(() => this.#retry(), limits.companionRetryMs);
  }

  #retry(): void {
    this.#timer = undefined;
    for (const namespace of this.#late) this.#due.add(namespace);
    this.#late.clear();
    void this.#passes.ask();
  }
}
