// Security contexts of pods and containers, the annotations that came before their fields, and Windows options.
import { duplicate, forbiddenField, invalid, notSupported, required } from "../../../../api/fielderror.ts";
import type {
  EphemeralContainerCommon,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
  Sysctl,
  WindowsSecurityContextOptions,
} from "../../../../api/gen/core/v1.ts";
import { forbidsPrivileged } from "../../../../config/gates.ts";
import { isUserId } from "../../../formats.ts";
import {
  checkDescendingPath,
  checkSubdomain,
  type Errors,
  eachItem,
  faults,
  type Integer,
  isFull,
} from "../../../validation/check.ts";
import type { Names } from "../../../validation/names.ts";
import { eachContainer } from "./containers.ts";
import { windowsUserFaults } from "./windows.ts";

const seccompTypes = ["Localhost", "RuntimeDefault", "Unconfined"];
const localhostPrefix = "localhost/";
const runtimeDefaults = ["runtime/default", "docker/default"];
const sysctlBytesMax = 253;
const sysctlSegment = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const sysctlPattern = `^(${sysctlSegment}[\\./])*${sysctlSegment}$`;
const credentialKibMax = 64;

/** Rules of the security context of a pod; host ports and names spaces of the spec come with it. */
export function checkPodSecurity(out: Errors, path: string, spec: PodSpec): void {
  const security = spec.securityContext;
  checkHostNetwork(out, path, spec);
  if (security !== undefined) checkPodIds(out, `${path}.securityContext`, security);
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    const why = "ShareProcessNamespace and HostPID cannot both be enabled";
    out.push(invalid(`${path}.securityContext.shareProcessNamespace`, true, why));
  }
  if (security === undefined) return;
  const at = `${path}.securityContext`;
  checkSysctls(out, `${at}.sysctls`, security.sysctls);
  const policy = security.fsGroupChangePolicy;
  if (policy !== undefined && policy !== "Always" && policy !== "OnRootMismatch") {
    out.push(notSupported(`${at}.fsGroupChangePolicy`, policy, ["Always", "OnRootMismatch"]));
  }
  checkSeccomp(out, `${at}.seccompProfile`, security.seccompProfile);
  checkWindowsOptions(out, `${at}.windowsOptions`, security.windowsOptions);
}

function checkHostNetwork(out: Errors, path: string, spec: PodSpec): void {
  if (spec.hostNetwork !== true) return;
  eachItem(out, spec.containers, `${path}.containers`, (container, at) => {
    eachItem(out, container.ports, `${at}.ports`, (port, portAt) => {
      if ((port.hostPort ?? 0) === port.containerPort) return;
      const why = "must match `hostPort` when `hostNetwork` is true";
      out.push(invalid(`${portAt}.containerPort`, port.containerPort, why));
    });
  });
}

function checkId(out: Errors, path: string, id: Integer | undefined): void {
  if (id !== undefined) faults(out, path, id, isUserId(id));
}

function checkPodIds(out: Errors, path: string, security: PodSecurityContext): void {
  checkId(out, `${path}.fsGroup`, security.fsGroup);
  checkId(out, `${path}.runAsUser`, security.runAsUser);
  checkId(out, `${path}.runAsGroup`, security.runAsGroup);
  eachItem(out, security.supplementalGroups, `${path}.supplementalGroups`, (group, at) => checkId(out, at, group));
}

function checkSysctls(out: Errors, path: string, sysctls: readonly Sysctl[] | undefined): void {
  const seen = new Set<string>();
  eachItem(out, sysctls, path, ({ name }, at) => {
    if (name === "") out.push(required(`${at}.name`));
    else if (!isSysctl(name)) {
      const why = `must have at most ${sysctlBytesMax} characters and match regex ${sysctlPattern}`;
      out.push(invalid(`${at}.name`, name, why));
    } else if (seen.has(name)) out.push(duplicate(`${at}.name`, name));
    seen.add(name);
  });
}

