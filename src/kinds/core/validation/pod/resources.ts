// Names and amounts of resources: what containers, quotas and limit ranges may name, and how requests and limits
// relate. A name is native (no prefix, or one of the API's own domain), or an extended resource with another domain.
import { type FieldError, forbiddenField, invalid, required } from "../../../../api/fielderror.ts";
import type { ResourceRequirements } from "../../../../api/gen/core/v1.ts";
import { isQualifiedName, nonNegativeMessage } from "../../../formats.ts";
import {
  compareAmounts,
  goQuantity,
  isNegativeAmount,
  isPositiveAmount,
  isWholeAmount,
  wholeUnits,
} from "../../../validation/amounts.ts";
import { type Errors, faults, isFull } from "../../../validation/check.ts";
import type { Names } from "../../../validation/names.ts";

/** Resources by name: canonical quantities. */
export type ResourceList = ReadonlyMap<string, string>;

const compute = ["cpu", "memory", "ephemeral-storage"];
const counted = [
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
];
const containerNames = new Set(compute);
const countedNames = new Set(counted);
const quotaNames = new Set([
  ...compute,
  ...compute.map((name) => `requests.${name}`),
  ...compute.map((name) => `limits.${name}`),
  "requests.storage",
  ...counted,
]);
const standardNames = new Set([...quotaNames, "storage"]);
const hugePrefix = "hugepages-";

/** Requests of huge pages. */
export function isHugePages(name: string): boolean {
  return name.startsWith(hugePrefix);
}

function isQuotaHugePages(name: string): boolean {
  return name.startsWith(hugePrefix) || name.startsWith(`requests.${hugePrefix}`);
}

/** A resource of the API itself: without a prefix, or with one of its domain. */
export function isNative(name: string, names: Names): boolean {
  return !name.includes("/") || name.includes(names.nativePrefix);
}

/** Resources more of which may be requested than there are: native ones but huge pages. */
export function mayOvercommit(name: string, names: Names): boolean {
  return isNative(name, names) && !isHugePages(name);
}

/** An extended resource: prefixed, and fit to be requested in a quota. */
export function isExtended(name: string, names: Names): boolean {
  if (isNative(name, names) || name.startsWith("requests.")) return false;
  return isQualifiedName(`requests.${name}`).length === 0;
}

/** A name quotas know without a prefix. */
export function isQuotaResource(name: string): boolean {
  return quotaNames.has(name) || isQuotaHugePages(name);
}

/** Rules of any resource name. False when it is not even a qualified name. */
export function checkResourceName(out: Errors, path: string, name: string): void {
  const wrong = isQualifiedName(name);
  faults(out, path, name, wrong);
  if (wrong.length > 0 || name.includes("/")) return;
  if (!standardNames.has(name) && !isQuotaHugePages(name)) {
    out.push(invalid(path, name, "must be a standard resource type or fully qualified"));
  }
}

/** Rules of a resource a container may ask for. */
export function checkContainerResourceName(out: Errors, path: string, name: string, names: Names): void {
  checkResourceName(out, path, name);
  if (!name.includes("/")) {
    if (!containerNames.has(name) && !isHugePages(name)) {
      out.push(invalid(path, name, "must be a standard resource for containers"));
    }
  } else if (!isNative(name, names) && !isExtended(name, names)) {
    out.push(invalid(path, name, "doesn't follow extended resource name standard"));
  }
}

/** Rules of a resource a quota may limit. */
export function checkQuotaResourceName(out: Errors, path: string, name: string): void {
  checkResourceName(out, path, name);
  if (!name.includes("/") && !isQuotaResource(name)) {
    out.push(invalid(path, name, "must be a standard resource for quota"));
  }
}

/** Rules of an amount: not negative, and whole for what is counted. */
export function checkResourceAmount(out: Errors, path: string, name: string, amount: string, names: Names): void {
  if (isNegativeAmount(amount)) out.push(invalid(path, amount, nonNegativeMessage));
  if ((countedNames.has(name) || isExtended(name, names)) && !isWholeAmount(amount)) {
    out.push(invalid(path, goQuantity(amount), "must be an integer"));
  }
}

/** An amount that is at least not negative (capacities of volumes). */
export function checkBasicAmount(out: Errors, path: string, amount: string): void {
  if (isNegativeAmount(amount)) out.push(invalid(path, wholeUnits(amount), "must be a valid resource quantity"));
}

/** Rules of the resources of a container. `indivisible`: huge pages need not be a multiple of their page. */
export function checkResources(
  out: Errors,
  path: string,
  resources: ResourceRequirements,
  names: Names,
  indivisible: boolean,
): void {
  const { limits, requests } = resources;
  if (limits === undefined && requests === undefined) return;
  const seen = { compute: false, huge: false };
  for (const [name, amount] of limits ?? []) {
    if (isFull(out)) return;
    checkEntry(out, `${path}.limits[${name}]`, name, amount, names);
    checkPages(out, `${path}.limits[${name}]`, name, amount, indivisible);
    note(seen, name);
  }
  for (const [name, amount] of requests ?? []) {
    if (isFull(out)) return;
    checkEntry(out, `${path}.requests[${name}]`, name, amount, names);
    const fault = requestFault(path, name, amount, limits?.get(name), names);
    if (fault !== undefined) out.push(fault);
    checkPages(out, `${path}.requests[${name}]`, name, amount, indivisible);
    note(seen, name);
  }
  if (seen.huge && !seen.compute) out.push(forbiddenField(path, "HugePages require cpu or memory"));
}

function note(seen: { compute: boolean; huge: boolean }, name: string): void {
  if (name === "cpu" || name === "memory") seen.compute = true;
  if (isHugePages(name)) seen.huge = true;
}

function checkEntry(out: Errors, path: string, name: string, amount: string, names: Names): void {
  if (containerNames.has(name)) {
    if (isNegativeAmount(amount)) out.push(invalid(path, amount, nonNegativeMessage));
    return;
  }
  checkContainerResourceName(out, path, name, names);
  checkResourceAmount(out, path, name, amount, names);
}

function requestFault(
  path: string,
  name: string,
  amount: string,
  limit: string | undefined,
  names: Names,
): FieldError | undefined {
  const overcommit = mayOvercommit(name, names);
  if (limit === undefined) {
    return overcommit ? undefined : required(`${path}.limits`, "Limit must be set for non overcommitable resources");
  }
  const order = compareAmounts(amount, limit);
  if (order !== 0 && !overcommit) return invalid(`${path}.requests`, amount, `must be equal to ${name} limit`);
  if (order > 0) return invalid(`${path}.requests`, amount, `must be less than or equal to ${name} limit`);
  return undefined;
}

function checkPages(out: Errors, path: string, name: string, amount: string, indivisible: boolean): void {
  if (indivisible || !isHugePages(name) || isDivisible(name, amount)) return;
  out.push(invalid(path, amount, `${amount} is not positive integer multiple of ${name}`));
}

/** True when huge pages of an amount fill their pages, whose size is in the name. */
export function isDivisible(name: string, amount: string): boolean {
  const size = name.slice(hugePrefix.length);
  if (!isPositiveAmount(size) || !isWholeAmount(size)) return false;
  return wholeUnits(amount) % wholeUnits(size) === 0n;
}
