// ResourceQuota: what a write uses is charged to the quotas of its namespace before the write is committed, by a write
// of their status that holds only while no other request charged them. Writes that wait for the same namespace are judged
// together, in order, and charged with one write per quota. A write that fails gives back what it was charged.
import type { ResourceQuota } from "../../api/gen/core/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import { isStatus, refuse, type Status, timedOut } from "../../api/status.ts";
import { ownerOf } from "../../authz/owner.ts";
import { assert } from "../../base/assert.ts";
import { Shares } from "../../base/shares.ts";
import { limits } from "../../config/limits.ts";
import { type Amounts, addAll, subtractDownToZero, writeAmounts } from "../../kinds/quota/amounts.ts";
import type { Evaluator } from "../../kinds/quota/evaluator.ts";
import { evaluatorOf } from "../../kinds/table.ts";
import type { AdmissionPlugin, Attributes, Environment } from "../plugin.ts";
import { type Account, accountOf, type Charges, judge, type LimitedResource } from "./rules.ts";
import { readLimitedResources } from "./settings.ts";

type Quota = ApiObject & ResourceQuota;

/** A write that is to be judged, or a failed one's charges that are to be given back. */
interface Waiter {
  readonly attributes: Attributes;
  readonly evaluator: Evaluator;
  /** What was charged so far. */
  readonly paid: Map<string, Amounts>;
  readonly done: (refusal: Status | undefined) => void;
}

/** What waits for a namespace. */
interface Line extends Round {
  /** Places of waiters, those under way included. */
  readonly places: Shares;
}

/** What is looked at together. */
interface Round {
  readonly waiters: Waiter[];
  /** Charges of failed writes. */
  readonly refunds: Charges[];
}

/** Builds the plugin. */
export function resourceQuota(environment: Environment): AdmissionPlugin {
  const { objects, identity, clock, settings } = environment;
  const table = objects.table<Quota>("", "v1", "resourcequotas");
  const limited = readLimitedResources(settings, identity);
  assert(typeof limited !== "string", "Main checked the settings");
  const desk = new ChargeDesk(environment, limited);
  return {
    validate(attributes) {
      const { operation, resource, subresource, namespace, dryRun, notes } = attributes;
      if (subresource !== "" || namespace === "" || (operation !== "create" && operation !== "update"))
        return undefined;
      const quotas = table.list(namespace);
      if (quotas.length === 0 && limited.length === 0) return undefined;
      const evaluator = evaluatorOf(resource, identity);
      if (evaluator === undefined || (operation === "update" && !evaluator.onUpdate)) return undefined;
      const judged = judge(attributes, evaluator, accountsOf(quotas), limited, clock.now());
      if (dryRun || (!isStatus(judged) && judged.size === 0)) return isStatus(judged) ? judged : undefined;
      // A refusal, too, is worth a second look behind the writes that wait: one of them may give something back.
      if (isStatus(judged) && !desk.isBusy(namespace)) return judged;
      return desk.charge(attributes, evaluator).then((outcome) => {
        if (isStatus(outcome)) return outcome;
        notes.onSettled((committed) => (committed ? undefined : desk.giveBack(namespace, outcome)));
        return undefined;
      });
    },
  };
}

/** In the order of names: whose refusal is told does not depend on chance. */
function accountsOf(quotas: readonly Quota[]): Account[] {
  const accounts = quotas.map(accountOf);
  return accounts.toSorted((a, b) => (a.quotaName < b.quotaName ? -1 : 1));
}

/** Everything that charges quotas on this front: one round at a time per namespace. */
class ChargeDesk {
  readonly #environment: Environment;
  readonly #limited: readonly LimitedResource[];
  readonly #namespaces = new Map<string, Line>();

  constructor(environment: Environment, limited: readonly LimitedResource[]) {
    this.#environment = environment;
    this.#limited = limited;
  }

  /** Whether charges for a namespace are under way. */
  isBusy(namespace: string): boolean {
    return this.#namespaces.has(namespace);
  }

