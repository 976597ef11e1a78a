// The checks of the pod security standards, each with the versions it holds for and the words of upstream. A check
// answers what is wrong with a pod, or nothing.
import type { Container, PodSpec, SecurityContext, Volume } from "../../api/gen/core/v1.ts";
import { compareBytes, quote } from "../../api/gotext.ts";
import type { Identity } from "../../api/identity.ts";
import type { ObjectMeta } from "../../api/object.ts";
import { safeSysctls, volumeSource } from "../../kinds/core/podsecurity.ts";

/** What a pod does that a level forbids. */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

/** What is checked: a pod, or the template of one. */
export interface Subject {
  readonly annotations: ReadonlyMap<string, string>;
  readonly spec: PodSpec;
  /** Init, plain and debugging containers, in this order. */
  readonly containers: readonly Checked[];
}

type Checked = Pick<Container, "name" | "ports" | "securityContext">;

/** One check, for policy versions 1.`from` to 1.`to`. */
export interface Check {
  readonly level: "baseline" | "restricted";
  readonly from: number;
  readonly to?: number;
  readonly check: (subject: Subject, identity: Identity) => Violation | undefined;
}

/** What is checked of a pod or a template. */
export function subjectOf(metadata: ObjectMeta | undefined, spec: PodSpec): Subject {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec;
  return {
    annotations: metadata?.annotations ?? new Map(),
    spec,
    containers: [...initContainers, ...containers, ...ephemeralContainers],
  };
}

/** All checks, those of a level in the order they are told. */
export const checks: readonly Check[] = [
  { level: "baseline", from: 0, check: appArmorProfile },
  { level: "baseline", from: 0, check: baselineCapabilities },
  { level: "baseline", from: 0, check: hostNamespaces },
  { level: "baseline", from: 0, check: hostPathVolumes },
  { level: "baseline", from: 0, check: hostPorts },
  { level: "baseline", from: 0, check: privileged },
  { level: "baseline", from: 0, check: procMount },
  { level: "baseline", from: 0, check: seLinuxOptions },
  { level: "baseline", from: 0, to: 18, check: seccompAnnotations },
  { level: "baseline", from: 19, check: (subject) => badSeccomp(subject) },
  { level: "baseline", from: 0, check: sysctls },
  { level: "baseline", from: 0, check: windowsHostProcess },
  { level: "restricted", from: 8, check: privilegeEscalation },
  { level: "restricted", from: 22, check: restrictedCapabilities },
  { level: "restricted", from: 0, check: restrictedVolumes },
  { level: "restricted", from: 0, check: runAsNonRoot },
  { level: "restricted", from: 23, check: runAsUser },
  { level: "restricted", from: 19, check: restrictedSeccomp },
];

function appArmorProfile({ annotations }: Subject, { spell }: Identity): Violation | undefined {
  const prefix = spell("container.apparmor.security.beta.kubernetes.io/");
  const isAllowed = (profile: string): boolean =>
    profile === "" || profile === "runtime/default" || profile.startsWith("localhost/");
  const bad = [...annotations].filter(([key, profile]) => key.startsWith(prefix) && !isAllowed(profile));
  if (bad.length === 0) return undefined;
  const detail = settings(bad).join(", ");
  return { reason: several("forbidden AppArmor profile", "forbidden AppArmor profiles", bad.length), detail };
}

const defaultCapabilities = new Set([
  "AUDIT_WRITE",
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "MKNOD",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT",
]);

function baselineCapabilities({ containers }: Subject): Violation | undefined {
  const detail = addedCapabilities(containers, defaultCapabilities);
  return detail === undefined ? undefined : { reason: "non-default capabilities", detail };
}

/** Who adds capabilities that are not allowed. */
function addedCapabilities(containers: readonly Checked[], allowed: ReadonlySet<string>): string | undefined {
  const added = new Set<string>();
  const bad = containers.filter(({ securityContext }) => {
    const wrong = (securityContext?.capabilities?.add ?? []).filter((capability) => !allowed.has(capability));
    for (const capability of wrong) added.add(capability);
    return wrong.length > 0;
  });
  if (bad.length === 0) return undefined;
  return `${named(bad)} must not include ${quoted(sorted(added))} in securityContext.capabilities.add`;
}

function hostNamespaces({ spec }: Subject): Violation | undefined {
  const used = (["hostNetwork", "hostPID", "hostIPC"] as const).filter((name) => spec[name] === true);
  if (used.length === 0) return undefined;
  return { reason: "host namespaces", detail: used.map((name) => `${name}=true`).join(", ") };
}

function hostPathVolumes({ spec }: Subject): Violation | undefined {
  const bad = (spec.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined).map(({ name }) => name);
  if (bad.length === 0) return undefined;
  return { reason: "hostPath volumes", detail: `${several("volume", "volumes", bad.length)} ${quoted(bad)}` };
}

