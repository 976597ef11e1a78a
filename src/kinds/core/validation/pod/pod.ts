// Pod: rules of new and changed pods, their status and their ephemeral containers; Binding and PodTemplate.
import {
  duplicate,
  type FieldError,
  forbiddenField,
  invalid,
  notSupported,
  required,
} from "../../../../api/fielderror.ts";
import type {
  Binding,
  Container,
  ContainerStatus,
  Pod,
  PodSpec,
  PodTemplate,
  Toleration,
} from "../../../../api/gen/core/v1.ts";
import { settledOf } from "../../../../codec/engine/settled.ts";
import { isIp, isIpv4, parseAddress } from "../../../address.ts";
import { isPathSegment, isQualifiedName, rangeMessage } from "../../../formats.ts";
import type { StrategyContext } from "../../../strategy.ts";
import { checkSubdomain, type Errors, eachItem, empty, faults, isFull } from "../../../validation/check.ts";
import { changeText, equal } from "../../../validation/equal.ts";
import type { Names } from "../../../validation/names.ts";
import { checkTolerations } from "./affinity.ts";
import { checkContainerChange, checkImageSpaces } from "./container.ts";
import { checkPodSpec } from "./podspec.ts";
import { type PodRules, podRules } from "./rules.ts";
import { checkSeccompAgreement } from "./security.ts";
import { checkPodAnnotations, checkTemplate } from "./template.ts";

const specFrozen =
  "pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, " +
  "`spec.activeDeadlineSeconds`, `spec.tolerations` (only additions to existing tolerations) or " +
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const deadlineMax = 2147483647;
const systemConditions = new Set(["PodScheduled", "Ready", "Initialized"]);

/** Rules of a new pod. */
export function validatePod(object: Pod, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  const rules = podRules(context, object.metadata.name ?? "");
  checkPodAnnotations(out, "metadata.annotations", object.metadata.annotations, object.spec, rules);
  checkNewSpec(out, object.spec, rules, context);
  if ((object.spec.ephemeralContainers?.length ?? 0) > 0) {
    out.push(forbiddenField("spec.ephemeralContainers", "cannot be set on create"));
  }
  checkSeccompAgreement(out, "spec", object.metadata.annotations, object.spec, rules.names);
  return out;
}

/** Rules of a spec, once for all new pods that share it. */
function checkNewSpec(out: Errors, spec: PodSpec, rules: PodRules, { identity, gates }: StrategyContext): void {
  // Claims of such volumes have the pod's name in theirs.
  const isPodsOwn = spec.volumes?.some(({ ephemeral }) => ephemeral !== undefined) === true;
  const shared = isPodsOwn ? undefined : settledOf(spec);
  const terms = [identity, gates];
  if (shared?.isSound(terms) === true) return;
  const before = out.length;
  const isChecked = !isFull(out);
  checkSpec(out, spec, rules);
  if (isChecked && out.length === before) shared?.keepSound(terms);
}

/** Rules of a changed pod: hardly anything of its spec may change. */
export function validatePodUpdate(object: Pod, old: Pod, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  const rules = rulesOfChange(object, old, context);
  checkPod(out, object, rules);
  checkAnnotationChange(out, object, old, rules);
  const { spec } = object;
  if (!checkContainerChange(out, "spec.containers", spec.containers, old.spec.containers)) return out;
  if (!checkContainerChange(out, "spec.initContainers", spec.initContainers, old.spec.initContainers)) return out;
  if (!checkDeadlineChange(out, spec, old.spec)) return out;
  checkTolerationChange(out, "spec.tolerations", spec.tolerations ?? [], old.spec.tolerations ?? []);
  if (equal("core/v1.PodSpec", spec, old.spec)) return out;
  const kept = withoutAllowedChanges(spec, old.spec);
  if (!equal("core/v1.PodSpec", kept, old.spec)) {
    out.push(forbiddenField("spec", `${specFrozen}\n${changeText("core/v1.PodSpec", "spec", old.spec, kept)}`));
  }
  return out;
}

/** Rules of a changed status of a pod. */
export function validatePodStatusUpdate(object: Pod, old: Pod, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkAnnotationChange(out, object, old, rulesOfChange(object, old, context));
  // Upstream really puts the conditions under metadata.
  eachItem(out, object.status.conditions, "metadata.conditions", ({ type }, path) => {
    if (!systemConditions.has(type)) faults(out, `${path}.Type`, type, isQualifiedName(type));
  });
  if ((object.spec.nodeName ?? "") !== (old.spec.nodeName ?? "")) {
    out.push(forbiddenField("status.nodeName", "may not be changed directly"));
  }
  const nominated = object.status.nominatedNodeName;
  if (!empty(nominated) && nominated !== old.status.nominatedNodeName) {
    checkSubdomain(out, "status.nominatedNodeName", nominated);
  }
  for (const field of ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] as const) {
    // Ephemeral containers are never restarted.
    const policy = field === "ephemeralContainerStatuses" ? "Never" : old.spec.restartPolicy;
    checkStateChange(out, `status.${field}`, object.status[field] ?? [], old.status[field] ?? [], policy);
  }
  checkPodIps(out, object);
  return out;
}

