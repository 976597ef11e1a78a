// What a pod security policy forbids: every field of a pod at fault, in upstream's words.
import { at, type FieldError, forbiddenField, invalid, required } from "../../api/fielderror.ts";
import type { Container, EphemeralContainer, Pod, SecurityContext, Volume } from "../../api/gen/core/v1.ts";
import type { IDRange, PodSecurityPolicy } from "../../api/gen/policy/v1beta1.ts";
import type { Identity } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";
import { safeSysctls, volumeSource } from "../../kinds/core/podsecurity.ts";

type Policy = ApiObject & PodSecurityPolicy;
type Checked = Container | EphemeralContainer;

/** All fields of a pod that a policy does not allow. */
export function faultsOf(policy: Policy, pod: ApiObject & Pod, identity: Identity): FieldError[] {
  const out: FieldError[] = [];
  checkPod(out, policy, pod);
  checkSysctls(out, policy, pod);
  checkVolumes(out, policy, pod);
  checkProfiles(out, policy, pod, identity);
  const lists = [
    ["initContainers", pod.spec.initContainers],
    ["containers", pod.spec.containers],
    ["ephemeralContainers", pod.spec.ephemeralContainers],
  ] as const;
  for (const [list, containers = []] of lists) {
    for (const [index, container] of containers.entries()) {
      checkContainer(out, policy, pod, container, at(`spec.${list}`, index));
    }
  }
  return out;
}

function checkPod(out: FieldError[], { spec }: Policy, pod: Pod): void {
  const path = "spec.securityContext";
  const hosts = [
    ["hostNetwork", "Host network"],
    ["hostPID", "Host PID"],
    ["hostIPC", "Host IPC"],
  ] as const;
  for (const [field, name] of hosts) {
    if (pod.spec[field] === true && spec[field] !== true) {
      out.push(invalid(`${path}.${field}`, true, `${name} is not allowed to be used`));
    }
  }
  const { supplementalGroups, fsGroup } = pod.spec.securityContext ?? {};
  checkGroups(out, `${path}.supplementalGroups`, spec.supplementalGroups, supplementalGroups);
  checkGroups(out, `${path}.fsGroup`, spec.fsGroup, fsGroup === undefined ? undefined : [fsGroup]);
  const { runtimeClassName } = pod.spec;
  const classes = spec.runtimeClass?.allowedRuntimeClassNames ?? [];
  if (spec.runtimeClass !== undefined && runtimeClassName !== undefined) {
    if (!classes.includes("*") && !classes.includes(runtimeClassName)) {
      out.push(forbiddenField("spec.runtimeClassName", `must be one of: ${classes.join(", ")}`));
    }
  }
}

interface Strategy {
  readonly rule?: string | undefined;
  readonly ranges?: readonly IDRange[] | undefined;
}

function checkGroups(
  out: FieldError[],
  path: string,
  { rule, ranges = [] }: Strategy,
  groups: readonly (number | bigint)[] | undefined,
): void {
  if (rule !== "MustRunAs" && rule !== "MayRunAs") return;
  if (rule === "MustRunAs" && (groups ?? []).length === 0) {
    out.push(invalid(path, groups ?? null, "unable to validate empty groups against required ranges"));
  }
  for (const group of groups ?? []) {
    if (!isWithin(ranges, group))
      out.push(invalid(path, groups ?? null, `group ${group} must be in the ranges: ${shown(ranges)}`));
  }
}

function isWithin(ranges: readonly IDRange[], id: number | bigint): boolean {
  return ranges.some(({ min, max }) => id >= min && id <= max);
}

function shown(ranges: readonly IDRange[]): string {
  return `[${ranges.map(({ min, max }) => `{${min} ${max}}`).join(" ")}]`;
}

function checkSysctls(out: FieldError[], { spec }: Policy, pod: Pod): void {
  for (const [index, { name }] of (pod.spec.securityContext?.sysctls ?? []).entries()) {
    const path = at("spec.securityContext.sysctls", index);
    if (matches(spec.forbiddenSysctls, name)) out.push(forbiddenField(path, `sysctl "${name}" is not allowed`));
    else if (!safeSysctls.has(name) && !matches(spec.allowedUnsafeSysctls, name)) {
      out.push(forbiddenField(path, `unsafe sysctl "${name}" is not allowed`));
    }
  }
}

function matches(patterns: readonly string[] | undefined, name: string): boolean {
  return (patterns ?? []).some((pattern) =>
    pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name,
  );
}

