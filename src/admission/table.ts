// Admission: the plugins of the reference in its order, which of them run, and the run itself. Each may change the
// object (after defaulting, before the kind's own rules) and each may refuse it (after validation).
import type { Status } from "../api/status.ts";
import { certificateApproval, certificateSigning, certificateSubject } from "./certificates.ts";
import { claimResize } from "./claimresize.ts";
import { imagePolicy } from "./imagepolicy.ts";
import { defaultIngressClass } from "./ingressclass.ts";
import { lifecycle } from "./lifecycle.ts";
import { limitRanger } from "./limitranger.ts";
import { nodeTaint } from "./nodetaint.ts";
import type { AdmissionPlugin, Attributes, Environment } from "./plugin.ts";
import { podSecurity } from "./podsecurity/plugin.ts";
import { priority } from "./priority.ts";
import { resourceQuota } from "./quota/plugin.ts";
import { runtimeClass } from "./runtimeclass.ts";
import { serviceAccount } from "./serviceaccount.ts";
import { defaultStorageClass } from "./storageclass.ts";
import { storageProtection } from "./storageprotection.ts";
import { tolerationSeconds } from "./tolerationseconds.ts";
import { mutatingWebhooks, validatingWebhooks } from "./webhook/plugins.ts";

interface Entry {
  /** As flags name it. */
  readonly plugin: string;
  readonly byDefault: boolean;
  readonly build: (environment: Environment) => AdmissionPlugin;
}

/** Every plugin, in the order they run (reference: AllOrderedPlugins of v1.23). */
const entries: readonly Entry[] = [
  { plugin: "NamespaceLifecycle", byDefault: true, build: lifecycle },
  { plugin: "LimitRanger", byDefault: true, build: limitRanger },
  { plugin: "ServiceAccount", byDefault: true, build: serviceAccount },
  { plugin: "TaintNodesByCondition", byDefault: true, build: nodeTaint },
  { plugin: "ImagePolicyWebhook", byDefault: false, build: imagePolicy },
  { plugin: "PodSecurity", byDefault: true, build: podSecurity },
  { plugin: "Priority", byDefault: true, build: priority },
  { plugin: "DefaultTolerationSeconds", byDefault: true, build: tolerationSeconds },
  { plugin: "DefaultStorageClass", byDefault: true, build: defaultStorageClass },
  { plugin: "StorageObjectInUseProtection", byDefault: true, build: storageProtection },
  { plugin: "PersistentVolumeClaimResize", byDefault: true, build: claimResize },
  { plugin: "RuntimeClass", byDefault: true, build: runtimeClass },
  { plugin: "CertificateApproval", byDefault: true, build: certificateApproval },
  { plugin: "CertificateSigning", byDefault: true, build: certificateSigning },
  { plugin: "CertificateSubjectRestriction", byDefault: true, build: certificateSubject },
  { plugin: "DefaultIngressClass", byDefault: true, build: defaultIngressClass },
  { plugin: "MutatingAdmissionWebhook", byDefault: true, build: mutatingWebhooks },
  { plugin: "ValidatingAdmissionWebhook", byDefault: true, build: validatingWebhooks },
  { plugin: "ResourceQuota", byDefault: true, build: resourceQuota },
];

/** Names of all plugins, in order. */
export const pluginNames: readonly string[] = entries.map(({ plugin }) => plugin);

/** Names of those that run when no flag says otherwise. */
export const defaultPluginNames: readonly string[] = entries.filter((e) => e.byDefault).map(({ plugin }) => plugin);

/** The plugins of a server, in the order they run. */
export type Admission = readonly AdmissionPlugin[];

/** Builds the plugins that `enabled` and `disabled` leave on. */
export function admissionPlugins(environment: Omit<Environment, "settings">): Admission {
  const { enabled, disabled, settings } = environment.config;
  const on = entries.filter(
    ({ plugin, byDefault }) => (byDefault && !disabled.includes(plugin)) || enabled.includes(plugin),
  );
  return on.map(({ plugin, build }) => build({ ...environment, settings: settings.get(plugin) }));
}

/** Runs the mutating half in order, and once more when a webhook changed the object; the first refusal ends it. */
export async function mutate(admission: Admission, attributes: Attributes): Promise<Status | undefined> {
  const refused = await mutateOnce(admission, attributes, false);
  if (refused !== undefined || !attributes.notes.changed) return refused;
  return mutateOnce(admission, attributes, true);
}

async function mutateOnce(admission: Admission, attributes: Attributes, again: boolean): Promise<Status | undefined> {
  for (const plugin of admission) {
    const refused = plugin.mutate?.(attributes, again);
    const status = refused instanceof Promise ? await refused : refused;
    if (status !== undefined) return status;
  }
  return undefined;
}

/** Runs the validating half in order; the first refusal ends it. */
export async function validate(admission: Admission, attributes: Attributes): Promise<Status | undefined> {
  for (const plugin of admission) {
    const refused = plugin.validate?.(attributes);
    const status = refused instanceof Promise ? await refused : refused;
    if (status !== undefined) return status;
  }
  return undefined;
}

/** What is wrong with the plugins two flags name; undefined when nothing is. */
export function checkPluginNames(enabled: readonly string[], disabled: readonly string[]): string | undefined {
  for (const [flag, names] of [
    ["enable", enabled],
    ["disable", disabled],
  ] as const) {
    const unknown = names.find((name) => !pluginNames.includes(name));
    if (unknown !== undefined) {
      return `--${flag}-admission-plugins: there is no plugin ${JSON.stringify(unknown)}; there are: ${pluginNames.join(", ")}`;
    }
  }
  const both = enabled.find((name) => disabled.includes(name));
  return both === undefined ? undefined : `${both} in both --enable-admission-plugins and --disable-admission-plugins`;
}
