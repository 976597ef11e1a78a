// The slices one controller manages, by the service they are of. A label of each slice says so; side-tables are read for
// that, and slices only where a service is worked on.
import type { EndpointSlice } from "../../api/gen/discovery/v1.ts";
import type { ApiObject, ObjectMeta, OwnerReference } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { isStatus, type Status } from "../../api/status.ts";
import { assert } from "../../base/assert.ts";
import type { Location } from "../../cache/shared/record.ts";
import { findLabel, type SelectionText, selectionText, valueText } from "../../cache/shared/selection.ts";
import type { LogView } from "../../cache/view/view.ts";
import { toValue } from "../../codec/engine/json.ts";
import { limits } from "../../config/limits.ts";
import type { SliceMeter } from "../../observe/endpointslices.ts";
import { readCurrent, requestedObject } from "../../request/commit/objectstore.ts";
import type { WriteServices } from "../../request/commit/writerequest.ts";
import { type Actor, failureOf, isOfEndingNamespace } from "../actor.ts";
import type { Follows, Queue, Result } from "../reconciler.ts";
import { nameOf, namespaceOf } from "./servicepods.ts";
import { type PresentSlice, type SlicePlan, type WantedSlice, withTrigger } from "./sliceplan.ts";
import type { LabelNames } from "./words.ts";

/** A slice, at the current version. */
export type Slice = ApiObject & EndpointSlice;

/** Slices with one value of the label that says who manages them. */
export class OwnSlices {
  readonly #writers: WriteServices;
  readonly #actor: Actor;
  readonly #resource: Resource;
  readonly #view: LogView;
  readonly #words: LabelNames;
  readonly #manager: string;
  readonly #managerLabel: SelectionText;
  readonly #serviceLabel: SelectionText;
  /** Names of slices by the key of their service; and the other way round. */
  readonly #names = new Map<string, Set<string>>();
  readonly #services = new Map<string, string>();
  readonly #changed: SliceMeter["changed"];
  #isComplete = false;

  /** `manager`: the value of the label; `actor` writes; `changed` is told of each slice that was written or deleted. */
  constructor(
    writers: WriteServices,
    slices: Resource,
    words: LabelNames,
    manager: string,
    actor: Actor,
    changed: SliceMeter["changed"] = () => undefined,
  ) {
    this.#changed = changed;
    this.#writers = writers;
    this.#actor = actor;
    assert(slices.stored?.prefix !== undefined, "Slices are stored");
    this.#resource = slices;
    this.#view = writers.views.log(slices.stored.prefix);
    this.#words = words;
    this.#manager = manager;
    this.#managerLabel = selectionText(words.managedBy);
    this.#serviceLabel = selectionText(words.serviceName);
  }

