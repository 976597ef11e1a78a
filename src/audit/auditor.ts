// Auditing as the request path sees it: asked once per request whether anything is to be written of it.
import type { Identity } from "../api/identity.ts";
import type { User } from "../api/user.ts";
import { ownerOf } from "../authz/owner.ts";
import type { Clock } from "../base/clock.ts";
import { ownerAt } from "../base/network.ts";
import type { Family, Registry } from "../observe/metrics.ts";
import { Entry, type EntryContext, type Incoming } from "./entry.ts";
import { type Asked, auditVersion } from "./event.ts";
import type { Outlet } from "./outlet.ts";
import type { Policy } from "./policy.ts";

/** Dependencies of an auditor. */
export interface AuditorOptions {
  readonly policy: Policy;
  readonly outlet: Pick<Outlet, "put" | "room" | "stored" | "pressure">;
  readonly identity: Identity;
  readonly clock: Clock;
  readonly families: AuditFamilies;
}

/** Metrics of auditing, by upstream's names. */
export interface AuditFamilies {
  readonly events: Family;
  readonly levels: Family;
  readonly rejected: Family;
}

/** Registers them; they are there without a policy, too (upstream). */
export function auditFamilies(registry: Registry): AuditFamilies {
  const help = "Requests refused because their audit event could not be stored.";
  const families = {
    events: registry.counter("apiserver_audit_event_total", "Audit events made and sent to backends."),
    levels: registry.counter("apiserver_audit_level_total", "Requests by the audit level of the policy.", "level"),
    rejected: registry.counter("apiserver_audit_requests_rejected_total", help),
  };
  // Without a policy there are none, which is a figure as well (upstream).
  for (const family of [families.events, families.rejected]) family.add("", 0);
  return families;
}

/** Audits the requests of one front. */
export class Auditor {
  readonly #policy: Policy;
  readonly #outlet: AuditorOptions["outlet"];
  readonly #identity: Identity;
  readonly #context: EntryContext;
  readonly #families: AuditFamilies;

  constructor({ policy, outlet, identity, clock, families }: AuditorOptions) {
    this.#policy = policy;
    this.#outlet = outlet;
    this.#families = families;
    this.#identity = identity;
    this.#context = {
      names: {
        apiVersion: identity.spell(auditVersion),
        decision: identity.spell("authorization.k8s.io/decision"),
        reason: identity.spell("authorization.k8s.io/reason"),
        truncated: identity.spell("audit.k8s.io/truncated"),
      },
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      put: (event, owner) => {
        families.events.add("");
        outlet.put(event, owner);
      },
    };
  }

  /** The audit entry of a request; undefined: it is not audited. Without a user its credentials were wrong. */
  begin(request: Incoming, asked: Asked, user: User | undefined): Entry | undefined {
    const coverage = this.#policy.coverage(asked, user);
    this.#families.levels.add(coverage?.level ?? "None");
    if (coverage === undefined) return undefined;
    const owner = user === undefined ? ownerAt(request.exchange.remote, "ordinary") : ownerOf(this.#identity, user);
    return new Entry(this.#context, coverage, request, asked, user, owner);
  }

  /** Writes the arrival of a request. Undefined: it may continue at once; false: it must not continue. */
  arrived(entry: Entry): Promise<boolean> | undefined {
    return this.room(entry)?.then((free) => free && (this.#arrive(entry) ?? true)) ?? this.#arrive(entry);
  }

  /** Undefined: there is room for the events of a request. Else a wait for some; false: there is none. */
  room(entry: Entry): Promise<boolean> | undefined {
    return this.#outlet.room(entry.owner)?.then((free) => free || this.#refuse());
  }

  #arrive(entry: Entry): Promise<boolean> | undefined {
    if (!entry.reached("RequestReceived") || this.#outlet.pressure !== "stores") return undefined;
    return this.#outlet.stored().then((stored) => stored || this.#refuse());
  }

  #refuse(): false {
    this.#families.rejected.add("");
    return false;
  }
}
