// Keeps the status of quotas true: acknowledges their limits, and counts a namespace anew after something went that
// admission cannot see go (deleted objects, pods that ended). Admission charges before it writes, so what was charged a
// moment ago may not be there to be counted yet: a namespace is counted when its quotas were not charged for a while.
import type { ResourceQuota } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus, refuse } from "../api/status.ts";
import { assert } from "../base/assert.ts";
import { nextTurn } from "../base/turn.ts";
import { compileSelector, type Match } from "../cache/fanout/select.ts";
import { type Location, recordTypes } from "../cache/shared/record.ts";
import { eachChange } from "../cache/view/changes.ts";
import type { ObjectTable } from "../cache/view/objects.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import {
  type AmountMap,
  addAll,
  countOf,
  only,
  readAmounts,
  sameAmounts,
  writeAmounts,
} from "../kinds/quota/amounts.ts";
import type { Evaluator } from "../kinds/quota/evaluator.ts";
import { isInScopes, scopesOf } from "../kinds/quota/scopes.ts";
import { evaluatorOf } from "../kinds/table.ts";
import type { Server } from "../request/call/context.ts";
import { Actor } from "./actor.ts";
import { Reconciler, type Report } from "./reconciler.ts";

type Quota = ApiObject & ResourceQuota;

/** A resource quotas can bound. */
interface Counted {
  readonly resource: Resource;
  readonly view: LogView;
  readonly evaluator: Evaluator;
  /** Where its log was followed to. */
  position: number;
  /** Updates that may lower what is used; undefined: none do. */
  readonly lowers: Match | undefined;
}

/** The quota was charged while its namespace was counted. */
const charged = refuse("Conflict", "the quota changed while it was counted");

/** A quota while a namespace is counted. */
interface Tally {
  readonly quota: Quota;
  readonly used: AmountMap;
}

/** Runs from start() to stop(). */
export class QuotaController {
  readonly #server: Server;
  readonly #report: Report;
  readonly #actor: Actor;
  readonly #resource: Resource;
  readonly #quotas: ObjectTable<Quota>;
  readonly #counted: readonly Counted[];
  readonly #stops: (() => void)[] = [];
  /** Namespaces to count, and from when on; monotonic ms. */
  readonly #due = new Map<string, number>();
  readonly #passes: Reconciler;
  #recount: NodeJS.Timeout | undefined;

