// Defaults of pods, pod templates and what they are made of: containers, probes, volumes.
import type {
  AzureDiskVolumeSource,
  ConfigMapVolumeSource,
  Container,
  DownwardAPIVolumeSource,
  EphemeralContainer,
  HostPathVolumeSource,
  HTTPGetAction,
  ISCSIPersistentVolumeSource,
  ISCSIVolumeSource,
  ObjectFieldSelector,
  Pod,
  PodSpec,
  Probe,
  ProjectedVolumeSource,
  RBDPersistentVolumeSource,
  RBDVolumeSource,
  ScaleIOPersistentVolumeSource,
  ScaleIOVolumeSource,
  SecretVolumeSource,
  ServiceAccountTokenProjection,
  Volume,
} from "../../api/gen/core/v1.ts";
import { imagePullPolicy } from "../core/podimage.ts";
import { type DefaultRule, rule } from "./rule.ts";

/** 0644: files made from secrets, config maps and the downward API. */
const fileMode = 0o644;
const tokenSeconds = 3600;
const graceSeconds = 30;

/** Rules of the parts of core/v1.Pod. */
export const podDefaults: readonly DefaultRule[] = [
  rule<Pod>("core/v1.Pod", ({ spec }) => {
    // Requests follow limits in pods only: in a template the pod made of it gets them.
    for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) requestLimits(container);
    spec.enableServiceLinks ??= true;
  }),
  rule<PodSpec>("core/v1.PodSpec", (spec) => {
    if (!spec.dnsPolicy) spec.dnsPolicy = "ClusterFirst";
    if (!spec.restartPolicy) spec.restartPolicy = "Always";
    if (spec.hostNetwork) {
      for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
        for (const port of container.ports ?? []) if (!port.hostPort) port.hostPort = port.containerPort;
      }
    }
    spec.securityContext ??= {};
    spec.terminationGracePeriodSeconds ??= graceSeconds;
    if (!spec.schedulerName) spec.schedulerName = "default-scheduler";
  }),
  rule<Container>("core/v1.Container", containerDefaults),
  rule<EphemeralContainer>("core/v1.EphemeralContainer", containerDefaults),
  rule<Probe>("core/v1.Probe", (probe) => {
    probe.timeoutSeconds ||= 1;
    probe.periodSeconds ||= 10;
    probe.successThreshold ||= 1;
    probe.failureThreshold ||= 3;
  }),
  rule<HTTPGetAction>("core/v1.HTTPGetAction", (action) => {
    if (!action.path) action.path = "/";
    if (!action.scheme) action.scheme = "HTTP";
  }),
  rule<ObjectFieldSelector>("core/v1.ObjectFieldSelector", (selector) => {
    if (!selector.apiVersion) selector.apiVersion = "v1";
  }),
];

/** Rules of volume sources, of pods and of persistent volumes. */
export const volumeDefaults: readonly DefaultRule[] = [
  rule<Volume>("core/v1.Volume", (volume) => {
    const { name: _, ...sources } = volume;
    if (Object.values(sources).every((source) => source === undefined)) volume.emptyDir = {};
  }),
  rule<SecretVolumeSource>("core/v1.SecretVolumeSource", (source) => {
    source.defaultMode ??= fileMode;
  }),
  rule<ConfigMapVolumeSource>("core/v1.ConfigMapVolumeSource", (source) => {
    source.defaultMode ??= fileMode;
  }),
  rule<DownwardAPIVolumeSource>("core/v1.DownwardAPIVolumeSource", (source) => {
    source.defaultMode ??= fileMode;
  }),
  rule<ProjectedVolumeSource>("core/v1.ProjectedVolumeSource", (source) => {
    source.defaultMode ??= fileMode;
  }),
  rule<ServiceAccountTokenProjection>("core/v1.ServiceAccountTokenProjection", (source) => {
    source.expirationSeconds ??= tokenSeconds;
  }),
  rule<HostPathVolumeSource>("core/v1.HostPathVolumeSource", (source) => {
    source.type ??= "";
  }),
  rule<ISCSIVolumeSource>("core/v1.ISCSIVolumeSource", iscsiDefaults),
  rule<ISCSIPersistentVolumeSource>("core/v1.ISCSIPersistentVolumeSource", iscsiDefaults),
  rule<AzureDiskVolumeSource>("core/v1.AzureDiskVolumeSource", (source) => {
    source.cachingMode ??= "ReadWrite";
    source.kind ??= "Shared";
    source.fsType ??= "ext4";
    source.readOnly ??= false;
  }),
  rule<RBDVolumeSource>("core/v1.RBDVolumeSource", rbdDefaults),
  rule<RBDPersistentVolumeSource>("core/v1.RBDPersistentVolumeSource", rbdDefaults),
  rule<ScaleIOVolumeSource>("core/v1.ScaleIOVolumeSource", scaleIoDefaults),
  rule<ScaleIOPersistentVolumeSource>("core/v1.ScaleIOPersistentVolumeSource", scaleIoDefaults),
];

function requestLimits({ resources }: Container): void {
  if (resources.limits === undefined) return;
  resources.requests ??= new Map();
  for (const [name, limit] of resources.limits) {
    if (!resources.requests.has(name)) resources.requests.set(name, limit);
  }
}

function containerDefaults(container: Container | EphemeralContainer): void {
  if (!container.imagePullPolicy) container.imagePullPolicy = imagePullPolicy(container.image ?? "");
  if (!container.terminationMessagePath) container.terminationMessagePath = "/dev/termination-log";
  if (!container.terminationMessagePolicy) container.terminationMessagePolicy = "File";
}

function iscsiDefaults(source: ISCSIVolumeSource | ISCSIPersistentVolumeSource): void {
  if (!source.iscsiInterface) source.iscsiInterface = "default";
}

function rbdDefaults(source: RBDVolumeSource | RBDPersistentVolumeSource): void {
  if (!source.pool) source.pool = "rbd";
  if (!source.user) source.user = "admin";
  if (!source.keyring) source.keyring = "/etc/ceph/keyring";
}

function scaleIoDefaults(source: ScaleIOVolumeSource | ScaleIOPersistentVolumeSource): void {
  if (!source.storageMode) source.storageMode = "ThinProvisioned";
  if (!source.fsType) source.fsType = "xfs";
}
