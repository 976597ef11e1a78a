// Lease: which client leads, or that a node is alive.
import { type FieldError, invalid } from "../../api/fielderror.ts";
import type { Lease } from "../../api/gen/coordination/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, nameColumn } from "../columns.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";
import type { Errors } from "../validation/check.ts";

/** Behaviour of leases. */
export function leaseBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: leaseStrategy(resource),
    columns: leaseColumns(),
    metaRules: { update: [0, 1], anyFinalizer: true },
  };
}

/** Leases: every renewal names the version it renews. */
function leaseStrategy(resource: Resource): Strategy<Lease> {
  return strategyFor<Lease>(resource, {
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: false,
    validate: validateLease,
    validateUpdate: validateLease,
  });
}

/** Columns of leases. */
function leaseColumns(): Columns<Lease> {
  return {
    columns: [nameColumn, column("Holder", "Who holds the lease", ({ spec }) => spec.holderIdentity ?? ""), ageColumn],
  };
}

/** Rules of a lease, new or changed. */
export function validateLease({ spec }: Lease): FieldError[] {
  const out: Errors = [];
  if (spec.leaseDurationSeconds !== undefined && spec.leaseDurationSeconds <= 0) {
    out.push(invalid("spec.leaseDurationSeconds", spec.leaseDurationSeconds, "must be greater than 0"));
  }
  // Upstream's words.
  const { leaseTransitions = 0 } = spec;
  if (leaseTransitions < 0)
    out.push(invalid("spec.leaseTransitions", leaseTransitions, "must to greater or equal than 0"));
  return out;
}
