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
// Keys: `<prefix> <key>` is an object to look at; `dependents <prefix> <key>` those that name it as owner.
import type { CustomResourceDefinition } from "../../api/gen/apiextensions/v1.ts";
import { type ApiObject, foregroundFinalizer, type OwnerReference, orphanFinalizer } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { conflict, isStatus, notFound, type Status } from "../../api/status.ts";
import { failpoint } from "../../base/failpoint.ts";
import { type Owners, ownersBehind } from "../../cache/shared/owners.ts";
import { type Location, recordTypes } from "../../cache/shared/record.ts";
import { hashOfText, nameHash, namespaceHash } from "../../cache/shared/selection.ts";
import { eachChange } from "../../cache/view/changes.ts";
import type { LogView } from "../../cache/view/view.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { limits } from "../../config/limits.ts";
import { definitionsKind, prefixOfDefinition } from "../../kinds/custom/prefix.ts";
import type { Server } from "../../request/call/context.ts";
import type { Written } from "../../request/commit/writerequest.ts";
import { Actor } from "../actor.ts";
import type { Controller, Follows, Queue, Result } from "../reconciler.ts";
import type { Recorders } from "../recording/eventwriter.ts";
import { graphLogsMax, mixed, OwnerGraph } from "./graph.ts";
import { type OwnerKind, OwnerKinds } from "./kinds.ts";
import { type Item, OwnerLookup, type OwnerState, type ReadOwners, uidHashOf } from "./owners.ts";
import { StrayOwners } from "./strays.ts";

/** A log that is followed. */
interface Followed {
  /** In the graph; used again after the log is gone. */
  readonly number: number;
  readonly view: LogView;
  /** Of the prefix. */
  readonly hash: number;
  /** The version objects are stored in, as it is served now. */
  resource: Resource;
  readonly stop: () => void;
}

/** An object in the graph. */
interface Place {
  readonly log: number;
  readonly at: Location;
}

/** Works on what new and changed kinds lead to. */
const kindsKey = "kinds";
const dependentsMark = "dependents ";
/** Objects in no namespace have the hash of an empty one. */
const noNamespace = hashOfText("");

/** Follows the logs of everything that can be deleted. */
export class GarbageCollector implements Controller {
  readonly follows: Follows;
  readonly pace = { workers: limits.collectorWorkersMax };
  readonly #actor: Actor;
  readonly #kinds: OwnerKinds;
  readonly #owners: OwnerLookup;
  readonly #strays: StrayOwners;
  readonly #server: Server;
  readonly #definitions: LogView | undefined;
  readonly #graph = new OwnerGraph();
  readonly #byPrefix = new Map<string, Followed>();
  /** By number. */
  readonly #logs: (Followed | undefined)[] = [];
  /** Logs whose objects are not all in the graph yet. */
  readonly #unread = new Set<Followed>();
  /** Objects that name an owner whose kind is elsewhere now. */
  #moved: Place[] = [];
  /** Owners that wait for dependents, by their hash: looked at again when one of these changes. */
  readonly #waiting = new Map<number, Set<string>>();
  /** The uid of the owner of each log that was looked at last, as its hash. */
  readonly #lastUid = new WeakMap<LogView, { readonly at: Location; readonly uidHash: number | undefined }>();

