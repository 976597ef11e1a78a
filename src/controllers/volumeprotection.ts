// Lets volumes that are being deleted go when no claim is bound to them (upstream: its controller pv-protection).
import type { PersistentVolume } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";
import { Protection } from "./protection.ts";
import type { Controller, Follows, Queue, Result } from "./reconciler.ts";
import { storedKind } from "./storedkind.ts";

/** Works on volumes. Follows their log. */
export class VolumeProtection implements Controller {
  readonly follows: Follows;
  readonly #volumes: Protection<ApiObject & PersistentVolume>;

  constructor(writers: WriteServices) {
    const { resource, view } = storedKind(writers, "", "v1", "persistentvolumes");
    const account = "pv-protection-controller";
    this.#volumes = new Protection(writers, resource, view, "kubernetes.io/pv-protection", account);
    const note = (queue: Queue, at: number, type: number): void => {
      if (this.#volumes.mayEnd(at, type)) queue.add(view.keyOf(at));
    };
    this.follows = [[view, note]];
  }

  all(queue: Queue): Promise<void> {
    const { view } = this.#volumes;
    view.drain();
    return queue.scan(view, (at, key) => {
      if (this.#volumes.mayEnd(at, view.typeOf(at))) queue.add(key);
    });
  }

  work(name: string): Promise<Result> | Result {
    const volume = this.#volumes.ending("", name);
    return volume === undefined || volume.status.phase === "Bound" ? undefined : this.#volumes.release(volume);
  }
}
