// Kinds that say how others are treated: ingresses, network policies, disruption budgets, flow control, autoscalers,
// leases, webhooks, and the extensions of the API itself.
import type { MutatingWebhookConfiguration } from "../api/gen/admissionregistration/v1.ts";
import type { CustomResourceDefinition } from "../api/gen/apiextensions/v1.ts";
import type { APIService } from "../api/gen/apiregistration/v1.ts";
import type { HorizontalPodAutoscaler as V1 } from "../api/gen/autoscaling/v1.ts";
import type { HorizontalPodAutoscaler } from "../api/gen/autoscaling/v2.ts";
import type { HorizontalPodAutoscaler as V2beta1 } from "../api/gen/autoscaling/v2beta1.ts";
import type { Lease } from "../api/gen/coordination/v1.ts";
import type { FlowSchema, PriorityLevelConfiguration } from "../api/gen/flowcontrol/v1beta2.ts";
import type { Ingress, IngressClass, NetworkPolicy } from "../api/gen/networking/v1.ts";
import type { RuntimeClass } from "../api/gen/node/v1.ts";
import type { RuntimeClass as OldRuntimeClass } from "../api/gen/node/v1alpha1.ts";
import type { PodDisruptionBudget } from "../api/gen/policy/v1.ts";
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { autoscalerCarriers, autoscalerConversions } from "./conversions/autoscaling.ts";
import { runtimeClassFromOld } from "./conversions/others.ts";
import { strategyFor } from "./generic.ts";
import type { Strategy, StrategyContext } from "./strategy.ts";
import { validateWebhooks } from "./validation/admissionregistration.ts";
import { validateAutoscaler, validateAutoscalerStatus } from "./validation/autoscaling.ts";
import {
  validateDefinition,
  validateDefinitionStatusUpdate,
  validateDefinitionUpdate,
} from "./validation/definition.ts";
import { validateFlowSchema, validatePriorityLevel } from "./validation/flowcontrol.ts";
import {
  validateIngress,
  validateIngressClass,
  validateIngressClassUpdate,
  validateIngressStatusUpdate,
  validateIngressUpdate,
  validateNetworkPolicy,
} from "./validation/networking.ts";
import { validateDisruptionBudget, validateDisruptionBudgetStatus } from "./validation/policy.ts";
import {
  validateApiService,
  validateLease,
  validateRuntimeClass,
  validateRuntimeClassUpdate,
} from "./validation/registration.ts";

/** Ingresses. */
export function ingressStrategy(resource: Resource): Strategy<Ingress> {
  return strategyFor<Ingress>(resource, {
    counts: ["spec"],
    validate: validateIngress,
    validateUpdate: validateIngressUpdate,
    validateStatus: validateIngressStatusUpdate,
  });
}

/** Ingress classes. */
export function ingressClassStrategy(resource: Resource): Strategy<IngressClass> {
  return strategyFor<IngressClass>(resource, {
    counts: ["spec"],
    validate: validateIngressClass,
    validateUpdate: validateIngressClassUpdate,
  });
}

/** Network policies. */
export function networkPolicyStrategy(resource: Resource): Strategy<NetworkPolicy> {
  return strategyFor<NetworkPolicy>(resource, {
    counts: ["spec"],
    validate: validateNetworkPolicy,
    validateUpdate(object) {
      const errors = validateNetworkPolicy(object);
      return [...errors, ...errors];
    },
  });
}

/** Disruption budgets. */
export function disruptionBudgetStrategy(resource: Resource): Strategy<PodDisruptionBudget> {
  return strategyFor<PodDisruptionBudget>(resource, {
    counts: ["spec"],
    allowUnconditionalUpdate: false,
    validate: validateDisruptionBudget,
    validateUpdate: validateDisruptionBudget,
    validateStatus: validateDisruptionBudgetStatus,
  });
}

/** Flow schemas. */
export function flowSchemaStrategy(resource: Resource): Strategy<FlowSchema> {
  return strategyFor<FlowSchema>(resource, {
    counts: ["spec"],
    keepsMetaOnStatus: true,
    validate: validateFlowSchema,
    validateUpdate: validateFlowSchema,
  });
}

/** Priority levels. */
export function priorityLevelStrategy(resource: Resource): Strategy<PriorityLevelConfiguration> {
  return strategyFor<PriorityLevelConfiguration>(resource, {
    counts: ["spec"],
    keepsMetaOnStatus: true,
    validate: validatePriorityLevel,
    validateUpdate: validatePriorityLevel,
  });
}

