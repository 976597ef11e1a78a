// Defaults of the groups that have few: admission registration, networking, policy, RBAC, storage and the rest.
import type {
  ServiceReference as AdmissionService,
  MutatingWebhook,
  Rule,
  ValidatingWebhook,
} from "../../api/gen/admissionregistration/v1.ts";
import type {
  ServiceReference as ConversionService,
  CustomResourceDefinition,
  CustomResourceDefinitionSpec,
} from "../../api/gen/apiextensions/v1.ts";
import type { ServiceReference as AggregatedService } from "../../api/gen/apiregistration/v1.ts";
import type { TokenRequestSpec } from "../../api/gen/authentication/v1.ts";
import type { EndpointPort } from "../../api/gen/discovery/v1.ts";
import type {
  FlowSchemaSpec,
  LimitedPriorityLevelConfiguration,
  QueuingConfiguration,
} from "../../api/gen/flowcontrol/v1beta2.ts";
import type { IngressClass, NetworkPolicy, NetworkPolicyPort } from "../../api/gen/networking/v1.ts";
import type { PodSecurityPolicySpec } from "../../api/gen/policy/v1beta1.ts";
import type { ClusterRoleBinding, RoleBinding, Subject } from "../../api/gen/rbac/v1.ts";
import type { PriorityClass } from "../../api/gen/scheduling/v1.ts";
import type { CSIDriver, StorageClass } from "../../api/gen/storage/v1.ts";
import type { Identity } from "../../api/identity.ts";
import { type DefaultRule, rule } from "./rule.ts";

const httpsPort = 443;
const webhookSeconds = 10;
const tokenSeconds = 3600;

/** Rules of the smaller groups. */
export function otherDefaults(identity: Identity): readonly DefaultRule[] {
  return [
    ...admissionDefaults,
    ...discoveryDefaults,
    ...flowDefaults("flowcontrol/v1beta1"),
    ...flowDefaults("flowcontrol/v1beta2"),
    ...networkingDefaults,
    ...accessDefaults(identity.spell("rbac.authorization.k8s.io")),
    ...storageDefaults,
    ...extensionDefaults,
  ];
}

const admissionDefaults: readonly DefaultRule[] = [
  rule<ValidatingWebhook>("admissionregistration/v1.ValidatingWebhook", webhookDefaults),
  rule<MutatingWebhook>("admissionregistration/v1.MutatingWebhook", (webhook) => {
    webhookDefaults(webhook);
    webhook.reinvocationPolicy ??= "Never";
  }),
  rule<Rule>("admissionregistration/v1.Rule", (of) => {
    of.scope ??= "*";
  }),
  rule<AdmissionService>("admissionregistration/v1.ServiceReference", portDefault),
];

const discoveryDefaults: readonly DefaultRule[] = ["discovery/v1", "discovery/v1beta1"].map((version) =>
  rule<EndpointPort>(`${version}.EndpointPort`, (port) => {
    port.name ??= "";
    port.protocol ??= "TCP";
  }),
);

function flowDefaults(version: string): readonly DefaultRule[] {
  return [
    rule<FlowSchemaSpec>(`${version}.FlowSchemaSpec`, (spec) => {
      spec.matchingPrecedence ||= 1000;
    }),
    rule<LimitedPriorityLevelConfiguration>(`${version}.LimitedPriorityLevelConfiguration`, (limited) => {
      limited.assuredConcurrencyShares ||= 30;
    }),
    rule<QueuingConfiguration>(`${version}.QueuingConfiguration`, (queuing) => {
      queuing.handSize ||= 8;
      queuing.queues ||= 64;
      queuing.queueLengthLimit ||= 50;
    }),
  ];
}

const networkingDefaults: readonly DefaultRule[] = [
  rule<NetworkPolicyPort>("networking/v1.NetworkPolicyPort", (port) => {
    port.protocol ??= "TCP";
  }),
  rule<NetworkPolicy>("networking/v1.NetworkPolicy", ({ spec }) => {
    if (!spec.policyTypes?.length) spec.policyTypes = spec.egress?.length ? ["Ingress", "Egress"] : ["Ingress"];
  }),
  rule<IngressClass>("networking/v1.IngressClass", ({ spec }) => {
    if (spec.parameters) spec.parameters.scope ??= "Cluster";
  }),
];

function accessDefaults(group: string): readonly DefaultRule[] {
  const roleRef = ({ roleRef }: RoleBinding | ClusterRoleBinding) => {
    if (!roleRef.apiGroup) roleRef.apiGroup = group;
  };
  return [
    rule<PodSecurityPolicySpec>("policy/v1beta1.PodSecurityPolicySpec", (spec) => {
      spec.allowPrivilegeEscalation ??= true;
    }),
    rule<TokenRequestSpec>("authentication/v1.TokenRequestSpec", (spec) => {
      spec.expirationSeconds ??= tokenSeconds;
    }),
    rule<ClusterRoleBinding>("rbac/v1.ClusterRoleBinding", roleRef),
    rule<RoleBinding>("rbac/v1.RoleBinding", roleRef),
    rule<Subject>("rbac/v1.Subject", (subject) => {
      if (!subject.apiGroup && (subject.kind === "User" || subject.kind === "Group")) subject.apiGroup = group;
    }),
    rule<PriorityClass>("scheduling/v1.PriorityClass", (priority) => {
      priority.preemptionPolicy ??= "PreemptLowerPriority";
    }),
  ];
}

const storageDefaults: readonly DefaultRule[] = [
  rule<StorageClass>("storage/v1.StorageClass", (of) => {
    of.reclaimPolicy ??= "Delete";
    of.volumeBindingMode ??= "Immediate";
  }),
  rule<CSIDriver>("storage/v1.CSIDriver", ({ spec }) => {
    spec.attachRequired ??= true;
    spec.podInfoOnMount ??= false;
    spec.storageCapacity ??= false;
    spec.fsGroupPolicy ??= "ReadWriteOnceWithFSType";
    if (!spec.volumeLifecycleModes?.length) spec.volumeLifecycleModes = ["Persistent"];
    spec.requiresRepublish ??= false;
  }),
];

const extensionDefaults: readonly DefaultRule[] = [
  rule<CustomResourceDefinition>("apiextensions/v1.CustomResourceDefinition", ({ spec, status }) => {
    if (status.storedVersions?.length) return;
    const stored = spec.versions?.find((version) => version.storage);
    if (stored !== undefined) status.storedVersions = [stored.name];
  }),
  rule<CustomResourceDefinitionSpec>("apiextensions/v1.CustomResourceDefinitionSpec", (spec) => {
    if (!spec.names.singular) spec.names.singular = spec.names.kind.toLowerCase();
    if (!spec.names.listKind && spec.names.kind) spec.names.listKind = `${spec.names.kind}List`;
    spec.conversion ??= { strategy: "None" };
  }),
  rule<ConversionService>("apiextensions/v1.ServiceReference", portDefault),
  rule<AggregatedService>("apiregistration/v1.ServiceReference", portDefault),
];

function webhookDefaults(webhook: ValidatingWebhook | MutatingWebhook): void {
  webhook.failurePolicy ??= "Fail";
  webhook.matchPolicy ??= "Equivalent";
  webhook.namespaceSelector ??= {};
  webhook.objectSelector ??= {};
  webhook.timeoutSeconds ??= webhookSeconds;
}

function portDefault(reference: { port?: number | undefined }): void {
  reference.port ??= httpsPort;
}
