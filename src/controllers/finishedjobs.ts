// Deletes jobs some time after they finished, where they say so, with everything they own (upstream: its controller
// ttl-after-finished).
import type { Job } from "../api/gen/batch/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { type Location, recordTypes } from "../cache/shared/record.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";
import { Actor, failureOf } from "./actor.ts";
import type { Controller, Follows, Queue, Result } from "./reconciler.ts";
import type { StoredKind } from "./storedkind.ts";

const lifeText = Buffer.from('"ttlSecondsAfterFinished":');

/** Works on jobs. Follows their log. */
export class FinishedJobs implements Controller {
  readonly follows: Follows;
  readonly #writers: WriteServices;
  readonly #actor: Actor;
  readonly #jobs: Resource;
  readonly #view: LogView;

  constructor(writers: WriteServices, { resource, view }: StoredKind) {
    const account = "system:serviceaccount:kube-system:ttl-after-finished-controller";
    this.#writers = writers;
    this.#actor = new Actor(writers, "kube-controller-manager", account);
    this.#jobs = resource;
    this.#view = view;
    this.follows = [[view, (queue, at, type) => this.#note(queue, at, type)]];
  }

  all(queue: Queue): Promise<void> {
    this.#view.drain();
    return queue.scan(this.#view, (at) => this.#note(queue, at, recordTypes.update));
  }

  /** Deletes a job whose time is over, and looks at any other that finished again when it is. */
  async work(key: string, queue: Queue): Promise<Result> {
    const [namespace = "", name = ""] = key.split("/");
    this.#view.drain();
    const at = this.#view.get(namespace, name);
    if (at === 0) return undefined;
    const { metadata, spec, status } = decodeStored(this.#jobs, this.#view.object(at)) as ApiObject & Job;
    const seconds = spec.ttlSecondsAfterFinished;
    const finished = status.conditions?.find(
      (condition) => (condition.type === "Complete" || condition.type === "Failed") && condition.status === "True",
    );
    if (seconds === undefined || finished === undefined || metadata.deletionTimestamp !== undefined) return undefined;
    if (finished.lastTransitionTime === undefined) {
      queue.report(key, `Job ${key} does not say when it finished`, "its condition has no lastTransitionTime");
      return undefined;
    }
    const leftMs = Date.parse(finished.lastTransitionTime) + seconds * 1000 - this.#writers.clock.now();
    // The wall clock may be put right meanwhile.
    if (leftMs > 0) return { againMs: Math.min(leftMs, limits.timerMsMax) };
    const { uid = "", resourceVersion = "" } = metadata;
    const options = { propagationPolicy: "Foreground", preconditions: { uid, resourceVersion } };
    const done = await this.#actor.delete({ resource: this.#jobs, namespace, name }, options);
    return failureOf(done, `Job ${key}, which finished, cannot be deleted`);
  }

  #note(queue: Queue, at: Location, type: number): void {
    if (type === recordTypes.delete) return;
    const bytes = this.#view.object(at);
    if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(lifeText))
      queue.add(this.#view.keyOf(at));
  }
}
