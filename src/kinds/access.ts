// Roles and bindings, pod security policies, priority and runtime classes, certificate signing requests.

import type { FieldError } from "../api/fielderror.ts";
import type { CertificateSigningRequest, CertificateSigningRequestCondition } from "../api/gen/certificates/v1.ts";
import type { PodSecurityPolicy } from "../api/gen/policy/v1beta1.ts";
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "../api/gen/rbac/v1.ts";
import type { PriorityClass } from "../api/gen/scheduling/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { forbidden } from "../api/status.ts";
import { type Rules, strategyFor } from "./generic.ts";
import type { Strategy, StrategyContext, UpdateStrategy } from "./strategy.ts";
import { validateSigningRequest, validateSigningRequestUpdate } from "./validation/certificates.ts";
import { validatePodSecurityPolicy } from "./validation/policy.ts";
import {
  validateClusterRole,
  validateClusterRoleBinding,
  validateClusterRoleBindingUpdate,
  validateRole,
  validateRoleBinding,
  validateRoleBindingUpdate,
} from "./validation/rbac.ts";
import { isSystemClass, validatePriorityClass, validatePriorityClassUpdate } from "./validation/scheduling.ts";

/** Names of roles and bindings hold colons, and a PUT creates them. */
function named<T extends ApiObject>(rules: Rules<T>): Rules<T> {
  return { nameFormat: "path-segment", allowCreateOnUpdate: true, ...rules };
}

/** Upstream runs the rules of roles and bindings twice on a change, and tells of every fault as often. */
function twice<T>(rules: (object: T, context: StrategyContext) => FieldError[]) {
  return (object: T, _old: T, context: StrategyContext): FieldError[] => {
    const errors = rules(object, context);
    return [...errors, ...errors];
  };
}

/** Roles. */
export function roleStrategy(resource: Resource): Strategy<Role> {
  return strategyFor<Role>(resource, named({ validate: validateRole, validateUpdate: twice(validateRole) }));
}

/** Cluster roles. */
export function clusterRoleStrategy(resource: Resource): Strategy<ClusterRole> {
  return strategyFor<ClusterRole>(
    resource,
    named({ validate: validateClusterRole, validateUpdate: twice(validateClusterRole) }),
  );
}

/** Role bindings. */
export function roleBindingStrategy(resource: Resource): Strategy<RoleBinding> {
  return strategyFor<RoleBinding>(
    resource,
    named({ validate: validateRoleBinding, validateUpdate: validateRoleBindingUpdate }),
  );
}

/** Cluster role bindings. */
export function clusterRoleBindingStrategy(resource: Resource): Strategy<ClusterRoleBinding> {
  return strategyFor<ClusterRoleBinding>(
    resource,
    named({ validate: validateClusterRoleBinding, validateUpdate: validateClusterRoleBindingUpdate }),
  );
}

/** Pod security policies. */
export function podSecurityPolicyStrategy(resource: Resource): Strategy<PodSecurityPolicy> {
  return strategyFor<PodSecurityPolicy>(resource, {
    returnsDeletedObject: true,
    validate: validatePodSecurityPolicy,
    validateUpdate: validatePodSecurityPolicy,
  });
}

/** Priority classes. */
export function priorityClassStrategy(resource: Resource): Strategy<PriorityClass> {
  const strategy = strategyFor<PriorityClass>(resource, {
    counts: [],
    validate: validatePriorityClass,
    validateUpdate: validatePriorityClassUpdate,
  });
  return {
    ...strategy,
    checkDelete(_context, { metadata }) {
      const name = metadata.name ?? "";
      return isSystemClass(name)
        ? forbidden(resource, name, "this is a system priority class and cannot be deleted")
        : undefined;
    },
  };
}

/** Signing requests: who asks is what the server saw, and nobody approves or signs by the way. */
export function signingRequestStrategy(resource: Resource): Strategy<CertificateSigningRequest> {
  return strategyFor<CertificateSigningRequest>(resource, {
    nameFormat: "path-segment",
    prepareForCreate({ user, gates }, request) {
      if (!gates.has("CSRDuration")) request.spec.expirationSeconds = undefined;
      request.spec = {
        ...request.spec,
        username: user.name,
        uid: user.uid,
        groups: user.groups.length > 0 ? [...user.groups] : undefined,
        extra: user.extra.size > 0 ? new Map([...user.extra].map(([key, values]) => [key, [...values]])) : undefined,
      };
    },
    prepareForUpdate(_context, request, old) {
      request.spec = old.spec;
    },
    prepareForStatus(context, request, old) {
      keepDecisions(request, old);
      fillTimes(context, request, old);
    },
    validate: validateSigningRequest,
    validateUpdate: (request, old) => validateSigningRequestUpdate(request, old, "request"),
    validateStatus: (request, old) => validateSigningRequestUpdate(request, old, "status"),
    subresources: new Map([["approval", approval]]),
    selectableFields: ({ spec }) => [["spec.signerName", spec.signerName]],
    fieldLabels: ["spec.signerName"],
  });
}

const approval: UpdateStrategy<CertificateSigningRequest> = {
  prepare(context, request, old) {
    request.spec = old.spec;
    request.status = { ...old.status, conditions: request.status.conditions };
    fillTimes(context, request, old);
  },
  validate: (_context, request, old) => validateSigningRequestUpdate(request, old, "approval"),
};

/** Decisions come in through the approval subresource; a status write that has as many of them leaves them as stored. */
function keepDecisions({ status }: CertificateSigningRequest, old: CertificateSigningRequest): void {
  for (const type of ["Approved", "Denied"]) {
    const stored = old.status.conditions?.filter((condition) => condition.type === type) ?? [];
    const sent = status.conditions?.filter((condition) => condition.type === type) ?? [];
    if (stored.length !== sent.length) continue;
    let next = 0;
    status.conditions = status.conditions?.map((c) => (c.type === type ? (stored[next++] ?? c) : c));
  }
}

/** Times a client leaves out are now; the time of a transition stays while the condition's status does. */
function fillTimes(
  { now }: StrategyContext,
  { status }: CertificateSigningRequest,
  old: CertificateSigningRequest,
): void {
  const known = new Map(
    old.status.conditions?.map((condition) => [`${condition.type}\n${condition.status}`, condition]),
  );
  status.conditions = status.conditions?.map((condition): CertificateSigningRequestCondition => {
    const same = known.get(`${condition.type}\n${condition.status}`);
    return {
      ...condition,
      lastUpdateTime: condition.lastUpdateTime ?? now,
      lastTransitionTime: condition.lastTransitionTime ?? same?.lastTransitionTime ?? now,
    };
  });
}