  /** Adds the keys of services whose slices changed, a moment later: most changes are the controller's own. */
  follows(): Follows {
    return [
      [
        this.#view,
        (queue, at) => {
          for (const key of this.#note(this.#view.keyOf(at))) queue.addAfter(key, limits.slicesSettleMs);
        },
      ],
    ];
  }

  /**
   * Looks at every slice anew. What is known stays known meanwhile: work that is under way must not take a service for
   * one without slices.
   */
  async rebuild(queue: Queue): Promise<void> {
    this.#view.drain();
    for (const key of [...this.#services.keys()]) {
      this.#note(key);
      await queue.giveWay();
    }
    await queue.scan(this.#view, (_at, key) => void this.#note(key));
    this.#isComplete ||= !queue.signal.aborted;
  }

  /** Whether rebuild() has ended once. Until then a key is to be left to all(), which adds every key afterwards. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Keys of the services that have slices. */
  keys(): Iterable<string> {
    return this.#names.keys();
  }

  /** Whether a service has any. */
  has(key: string): boolean {
    return this.#names.has(key);
  }

  /** The slices of a service as they are now, those that are being deleted left out. */
  async read(key: string, queue: Queue): Promise<Slice[]> {
    const namespace = namespaceOf(key);
    this.#view.drain();
    const found: Slice[] = [];
    for (const name of [...(this.#names.get(key) ?? [])]) {
      const current = readCurrent(this.#writers, this.#resource, namespace, name);
      const slice = current && (requestedObject(this.#writers, this.#resource, current) as Slice);
      if (slice !== undefined && slice.metadata.deletionTimestamp === undefined) found.push(slice);
      await queue.giveWay();
    }
    return found;
  }

  /** Writes a plan: what is new first, so that no address is missing in between. */
  async write(queue: Queue, key: string, plan: SlicePlan, owner: OwnerReference, trigger?: string): Promise<Result> {
    const namespace = namespaceOf(key);
    for (const wanted of plan.create) {
      await queue.giveWay();
      const done = await this.#create(key, wanted, owner, trigger);
      if (!isStatus(done)) {
        this.#changed("create");
        continue;
      }
      if (isOfEndingNamespace(done)) return undefined;
      return { cause: done, message: `Failed to create EndpointSlice for Service ${key}` };
    }
    for (const { name, wanted } of plan.update) {
      await queue.giveWay();
      const done = await this.#actor.update<Slice>({ resource: this.#resource, namespace, name }, (slice) => {
        this.#fill(slice, wanted, owner, trigger);
        return undefined;
      });
      if (isStatus(done)) return { cause: done, message: `Failed to update ${name} EndpointSlice for Service ${key}` };
      this.#changed("update");
    }
    return this.remove(key, plan.remove);
  }

  /** Deletes slices of a service. */
  async remove(key: string, slices: readonly PresentSlice[]): Promise<Result> {
    for (const { metadata } of slices) {
      const { name = "", uid } = metadata;
      const target = { resource: this.#resource, namespace: namespaceOf(key), name };
      const done = await this.#actor.delete(target, uid === undefined ? {} : { preconditions: { uid } });
      const failure = failureOf(done, `Failed to delete ${name} EndpointSlice for Service ${key}`);
      if (failure !== undefined) return failure;
      this.#changed("delete");
    }
    return undefined;
  }

  /** The labels of a slice, with those that say whose it is. */
  labels(key: string, labels: ReadonlyMap<string, string> | undefined): Map<string, string> {
    const { serviceName, managedBy } = this.#words;
    return new Map([...(labels ?? []), [serviceName, nameOf(key)], [managedBy, this.#manager]]);
  }

  async #create(
    key: string,
    wanted: WantedSlice,
    owner: OwnerReference,
    trigger: string | undefined,
  ): Promise<Status | unknown> {
    const slice = { metadata: { generateName: prefixOf(nameOf(key)) } as ObjectMeta } as Slice;
    this.#fill(slice, wanted, owner, trigger);
    const target = { resource: this.#resource, namespace: namespaceOf(key) };
    return this.#actor.create(target, toValue(this.#resource.message, slice));
  }

  #fill(slice: Slice, wanted: WantedSlice, owner: OwnerReference, trigger: string | undefined): void {
    const { metadata } = slice;
    metadata.labels = new Map(wanted.labels);
    metadata.ownerReferences = [owner];
    metadata.annotations = withTrigger(wanted.annotations ?? metadata.annotations, this.#words.triggerTime, trigger);
    slice.addressType = wanted.addressType;
    slice.endpoints = [...wanted.endpoints];
    slice.ports = [...wanted.ports];
  }

  /** Takes in a change of a slice: the keys of the services it was and is of. */
  #note(key: string): Set<string> {
    const touched = new Set<string>();
    const before = this.#services.get(key);
    if (before !== undefined) touched.add(before);
    const at = this.#view.get(namespaceOf(key), nameOf(key));
    const now = at === 0 ? undefined : this.#serviceOf(at, key);
    if (now !== undefined) touched.add(now);
    if (now !== before) {
      if (before !== undefined) this.#drop(key, before);
      if (now !== undefined) this.#put(key, now);
    }
    return touched;
  }

  /** The key of the service of a record; undefined: others manage it. */
  #serviceOf(at: Location, key: string): string | undefined {
    const source = this.#view.selectionSource(at);
    const table = this.#view.selectionAt(at);
    const manager = findLabel(source, table, this.#managerLabel);
    if (manager < 0 || valueText(source, table, manager) !== this.#manager) return undefined;
    const service = findLabel(source, table, this.#serviceLabel);
    const name = service < 0 ? "" : valueText(source, table, service);
    return name === "" ? undefined : `${namespaceOf(key)}/${name}`;
  }

  #put(key: string, service: string): void {
    this.#services.set(key, service);
    const names = this.#names.get(service);
    if (names === undefined) this.#names.set(service, new Set([nameOf(key)]));
    else names.add(nameOf(key));
  }

  #drop(key: string, service: string): void {
    this.#services.delete(key);
    const names = this.#names.get(service);
    names?.delete(nameOf(key));
    if (names?.size === 0) this.#names.delete(service);
  }
}

/** The longest name of an object. */
const nameCharsMax = 253;

/** What names of slices begin with: the dash only where there is room for it. */
function prefixOf(service: string): string {
  return service.length < nameCharsMax ? `${service}-` : service;
}

/** The owner that slices are made of, and deleted with. */
export function ownerOf(
  kind: "Service" | "Endpoints",
  { metadata: { name = "", uid = "" } }: ApiObject,
): OwnerReference {
  return { apiVersion: "v1", kind, name, uid, controller: true, blockOwnerDeletion: true };
}
