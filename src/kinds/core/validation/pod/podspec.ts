// The spec of a pod, in a pod and in a template.
import { forbiddenField, invalid, notSupported, required } from "../../../../api/fielderror.ts";
import type { HostAlias, PodDNSConfig, PodSpec } from "../../../../api/gen/core/v1.ts";
import { parseAddress } from "../../../address.ts";
import { isDns1123Subdomain, rangeMessage } from "../../../formats.ts";
import {
  checkChoice,
  checkLabel1123,
  checkLabels,
  checkQualifiedName,
  checkSubdomain,
  type Errors,
  eachItem,
  empty,
  faults,
  isFull,
} from "../../../validation/check.ts";
import { goStringList } from "../../../validation/gostruct.ts";
import { checkAffinity, checkSpread, checkTolerations } from "./affinity.ts";
import { checkContainers, checkEphemeralContainers, checkInitContainers } from "./container.ts";
import { checkResources } from "./resources.ts";
import { type PodRules, searchPathsMax } from "./rules.ts";
import { checkHostProcess, checkPodSecurity } from "./security.ts";
import { checkVolumes } from "./volume.ts";

const restartPolicies = ["Always", "OnFailure", "Never"];
const dnsPolicies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const systems = ["linux", "windows"];
const preemptionPolicies = ["PreemptLowerPriority", "Never"];
const deadlineMax = 2147483647;
const nameserversMax = 3;

/** Rules of a pod's spec. */
export function checkPodSpec(out: Errors, path: string, spec: PodSpec, rules: PodRules): void {
  const volumes = checkVolumes(out, `${path}.volumes`, spec.volumes, rules);
  checkContainers(out, `${path}.containers`, spec, volumes, rules);
  checkInitContainers(out, `${path}.initContainers`, spec, volumes, rules);
  checkEphemeralContainers(out, `${path}.ephemeralContainers`, spec, volumes, rules);
  checkChoice(out, `${path}.restartPolicy`, spec.restartPolicy, restartPolicies);
  checkChoice(out, `${path}.dnsPolicy`, spec.dnsPolicy, dnsPolicies);
  checkLabels(out, `${path}.nodeSelector`, spec.nodeSelector);
  checkPodSecurity(out, path, spec);
  checkAffinity(out, `${path}.affinity`, spec.affinity);
  checkDns(out, `${path}.dnsConfig`, spec, rules);
  eachItem(out, spec.readinessGates, `${path}.readinessGates`, (gate, at) => {
    checkQualifiedName(out, `${at}.conditionType`, gate.conditionType);
  });
  checkSpread(out, `${path}.topologySpreadConstraints`, spec.topologySpreadConstraints);
  checkHostProcess(out, path, spec);
  checkIdentity(out, path, spec);
  checkTolerations(out, `${path}.tolerations`, spec.tolerations);
  if (spec.hostAliases !== undefined) checkHostAliases(out, `${path}.hostAliases`, spec.hostAliases);
  checkClasses(out, path, spec);
  if (spec.overhead !== undefined) {
    const overhead = { limits: spec.overhead };
    checkResources(out, `${path}.overhead`, overhead, rules.names, rules.keepsIndivisiblePages);
  }
  if (spec.os !== undefined) checkSystem(out, `${path}.os`, spec.os.name, rules);
}

/** The operating system a pod says it is for. */
function checkSystem(out: Errors, path: string, name: string | undefined, { gates }: PodRules): void {
  if (!gates.has("IdentifyPodOS")) {
    out.push(forbiddenField(path, "cannot be set when IdentifyPodOS feature is not enabled"));
  } else if (empty(name)) out.push(required(`${path}.name`, ""));
  else checkChoice(out, path, name, systems);
}

