// Deletes objects whose owners are gone, lets owners go whose dependents are gone (foreground) or released (orphan), and
// takes references off that mean nothing any more (upstream: the garbage collector). The graph (graph.ts) says where to
// look, from what stands behind the side-tables of records; what is done follows from the objects as they are then
// (owners.ts), and holds only while they are so.
//
//   owner deleted ─────────────► its dependents are looked at ─► deleted, or let go
//   owner waits (foreground) ──► its dependents are looked at ─► deleted; with the last that blocks it the owner goes
//   owner waits (orphan) ──────► its dependents are looked at ─► lose that owner; after the last the owner goes
//   reference written ─────────► its owner is looked at ───────► there, or the object is looked at
//
// Keys: `<prefix> <key>` is an object to look at; `dependents <hash>` those that name an owner of this hash.
import type { CustomResourceDefinition } from "../../api/gen/apiextensions/v1.ts";
import { type ApiObject, foregroundFinalizer, type OwnerReference, orphanFinalizer } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { conflict, isStatus, notFound, type Status } from "../../api/status.ts";
import { failpoint } from "../../base/failpoint.ts";
import { KeyedHash } from "../../base/keyedhash.ts";
import { type Owners, ownersBehind } from "../../cache/shared/owners.ts";
import { type Location, recordTypes } from "../../cache/shared/record.ts";
import { hashOfText } from "../../cache/shared/selection.ts";
import { eachChange } from "../../cache/view/changes.ts";
import type { LogView } from "../../cache/view/view.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { limits } from "../../config/limits.ts";
import { definitionsKind, prefixOfDefinition } from "../../kinds/custom/prefix.ts";
import type { Server } from "../../request/call/context.ts";
import type { Written } from "../../request/commit/writerequest.ts";
import { Actor } from "../actor.ts";
import type { Controller, Follows, Pace, Queue, Result } from "../reconciler.ts";
import type { Recorders } from "../recording/eventwriter.ts";
import { findStored, type StoredKind } from "../storedkind.ts";
import { graphLogsMax, OwnerGraph, type Place, type Walk } from "./graph.ts";
import { type OwnerKind, OwnerKinds } from "./kinds.ts";
import { type Item, OwnerLookup, type OwnerState, type ReadOwners, uidHashOf } from "./owners.ts";
import { StrayOwners } from "./strays.ts";

/** A log that is followed. */
interface Followed {
  /** In the graph; used again after the log is gone. */
  readonly number: number;
  readonly view: LogView;
  /** The version objects are stored in, as it is served now. */
  resource: Resource;
  readonly stop: () => void;
}

/** Owners that wait for a dependent: for how long each key waits when one goes, in milliseconds. */
type Waiting = Map<string, number>;

/** Works on what new and changed kinds lead to. */
const kindsKey = "kinds";
const dependentsMark = "dependents ";

/** Follows the logs of everything that can be deleted. */
export class GarbageCollector implements Controller {
  readonly follows: Follows;
  readonly pace: Pace = { workers: limits.collectorWorkersMax, laneOf };
  readonly #actor: Actor;
  readonly #kinds: OwnerKinds;
  readonly #owners: OwnerLookup;
  readonly #strays: StrayOwners;
  readonly #server: Server;
  readonly #definitions: StoredKind | undefined;
  readonly #graph = new OwnerGraph();
  readonly #hash = new KeyedHash();
  readonly #byPrefix = new Map<string, Followed>();
  /** By number. */
  readonly #logs: (Followed | undefined)[] = [];
  /** Numbers of logs that are not followed any more and still have references in the graph. */
  readonly #left = new Set<number>();
  /** Logs whose objects are not all in the graph yet. */
  readonly #unread = new Set<Followed>();
  /** Kinds that are elsewhere now, and whose dependents are not in the graph as such yet. */
  #moved: ReadonlySet<number>[] = [];
  /** Owners that wait for dependents, by their hash: looked at again when one of these changes. */
  readonly #waiting = new Map<number, Waiting>();
  /** The uid of the owner of each log that was looked at last, as its hash. */
  readonly #lastUid = new WeakMap<LogView, { readonly at: Location; readonly uidHash: number | undefined }>();

