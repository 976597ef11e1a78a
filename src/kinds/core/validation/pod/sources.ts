// Rules of single volume sources, those pods and persistent volumes share first. A source is what a volume is made of;
// volume.ts and persistent.ts say which sources there are and that a volume has exactly one.
import { forbiddenField, invalid, notSupported, required, tooLong } from "../../../../api/fielderror.ts";
import type * as core from "../../../../api/gen/core/v1.ts";
import { isDns1123Subdomain, rangeMessage } from "../../../formats.ts";
import { isNegativeAmount } from "../../../validation/amounts.ts";
import {
  checkDescendingPath,
  checkLabel1123,
  checkNoBacksteps,
  type Errors,
  empty,
  faults,
  isFull,
} from "../../../validation/check.ts";
import { goStringList } from "../../../validation/gostruct.ts";
import type { Names } from "../../../validation/names.ts";

const hostPathTypes = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
];
const driverBytesMax = 63;

/** A required string without further rules. */
export function checkPresent(out: Errors, path: string, value: string | undefined): void {
  if (empty(value)) out.push(required(path));
}

/** emptyDir. */
export function checkEmptyDir(out: Errors, path: string, source: core.EmptyDirVolumeSource): void {
  if (source.sizeLimit !== undefined && isNegativeAmount(source.sizeLimit)) {
    out.push(forbiddenField(`${path}.sizeLimit`, "SizeLimit field must be a valid resource quantity"));
  }
}

/** hostPath. */
export function checkHostPath(out: Errors, path: string, source: core.HostPathVolumeSource): void {
  if (source.path === "") {
    out.push(required(`${path}.path`));
    return;
  }
  checkNoBacksteps(out, `${path}.path`, source.path);
  const type = source.type;
  if (type !== undefined && !hostPathTypes.includes(type)) {
    out.push(notSupported(`${path}.type`, type, hostPathTypes));
  }
}

/** gitRepo. */
export function checkGitRepo(out: Errors, path: string, source: core.GitRepoVolumeSource): void {
  checkPresent(out, `${path}.repository`, source.repository);
  checkDescendingPath(out, `${path}.directory`, source.directory ?? "");
}

/** Disks of the two older clouds: an id and a partition. */
export function checkDisk(out: Errors, path: string, field: string, id: string, partition = 0): void {
  checkPresent(out, `${path}.${field}`, id);
  if (partition < 0 || partition > 255) out.push(invalid(`${path}.partition`, partition, rangeMessage(1, 255)));
}

/** nfs. */
export function checkNfs(out: Errors, path: string, source: core.NFSVolumeSource): void {
  checkPresent(out, `${path}.server`, source.server);
  checkPresent(out, `${path}.path`, source.path);
  if (!source.path.startsWith("/")) out.push(invalid(`${path}.path`, source.path, "must be an absolute path"));
}

/** iscsi. Only persistent volumes say where the secret is. */
export function checkIscsi(
  out: Errors,
  path: string,
  source: core.ISCSIVolumeSource | core.ISCSIPersistentVolumeSource,
  volumeName?: string,
): void {
  checkPresent(out, `${path}.targetPortal`, source.targetPortal);
  if (volumeName !== undefined && source.initiatorName !== undefined && isLongTarget(volumeName, source.targetPortal)) {
    out.push(invalid(`${path}.targetportal`, source.targetPortal, longTarget));
  }
  const names =
    volumeName === undefined ? "must be valid format starting with iqn, eui, or naa" : "must be valid format";
  if (source.iqn === "") out.push(required(`${path}.iqn`));
  else checkInitiator(out, `${path}.iqn`, source.iqn, names);
  if (source.lun < 0 || source.lun > 255) out.push(invalid(`${path}.lun`, source.lun, rangeMessage(0, 255)));
  const authenticates = source.chapAuthDiscovery === true || source.chapAuthSession === true;
  if (authenticates && source.secretRef === undefined) out.push(required(`${path}.secretRef`));
  if (volumeName !== undefined && source.secretRef !== undefined) {
    checkPresent(out, `${path}.secretRef.name`, source.secretRef.name);
  }
  if (source.initiatorName !== undefined) {
    const wanted = "must be valid format starting with iqn, eui, or naa";
    checkInitiator(out, `${path}.initiatorname`, source.initiatorName, wanted);
  }
}

/** Text of a volume name and portal that are too long together. */
export const longTarget =
  "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";