/** Segment by segment, which takes time linear in the name whatever it is. */
function isSysctl(name: string): boolean {
  if (name.length > sysctlBytesMax) return false;
  return name.split(/[./]/).every((segment) => /^[a-z0-9][-_a-z0-9]*$/.test(segment) && /[a-z0-9]$/.test(segment));
}

function checkSeccomp(out: Errors, path: string, profile: SeccompProfile | undefined): void {
  if (profile === undefined) return;
  if (profile.type === "") out.push(required(`${path}.type`, "type is required when seccompProfile is set"));
  else if (!seccompTypes.includes(profile.type)) out.push(notSupported(`${path}.type`, profile.type, seccompTypes));
  const local = profile.localhostProfile;
  if (profile.type === "Localhost") {
    // The release of the document lets an empty one pass, which runs without a profile (CVE-2023-2431).
    if (local === undefined || local === "") {
      out.push(required(`${path}.localhostProfile`, "must be set when seccomp type is Localhost"));
    } else if (local.split("/").every((element) => element === "." || element === "")) {
      // Nor does the folder itself name a profile.
      out.push(invalid(`${path}.localhostProfile`, local, "must be the path of a file"));
    } else checkDescendingPath(out, `${path}.localhostProfile`, local);
  } else if (local !== undefined) {
    out.push(invalid(`${path}.localhostProfile`, profile, "can only be set when seccomp type is Localhost"));
  }
}

