// Objects every active namespace has from its beginning to its end: the service account `default`, and the config map
// with the certificate authority of this server. Follows the logs of namespaces and of the companions; whoever deletes
// or changes one finds it again as it was.
import type { ConfigMap } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import { isStatus } from "../api/status.ts";
import type { Value } from "../api/value.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";
import { Actor } from "./actor.ts";
import { isTerminating } from "./namespace.ts";
import type { Controller, Follows, Pace, Queue, Result } from "./reconciler.ts";
import { type StoredKind, storedKind } from "./storedkind.ts";

/** What every namespace is to have. */
export interface Companion extends StoredKind {
  readonly name: string;
  /** Who writes it, in canonical spelling. */
  readonly userName: string;
  /** What it is made with. */
  readonly content: ReadonlyMap<string, Value>;
  /** Corrects a present one, and says whether there was anything to correct; left out: its presence is enough. */
  readonly correct?: (object: ApiObject) => boolean;
}

/** The service account pods run as that name none. */
export function defaultAccount(writers: WriteServices): Companion {
  const userName = "system:serviceaccount:kube-system:service-account-controller";
  return { ...storedKind(writers, "", "v1", "serviceaccounts"), name: "default", userName, content: new Map() };
}

/** The config map with the PEM that pods verify this server by. */
export function rootCaConfigMap(writers: WriteServices, authority: string): Companion {
  const { spell } = writers.scheme.identity;
  const annotation = spell("kubernetes.io/description");
  // Upstream's words, which clients compare.
  const description =
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";
  const metadata = new Map([["annotations", new Map([[annotation, description]])]]);
  const data = new Map([["ca.crt", authority]]);
  return {
    ...storedKind(writers, "", "v1", "configmaps"),
    name: spell("kube-root-ca.crt"),
    userName: "system:serviceaccount:kube-system:root-ca-cert-publisher",
    content: new Map<string, Value>([
      ["metadata", metadata],
      ["data", data],
    ]),
    correct: (object) => {
      const configMap = object as ApiObject & ConfigMap;
      const { annotations } = configMap.metadata;
      const isWhole = configMap.data?.size === 1 && configMap.data.get("ca.crt") === authority;
      if (isWhole && annotations?.get(annotation) === description) return false;
      configMap.data = new Map(data);
      configMap.metadata.annotations = new Map([...(annotations ?? []), [annotation, description]]);
      return true;
    },
  };
}

/** Works on namespaces. Follows their log and that of the companions. */
export class CompanionController implements Controller {
  readonly follows: Follows;
  /** Several at once share a commit. */
  readonly pace: Pace = { workers: limits.companionWritesMax };
  readonly #companion: Companion;
  readonly #actor: Actor;
  readonly #namespaces: LogView;
  readonly #view: LogView;

  constructor(writers: WriteServices, companion: Companion) {
    this.#companion = companion;
    this.#actor = new Actor(writers, "kube-controller-manager", companion.userName);
    this.#namespaces = storedKind(writers, "", "v1", "namespaces").view;
    this.#view = companion.view;
    const ending = `/${companion.name}`;
    this.follows = [
      [this.#namespaces, (queue, at) => queue.add(this.#namespaces.keyOf(at))],
      [
        this.#view,
        (queue, at) => {
          const key = this.#view.keyOf(at);
          if (key.endsWith(ending)) queue.add(key.slice(0, -ending.length));
        },
      ],
    ];
  }

  all(queue: Queue): Promise<void> {
    this.#namespaces.drain();
    return queue.scan(this.#namespaces, (_at, namespace) => queue.add(namespace));
  }

  /** Makes a namespace's companion, or puts it right. */
  async work(namespace: string): Promise<Result> {
    if (!this.#isActive(namespace)) return undefined;
    const { resource, name, content, correct } = this.#companion;
    this.#view.drain();
    const present = this.#view.get(namespace, name);
    let done: unknown;
    if (present === 0) {
      const metadata = content.get("metadata");
      const named = new Map<string, Value>([...(metadata instanceof Map ? metadata : []), ["name", name]]);
      done = await this.#actor.create({ resource, namespace }, new Map([...content, ["metadata", named]]));
    } else if (correct?.(decodeStored(resource, this.#view.object(present))) === true) {
      done = await this.#actor.update({ resource, namespace, name }, (object) => void correct(object));
    }
    if (!isStatus(done) || done.reason === "AlreadyExists" || done.reason === "NotFound") return undefined;
    // A namespace that began to go meanwhile is done with; anything else may be better in a while.
    if (!this.#isActive(namespace)) return undefined;
    return { cause: done, message: `${name} in namespace ${namespace} cannot be written` };
  }

  #isActive(namespace: string): boolean {
    this.#namespaces.drain();
    const at = this.#namespaces.get("", namespace);
    return at !== 0 && isTerminating?.(this.#namespaces, at) !== true;
  }
}