/** Account, node, deadline and names. */
function checkIdentity(out: Errors, path: string, spec: PodSpec): void {
  if (!empty(spec.serviceAccountName)) checkSubdomain(out, `${path}.serviceAccountName`, spec.serviceAccountName);
  if (!empty(spec.nodeName)) checkSubdomain(out, `${path}.nodeName`, spec.nodeName);
  const deadline = spec.activeDeadlineSeconds;
  if (deadline !== undefined && (deadline < 1 || deadline > deadlineMax)) {
    out.push(invalid(`${path}.activeDeadlineSeconds`, deadline, rangeMessage(1, deadlineMax)));
  }
  if (!empty(spec.hostname)) checkLabel1123(out, `${path}.hostname`, spec.hostname);
  if (!empty(spec.subdomain)) checkLabel1123(out, `${path}.subdomain`, spec.subdomain);
}

function checkClasses(out: Errors, path: string, spec: PodSpec): void {
  if (!empty(spec.priorityClassName)) checkSubdomain(out, `${path}.priorityClassName`, spec.priorityClassName);
  if (spec.runtimeClassName !== undefined) checkSubdomain(out, `${path}.runtimeClassName`, spec.runtimeClassName);
  if (spec.preemptionPolicy !== undefined) {
    checkChoice(out, `${path}.preemptionPolicy`, spec.preemptionPolicy, preemptionPolicies);
  }
}

function checkDns(out: Errors, path: string, spec: PodSpec, rules: PodRules): void {
  const config = spec.dnsConfig;
  const none = spec.dnsPolicy === "None";
  if (config === undefined) {
    if (none) out.push(required(path, "must provide `dnsConfig` when `dnsPolicy` is None"));
    return;
  }
  const servers = config.nameservers ?? [];
  if (none && servers.length === 0) {
    out.push(required(`${path}.nameservers`, "must provide at least one DNS nameserver when `dnsPolicy` is None"));
    return;
  }
  if (servers.length > nameserversMax) {
    const why = `must not have more than ${nameserversMax} nameservers`;
    out.push(invalid(`${path}.nameservers`, goStringList(servers), why));
  }
  eachItem(out, servers, `${path}.nameservers`, (server, at) => {
    if (parseAddress(server) === undefined) out.push(invalid(at, server, "must be valid IP address"));
  });
  checkSearches(out, `${path}.searches`, config, rules);
  eachItem(out, config.options, `${path}.options`, (option, at) => {
    if (empty(option.name)) out.push(required(at, "must not be empty"));
  });
}

/** An update may keep what a server with the longer limits let in. */
function checkSearches(out: Errors, path: string, { searches = [] }: PodDNSConfig, rules: PodRules): void {
  const max = rules.keepsLongSearches ? { paths: 32, characters: 2048 } : searchPathsMax;
  if (searches.length > max.paths) {
    out.push(invalid(path, goStringList(searches), `must not have more than ${max.paths} search paths`));
  }
  if (Buffer.byteLength(searches.join(" ")) > max.characters) {
    const why = `must not have more than ${max.characters} characters (including spaces) in the search list`;
    out.push(invalid(path, goStringList(searches), why));
  }
  eachItem(out, searches, path, (search, at) => {
    const name = search.endsWith(".") ? search.slice(0, -1) : search;
    faults(out, at, name, isDns1123Subdomain(name));
  });
}

/** No index in these paths: so upstream. */
function checkHostAliases(out: Errors, path: string, aliases: readonly HostAlias[]): void {
  for (const { ip = "", hostnames = [] } of aliases) {
    if (isFull(out)) return;
    if (parseAddress(ip) === undefined) out.push(invalid(`${path}.ip`, ip, "must be valid IP address"));
    for (const name of hostnames) if (!isFull(out)) faults(out, `${path}.hostnames`, name, isDns1123Subdomain(name));
  }
}

/** Restart policy and deadline of the pods of a controller that keeps them running. */
export function checkKeptRunning(out: Errors, path: string, spec: PodSpec, kind: string): void {
  if (spec.restartPolicy !== "Always") {
    out.push(notSupported(`${path}.restartPolicy`, spec.restartPolicy ?? "", ["Always"]));
  }
  if (spec.activeDeadlineSeconds !== undefined) {
    const why = `activeDeadlineSeconds in ${kind} is not Supported`;
    out.push(forbiddenField(`${path}.activeDeadlineSeconds`, why));
  }
}
