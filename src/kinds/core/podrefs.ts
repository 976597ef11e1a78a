// What a pod refers to by name in its namespace: secrets, config maps, claims. Admission asks about them.
import type { Container, EphemeralContainer, PodSpec, Volume } from "../../api/gen/core/v1.ts";

/** Names of the secrets a pod uses in any way, in the order of the pod, some perhaps twice. */
export function* secretNames(spec: PodSpec): Generator<string> {
  for (const { name } of spec.imagePullSecrets ?? []) if (name) yield name;
  for (const { env, envFrom } of containersOf(spec)) {
    for (const { secretRef } of envFrom ?? []) if (secretRef?.name) yield secretRef.name;
    for (const { valueFrom } of env ?? []) if (valueFrom?.secretKeyRef?.name) yield valueFrom.secretKeyRef.name;
  }
  for (const volume of spec.volumes ?? []) yield* volumeSecrets(volume);
}

/** Names of the config maps a pod uses in any way. */
export function* configMapNames(spec: PodSpec): Generator<string> {
  for (const { env, envFrom } of containersOf(spec)) {
    for (const { configMapRef } of envFrom ?? []) if (configMapRef?.name) yield configMapRef.name;
    for (const { valueFrom } of env ?? []) if (valueFrom?.configMapKeyRef?.name) yield valueFrom.configMapKeyRef.name;
  }
  for (const { configMap, projected } of spec.volumes ?? []) {
    if (configMap?.name) yield configMap.name;
    for (const source of projected?.sources ?? []) if (source.configMap?.name) yield source.configMap.name;
  }
}

/** All containers of a pod: init, plain and ephemeral ones. */
export function containersOf(spec: PodSpec): readonly (Container | EphemeralContainer)[] {
  return [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])];
}

function* volumeSecrets(volume: Volume): Generator<string> {
  if (volume.secret?.secretName) yield volume.secret.secretName;
  if (volume.azureFile?.secretName) yield volume.azureFile.secretName;
  for (const source of volume.projected?.sources ?? []) if (source.secret?.name) yield source.secret.name;
  const { cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos, csi } = volume;
  const named = [cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos].map((source) => source?.secretRef);
  for (const reference of [...named, csi?.nodePublishSecretRef]) if (reference?.name) yield reference.name;
}