/** Runtime classes, in every version; rules are those of the shape without a spec. */
export function runtimeClassStrategy(resource: Resource): Strategy<ApiObject> {
  const flat = (object: ApiObject): RuntimeClass =>
    "spec" in object ? runtimeClassFromOld(object as OldRuntimeClass) : (object as RuntimeClass);
  return strategyFor<ApiObject>(resource, {
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: false,
    validate: (object) => validateRuntimeClass(flat(object)),
    validateUpdate: (object, old) => validateRuntimeClassUpdate(flat(object), flat(old)),
  });
}

/**
 * Autoscalers, in every version; rules are those of v2, and what a version says is what it says by way of v2. Metrics of
 * single containers are behind a gate.
 */
export function autoscalerStrategy(resource: Resource, identity: Identity): Strategy<ApiObject> {
  const { fromV1, toV1, fromV2beta1, toV2beta1 } = autoscalerConversions(identity);
  const carriers = autoscalerCarriers(identity);
  const hub = (object: ApiObject): HorizontalPodAutoscaler => {
    // A conversion uses up what it is given, and it takes annotations away.
    const { annotations } = object.metadata;
    const copy = { ...object, metadata: { ...object.metadata, annotations: annotations && new Map(annotations) } };
    if (resource.version === "v1") return fromV1(copy as V1);
    return resource.version === "v2beta1" ? fromV2beta1(copy as V2beta1) : (object as HorizontalPodAutoscaler);
  };
  const drop = ({ gates }: StrategyContext, object: ApiObject, old: ApiObject | undefined) => {
    if (gates.has("HPAContainerMetrics")) return;
    const metricsOf = (of: ApiObject | undefined) => (of as HorizontalPodAutoscaler | undefined)?.spec.metrics ?? [];
    if (metricsOf(old).some((metric) => metric.containerResource !== undefined)) return;
    for (const metric of metricsOf(object)) metric.containerResource = undefined;
  };
  return strategyFor<ApiObject>(resource, {
    carriers,
    canonicalize(object) {
      if (resource.version === "v1") Object.assign(object, toV1(fromV1(object as V1)));
      else if (resource.version === "v2beta1") Object.assign(object, toV2beta1(fromV2beta1(object as V2beta1)));
      else dropAnnotations(object, carriers);
    },
    prepareForCreate: (context, object) => drop(context, object, undefined),
    prepareForUpdate: (context, object, old) => drop(context, object, old),
    validate: (object, { gates }) => validateAutoscaler(hub(object), gates.has("HPAScaleToZero")),
    validateUpdate: (object, old, { gates }) =>
      validateAutoscaler(hub(object), gates.has("HPAScaleToZero") || hub(old).spec.minReplicas === 0),
    validateStatus: (object) => validateAutoscalerStatus(hub(object)),
  });
}

function dropAnnotations({ metadata }: ApiObject, keys: readonly string[]): void {
  for (const key of keys) metadata.annotations?.delete(key);
  if (metadata.annotations?.size === 0) delete metadata.annotations;
}

/** Leases: every renewal names the version it renews. */
export function leaseStrategy(resource: Resource): Strategy<Lease> {
  return strategyFor<Lease>(resource, {
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: false,
    validate: validateLease,
    validateUpdate: validateLease,
  });
}

/** Webhook configurations, mutating and validating. */
export function webhookConfigurationStrategy(resource: Resource): Strategy<MutatingWebhookConfiguration> {
  return strategyFor<MutatingWebhookConfiguration>(resource, {
    counts: ["webhooks"],
    allowUnconditionalUpdate: false,
    validate: validateWebhooks,
    validateUpdate: validateWebhooks,
  });
}

/** Definitions of custom resources: every version ever stored is remembered. */
export function definitionStrategy(resource: Resource): Strategy<CustomResourceDefinition> {
  const storeds = ({ spec }: CustomResourceDefinition) =>
    (spec.versions ?? []).filter((version) => version.storage).map((version) => version.name);
  return strategyFor<CustomResourceDefinition>(resource, {
    counts: ["spec"],
    nameFormat: "dns1123-subdomain",
    allowUnconditionalUpdate: false,
    validate: validateDefinition,
    validateUpdate: validateDefinitionUpdate,
    validateStatus: validateDefinitionStatusUpdate,
    prepareForCreate(_context, definition) {
      definition.status.storedVersions = storeds(definition).slice(0, 1);
    },
    prepareForUpdate(_context, definition) {
      const known = definition.status.storedVersions ?? [];
      const names = new Set(known);
      const added = storeds(definition).filter((name) => !names.has(name));
      if (added.length > 0) definition.status = { ...definition.status, storedVersions: [...known, ...added] };
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
    validate: validateApiService,
    validateUpdate: validateApiService,
  });
}
