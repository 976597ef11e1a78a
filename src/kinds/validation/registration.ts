// Runtime classes, leases and registrations of API groups.
import { at, duplicate, type FieldError, invalid, required } from "../../api/fielderror.ts";
import type { APIService } from "../../api/gen/apiregistration/v1.ts";
import type { Lease } from "../../api/gen/coordination/v1.ts";
import type { RuntimeClass } from "../../api/gen/node/v1.ts";
import {
  immutableMessage,
  isDns1035Label,
  isDns1123Label,
  isDns1123Subdomain,
  isPortNumber,
  isQualifiedName,
} from "../formats.ts";
import { isNegativeAmount } from "./amounts.ts";
import { checkLabels, type Errors, eachItem, empty, faults } from "./check.ts";

const groupPriorityMax = 20_000;
const versionPriorityMax = 1000;

/** Rules of a new runtime class; those of the handler are the same in every version. */
export function validateRuntimeClass({ handler, overhead, scheduling }: RuntimeClass): FieldError[] {
  const out: Errors = [];
  faults(out, "handler", handler, isDns1123Label(handler));
  for (const [name, amount] of overhead?.podFixed ?? []) {
    const path = at("overhead.limits", name);
    faults(out, path, name, isQualifiedName(name));
    if (isNegativeAmount(amount)) out.push(invalid(path, amount, "must be greater than or equal to 0"));
  }
  checkLabels(out, "scheduling.nodeSelector", scheduling?.nodeSelector);
  const seen = new Set<string>();
  eachItem(out, scheduling?.tolerations, "scheduling.tolerations", (toleration, path) => {
    const key = [toleration.key, toleration.operator, toleration.value, toleration.effect].join("\n");
    if (seen.has(key)) out.push(duplicate(path, toleration));
    seen.add(key);
  });
  return out;
}

/** Rules of a changed runtime class. */
export function validateRuntimeClassUpdate(object: RuntimeClass, old: RuntimeClass): FieldError[] {
  return object.handler === old.handler ? [] : [invalid("handler", object.handler, immutableMessage)];
}

/** Rules of a lease, new or changed. */
export function validateLease({ spec }: Lease): FieldError[] {
  const out: Errors = [];
  if (spec.leaseDurationSeconds !== undefined && spec.leaseDurationSeconds <= 0) {
    out.push(invalid("spec.leaseDurationSeconds", spec.leaseDurationSeconds, "must be greater than 0"));
  }
  // Upstream's words.
  const { leaseTransitions = 0 } = spec;
  if (leaseTransitions < 0)
    out.push(invalid("spec.leaseTransitions", leaseTransitions, "must to greater or equal than 0"));
  return out;
}

/** Rules of a registration, new or changed. */
export function validateApiService({ metadata, spec }: APIService): FieldError[] {
  const out: Errors = [];
  const [group, version, name] = [spec.group ?? "", spec.version ?? "", metadata.name ?? ""];
  const wanted = `${version}.${group}`;
  if (name !== wanted) {
    out.push(invalid("metadata.name", name, `must be \`spec.version+"."+spec.group\`: "${wanted}"`));
  }
  if (group !== "") faults(out, "spec.group", group, isDns1123Subdomain(group));
  else if (version !== "v1") {
    out.push(required("spec.group", "only v1 may have an empty group and it better be legacy kube"));
  }
  faults(out, "spec.version", version, isDns1035Label(version));
  const { groupPriorityMinimum, versionPriority, service, caBundle, insecureSkipTLSVerify } = spec;
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > groupPriorityMax) {
    const why = `must be positive and less than ${groupPriorityMax}`;
    out.push(invalid("spec.groupPriorityMinimum", groupPriorityMinimum, why));
  }
  if (versionPriority <= 0 || versionPriority > versionPriorityMax) {
    out.push(invalid("spec.versionPriority", versionPriority, `must be positive and less than ${versionPriorityMax}`));
  }
  if (service === undefined) {
    const local = "local APIServices may not";
    if (!empty(caBundle))
      out.push(invalid("spec.caBundle", `${Buffer.from(caBundle, "base64").length} bytes`, `${local} have a caBundle`));
    if (insecureSkipTLSVerify) {
      out.push(invalid("spec.insecureSkipTLSVerify", true, `${local} have insecureSkipTLSVerify`));
    }
    return out;
  }
  if (empty(service.namespace)) out.push(required("spec.service.namespace"));
  if (empty(service.name)) out.push(required("spec.service.name"));
  for (const fault of isPortNumber(service.port ?? 443)) {
    out.push(invalid("spec.service.port", service.port, `port is not valid: ${fault}`));
  }
  if (insecureSkipTLSVerify && !empty(caBundle)) {
    out.push(invalid("spec.insecureSkipTLSVerify", true, "may not be true if caBundle is present"));
  }
  return out;
}