function checkVolumes(out: FieldError[], { spec }: Policy, pod: Pod): void {
  const allowed = spec.volumes ?? [];
  for (const [index, volume] of (pod.spec.volumes ?? []).entries()) {
    const path = at("spec.volumes", index);
    const source = volumeSource(volume) ?? "emptyDir";
    if (!allowed.includes("*") && !allowed.includes(source) && !isPlainToken(volume, allowed)) {
      out.push(invalid(path, source, `${source} volumes are not allowed to be used`));
      continue;
    }
    if (volume.hostPath !== undefined) checkHostPath(out, spec, pod, volume, path);
    const drivers = spec.allowedFlexVolumes ?? [];
    const { driver } = volume.flexVolume ?? {};
    if (driver !== undefined && drivers.length > 0 && !drivers.some((one) => one.driver === driver)) {
      out.push(invalid(`${path}.driver`, driver, "Flexvolume driver is not allowed to be used"));
    }
    const inline = spec.allowedCSIDrivers ?? [];
    const csi = volume.csi?.driver;
    if (csi !== undefined && inline.length > 0 && !inline.some(({ name }) => name === csi)) {
      out.push(invalid(`${path}.csi.driver`, csi, "Inline CSI driver is not allowed to be used"));
    }
  }
}

/** Where secrets are allowed, so is the projected volume every pod gets: it holds no more than a secret did. */
function isPlainToken({ projected }: Volume, allowed: readonly string[]): boolean {
  if (projected === undefined || !allowed.includes("secret")) return false;
  const sources = projected.sources ?? [];
  return (
    sources.length === 3 &&
    sources.some(({ serviceAccountToken }) => serviceAccountToken?.path === "token") &&
    sources.some(({ configMap }) => configMap?.name?.endsWith("root-ca.crt") === true) &&
    sources.some(({ downwardAPI }) => downwardAPI?.items?.[0]?.path === "namespace")
  );
}

function checkHostPath(
  out: FieldError[],
  spec: Policy["spec"],
  pod: Pod,
  { name, hostPath }: Volume,
  path: string,
): void {
  const prefixes = spec.allowedHostPaths ?? [];
  const wanted = hostPath?.path ?? "";
  if (prefixes.length === 0) return;
  const fits = prefixes.filter(({ pathPrefix = "" }) => hasPrefix(wanted, pathPrefix));
  if (fits.length === 0) {
    out.push(invalid(`${path}.hostPath.pathPrefix`, wanted, "is not allowed to be used"));
    return;
  }
  if (fits.some(({ readOnly }) => readOnly !== true)) return;
  for (const list of ["initContainers", "containers"] as const) {
    for (const [index, { volumeMounts = [] }] of (pod.spec[list] ?? []).entries()) {
      for (const [mount, { name: mounted, readOnly }] of volumeMounts.entries()) {
        if (mounted !== name || readOnly === true) continue;
        const at1 = at(`${at(`spec.${list}`, index)}.volumeMounts`, mount);
        out.push(invalid(`${at1}.readOnly`, false, "must be read-only"));
      }
    }
  }
}

/** Whether a path is the prefix or below it, element by element. */
function hasPrefix(path: string, prefix: string): boolean {
  const clean = (text: string): string[] => text.split("/").filter((part) => part !== "" && part !== ".");
  const [parts, wanted] = [clean(path), clean(prefix)];
  return !parts.includes("..") && wanted.every((part, index) => parts[index] === part);
}

function checkProfiles(out: FieldError[], { metadata }: Policy, pod: ApiObject & Pod, { spell }: Identity): void {
  const given = pod.metadata.annotations;
  const listed = (key: string): string[] | undefined => metadata.annotations?.get(spell(key))?.split(",");
  const seccomp = listed("seccomp.security.alpha.kubernetes.io/allowedProfileNames") ?? [];
  const podKey = spell("seccomp.security.alpha.kubernetes.io/pod");
  const containerKey = spell("container.seccomp.security.alpha.kubernetes.io/");
  const armor = listed("apparmor.security.beta.kubernetes.io/allowedProfileNames");
  const armorKey = spell("container.apparmor.security.beta.kubernetes.io/");
  const check = (key: string, profile: string): void => {
    if (seccomp.includes("*") || seccomp.includes(profile) || (seccomp.length === 0 && profile === "")) return;
    const why =
      seccomp.length === 0
        ? "seccomp may not be set"
        : `${profile} is not an allowed seccomp profile. Valid values are ${seccomp.join(",")}`;
    out.push(forbiddenField(at("metadata.annotations", key), why));
  };
  const whole = given?.get(podKey) ?? "";
  check(podKey, whole);
  for (const { name } of [...(pod.spec.initContainers ?? []), ...(pod.spec.containers ?? [])]) {
    const own = given?.get(`${containerKey}${name}`);
    if (own !== undefined && own !== whole) check(`${containerKey}${name}`, own);
    const profile = given?.get(`${armorKey}${name}`) ?? "";
    if (armor === undefined || armor.includes(profile)) continue;
    const why =
      profile === ""
        ? "AppArmor profile must be set"
        : `${profile} is not an allowed profile. Allowed values: "${armor.join(",")}"`;
    out.push(forbiddenField(at("metadata.annotations", `${armorKey}${name}`), why));
  }
}

