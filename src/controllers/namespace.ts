// Empties namespaces that are being deleted and then lets them go: pods first, then everything else, as often as it
// takes for finalizers and grace periods to end. What is left is told in the namespace's conditions, in the words of
// upstream's namespace controller. It sleeps unless a namespace is terminating.
import { compareBytes } from "../api/gotext.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus, type Status } from "../api/status.ts";
import type { Value } from "../api/value.ts";
import { assert } from "../base/assert.ts";
import { compileSelector } from "../cache/fanout/select.ts";
import { type Location, recordTypes } from "../cache/shared/record.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import { readCurrent, storedObject, timeText } from "../request/commit/objectstore.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";
import { Actor } from "./actor.ts";
import type { Controller, Follows, Queue, Result } from "./reconciler.ts";

interface Condition {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

interface Namespace extends ApiObject {
  spec?: { finalizers?: string[] };
  status?: { conditions?: (Condition & { lastTransitionTime?: string })[] };
}

/** What a namespace still holds. */
interface Remains {
  /** Objects by `resource.group`. */
  readonly counts: Map<string, number>;
  /** Objects by finalizer that keeps them. */
  readonly finalizers: Map<string, number>;
  refusal: Status | undefined;
}

/** Whether the namespace of a record is being deleted. */
export const isTerminating = compileSelector({
  labels: [],
  fields: [{ field: "status.phase", operator: "=", value: "Terminating" }],
});

/** Works on the names of namespaces. Follows the log of namespaces, and those that hold something of one that ends. */
export class NamespaceController implements Controller {
  readonly follows: Follows;
  readonly #writers: WriteServices;
  readonly #actor: Actor;
  readonly #namespaces: Resource;
  readonly #view: LogView;
  readonly #finalizer: string;
  readonly #claimFinalizer: string;
  /** Logs that hold something of namespaces that end: of which ones, and how to stop following. */
  readonly #waiting = new Map<LogView, { readonly names: Set<string>; readonly stop: () => void }>();