  constructor(server: Server, recorders: Recorders) {
    const account = "system:serviceaccount:kube-system:generic-garbage-collector";
    this.#server = server;
    this.#actor = new Actor(server.writers, "kube-controller-manager", account);
    this.#kinds = new OwnerKinds(server.scheme);
    this.#owners = new OwnerLookup(server.scheme, server.views, this.#kinds);
    this.#strays = new StrayOwners(server, recorders.recorder("garbage-collector-controller", account));
    this.#definitions = server.objects.view(...definitionsKind);
    const { scheme } = server;
    const [group, version, resource] = definitionsKind;
    const kind = scheme.find(scheme.identity.spell(group), version, resource);
    const view = this.#definitions;
    this.follows =
      view === undefined || kind === undefined
        ? []
        : [[view, (queue, at, type) => this.#noteDefinition(queue, kind, view, at, type)]];
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
    if (key.startsWith(dependentsMark)) return this.#lookAtDependents(key.slice(dependentsMark.length), queue);
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
    const free = this.#logs.indexOf(undefined);
    const number = free === -1 ? this.#logs.length : free;
    if (number >= graphLogsMax) return;
    view.drain();
    const hash = hashOfText(prefix);
    const changed = (at: Location, type: number): void => {
      const followed = this.#logs[number];
      if (followed?.view === view) this.#note(followed, at, type, queue);
    };
    const stop = queue.follow(view, (_queue, at, type) => changed(at, type), true);
    const followed = { number, view, hash, resource, stop };
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
    this.#graph.removeLog(followed.number, (owner) => this.#wake(owner, queue));
  }

  /** Has the objects looked at that name an owner of these kinds. */
  #lookAgain(kinds: ReadonlySet<number>, queue: Queue): void {
    if (kinds.size === 0) return;
    this.#graph.eachOfKinds(kinds, (log, at) => void this.#moved.push({ log, at }));
    if (this.#moved.length > 0) queue.add(kindsKey);
  }

  async #readKinds(queue: Queue): Promise<Result> {
    this.#follow(queue);
    while (this.#moved.length > 0 && !queue.signal.aborted) {
      const { log, at } = this.#moved.pop() as Place;
      const followed = this.#logs[log];
      if (followed?.view.isCurrent(at) === true) this.#note(followed, at, recordTypes.update, queue);
      if (this.#moved.length % limits.reconcileRecordsPerLook === 0) await queue.giveWay();
    }
    await this.#read(queue);
    return undefined;
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

  #noteDefinition(queue: Queue, resource: Resource, view: LogView, at: Location, type: number): void {
    if (type === recordTypes.delete) this.#lookAgain(this.#end(resource, view, at), queue);
    // All kinds are looked at, once for the definitions that come together.
    queue.addAfter(kindsKey, limits.collectorGatherMs);
  }

  #end(resource: Resource, view: LogView, at: Location): ReadonlySet<number> {
    const definition = decodeStored(resource, view.object(at)) as ApiObject & CustomResourceDefinition;
    return this.#kinds.end(definition, prefixOfDefinition(view.keyOf(at)), view.revisionOf(at));
  }

  /** Definitions that were deleted as long as there is history. */
  #readEnded(): void {
    const view = this.#definitions;
    const [group, version, plural] = definitionsKind;
    const { scheme } = this.#server;
    const resource = scheme.find(scheme.identity.spell(group), version, plural);
    if (view === undefined || resource === undefined) return;
    view.drain();
    const from = view.positionAfter(view.floor);
    if (from === undefined) return;
    eachChange(view, from, (at, type) => {
      if (type === recordTypes.delete) this.#end(resource, view, at);
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
    const source = view.selectionSource(at);
    const table = view.selectionAt(at);
    const namespace = namespaceHash(source, table);
    // An object may name one owner many times, and is one dependent of it.
    const added = new Set<string>();
    for (let index = 0; index < owners.count; index++) {
      const kindHash = owners.kindHash(index);
      const owner = ownerHash(owners, index, this.#kinds.of(kindHash), namespace);
      if (owners.count > 1 && added.size === added.add(`${owner} ${kindHash}`).size) continue;
      this.#graph.add(number, at, owner, kindHash);
    }
    if (owners.isForeground || owners.isOrphaning) {
      const key = keyOf(view, at);
      queue.add(key);
      queue.add(dependentsMark + key);
    } else if (this.#isSuspect(owners, view, at)) {
      const key = keyOf(view, at);
      this.#strays.note(key);
      queue.add(key);
    }
  }

  #noteDelete({ view, hash }: Followed, at: Location, queue: Queue): void {
    const source = view.selectionSource(at);
    const table = view.selectionAt(at);
    const owner = mixed(hash, namespaceHash(source, table), nameHash(source, table));
    const waiting = this.#waiting.get(owner);
    const isDependedOn = this.#graph.hasDependents(owner);
    if (waiting === undefined && !isDependedOn) return;
    const key = keyOf(view, at);
    if (waiting?.delete(key) === true && waiting.size === 0) this.#waiting.delete(owner);
    if (isDependedOn) queue.add(dependentsMark + key);
  }

  /** A reference to an owner went: one that waits for that is looked at. */
  #wake(owner: number, queue: Queue): void {
    const keys = this.#waiting.get(owner);
    if (keys !== undefined) for (const key of keys) queue.addAfter(key, limits.collectorGatherMs);
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

  async #lookAtDependents(key: string, queue: Queue): Promise<Result> {
    const [prefix, name] = splitKey(key);
    const followed = this.#byPrefix.get(prefix);
    const hash = hashOfText(prefix);
    const isNamespaced = followed?.resource.namespaced ?? name.includes("/");
    const slash = isNamespaced ? name.indexOf("/") : -1;
    const namespace = slash === -1 ? noNamespace : hashOfText(name.slice(0, slash));
    const places: Place[] = [];
    this.#graph.eachDependent(mixed(hash, namespace, hashOfText(name.slice(slash + 1))), (log, at) => {
      places.push({ log, at });
      return true;
    });
    for (const { log, at } of places) {
      const view = this.#logs[log]?.view;
      // One that changed meanwhile is noted anew, and what it leads to with it.
      if (view?.isCurrent(at) === true) queue.add(keyOf(view, at));
      await queue.giveWay();
      if (queue.signal.aborted) return undefined;
    }
    return undefined;
  }

  async #lookAt(key: string, queue: Queue): Promise<Result> {
    const [prefix, name] = splitKey(key);
    const resource = this.#byPrefix.get(prefix)?.resource;
    const item = resource && this.#owners.item(resource, name);
    if (item === undefined) return undefined;
    const hash = this.#hashOf(item);
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
      if (this.#isCircle(item, hash)) return this.#unblock(item);
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
  #isCircle(item: Item, hash: number): boolean {
    if (item.object.metadata.ownerReferences?.some(({ blockOwnerDeletion }) => blockOwnerDeletion === true) !== true)
      return false;
    let isFound = false;
    this.#graph.eachDependent(hash, (log, at) => {
      const view = this.#logs[log]?.view;
      isFound = view?.isCurrent(at) === true && ownersBehind(view.selection(at))?.isForeground === true;
      return !isFound;
    });
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
    // What was written before the owner was deleted has to be in the graph.
    if (!this.#follow(queue) || !queue.catchUp()) return { againMs: limits.collectorGatherMs };
    if (this.#isKept(item, hash, finalizer)) {
      const waiting = this.#waiting.get(hash);
      if (waiting === undefined) this.#waiting.set(hash, new Set([key]));
      else waiting.add(key);
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

  /** Whether an owner has a dependent that has yet to go, or to lose its reference. */
  #isKept(item: Item, hash: number, finalizer: string): boolean {
    const { uid = "" } = item.object.metadata;
    const own = item.view.get(item.namespace, item.name);
    const uidHash = hashOfText(uid);
    const isForeground = finalizer === foregroundFinalizer;
    let isKept = false;
    this.#graph.eachDependent(hash, (log, at) => {
      const followed = this.#logs[log];
      if (followed?.view.isCurrent(at) !== true) return true;
      const { view, resource } = followed;
      // One that owns itself would wait for itself (on upstream it does).
      if (view === item.view && at === own && isForeground) return true;
      const owners = ownersBehind(view.selection(at));
      const count = owners?.count ?? 0;
      for (let index = 0; index < count && !isKept; index++) {
        if (owners?.uidHash(index) !== uidHash || (isForeground && !owners.blocks(index))) continue;
        // Hashes agree: what the object says counts.
        const { ownerReferences = [] } = decodeStored(resource, view.object(at)).metadata;
        isKept = ownerReferences.some(
          (owner) => owner.uid === uid && (!isForeground || owner.blockOwnerDeletion === true),
        );
      }
      return !isKept;
    });
    return isKept;
  }

  #hashOf({ view, at }: Item): number {
    // Not followed any more: it has no dependents that are known.
    const hash = this.#byPrefix.get(view.prefix)?.hash ?? 0;
    const source = view.selectionSource(at);
    const table = view.selectionAt(at);
    return mixed(hash, namespaceHash(source, table), nameHash(source, table));
  }
}

/** The hash of where an owner is, as its own record has it; of what it is called, where its kind is not served. */
function ownerHash(owners: Owners, index: number, kind: OwnerKind | undefined, namespace: number): number {
  const name = owners.nameHash(index);
  if (kind === undefined) return mixed(owners.kindHash(index), namespace, name);
  return mixed(kind.hash, kind.namespaced ? namespace : noNamespace, name);
}

function keyOf(view: LogView, at: Location): string {
  return `${view.prefix} ${view.keyOf(at)}`;
}

function splitKey(key: string): [prefix: string, key: string] {
  const space = key.indexOf(" ");
  return [key.slice(0, space), key.slice(space + 1)];
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
