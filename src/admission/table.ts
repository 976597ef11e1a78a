// Admission: the plugins of upstream in its order, which of them run, and the run itself. Each may change the
// object (after defaulting, before the kind's own rules) and each may refuse it (after validation).
import { type Status, timedOut } from "../api/status.ts";
import { type Awaitable, andThen } from "../base/awaitable.ts";
import type { Clock } from "../base/clock.ts";
import type { AdmissionConfig } from "../config/config.ts";
import { checkedBefore, type FileCheck } from "../config/filecheck.ts";
import type { FormatName } from "../config/files/table.ts";
import type { AdmissionHalf, AdmissionMeter, StepMeter } from "../observe/admission.ts";
import { alwaysAdmit, alwaysDeny } from "./always.ts";
import { alwaysPull } from "./alwayspull.ts";
import { antiAffinity } from "./antiaffinity.ts";
import { certificateApproval, certificateSigning, certificateSubject } from "./certificates.ts";
import { claimResize } from "./claimresize.ts";
import { eventRate, readEventLimits } from "./eventrate.ts";
import { extendedResources } from "./extendedresources.ts";
import { externalIps } from "./externalips.ts";
import { imagePolicy, readImageWebhook } from "./imagepolicy.ts";
import { defaultIngressClass } from "./ingressclass.ts";
import { lifecycle } from "./lifecycle.ts";
import { limitRanger } from "./limitranger.ts";
import { namespaceAutoProvision, namespaceExists } from "./namespaces.ts";
import { nodeRestriction } from "./noderestriction.ts";
import { nodeSelector, readNodeSelectors } from "./nodeselector.ts";
import { nodeTaint } from "./nodetaint.ts";
import { ownerReferences } from "./owners.ts";
import type { AdmissionPlugin, Attributes, Environment } from "./plugin.ts";
import { podSecurity } from "./podsecurity/plugin.ts";
import { podSecurityPolicy } from "./podsecuritypolicy/plugin.ts";
import { priority } from "./priority.ts";
import { resourceQuota } from "./quota/plugin.ts";
import { runtimeClass } from "./runtimeclass.ts";
import { securityContextDeny } from "./securitycontextdeny.ts";
import { serviceAccount } from "./serviceaccount.ts";
import { defaultStorageClass } from "./storageclass.ts";
import { storageProtection } from "./storageprotection.ts";
import { tolerationRestriction } from "./tolerationrestriction.ts";
import { tolerationSeconds } from "./tolerationseconds.ts";
import { readWebhookLogins } from "./webhook/logins.ts";
import { mutatingWebhooks, validatingWebhooks } from "./webhook/plugins.ts";

interface Entry {
  /** As flags name it. */
  readonly plugin: string;
  readonly byDefault: boolean;
  readonly build: (environment: Environment) => AdmissionPlugin;
  /** Format of its settings; left out: it takes none. */
  readonly format?: FormatName;
  /** What is wrong with its settings (JSON text that fits the format, undefined: none) beyond that, in one line. */
  readonly check?: (settings: string | undefined, check: FileCheck) => string | undefined;
}

