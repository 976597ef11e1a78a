// Endpoints of services that select pods: who answers behind them (upstream: endpoints_controller.go). Others are left
// alone, but for those whose service is gone.
import type { Endpoints, Service } from "../../api/gen/core/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { isStatus } from "../../api/status.ts";
import { recordTypes } from "../../cache/shared/record.ts";
import type { LogView } from "../../cache/view/view.ts";
import { toValue } from "../../codec/engine/json.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { limits } from "../../config/limits.ts";
import { cutEndpoints } from "../../kinds/core/endpoints.ts";
import { equalStrings } from "../../kinds/validation/equal.ts";
import type { WriteServices } from "../../request/commit/writerequest.ts";
import { Actor, failureOf, isOfEndingNamespace } from "../actor.ts";
import type { Controller, Follows, Pace, Queue, Result } from "../reconciler.ts";
import { type Recorder, type Recorders, referenceTo } from "../recording/eventwriter.ts";
import { findStored, type StoredKind } from "../storedkind.ts";
import type { Backend } from "./backends.ts";
import { nameOf, namespaceOf, ServicePods } from "./servicepods.ts";
import { isHeadless, subsetsOf, subsetsText } from "./subsets.ts";
import { type LabelNames, labelNames } from "./words.ts";

type Kept = ApiObject & Endpoints;

/** Works on services. Follows their log, those of pods and of endpoints. */
export class EndpointController implements Controller {
  readonly follows: Follows;
  readonly pace: Pace = { workers: limits.endpointsWritesMax, laneOf: namespaceOf };
  readonly #writers: WriteServices;
  readonly #actor: Actor;
  readonly #record: Recorder;
  readonly #resource: Resource;
  readonly #view: LogView;
  readonly #pods: ServicePods;
  readonly #words: LabelNames;
  readonly #cut: (endpoints: Endpoints) => void;

  /** Undefined: what it looks after is not served. */
  static open(writers: WriteServices, recorders: Recorders): EndpointController | undefined {
    const [endpoints, services, pods] = ["endpoints", "services", "pods"].map((name) =>
      findStored(writers, "", "v1", name),
    );
    if (endpoints === undefined || services === undefined || pods === undefined) return undefined;
    return new EndpointController(writers, recorders, endpoints, new ServicePods(writers, services, pods));
  }

