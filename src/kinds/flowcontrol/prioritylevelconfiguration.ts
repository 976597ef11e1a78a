// PriorityLevelConfiguration: how many requests run at a time, and how others wait.
import { type FieldError, forbiddenField, invalid, notSupported, required } from "../../api/fielderror.ts";
import type { PriorityLevelConfiguration as StoredLevel } from "../../api/gen/flowcontrol/v1beta1.ts";
import type {
  LimitedPriorityLevelConfiguration,
  PriorityLevelConfiguration,
  QueuingConfiguration,
} from "../../api/gen/flowcontrol/v1beta2.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, nameColumn, none } from "../columns.ts";
import { strategyFor } from "../generic.ts";
import { specAndMetadata } from "../resetfields.ts";
import type { Strategy } from "../strategy.ts";
import type { Errors } from "../validation/check.ts";

/** Behaviour of priority levels. */
export function priorityLevelConfigurationBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: priorityLevelStrategy(resource),
    columns: priorityLevelColumns(),
    resetFields: specAndMetadata,
    metaRules: { update: [1, 0], parts: { status: [0, 0] } },
  };
}

function priorityLevelStrategy(resource: Resource): Strategy<PriorityLevelConfiguration> {
  return strategyFor<PriorityLevelConfiguration>(resource, {
    counts: ["spec"],
    keepsMetaOnStatus: true,
    validate: validatePriorityLevel,
    validateUpdate: validatePriorityLevel,
  });
}

/** Columns of priority levels. */
function priorityLevelColumns(): Columns<StoredLevel> {
  const queuing = (part: "queues" | "handSize" | "queueLengthLimit") => (level: StoredLevel) =>
    level.spec.limited?.limitResponse.queuing?.[part] ?? none;
  return {
    columns: [
      nameColumn,
      column("Type", "Whether the level is limited", ({ spec }) => spec.type),
      column("AssuredConcurrencyShares", "Its share of requests at a time", ({ spec }) => {
        return spec.limited?.assuredConcurrencyShares ?? none;
      }),
      column("Queues", "Number of queues", queuing("queues")),
      column("HandSize", "Queues one flow is dealt", queuing("handSize")),
      column("QueueLengthLimit", "Requests one queue holds", queuing("queueLengthLimit")),
      ageColumn,
    ],
  };
}

const queuesMax = 10_000_000;
const entropyBitsMax = 60;

/** Rules of a priority level, new or changed. */
export function validatePriorityLevel({ metadata, spec }: PriorityLevelConfiguration): FieldError[] {
  const out: Errors = [];
  if ((metadata.name === "exempt") !== (spec.type === "Exempt")) {
    out.push(invalid("spec.type", spec.type, "type must be 'Exempt' if and only if name is 'exempt'"));
  }
  if (spec.type === "Exempt") {
    if (spec.limited) out.push(forbiddenField("spec.limited", "must be nil if the type is not Limited"));
  } else if (spec.type === "Limited") {
    if (spec.limited) checkLimited(out, "spec.limited", spec.limited);
    else out.push(required("spec.limited", "must not be empty when type is Limited"));
  } else out.push(notSupported("spec.type", spec.type, ["Exempt", "Limited"]));
  return out;
}

function checkLimited(out: Errors, path: string, limited: LimitedPriorityLevelConfiguration): void {
  if (limited.assuredConcurrencyShares <= 0) {
    out.push(invalid(`${path}.assuredConcurrencyShares`, limited.assuredConcurrencyShares, "must be positive"));
  }
  const { type, queuing } = limited.limitResponse;
  const place = `${path}.limitResponse`;
  if (type === "Reject") {
    if (queuing)
      out.push(forbiddenField(`${place}.queuing`, "must be nil if limited.limitResponse.type is not Limited"));
  } else if (type === "Queue") {
    if (queuing) checkQueuing(out, `${place}.queuing`, queuing);
    else out.push(required(`${place}.queuing`, "must not be empty if limited.limitResponse.type is Limited"));
  } else out.push(notSupported(`${place}.type`, type, ["Queue", "Reject"]));
}

function checkQueuing(out: Errors, path: string, queuing: QueuingConfiguration): void {
  const { queues, handSize, queueLengthLimit } = queuing;
  if (queueLengthLimit <= 0) out.push(invalid(`${path}.queueLengthLimit`, queueLengthLimit, "must be positive"));
  if (queues <= 0) out.push(invalid(`${path}.queues`, queues, "must be positive"));
  else if (queues > queuesMax) {
    out.push(invalid(`${path}.queues`, queues, `must not be greater than ${queuesMax}`));
  }
  if (handSize <= 0) out.push(invalid(`${path}.handSize`, handSize, "must be positive"));
  else if (handSize > queues) {
    const why = `should not be greater than queues (${queues})`;
    out.push(invalid(`${path}.handSize`, handSize, why));
  } else if (dealBits(queues, handSize) > entropyBitsMax) {
    const why = `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${entropyBitsMax}`;
    out.push(invalid(`${path}.handSize`, handSize, why));
  }
}

/** Bits it takes to deal a hand of queues out of the deck. */
function dealBits(queues: number, handSize: number): number {
  let bits = 0;
  for (let dealt = 0; dealt < handSize && bits <= entropyBitsMax; dealt++) bits += Math.log2(queues - dealt);
  return Math.ceil(bits);
}
