// The references of a pod that its node needs: the secrets, config maps, claims and the service account it names; and
// the secrets a volume names. The sources looked at are upstream's (visitors of the pod and persistent volume
// utilities).
import type { Container, PersistentVolume, Pod, SecretReference, Volume } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";

/** Names a pod refers to, all in its own namespace. */
export interface PodRefs {
  readonly secrets: ReadonlySet<string>;
  readonly configMaps: ReadonlySet<string>;
  readonly claims: ReadonlySet<string>;
  /** Empty: none. */
  readonly account: string;
}

const none: PodRefs = { secrets: new Set(), configMaps: new Set(), claims: new Set(), account: "" };

/** The references of a pod; none for a mirror pod, which its node created. `mirrorKey`: its annotation. */
export function podRefs({ metadata, spec }: Pod & ApiObject, mirrorKey: string): PodRefs {
  if (metadata.annotations?.has(mirrorKey) === true) return none;
  const secrets = new Set((spec.imagePullSecrets ?? []).map(({ name }) => name ?? ""));
  const configMaps = new Set<string>();
  const claims = new Set<string>();
  const containers: readonly Pick<Container, "env" | "envFrom">[] = [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
  for (const { env = [], envFrom = [] } of containers) {
    for (const { secretRef, configMapRef } of envFrom) {
      secrets.add(secretRef?.name ?? "");
      configMaps.add(configMapRef?.name ?? "");
    }
    for (const { valueFrom } of env) {
      secrets.add(valueFrom?.secretKeyRef?.name ?? "");
      configMaps.add(valueFrom?.configMapKeyRef?.name ?? "");
    }
  }
  for (const volume of spec.volumes ?? []) {
    for (const name of volumeSecrets(volume)) secrets.add(name);
    configMaps.add(volume.configMap?.name ?? "");
    for (const { configMap } of volume.projected?.sources ?? []) configMaps.add(configMap?.name ?? "");
    claims.add(volume.persistentVolumeClaim?.claimName ?? "");
    if (volume.ephemeral !== undefined) claims.add(`${metadata.name ?? ""}-${volume.name}`);
  }
  for (const names of [secrets, configMaps, claims]) names.delete("");
  return { secrets, configMaps, claims, account: spec.serviceAccountName ?? "" };
}

/** Empty names are among them. */
function volumeSecrets(volume: Volume): string[] {
  const refs = [
    volume.cephfs?.secretRef,
    volume.cinder?.secretRef,
    volume.flexVolume?.secretRef,
    volume.rbd?.secretRef,
    volume.scaleIO?.secretRef,
    volume.iscsi?.secretRef,
    volume.storageos?.secretRef,
    volume.csi?.nodePublishSecretRef,
    ...(volume.projected?.sources ?? []).map(({ secret }) => secret),
  ];
  return [volume.azureFile?.secretName ?? "", volume.secret?.secretName ?? "", ...refs.map((ref) => ref?.name ?? "")];
}

/** Whether a node that uses a volume needs a secret: those of controllers alone do not count. */
export function volumeNeedsSecret({ spec }: PersistentVolume, namespace: string, name: string): boolean {
  const home = spec.claimRef?.namespace ?? "";
  const { azureFile, storageos, csi } = spec;
  // Written before secrets had namespaces, these mean the claim's.
  const inClaims = [spec.cephfs, spec.flexVolume, spec.rbd, spec.scaleIO, spec.iscsi].map(
    (source) => source?.secretRef,
  );
  const refs: (SecretReference | undefined)[] = [
    ...inClaims.map((ref) => ref && { name: ref.name, namespace: (ref.namespace ?? "") || home }),
    azureFile && { name: azureFile.secretName, namespace: (azureFile.secretNamespace ?? "") || home },
    spec.cinder?.secretRef,
    storageos?.secretRef,
    csi?.nodePublishSecretRef,
    csi?.nodeStageSecretRef,
  ];
  return refs.some((ref) => ref?.name === name && name !== "" && ref.namespace === namespace);
}
