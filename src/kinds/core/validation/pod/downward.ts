// References from a pod to its own fields and resources: in environment variables and in downward API volumes.
import { invalid, notSupported, required } from "../../../../api/fielderror.ts";
import type { ObjectFieldSelector, ResourceFieldSelector } from "../../../../api/gen/core/v1.ts";
import { compareAmounts } from "../../../validation/amounts.ts";
import { checkQualifiedName, type Errors, empty } from "../../../validation/check.ts";

/** Fields an environment variable may show, sorted as messages list them. */
export const environmentFields = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.podIP",
  "status.podIPs",
] as const;

/** Fields a downward API volume may show. */
export const volumeFields = [
  "metadata.annotations",
  "metadata.labels",
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
] as const;

/** Labels of a pod's fields known at all; others are not even converted. */
const knownFields: ReadonlySet<string> = new Set([
  ...environmentFields,
  ...volumeFields,
  "spec.restartPolicy",
  "spec.schedulerName",
  "status.phase",
]);
const subscripted = new Set(["metadata.annotations", "metadata.labels"]);

const resourceFields = [
  "limits.cpu",
  "limits.ephemeral-storage",
  "limits.memory",
  "requests.cpu",
  "requests.ephemeral-storage",
  "requests.memory",
];
const pages = ["limits.hugepages-", "requests.hugepages-"];
const cpuDivisors = ["1m", "1"];
const byteDivisors = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/** A reference to a field of the pod, one of `supported`. */
export function checkFieldRef(out: Errors, path: string, ref: ObjectFieldSelector, supported: readonly string[]): void {
  if (empty(ref.apiVersion)) {
    out.push(required(`${path}.apiVersion`));
    return;
  }
  if (ref.fieldPath === "") {
    out.push(required(`${path}.fieldPath`));
    return;
  }
  const split = splitSubscript(ref.fieldPath);
  const unknown = conversionFault(ref.apiVersion, ref.fieldPath, split?.field);
  if (unknown !== undefined) {
    out.push(invalid(`${path}.fieldPath`, ref.fieldPath, `error converting fieldPath: ${unknown}`));
  } else if (split !== undefined) {
    const key = split.field === "metadata.annotations" ? split.key.toLowerCase() : split.key;
    checkQualifiedName(out, path, key);
  } else {
    const field = ref.fieldPath === "spec.host" ? "spec.nodeName" : ref.fieldPath;
    if (!supported.includes(field)) out.push(notSupported(`${path}.fieldPath`, field, supported));
  }
}

function conversionFault(apiVersion: string, label: string, field: string | undefined): string | undefined {
  if (apiVersion !== "v1") return `unsupported pod version: ${apiVersion}`;
  if (field !== undefined) {
    return subscripted.has(field) ? undefined : `field label does not support subscript: ${label}`;
  }
  return knownFields.has(label) || label === "spec.host" ? undefined : `field label not supported: ${label}`;
}

/** `metadata.labels['key']` in its two parts. */
function splitSubscript(label: string): { readonly field: string; readonly key: string } | undefined {
  const open = label.indexOf("['");
  if (open <= 0 || !label.endsWith("']")) return undefined;
  return { field: label.slice(0, open), key: label.slice(open + 2, -2) };
}

/** A reference to a resource of a container; a volume must say which container. */
export function checkResourceFieldRef(out: Errors, path: string, ref: ResourceFieldSelector, inVolume: boolean): void {
  if (inVolume && empty(ref.containerName)) out.push(required(`${path}.containerName`));
  else if (ref.resource === "") out.push(required(`${path}.resource`));
  else if (!resourceFields.includes(ref.resource) && !pages.some((prefix) => ref.resource.startsWith(prefix))) {
    out.push(notSupported(`${path}.resource`, ref.resource, resourceFields));
  }
  checkDivisor(out, `${path}.divisor`, ref.resource, ref.divisor);
}

function checkDivisor(out: Errors, path: string, resource: string, divisor: string): void {
  if (compareAmounts(divisor, "0") === 0) return;
  const wrong = (allowed: readonly string[], what: string): void => {
    if (allowed.includes(divisor)) return;
    const list = allowed === cpuDivisors ? "1m and 1" : byteDivisors.join(", ");
    out.push(invalid(path, resource, `only divisor's values ${list} are supported with the ${what} resource`));
  };
  const name = resource.slice(resource.indexOf(".") + 1);
  if (!resourceFields.includes(resource) && !pages.some((prefix) => resource.startsWith(prefix))) return;
  if (name === "cpu") wrong(cpuDivisors, "cpu");
  else if (name === "memory") wrong(byteDivisors, "memory");
  else if (name === "ephemeral-storage") wrong(byteDivisors, "local ephemeral storage");
  else wrong(byteDivisors, "hugepages");
}