  constructor(server: Server, recorders: Recorders) {
    const account = "system:serviceaccount:kube-system:generic-garbage-collector";
    this.#server = server;
    this.#actor = new Actor(server.writers, "kube-controller-manager", account);
    this.#kinds = new OwnerKinds(server.scheme);
    this.#owners = new OwnerLookup(server.scheme, server.views, this.#kinds);
    this.#strays = new StrayOwners(server, recorders.recorder("garbage-collector-controller", account));
    const definitions = findStored(server, ...definitionsKind);
    this.#definitions = definitions;
    this.follows =
      definitions === undefined
        ? []
        : [[definitions.view, (queue, at, type) => this.#noteDefinition(queue, definitions, at, type)]];
  }

  /** References in the graph. */
  get size(): number {
    return this.#graph.size;
  }

  /** Makes the graph anew. What was left undone by another server, or before a crash, is found on the way. */
  async all(queue: Queue): Promise<void> {
    this.#graph.clear();
    this.#waiting.clear();
    this.#moved = [];
    this.#strays.clear();
    this.#readEnded();
    this.#follow(queue);
    for (const followed of this.#byPrefix.values()) this.#unread.add(followed);
    await this.#read(queue);
  }

  work(key: string, queue: Queue): Promise<Result> | Result {
    if (key === kindsKey) return this.#readKinds(queue);
    if (key.startsWith(dependentsMark)) return this.#lookAtDependents(Number(key.slice(dependentsMark.length)), queue);
    return this.#lookAt(key, queue);
  }

  // What is followed.

  /** Follows what is served now. False: something of it is not in the graph yet. */
  #follow(queue: Queue): boolean {
    const changed = this.#kinds.refresh();
    if (changed !== undefined) {
      for (const followed of [...this.#byPrefix.values()]) {
        const { prefix } = followed.view;
        const isSame = !followed.view.gone && this.#server.views.find(prefix) === followed.view;
        if (!isSame || !this.#kinds.stored.has(prefix)) this.#leave(followed, queue);
      }
      for (const [prefix, resource] of this.#kinds.stored) this.#followLog(prefix, resource, queue);
      this.#lookAgain(changed, queue);
    }
    return this.#unread.size === 0 && this.#moved.length === 0;
  }

  #followLog(prefix: string, resource: Resource, queue: Queue): void {
    const known = this.#byPrefix.get(prefix);
    const view = this.#server.views.find(prefix);
    if (view === undefined || view.gone) return;
    if (known !== undefined) {
      known.resource = resource;
      return;
    }
    const free = this.#logs.findIndex((followed, index) => followed === undefined && !this.#left.has(index));
    const number = free === -1 ? this.#logs.length : free;
    if (number >= graphLogsMax) return;
    view.drain();
    const changed = (at: Location, type: number): void => {
      const followed = this.#logs[number];
      if (followed?.view === view) this.#note(followed, at, type, queue);
    };
    const stop = queue.follow(view, (_queue, at, type) => changed(at, type), true);
    const followed = { number, view, resource, stop };
    this.#byPrefix.set(prefix, followed);
    this.#logs[number] = followed;
    this.#unread.add(followed);
    queue.add(kindsKey);
  }

  #leave(followed: Followed, queue: Queue): void {
    followed.stop();
    this.#byPrefix.delete(followed.view.prefix);
    this.#logs[followed.number] = undefined;
    this.#unread.delete(followed);
    this.#left.add(followed.number);
    queue.add(kindsKey);
  }

  /** Has the objects looked at that name an owner of these kinds. */
  #lookAgain(kinds: ReadonlySet<number>, queue: Queue): void {
    if (kinds.size === 0) return;
    this.#moved.push(kinds);
    queue.add(kindsKey);
  }

  /** Takes what kinds that came, went and moved mean for the graph into it. There is one such key, in work once. */
  async #readKinds(queue: Queue): Promise<Result> {
    this.#follow(queue);
    for (const number of this.#left) {
      for (const _ of this.#graph.removeLog(number, (owner) => this.#wake(owner, queue))) await queue.giveWay();
      this.#left.delete(number);
    }
    for (const kinds of [...this.#moved]) {
      await this.#noteDependents(kinds, queue);
      if (queue.signal.aborted) return undefined;
      this.#moved = this.#moved.filter((other) => other !== kinds);
    }
    await this.#read(queue);
    return undefined;
  }

  /** Notes all objects anew that name an owner of these kinds. */
  async #noteDependents(kinds: ReadonlySet<number>, queue: Queue): Promise<void> {
    const found = new Map<number, Set<Location>>();
    const take = (log: number, at: Location): void => {
      const places = found.get(log);
      if (places === undefined) found.set(log, new Set([at]));
      else places.add(at);
    };
    for (const _ of this.#graph.eachOfKinds(kinds, take)) await queue.giveWay();
    for (const [log, places] of found) {
      for (const at of places) {
        const followed = this.#logs[log];
        if (followed?.view.isCurrent(at) === true) this.#note(followed, at, recordTypes.update, queue);
        await queue.giveWay();
        if (queue.signal.aborted) return;
      }
    }
  }

  /** Puts the objects of logs into the graph. */
  async #read(queue: Queue): Promise<void> {
    for (const followed of [...this.#unread]) {
      const { view } = followed;
      if (!view.gone) view.drain();
      const take = (at: Location): void => this.#note(followed, at, recordTypes.create, queue);
      await queue.scan(view, take);
      if (queue.signal.aborted) return;
      this.#unread.delete(followed);
    }
  }

  #noteDefinition(queue: Queue, definitions: StoredKind, at: Location, type: number): void {
    if (type === recordTypes.delete) this.#lookAgain(this.#end(definitions, at), queue);
    // All kinds are looked at, once for the definitions that come together.
    queue.addAfter(kindsKey, limits.collectorKindsGatherMs);
  }

  #end({ resource, view }: StoredKind, at: Location): ReadonlySet<number> {
    const definition = decodeStored(resource, view.object(at)) as ApiObject & CustomResourceDefinition;
    return this.#kinds.end(definition, prefixOfDefinition(view.keyOf(at)), view.revisionOf(at));
  }

  /** Definitions that were deleted as long as there is history. */
  #readEnded(): void {
    const definitions = this.#definitions;
    if (definitions === undefined) return;
    const { view } = definitions;
    view.drain();
    const from = view.positionAfter(view.floor);
    if (from === undefined) return;
    eachChange(view, from, (at, type) => {
      if (type === recordTypes.delete) this.#end(definitions, at);
    });
  }

