// Names that rules look for: keys of annotations, types of secrets, namespaces. Written in the canonical spelling and
// spelled once per identity, so that a request only looks them up.
import { type Identity, perIdentity } from "../../api/identity.ts";

/** The names the rules of this folder know, spelled in one identity. */
export interface Names {
  readonly mirrorPod: string;
  readonly deletionCost: string;
  readonly seccompPod: string;
  readonly seccompContainerPrefix: string;
  readonly appArmorPrefix: string;
  readonly jobTracking: string;
  readonly serviceAccountName: string;
  readonly sourceRanges: string;
  readonly betaStorageClass: string;
  readonly mountOptions: string;
  readonly secretTypes: ReadonlyMap<string, SecretRule>;
  /** Resource names that contain it are native though prefixed. */
  readonly nativePrefix: string;
  /** Domains options of volume drivers may not use. */
  readonly reservedDomains: readonly string[];
  readonly finalizers: ReadonlySet<string>;
  readonly systemNamespace: string;
}

/** What a type of secret asks for. */
export type SecretRule = "service-account" | "docker-config" | "docker-config-json" | "basic-auth" | "ssh-auth" | "tls";

/** The names in an identity's spelling. */
export const namesOf = perIdentity(spellNames);

function spellNames({ spell }: Identity): Names {
  const domains = [...new Set([spell("kubernetes.io"), spell("k8s.io")])];
  return {
    mirrorPod: spell("kubernetes.io/config.mirror"),
    deletionCost: spell("controller.kubernetes.io/pod-deletion-cost"),
    seccompPod: spell("seccomp.security.alpha.kubernetes.io/pod"),
    seccompContainerPrefix: spell("container.seccomp.security.alpha.kubernetes.io/"),
    appArmorPrefix: spell("container.apparmor.security.beta.kubernetes.io/"),
    jobTracking: spell("batch.kubernetes.io/job-tracking"),
    serviceAccountName: spell("kubernetes.io/service-account.name"),
    sourceRanges: spell("service.beta.kubernetes.io/load-balancer-source-ranges"),
    betaStorageClass: spell("volume.beta.kubernetes.io/storage-class"),
    mountOptions: spell("volume.beta.kubernetes.io/mount-options"),
    secretTypes: new Map([
      [spell("kubernetes.io/service-account-token"), "service-account"],
      [spell("kubernetes.io/dockercfg"), "docker-config"],
      [spell("kubernetes.io/dockerconfigjson"), "docker-config-json"],
      [spell("kubernetes.io/basic-auth"), "basic-auth"],
      [spell("kubernetes.io/ssh-auth"), "ssh-auth"],
      [spell("kubernetes.io/tls"), "tls"],
    ]),
    nativePrefix: spell("kubernetes.io/"),
    reservedDomains: domains,
    finalizers: new Set([spell("kubernetes"), "orphan", "foregroundDeletion"]),
    systemNamespace: spell("kube-system"),
  };
}
