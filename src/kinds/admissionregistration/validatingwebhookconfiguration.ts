// ValidatingWebhookConfiguration: webhooks the server calls to accept or refuse objects.
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { webhookConfiguration } from "./webhooks.ts";

/** Behaviour of validating webhook configurations. */
export function validatingWebhookConfigurationBehaviour(resource: Resource): OwnBehaviour {
  return webhookConfiguration(resource);
}