/** True when a volume's name and its portal are too long together. */
export function isLongTarget(volumeName: string, portal: string): boolean {
  return Buffer.byteLength(`${volumeName}:${portal}`) > 64;
}

function checkInitiator(out: Errors, path: string, name: string, unknown: string): void {
  const kind = name.slice(0, 3);
  if (kind !== "iqn" && kind !== "eui" && kind !== "naa") out.push(invalid(path, name, unknown));
  else if (!isInitiator(kind, name)) out.push(invalid(path, name, "must be valid format"));
}

function isInitiator(kind: "iqn" | "eui" | "naa", name: string): boolean {
  if (kind === "eui") return /^eui.[A-Za-z0-9]{16}$/.test(name);
  if (kind === "naa") return /^naa.[A-Za-z0-9]{32}$/.test(name);
  const head = /^iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+/.exec(name);
  if (head === null) return false;
  const rest = name.slice(head[0].length);
  return rest.startsWith(":") && /^[^,;*&$|\s]+$/.test(rest.slice(1));
}

/** fc. */
export function checkFc(out: Errors, path: string, source: core.FCVolumeSource): void {
  const targets = source.targetWWNs?.length ?? 0;
  const ids = source.wwids?.length ?? 0;
  const at = `${path}.targetWWNs`;
  if (targets === 0 && ids === 0) out.push(required(at, "must specify either targetWWNs or wwids, but not both"));
  if (targets > 0 && ids > 0) {
    out.push(invalid(at, goStringList(source.targetWWNs), "targetWWNs and wwids can not be specified simultaneously"));
  }
  if (targets === 0) return;
  const lun = source.lun;
  if (lun === undefined) out.push(required(`${path}.lun`, "lun is required if targetWWNs is specified"));
  else if (lun < 0 || lun > 255) out.push(invalid(`${path}.lun`, lun, rangeMessage(0, 255)));
}

/** glusterfs. */
export function checkGlusterfs(
  out: Errors,
  path: string,
  source: core.GlusterfsVolumeSource | core.GlusterfsPersistentVolumeSource,
): void {
  checkPresent(out, `${path}.endpoints`, source.endpoints);
  checkPresent(out, `${path}.path`, source.path);
}

