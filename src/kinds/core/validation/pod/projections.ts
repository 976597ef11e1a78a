// Rules of volumes that show a pod files made of objects: secrets, config maps, the pod itself, tokens, and several of
// them in one volume. Pods only: a persistent volume has nothing to project.
import { forbiddenField, invalid, required } from "../../../../api/fielderror.ts";
import type * as core from "../../../../api/gen/core/v1.ts";
import { checkUnreservedPath, type Errors, eachItem, isFull } from "../../../validation/check.ts";
import { checkFieldRef, checkResourceFieldRef, volumeFields } from "./downward.ts";
import { checkPresent } from "./sources.ts";

const modeMax = 0o777;
const modeMessage = "must be a number between 0 and 0777 (octal), both inclusive";

/** A mode of files. */
function checkMode(out: Errors, path: string, mode: number | undefined): void {
  if (mode !== undefined && (mode < 0 || mode > modeMax)) out.push(invalid(path, mode, modeMessage));
}

function checkItems(out: Errors, path: string, items: readonly core.KeyToPath[] | undefined): void {
  eachItem(out, items, `${path}.items`, (item, at) => {
    checkPresent(out, `${at}.key`, item.key);
    checkPresent(out, `${at}.path`, item.path);
    checkUnreservedPath(out, `${at}.path`, item.path);
    checkMode(out, `${at}.mode`, item.mode);
  });
}

/** secret. */
export function checkSecretSource(out: Errors, path: string, source: core.SecretVolumeSource): void {
  checkPresent(out, `${path}.secretName`, source.secretName);
  checkMode(out, `${path}.defaultMode`, source.defaultMode);
  checkItems(out, path, source.items);
}

/** configMap. */
export function checkConfigMapSource(out: Errors, path: string, source: core.ConfigMapVolumeSource): void {
  checkPresent(out, `${path}.name`, source.name);
  checkMode(out, `${path}.defaultMode`, source.defaultMode);
  checkItems(out, path, source.items);
}

/** A file of a downward API volume; the path has no index: so upstream. */
function checkDownwardFile(out: Errors, path: string, file: core.DownwardAPIVolumeFile): void {
  checkPresent(out, `${path}.path`, file.path);
  checkUnreservedPath(out, `${path}.path`, file.path);
  if (file.fieldRef !== undefined) {
    checkFieldRef(out, `${path}.fieldRef`, file.fieldRef, volumeFields);
    if (file.resourceFieldRef !== undefined) {
      out.push(invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"));
    }
  } else if (file.resourceFieldRef !== undefined) {
    checkResourceFieldRef(out, `${path}.resourceFieldRef`, file.resourceFieldRef, true);
  } else out.push(required(path, "one of fieldRef and resourceFieldRef is required"));
  checkMode(out, `${path}.mode`, file.mode);
}

/** downwardAPI. */
export function checkDownward(out: Errors, path: string, source: core.DownwardAPIVolumeSource): void {
  checkMode(out, `${path}.defaultMode`, source.defaultMode);
  for (const file of source.items ?? []) if (!isFull(out)) checkDownwardFile(out, path, file);
}

const secondsMin = 10 * 60;
const secondsMax = 2 ** 32;

/** projected: several sources in one volume, no path twice. */
export function checkProjected(out: Errors, path: string, source: core.ProjectedVolumeSource): void {
  checkMode(out, `${path}.defaultMode`, source.defaultMode);
  const paths = new Set<string>();
  const claim = (file: string, shown: string): void => {
    if (file === "") return;
    if (paths.has(file)) out.push(invalid(path, shown, "conflicting duplicate paths"));
    paths.add(file);
  };
  eachItem(out, source.sources, `${path}.sources`, (projection, at) => {
    for (const field of ["secret", "configMap"] as const) {
      const bag = projection[field];
      if (bag === undefined) continue;
      checkPresent(out, `${at}.${field}.name`, bag.name);
      checkItems(out, `${at}.${field}`, bag.items);
      for (const item of bag.items ?? []) if (!isFull(out)) claim(item.path, bag.name ?? "");
    }
    for (const file of projection.downwardAPI?.items ?? []) {
      if (isFull(out)) return;
      checkDownwardFile(out, `${at}.downwardAPI`, file);
      claim(file.path, file.path);
    }
    checkTokenSource(out, path, `${at}.serviceAccountToken`, projection.serviceAccountToken);
    const { secret, configMap, downwardAPI, serviceAccountToken } = projection;
    const count = [secret, configMap, downwardAPI, serviceAccountToken].filter((item) => item !== undefined).length;
    if (count > 1) out.push(forbiddenField(at, "may not specify more than 1 volume type"));
  });
}

/** A missing path is reported on the volume: so upstream. */
function checkTokenSource(
  out: Errors,
  volumePath: string,
  path: string,
  token: core.ServiceAccountTokenProjection | undefined,
): void {
  if (token === undefined) return;
  const seconds = token.expirationSeconds ?? 0;
  if (seconds < secondsMin) {
    out.push(invalid(`${path}.expirationSeconds`, seconds, "may not specify a duration less than 10 minutes"));
  }
  if (seconds > secondsMax) {
    out.push(invalid(`${path}.expirationSeconds`, seconds, "may not specify a duration larger than 2^32 seconds"));
  }
  checkPresent(out, `${volumePath}.path`, token.path);
}