/** Rules of the security context of a container. */
export function checkContainerSecurity(
  out: Errors,
  path: string,
  security: SecurityContext | undefined,
  gates: ReadonlySet<string>,
): void {
  if (security === undefined) return;
  if (security.privileged === true && gates.has(forbidsPrivileged)) {
    out.push(forbiddenField(`${path}.privileged`, "disallowed by cluster policy"));
  }
  checkId(out, `${path}.runAsUser`, security.runAsUser);
  checkId(out, `${path}.runAsGroup`, security.runAsGroup);
  const mount = security.procMount;
  if (mount !== undefined && mount !== "Default" && mount !== "Unmasked") {
    out.push(notSupported(`${path}.procMount`, mount, ["Default", "Unmasked"]));
  }
  checkSeccomp(out, `${path}.seccompProfile`, security.seccompProfile);
  if (security.allowPrivilegeEscalation === false) {
    if (security.privileged === true) {
      out.push(invalid(path, security, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"));
    }
    for (const capability of security.capabilities?.add ?? []) {
      if (capability !== "CAP_SYS_ADMIN") continue;
      const why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
      out.push(invalid(path, security, why));
    }
  }
  checkWindowsOptions(out, `${path}.windowsOptions`, security.windowsOptions);
}

function checkWindowsOptions(out: Errors, path: string, options: WindowsSecurityContextOptions | undefined): void {
  if (options === undefined) return;
  const { gmsaCredentialSpecName: name, gmsaCredentialSpec: credential, runAsUserName: user } = options;
  if (name !== undefined) checkSubdomain(out, `${path}.gmsaCredentialSpecName`, name);
  if (credential === "") {
    out.push(invalid(`${path}.gmsaCredentialSpec`, credential, "gmsaCredentialSpec cannot be an empty string"));
  } else if (credential !== undefined && Buffer.byteLength(credential) > credentialKibMax * 1024) {
    const why = `gmsaCredentialSpec size must be under ${credentialKibMax} KiB`;
    out.push(invalid(`${path}.gmsaCredentialSpec`, credential, why));
  }
  if (user !== undefined) faults(out, `${path}.runAsUserName`, user, windowsUserFaults(user));
}

/** Containers that are processes of their Windows host: all or none, and only on the host's network. */
export function checkHostProcess(out: Errors, path: string, spec: PodSpec): void {
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess;
  let count = 0;
  let hostCount = 0;
  eachContainer(spec, path, (container, at) => {
    count += 1;
    const own = container.securityContext?.windowsOptions?.hostProcess;
    if (ofPod !== undefined && own !== undefined && ofPod !== own) {
      const why = `pod hostProcess value must be identical if both are specified, was ${ofPod}`;
      out.push(invalid(`${at}.securityContext.windowsOptions.hostProcess`, own, why));
    }
    if ((own ?? ofPod) === true) hostCount += 1;
  });
  if (hostCount === 0) return;
  if (hostCount !== count) {
    const why = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
    out.push(invalid(path, "", why));
  }
  if (spec.hostNetwork !== true) {
    const why = "hostNetwork must be true if pod contains any hostProcess containers";
    out.push(invalid(`${path}.hostNetwork`, false, why));
  }
}

/** Annotations that name seccomp profiles. */
export function checkSeccompAnnotations(
  out: Errors,
  path: string,
  annotations: ReadonlyMap<string, string>,
  names: Names,
): void {
  for (const [key, profile] of annotations) {
    if (isFull(out)) return;
    if (key !== names.seccompPod && !key.startsWith(names.seccompContainerPrefix)) continue;
    if (profile === "unconfined" || runtimeDefaults.includes(profile)) continue;
    if (profile.startsWith(localhostPrefix)) {
      checkDescendingPath(out, `${path}.${key}`, profile.slice(localhostPrefix.length));
    } else out.push(invalid(`${path}.${key}`, profile, "must be a valid seccomp profile"));
  }
}

/** Annotations that name AppArmor profiles: of containers that are there. */
export function checkAppArmorAnnotations(
  out: Errors,
  path: string,
  annotations: ReadonlyMap<string, string>,
  spec: PodSpec,
  names: Names,
): void {
  const prefixed = [...annotations].filter(([key]) => key.startsWith(names.appArmorPrefix));
  if (prefixed.length === 0) return;
  const containers = new Set<string>();
  eachContainer(spec, "", (container) => containers.add(container.name));
  for (const [key, profile] of prefixed) {
    if (isFull(out)) return;
    const wanted = key.slice(names.appArmorPrefix.length);
    if (!containers.has(wanted)) out.push(invalid(`${path}[${key}]`, wanted, "container not found"));
    const known = profile === "" || profile === "runtime/default" || profile === "unconfined";
    if (!known && !profile.startsWith(localhostPrefix)) {
      out.push(invalid(`${path}[${key}]`, profile, `invalid AppArmor profile name: ${JSON.stringify(profile)}`));
    }
  }
}

/** Where a seccomp profile stands in an annotation and in a field, both must say the same. */
export function checkSeccompAgreement(
  out: Errors,
  path: string,
  annotations: ReadonlyMap<string, string> | undefined,
  spec: PodSpec,
  names: Names,
): void {
  if (annotations === undefined) return;
  const check = (at: string, key: string, profile: SeccompProfile | undefined): void => {
    const annotation = annotations.get(key);
    if (annotation === undefined || profile === undefined) return;
    const wrong = disagreement(annotation, profile);
    if (wrong === "type") out.push(forbiddenField(`${at}.type`, "seccomp type in annotation and field must match"));
    if (wrong === "localhostProfile") {
      out.push(forbiddenField(`${at}.localhostProfile`, "seccomp profile in annotation and field must match"));
    }
  };
  check(`${path}.securityContext.seccompProfile`, names.seccompPod, spec.securityContext?.seccompProfile);
  eachContainer(spec, path, (container: EphemeralContainerCommon, at) => {
    const key = `${names.seccompContainerPrefix}${container.name}`;
    check(`${at}.securityContext.seccompProfile`, key, container.securityContext?.seccompProfile);
  });
}

function disagreement(annotation: string, profile: SeccompProfile): "type" | "localhostProfile" | undefined {
  switch (profile.type) {
    case "Unconfined":
      return annotation === "unconfined" ? undefined : "type";
    case "RuntimeDefault":
      return runtimeDefaults.includes(annotation) ? undefined : "type";
    case "Localhost":
      if (!annotation.startsWith(localhostPrefix)) return "type";
      return annotation.slice(localhostPrefix.length) === profile.localhostProfile ? undefined : "localhostProfile";
    default:
      return undefined;
  }
}