/** flocker. */
export function checkFlocker(out: Errors, path: string, source: core.FlockerVolumeSource): void {
  const { datasetName: name = "", datasetUUID: uuid = "" } = source;
  if (name === "" && uuid === "") out.push(required(path, "one of datasetName and datasetUUID is required"));
  if (name !== "" && uuid !== "") {
    out.push(invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously"));
  }
  if (name.includes("/")) out.push(invalid(`${path}.datasetName`, name, "must not contain '/'"));
}

/** rbd. */
export function checkRbd(
  out: Errors,
  path: string,
  source: core.RBDVolumeSource | core.RBDPersistentVolumeSource,
): void {
  if ((source.monitors?.length ?? 0) === 0) out.push(required(`${path}.monitors`));
  checkPresent(out, `${path}.image`, source.image);
}

/** cephfs. */
export function checkCephFs(
  out: Errors,
  path: string,
  source: core.CephFSVolumeSource | core.CephFSPersistentVolumeSource,
): void {
  if ((source.monitors?.length ?? 0) === 0) out.push(required(`${path}.monitors`));
}

/** A reference to a secret inside a source; `spaced` ones name its namespace too. */
export function checkSecretRef(
  out: Errors,
  path: string,
  ref: core.LocalObjectReference | core.SecretReference | undefined,
  spaced = false,
): void {
  if (ref === undefined) return;
  checkPresent(out, `${path}.name`, ref.name);
  if (spaced) checkPresent(out, `${path}.namespace`, (ref as core.SecretReference).namespace);
}

/** cinder. */
export function checkCinder(
  out: Errors,
  path: string,
  source: core.CinderVolumeSource | core.CinderPersistentVolumeSource,
  persistent = false,
): void {
  checkPresent(out, `${path}.volumeID`, source.volumeID);
  checkSecretRef(out, `${path}.secretRef`, source.secretRef, persistent);
}

/** quobyte. */
export function checkQuobyte(out: Errors, path: string, source: core.QuobyteVolumeSource): void {
  const pairs = "must be a host:port pair or multiple pairs separated by commas";
  if (source.registry === "") out.push(required(`${path}.registry`, pairs));
  else if ((source.tenant ?? "").length >= 65) {
    out.push(required(`${path}.tenant`, "must be a UUID and may not exceed a length of 64 characters"));
  } else {
    for (const pair of source.registry.split(",")) {
      if (isFull(out)) return;
      if (!isHostPort(pair)) out.push(invalid(`${path}.registry`, source.registry, pairs));
    }
  }
  checkPresent(out, `${path}.volume`, source.volume);
}

/** `host:port` or `[host]:port`; either may be empty. */
function isHostPort(text: string): boolean {
  return /^(?:\[[^[\]]*\]|[^[\]:]*):[^[\]:]*$/.test(text);
}

/** flexVolume: its options may not be in the API's own domains. */
export function checkFlex(
  out: Errors,
  path: string,
  source: core.FlexVolumeSource | core.FlexPersistentVolumeSource,
  names: Names,
): void {
  checkPresent(out, `${path}.driver`, source.driver);
  const why = `${names.reservedDomains.join(" and ")} namespaces are reserved`;
  for (const key of source.options?.keys() ?? []) {
    if (isFull(out)) return;
    const slash = key.indexOf("/");
    const domain = `.${(slash < 0 ? key : key.slice(0, slash)).toLowerCase()}`;
    if (names.reservedDomains.some((reserved) => domain.endsWith(`.${reserved}`))) {
      out.push(invalid(`${path}.options[${key}]`, key, why));
    }
  }
}

/** azureFile. */
export function checkAzureFile(
  out: Errors,
  path: string,
  source: core.AzureFileVolumeSource | core.AzureFilePersistentVolumeSource,
): void {
  checkPresent(out, `${path}.secretName`, source.secretName);
  checkPresent(out, `${path}.shareName`, source.shareName);
}

/** azureDisk. */
export function checkAzureDisk(out: Errors, path: string, source: core.AzureDiskVolumeSource): void {
  const cachings = ["None", "ReadOnly", "ReadWrite"];
  const kinds = ["Dedicated", "Managed", "Shared"];
  const { cachingMode, kind, diskURI: uri } = source;
  checkPresent(out, `${path}.diskName`, source.diskName);
  checkPresent(out, `${path}.diskURI`, uri);
  if (cachingMode !== undefined && !cachings.includes(cachingMode)) {
    out.push(notSupported(`${path}.cachingMode`, cachingMode, cachings));
  }
  if (kind === undefined) return;
  if (!kinds.includes(kind)) out.push(notSupported(`${path}.kind`, kind, kinds));
  const [start, example] =
    kind === "Managed"
      ? [
          "/subscriptions/",
          "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        ]
      : ["https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"];
  if (!uri.startsWith(start)) out.push(notSupported(`${path}.diskURI`, uri, [example]));
}

/** scaleIO. */
export function checkScaleIo(
  out: Errors,
  path: string,
  source: core.ScaleIOVolumeSource | core.ScaleIOPersistentVolumeSource,
): void {
  checkPresent(out, `${path}.gateway`, source.gateway);
  checkPresent(out, `${path}.system`, source.system);
  checkPresent(out, `${path}.volumeName`, source.volumeName);
}

/** storageos. */
export function checkStorageOs(
  out: Errors,
  path: string,
  source: core.StorageOSVolumeSource | core.StorageOSPersistentVolumeSource,
  persistent = false,
): void {
  if (empty(source.volumeName)) out.push(required(`${path}.volumeName`));
  else checkLabel1123(out, `${path}.volumeName`, source.volumeName);
  if (!empty(source.volumeNamespace)) checkLabel1123(out, `${path}.volumeNamespace`, source.volumeNamespace);
  checkSecretRef(out, `${path}.secretRef`, source.secretRef, persistent);
}

/** Name of a CSI driver. */
export function checkDriverName(out: Errors, path: string, name: string): void {
  if (name === "") out.push(required(path));
  if (Buffer.byteLength(name) > driverBytesMax) out.push(tooLong(path, driverBytesMax));
  faults(out, path, name, isDns1123Subdomain(name.toLowerCase()));
}

/** csi in a pod. */
export function checkCsi(out: Errors, path: string, source: core.CSIVolumeSource): void {
  checkDriverName(out, `${path}.driver`, source.driver);
  const secret = source.nodePublishSecretRef;
  if (secret === undefined) return;
  if (empty(secret.name)) out.push(required(`${path}.nodePublishSecretRef.name`));
  else faults(out, `${path}.name`, secret.name, isDns1123Subdomain(secret.name));
}
