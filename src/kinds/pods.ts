// Pods and pod templates: quality of service, seccomp in its two spellings, graceful deletion, ephemeral containers.
import type { Container, Pod, PodSpec, PodTemplate, SeccompProfile, Volume } from "../api/gen/core/v1.ts";
import type { Identity } from "../api/identity.ts";
import type { Resource } from "../api/scheme.ts";
import { countUp, differs, fieldOf, keepMeta, strategyFor } from "./generic.ts";
import { copyServiceAccount, settlePodFields } from "./podfields.ts";
import { podWarnings } from "./podwarnings.ts";
import type { Strategy, UpdateStrategy } from "./strategy.ts";
import { billionths } from "./validation/amounts.ts";
import {
  validatePod,
  validatePodEphemeralContainersUpdate,
  validatePodStatusUpdate,
  validatePodTemplate,
  validatePodTemplateUpdate,
  validatePodUpdate,
} from "./validation/pod/pod.ts";

/** Pods. */
export function podStrategy(resource: Resource, identity: Identity): Strategy<Pod> {
  const seccomp = seccompSync(identity);
  return strategyFor<Pod>(resource, {
    returnsDeletedObject: true,
    canonicalize(pod) {
      copyServiceAccount(pod.spec);
      syncPodIps(pod);
    },
    prepareForCreate(context, pod) {
      pod.status = { phase: "Pending", qosClass: qosClass(pod.spec) };
      settlePodFields(context, pod.spec, undefined);
      seccomp(pod);
    },
    prepareForUpdate(context, pod, old) {
      settlePodFields(context, pod.spec, old.spec);
    },
    prepareForStatus(_context, pod, old) {
      // Old node agents corrupt owner references, which would break garbage collection.
      pod.metadata.ownerReferences = old.metadata.ownerReferences;
      pod.metadata.deletionTimestamp = old.metadata.deletionTimestamp;
    },
    warnings: ({ identity: names }, pod, old) => (old === undefined ? podWarnings(names, "", pod) : []),
    validate: validatePod,
    validateUpdate: validatePodUpdate,
    validateStatus: validatePodStatusUpdate,
    subresources: new Map([["ephemeralcontainers", ephemeralContainers]]),
    selectableFields: ({ spec, status }) => [
      ["spec.nodeName", spec.nodeName ?? ""],
      ["spec.restartPolicy", spec.restartPolicy ?? ""],
      ["spec.schedulerName", spec.schedulerName ?? ""],
      ["spec.serviceAccountName", spec.serviceAccountName ?? ""],
      ["status.phase", status.phase ?? ""],
      ["status.podIP", status.podIPs?.[0]?.ip ?? status.podIP ?? ""],
      ["status.podIPs", ""],
      ["status.nominatedNodeName", status.nominatedNodeName ?? ""],
    ],
    fieldLabels: [
      "spec.nodeName",
      "spec.restartPolicy",
      "spec.schedulerName",
      "spec.serviceAccountName",
      "status.phase",
      "status.podIP",
      "status.podIPs",
      "status.nominatedNodeName",
      ["spec.host", "spec.nodeName"],
    ],
    gracePeriod,
  });
}

/** The single address and the first of the list are the same thing; where they differ the single one counts. */
function syncPodIps({ status }: Pod): void {
  const first = status.podIPs?.[0]?.ip ?? "";
  const single = status.podIP ?? "";
  if (single === "" && first !== "") status.podIP = first;
  else if (single !== first) status.podIPs = [{ ip: single }];
}

/** Pod templates. */
export function podTemplateStrategy(resource: Resource): Strategy<PodTemplate> {
  const template = fieldOf(resource, "template");
  return strategyFor<PodTemplate>(resource, {
    returnsDeletedObject: true,
    prepareForCreate(context, object) {
      object.metadata.generation = 1;
      settlePodFields(context, object.template.spec, undefined);
    },
    prepareForUpdate(context, object, old) {
      settlePodFields(context, object.template.spec, old.template.spec);
      if (differs(template, object, old)) countUp(object, old);
    },
    warnings({ identity: names }, { metadata, template: pods }, old) {
      const isSame = old !== undefined && metadata.generation === old.metadata.generation;
      return isSame ? [] : podWarnings(names, "template", pods);
    },
    validate: validatePodTemplate,
    validateUpdate: validatePodTemplateUpdate,
  });
}

