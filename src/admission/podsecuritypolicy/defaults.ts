// What a pod security policy fills in where a pod says nothing. Works on a copy of the pod that a policy is tried on.
import type { Container, Pod, SecurityContext } from "../../api/gen/core/v1.ts";
import type { IDRange, PodSecurityPolicy } from "../../api/gen/policy/v1beta1.ts";
import type { Identity } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";

/** A container of either list: debugging ones are never filled in. */
export function containersOf({ spec }: Pod): Container[] {
  return [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
}

/** Fills in what the policy has defaults for, in place. */
export function fillIn(policy: ApiObject & PodSecurityPolicy, pod: ApiObject & Pod, { spell }: Identity): void {
  const { spec, metadata } = policy;
  const context = { ...pod.spec.securityContext };
  const groups = firstOf(spec.supplementalGroups);
  if (context.supplementalGroups === undefined && groups !== undefined) context.supplementalGroups = [groups];
  context.fsGroup ??= firstOf(spec.fsGroup);
  if (spec.seLinux.rule === "MustRunAs") context.seLinuxOptions ??= spec.seLinux.seLinuxOptions;
  if (Object.values(context).some((value) => value !== undefined)) pod.spec.securityContext = context;
  pod.spec.runtimeClassName ??= spec.runtimeClass?.defaultRuntimeClassName;

  const seccomp = metadata.annotations?.get(spell("seccomp.security.alpha.kubernetes.io/defaultProfileName"));
  if (seccomp !== undefined && context.seccompProfile === undefined) {
    annotate(pod, spell("seccomp.security.alpha.kubernetes.io/pod"), seccomp);
  }
  const armor = metadata.annotations?.get(spell("apparmor.security.beta.kubernetes.io/defaultProfileName"));
  for (const container of containersOf(pod)) {
    fillContainer(policy, pod, container);
    const key = `${spell("container.apparmor.security.beta.kubernetes.io/")}${container.name}`;
    if (armor !== undefined) annotate(pod, key, armor);
  }
}

function annotate({ metadata }: ApiObject, key: string, value: string): void {
  metadata.annotations ??= new Map();
  if (!metadata.annotations.has(key)) metadata.annotations.set(key, value);
}

/** The number a strategy gives to those that name none. */
function firstOf(
  strategy: { readonly rule?: string | undefined; readonly ranges?: readonly IDRange[] | undefined } | undefined,
): number | bigint | undefined {
  return strategy?.rule === "MustRunAs" ? strategy.ranges?.[0]?.min : undefined;
}

function fillContainer({ spec }: PodSecurityPolicy, pod: Pod, container: Container): void {
  const whole = pod.spec.securityContext;
  const context: SecurityContext = { ...container.securityContext };
  const user = context.runAsUser ?? whole?.runAsUser;
  if (user === undefined) {
    const first = firstOf(spec.runAsUser);
    if (first !== undefined) context.runAsUser = first;
    const nonRoot = context.runAsNonRoot ?? whole?.runAsNonRoot;
    if (spec.runAsUser.rule === "MustRunAsNonRoot" && nonRoot === undefined) context.runAsNonRoot = true;
  }
  const group = firstOf(spec.runAsGroup);
  if ((context.runAsGroup ?? whole?.runAsGroup) === undefined && group !== undefined) context.runAsGroup = group;
  if (spec.seLinux.rule === "MustRunAs" && whole?.seLinuxOptions === undefined) {
    context.seLinuxOptions ??= spec.seLinux.seLinuxOptions;
  }
  fillCapabilities(spec, context);
  if (spec.readOnlyRootFilesystem === true) context.readOnlyRootFilesystem ??= true;
  if (spec.defaultAllowPrivilegeEscalation !== undefined) {
    context.allowPrivilegeEscalation ??= spec.defaultAllowPrivilegeEscalation;
  }
  if (spec.allowPrivilegeEscalation === false) context.allowPrivilegeEscalation ??= false;
  if (Object.values(context).some((value) => value !== undefined)) container.securityContext = context;
}

function fillCapabilities(spec: PodSecurityPolicy["spec"], context: SecurityContext): void {
  const { add = [], drop = [] } = context.capabilities ?? {};
  const added = (spec.defaultAddCapabilities ?? []).filter((one) => !add.includes(one) && !drop.includes(one));
  const dropped = (spec.requiredDropCapabilities ?? []).filter((one) => !drop.includes(one));
  if (added.length === 0 && dropped.length === 0) return;
  const [adds, drops] = [
    [...add, ...added],
    [...drop, ...dropped],
  ];
  context.capabilities = {
    ...(adds.length === 0 ? {} : { add: adds }),
    ...(drops.length === 0 ? {} : { drop: drops }),
  };
}