  // The graph.

  /** Takes in a record, and adds the keys it leads to. */
  #note(followed: Followed, at: Location, type: number, queue: Queue): void {
    const { number, view } = followed;
    const former = view.formerOf(at);
    if (type === recordTypes.move) return this.#graph.move(number, former, at);
    const gone = (owner: number): void => this.#wake(owner, queue);
    if (former !== 0) this.#graph.remove(number, former, gone);
    this.#graph.remove(number, at, gone);
    if (type === recordTypes.delete) return this.#noteDelete(followed, at, queue);
    const owners = ownersBehind(view.selection(at));
    // What comes after it is handed on, too.
    if (owners === undefined || !view.isCurrent(at)) return;
    const key = view.keyOf(at);
    for (let index = 0; index < owners.count; index++) {
      const kindHash = owners.kindHash(index);
      const owner = this.#hashOfOwner(owners, index, this.#kinds.of(kindHash), followed.resource.namespaced ? key : "");
      this.#graph.add(number, at, owner, kindHash);
    }
    if (owners.isForeground || owners.isOrphaning) {
      queue.add(keyOf(view, at));
      queue.add(dependentsMark + this.#hashOf(view, at));
    } else if (this.#isSuspect(owners, view, at)) {
      this.#strays.note(keyOf(view, at));
      queue.add(keyOf(view, at));
    }
  }

  #noteDelete({ view }: Followed, at: Location, queue: Queue): void {
    if (this.#graph.size === 0 && this.#waiting.size === 0) return;
    const owner = this.#hashOf(view, at);
    const waiting = this.#waiting.get(owner);
    if (waiting?.delete(keyOf(view, at)) === true && waiting.size === 0) this.#waiting.delete(owner);
    if (this.#graph.hasDependents(owner)) queue.add(dependentsMark + owner);
  }

  /** A reference to an owner went: one that waits for that is looked at. */
  #wake(owner: number, queue: Queue): void {
    const waiting = this.#waiting.get(owner);
    if (waiting !== undefined) for (const [key, ms] of waiting) queue.addAfter(key, ms);
  }

