// Pod: seccomp in its two spellings, graceful deletion, ephemeral containers. Columns, use of quotas, warnings and what
// is not stored as sent stand in files beside this one, rules in validation/pod/.
import type { Container, Pod, SeccompProfile } from "../../api/gen/core/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import { setOf } from "../../merge/fieldset.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { keepMeta, strategyFor } from "../generic.ts";
import type { Strategy, UpdateStrategy } from "../strategy.ts";
import { podColumns } from "./podcolumns.ts";
import { copyServiceAccount, settlePodFields } from "./podfields.ts";
import { qosClass } from "./podqos.ts";
import { podEvaluator } from "./podquota.ts";
import { podWarnings } from "./podwarnings.ts";
import {
  validatePod,
  validatePodEphemeralContainersUpdate,
  validatePodStatusUpdate,
  validatePodUpdate,
} from "./validation/pod/pod.ts";

/** Behaviour of pods. */
export function podBehaviour(resource: Resource, identity: Identity): OwnBehaviour {
  return {
    strategy: podStrategy(resource, identity),
    columns: podColumns(),
    resetFields: new Map([
      ["status", setOf(["f:spec"], ["f:metadata", "f:deletionTimestamp"], ["f:metadata", "f:ownerReferences"])],
    ]),
    evaluator: podEvaluator(identity),
    metaRules: { update: [1, 1], parts: { ephemeralcontainers: [1, 1] } },
  };
}

function podStrategy(resource: Resource, identity: Identity): Strategy<Pod> {
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
