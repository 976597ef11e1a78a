// Empties namespaces that are being deleted and then lets them go, as often as it takes for finalizers and grace periods
// to end: pods first, network policies only after the last pod, and what extension servers hold as well. What is left is
// told in the namespace's conditions (namespaceconditions.ts). It sleeps unless a namespace is terminating.
import type { NamespaceCondition, Pod } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus, refuse, type Status } from "../api/status.ts";
import type { Value } from "../api/value.ts";
import { compileSelector } from "../cache/fanout/select.ts";
import { type Location, recordTypes } from "../cache/shared/record.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import { apiServicesKind } from "../kinds/apiregistration/apiservice.ts";
import type { Server } from "../request/call/context.ts";
import { readCurrent, storedObject, timeText } from "../request/commit/objectstore.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";
import { Actor } from "./actor.ts";
import { conditionsOf, emptyRemains, faultOf, finalizerEstimateSeconds, type Remains } from "./namespaceconditions.ts";
import { RemoteContents, unexpectedText } from "./namespaceremote.ts";
import type { Controller, Follows, Pace, Queue, Result } from "./reconciler.ts";
import { storedKind } from "./storedkind.ts";

interface Namespace extends ApiObject {
  spec?: { finalizers?: string[] };
  status?: { conditions?: NamespaceCondition[] };
}

/** How one resource of a namespace looks after its objects were deleted. */
interface Left {
  readonly count: number;
  /** By a finalizer. */
  readonly isKept: boolean;
  /** The longest grace period of pods. */
  readonly graceSeconds: number;
}

/** Of a pass over what this server has. */
interface LocalPass {
  /** Since the namespace was deleted; left out: it is not there. */
  readonly endedMs?: number;
  /** Whether it is to end early. */
  readonly isOver?: () => boolean;
}

/** Whether the namespace of a record is being deleted. */
export const isTerminating = compileSelector({
  labels: [],
  fields: [{ field: "status.phase", operator: "=", value: "Terminating" }],
});

/**
 * Works on the names of namespaces. Follows the log of namespaces, those that hold something of one that ends, and that
 * of APIServices, which tell of extension servers that may answer by now.
 */
export class NamespaceController implements Controller {
  readonly follows: Follows;
  readonly pace: Pace = { workers: limits.namespacePassesMax };
  readonly #writers: WriteServices;
  readonly #remote: RemoteContents;
  readonly #actor: Actor;
  readonly #namespaces: Resource;
  readonly #view: LogView;
  readonly #finalizer: string;
  readonly #policies: string;
  /** Logs that hold something of namespaces that end: of which ones, and how to stop following. */
  readonly #waiting = new Map<LogView, { readonly names: Set<string>; readonly stop: () => void }>();
  /** Namespaces that cannot go before an extension server says what it serves. */
  readonly #undiscovered = new Set<string>();

  constructor(server: Pick<Server, "writers" | "scheme" | "extensions" | "clock" | "objects">) {
    const { writers, scheme } = server;
    this.#writers = writers;
    this.#remote = new RemoteContents(server);
    this.#actor = new Actor(writers, "kube-controller-manager");
    const namespaces = storedKind(writers, "", "v1", "namespaces");
    this.#namespaces = namespaces.resource;
    this.#view = namespaces.view;
    const { spell } = scheme.identity;
    this.#finalizer = spell("kubernetes");
    this.#policies = spell("networking.k8s.io");
    const services = server.objects.view(...apiServicesKind);
    const discovered = (queue: Queue): void => {
      for (const name of this.#undiscovered) queue.addAfter(name, limits.namespacePassMsMin);
    };
    this.follows = [
      [this.#view, (queue, at, type) => this.#note(queue, at, type)],
      ...(services === undefined ? [] : [[services, discovered] as const]),
    ];
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
    const found = this.#current(name);
    if (found === undefined) return undefined;
    const remains = emptyRemains();
    const endedMs = this.#writers.clock.now() - Date.parse(found.metadata.deletionTimestamp ?? "");
    await this.#deleteContents(name, remains, queue, { endedMs });
    await this.#remote.deleteAll(name, remains, queue.signal);
    const namespace = this.#current(name);
    // What was cut short knows nothing of what is left.
    if (namespace === undefined || queue.signal.aborted) return undefined;
    if (remains.undiscovered.size > 0) this.#undiscovered.add(name);
    const untold = await this.#tell(namespace, remains);
    const fault = faultOf(remains);
    if (fault !== undefined)
      return { cause: refuse("Conflict", fault), message: `Deleting the contents of namespace ${name} failed` };
    if (untold !== undefined) return { cause: untold, message: `Updating namespace ${name} failed` };
    if (remains.counts.size > 0) return { againMs: againMsOf(remains) };
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
    this.#undiscovered.delete(name);
    for (const view of [...this.#waiting.keys()]) this.#forgetIn(name, view);
  }

  #forgetIn(name: string, view: LogView): void {
    const waiting = this.#waiting.get(view);
    if (waiting?.names.delete(name) !== true || waiting.names.size > 0) return;
    waiting.stop();
    this.#waiting.delete(view);
  }

  /** Deletes everything this server has of a namespace. */
  async #deleteContents(name: string, remains: Remains, queue: Queue, pass: LocalPass): Promise<void> {
    let hasPods = false;
    for (const resource of this.#contents()) {
      if (queue.signal.aborted || pass.isOver?.() === true) return;
      const view = this.#writers.views.find(resource.prefix ?? "");
      // A custom resource that goes took its objects along.
      if (view === undefined) continue;
      // Pods that still run are not let loose.
      const isHeld = hasPods && this.#isPolicies(resource);
      const [found, refused] = isHeld ? [1, undefined] : await this.#deleteAll(name, resource, view, queue);
      if (refused !== undefined) remains.refusals.push(refused.message);
      if (found === 0) continue;
      const left = await this.#count(name, resource, view, remains, queue);
      if (left.count === 0 || refused !== undefined) continue;
      hasPods ||= isPods(resource);
      const graceMs = 1000 * left.graceSeconds;
      if (graceMs > (pass.endedMs ?? 0)) remains.estimateSeconds = Math.max(remains.estimateSeconds, left.graceSeconds);
      else if (left.isKept) remains.estimateSeconds = Math.max(remains.estimateSeconds, finalizerEstimateSeconds);
      else if (!isHeld) remains.refusals.push(unexpectedText(name, resource));
    }
  }

  async #deleteAll(
    name: string,
    resource: Resource,
    view: LogView,
    queue: Queue,
  ): Promise<[found: number, refused: Status | undefined]> {
    const options = { propagationPolicy: "Background" };
    let [found, refused]: [number, Status | undefined] = [0, undefined];
    for (let after: string | undefined = ""; after !== undefined && refused === undefined; ) {
      if (queue.signal.aborted) break;
      const [items, last] = locate(view, name, after);
      if (items.length === 0) break;
      found += items.length;
      refused = await this.#actor.deleteItems({ resource, namespace: name }, view, items, options);
      after = last;
      await queue.giveWay();
    }
    return [found, refused];
  }

  /** Counts what is left in a log, and what keeps it. */
  async #count(name: string, resource: Resource, view: LogView, remains: Remains, queue: Queue): Promise<Left> {
    const { counts, finalizers } = remains;
    const left = { count: 0, isKept: false, graceSeconds: 0 };
    view.drain();
    // What goes while it is counted is news.
    this.#wait(name, view, queue);
    const count = (at: Location): void => {
      left.count += 1;
      const object = decodeStored(resource, view.object(at));
      for (const finalizer of object.metadata.finalizers ?? []) {
        left.isKept = true;
        finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
      }
      if (isPods(resource)) left.graceSeconds = Math.max(left.graceSeconds, graceOf(object as ApiObject & Pod));
    };
    await queue.scan(view, count, { namespace: name });
    if (left.count > 0) counts.set(`${resource.resource}.${resource.group}`, left.count);
    else this.#forgetIn(name, view);
    return left;
  }

