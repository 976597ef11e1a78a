// Keeps the status of quotas true: acknowledges their limits, and counts a namespace anew after something went that
// admission cannot see go (deleted objects, pods that ended). Admission charges before it writes, so what was charged a
// moment ago may not be there to be counted yet: a namespace is counted when its quotas were not charged for a while.
import type { ResourceQuota } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource, Scheme } from "../api/scheme.ts";
import { isStatus, refuse } from "../api/status.ts";
import { assert } from "../base/assert.ts";
import { compileSelector, type Match } from "../cache/fanout/select.ts";
import { type Location, recordTypes } from "../cache/shared/record.ts";
import type { ObjectTable } from "../cache/view/objects.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import { definitionsKind, groupOfDefinition, prefixOfDefinition } from "../kinds/custom/prefix.ts";
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
import type { Changed, Controller, Follows, Pace, Queue, Result } from "./reconciler.ts";
import { storedKind } from "./storedkind.ts";

type Quota = ApiObject & ResourceQuota;

/** A resource quotas can bound. */
interface Countable {
  readonly resource: Resource;
  readonly view: LogView;
  readonly evaluator: Evaluator;
  /** Updates that may lower what is used; undefined: none do. */
  readonly lowers: Match | undefined;
}

/** One that is followed. */
interface Counted extends Countable {
  readonly unfollow: () => void;
}

/** The quota was charged while its namespace was counted. */
const charged = refuse("Conflict", "the quota changed while it was counted");

/** A quota while a namespace is counted. */
interface Tally {
  readonly quota: Quota;
  readonly used: AmountMap;
}

/** Works on namespaces. Follows the log of quotas, and those of everything they count. */
export class QuotaController implements Controller {
  readonly follows: Follows;
  readonly pace: Pace = { resyncMs: limits.quotaRecountMs };
  readonly #server: Server;
  readonly #actor: Actor;
  readonly #resource: Resource;
  readonly #view: LogView;
  readonly #quotas: ObjectTable<Quota>;
  /** By prefix. */
  readonly #counted = new Map<string, Counted>();
  /** What is served, as #counted has it. */
  #served: Scheme | undefined;

