// CSIStorageCapacity: how much room a storage class has in a part of the cluster.
import { type FieldError, invalid } from "../../api/fielderror.ts";
import type { CSIStorageCapacity } from "../../api/gen/storage/v1beta1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { immutableMessage, isDns1123Subdomain } from "../formats.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";
import { isNegativeAmount } from "../validation/amounts.ts";
import { type Errors, faults } from "../validation/check.ts";
import { equal } from "../validation/equal.ts";
import { checkLabelSelector } from "../validation/selector.ts";

/** Behaviour of CSI storage capacities. */
export function csiStorageCapacityBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: csiStorageCapacityStrategy(resource),
    metaRules: { update: [1, 1] },
  };
}

function csiStorageCapacityStrategy(resource: Resource): Strategy<CSIStorageCapacity> {
  return strategyFor<CSIStorageCapacity>(resource, {
    allowUnconditionalUpdate: false,
    validate: validateCsiStorageCapacity,
    validateUpdate: validateCsiStorageCapacityUpdate,
  });
}

/** Rules of a new storage capacity; upstream reports the class twice. */
export function validateCsiStorageCapacity(object: CSIStorageCapacity): FieldError[] {
  const out: Errors = [];
  checkLabelSelector(out, "nodeTopology", object.nodeTopology);
  const messages = isDns1123Subdomain(object.storageClassName);
  faults(out, "storageClassName", object.storageClassName, [...messages, ...messages]);
  for (const member of ["capacity", "maximumVolumeSize"] as const) {
    const amount = object[member];
    if (amount !== undefined && isNegativeAmount(amount)) {
      out.push(invalid(member, amount, "must be greater than or equal to 0"));
    }
  }
  return out;
}

/** Rules of a changed storage capacity. */
export function validateCsiStorageCapacityUpdate(object: CSIStorageCapacity, old: CSIStorageCapacity): FieldError[] {
  const out = validateCsiStorageCapacity(object);
  if (!equal("meta/v1.LabelSelector", object.nodeTopology, old.nodeTopology)) {
    out.push(invalid("nodeTopology", object.nodeTopology, immutableMessage));
  }
  if (object.storageClassName !== old.storageClassName) {
    out.push(invalid("storageClassName", object.storageClassName, immutableMessage));
  }
  return out;
}