/** Seconds until a pod may be removed; 0 for one that no node runs. */
function gracePeriod(pod: Pod, requested: number | undefined): number {
  const phase = pod.status.phase;
  if (!pod.spec.nodeName || phase === "Succeeded" || phase === "Failed") return 0;
  const seconds = requested ?? Number(pod.spec.terminationGracePeriodSeconds ?? 0);
  return seconds < 0 ? 1 : seconds;
}

/** Everything but the ephemeral containers stays as stored. */
const ephemeralContainers: UpdateStrategy<Pod> = {
  prepare(_context, pod, old) {
    const containers = pod.spec.ephemeralContainers;
    keepMeta(pod, old);
    pod.spec = { ...old.spec, ephemeralContainers: containers };
    pod.status = old.status;
  },
  validate: (context, pod, old) => validatePodEphemeralContainersUpdate(pod, old, context),
};

const qosResources = ["cpu", "memory"] as const;

/** Quality of service as the requests and limits of CPU and memory of all containers decide it. */
export function qosClass(spec: PodSpec): "Guaranteed" | "Burstable" | "BestEffort" {
  const requests = new Map<string, bigint>();
  const limits = new Map<string, bigint>();
  let guaranteed = true;
  for (const { resources } of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    addPositive(requests, resources.requests);
    if (addPositive(limits, resources.limits) < qosResources.length) guaranteed = false;
  }
  if (requests.size === 0 && limits.size === 0) return "BestEffort";
  for (const [name, amount] of requests) if (limits.get(name) !== amount) guaranteed = false;
  return guaranteed && requests.size === limits.size ? "Guaranteed" : "Burstable";
}

/** Adds the positive amounts to `sums`; how many of the resources had one. */
function addPositive(sums: Map<string, bigint>, list: ReadonlyMap<string, string> | undefined): number {
  let count = 0;
  for (const name of qosResources) {
    const amount = billionths(list?.get(name) ?? "0");
    if (amount <= 0n) continue;
    sums.set(name, (sums.get(name) ?? 0n) + amount);
    count++;
  }
  return count;
}

/** Kernel parameters every pod may set: they touch nothing but the pod (reference). */
export const safeSysctls: ReadonlySet<string> = new Set([
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_unprivileged_port_start",
]);

/** The field that says where a volume comes from; undefined: none does. */
export function volumeSource(volume: Volume): string | undefined {
  return Object.entries(volume).find(([key, value]) => key !== "name" && value !== undefined)?.[0];
}

/** Old clients say seccomp in annotations, new ones in fields: what one says the other one gets. */
function seccompSync(identity: Identity): (pod: Pod) => void {
  const podKey = identity.spell("seccomp.security.alpha.kubernetes.io/pod");
  const containerKey = identity.spell("container.seccomp.security.alpha.kubernetes.io/");
  return ({ metadata, spec }) => {
    const annotations = metadata.annotations;
    const podText = annotations?.get(podKey);
    if (podText !== undefined && spec.securityContext?.seccompProfile === undefined) {
      const profile = profileOf(podText);
      if (profile) spec.securityContext = { ...spec.securityContext, seccompProfile: profile };
    } else if (podText === undefined && spec.securityContext?.seccompProfile) {
      annotate(metadata, podKey, textOf(spec.securityContext.seccompProfile));
    }
    for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
      syncContainer(metadata, container, `${containerKey}${container.name}`);
    }
  };
}

function syncContainer(metadata: Pod["metadata"], container: Container, key: string): void {
  const text = metadata.annotations?.get(key);
  const field = container.securityContext?.seccompProfile;
  if (text !== undefined && field === undefined) {
    const profile = profileOf(text);
    if (profile) container.securityContext = { ...container.securityContext, seccompProfile: profile };
  } else if (text === undefined && field !== undefined) annotate(metadata, key, textOf(field));
}

function annotate(metadata: Pod["metadata"], key: string, text: string | undefined): void {
  if (text === undefined) return;
  metadata.annotations ??= new Map();
  metadata.annotations.set(key, text);
}

const localhost = "localhost/";

function profileOf(text: string): SeccompProfile | undefined {
  if (text === "unconfined") return { type: "Unconfined" };
  if (text === "runtime/default" || text === "docker/default") return { type: "RuntimeDefault" };
  if (text.startsWith(localhost) && text.length > localhost.length) {
    return { type: "Localhost", localhostProfile: text.slice(localhost.length) };
  }
  return undefined;
}

function textOf(profile: SeccompProfile): string | undefined {
  if (profile.type === "Unconfined") return "unconfined";
  if (profile.type === "RuntimeDefault") return "runtime/default";
  return profile.type === "Localhost" && profile.localhostProfile
    ? `${localhost}${profile.localhostProfile}`
    : undefined;
}