  constructor(server: Server) {
    this.#server = server;
    this.#actor = new Actor(server.writers, "kube-controller-manager");
    const { resource, view } = storedKind(server, "", "v1", "resourcequotas");
    this.#resource = resource;
    this.#quotas = server.objects.table<Quota>("", "v1", "resourcequotas");
    this.#view = view;
    this.follows = [[this.#view, (queue, at) => this.#noteQuota(queue, this.#view.keyOf(at))]];
    const definitions = server.objects.view(...definitionsKind);
    if (definitions !== undefined) {
      const changed: Changed = (queue, at) => this.#kindOf(queue, definitions.keyOf(at));
      this.follows = [...this.follows, [definitions, changed]];
    }
  }

  all(queue: Queue): Promise<void> {
    this.#kinds(queue);
    this.#view.drain();
    return queue.scan(this.#view, (_at, key) => queue.add(key.slice(0, key.indexOf("/"))));
  }

  /** Counts a namespace and writes what is not true; the quotas must be as they were before anything was counted. */
  async work(namespace: string, queue: Queue): Promise<Result> {
    const quotas = this.#quotas.list(namespace);
    const tallies = quotas.map((quota): Tally => ({ quota, used: new Map() }));
    for (const counted of [...this.#kinds(queue)]) await this.#add(namespace, counted, tallies, queue);
    // Not everything was counted then.
    if (queue.signal.aborted) return undefined;
    let result: Result;
    for (const { quota, used } of tallies) {
      const done = await this.#write(namespace, quota, used);
      // A failure counts more than another look.
      if (result === undefined || (done !== undefined && "cause" in done)) result = done;
    }
    return result;
  }

  /** Everything that is counted now: what is served comes and goes, and is followed while it does. */
  #kinds(queue: Queue): Iterable<Counted> {
    const served = this.#server.scheme.current();
    if (served === this.#served) return this.#counted.values();
    this.#served = served;
    const gone = new Set(this.#counted.keys());
    for (const kind of countedOf(this.#server, served.resources)) {
      gone.delete(kind.view.prefix);
      this.#count(kind, queue);
    }
    for (const prefix of gone) this.#discount(prefix);
    return this.#counted.values();
  }

  /** The kind of a definition that came, changed or went: looking at all kinds is for when all are counted. */
  #kindOf(queue: Queue, name: string): void {
    const prefix = prefixOfDefinition(name);
    const served = this.#server.scheme.providedIn(groupOfDefinition(name));
    const [kind] = countedOf(
      this.#server,
      served.filter(({ stored }) => stored?.prefix === prefix),
    );
    if (kind !== undefined) this.#count(kind, queue);
    else if (this.#counted.get(prefix)?.resource.provided === true) this.#discount(prefix);
  }

  #count(kind: Countable, queue: Queue): void {
    const { prefix } = kind.view;
    const known = this.#counted.get(prefix);
    if (known?.resource === kind.resource && known.view === kind.view) return;
    known?.unfollow();
    kind.view.drain();
    const unfollow = queue.follow(kind.view, (_queue, at, type) => this.#note(queue, kind, at, type));
    this.#counted.set(prefix, { ...kind, unfollow });
  }

  #discount(prefix: string): void {
    this.#counted.get(prefix)?.unfollow();
    this.#counted.delete(prefix);
  }

  /** A quota came or changed. New limits are acknowledged at once; a charge puts off what is to be counted. */
  #noteQuota(queue: Queue, key: string): void {
    const slash = key.indexOf("/");
    const namespace = key.slice(0, slash);
    if (queue.has(namespace)) queue.postpone(namespace, limits.quotaQuietMs);
    const quota = this.#quotas.get(namespace, key.slice(slash + 1));
    if (quota !== undefined && !isAcknowledged(quota)) queue.add(namespace);
  }

  #note(queue: Queue, { view, lowers }: Countable, at: Location, type: number): void {
    const isLower = type === recordTypes.delete || (type === recordTypes.update && lowers?.(view, at) === true);
    if (!isLower) return;
    const key = view.keyOf(at);
    const namespace = key.slice(0, key.indexOf("/"));
    if (this.#quotas.has(namespace)) queue.addAfter(namespace, limits.quotaQuietMs);
  }

  async #write(namespace: string, quota: Quota, used: AmountMap): Promise<Result> {
    const hard = readAmounts(quota.spec.hard);
    const kept = only(readAmounts(quota.status.used), (name) => hard.has(name));
    const now = new Map([...kept, ...used]);
    const same = sameAmounts(readAmounts(quota.status.used), now);
    if (same && isAcknowledged(quota)) return undefined;
    const status = { hard: writeAmounts(hard), used: writeAmounts(now) };
    const { name = "", resourceVersion } = quota.metadata;
    const target = { resource: this.#resource, namespace, name, subresource: "status" };
    const done = await this.#actor.update<Quota>(target, (now) => {
      if (now.metadata.resourceVersion !== resourceVersion) return charged;
      now.status = status;
      return undefined;
    });
    if (isStatus(done) && done !== charged && done.reason !== "NotFound")
      return { cause: done, message: `Counting quota ${name} of namespace ${namespace} failed` };
    // Objects that passed admission before these limits were known may still arrive.
    return done === charged || !isAcknowledged(quota) ? { againMs: limits.quotaQuietMs } : undefined;
  }

  /** Adds what the objects of one resource use, a little per turn, as of one revision. */
  async #add(
    namespace: string,
    { resource, view, evaluator }: Counted,
    tallies: readonly Tally[],
    queue: Queue,
  ): Promise<void> {
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
      await queue.scan(view, take, { namespace, revision });
    } finally {
      hold.release();
    }
  }
}

/** Whether the status knows the limits, and something of everything they bound. */
function isAcknowledged({ spec, status }: Quota): boolean {
  return status.used !== undefined && sameAmounts(readAmounts(spec.hard), readAmounts(status.hard));
}

/** Every namespaced kind that is counted, at the version it is stored in. */
function countedOf({ identity, views }: Server, resources: readonly Resource[]): Countable[] {
  const found = new Map<string, Countable>();
  const ended = compileSelector({
    labels: [],
    fields: [
      { field: "status.phase", operator: "!=", value: "Pending" },
      { field: "status.phase", operator: "!=", value: "Running" },
    ],
  });
  const always: Match = () => true;
  for (const { namespaced, stored } of resources) {
    if (!namespaced || stored?.prefix === undefined || found.has(stored.prefix)) continue;
    const view = views.find(stored.prefix);
    // It has been given up meanwhile.
    if (view === undefined) continue;
    const evaluator = evaluatorOf(stored, identity);
    if (evaluator === undefined) continue;
    const isPods = evaluator.missing !== undefined;
    assert(!isPods || ended !== undefined, "A selector with requirements has a match");
    const lowers = isPods ? ended : evaluator.onUpdate ? always : undefined;
    found.set(stored.prefix, { resource: stored, view, evaluator, lowers });
  }
  return [...found.values()];
}
