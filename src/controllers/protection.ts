// What the controllers of protected storage share: an object that is being deleted, and a finalizer that is taken off it
// when nothing uses it any more.
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus, notFound } from "../api/status.ts";
import { type Location, recordTypes } from "../cache/shared/record.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";
import { Actor } from "./actor.ts";
import type { Result } from "./reconciler.ts";

const deletedText = Buffer.from('"deletionTimestamp":"');

/** Objects of one kind that one finalizer protects. */
export class Protection<T extends ApiObject> {
  readonly view: LogView;
  readonly #resource: Resource;
  readonly #actor: Actor;
  readonly #finalizer: string;

  /** `resource`: as it is stored. `finalizer`, `account`: in canonical spelling. */
  constructor(writers: WriteServices, resource: Resource, view: LogView, finalizer: string, account: string) {
    this.view = view;
    this.#resource = resource;
    this.#finalizer = writers.scheme.identity.spell(finalizer);
    this.#actor = new Actor(writers, "kube-controller-manager", `system:serviceaccount:kube-system:${account}`);
  }

  /** Whether a record may be of an object that is being deleted; false: it is not. */
  mayEnd(at: Location, type: number): boolean {
    if (type === recordTypes.delete) return false;
    const bytes = this.view.object(at);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(deletedText);
  }

  /** The object of a key, if it is being deleted and protected. */
  ending(namespace: string, name: string): T | undefined {
    this.view.drain();
    const at = this.view.get(namespace, name);
    if (at === 0) return undefined;
    const object = decodeStored(this.#resource, this.view.object(at)) as T;
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    return deletionTimestamp !== undefined && finalizers.includes(this.#finalizer) ? object : undefined;
  }

  /** Takes the finalizer off an object. */
  async release({ metadata: { namespace = "", name = "", uid } }: T): Promise<Result> {
    const done = await this.#actor.update({ resource: this.#resource, namespace, name }, ({ metadata }) => {
      if (metadata.uid !== uid || metadata.deletionTimestamp === undefined) return notFound(this.#resource, name);
      const left = (metadata.finalizers ?? []).filter((finalizer) => finalizer !== this.#finalizer);
      if (left.length > 0) metadata.finalizers = left;
      else delete metadata.finalizers;
      return undefined;
    });
    if (!isStatus(done) || done.success || done.reason === "NotFound") return undefined;
    return { cause: done, message: `The finalizer ${this.#finalizer} cannot be taken off ${name}` };
  }
}