function hostPorts({ containers }: Subject): Violation | undefined {
  const used = new Set<string>();
  const bad = containers.filter(({ ports = [] }) => {
    const wrong = ports.filter(({ hostPort = 0 }) => hostPort !== 0);
    for (const { hostPort } of wrong) used.add(String(hostPort));
    return wrong.length > 0;
  });
  if (bad.length === 0) return undefined;
  const ports = `${several("hostPort", "hostPorts", used.size)} ${sorted(used).join(", ")}`;
  return { reason: "hostPort", detail: `${named(bad)} ${several("uses", "use", bad.length)} ${ports}` };
}

function privileged({ containers }: Subject): Violation | undefined {
  const bad = containers.filter(({ securityContext }) => securityContext?.privileged === true);
  if (bad.length === 0) return undefined;
  return { reason: "privileged", detail: `${named(bad)} must not set securityContext.privileged=true` };
}

function procMount({ containers }: Subject): Violation | undefined {
  const isBad = (type: string | undefined): type is string => type !== undefined && type !== "Default";
  const bad = containers.filter(({ securityContext }) => isBad(securityContext?.procMount));
  if (bad.length === 0) return undefined;
  const types = new Set(bad.map(({ securityContext }) => securityContext?.procMount ?? ""));
  return {
    reason: "procMount",
    detail: `${named(bad)} must not set securityContext.procMount to ${quoted(sorted(types))}`,
  };
}

const seLinuxTypes = new Set(["", "container_t", "container_init_t", "container_kvm_t"]);

function seLinuxOptions({ spec, containers }: Subject): Violation | undefined {
  const types = new Set<string>();
  let setsUser = false;
  let setsRole = false;
  const isBad = (context: Pick<SecurityContext, "seLinuxOptions"> | undefined): boolean => {
    const { type = "", user = "", role = "" } = context?.seLinuxOptions ?? {};
    if (!seLinuxTypes.has(type)) types.add(type);
    setsUser ||= user !== "";
    setsRole ||= role !== "";
    return !seLinuxTypes.has(type) || user !== "" || role !== "";
  };
  const setters = settersOf(isBad(spec.securityContext), containers, ({ securityContext }) => isBad(securityContext));
  if (setters === "") return undefined;
  const what: string[] = [];
  if (types.size > 0) what.push(`${several("type", "types", types.size)} ${quoted(sorted(types))}`);
  if (setsUser) what.push("user may not be set");
  if (setsRole) what.push("role may not be set");
  return {
    reason: "seLinuxOptions",
    detail: `${setters} set forbidden securityContext.seLinuxOptions: ${what.join("; ")}`,
  };
}

/** Up to 1.18 profiles were annotations. */
function seccompAnnotations({ annotations, containers }: Subject, { spell }: Identity): Violation | undefined {
  const prefix = spell("container.seccomp.security.alpha.kubernetes.io/");
  const keys = [spell("seccomp.security.alpha.kubernetes.io/pod"), ...containers.map(({ name }) => `${prefix}${name}`)];
  const isAllowed = (profile: string): boolean =>
    profile === "runtime/default" || profile === "docker/default" || profile.startsWith("localhost/");
  const bad = new Map<string, string>();
  for (const key of keys) {
    const profile = annotations.get(key);
    if (profile !== undefined && !isAllowed(profile)) bad.set(key, profile);
  }
  if (bad.size === 0) return undefined;
  const list = settings([...bad]).join(", ");
  return { reason: "seccompProfile", detail: `forbidden ${several("annotation", "annotations", bad.size)} ${list}` };
}

const seccompTypes = new Set(["RuntimeDefault", "Localhost"]);

type Seccomp = Pick<SecurityContext, "seccompProfile"> | undefined;

/** Who sets a profile that is none of the allowed ones. */
function badSeccomp({ spec, containers }: Subject): Violation | undefined {
  const types = new Set<string>();
  const isBad = (context: Seccomp): boolean => {
    const type = context?.seccompProfile?.type;
    if (type === undefined || seccompTypes.has(type)) return false;
    types.add(type);
    return true;
  };
  const setters = settersOf(isBad(spec.securityContext), containers, ({ securityContext }) => isBad(securityContext));
  if (setters === "") return undefined;
  const detail = `${setters} must not set securityContext.seccompProfile.type to ${quoted(sorted(types))}`;
  return { reason: "seccompProfile", detail };
}

function restrictedSeccomp(subject: Subject): Violation | undefined {
  const bad = badSeccomp(subject);
  const isSet = (context: Seccomp): boolean => context?.seccompProfile !== undefined;
  if (bad !== undefined || isSet(subject.spec.securityContext)) return bad;
  const open = subject.containers.filter(({ securityContext }) => !isSet(securityContext));
  if (open.length === 0) return undefined;
  const detail = `pod or ${named(open)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`;
  return { reason: "seccompProfile", detail };
}

