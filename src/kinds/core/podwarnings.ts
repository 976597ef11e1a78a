// What a client is warned of in a pod or a template for pods, though it is taken: names that come twice, what is
// deprecated, amounts of memory that are no whole bytes. The texts and their order are upstream's.
import type { Container, EphemeralContainer, PodSpec, PodTemplateSpec } from "../../api/gen/core/v1.ts";
import { quote } from "../../api/gotext.ts";
import { type Identity, perIdentity } from "../../api/identity.ts";
import { limits } from "../../config/limits.ts";
import { isWholeAmount } from "../validation/amounts.ts";
import { namesOf } from "../validation/names.ts";

/** Labels of nodes that have other names by now, as [old name, since, new name]. */
const oldLabels = [
  ["beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch"],
  ["beta.kubernetes.io/os", "v1.14", "kubernetes.io/os"],
  ["failure-domain.beta.kubernetes.io/region", "v1.17", "topology.kubernetes.io/region"],
  ["failure-domain.beta.kubernetes.io/zone", "v1.17", "topology.kubernetes.io/zone"],
  ["beta.kubernetes.io/instance-type", "v1.17", "node.kubernetes.io/instance-type"],
] as const;

const oldAnnotations = [
  ["scheduler.alpha.kubernetes.io/critical-pod", 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ["security.alpha.kubernetes.io/sysctls", 'non-functional in v1.11+; use the "sysctls" field instead'],
  ["security.alpha.kubernetes.io/unsafe-sysctls", 'non-functional in v1.11+; use the "sysctls" field instead'],
] as const;

const oldVolumes = [
  ["photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"],
  ["gitRepo", "deprecated in v1.11"],
  ["scaleIO", "deprecated in v1.16, non-functional in v1.22+"],
  ["flocker", "deprecated in v1.22, support removal is planned in v1.26"],
  ["storageos", "deprecated in v1.22, support removal is planned in v1.26"],
  ["quobyte", "deprecated in v1.22, support removal is planned in v1.26"],
] as const;

/** What is said of old labels of nodes, by label. */
const labelTextsOf = perIdentity(
  ({ spell }): ReadonlyMap<string, string> =>
    new Map(
      oldLabels.map(([old, since, now]) => [spell(old), `deprecated since ${since}; use "${spell(now)}" instead`]),
    ),
);

/** Kinds of volumes upstream calls otherwise than the field. */
const volumePaths: ReadonlyMap<string, string> = new Map([["storageos", "storageOS"]]);

const seccompText = 'deprecated since v1.19, non-functional in v1.25+; use the "seccompProfile" field instead';

/** Warnings about a template that stands at `path` ("" for a pod itself). At most as many as limits allow. */
export function podWarnings(
  identity: Identity,
  path: string,
  { metadata, spec }: Pick<PodTemplateSpec, "metadata" | "spec">,
): string[] {
  const out: string[] = [];
  const at = path === "" ? "" : `${path}.`;
  warnOfLabels(out, identity, `${at}spec`, spec);
  const { annotations } = metadata;
  if (annotations !== undefined && annotations.size > 0) {
    for (const [key, text] of oldAnnotations) {
      const name = identity.spell(key);
      if (annotations.has(name)) out.push(`${at}metadata.annotations[${name}]: ${text}`);
    }
  }
  for (const [index, volume] of (spec.volumes ?? []).entries()) {
    for (const [json, text] of oldVolumes) {
      if (volume[json] !== undefined) out.push(`${at}spec.volumes[${index}].${volumePaths.get(json) ?? json}: ${text}`);
    }
    if (out.length > limits.fieldErrorsMax) return out;
  }
  warnOfTwice(out, `${at}spec.hostAliases`, "ip", spec.hostAliases);
  warnOfTwice(out, `${at}spec.imagePullSecrets`, "name", spec.imagePullSecrets);
  for (const [index, { name = "" }] of (spec.imagePullSecrets ?? []).entries()) {
    if (name === "" && out.length <= limits.fieldErrorsMax) {
      out.push(`${at}spec.imagePullSecrets[${index}].name: invalid empty name ""`);
    }
  }
  warnOfTwice(out, `${at}spec.volumes`, "name", spec.volumes);
  warnOfParts(out, `${at}spec.overhead`, spec.overhead);
  const { seccompPod, seccompContainerPrefix } = namesOf(identity);
  const annotation = (key: string): void => {
    if (metadata.annotations?.has(key)) out.push(`${at}metadata.annotations[${key}]: ${seccompText}`);
  };
  if (spec.securityContext?.seccompProfile === undefined) annotation(seccompPod);
  for (const list of ["initContainers", "containers", "ephemeralContainers"] as const) {
    const containers: readonly (Container | EphemeralContainer)[] = spec[list] ?? [];
    for (const [index, container] of containers.entries()) {
      if (out.length > limits.fieldErrorsMax) return out;
      if (container.securityContext?.seccompProfile === undefined) annotation(seccompContainerPrefix + container.name);
      warnOfContainer(out, `${at}spec.${list}[${index}]`, container);
    }
  }
  return out;
}

function warnOfLabels(out: string[], identity: Identity, path: string, spec: PodSpec): void {
  const known = labelTextsOf(identity);
  const warn = (place: string, key: string): void => {
    const text = known.get(key);
    if (text !== undefined && out.length <= limits.fieldErrorsMax) out.push(`${place}: ${key} is ${text}`);
  };
  for (const key of spec.nodeSelector?.keys() ?? []) {
    const text = known.get(key);
    if (text !== undefined) out.push(`${path}.nodeSelector[${key}]: ${text}`);
  }
  const { requiredDuringSchedulingIgnoredDuringExecution: required, preferredDuringSchedulingIgnoredDuringExecution } =
    spec.affinity?.nodeAffinity ?? {};
  const affinity = `${path}.affinity.nodeAffinity`;
  for (const [i, term] of (required?.nodeSelectorTerms ?? []).entries()) {
    for (const [j, { key }] of (term.matchExpressions ?? []).entries()) {
      const place = `${affinity}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[${i}]`;
      warn(`${place}.matchExpressions[${j}].key`, key);
    }
  }
  for (const [i, { preference }] of (preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    for (const [j, { key }] of (preference.matchExpressions ?? []).entries()) {
      const place = `${affinity}.preferredDuringSchedulingIgnoredDuringExecution[${i}].preference`;
      warn(`${place}.matchExpressions[${j}].key`, key);
    }
  }
  for (const [i, { topologyKey }] of (spec.topologySpreadConstraints ?? []).entries()) {
    warn(`${path}.topologySpreadConstraints[${i}].topologyKey`, topologyKey);
  }
}

function warnOfContainer(out: string[], path: string, container: Container | EphemeralContainer): void {
  const { resources } = container;
  warnOfParts(out, `${path}.resources.limits`, resources.limits);
  warnOfParts(out, `${path}.resources.requests`, resources.requests);
  warnOfTwice(out, `${path}.env`, "name", container.env);
}

/** What is counted in bytes, which come whole. */
const inBytes = ["memory", "ephemeral-storage"];

function warnOfParts(out: string[], path: string, amounts: ReadonlyMap<string, string> | undefined): void {
  if (amounts === undefined || amounts.size === 0) return;
  for (const name of inBytes) {
    const amount = amounts.get(name);
    if (amount === undefined || isWholeAmount(amount)) continue;
    out.push(`${path}[${name}]: fractional byte value ${quote(amount)} is invalid, must be an integer`);
  }
}

function warnOfTwice<K extends string>(
  out: string[],
  path: string,
  key: K,
  list: readonly { readonly [P in K]?: string | undefined }[] | undefined,
): void {
  if (list === undefined || list.length < 2) return;
  const seen = new Set<string>();
  for (const [index, item] of list.entries()) {
    const name = item[key] ?? "";
    if (seen.has(name) && out.length <= limits.fieldErrorsMax) {
      out.push(`${path}[${index}].${key}: duplicate ${key} ${quote(name)}`);
    }
    seen.add(name);
  }
}