  private constructor(writers: WriteServices, recorders: Recorders, endpoints: StoredKind, pods: ServicePods) {
    this.#writers = writers;
    const user = "system:serviceaccount:kube-system:endpoint-controller";
    this.#actor = new Actor(writers, "kube-controller-manager", user);
    this.#record = recorders.recorder("endpoint-controller", user);
    this.#resource = endpoints.resource;
    this.#view = endpoints.view;
    this.#pods = pods;
    this.#words = labelNames(writers.scheme.identity);
    this.#cut = cutEndpoints(writers.scheme.identity);
    this.follows = [
      ...pods.follows(),
      [this.#view, (queue, at, type) => (type === recordTypes.delete ? queue.add(this.#view.keyOf(at)) : undefined)],
    ];
  }

  /** Endpoints whose service went while no controller ran are found by their own keys. */
  async all(queue: Queue): Promise<void> {
    await this.#pods.rebuild(queue);
    await queue.scan(this.#pods.services, (_at, key) => queue.add(key));
    this.#view.drain();
    await queue.scan(this.#view, (_at, key) => queue.add(key));
  }

  /** Writes what a service leads to. */
  async work(key: string, queue: Queue): Promise<Result> {
    if (!this.#pods.isComplete) return undefined;
    const found = await this.#pods.find(key, queue);
    if (found === undefined) return this.#remove(key);
    const { service, selecting } = found;
    if (selecting === undefined) return undefined;
    const backends = await this.#pods.backends(selecting, queue);
    const trigger = selecting.triggers.next(service.metadata.creationTimestamp, backends);
    const wanted = await this.#wanted(service, selecting.namespace, backends, queue);
    if (queue.signal.aborted) return undefined;
    this.#view.drain();
    const at = this.#view.get(selecting.namespace, nameOf(key));
    const current = at === 0 ? undefined : this.#read(at);
    if (current !== undefined && this.#isAs(current, wanted)) return undefined;
    selecting.wroteMs = this.#writers.clock.monotonic();
    return this.#write(key, wanted, trigger, current);
  }

  async #wanted(
    service: ApiObject & Service,
    namespace: string,
    backends: readonly Backend[],
    queue: Queue,
  ): Promise<Kept> {
    const labels = new Map(service.metadata.labels);
    if (isHeadless(service)) labels.set(this.#words.headless, "");
    else labels.delete(this.#words.headless);
    const tolerates = this.#toleratesUnready(service);
    const subsets = await subsetsOf(service, namespace, backends, tolerates, () => queue.giveWay());
    const wanted: Kept = { metadata: { labels }, subsets };
    this.#cut(wanted);
    return wanted;
  }

  #isAs(current: Kept, wanted: Kept): boolean {
    const { overCapacity } = this.#words;
    const before = current.metadata.annotations;
    return (
      equalStrings(current.metadata.labels, wanted.metadata.labels) &&
      before?.get(overCapacity) === wanted.metadata.annotations?.get(overCapacity) &&
      subsetsText(current.subsets) === subsetsText(wanted.subsets)
    );
  }

  async #write(key: string, wanted: Kept, trigger: string | undefined, current: Kept | undefined): Promise<Result> {
    const [namespace, name] = [namespaceOf(key), nameOf(key)];
    const target = { resource: this.#resource, namespace, name };
    const fill = (endpoints: Kept): undefined => {
      endpoints.subsets = wanted.subsets;
      const { metadata } = endpoints;
      metadata.labels = wanted.metadata.labels;
      metadata.annotations = this.#annotations(metadata.annotations, wanted, trigger);
    };
    if (current !== undefined) {
      const done = await this.#actor.update<Kept>(target, fill);
      if (!isStatus(done)) return undefined;
      const message = `Failed to update endpoint ${key}: ${done.message}`;
      this.#record(referenceTo(this.#resource, current), "Warning", "FailedToUpdateEndpoint", message);
      return { cause: done, message: `Endpoints ${key} cannot be updated` };
    }
    const endpoints: Kept = { metadata: { name } };
    fill(endpoints);
    const done = await this.#actor.create(target, toValue(this.#resource.message, endpoints));
    if (!isStatus(done) || isOfEndingNamespace(done)) return undefined;
    // In the namespace of the service; upstream's is in the default one, and tells those who read that of all others.
    const absent: Kept = { metadata: { namespace, name } };
    const message = `Failed to create endpoint for service ${key}: ${done.message}`;
    this.#record(referenceTo(this.#resource, absent), "Warning", "FailedToCreateEndpoint", message);
    return { cause: done, message: `Endpoints ${key} cannot be created` };
  }

  #annotations(
    before: ReadonlyMap<string, string> | undefined,
    wanted: Kept,
    trigger: string | undefined,
  ): Map<string, string> | undefined {
    const { overCapacity, triggerTime } = this.#words;
    const after = new Map(before);
    for (const name of [overCapacity, triggerTime]) after.delete(name);
    const truncated = wanted.metadata.annotations?.get(overCapacity);
    if (truncated !== undefined) after.set(overCapacity, truncated);
    if (trigger !== undefined) after.set(triggerTime, trigger);
    return after.size === 0 ? undefined : after;
  }

  /** An old annotation says the same as the field. */
  #toleratesUnready({ spec, metadata }: ApiObject & Service): boolean {
    const said = metadata.annotations?.get(this.#words.tolerateUnready) ?? "";
    if (/^(1|t|T|TRUE|true|True)$/.test(said)) return true;
    if (/^(0|f|F|FALSE|false|False)$/.test(said)) return false;
    return spec.publishNotReadyAddresses === true;
  }

  async #remove(key: string): Promise<Result> {
    const [namespace, name] = [namespaceOf(key), nameOf(key)];
    this.#view.drain();
    const at = this.#view.get(namespace, name);
    if (at === 0) return undefined;
    const { annotations, uid } = this.#read(at).metadata;
    // What programs elect their leader by needs no service.
    if (annotations?.has(this.#words.leader) === true) return undefined;
    const target = { resource: this.#resource, namespace, name };
    const done = await this.#actor.delete(target, uid === undefined ? {} : { preconditions: { uid } });
    return failureOf(done, `Endpoints ${key}, whose service is gone, cannot be removed`);
  }

  #read(at: number): Kept {
    return decodeStored(this.#resource, this.#view.object(at)) as Kept;
  }
}