  /** What the write was charged, or why it is refused. */
  charge(attributes: Attributes, evaluator: Evaluator): Promise<Charges | Status> {
    const { namespace } = attributes;
    const line = this.#enter(namespace);
    const leave = line.places.take(ownerOf(this.#environment.identity, attributes.user));
    if (leave === undefined) return Promise.resolve(tooMany);
    return new Promise((resolve) => {
      const paid = new Map<string, Amounts>();
      const done = (refusal: Status | undefined): void => {
        leave();
        if (refusal !== undefined && paid.size > 0) this.giveBack(namespace, paid);
        resolve(refusal ?? paid);
      };
      line.waiters.push({ attributes, evaluator, paid, done });
    });
  }

  /** Takes charges back, after whatever is under way. */
  giveBack(namespace: string, charges: Charges): void {
    this.#enter(namespace).refunds.push(charges);
  }

  #enter(namespace: string): Line {
    let line = this.#namespaces.get(namespace);
    if (line === undefined) {
      const places = new Shares("writes waiting for quotas", limits.quotaWaitersMax);
      line = { waiters: [], refunds: [], places };
      this.#namespaces.set(namespace, line);
      // In a microtask: writes of one turn are judged together.
      queueMicrotask(() => void this.#work(namespace));
    }
    return line;
  }

  async #work(namespace: string): Promise<void> {
    const line = this.#enter(namespace);
    while (line.waiters.length > 0 || line.refunds.length > 0) {
      const waiters = line.waiters.splice(0);
      const refunds = line.refunds.splice(0);
      const again = await this.#round(namespace, waiters, refunds);
      line.waiters.unshift(...again.waiters);
      line.refunds.unshift(...again.refunds);
    }
    this.#namespaces.delete(namespace);
  }

  /** One write per quota for all requests that wait; returns those that must be looked at again, because a quota had changed. */
  async #round(namespace: string, waiters: readonly Waiter[], refunds: readonly Charges[]): Promise<Round> {
    const { objects, clock } = this.#environment;
    const accounts = accountsOf(objects.table<Quota>("", "v1", "resourcequotas").list(namespace));
    const touched = new Set<Account>();
    for (const charges of refunds) {
      for (const [account, amounts] of chargedOf(accounts, charges)) {
        account.used = subtractDownToZero(account.used, amounts);
        touched.add(account);
      }
    }
    const charging: { readonly waiter: Waiter; readonly charges: Charges }[] = [];
    for (const waiter of waiters) {
      const charges = this.#judge(waiter, accounts);
      if (isStatus(charges)) {
        waiter.done(charges);
        continue;
      }
      charging.push({ waiter, charges });
      for (const [account, amounts] of chargedOf(accounts, charges)) {
        addAll(account.used, amounts);
        touched.add(account);
      }
    }
    const outcomes = await this.#commit([...touched]);
    const openRefunds = refunds
      .map((charges) => new Map([...charges].filter(([quota]) => outcomes.get(quota) === "conflict")))
      .filter((charges) => charges.size > 0);
    const open = charging.filter(({ waiter, charges }) => !settle(waiter, charges, outcomes));
    const late = open.filter(({ waiter }) => clock.monotonic() >= waiter.attributes.deadline);
    for (const { waiter } of late) waiter.done(timedOut);
    return { waiters: open.filter((one) => !late.includes(one)).map(({ waiter }) => waiter), refunds: openRefunds };
  }

  #judge({ attributes, evaluator, paid }: Waiter, accounts: readonly Account[]): Charges | Status {
    return judge(attributes, evaluator, accounts, this.#limited, this.#environment.clock.now(), paid);
  }

  /** Writes the quotas that changed, all at once. */
  async #commit(accounts: readonly Account[]): Promise<Map<string, Outcome>> {
    const outcomes = await Promise.all(
      accounts.map(async ({ quota, quotaName, used }): Promise<[string, Outcome]> => {
        const status = { ...quota.status, used: writeAmounts(used) };
        const changed = { ...quota, metadata: { ...quota.metadata }, status } as ApiObject;
        const outcome = await this.#environment.commit(changed, "", "v1", "resourcequotas");
        // A quota that is gone bounds nothing: whoever it was charged to is looked at again without it.
        return [quotaName, outcome === "gone" ? "conflict" : outcome];
      }),
    );
    return new Map(outcomes);
  }
}

/** The accounts some charges are about, with the amounts. */
function chargedOf(accounts: readonly Account[], charges: Charges): [Account, Amounts][] {
  return accounts.flatMap((account) => {
    const amounts = charges.get(account.quotaName);
    return amounts === undefined ? [] : [[account, amounts] as [Account, Amounts]];
  });
}

type Outcome = "done" | "conflict" | Status;

/** Notes what was charged; true when the waiter has its answer. */
function settle(waiter: Waiter, charges: Charges, outcomes: ReadonlyMap<string, Outcome>): boolean {
  let refusal: Status | undefined;
  let complete = true;
  for (const [quota, amounts] of charges) {
    const outcome = outcomes.get(quota);
    if (outcome === "done") waiter.paid.set(quota, amounts);
    else if (isStatus(outcome)) refusal ??= outcome;
    else complete = false;
  }
  if (!complete && refusal === undefined) return false;
  waiter.done(refusal);
  return true;
}

const tooMany = refuse(
  "TooManyRequests",
  "Too many writes wait for the quotas of this namespace, please try again later.",
  { retryAfterSeconds: 1 },
);
