// Which pods a service selects, kept in step with the logs of both. Labels are read from side-tables, never from objects:
// a change of a pod finds its services by a number made of namespace, label and value, and costs nothing more where no
// service selects it. A pass over a service looks at the service's own pods only.
import type { Service } from "../../api/gen/core/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import type { Selector } from "../../api/selector.ts";
import { assert } from "../../base/assert.ts";
import type { Clock } from "../../base/clock.ts";
import {
  compileTables,
  indexKindCount,
  indexKinds,
  indexTerms,
  RecordTerms,
  type TableMatch,
} from "../../cache/fanout/select.ts";
import { type Location, recordTypes } from "../../cache/shared/record.ts";
import type { LogView } from "../../cache/view/view.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { limits } from "../../config/limits.ts";
import type { WriteServices } from "../../request/commit/writerequest.ts";
import type { Follows, Queue } from "../reconciler.ts";
import type { StoredKind } from "../storedkind.ts";
import { type Backend, type Backends, backendsOf } from "./backends.ts";
import { TriggerTimes } from "./triggertimes.ts";

/** A service that selects pods. */
export class SelectingService {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly match: TableMatch;
  readonly triggers = new TriggerTimes();
  /** The number it is found by. */
  readonly term: number;
  /** Names of its pods; undefined: too many are held in all, and its namespace is looked through instead. */
  pods: Set<string> | undefined = new Set();
  /** When something was written for it last, on the monotonic clock. */
  wroteMs = Number.NEGATIVE_INFINITY;
  readonly #selector: ReadonlyMap<string, string>;

  constructor(key: string, namespace: string, selector: ReadonlyMap<string, string>, term: number) {
    this.key = key;
    this.namespace = namespace;
    this.term = term;
    this.#selector = selector;
    const match = compileTables(namespace, selectorOf(selector));
    assert(match !== undefined, "A selector of a namespace is no selector for everything");
    this.match = match;
  }