/** Rules of the ephemeralcontainers subresource: containers are added, never changed or removed. */
export function validatePodEphemeralContainersUpdate(object: Pod, old: Pod, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  const rules = rulesOfChange(object, old, context);
  checkPod(out, object, rules);
  checkAnnotationChange(out, object, old, rules);
  const now = new Map(object.spec.ephemeralContainers?.map((container) => [container.name, container]));
  const type = "core/v1.EphemeralContainer";
  for (const before of old.spec.ephemeralContainers ?? []) {
    if (isFull(out)) return out;
    const after = now.get(before.name);
    const what = `existing ephemeral containers ${JSON.stringify(before.name)}`;
    if (after === undefined) {
      out.push(forbiddenField("spec.ephemeralContainers", `${what} may not be removed\n`));
    } else if (!equal(type, before, after)) {
      const change = changeText(type, "ephemeralContainer", before, after);
      out.push(forbiddenField("spec.ephemeralContainers", `${what} may not be changed\n${change}`));
    }
  }
  return out;
}

/** Rules of a binding of a pod to a node. */
export function validateBinding(object: Binding, _context: StrategyContext): FieldError[] {
  const out: Errors = [];
  const { kind, name } = object.target;
  if (!empty(kind) && kind !== "Node") out.push(notSupported("target.kind", kind, ["Node", "<empty>"]));
  if (empty(name)) out.push(required("target.name"));
  // A node's name becomes part of paths; upstream does not look.
  else faults(out, "target.name", name, isPathSegment(name));
  return out;
}

/** Rules of a new PodTemplate. */
export function validatePodTemplate(object: PodTemplate, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkTemplate(out, "template", object.template, podRules(context));
  return out;
}

/** Rules of a changed PodTemplate. */
export function validatePodTemplateUpdate(
  object: PodTemplate,
  old: PodTemplate,
  context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  const before = { spec: old.template.spec, annotations: old.template.metadata.annotations };
  checkTemplate(out, "template", object.template, podRules(context, undefined, before));
  return out;
}

function rulesOfChange(object: Pod, old: Pod, context: StrategyContext): PodRules {
  return podRules(context, object.metadata.name ?? "", { spec: old.spec, annotations: old.metadata.annotations });
}

/** What holds for every pod, and not for templates. */
function checkPod(out: Errors, { metadata, spec }: Pod, rules: PodRules): void {
  checkPodAnnotations(out, "metadata.annotations", metadata.annotations, spec, rules);
  checkSpec(out, spec, rules);
}

function checkSpec(out: Errors, spec: PodSpec, rules: PodRules): void {
  checkPodSpec(out, "spec", spec, rules);
  if (empty(spec.serviceAccountName)) checkNoTokens(out, spec);
  checkImageSpaces(out, "spec.containers", spec.containers);
  checkImageSpaces(out, "spec.initContainers", spec.initContainers);
}

function checkNoTokens(out: Errors, spec: PodSpec): void {
  eachItem(out, spec.volumes, "spec.volumes", (volume, path) => {
    eachItem(out, volume.projected?.sources, `${path}.projected.sources`, (source, at) => {
      if (source.serviceAccountToken === undefined) return;
      const why = "must not be specified when serviceAccountName is not set";
      out.push(forbiddenField(`${at}.serviceAccountToken`, why));
    });
  });
}

/** Annotations that are part of what a pod is: they stay as they were. */
function checkAnnotationChange(out: Errors, object: Pod, old: Pod, rules: PodRules): void {
  const now = object.metadata.annotations;
  const before = old.metadata.annotations;
  for (const [key, value] of before ?? []) {
    const what = fixedAnnotation(key, rules.names);
    if (what === undefined || now?.get(key) === value || isFull(out)) continue;
    out.push(forbiddenField(`metadata.annotations[${key}]`, `may not remove or update ${what}`));
  }
  for (const key of now?.keys() ?? []) {
    const what = fixedAnnotation(key, rules.names);
    if (what === undefined || before?.has(key) === true || isFull(out)) continue;
    out.push(forbiddenField(`metadata.annotations[${key}]`, `may not add ${what}`));
  }
  checkPodAnnotations(out, "metadata.annotations", now, object.spec, rules);
}

