// APIService: which server answers for a group version.
import { type FieldError, invalid, required } from "../../api/fielderror.ts";
import type { APIService, APIServiceCondition } from "../../api/gen/apiregistration/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, nameColumn } from "../columns.ts";
import { isDns1035Label, isDns1123Subdomain, isPortNumber } from "../formats.ts";
import { strategyFor } from "../generic.ts";
import { specAndMetadata } from "../resetfields.ts";
import type { Strategy } from "../strategy.ts";
import { type Errors, empty, faults } from "../validation/check.ts";

/** Group (canonical), version and resource of APIServices. */
export const apiServicesKind = ["apiregistration.k8s.io", "v1", "apiservices"] as const;

/** The label that says that a server keeps an APIService; canonical spelling. */
export const managedLabel = "kube-aggregator.kubernetes.io/automanaged";

/** Type of the condition that says whether a group version can be reached. */
export const available = "Available";

/** What it says of one that is served here, but for its time. */
export const localCondition = {
  type: available,
  status: "True",
  reason: "Local",
  message: "Local APIServices are always available",
};

/** That condition, where there is one. */
export function conditionOf({ conditions }: APIService["status"]): APIServiceCondition | undefined {
  return conditions?.find(({ type }) => type === available);
}

/** Behaviour of registrations of API groups. */
export function apiServiceBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: apiServiceStrategy(resource),
    columns: apiServiceColumns(),
    resetFields: specAndMetadata,
    metaRules: { update: [1, 1], anyFinalizer: true },
  };
}

/** Registrations of API groups; one that names no service is served here and so is always available. */
function apiServiceStrategy(resource: Resource): Strategy<APIService> {
  return strategyFor<APIService>(resource, {
    nameFormat: "path-segment",
    allowUnconditionalUpdate: false,
    prepareForCreate({ now }, registration) {
      if (registration.spec.service !== undefined) return;
      const { type, status, reason, message } = localCondition;
      registration.status = { conditions: [{ type, status, lastTransitionTime: now, reason, message }] };
    },
    prepareForStatus(_context, { metadata }, old) {
      metadata.labels = old.metadata.labels;
      metadata.annotations = old.metadata.annotations;
      metadata.finalizers = old.metadata.finalizers;
      metadata.ownerReferences = old.metadata.ownerReferences;
    },
    validate: validateApiService,
    validateUpdate: validateApiService,
  });
}

/** Columns of API services. */
function apiServiceColumns(): Columns<APIService> {
  return {
    columns: [
      nameColumn,
      column("Service", "Who serves the group version", ({ spec: { service } }) =>
        service === undefined ? "Local" : `${service.namespace ?? ""}/${service.name ?? ""}`,
      ),
      column("Available", "Whether it can be reached", ({ status }) => {
        const condition = conditionOf(status);
        if (condition === undefined) return "Unknown";
        if (condition.status === "True" || !condition.reason) return condition.status;
        return `${condition.status} (${condition.reason})`;
      }),
      ageColumn,
    ],
    repeatsHeaders: true,
  };
}

const groupPriorityMax = 20_000;
const versionPriorityMax = 1000;

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
