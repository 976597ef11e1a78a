// What becomes of an object because of its owners, as they are at this moment: each owner is looked up where its reference
// says it is, in the newest state there is. An owner that is not there never comes back, since its uid does not; one that
// cannot be looked up is not taken for absent.
import type { ApiObject, OwnerReference } from "../../api/object.ts";
import { foregroundFinalizer, orphanFinalizer } from "../../api/object.ts";
import type { Resource, Scheme } from "../../api/scheme.ts";
import { kindHash } from "../../cache/shared/owners.ts";
import type { Location } from "../../cache/shared/record.ts";
import { hashOfText } from "../../cache/shared/selection.ts";
import type { LogView, Views } from "../../cache/view/view.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import type { OwnerKinds } from "./kinds.ts";

/**
 * How an owner is. Waiting: it is being deleted and waits for its dependents to go; orphaning: for them to lose their
 * reference. Misplaced: an object without a namespace names an owner in one. Unknown: its kind is not served here.
 */
export type OwnerState = "solid" | "absent" | "waiting" | "orphaning" | "misplaced" | "unknown";

/** What of an object decides how it is as an owner. */
export interface OwnerFacts {
  readonly at: Location;
  readonly uid: string;
  readonly state: OwnerState;
}

/** An object as it is now. */
export interface Item {
  /** The version it is stored in. */
  readonly resource: Resource;
  readonly view: LogView;
  readonly at: Location;
  readonly namespace: string;
  readonly name: string;
  readonly object: ApiObject;
  readonly revision: number;
}

/** Owners that were read for one object: it may name a few large ones thousands of times. */
export type ReadOwners = Map<LogView, Map<Location, OwnerFacts>>;

/** Looks owners up. */
export class OwnerLookup {
  readonly #scheme: Scheme;
  readonly #views: Views;
  readonly #kinds: OwnerKinds;
  /** The owner of each log that was looked at last: dependents of one owner come together. A place is of one record. */
  readonly #last = new WeakMap<LogView, OwnerFacts>();

  constructor(scheme: Scheme, views: Views, kinds: OwnerKinds) {
    this.#scheme = scheme;
    this.#views = views;
    this.#kinds = kinds;
  }

  /** The object of a key of a log, as of everything that was acknowledged before. */
  item(resource: Resource, key: string): Item | undefined {
    const view = this.#views.find(resource.prefix ?? "");
    if (view === undefined || view.gone) return undefined;
    view.drain();
    const slash = key.indexOf("/");
    const [namespace, name] = resource.namespaced ? [key.slice(0, slash), key.slice(slash + 1)] : ["", key];
    const at = view.get(namespace, name);
    if (at === 0) return undefined;
    const object = decodeStored(resource, view.object(at));
    return { resource, view, at, namespace, name, object, revision: view.revisionOf(at) };
  }

  /** How the owner is that an object names. An owner is read once for all calls with the same `read`. */
  stateOf(item: Item, { apiVersion, kind, name, uid }: OwnerReference, read: ReadOwners): OwnerState {
    const slash = apiVersion.indexOf("/");
    const group = slash === -1 ? "" : apiVersion.slice(0, slash);
    const resource = this.#scheme.findKind(group, apiVersion.slice(slash + 1), kind);
    if (resource === undefined) return this.#stateOfEnded(item, kindHash(apiVersion, kind), name, uid);
    if (resource.stored?.prefix === undefined) return "unknown";
    if (resource.namespaced && item.namespace === "") return "misplaced";
    const view = this.#views.find(resource.stored.prefix);
    if (view === undefined || view.gone) return "unknown";
    view.drain();
    const at = view.get(resource.namespaced ? item.namespace : "", name);
    if (at === 0) return "absent";
    const facts = this.#factsOf(resource.stored, view, at, read);
    return facts.uid === uid ? facts.state : "absent";
  }

  /**
   * Of an object of a kind that is not served: gone with it, if it was before its reference was written that its
   * definition was deleted. Objects may have been kept back by force.
   */
  #stateOfEnded(item: Item, hash: number, name: string, uid: string): OwnerState {
    const ended = this.#kinds.ended(hash);
    if (ended === undefined || item.revision >= ended.revision) return "unknown";
    if (ended.namespaced && item.namespace === "") return "misplaced";
    const view = this.#views.find(ended.prefix);
    view?.drain();
    const isKept = view !== undefined && view.get(ended.namespaced ? item.namespace : "", name) !== 0;
    return isKept || uid === "" ? "unknown" : "absent";
  }

  #factsOf(stored: Resource, view: LogView, at: Location, read: ReadOwners): OwnerFacts {
    const last = this.#last.get(view);
    if (last?.at === at) return last;
    let known = read.get(view);
    if (known === undefined) read.set(view, (known = new Map()));
    let facts = known.get(at);
    if (facts === undefined) known.set(at, (facts = factsOf(at, decodeStored(stored, view.object(at)))));
    this.#last.set(view, facts);
    return facts;
  }
}

function factsOf(at: Location, { metadata }: ApiObject): OwnerFacts {
  const { uid = "", deletionTimestamp, finalizers = [] } = metadata;
  if (deletionTimestamp === undefined) return { at, uid, state: "solid" };
  if (finalizers.includes(orphanFinalizer)) return { at, uid, state: "orphaning" };
  return { at, uid, state: finalizers.includes(foregroundFinalizer) ? "waiting" : "solid" };
}

const uidText = Buffer.from('"uid":"');
const quote = 0x22;

/** Hash of an object's uid: the first field of this name is in its metadata, and no other stands in front of it. */
export function uidHashOf(bytes: Uint8Array): number | undefined {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = body.indexOf(uidText) + uidText.length;
  const end = body.indexOf(quote, start);
  return start < uidText.length || end === -1 ? undefined : hashOfText(body.toString("latin1", start, end));
}