  /** Whether an object has to be looked at because of its owners, as far as this thread knows them. */
  #isSuspect(owners: Owners, view: LogView, at: Location): boolean {
    // Not in the middle of a log.
    if (owners.count > limits.collectorOwnersPerLook) return true;
    const key = view.keyOf(at);
    const resource = this.#byPrefix.get(view.prefix)?.resource;
    const namespace = resource?.namespaced === true ? key.slice(0, key.indexOf("/")) : "";
    for (let index = 0; index < owners.count; index++) {
      const kind = this.#kinds.of(owners.kindHash(index));
      if (kind === undefined) {
        if (this.#kinds.ended(owners.kindHash(index)) !== undefined) return true;
        continue;
      }
      if (kind.namespaced && namespace === "") return true;
      const ownerView = this.#server.views.find(kind.prefix);
      if (ownerView === undefined || ownerView.gone) continue;
      const ownerAt = ownerView.get(kind.namespaced ? namespace : "", owners.name(index));
      if (ownerAt === 0 || this.#uidHashOf(ownerView, ownerAt) !== owners.uidHash(index)) return true;
      const state = ownersBehind(ownerView.selection(ownerAt));
      if (state?.isOrphaning === true || (state?.isForeground === true && !owners.isDeleted)) return true;
    }
    return false;
  }

  #uidHashOf(view: LogView, at: Location): number | undefined {
    let last = this.#lastUid.get(view);
    if (last?.at !== at) this.#lastUid.set(view, (last = { at, uidHash: uidHashOf(view.object(at)) }));
    return last.uidHash;
  }

  // The work.

