// Volumes of a pod: names, and exactly one source each. The sources are looked at in upstream's order, which
// decides which of two is the one too many.
import { duplicate, forbiddenField, invalid, required } from "../../../../api/fielderror.ts";
import type { PersistentVolumeClaimTemplate, Volume, VolumeSource } from "../../../../api/gen/core/v1.ts";
import { isDns1123Subdomain } from "../../../formats.ts";
import {
  checkAnnotations,
  checkLabel1123,
  checkLabels,
  type Errors,
  eachItem,
  faults,
} from "../../../validation/check.ts";
import { checkClaimSpec } from "../claim.ts";
import * as projection from "./projections.ts";
import type { PodRules } from "./rules.ts";
import * as source from "./sources.ts";

/** Volumes by name, for the mounts to refer to. */
export type Volumes = ReadonlyMap<string, Volume>;

type SourceField = keyof VolumeSource;
type SourceCheck<K extends SourceField> = (
  out: Errors,
  path: string,
  value: NonNullable<VolumeSource[K]>,
  rules: PodRules,
) => void;

/** One kind of source: where it is, how errors call it when it is one too many, where they put its own faults. */
interface SourceKind {
  readonly field: SourceField;
  readonly surplus: string;
  readonly check: (out: Errors, path: string, volume: Volume, rules: PodRules) => void;
}

function kind<K extends SourceField>(
  field: K,
  check: SourceCheck<K>,
  surplus: string = field,
  own: string = field,
): SourceKind {
  return {
    field,
    surplus,
    check: (out, path, volume, rules) => {
      const value = (volume as VolumeSource)[field];
      if (value !== undefined) check(out, `${path}.${own}`, value as NonNullable<VolumeSource[K]>, rules);
    },
  };
}

const sources: readonly SourceKind[] = [
  kind("emptyDir", source.checkEmptyDir),
  kind("hostPath", source.checkHostPath),
  kind("gitRepo", source.checkGitRepo),
  kind(
    "gcePersistentDisk",
    (out, path, disk) => source.checkDisk(out, path, "pdName", disk.pdName, disk.partition),
    "gcePersistentDisk",
    "persistentDisk",
  ),
  kind("awsElasticBlockStore", (out, path, disk) =>
    source.checkDisk(out, path, "volumeID", disk.volumeID, disk.partition),
  ),
  kind("secret", projection.checkSecretSource),
  kind("nfs", source.checkNfs),
  kind("iscsi", (out, path, iscsi) => source.checkIscsi(out, path, iscsi)),
  kind("glusterfs", source.checkGlusterfs),
  kind("flocker", source.checkFlocker),
  kind("persistentVolumeClaim", (out, path, claim) => source.checkPresent(out, `${path}.claimName`, claim.claimName)),
  kind("rbd", source.checkRbd),
  kind("cinder", (out, path, cinder) => source.checkCinder(out, path, cinder)),
  kind("cephfs", source.checkCephFs, "cephFS"),
  kind("quobyte", source.checkQuobyte),
  // Upstream's own spelling of the surplus one.
  kind("downwardAPI", projection.checkDownward, "downwarAPI"),
  kind("fc", source.checkFc),
  kind("flexVolume", (out, path, flex, rules) => source.checkFlex(out, path, flex, rules.names)),
  kind("configMap", projection.checkConfigMapSource),
  kind("azureFile", source.checkAzureFile),
  kind("vsphereVolume", (out, path, disk) => source.checkPresent(out, `${path}.volumePath`, disk.volumePath)),
  kind("photonPersistentDisk", (out, path, disk) => source.checkPresent(out, `${path}.pdID`, disk.pdID)),
  kind("portworxVolume", (out, path, disk) => source.checkPresent(out, `${path}.volumeID`, disk.volumeID)),
  kind("azureDisk", source.checkAzureDisk),
  kind("storageos", (out, path, volume) => source.checkStorageOs(out, path, volume)),
  kind("projected", projection.checkProjected),
  kind("scaleIO", source.checkScaleIo),
  kind("csi", source.checkCsi),
  kind("ephemeral", (out, path, { volumeClaimTemplate: template }) => {
    if (template === undefined) out.push(required(`${path}.volumeClaimTemplate`));
    else checkClaimTemplate(out, `${path}.volumeClaimTemplate`, template);
  }),
];

