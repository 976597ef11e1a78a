// PodSecurityPolicy: what pods may ask of their nodes.
import { type FieldError, invalid, notSupported, required } from "../../api/fielderror.ts";
import type { IDRange, PodSecurityPolicy } from "../../api/gen/policy/v1beta1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { type Columns, column, nameColumn } from "../columns.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";
import { type Errors, eachItem } from "../validation/check.ts";

/** Behaviour of pod security policies. */
export function podSecurityPolicyBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: podSecurityPolicyStrategy(resource),
    columns: podSecurityPolicyColumns(),
  };
}

function podSecurityPolicyStrategy(resource: Resource): Strategy<PodSecurityPolicy> {
  return strategyFor<PodSecurityPolicy>(resource, {
    returnsDeletedObject: true,
    validate: validatePodSecurityPolicy,
    validateUpdate: validatePodSecurityPolicy,
  });
}

/** Columns of pod security policies. */
function podSecurityPolicyColumns(): Columns<PodSecurityPolicy> {
  return {
    columns: [
      nameColumn,
      column("Priv", "Privileged containers may run", ({ spec }) => String(spec.privileged ?? false)),
      column("Caps", "Capabilities that may be added", ({ spec }) => (spec.allowedCapabilities ?? []).join(",")),
      column("SELinux", "Rule for SELinux labels", ({ spec }) => spec.seLinux.rule),
      column("RunAsUser", "Rule for user ids", ({ spec }) => spec.runAsUser.rule),
      column("FsGroup", "Rule for the group of file systems", ({ spec }) => spec.fsGroup.rule ?? ""),
      column("SupGroup", "Rule for further groups", ({ spec }) => spec.supplementalGroups.rule ?? ""),
      column(
        "ReadOnlyRootFs",
        "Root file systems must be read-only",
        ({ spec }) => spec.readOnlyRootFilesystem ?? false,
      ),
      column("Volumes", "Kinds of volumes that may be used", ({ spec }) => (spec.volumes ?? []).join(",")),
    ],
  };
}

/** Rules of a pod security policy, new or changed: who pods may run as. */
export function validatePodSecurityPolicy({ spec }: PodSecurityPolicy): FieldError[] {
  const out: Errors = [];
  checkRule(out, "spec.runAsUser", spec.runAsUser, ["MustRunAs", "MustRunAsNonRoot", "RunAsAny"]);
  if (spec.runAsGroup) checkRule(out, "spec.runAsGroup", spec.runAsGroup, ["MayRunAs", "MustRunAs", "RunAsAny"]);
  const linux = ["MustRunAs", "RunAsAny"];
  if (!linux.includes(spec.seLinux.rule)) out.push(notSupported("spec.seLinux.rule", spec.seLinux.rule, linux));
  const groups = ["MayRunAs", "MustRunAs", "RunAsAny"];
  checkRule(out, "spec.supplementalGroups", spec.supplementalGroups, groups);
  checkRule(out, "spec.fsGroup", spec.fsGroup, groups);
  if (spec.defaultAllowPrivilegeEscalation && spec.allowPrivilegeEscalation === false) {
    const why =
      "Cannot set DefaultAllowPrivilegeEscalation to true without also setting AllowPrivilegeEscalation to true";
    out.push(invalid("spec.defaultAllowPrivilegeEscalation", true, why));
  }
  eachItem(out, spec.allowedHostPaths, "spec.allowedHostPaths", ({ pathPrefix }, place) => {
    const path = `${place}.pathPrefix`;
    if (!pathPrefix) out.push(required(path, "is required"));
    else if (pathPrefix.split("/").includes("..")) out.push(invalid(path, pathPrefix, "must not contain '..'"));
  });
  return out;
}

interface RangeRule {
  readonly rule?: string | undefined;
  readonly ranges?: IDRange[] | undefined;
}

function checkRule(out: Errors, path: string, { rule = "", ranges }: RangeRule, rules: readonly string[]): void {
  if (!rules.includes(rule)) out.push(notSupported(`${path}.rule`, rule, rules));
  eachItem(out, ranges, `${path}.ranges`, ({ min, max }, place) => {
    if (min < 0) out.push(invalid(`${place}.min`, min, "min cannot be negative"));
    if (max < 0) out.push(invalid(`${place}.max`, max, "max cannot be negative"));
    if (min > max) out.push(invalid(`${place}.min`, min, "min cannot be greater than max"));
  });
}