  constructor(writers: WriteServices) {
    this.#writers = writers;
    this.#actor = new Actor(writers, "kube-controller-manager");
    const namespaces = writers.scheme.find("", "v1", "namespaces")?.stored;
    assert(namespaces?.prefix !== undefined, "Namespaces are stored");
    this.#namespaces = namespaces;
    this.#view = writers.views.log(namespaces.prefix);
    const { spell } = writers.scheme.identity;
    this.#finalizer = spell("kubernetes");
    this.#claimFinalizer = spell("kubernetes.io/pvc-protection");
    this.follows = [[this.#view, (queue, at, type) => this.#note(queue, at, type)]];
  }

  all(queue: Queue): Promise<void> {
    this.#view.drain();
    return queue.scan(this.#view, (at, name) => {
      if (isTerminating?.(this.#view, at) === true) queue.add(name);
    });
  }

  /** Removes what can be removed of a namespace that ends, and then lets it go. */
  async work(name: string, queue: Queue): Promise<Result> {
    this.#forget(name);
    this.#view.drain();
    // What passed admission before the namespace went may have arrived after it.
    if (this.#view.get("", name) === 0) return this.#sweep(name, queue);
    if (this.#current(name) === undefined) return undefined;
    const remains = await this.#deleteContents(name, queue);
    const namespace = this.#current(name);
    // What was cut short knows nothing of what is left.
    if (namespace === undefined || queue.signal.aborted) return undefined;
    const untold = await this.#tell(namespace, remains);
    if (remains.refusal !== undefined)
      return { cause: remains.refusal, message: `Deleting the contents of namespace ${name} failed` };
    if (untold !== undefined) return { cause: untold, message: `Updating namespace ${name} failed` };
    if (remains.counts.size > 0) return { againMs: limits.namespacePassMsMax };
    const finalizers = namespace.spec?.finalizers ?? [];
    const left = finalizers.filter((f) => f !== this.#finalizer);
    if (left.length === finalizers.length) return undefined;
    const patch: Value = new Map([["spec", new Map([["finalizers", left]])]]);
    const done = await this.#actor.patch({ resource: this.#namespaces, name, subresource: "finalize" }, patch);
    if (!isStatus(done) || done.reason === "NotFound") return undefined;
    return { cause: done, message: `Letting namespace ${name} go failed` };
  }

  #note(queue: Queue, at: Location, type: number): void {
    if (type === recordTypes.delete || isTerminating?.(this.#view, at) === true)
      queue.addAfter(this.#view.keyOf(at), limits.namespacePassMsMin);
  }

  /** The namespace if it is there and ends. */
  #current(name: string): Namespace | undefined {
    const current = readCurrent(this.#writers, this.#namespaces, "", name);
    const namespace = current && (storedObject(this.#namespaces, current) as Namespace);
    return namespace?.metadata.deletionTimestamp === undefined ? undefined : namespace;
  }

  /** What becomes of the objects in a log leads to another look at a namespace. */
  #wait(name: string, view: LogView, queue: Queue): void {
    let waiting = this.#waiting.get(view);
    if (waiting === undefined) {
      const names = new Set<string>();
      const stop = queue.follow(view, (_queue, at) => {
        const key = view.keyOf(at);
        const namespace = key.slice(0, key.indexOf("/"));
        if (names.has(namespace)) queue.addAfter(namespace, limits.namespacePassMsMin);
      });
      waiting = { names, stop };
      this.#waiting.set(view, waiting);
    }
    waiting.names.add(name);
  }

  #forget(name: string): void {
    for (const view of [...this.#waiting.keys()]) this.#forgetIn(name, view);
  }

  #forgetIn(name: string, view: LogView): void {
    const waiting = this.#waiting.get(view);
    if (waiting?.names.delete(name) !== true || waiting.names.size > 0) return;
    waiting.stop();
    this.#waiting.delete(view);
  }

  /** Deletes everything in a namespace; `isOver` ends it early. */
  async #deleteContents(name: string, queue: Queue, isOver: () => boolean = () => false): Promise<Remains> {
    const remains: Remains = { counts: new Map(), finalizers: new Map(), refusal: undefined };
    for (const resource of contentsOf(this.#writers.scheme.resources)) {
      if (queue.signal.aborted || isOver()) break;
      await this.#deleteAll(name, resource, remains, queue);
      // Nothing pods may depend on goes before them.
      if (resource.group === "" && resource.resource === "pods" && remains.counts.size > 0) break;
    }
    return remains;
  }

  async #deleteAll(name: string, resource: Resource, remains: Remains, queue: Queue): Promise<void> {
    const view = this.#writers.views.find(resource.prefix ?? "");
    // A custom resource that goes took its objects along.
    if (view === undefined) return;
    const options = { propagationPolicy: "Background" };
    let [found, refused]: [number, Status | undefined] = [0, undefined];
    for (let after: string | undefined = ""; after !== undefined && refused === undefined; ) {
      if (queue.signal.aborted) return;
      const [items, last] = locate(view, name, after);
      if (items.length === 0) break;
      found += items.length;
      refused = await this.#actor.deleteItems({ resource, namespace: name }, view, items, options);
      after = last;
      await queue.giveWay();
    }
    if (found === 0) return;
    remains.refusal ??= refused;
    if (resource.group === "" && resource.resource === "persistentvolumeclaims")
      await this.#unprotect(name, resource, queue);
    await this.#count(name, resource, view, remains, queue);
  }

  /** Counts what is left in a log, and what keeps it. */
  async #count(name: string, resource: Resource, view: LogView, remains: Remains, queue: Queue): Promise<void> {
    const { counts, finalizers } = remains;
    let left = 0;
    view.drain();
    // What goes while it is counted is news.
    this.#wait(name, view, queue);
    const count = (at: Location): void => {
      left += 1;
      for (const finalizer of decodeStored(resource, view.object(at)).metadata.finalizers ?? [])
        finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
    };
    await queue.scan(view, count, { namespace: name });
    if (left > 0) counts.set(`${resource.resource}.${resource.group}`, left);
    else this.#forgetIn(name, view);
  }

  /** Claims are not in use where no pod is left and none can come: nothing protects them any more. */
  async #unprotect(name: string, claims: Resource, queue: Queue): Promise<void> {
    const view = this.#writers.views.log(claims.prefix ?? "");
    const going = new Map<string, string[]>();
    const note = (at: Location): void => {
      const { metadata } = decodeStored(claims, view.object(at));
      const finalizers = metadata.finalizers ?? [];
      const left = finalizers.filter((finalizer) => finalizer !== this.#claimFinalizer);
      if (left.length < finalizers.length && metadata.deletionTimestamp !== undefined)
        going.set(metadata.name ?? "", left);
    };
    view.drain();
    await queue.scan(view, note, { namespace: name });
    for (const [claim, left] of going) {
      const target = { resource: claims, namespace: name, name: claim };
      const done = await this.#actor.patch(target, new Map([["metadata", new Map([["finalizers", left]])]]));
      if (isStatus(done) && done.reason !== "NotFound")
        queue.report(name, `Unprotecting claim ${claim} of namespace ${name} failed`, done);
    }
  }

  /** Removes objects of a namespace that is not there; one of its name that is made meanwhile keeps its own. */
  async #sweep(name: string, queue: Queue): Promise<Result> {
    const isBack = (): boolean => this.#view.drain() > 0 && this.#view.get("", name) !== 0;
    const { refusal } = await this.#deleteContents(name, queue, isBack);
    return refusal && { cause: refusal, message: `Deleting what is left of namespace ${name} failed` };
  }

  /** Brings the conditions up to date; the refusal when that failed. */
  async #tell(namespace: Namespace, remains: Remains): Promise<Status | undefined> {
    const before = namespace.status?.conditions ?? [];
    const now = timeText(this.#writers.clock.now());
    const after = [...before];
    for (const condition of conditionsOf(remains)) {
      const index = after.findIndex((c) => c.type === condition.type);
      const old = after[index];
      const same =
        old?.status === condition.status && old.reason === condition.reason && old.message === condition.message;
      if (same) continue;
      const changed = { ...condition, lastTransitionTime: now };
      if (index < 0) after.push(changed);
      else after[index] = changed;
    }
    if (after.length === before.length && after.every((c, i) => c === before[i])) return undefined;
    const list = after.map((condition) => new Map<string, Value>(Object.entries(condition) as [string, string][]));
    const patch: Value = new Map([["status", new Map([["conditions", list]])]]);
    const name = namespace.metadata.name ?? "";
    const done = await this.#actor.patch({ resource: this.#namespaces, name, subresource: "status" }, patch);
    return isStatus(done) && done.reason !== "NotFound" ? done : undefined;
  }
}

/** One resource per log, pods first. */
function contentsOf(resources: readonly Resource[]): readonly Resource[] {
  const byPrefix = new Map<string, Resource>();
  for (const { namespaced, stored } of resources) {
    if (namespaced && stored?.prefix !== undefined && !byPrefix.has(stored.prefix)) byPrefix.set(stored.prefix, stored);
  }
  const isPods = (resource: Resource): boolean => resource.group === "" && resource.resource === "pods";
  const all = [...byPrefix.values()];
  return [...all.filter(isPods), ...all.filter((resource) => !isPods(resource))];
}

/** Objects of a namespace after a key, as many as are deleted at once; the last one's key when there may be more. */
function locate(view: LogView, namespace: string, after: string): [items: Location[], last: string | undefined] {
  const items: Location[] = [];
  let last: string | undefined;
  view.drain();
  view.scan(namespace, after, 0, (at, key) => {
    items.push(at);
    last = items.length < limits.namespaceDeletesMax ? undefined : key;
    return last === undefined;
  });
  return [items, last];
}

function conditionsOf(remains: Remains): Condition[] {
  const { counts, finalizers, refusal } = remains;
  const list = (map: Map<string, number>, text: (key: string, count: number) => string): string =>
    [...map]
      .sort(([a], [b]) => compareBytes(a, b))
      .map(([key, count]) => text(key, count))
      .join(", ");
  const resources = list(counts, (key, count) => `${key} has ${count} resource instances`);
  const keepers = list(finalizers, (key, count) => `${key} in ${count} resource instances`);
  return [
    no("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    no(
      "NamespaceDeletionGroupVersionParsingFailure",
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed",
    ),
    refusal === undefined
      ? no(
          "NamespaceDeletionContentFailure",
          "ContentDeleted",
          "All content successfully deleted, may be waiting on finalization",
        )
      : yes(
          "NamespaceDeletionContentFailure",
          "ContentDeletionFailed",
          `Failed to delete all resource types, 1 remaining: ${refusal.message}`,
        ),
    counts.size === 0
      ? no("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed")
      : yes("NamespaceContentRemaining", "SomeResourcesRemain", `Some resources are remaining: ${resources}`),
    finalizers.size === 0
      ? no("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished")
      : yes(
          "NamespaceFinalizersRemaining",
          "SomeFinalizersRemain",
          `Some content in the namespace has finalizers remaining: ${keepers}`,
        ),
  ];
}

function no(type: string, reason: string, message: string): Condition {
  return { type, status: "False", reason, message };
}

function yes(type: string, reason: string, message: string): Condition {
  return { type, status: "True", reason, message };
}