/** Rules of the volumes of a pod. Returns those without faults: a mount of another one finds none. */
export function checkVolumes(
  out: Errors,
  path: string,
  volumes: readonly Volume[] | undefined,
  rules: PodRules,
): Volumes {
  const sound = new Map<string, Volume>();
  const created = createdClaims(volumes, rules);
  eachItem(out, volumes, path, (volume, at) => {
    const before = out.length;
    checkSources(out, at, volume, rules);
    if (volume.name === "") out.push(required(`${at}.name`));
    else checkLabel1123(out, `${at}.name`, volume.name);
    if (sound.has(volume.name)) out.push(duplicate(`${at}.name`, volume.name));
    if (out.length === before) sound.set(volume.name, volume);
    const claim = volume.persistentVolumeClaim?.claimName;
    if (claim !== undefined && created.has(claim)) {
      const why = "must not reference a PVC that gets created for an ephemeral volume";
      out.push(invalid(`${at}.persistentVolumeClaim.claimName`, claim, why));
    }
  });
  return sound;
}

const noClaims: ReadonlySet<string> = new Set();

/** Names of the claims the pod's ephemeral volumes will make. */
function createdClaims(volumes: readonly Volume[] | undefined, rules: PodRules): ReadonlySet<string> {
  if (rules.podName === undefined || volumes?.some((volume) => volume.ephemeral !== undefined) !== true)
    return noClaims;
  return new Set(volumes.filter((v) => v.ephemeral !== undefined).map((v) => `${rules.podName}-${v.name}`));
}

function checkSources(out: Errors, path: string, volume: Volume, rules: PodRules): void {
  let count = 0;
  for (const { field, surplus, check } of sources) {
    if (volume[field] === undefined) continue;
    count += 1;
    if (count > 1) out.push(forbiddenField(`${path}.${surplus}`, "may not specify more than 1 volume type"));
    else check(out, path, volume, rules);
    if (field === "iscsi") checkTargetLength(out, path, volume);
    if (field === "ephemeral" && count === 1) checkClaimName(out, path, volume, rules);
  }
  if (count === 0) out.push(required(path, "must specify a volume type"));
}

function checkTargetLength(out: Errors, path: string, { name, iscsi }: Volume): void {
  if (iscsi?.initiatorName === undefined || !source.isLongTarget(name, iscsi.targetPortal)) return;
  out.push(invalid(`${path}.name`, name, source.longTarget));
}

function checkClaimName(out: Errors, path: string, { name }: Volume, { podName }: PodRules): void {
  if (podName === undefined || podName === "" || name === "") return;
  const claim = `${podName}-${name}`;
  faults(
    out,
    `${path}.name`,
    name,
    isDns1123Subdomain(claim).map((fault) => `PVC name ${JSON.stringify(claim)}: ${fault}`),
  );
}

/** Of the metadata of the claims to be made only labels and annotations may be given. */
function checkClaimTemplate(out: Errors, path: string, template: PersistentVolumeClaimTemplate): void {
  const at = `${path}.metadata`;
  checkAnnotations(out, `${at}.annotations`, template.metadata.annotations);
  checkLabels(out, `${at}.labels`, template.metadata.labels);
  for (const [field, shown] of templateFields) {
    const value = template.metadata[field];
    if (value === undefined || value === "" || value === 0) continue;
    out.push(forbiddenField(`${at}.${shown}`, "cannot be set for an ephemeral volume"));
  }
  checkClaimSpec(out, `${path}.spec`, template.spec, false);
}

const templateFields = [
  ["name", "name"],
  ["generateName", "generateName"],
  ["namespace", "namespace"],
  ["selfLink", "selfLink"],
  ["uid", "uID"],
  ["resourceVersion", "resourceVersion"],
  ["generation", "generation"],
  ["creationTimestamp", "creationTimestamp"],
  ["deletionTimestamp", "deletionTimestamp"],
  ["deletionGracePeriodSeconds", "deletionGracePeriodSeconds"],
  ["ownerReferences", "ownerReferences"],
  ["finalizers", "finalizers"],
  ["clusterName", "clusterName"],
  ["managedFields", "managedFields"],
] as const;