function sysctls({ spec }: Subject): Violation | undefined {
  const bad = (spec.securityContext?.sysctls ?? []).map(({ name }) => name).filter((name) => !safeSysctls.has(name));
  return bad.length === 0 ? undefined : { reason: "forbidden sysctls", detail: bad.join(", ") };
}

function windowsHostProcess({ spec, containers }: Subject): Violation | undefined {
  const isBad = (context: Pick<SecurityContext, "windowsOptions"> | undefined): boolean =>
    context?.windowsOptions?.hostProcess === true;
  const setters = settersOf(isBad(spec.securityContext), containers, ({ securityContext }) => isBad(securityContext));
  if (setters === "") return undefined;
  return { reason: "hostProcess", detail: `${setters} must not set securityContext.windowsOptions.hostProcess=true` };
}

function privilegeEscalation({ containers }: Subject): Violation | undefined {
  const bad = containers.filter(({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false);
  if (bad.length === 0) return undefined;
  const detail = `${named(bad)} must set securityContext.allowPrivilegeEscalation=false`;
  return { reason: "allowPrivilegeEscalation != false", detail };
}

const bindService = new Set(["NET_BIND_SERVICE"]);

function restrictedCapabilities({ containers }: Subject): Violation | undefined {
  const open = containers.filter(
    ({ securityContext }) => securityContext?.capabilities?.drop?.includes("ALL") !== true,
  );
  const details: string[] = [];
  if (open.length > 0) details.push(`${named(open)} must set securityContext.capabilities.drop=["ALL"]`);
  const added = addedCapabilities(containers, bindService);
  if (added !== undefined) details.push(added);
  return details.length === 0 ? undefined : { reason: "unrestricted capabilities", detail: details.join("; ") };
}

const plainVolumes: readonly (keyof Volume)[] = [
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "persistentVolumeClaim",
  "projected",
  "secret",
];

function restrictedVolumes({ spec }: Subject): Violation | undefined {
  const bad = (spec.volumes ?? []).filter((volume) => plainVolumes.every((source) => volume[source] === undefined));
  if (bad.length === 0) return undefined;
  const types = new Set(bad.map((volume) => volumeSource(volume) ?? "unknown"));
  const volumes = `${several("volume", "volumes", bad.length)} ${quoted(bad.map(({ name }) => name))}`;
  const use = several("uses", "use", bad.length);
  const detail = `${volumes} ${use} restricted volume ${several("type", "types", types.size)} ${quoted(sorted(types))}`;
  return { reason: "restricted volume types", detail };
}

function runAsNonRoot({ spec, containers }: Subject): Violation | undefined {
  const whole = spec.securityContext?.runAsNonRoot;
  const reason = "runAsNonRoot != true";
  const isBad = ({ securityContext }: Checked): boolean => securityContext?.runAsNonRoot === false;
  const setters = settersOf(whole === false, containers, isBad);
  if (setters !== "") return { reason, detail: `${setters} must not set securityContext.runAsNonRoot=false` };
  const open = containers.filter(({ securityContext }) => securityContext?.runAsNonRoot === undefined);
  if (whole === true || open.length === 0) return undefined;
  return { reason, detail: `pod or ${named(open)} must set securityContext.runAsNonRoot=true` };
}

function runAsUser({ spec, containers }: Subject): Violation | undefined {
  const isRoot = (context: Pick<SecurityContext, "runAsUser"> | undefined): boolean =>
    context?.runAsUser !== undefined && Number(context.runAsUser) === 0;
  const setters = settersOf(isRoot(spec.securityContext), containers, ({ securityContext }) => isRoot(securityContext));
  return setters === "" ? undefined : { reason: "runAsUser=0", detail: `${setters} must not set runAsUser=0` };
}

/** `pod and containers "a", "b"`: which parts set something bad; empty: none. */
function settersOf(pod: boolean, containers: readonly Checked[], isBad: (container: Checked) => boolean): string {
  const bad = containers.filter(isBad);
  return [...(pod ? ["pod"] : []), ...(bad.length > 0 ? [named(bad)] : [])].join(" and ");
}

function named(containers: readonly Checked[]): string {
  return `${several("container", "containers", containers.length)} ${quoted(containers.map(({ name }) => name))}`;
}

function several(one: string, many: string, count: number): string {
  return count === 1 ? one : many;
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ");
}

function sorted(names: Iterable<string>): string[] {
  return [...names].toSorted(compareBytes);
}

function settings(pairs: readonly (readonly [key: string, value: string])[]): string[] {
  return sorted(pairs.map(([key, value]) => `${key}=${quote(value)}`));
}