function fixedAnnotation(key: string, names: Names): string | undefined {
  if (key.startsWith(names.appArmorPrefix)) return "AppArmor annotations";
  return key === names.mirrorPod ? "mirror pod annotation" : undefined;
}

/** A deadline may be set once and then only come nearer. False ends the checks of the pod. */
function checkDeadlineChange(out: Errors, spec: PodSpec, old: PodSpec): boolean {
  const path = "spec.activeDeadlineSeconds";
  const now = spec.activeDeadlineSeconds;
  const before = old.activeDeadlineSeconds;
  if (now === undefined) {
    if (before !== undefined) {
      out.push(invalid(path, undefined, "must not update from a positive integer to nil value"));
    }
    return true;
  }
  if (now < 0 || now > deadlineMax) {
    out.push(invalid(path, now, rangeMessage(0, deadlineMax)));
    return false;
  }
  if (before !== undefined && before < now) {
    out.push(invalid(path, now, "must be less than or equal to previous value"));
    return false;
  }
  return true;
}

function checkTolerationChange(
  out: Errors,
  path: string,
  now: readonly Toleration[],
  old: readonly Toleration[],
): void {
  const after = new Set(now.map(tolerated));
  const kept = old.every((before) => after.has(tolerated(before)));
  if (!kept) {
    out.push(forbiddenField(path, "existing toleration can not be modified except its tolerationSeconds"));
    return;
  }
  checkTolerations(out, path, now);
}

/** What a toleration tolerates, whatever the seconds. */
function tolerated({ key = "", operator = "", value = "", effect = "" }: Toleration): string {
  return JSON.stringify([key, operator, value, effect]);
}

/** The new spec with what may change taken from the old one: what is left must be the old one. */
function withoutAllowedChanges(spec: PodSpec, old: PodSpec): PodSpec {
  const oldGrace = old.terminationGracePeriodSeconds;
  const corrected = oldGrace !== undefined && oldGrace < 0 && Number(spec.terminationGracePeriodSeconds) === 1;
  return {
    ...spec,
    containers: withImagesOf(spec.containers, old.containers),
    initContainers: withImagesOf(spec.initContainers, old.initContainers),
    activeDeadlineSeconds: old.activeDeadlineSeconds,
    tolerations: old.tolerations,
    terminationGracePeriodSeconds: corrected ? oldGrace : spec.terminationGracePeriodSeconds,
  };
}

function withImagesOf(containers: Container[] | undefined, old: Container[] | undefined): Container[] | undefined {
  return containers?.map((container, i) => ({ ...container, image: old?.[i]?.image }));
}

/** A container that ended stays ended, where the restart policy says so. */
function checkStateChange(
  out: Errors,
  path: string,
  now: readonly ContainerStatus[],
  old: readonly ContainerStatus[],
  restartPolicy: string | undefined,
): void {
  if (restartPolicy === "Always") return;
  const running = new Set(now.filter(({ state }) => state.terminated === undefined).map(({ name }) => name));
  for (const [i, before] of old.entries()) {
    const ended = before.state.terminated;
    if (isFull(out) || ended === undefined || (ended.exitCode !== 0 && restartPolicy === "OnFailure")) continue;
    if (!running.has(before.name)) continue;
    out.push(forbiddenField(`${path}[${i}].state`, "may not be transitioned to non-terminated state"));
  }
}

/** At most one address per family. */
function checkPodIps(out: Errors, { status }: Pod): void {
  const ips = (status.podIPs ?? []).map((entry) => entry.ip ?? "");
  eachItem(out, ips, "status.podIPs", (ip, path) => faults(out, path, ip, isIp(ip)));
  if (ips.length < 2) return;
  const families = new Set<boolean>();
  for (const ip of ips) {
    const address = parseAddress(ip);
    if (address !== undefined) families.add(isIpv4(address));
  }
  const bad = ips.find((ip) => parseAddress(ip) === undefined);
  if (bad !== undefined) {
    const text = `Internal error: failed to check for dual stack with error:invalid IP address: ${bad}`;
    out.push({ reason: "InternalError", field: "status.podIPs", text });
  }
  if (bad !== undefined || families.size !== 2 || ips.length > 2) {
    out.push(invalid("status.podIPs", status.podIPs, "may specify no more than one IP for each IP family"));
  }
  const seen = new Set<string>();
  eachItem(out, ips, "status.podIPs", (ip, path) => {
    if (seen.has(ip)) out.push(duplicate(path, { ip }));
    seen.add(ip);
  });
}
