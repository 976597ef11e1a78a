// Lets claims that are being deleted go when no pod uses them any more: one that has a node, whether it has finished or
// not (upstream: its controller pvc-protection).
import type { PersistentVolumeClaim, Pod } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import type { Location } from "../cache/shared/record.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";
import { Protection } from "./protection.ts";
import type { Controller, Follows, Queue, Result } from "./reconciler.ts";
import { storedKind } from "./storedkind.ts";

type Claim = ApiObject & PersistentVolumeClaim;

const ephemeralText = Buffer.from('"ephemeral":{');

/** Works on claims. Follows their log, and that of pods where a claim waits for one. */
export class ClaimProtection implements Controller {
  readonly follows: Follows;
  readonly #claims: Protection<Claim>;
  readonly #pods: Resource;
  readonly #podView: LogView;
  /** Claims that are in use and would go, by namespace. */
  readonly #waiting = new Map<string, Set<string>>();

  constructor(writers: WriteServices) {
    const { resource, view } = storedKind(writers, "", "v1", "persistentvolumeclaims");
    const pods = storedKind(writers, "", "v1", "pods");
    const account = "pvc-protection-controller";
    this.#claims = new Protection(writers, resource, view, "kubernetes.io/pvc-protection", account);
    this.#pods = pods.resource;
    this.#podView = pods.view;
    this.follows = [
      [view, (queue, at, type) => this.#note(queue, at, type)],
      [this.#podView, (queue, at) => this.#notePod(queue, at)],
    ];
  }

  all(queue: Queue): Promise<void> {
    const { view } = this.#claims;
    view.drain();
    return queue.scan(view, (at, key) => {
      if (this.#claims.mayEnd(at, view.typeOf(at))) queue.add(key);
    });
  }

  async work(key: string, queue: Queue): Promise<Result> {
    const [namespace = "", name = ""] = key.split("/");
    this.#forget(namespace, name);
    const claim = this.#claims.ending(namespace, name);
    if (claim === undefined) return undefined;
    // Pods that change while they are looked at are news.
    let names = this.#waiting.get(namespace);
    if (names === undefined) this.#waiting.set(namespace, (names = new Set()));
    names.add(name);
    if ((await this.#isUsed(claim, queue)) || queue.signal.aborted) return undefined;
    this.#forget(namespace, name);
    return this.#claims.release(claim);
  }

  #note(queue: Queue, at: Location, type: number): void {
    const { view } = this.#claims;
    if (this.#claims.mayEnd(at, type)) return queue.add(view.keyOf(at));
    if (this.#waiting.size === 0) return;
    const [namespace = "", name = ""] = view.keyOf(at).split("/");
    this.#forget(namespace, name);
  }

  #notePod(queue: Queue, at: Location): void {
    if (this.#waiting.size === 0) return;
    const key = this.#podView.keyOf(at);
    const namespace = key.slice(0, key.indexOf("/"));
    for (const name of this.#waiting.get(namespace) ?? [])
      queue.addAfter(`${namespace}/${name}`, limits.protectionGatherMs);
  }

  #forget(namespace: string, name: string): void {
    const names = this.#waiting.get(namespace);
    if (names?.delete(name) === true && names.size === 0) this.#waiting.delete(namespace);
  }

  async #isUsed(claim: Claim, queue: Queue): Promise<boolean> {
    const { namespace = "", name = "" } = claim.metadata;
    const nameText = Buffer.from(`"claimName":${JSON.stringify(name)}`);
    let isUsed = false;
    const take = (at: Location): void => {
      if (isUsed) return;
      const bytes = this.#podView.object(at);
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      if (!text.includes(nameText) && !text.includes(ephemeralText)) return;
      isUsed = uses(decodeStored(this.#pods, bytes) as ApiObject & Pod, claim);
    };
    this.#podView.drain();
    await queue.scan(this.#podView, take, { namespace });
    return isUsed;
  }
}

/** Whether a pod uses a claim, by name or as that of a volume that lives with the pod. */
function uses({ metadata, spec }: ApiObject & Pod, claim: Claim): boolean {
  if ((spec.nodeName ?? "") === "") return false;
  const { name = "", ownerReferences = [] } = claim.metadata;
  const isOwned = ownerReferences.some(({ controller, uid }) => controller === true && uid === metadata.uid);
  return (spec.volumes ?? []).some(({ name: volume, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim?.claimName === name) return true;
    return ephemeral !== undefined && isOwned && name === `${metadata.name}-${volume}`;
  });
}