/** Every plugin, in the order they run (upstream: AllOrderedPlugins of v1.23). */
const entries: readonly Entry[] = [
  { plugin: "AlwaysAdmit", byDefault: false, build: alwaysAdmit },
  { plugin: "NamespaceAutoProvision", byDefault: false, build: namespaceAutoProvision },
  { plugin: "NamespaceLifecycle", byDefault: true, build: lifecycle },
  { plugin: "NamespaceExists", byDefault: false, build: namespaceExists },
  { plugin: "SecurityContextDeny", byDefault: false, build: securityContextDeny },
  { plugin: "LimitPodHardAntiAffinityTopology", byDefault: false, build: antiAffinity },
  { plugin: "LimitRanger", byDefault: true, build: limitRanger },
  { plugin: "ServiceAccount", byDefault: true, build: serviceAccount },
  { plugin: "NodeRestriction", byDefault: false, build: nodeRestriction },
  { plugin: "TaintNodesByCondition", byDefault: true, build: nodeTaint },
  { plugin: "AlwaysPullImages", byDefault: false, build: alwaysPull },
  {
    plugin: "ImagePolicyWebhook",
    byDefault: false,
    build: imagePolicy,
    format: "image-policy-webhook",
    check: faultOf(readImageWebhook),
  },
  { plugin: "PodSecurity", byDefault: true, build: podSecurity, format: "pod-security" },
  { plugin: "PodSecurityPolicy", byDefault: false, build: podSecurityPolicy },
  {
    plugin: "PodNodeSelector",
    byDefault: false,
    build: nodeSelector,
    format: "pod-node-selector",
    check: faultOf(readNodeSelectors),
  },
  { plugin: "Priority", byDefault: true, build: priority },
  { plugin: "DefaultTolerationSeconds", byDefault: true, build: tolerationSeconds },
  {
    plugin: "PodTolerationRestriction",
    byDefault: false,
    build: tolerationRestriction,
    format: "pod-toleration-restriction",
  },
  {
    plugin: "EventRateLimit",
    byDefault: false,
    build: eventRate,
    format: "event-rate-limit",
    check: faultOf(readEventLimits),
  },
  { plugin: "ExtendedResourceToleration", byDefault: false, build: extendedResources },
  { plugin: "PersistentVolumeLabel", byDefault: false, build: alwaysAdmit },
  { plugin: "DefaultStorageClass", byDefault: true, build: defaultStorageClass },
  { plugin: "StorageObjectInUseProtection", byDefault: true, build: storageProtection },
  { plugin: "OwnerReferencesPermissionEnforcement", byDefault: false, build: ownerReferences },
  { plugin: "PersistentVolumeClaimResize", byDefault: true, build: claimResize },
  { plugin: "RuntimeClass", byDefault: true, build: runtimeClass },
  { plugin: "CertificateApproval", byDefault: true, build: certificateApproval },
  { plugin: "CertificateSigning", byDefault: true, build: certificateSigning },
  { plugin: "CertificateSubjectRestriction", byDefault: true, build: certificateSubject },
  { plugin: "DefaultIngressClass", byDefault: true, build: defaultIngressClass },
  { plugin: "DenyServiceExternalIPs", byDefault: false, build: externalIps },
  {
    plugin: "MutatingAdmissionWebhook",
    byDefault: true,
    build: mutatingWebhooks,
    format: "webhook-admission",
    check: faultOf(readWebhookLogins),
  },
  {
    plugin: "ValidatingAdmissionWebhook",
    byDefault: true,
    build: validatingWebhooks,
    format: "webhook-admission",
    check: faultOf(readWebhookLogins),
  },
  { plugin: "ResourceQuota", byDefault: true, build: resourceQuota, format: "resource-quota" },
  { plugin: "AlwaysDeny", byDefault: false, build: alwaysDeny },
];

/** What a reader of settings says is wrong with them. */
function faultOf(read: (settings: string | undefined, check: FileCheck) => unknown): NonNullable<Entry["check"]> {
  return (settings, check) => {
    const found = read(settings, check);
    return typeof found === "string" ? found : undefined;
  };
}

/** Names of all plugins, in order. */
export const pluginNames: readonly string[] = entries.map(({ plugin }) => plugin);

/** Names of those that run when no flag says otherwise. */
export const defaultPluginNames: readonly string[] = entries.filter((e) => e.byDefault).map(({ plugin }) => plugin);

/** A plugin of a server, and what counts its calls; undefined: they are not counted. */
export interface Counted {
  readonly plugin: AdmissionPlugin;
  readonly took: StepMeter | undefined;
}

/** Admission of one server. */
export interface Admission {
  /** In the order they run. */
  readonly plugins: readonly Counted[];
  /** Counts each half of a run; undefined: they are not counted. */
  readonly step: StepMeter | undefined;
  readonly clock: Clock;
}

/** Builds the plugins that `enabled` and `disabled` leave on; `meter` counts what they take. */
export function createAdmission(
  environment: Omit<Environment, "settings" | "webhooks">,
  meter?: AdmissionMeter,
): Admission {
  const { config, clock } = environment;
  const plugins = running(config).map(({ plugin, build }) => ({
    plugin: build({ ...environment, settings: config.settings.get(plugin), webhooks: meter?.webhook }),
    took: meter?.plugin(plugin),
  }));
  return { plugins, step: meter?.step, clock };
}

/** Closes what plugins hold; they are not asked afterwards. */
export function closeAdmission({ plugins }: Admission): void {
  for (const { plugin } of plugins) plugin.close?.();
}

/**
 * Asks the plugins about what is about to happen: those that change the object, then `work`, which makes of the object
 * what is to be stored or answered and checks it, then those that only refuse. The first refusal ends it, one of `work`
 * included; undefined: it may happen.
 */
