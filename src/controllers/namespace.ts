// Empties namespaces that are being deleted and then lets them go: pods first, then everything else, as often as it
// takes for finalizers and grace periods to end. What is left is told in the namespace's conditions, in the words of
// upstream's namespace controller. One instance per server; it sleeps unless a namespace is terminating.
import { compareBytes } from "../api/gotext.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus, type Status } from "../api/status.ts";
import type { Value } from "../api/value.ts";
import { assert } from "../base/assert.ts";
import { compileSelector } from "../cache/fanout/select.ts";
import type { Location } from "../cache/shared/record.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import { readCurrent, storedObject, timeText } from "../request/commit/objectstore.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";
import { Actor } from "./actor.ts";
import type { Report } from "./reconciler.ts";

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
  /** Logs to watch for the end of it. */
  readonly views: Set<LogView>;
  refusal: Status | undefined;
}

/** Runs from start() to stop(). */
export class NamespaceController {
  readonly #writers: WriteServices;
  readonly #actor: Actor;
  readonly #report: Report;
  readonly #namespaces: Resource;
  readonly #view: LogView;
  readonly #finalizer: string;
  readonly #claimFinalizer: string;
  readonly #terminating = compileSelector({
    labels: [],
    fields: [{ field: "status.phase", operator: "=", value: "Terminating" }],
  });
  readonly #following = new Map<LogView, () => void>();
  #timer: NodeJS.Timeout | undefined;
  #dueMs = Number.POSITIVE_INFINITY;
  #running = false;
  #stopped = false;
  /** Namespaces removed lately: a create that passed admission before may still arrive. */
  #removed = new Set<string>();

  constructor(writers: WriteServices, report: Report) {
    this.#writers = writers;
    this.#actor = new Actor(writers, "kube-controller-manager");
    this.#report = report;
    const namespaces = writers.scheme.find("", "v1", "namespaces")?.stored;
    assert(namespaces?.prefix !== undefined, "Namespaces are stored");
    this.#namespaces = namespaces;
    this.#view = writers.views.log(namespaces.prefix);
    const { spell } = writers.scheme.identity;
    this.#finalizer = spell("kubernetes");
    this.#claimFinalizer = spell("kubernetes.io/pvc-protection");
  }

  /** Looks at once, then whenever namespaces change. */
  start(): void {
    this.#follow(this.#view);
    this.#schedule(0);
  }

  /** No pass starts after this. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    for (const stop of this.#following.values()) stop();
    this.#following.clear();
  }

  #follow(view: LogView): void {
    if (!this.#following.has(view))
      this.#following.set(
        view,
        view.onNews(() => this.#schedule(limits.namespacePassMsMin)),
      );
  }

  #schedule(delayMs: number): void {
    const dueMs = this.#writers.clock.monotonic() + delayMs;
    if (this.#stopped || dueMs >= this.#dueMs) return;
    clearTimeout(this.#timer);
    this.#dueMs = dueMs;
    this.#timer = setTimeout(() => void this.#pass(), delayMs);
  }

  async #pass(): Promise<void> {
    this.#dueMs = Number.POSITIVE_INFINITY;
    if (this.#running) return this.#schedule(limits.namespacePassMsMin);
    this.#running = true;
    try {
      await this.#once();
    } catch (error) {
      this.#report("A pass over terminating namespaces failed", error);
      this.#schedule(limits.namespacePassMsMax);
    } finally {
      this.#running = false;
    }
  }

  async #once(): Promise<void> {
    const names: string[] = [];
    this.#view.drain();
    this.#view.scan("", "", 0, (at, key) => {
      if (this.#terminating?.(this.#view, at) === true) names.push(key);
      return true;
    });
    const watched = new Set<LogView>([this.#view]);
    const late = [...this.#removed];
    this.#removed = new Set();
    for (const name of late) await this.#sweep(name);
    for (const name of names) {
      if (this.#stopped) return;
      for (const view of await this.#empty(name)) watched.add(view);
    }
    for (const [view, stop] of this.#following) {
      if (watched.has(view)) continue;
      stop();
      this.#following.delete(view);
    }
    for (const view of watched) this.#follow(view);
    if (watched.size > 1 || this.#removed.size > 0) this.#schedule(limits.namespacePassMsMax);
  }

  /** Removes what can be removed; answers the logs that still hold something. */
  async #empty(name: string): Promise<Iterable<LogView>> {
    const remains = await this.#deleteContents(name);
    const current = readCurrent(this.#writers, this.#namespaces, "", name);
    if (current === undefined) return [];
    const namespace = storedObject(this.#namespaces, current) as Namespace;
    if (namespace.metadata.deletionTimestamp === undefined) return [];
    const told = await this.#tell(namespace, remains);
    if (remains.refusal !== undefined)
      this.#report(`Deleting the contents of namespace ${name} failed`, remains.refusal);
    if (!told || remains.refusal !== undefined) this.#schedule(limits.namespacePassMsMax);
    if (remains.views.size > 0 || remains.refusal !== undefined) return remains.views;
    const finalizers = namespace.spec?.finalizers ?? [];
    const left = finalizers.filter((f) => f !== this.#finalizer);
    if (left.length === finalizers.length) return [];
    const patch: Value = new Map([["spec", new Map([["finalizers", left]])]]);
    const done = await this.#actor.patch({ resource: this.#namespaces, name, subresource: "finalize" }, patch);
    if (!isStatus(done)) this.#removed.add(name);
    else if (done.reason !== "NotFound") {
      this.#report(`Letting namespace ${name} go failed`, done);
      this.#schedule(limits.namespacePassMsMax);
    }
    return [];
  }

  async #deleteContents(name: string): Promise<Remains> {
    const remains: Remains = { counts: new Map(), finalizers: new Map(), views: new Set(), refusal: undefined };
    for (const resource of contentsOf(this.#writers.scheme.resources)) {
      if (this.#stopped) break;
      await this.#deleteAll(name, resource, remains);
      // Nothing pods may depend on goes before them.
      if (resource.group === "" && resource.resource === "pods" && remains.counts.size > 0) break;
    }
    return remains;
  }

  async #deleteAll(name: string, resource: Resource, remains: Remains): Promise<void> {
    const view = this.#writers.views.log(resource.prefix ?? "");
    const items = locate(view, name);
    if (items.length === 0) return;
    const options = { propagationPolicy: "Background" };
    const refused = await this.#actor.deleteItems({ resource, namespace: name }, view, items, options);
    remains.refusal ??= refused;
    if (resource.group === "" && resource.resource === "persistentvolumeclaims") await this.#unprotect(name, resource);
    const left = locate(view, name);
    if (left.length === 0) return;
    remains.views.add(view);
    remains.counts.set(`${resource.resource}.${resource.group}`, left.length);
    for (const at of left) {
      for (const finalizer of decodeStored(resource, view.object(at)).metadata.finalizers ?? []) {
        remains.finalizers.set(finalizer, (remains.finalizers.get(finalizer) ?? 0) + 1);
      }
    }
  }

  /** Claims are not in use where no pod is left and none can come: nothing protects them any more. */
  async #unprotect(name: string, claims: Resource): Promise<void> {
    const view = this.#writers.views.log(claims.prefix ?? "");
    for (const at of locate(view, name)) {
      const { metadata } = decodeStored(claims, view.object(at));
      const finalizers = metadata.finalizers ?? [];
      const left = finalizers.filter((finalizer) => finalizer !== this.#claimFinalizer);
      if (left.length === finalizers.length || metadata.deletionTimestamp === undefined) continue;
      const claim = { resource: claims, namespace: name, name: metadata.name ?? "" };
      const done = await this.#actor.patch(claim, new Map([["metadata", new Map([["finalizers", left]])]]));
      if (isStatus(done) && done.reason !== "NotFound")
        this.#report(`Unprotecting claim ${metadata.name} failed`, done);
    }
  }

  /** Removes objects that arrived in a namespace after it was gone. */
  async #sweep(name: string): Promise<void> {
    this.#view.drain();
    if (this.#view.get("", name) !== 0) return;
    await this.#deleteContents(name);
  }

  /** Brings the conditions up to date; false when that failed. */
  async #tell(namespace: Namespace, remains: Remains): Promise<boolean> {
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
    if (after.length === before.length && after.every((c, i) => c === before[i])) return true;
    const list = after.map((condition) => new Map<string, Value>(Object.entries(condition) as [string, string][]));
    const patch: Value = new Map([["status", new Map([["conditions", list]])]]);
    const name = namespace.metadata.name ?? "";
    const done = await this.#actor.patch({ resource: this.#namespaces, name, subresource: "status" }, patch);
    if (isStatus(done) && done.reason !== "NotFound") this.#report(`Updating namespace ${name} failed`, done);
    return !isStatus(done);
  }
}

/** Every namespaced log once, at the version it is stored in; pods first, else in the order of discovery. */
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

function locate(view: LogView, namespace: string): Location[] {
  const items: Location[] = [];
  view.drain();
  view.scan(namespace, "", 0, (at) => {
    items.push(at);
    return true;
  });
  return items;
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
