// Templates of pods, and the annotations that mean something on pods and templates alike.
import { forbiddenField, invalid } from "../../../../api/fielderror.ts";
import type { PodSpec, PodTemplateSpec, Volume } from "../../../../api/gen/core/v1.ts";
import { checkAnnotations, checkLabels, type Errors, eachItem, empty } from "../../../validation/check.ts";
import { checkPodSpec } from "./podspec.ts";
import { isDeletionCost, type PodRules } from "./rules.ts";
import { checkAppArmorAnnotations, checkSeccompAgreement, checkSeccompAnnotations } from "./security.ts";

/** Rules of a template of pods. */
export function checkTemplate(out: Errors, path: string, template: PodTemplateSpec, rules: PodRules): void {
  const { labels, annotations } = template.metadata;
  checkLabels(out, `${path}.labels`, labels);
  checkAnnotations(out, `${path}.annotations`, annotations);
  checkPodAnnotations(out, `${path}.annotations`, annotations, template.spec, rules);
  checkPodSpec(out, `${path}.spec`, template.spec, rules);
  checkSeccompAgreement(out, `${path}.spec`, annotations, template.spec, rules.names);
  if ((template.spec.ephemeralContainers?.length ?? 0) > 0) {
    const why = "ephemeral containers not allowed in pod template";
    out.push(forbiddenField(`${path}.spec.ephemeralContainers`, why));
  }
}

/** Annotations of a pod that have a meaning of their own. */
export function checkPodAnnotations(
  out: Errors,
  path: string,
  annotations: ReadonlyMap<string, string> | undefined,
  spec: PodSpec,
  rules: PodRules,
): void {
  if (annotations === undefined || annotations.size === 0) return;
  const { names } = rules;
  const mirror = annotations.get(names.mirrorPod);
  if (mirror !== undefined && empty(spec.nodeName)) {
    const why = "must set spec.nodeName if mirror pod annotation is set";
    out.push(invalid(`${path}[${names.mirrorPod}]`, mirror, why));
  }
  const cost = annotations.get(names.deletionCost);
  if (!rules.keepsDeletionCost && !isDeletionCost(cost)) {
    out.push(invalid(`${path}[${names.deletionCost}]`, cost, "must be a 32bit integer"));
  }
  checkSeccompAnnotations(out, path, annotations, names);
  checkAppArmorAnnotations(out, path, annotations, spec, names);
}

/** Disks that only one machine can write to must be read-only where several pods share them. */
export function checkSharedDisks(out: Errors, path: string, volumes: readonly Volume[] | undefined): void {
  eachItem(out, volumes, path, (volume, at) => {
    if (volume.gcePersistentDisk === undefined || volume.gcePersistentDisk.readOnly === true) return;
    const why =
      "must be true for replicated pods > 1; GCE PD can only be mounted on multiple machines if it is read-only";
    out.push(invalid(`${at}.gcePersistentDisk.readOnly`, false, why));
  });
}
