// MutatingWebhookConfiguration: webhooks the server calls to change objects before they are stored.
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { webhookConfiguration } from "./webhooks.ts";

/** Behaviour of mutating webhook configurations. */
export function mutatingWebhookConfigurationBehaviour(resource: Resource): OwnBehaviour {
  return webhookConfiguration(resource);
}
