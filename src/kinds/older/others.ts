// Versions that differ in defaults, or in nothing but their name: webhooks, signing requests, and the rest.
import type {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from "../../api/gen/admissionregistration/v1.ts";
import type { CertificateSigningRequest } from "../../api/gen/certificates/v1.ts";
import type { Identity } from "../../api/identity.ts";
import { readSigningRequest } from "../../pki/csr.ts";
import { apiserverClientNodeAgent } from "../../pki/signers/apiserverclientnodeagent.ts";
import { legacyUnknown } from "../../pki/signers/legacyunknown.ts";
import { nodeAgentServing } from "../../pki/signers/nodeagentserving.ts";
import type { OlderVersion } from "./version.ts";

/** Versions of the kinds of other groups. */
export const olderOthers: readonly OlderVersion[] = [
  {
    group: "admissionregistration.k8s.io",
    version: "v1beta1",
    kinds: ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
    successor: ["admissionregistration.k8s.io", "v1"],
    succeed: fromWebhooks,
  },
  {
    group: "apiregistration.k8s.io",
    version: "v1beta1",
    kinds: ["APIService"],
    successor: ["apiregistration.k8s.io", "v1"],
  },
  {
    group: "certificates.k8s.io",
    version: "v1beta1",
    kinds: ["CertificateSigningRequest"],
    successor: ["certificates.k8s.io", "v1"],
    succeed: fromSigningRequest,
  },
  {
    group: "coordination.k8s.io",
    version: "v1beta1",
    kinds: ["Lease"],
    successor: ["coordination.k8s.io", "v1"],
  },
  {
    group: "extensions",
    version: "v1beta1",
    kinds: ["PodSecurityPolicy"],
    successor: ["policy", "v1beta1"],
  },
  {
    group: "flowcontrol.apiserver.k8s.io",
    version: "v1alpha1",
    kinds: ["FlowSchema", "PriorityLevelConfiguration"],
    successor: ["flowcontrol.apiserver.k8s.io", "v1beta1"],
  },
  {
    group: "scheduling.k8s.io",
    version: "v1alpha1",
    kinds: ["PriorityClass"],
    successor: ["scheduling.k8s.io", "v1"],
  },
  {
    group: "scheduling.k8s.io",
    version: "v1beta1",
    kinds: ["PriorityClass"],
    successor: ["scheduling.k8s.io", "v1"],
  },
  {
    group: "storage.k8s.io",
    version: "v1alpha1",
    kinds: ["VolumeAttachment"],
    successor: ["storage.k8s.io", "v1"],
    undefaulted: true,
  },
  {
    group: "storage.k8s.io",
    version: "v1beta1",
    kinds: ["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"],
    successor: ["storage.k8s.io", "v1"],
  },
];

const webhookSeconds = 30;

function fromWebhooks<T extends MutatingWebhookConfiguration | ValidatingWebhookConfiguration>(object: T): T {
  for (const webhook of object.webhooks ?? []) {
    webhook.failurePolicy ??= "Ignore";
    webhook.matchPolicy ??= "Exact";
    webhook.sideEffects ??= "Unknown";
    webhook.timeoutSeconds ??= webhookSeconds;
    if (!webhook.admissionReviewVersions?.length) webhook.admissionReviewVersions = ["v1beta1"];
  }
  return object;
}

function fromSigningRequest(object: CertificateSigningRequest, identity: Identity): CertificateSigningRequest {
  const { spec, status } = object;
  spec.usages ??= ["digital signature", "key encipherment"];
  // A request that names no signer is for the one whose rules it keeps.
  spec.signerName ||= identity.spell(signerOf(spec.request, spec.usages));
  for (const condition of status.conditions ?? []) if (!condition.status) condition.status = "True";
  return object;
}

function signerOf(pem: string | undefined, usages: readonly string[]): string {
  const request = readSigningRequest(Buffer.from(pem ?? "", "base64"));
  const candidates = typeof request === "string" ? [] : [apiserverClientNodeAgent, nodeAgentServing];
  const found = candidates.find(
    ({ faultOf }) => typeof request !== "string" && faultOf({ request, usages }) === undefined,
  );
  return (found ?? legacyUnknown).name;
}
