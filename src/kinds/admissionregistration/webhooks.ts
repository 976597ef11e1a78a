// Webhook configurations, mutating and validating: what both kinds have in common.
import type {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from "../../api/gen/admissionregistration/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, integer, nameColumn } from "../columns.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";
import { validateWebhooks } from "./validation/webhooks.ts";

/** Behaviour of both kinds. */
export function webhookConfiguration(resource: Resource): OwnBehaviour {
  return { strategy: strategy(resource), columns: columns(), metaRules: { update: [1, 0], anyFinalizer: true } };
}

function strategy(resource: Resource): Strategy<MutatingWebhookConfiguration> {
  return strategyFor<MutatingWebhookConfiguration>(resource, {
    counts: ["webhooks"],
    allowUnconditionalUpdate: false,
    validate: validateWebhooks,
    validateUpdate: validateWebhooks,
  });
}

/** Columns of webhook configurations of both kinds. */
function columns(): Columns<ValidatingWebhookConfiguration> {
  return {
    columns: [
      nameColumn,
      column("Webhooks", "Number of webhooks", ({ webhooks }) => webhooks?.length ?? 0, integer),
      ageColumn,
    ],
  };
}