  constructor(server: Server, report: Report) {
    this.#server = server;
    this.#report = report;
    this.#passes = new Reconciler(
      () => this.#pass(),
      (error) => report("A pass over quotas failed", error),
    );
    this.#actor = new Actor(server.writers, "kube-controller-manager");
    const resource = server.scheme.find("", "v1", "resourcequotas");
    assert(resource !== undefined, "Quotas are served");
    this.#resource = resource;
    this.#quotas = server.objects.table<Quota>("", "v1", "resourcequotas");
    this.#counted = countedOf(server);
    this.#quotas.onChange((namespace, name) => this.#noteQuota(namespace, name));
  }

  /** Looks at every quota once, then whenever something changes. */
  start(): void {
    for (const counted of this.#counted) {
      counted.view.drain();
      counted.position = counted.view.head;
      this.#stops.push(counted.view.onNews(() => this.#follow(counted)));
    }
    this.#all();
    this.#recount = setInterval(() => this.#all(), limits.quotaRecountMs);
    this.#recount.unref();
  }

  /** No pass starts after this. */
  stop(): void {
    this.#passes.stop();
    clearInterval(this.#recount);
    for (const stop of this.#stops.splice(0)) stop();
  }

  #all(): void {
    for (const { metadata } of this.#quotas.all()) this.#mark(metadata.namespace ?? "", 0);
  }

  /** A quota came or changed. New limits are acknowledged at once; a charge puts off what is to be counted. */
  #noteQuota(namespace: string, name: string): void {
    if (this.#due.has(namespace)) this.#due.set(namespace, this.#now() + limits.quotaQuietMs);
    // Not to be read within the news of its own table.
    queueMicrotask(() => {
      const quota = this.#quotas.get(namespace, name);
      if (quota !== undefined && !isAcknowledged(quota)) this.#mark(namespace, 0);
    });
  }

  #follow(counted: Counted): void {
    const { view, lowers } = counted;
    // Quotas are followed by their table; this is what makes it look.
    this.#quotas.refresh();
    const from = counted.position;
    counted.position = view.head;
    const known = eachChange(view, from, (at, type) => {
      const lowered = type === recordTypes.delete || (type === recordTypes.update && lowers?.(view, at) === true);
      if (!lowered) return;
      const key = view.keyOf(at);
      const namespace = key.slice(0, key.indexOf("/"));
      if (this.#quotas.names(namespace).length > 0) this.#mark(namespace, limits.quotaQuietMs);
    });
    if (!known) this.#all();
  }

  #mark(namespace: string, delayMs: number): void {
    const at = this.#now() + delayMs;
    const known = this.#due.get(namespace);
    if (known === undefined || at < known) this.#due.set(namespace, at);
    this.#passes.askIn(delayMs);
  }

  async #pass(): Promise<void> {
    for (const [namespace, at] of [...this.#due]) {
      if (this.#passes.stopped) return;
      if (at > this.#now()) continue;
      this.#due.delete(namespace);
      try {
        await this.#count(namespace);
      } catch (error) {
        this.#report(`Counting the quotas of namespace ${namespace} failed`, error);
        this.#mark(namespace, limits.quotaRetryMs);
      }
    }
    const next = Math.min(...this.#due.values());
    if (Number.isFinite(next)) this.#passes.askIn(Math.max(1, next - this.#now()));
  }

  /** Counts a namespace and writes what is not true; the quotas must be as they were before anything was counted. */
  async #count(namespace: string): Promise<void> {
    const quotas = this.#quotas.list(namespace);
    const tallies = quotas.map((quota): Tally => ({ quota, used: new Map() }));
    for (const counted of this.#counted) await this.#add(namespace, counted, tallies);
    // Not everything was counted then.
    if (this.#passes.stopped) return;
    for (const { quota, used } of tallies) {
      const hard = readAmounts(quota.spec.hard);
      const kept = only(readAmounts(quota.status.used), (name) => hard.has(name));
      const now = new Map([...kept, ...used]);
      const same = sameAmounts(readAmounts(quota.status.used), now);
      if (same && isAcknowledged(quota)) continue;
      const status = { hard: writeAmounts(hard), used: writeAmounts(now) };
      const { name = "", resourceVersion } = quota.metadata;
      const target = { resource: this.#resource, namespace, name, subresource: "status" };
      const done = await this.#actor.update<Quota>(target, (now) => {
        if (now.metadata.resourceVersion !== resourceVersion) return charged;
        now.status = status;
        return undefined;
      });
      // Objects that passed admission before these limits were known may still arrive.
      if (done === charged || !isAcknowledged(quota)) this.#mark(namespace, limits.quotaQuietMs);
      if (!isStatus(done) || done === charged || done.reason === "NotFound") continue;
      this.#report(`Counting quota ${quota.metadata.name} of namespace ${namespace} failed`, done);
      this.#mark(namespace, limits.quotaRetryMs);
    }
  }

  /** Adds what the objects of one resource use, a little per turn, as of one revision. */
  async #add(namespace: string, { resource, view, evaluator }: Counted, tallies: readonly Tally[]): Promise<void> {
    const mine = tallies.flatMap(({ quota, used }) => {
      const names = new Set(evaluator.matching(quota.spec.hard?.keys() ?? []));
      for (const name of names) if (!used.has(name)) used.set(name, countOf(0));
      return names.size === 0 ? [] : [{ names, used, scopes: scopesOf(quota.spec) }];
    });
    if (mine.length === 0) return;
    const revision = view.drain();
    const hold = view.hold();
    const nowMs = this.#server.clock.now();
    const take = (at: Location): void => {
      const object = decodeStored(resource, view.object(at));
      const usage = evaluator.usage(object, nowMs);
      for (const { names, used, scopes } of mine) {
        if (!isInScopes(scopes, evaluator, object)) continue;
        addAll(
          used,
          only(usage, (name) => names.has(name)),
        );
      }
    };
    try {
      for (let after: string | undefined = ""; after !== undefined && !this.#passes.stopped; ) {
        const until = performance.now() + limits.sliceMsMax;
        let last: string | undefined;
        view.scan(namespace, after, revision, (at, key) => {
          take(at);
          if (performance.now() < until) return true;
          last = key;
          return false;
        });
        after = last;
        await nextTurn();
      }
    } finally {
      hold.release();
    }
  }

  #now(): number {
    return this.#server.clock.monotonic();
  }
}

/** Whether the status knows the limits, and something of everything they bound. */
function isAcknowledged({ spec, status }: Quota): boolean {
  return status.used !== undefined && sameAmounts(readAmounts(spec.hard), readAmounts(status.hard));
}

/** Every namespaced kind that is counted, at the version it is stored in. */
function countedOf({ scheme, identity, views }: Server): Counted[] {
  const found = new Map<string, Counted>();
  const ended = compileSelector({
    labels: [],
    fields: [
      { field: "status.phase", operator: "!=", value: "Pending" },
      { field: "status.phase", operator: "!=", value: "Running" },
    ],
  });
  const always: Match = () => true;
  for (const { namespaced, stored } of scheme.resources) {
    if (!namespaced || stored?.prefix === undefined || found.has(stored.prefix)) continue;
    const evaluator = evaluatorOf(stored, identity);
    if (evaluator === undefined) continue;
    const isPods = evaluator.missing !== undefined;
    assert(!isPods || ended !== undefined, "A selector with requirements has a match");
    const lowers = isPods ? ended : evaluator.onUpdate ? always : undefined;
    found.set(stored.prefix, { resource: stored, view: views.log(stored.prefix), evaluator, position: 0, lowers });
  }
  return [...found.values()];
}
