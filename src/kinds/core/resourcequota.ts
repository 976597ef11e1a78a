// ResourceQuota: what a namespace may use.
import type { ResourceQuota } from "../../api/gen/core/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import { sortedKeys } from "../../codec/json/write.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, nameColumn } from "../columns.ts";
import { strategyFor } from "../generic.ts";
import { countEvaluator } from "../quota/evaluator.ts";
import type { Strategy } from "../strategy.ts";
import {
  validateResourceQuota,
  validateResourceQuotaStatusUpdate,
  validateResourceQuotaUpdate,
} from "./validation/resourcequota.ts";

/** Behaviour of quotas. */
export function resourceQuotaBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: resourceQuotaStrategy(resource),
    columns: resourceQuotaColumns(),
    evaluator: countEvaluator(resource, resource.resource),
  };
}

function resourceQuotaStrategy(resource: Resource): Strategy<ResourceQuota> {
  return strategyFor<ResourceQuota>(resource, {
    returnsDeletedObject: true,
    validate: validateResourceQuota,
    validateUpdate: validateResourceQuotaUpdate,
    validateStatus: validateResourceQuotaStatusUpdate,
  });
}

/** Columns of resource quotas. */
function resourceQuotaColumns(): Columns<ResourceQuota> {
  const uses = (isLimit: boolean) => (quota: ResourceQuota) => {
    const { hard, used } = quota.status;
    if (hard === undefined) return "";
    return sortedKeys(hard)
      .filter((key) => key.startsWith("limits.") === isLimit)
      .map((key) => `${key}: ${used?.get(key) ?? "0"}/${hard.get(key) ?? "0"}`)
      .join(", ");
  };
  return {
    columns: [
      nameColumn,
      ageColumn,
      column("Request", "Use and bound of what is requested or counted", uses(false)),
      column("Limit", "Use and bound of limits", uses(true)),
    ],
  };
}
