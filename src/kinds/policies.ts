// Kinds that say how others are treated: ingresses, network policies, disruption budgets, flow control, autoscalers,
// leases, webhooks, and the extensions of the API itself.
import type { MutatingWebhookConfiguration } from "../api/gen/admissionregistration_v1.ts";
import type { CustomResourceDefinition } from "../api/gen/apiextensions_v1.ts";
import type { APIService } from "../api/gen/apiregistration_v1.ts";
import type { HorizontalPodAutoscaler } from "../api/gen/autoscaling_v2.ts";
import type { Lease } from "../api/gen/coordination_v1.ts";
import type { FlowSchema, PriorityLevelConfiguration } from "../api/gen/flowcontrol_v1beta2.ts";
import type { Ingress, IngressClass, NetworkPolicy } from "../api/gen/networking_v1.ts";
import type { RuntimeClass } from "../api/gen/node_v1.ts";
import type { PodDisruptionBudget } from "../api/gen/policy_v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { strategyFor } from "./generic.ts";
import type { Strategy } from "./strategy.ts";

/** Ingresses. */
export function ingressStrategy(resource: Resource): Strategy<Ingress> {
  return strategyFor<Ingress>(resource, { counts: ["spec"] });
}

/** Ingress classes. */
export function ingressClassStrategy(resource: Resource): Strategy<IngressClass> {
  return strategyFor<IngressClass>(resource, { counts: ["spec"] });
}

/** Network policies. */
export function networkPolicyStrategy(resource: Resource): Strategy<NetworkPolicy> {
  return strategyFor<NetworkPolicy>(resource, { counts: ["spec"] });
}

/** Disruption budgets. */
export function disruptionBudgetStrategy(resource: Resource): Strategy<PodDisruptionBudget> {
  return strategyFor<PodDisruptionBudget>(resource, { counts: ["spec"], allowUnconditionalUpdate: false });
}

/** Flow schemas. */
export function flowSchemaStrategy(resource: Resource): Strategy<FlowSchema> {
  return strategyFor<FlowSchema>(resource, { counts: ["spec"], keepsMetaOnStatus: true });
}

/** Priority levels. */
export function priorityLevelStrategy(resource: Resource): Strategy<PriorityLevelConfiguration> {
  return strategyFor<PriorityLevelConfiguration>(resource, { counts: ["spec"], keepsMetaOnStatus: true });
}

/** Runtime classes, in every version. */
export function runtimeClassStrategy(resource: Resource): Strategy<RuntimeClass> {
  return strategyFor<RuntimeClass>(resource, { allowCreateOnUpdate: true, allowUnconditionalUpdate: false });
}

/** Autoscalers, in every version: metrics of single containers are switched off (gate HPAContainerMetrics). */
export function autoscalerStrategy(resource: Resource): Strategy<ApiObject> {
  const drop = (object: ApiObject, old: ApiObject | undefined) => {
    const metricsOf = (of: ApiObject | undefined) => (of as HorizontalPodAutoscaler | undefined)?.spec.metrics ?? [];
    if (metricsOf(old).some((metric) => metric.containerResource !== undefined)) return;
    for (const metric of metricsOf(object)) metric.containerResource = undefined;
  };
  return strategyFor<ApiObject>(resource, {
    prepareForCreate: (_context, object) => drop(object, undefined),
    prepareForUpdate: (_context, object, old) => drop(object, old),
  });
}

/** Leases: every renewal names the version it renews. */
export function leaseStrategy(resource: Resource): Strategy<Lease> {
  return strategyFor<Lease>(resource, { allowCreateOnUpdate: true, allowUnconditionalUpdate: false });
}

/** Webhook configurations, mutating and validating. */
export function webhookConfigurationStrategy(resource: Resource): Strategy<MutatingWebhookConfiguration> {
  return strategyFor<MutatingWebhookConfiguration>(resource, { counts: ["webhooks"], allowUnconditionalUpdate: false });
}

/** Definitions of custom resources: every version ever stored is remembered. */
export function definitionStrategy(resource: Resource): Strategy<CustomResourceDefinition> {
  const storeds = ({ spec }: CustomResourceDefinition) =>
    (spec.versions ?? []).filter((version) => version.storage).map((version) => version.name);
  return strategyFor<CustomResourceDefinition>(resource, {
    counts: ["spec"],
    nameFormat: "dns1123-subdomain",
    allowUnconditionalUpdate: false,
    prepareForCreate(_context, definition) {
      definition.status.storedVersions = storeds(definition).slice(0, 1);
    },
    prepareForUpdate(_context, definition) {
      const known = definition.status.storedVersions ?? [];
      const added = storeds(definition).filter((name) => !known.includes(name));
      definition.status = { ...definition.status, storedVersions: [...known, ...added] };
    },
  });
}

/** Registrations of API groups; one that names no service is served here and so is always available. */
export function apiServiceStrategy(resource: Resource): Strategy<APIService> {
  return strategyFor<APIService>(resource, {
    nameFormat: "path-segment",
    allowUnconditionalUpdate: false,
    prepareForCreate({ now }, registration) {
      if (registration.spec.service !== undefined) return;
      const message = "Local APIServices are always available";
      const condition = { type: "Available", status: "True", lastTransitionTime: now, reason: "Local", message };
      registration.status = { conditions: [condition] };
    },
    prepareForStatus(_context, { metadata }, old) {
      metadata.labels = old.metadata.labels;
      metadata.annotations = old.metadata.annotations;
      metadata.finalizers = old.metadata.finalizers;
      metadata.ownerReferences = old.metadata.ownerReferences;
    },
  });
}