export async function admit(
  admission: Admission,
  attributes: Attributes,
  work?: () => Awaitable<Status | undefined>,
): Promise<Status | undefined> {
  const mutating = runHalf(admission, "admit", attributes);
  const changes = mutating instanceof Promise ? await mutating : mutating;
  const refused = changes ?? (await work?.());
  return refused ?? runHalf(admission, "validate", attributes);
}

/** Runs a half in order, the mutating one once more when a webhook changed the object; the first refusal ends it. */
function runHalf(admission: Admission, half: AdmissionHalf, attributes: Attributes): Awaitable<Status | undefined> {
  const beginMs = admission.clock.monotonic();
  const once = ask(admission, { half, attributes, again: false });
  const asked = andThen(once, (refused) => {
    const again = half === "admit" && refused === undefined && attributes.notes.changed;
    return again ? ask(admission, { half, attributes, again }) : refused;
  });
  return andThen(asked, (refused) => {
    count(admission.step, half, attributes, refused, admission.clock.monotonic() - beginMs);
    return refused;
  });
}

/** What the halves are called in plugins. */
const methods = { admit: "mutate", validate: "validate" } as const;

/** A half of one write, with what its plugins are told. */
interface Half {
  readonly half: AdmissionHalf;
  readonly attributes: Attributes;
  /** They are asked once more. */
  readonly again: boolean;
}

/**
 * Asks the plugins, from one of them on. Most have nothing to say, and say so at once: those are asked in one loop, where
 * that of an async function would make a value for each plugin.
 */
function ask(admission: Admission, asked: Half, first = 0): Awaitable<Status | undefined> {
  const { plugins, clock } = admission;
  const { half, attributes, again } = asked;
  const method = methods[half];
  // The clock is read once between two: reading it costs more than asking most of them.
  let fromMs = clock.monotonic();
  for (let at = first; at < plugins.length; at++) {
    const { plugin, took } = plugins[at] as Counted;
    if (plugin[method] === undefined) continue;
    const said = plugin[method]?.(attributes, again);
    if (said instanceof Promise) return askOn(admission, asked, at, said, fromMs);
    const ms = clock.monotonic();
    count(took, half, attributes, said, ms - fromMs);
    const refused = said ?? overdue(attributes, ms);
    if (refused !== undefined) return refused;
    fromMs = ms;
  }
  return undefined;
}

/** Waits for what the plugin at a place says, and goes on behind it. */
async function askOn(
  admission: Admission,
  asked: Half,
  at: number,
  saying: Promise<Status | undefined>,
  fromMs: number,
): Promise<Status | undefined> {
  const status = await saying;
  const ms = admission.clock.monotonic();
  count(admission.plugins[at]?.took, asked.half, asked.attributes, status, ms - fromMs);
  return status ?? overdue(asked.attributes, ms) ?? ask(admission, asked, at + 1);
}

/** What a plugin overlooked because the request's time was over is no consent. */
function overdue({ deadline }: Attributes, ms: number): Status | undefined {
  return ms >= deadline ? timedOut : undefined;
}

function count(
  took: StepMeter | undefined,
  half: AdmissionHalf,
  { operation }: Attributes,
  status: Status | undefined,
  ms: number,
): void {
  took?.(half, operation, status !== undefined, ms / 1000);
}

function running({ enabled, disabled }: AdmissionConfig): readonly Entry[] {
  return entries.filter(
    ({ plugin, byDefault }) => (byDefault && !disabled.includes(plugin)) || enabled.includes(plugin),
  );
}

/** What is wrong with a plugin's settings, an object of plain data; undefined when nothing is. */
export function checkPluginSettings(name: string, settings: object, check: FileCheck): string | undefined {
  const entry = entries.find(({ plugin }) => plugin === name);
  if (entry?.format === undefined) return "it takes no settings";
  return check(entry.format, settings) ?? entry.check?.(JSON.stringify(settings), check);
}

/** The first plugin that is to run and lacks settings, with why; undefined when there is none. */
export function checkMissingSettings(config: AdmissionConfig): string | undefined {
  for (const { plugin, check } of running(config)) {
    const wrong = config.settings.has(plugin) ? undefined : check?.(undefined, checkedBefore);
    if (wrong !== undefined) return `plugin ${plugin} needs settings in --admission-control-config-file: ${wrong}`;
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