  /** Whether this is what it selects by. */
  selectsBy(selector: ReadonlyMap<string, string>): boolean {
    if (selector.size !== this.#selector.size) return false;
    for (const [key, value] of selector) if (this.#selector.get(key) !== value) return false;
    return true;
  }
}

/** A service as it is now. */
export interface FoundService {
  readonly service: ApiObject & Service;
  /** Undefined: it selects no pods, and what it leads to is not ours. */
  readonly selecting: SelectingService | undefined;
}

const used = Array.from({ length: indexKindCount }, (_none, kind) => (kind === indexKinds.labelInNamespace ? 1 : 0));

/** Services and their pods, for one controller: about 20 bytes for each pod of a service. */
export class ServicePods {
  readonly services: LogView;
  readonly #resource: Resource;
  readonly #pods: LogView;
  readonly #backends: Backends;
  readonly #clock: Clock;
  readonly #byKey = new Map<string, SelectingService>();
  readonly #byTerm = new Map<number, Set<SelectingService>>();
  readonly #terms = new RecordTerms();
  /** Names in the sets of all services. */
  #heldCount = 0;
  #isComplete = false;

  constructor(writers: WriteServices, services: StoredKind, pods: StoredKind) {
    this.#resource = services.resource;
    this.services = services.view;
    this.#pods = pods.view;
    this.#backends = backendsOf(writers, pods.resource, pods.view);
    this.#clock = writers.clock;
  }

  /**
   * Whether rebuild() has ended. Until then what is known of a service may be a part of its pods: a key is to be left to
   * all(), which adds every key afterwards.
   */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Adds the keys of services that changed, and, a moment later, of those whose pods did. */
  follows(): Follows {
    return [
      [this.services, (queue, at) => queue.add(this.services.keyOf(at))],
      [this.#pods, (queue, at, type) => this.#notePod(queue, at, type)],
    ];
  }

  /** Looks at every service and pod anew. */
  async rebuild(queue: Queue): Promise<void> {
    this.#isComplete = false;
    this.#byKey.clear();
    this.#byTerm.clear();
    this.#heldCount = 0;
    this.services.drain();
    await queue.scan(this.services, (at, key) => void this.#selecting(key, this.#read(at)));
    this.#pods.drain();
    await queue.scan(this.#pods, (at, key) => {
      for (const selecting of this.#selectors(at)) this.#put(selecting, nameOf(key), true);
    });
    await this.#backends.prune(() => queue.giveWay());
    this.#isComplete = !queue.signal.aborted;
  }

  /** A service as it is now; undefined: there is none of that key. */
  async find(key: string, queue: Queue): Promise<FoundService | undefined> {
    this.services.drain();
    const at = this.services.get(namespaceOf(key), nameOf(key));
    if (at === 0) {
      this.#drop(key);
      return undefined;
    }
    const service = this.#read(at);
    const before = this.#byKey.get(key);
    const selecting = this.#selecting(key, service);
    if (selecting !== undefined && selecting !== before) {
      const take = (pod: Location, podKey: string): void => {
        if (this.#isMatch(selecting, pod)) this.#put(selecting, nameOf(podKey), true);
      };
      await queue.scan(this.#pods, take, { namespace: selecting.namespace });
    }
    return { service, selecting };
  }

  /** The pods of a service as they are now, in no order. */
  async backends(selecting: SelectingService, queue: Queue): Promise<Backend[]> {
    const { namespace } = selecting;
    const found: Backend[] = [];
    for (const name of selecting.pods ?? (await this.#scanned(selecting, queue))) {
      const at = this.#pods.get(namespace, name);
      // A change that has not been handed on yet, or whose former labels were not known any more.
      if (at === 0 || !this.#isMatch(selecting, at)) this.#put(selecting, name, false);
      else found.push(this.#backends.get(`${namespace}/${name}`, at));
      await queue.giveWay();
    }
    return found;
  }

  async #scanned(selecting: SelectingService, queue: Queue): Promise<string[]> {
    const names: string[] = [];
    const take = (at: Location, key: string): void => {
      if (this.#isMatch(selecting, at)) names.push(nameOf(key));
    };
    await queue.scan(this.#pods, take, { namespace: selecting.namespace });
    return names;
  }

  /** The services that select a pod now, and those that did until this change, get another look. */
  #notePod(queue: Queue, at: Location, type: number): void {
    const view = this.#pods;
    if (type === recordTypes.delete) this.#backends.forget(view.keyOf(at));
    const previous = view.previousOf(at);
    const selectors = this.#selectors(at);
    const former = previous === 0 ? [] : this.#selectors(previous);
    if (selectors.length + former.length === 0) return;
    const touched = new Set([...selectors, ...former]);
    const key = view.keyOf(at);
    const now = view.get(namespaceOf(key), nameOf(key));
    const nowMs = this.#clock.monotonic();
    for (const selecting of touched) {
      this.#put(selecting, nameOf(key), now !== 0 && this.#isMatch(selecting, now));
      const pauseMs = selecting.wroteMs + limits.endpointsPauseMs - nowMs;
      queue.addAfter(selecting.key, Math.max(limits.endpointsGatherMs, pauseMs));
    }
  }

  #selectors(at: Location): SelectingService[] {
    const found: SelectingService[] = [];
    const source = this.#pods.selectionSource(at);
    const table = this.#pods.selectionAt(at);
    this.#terms.read(source, table, used, true);
    for (let index = 0; index < this.#terms.count; index += 1) {
      const candidates = this.#byTerm.get(this.#terms.keys[index] ?? 0);
      if (candidates === undefined) continue;
      for (const selecting of candidates) if (selecting.match(source, table)) found.push(selecting);
    }
    return found;
  }

  #isMatch(selecting: SelectingService, at: Location): boolean {
    return selecting.match(this.#pods.selectionSource(at), this.#pods.selectionAt(at));
  }

  #put(selecting: SelectingService, pod: string, isIn: boolean): void {
    const { pods } = selecting;
    // It may have been replaced in the middle of a scan.
    if (pods === undefined || this.#byKey.get(selecting.key) !== selecting) return;
    const before = pods.size;
    if (isIn) pods.add(pod);
    else pods.delete(pod);
    this.#heldCount += pods.size - before;
    if (this.#heldCount <= limits.endpointsPodsHeldMax) return;
    this.#heldCount -= pods.size;
    selecting.pods = undefined;
  }

  /** What a service selects by, as of its last look: another one when that changed, without pods yet. */
  #selecting(key: string, { spec }: Service): SelectingService | undefined {
    const selector = spec.selector ?? new Map<string, string>();
    const known = this.#byKey.get(key);
    if (known?.selectsBy(selector) === true) return known;
    this.#drop(key);
    if (selector.size === 0) return undefined;
    const namespace = namespaceOf(key);
    const selecting = new SelectingService(key, namespace, selector, this.#termFor(namespace, selector));
    this.#byKey.set(key, selecting);
    const alike = this.#byTerm.get(selecting.term);
    if (alike === undefined) this.#byTerm.set(selecting.term, new Set([selecting]));
    else alike.add(selecting);
    return selecting;
  }

  /** The number of the label that the fewest services are found by. */
  #termFor(namespace: string, selector: ReadonlyMap<string, string>): number {
    let best: number | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const label of selector) {
      const term = indexTerms(namespace, selectorOf([label]), 1)?.keys[0];
      assert(term !== undefined, "A label with its value has a number");
      const count = this.#byTerm.get(term)?.size ?? 0;
      if (count < fewest) [best, fewest] = [term, count];
    }
    assert(best !== undefined, "A selector has a label");
    return best;
  }

  #drop(key: string): void {
    const known = this.#byKey.get(key);
    if (known === undefined) return;
    this.#byKey.delete(key);
    this.#heldCount -= known.pods?.size ?? 0;
    const alike = this.#byTerm.get(known.term);
    alike?.delete(known);
    if (alike?.size === 0) this.#byTerm.delete(known.term);
  }

  #read(at: Location): ApiObject & Service {
    return decodeStored(this.#resource, this.services.object(at)) as ApiObject & Service;
  }
}

/** The part of a key before the slash. */
export function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf("/"));
}

/** The part of a key after the slash. */
export function nameOf(key: string): string {
  return key.slice(key.indexOf("/") + 1);
}

function selectorOf(labels: Iterable<readonly [string, string]>): Selector {
  return { labels: [...labels].map(([key, value]) => ({ key, operator: "=", values: [value] })), fields: [] };
}