  /** One resource per log, as they are now: pods first, network policies last. */
  #contents(): readonly Resource[] {
    const byPrefix = new Map<string, Resource>();
    for (const { namespaced, stored } of this.#writers.scheme.resources) {
      if (namespaced && stored?.prefix !== undefined && !byPrefix.has(stored.prefix))
        byPrefix.set(stored.prefix, stored);
    }
    const place = (resource: Resource): number => (isPods(resource) ? 0 : this.#isPolicies(resource) ? 2 : 1);
    return [...byPrefix.values()].toSorted((a, b) => place(a) - place(b));
  }

  #isPolicies({ group, resource }: Resource): boolean {
    return group === this.#policies && resource === "networkpolicies";
  }

  /** Removes objects of a namespace that is not there; one of its name that is made meanwhile keeps its own. */
  async #sweep(name: string, queue: Queue): Promise<Result> {
    const isBack = (): boolean => this.#view.drain() > 0 && this.#view.get("", name) !== 0;
    const remains = emptyRemains();
    await this.#deleteContents(name, remains, queue, { isOver: isBack });
    const fault = faultOf(remains);
    if (fault === undefined) return undefined;
    return { cause: refuse("Conflict", fault), message: `Deleting what is left of namespace ${name} failed` };
  }

  /** Brings the conditions up to date; the refusal when that failed. */
  async #tell(namespace: Namespace, remains: Remains): Promise<Status | undefined> {
    const before = namespace.status?.conditions ?? [];
    // An empty one goes without a word, unless something else keeps it.
    const isKept = (namespace.metadata.finalizers ?? []).length > 0 || (namespace.spec?.finalizers ?? []).length > 1;
    const isEmpty = remains.counts.size === 0 && faultOf(remains) === undefined;
    if (isEmpty && !isKept && before.length === 0) return undefined;
    const after = conditionsOf(remains, before, timeText(this.#writers.clock.now()));
    if (after.length === before.length && after.every((c, i) => c === before[i])) return undefined;
    const list = after.map((condition) => new Map<string, Value>(Object.entries(condition) as [string, string][]));
    const patch: Value = new Map([["status", new Map([["conditions", list]])]]);
    const name = namespace.metadata.name ?? "";
    const done = await this.#actor.patch({ resource: this.#namespaces, name, subresource: "status" }, patch);
    return isStatus(done) && done.reason !== "NotFound" ? done : undefined;
  }
}

/** Half of what it may take, and a second (upstream); what goes before is news. */
function againMsOf({ estimateSeconds }: Remains): number {
  return Math.min(limits.namespacePassMsMax, 1000 * (Math.floor(estimateSeconds / 2) + 1));
}

function isPods({ group, resource }: Resource): boolean {
  return group === "" && resource === "pods";
}

/** Seconds a pod may take to end; none when it has ended. */
function graceOf({ spec, status }: ApiObject & Pod): number {
  if (status.phase === "Succeeded" || status.phase === "Failed") return 0;
  return Number(spec.terminationGracePeriodSeconds ?? 0);
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