function checkContainer(out: FieldError[], { spec }: Policy, pod: Pod, container: Checked, where: string): void {
  const path = `${where}.securityContext`;
  const whole = pod.spec.securityContext;
  const own: SecurityContext = container.securityContext ?? {};
  checkUser(out, spec, path, own.runAsUser ?? whole?.runAsUser, own.runAsNonRoot ?? whole?.runAsNonRoot);
  const group = own.runAsGroup ?? whole?.runAsGroup;
  if (spec.runAsGroup !== undefined && (spec.runAsGroup.rule === "MustRunAs" || group !== undefined)) {
    checkGroups(out, `${path}.runAsGroup`, spec.runAsGroup, group === undefined ? undefined : [group]);
  }
  checkSeLinux(out, spec, path, own.seLinuxOptions ?? whole?.seLinuxOptions);
  if (own.privileged === true && spec.privileged !== true) {
    out.push(invalid(`${path}.privileged`, true, "Privileged containers are not allowed"));
  }
  const mounts = spec.allowedProcMountTypes ?? ["Default"];
  const procMount = own.procMount ?? "Default";
  if (!mounts.includes(procMount)) {
    out.push(invalid(`${path}.procMount`, procMount, "ProcMountType is not allowed"));
  }
  checkCapabilities(out, spec, path, own);
  for (const [index, { hostPort = 0 }] of (container.ports ?? []).entries()) {
    const ranges = spec.hostPorts ?? [];
    if (hostPort === 0 || ranges.some(({ min, max }) => hostPort >= min && hostPort <= max)) continue;
    const allowed = ranges.map(({ min, max }) => (min === max ? `${min}` : `${min}-${max}`)).join(",");
    const why = `Host port ${hostPort} is not allowed to be used. Allowed ports: [${allowed}]`;
    out.push(invalid(`${at(`${where}.ports`, index)}.hostPort`, hostPort, why));
  }
  if (spec.readOnlyRootFilesystem === true && own.readOnlyRootFilesystem !== true) {
    const isNil = own.readOnlyRootFilesystem === undefined;
    const why = `ReadOnlyRootFilesystem ${isNil ? "may not be nil and " : ""}must be set to true`;
    out.push(invalid(`${path}.readOnlyRootFilesystem`, own.readOnlyRootFilesystem ?? null, why));
  }
  if (spec.allowPrivilegeEscalation === false && own.allowPrivilegeEscalation !== false) {
    const why = "Allowing privilege escalation for containers is not allowed";
    out.push(invalid(`${path}.allowPrivilegeEscalation`, own.allowPrivilegeEscalation ?? true, why));
  }
}

function checkUser(
  out: FieldError[],
  { runAsUser: { rule, ranges = [] } }: Policy["spec"],
  path: string,
  user: number | bigint | undefined,
  nonRoot: boolean | undefined,
): void {
  if (rule === "MustRunAs") {
    if (user === undefined) out.push(required(`${path}.runAsUser`));
    else if (!isWithin(ranges, user)) {
      out.push(invalid(`${path}.runAsUser`, user, `must be in the ranges: ${shown(ranges)}`));
    }
  } else if (rule === "MustRunAsNonRoot") {
    if (nonRoot === undefined && user === undefined) out.push(required(`${path}.runAsNonRoot`, "must be true"));
    else if (nonRoot === false) out.push(invalid(`${path}.runAsNonRoot`, false, "must be true"));
    if (user !== undefined && Number(user) === 0) {
      out.push(invalid(`${path}.runAsUser`, user, "running with the root UID is forbidden"));
    }
  }
}

function checkSeLinux(
  out: FieldError[],
  { seLinux }: Policy["spec"],
  path: string,
  options: SecurityContext["seLinuxOptions"],
): void {
  if (seLinux.rule !== "MustRunAs") return;
  if (options === undefined) {
    out.push(required(`${path}.seLinuxOptions`));
    return;
  }
  for (const field of ["level", "role", "type", "user"] as const) {
    const [is, must] = [options[field] ?? "", seLinux.seLinuxOptions?.[field] ?? ""];
    if (is !== must) out.push(invalid(`${path}.seLinuxOptions.${field}`, is, `must be ${must}`));
  }
}

function checkCapabilities(out: FieldError[], spec: Policy["spec"], path: string, own: SecurityContext): void {
  const { add = [], drop = [] } = own.capabilities ?? {};
  const allowed = [...(spec.allowedCapabilities ?? []), ...(spec.defaultAddCapabilities ?? [])];
  for (const capability of allowed.includes("*") ? [] : add) {
    if (!allowed.includes(capability)) {
      out.push(invalid(`${path}.capabilities.add`, capability, "capability may not be added"));
    }
  }
  for (const capability of spec.requiredDropCapabilities ?? []) {
    if (drop.includes(capability) || (capability !== "ALL" && drop.includes("ALL"))) continue;
    const why = `${capability} is required to be dropped but was not found`;
    out.push(invalid(`${path}.capabilities.drop`, drop, why));
  }
}
