// Every format of a file an operator writes, by name.
import type { TSchema } from "typebox";
import { abacPolicy, oldAbacPolicy } from "./abac.ts";
import { admissionConfiguration } from "./admission.ts";
import { auditPolicy } from "./auditpolicy.ts";
import { encryptionConfiguration } from "./encryption.ts";
import { kubeconfig } from "./kubeconfig.ts";
import type { Spell } from "./parts.ts";
import {
  eventRateSettings,
  imagePolicySettings,
  nodeSelectorSettings,
  podSecuritySettings,
  quotaSettings,
  tolerationSettings,
  webhookSettings,
} from "./plugins.ts";
import { tracingConfiguration } from "./tracing.ts";

interface Format {
  /** Where such a file is used, in one line. */
  readonly about: string;
  readonly schema: (spell: Spell) => TSchema;
}

const formats = {
  "audit-policy": { about: "--audit-policy-file", schema: auditPolicy },
  "admission-configuration": { about: "--admission-control-config-file", schema: admissionConfiguration },
  "encryption-configuration": { about: "--encryption-provider-config", schema: encryptionConfiguration },
  "tracing-configuration": { about: "--tracing-config-file", schema: tracingConfiguration },
  "event-rate-limit": { about: "settings of the plugin EventRateLimit", schema: () => eventRateSettings },
  "image-policy-webhook": { about: "settings of the plugin ImagePolicyWebhook", schema: () => imagePolicySettings },
  "pod-node-selector": { about: "settings of the plugin PodNodeSelector", schema: () => nodeSelectorSettings },
  "pod-security": { about: "settings of the plugin PodSecurity", schema: () => podSecuritySettings },
  "pod-toleration-restriction": {
    about: "settings of the plugin PodTolerationRestriction",
    schema: () => tolerationSettings,
  },
  "resource-quota": { about: "settings of the plugin ResourceQuota", schema: () => quotaSettings },
  "webhook-admission": {
    about: "settings of the plugins MutatingAdmissionWebhook and ValidatingAdmissionWebhook",
    schema: webhookSettings,
  },
  kubeconfig: { about: "client configuration: how a webhook is called", schema: () => kubeconfig },
  "abac-policy": { about: "a line of --authorization-policy-file", schema: abacPolicy },
  "abac-policy-unversioned": { about: "the same without apiVersion and kind", schema: () => oldAbacPolicy },
} satisfies Record<string, Format>;

/** Name of a format. */
export type FormatName = keyof typeof formats;

/** All names. */
export const formatNames = Object.keys(formats) as readonly FormatName[];

/** The schema of a format in the identity's spelling. */
export function schemaOf(name: FormatName, spell: Spell): TSchema {
  return formats[name].schema(spell);
}

/** Where files of a format are used, in one line. */
export function aboutOf(name: FormatName): string {
  return formats[name].about;
}