  async #lookAtDependents(owner: number, queue: Queue): Promise<Result> {
    const walk = this.#graph.walk(owner);
    for (
      let place = this.#graph.next(walk);
      place !== undefined && !queue.signal.aborted;
      place = this.#graph.next(walk)
    ) {
      const view = this.#logs[place.log]?.view;
      // One that changed meanwhile is noted anew, and what it leads to with it.
      if (view?.isCurrent(place.at) === true) queue.add(keyOf(view, place.at));
      await queue.giveWay();
    }
    this.#graph.end(walk);
    return undefined;
  }

  async #lookAt(key: string, queue: Queue): Promise<Result> {
    const [prefix, name] = splitKey(key);
    const resource = this.#byPrefix.get(prefix)?.resource;
    const item = resource && this.#owners.item(resource, name);
    if (item === undefined) return undefined;
    const hash = this.#hashOf(item.view, item.at);
    const { deletionTimestamp, finalizers = [], ownerReferences = [] } = item.object.metadata;
    const states: OwnerState[] = [];
    const read: ReadOwners = new Map();
    for (const owner of ownerReferences) {
      states.push(this.#owners.stateOf(item, owner, read));
      // What was found of an owner stays true enough: the object is changed only as it was looked at. A large owner takes
      // 10 ms to read.
      await queue.giveWay();
    }
    const isIn = (...wanted: OwnerState[]): boolean => wanted.some((state) => states.includes(state));
    await this.#strays.tell(key, item, states, queue);
    failpoint("collector-looked");
    if (deletionTimestamp !== undefined) {
      const released = isIn("orphaning") ? await this.#release(item, states, ["orphaning"]) : undefined;
      if (released !== undefined) return released;
      if (finalizers.includes(orphanFinalizer)) return this.#letGo(item, hash, key, orphanFinalizer, queue);
      if (finalizers.includes(foregroundFinalizer)) return this.#letGo(item, hash, key, foregroundFinalizer, queue);
      return undefined;
    }
    if (states.length === 0) return undefined;
    if (isIn("unknown", "misplaced")) return isIn("orphaning") ? this.#release(item, states, ["orphaning"]) : undefined;
    if (isIn("solid", "orphaning")) return this.#release(item, states, ["absent", "waiting", "orphaning"]);
    if (isIn("waiting") && !this.#follow(queue)) return { againMs: limits.collectorGatherMs };
    if (isIn("waiting") && this.#graph.hasDependents(hash)) {
      if (await this.#isCircle(item, hash, queue)) return this.#unblock(item);
      return this.#delete(item, "Foreground");
    }
    if (finalizers.includes(orphanFinalizer)) return this.#delete(item, "Orphan");
    return this.#delete(item, finalizers.includes(foregroundFinalizer) ? "Foreground" : "Background");
  }

  /** Takes the references to owners in these states off an object. */
  async #release(item: Item, states: readonly OwnerState[], off: readonly OwnerState[]): Promise<Result> {
    if (!states.some((state) => off.includes(state))) return undefined;
    return this.#change(item, "The references of % to its owners cannot be taken off", (owners) =>
      owners.filter((_owner, index) => !off.includes(states[index] as OwnerState)),
    );
  }

  /** Whether an object would wait for one that waits, and has references that keep its owners from going. */
  async #isCircle(item: Item, hash: number, queue: Queue): Promise<boolean> {
    if (item.object.metadata.ownerReferences?.some(({ blockOwnerDeletion }) => blockOwnerDeletion === true) !== true)
      return false;
    const walk = this.#graph.walk(hash);
    let isFound = false;
    for (let place = this.#graph.next(walk); place !== undefined && !isFound; place = this.#graph.next(walk)) {
      const view = this.#logs[place.log]?.view;
      isFound = view?.isCurrent(place.at) === true && ownersBehind(view.selection(place.at))?.isForeground === true;
      await queue.giveWay();
    }
    this.#graph.end(walk);
    return isFound;
  }

  /** Has an object keep none of its owners from going; it is looked at again. */
  #unblock(item: Item): Promise<Result> {
    return this.#change(item, "The references of % cannot be changed to keep no owner from going", (owners) =>
      owners.map((owner) => (owner.blockOwnerDeletion === true ? { ...owner, blockOwnerDeletion: false } : owner)),
    );
  }

  /** Changes the owners of an object that is still as it was looked at. The change is news, and has it looked at again. */
  async #change(
    item: Item,
    message: string,
    change: (owners: readonly OwnerReference[]) => OwnerReference[],
  ): Promise<Result> {
    const { resource, namespace, name, object } = item;
    failpoint("collector-before-change");
    const done = await this.#actor.update({ resource, namespace, name }, ({ metadata }) => {
      if (metadata.resourceVersion !== object.metadata.resourceVersion) return changedMeanwhile(resource, name);
      const owners = change(metadata.ownerReferences ?? []);
      if (owners.length > 0) metadata.ownerReferences = owners;
      else delete metadata.ownerReferences;
      return undefined;
    });
    failpoint("collector-after-change");
    return resultOf(
      item,
      done,
      message.replace("%", () => `${resource.kind} ${name}`),
    );
  }

  /** Deletes an object that is still as it was looked at. */
  async #delete(item: Item, propagationPolicy: string): Promise<Result> {
    const { resource, namespace, name, object } = item;
    const { uid = "", resourceVersion = "" } = object.metadata;
    failpoint("collector-before-delete");
    const options = { propagationPolicy, preconditions: { uid, resourceVersion } };
    const done = await this.#actor.delete({ resource, namespace, name }, options);
    failpoint("collector-after-delete");
    return resultOf(item, done, `${resource.kind} ${name}, whose owners are gone, cannot be deleted`);
  }

  /** Takes the finalizer off an owner, once no dependent keeps it. */
  async #letGo(item: Item, hash: number, key: string, finalizer: string, queue: Queue): Promise<Result> {
    const walk = this.#graph.walk(hash);
    const kept = await this.#isKept(walk, item, finalizer, queue);
    this.#graph.end(walk);
    if (kept === undefined) return { againMs: limits.collectorGatherMs };
    if (kept) {
      // At most a tenth of the time is spent looking.
      const ms = limits.collectorGatherMs + walk.met / limits.collectorDependentsPerMs;
      const waiting = this.#waiting.get(hash);
      if (waiting === undefined) this.#waiting.set(hash, new Map([[key, ms]]));
      else waiting.set(key, ms);
      return undefined;
    }
    failpoint("collector-before-finalizer");
    const { resource, namespace, name } = item;
    const { uid } = item.object.metadata;
    const done = await this.#actor.update({ resource, namespace, name }, ({ metadata }) => {
      if (metadata.uid !== uid) return notFound(resource, name);
      const left = (metadata.finalizers ?? []).filter((other) => other !== finalizer);
      if (left.length > 0) metadata.finalizers = left;
      else delete metadata.finalizers;
      return undefined;
    });
    failpoint("collector-after-finalizer");
    return resultOf(item, done, `The finalizer ${finalizer} cannot be taken off ${resource.kind} ${name}`);
  }

  /**
   * Whether an owner has a dependent that has yet to go, or to lose its reference. Undefined: not all that was written
   * before the owner was deleted is in the graph. Takes many turns where they are many; what changes meanwhile is met.
   */
  async #isKept(walk: Walk, item: Item, finalizer: string, queue: Queue): Promise<boolean | undefined> {
    const isForeground = finalizer === foregroundFinalizer;
    const { uid = "" } = item.object.metadata;
    const uidHash = hashOfText(uid);
    for (let isAll = false; ; isAll = true) {
      let place = this.#graph.next(walk);
      if (isAll && place === undefined) return false;
      for (; place !== undefined; place = this.#graph.next(walk)) {
        if (this.#keeps(place, uid, uidHash, isForeground)) return true;
        await queue.giveWay();
        if (queue.signal.aborted) return undefined;
      }
      if (!this.#follow(queue) || !queue.catchUp()) return undefined;
    }
  }

  /** Whether a dependent keeps the owner with this uid from going. */
  #keeps({ log, at }: Place, uid: string, uidHash: number, isForeground: boolean): boolean {
    const followed = this.#logs[log];
    if (followed?.view.isCurrent(at) !== true) return false;
    const { view, resource } = followed;
    const owners = ownersBehind(view.selection(at));
    const count = owners?.count ?? 0;
    for (let index = 0; index < count; index++) {
      if (owners?.uidHash(index) !== uidHash || (isForeground && !owners.blocks(index))) continue;
      // Hashes agree: what the object says counts.
      const { metadata } = decodeStored(resource, view.object(at));
      // One that owns itself would wait for itself (on upstream it does).
      if (isForeground && metadata.uid === uid) return false;
      return (
        metadata.ownerReferences?.some(
          (owner) => owner.uid === uid && (!isForeground || owner.blockOwnerDeletion === true),
        ) === true
      );
    }
    return false;
  }

  /** The hash of an object as an owner. */
  #hashOf(view: LogView, at: Location): number {
    return this.#hash.of(`${view.prefix}/${view.keyOf(at)} ${uidHashOf(view.object(at))}`);
  }

  /** The same of an owner where its reference says it is; of what it is called, where its kind is not served. */
  #hashOfOwner(owners: Owners, index: number, kind: OwnerKind | undefined, key: string): number {
    const namespace = kind?.namespaced === false ? "" : key.slice(0, key.indexOf("/") + 1);
    return this.#hash.of(
      `${kind?.prefix ?? owners.kindHash(index)}/${namespace}${owners.name(index)} ${owners.uidHash(index)}`,
    );
  }
}

function keyOf(view: LogView, at: Location): string {
  return `${view.prefix} ${view.keyOf(at)}`;
}

function splitKey(key: string): [prefix: string, key: string] {
  const space = key.indexOf(" ");
  return [key.slice(0, space), key.slice(space + 1)];
}

/** Namespaces take turns, and what is in none. */
function laneOf(key: string): string {
  const [, place] = splitKey(key);
  return place.slice(0, place.indexOf("/") + 1);
}

function changedMeanwhile(resource: Resource, name: string): Status {
  return conflict(resource, name, "the object changed while its owners were looked at");
}

/** What became of a key: what is gone is as it should be, and what changed meanwhile is looked at again. */
function resultOf({ view, namespace, name, revision }: Item, done: Written | Status, message: string): Result {
  if (!isStatus(done) || done.success || done.reason === "NotFound") return undefined;
  if (done.reason !== "Conflict") return { cause: done, message };
  if (!view.gone) view.drain();
  const at = view.get(namespace, name);
  const isSame = at !== 0 && view.revisionOf(at) === revision;
  return isSame ? { cause: done, message } : { againMs: limits.collectorGatherMs };
}
