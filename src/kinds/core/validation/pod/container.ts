// Containers of a pod: regular, init and ephemeral ones.
import {
  duplicate,
  fieldNotFound,
  forbiddenField,
  invalid,
  notSupported,
  required,
} from "../../../../api/fielderror.ts";
import type {
  Container,
  ContainerPort,
  EphemeralContainer,
  EphemeralContainerCommon,
  PodSpec,
  VolumeDevice,
  VolumeMount,
} from "../../../../api/gen/core/v1.ts";
import { isPortName, isPortNumber } from "../../../formats.ts";
import {
  checkChoice,
  checkDescendingPath,
  checkLabel1123,
  type Errors,
  eachItem,
  empty,
  faults,
  isFull,
  portProtocols,
} from "../../../validation/check.ts";
import { checkEnv, checkEnvFrom } from "./env.ts";
import { checkLifecycle, checkProbe, checkSingleSuccess } from "./probe.ts";
import { checkResources } from "./resources.ts";
import type { PodRules } from "./rules.ts";
import { checkContainerSecurity } from "./security.ts";
import type { Volumes } from "./volume.ts";

const pullPolicies = ["Always", "IfNotPresent", "Never"];
const messagePolicies = ["File", "FallbackToLogsOnError"];
const propagations = ["Bidirectional", "HostToContainer", "None"];

/** Rules of the containers of a pod; there must be one. */
export function checkContainers(out: Errors, path: string, spec: PodSpec, volumes: Volumes, rules: PodRules): void {
  const containers = spec.containers ?? [];
  if (containers.length === 0) {
    out.push(required(path));
    return;
  }
  checkEach(out, path, containers, volumes, rules);
  checkHostPorts(out, path, containers);
}

/** Rules of the init containers; their names differ from those of the others. */
export function checkInitContainers(out: Errors, path: string, spec: PodSpec, volumes: Volumes, rules: PodRules): void {
  const containers = spec.initContainers ?? [];
  if (containers.length === 0) return;
  checkEach(out, path, containers, volumes, rules);
  // They run one after another, so each may use any port; upstream then reports all of them as the first.
  for (const container of containers) if (!isFull(out)) checkHostPorts(out, path, [container]);
  const names = new Set(spec.containers?.map((container) => container.name));
  eachItem(out, containers, path, (container, at) => {
    if (names.has(container.name)) out.push(duplicate(`${at}.name`, container.name));
    if (container.name !== "") names.add(container.name);
    for (const field of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const) {
      const value = container[field];
      if (value !== undefined) out.push(invalid(`${at}.${field}`, value, "must not be set for init containers"));
    }
  });
}

/** Rules of ephemeral containers: they serve looking into a pod, not running it. */
export function checkEphemeralContainers(
  out: Errors,
  path: string,
  spec: PodSpec,
  volumes: Volumes,
  rules: PodRules,
): void {
  if ((spec.ephemeralContainers?.length ?? 0) === 0) return;
  const names = new Set([...(spec.containers ?? []), ...(spec.initContainers ?? [])].map((other) => other.name));
  eachItem(out, spec.ephemeralContainers, path, (container, at) => {
    const target = container.targetContainerName;
    if (!empty(target) && !names.has(target)) out.push(fieldNotFound(`${at}.targetContainerName`, target));
    if (container.name === "") {
      out.push(required(at, "ephemeralContainer requires a name"));
      return;
    }
    // Upstream checks a list of this one, which puts an index into the paths.
    checkEach(out, at, [container], volumes, rules);
    checkHostPorts(out, at, [container]);
    checkImageSpaces(out, at, [container]);
    if (names.has(container.name)) out.push(duplicate(`${at}.name`, container.name));
    names.add(container.name);
    checkEphemeralFields(out, at, container);
  });
}

function checkEphemeralFields(out: Errors, path: string, container: EphemeralContainer): void {
  const why = "cannot be set for an Ephemeral Container";
  const { limits, requests } = container.resources;
  const refuse = (field: string, set: boolean): void => {
    if (set) out.push(forbiddenField(`${path}.${field}`, why));
  };
  refuse("ports", container.ports !== undefined);
  refuse("resources", limits !== undefined || requests !== undefined);
  for (const field of ["livenessProbe", "readinessProbe", "startupProbe", "lifecycle"] as const) {
    refuse(field, container[field] !== undefined);
  }
  eachItem(out, container.volumeMounts, `${path}.volumeMounts`, (mount, at) => {
    if (!empty(mount.subPath)) out.push(forbiddenField(`${at}.subPath`, why));
    if (!empty(mount.subPathExpr)) out.push(forbiddenField(`${at}.subPathExpr`, why));
  });
}

/** Pods, other than templates, may not have images with white space around them. */
export function checkImageSpaces(
  out: Errors,
  path: string,
  containers: readonly EphemeralContainerCommon[] = [],
): void {
  for (const [i, { image = "" }] of containers.entries()) {
    if (image.trim() === image || isFull(out)) continue;
    out.push(invalid(`${path}[${i}].image`, image, "must not have leading or trailing whitespace"));
  }
}

function checkEach(
  out: Errors,
  path: string,
  containers: readonly EphemeralContainerCommon[],
  volumes: Volumes,
  rules: PodRules,
): void {
  const names = new Set<string>();
  eachItem(out, containers, path, (container, at) => {
    if (container.name === "") out.push(required(`${at}.name`));
    else checkLabel1123(out, `${at}.name`, container.name);
    if (names.has(container.name)) out.push(duplicate(`${at}.name`, container.name));
    names.add(container.name);
    if (empty(container.image)) out.push(required(`${at}.image`));
    checkProbes(out, at, container);
    checkPorts(out, `${at}.ports`, container.ports);
    checkEnv(out, `${at}.env`, container.env);
    checkEnvFrom(out, `${at}.envFrom`, container.envFrom);
    if (container.volumeMounts !== undefined) checkMounts(out, `${at}.volumeMounts`, container, volumes);
    if (container.volumeDevices !== undefined) checkDevices(out, `${at}.volumeDevices`, container, volumes);
    checkChoice(out, `${at}.imagePullPolicy`, container.imagePullPolicy, pullPolicies);
    checkResources(out, `${at}.resources`, container.resources, rules.names, rules.keepsIndivisiblePages);
    checkContainerSecurity(out, `${at}.securityContext`, container.securityContext, rules.gates);
  });
}

/** The startup probe is checked twice by upstream, so its faults are there twice. */
function checkProbes(out: Errors, path: string, container: EphemeralContainerCommon): void {
  const { livenessProbe: liveness, readinessProbe: readiness, startupProbe: startup } = container;
  checkLifecycle(out, `${path}.lifecycle`, container.lifecycle);
  checkProbe(out, `${path}.livenessProbe`, liveness);
  const grace = readiness?.terminationGracePeriodSeconds;
  if (grace !== undefined) {
    const at = `${path}.readinessProbe.terminationGracePeriodSeconds`;
    out.push(invalid(at, grace, "must not be set for readinessProbes"));
  }
  checkProbe(out, `${path}.startupProbe`, startup);
  checkSingleSuccess(out, `${path}.livenessProbe`, liveness);
  checkProbe(out, `${path}.startupProbe`, startup);
  checkSingleSuccess(out, `${path}.startupProbe`, startup);
  const policy = container.terminationMessagePolicy;
  const why = "must be 'File' or 'FallbackToLogsOnError'";
  if (empty(policy)) out.push(required(`${path}.terminationMessagePolicy`, why));
  else if (!messagePolicies.includes(policy)) out.push(invalid(`${path}.terminationMessagePolicy`, policy, why));
  checkProbe(out, `${path}.readinessProbe`, readiness);
}

function checkPorts(out: Errors, path: string, ports: readonly ContainerPort[] | undefined): void {
  if (ports === undefined) return;
  const names = new Set<string>();
  eachItem(out, ports, path, (port, at) => {
    if (!empty(port.name)) {
      const wrong = isPortName(port.name);
      faults(out, `${at}.name`, port.name, wrong);
      if (wrong.length === 0 && names.has(port.name)) out.push(duplicate(`${at}.name`, port.name));
      if (wrong.length === 0) names.add(port.name);
    }
    if (port.containerPort === 0) out.push(required(`${at}.containerPort`));
    else faults(out, `${at}.containerPort`, port.containerPort, isPortNumber(port.containerPort));
    const hostPort = port.hostPort ?? 0;
    if (hostPort !== 0) faults(out, `${at}.hostPort`, hostPort, isPortNumber(hostPort));
    checkChoice(out, `${at}.protocol`, port.protocol, portProtocols);
  });
}

function checkHostPorts(out: Errors, path: string, containers: readonly EphemeralContainerCommon[]): void {
  const taken = new Set<string>();
  for (const [i, container] of containers.entries()) {
    for (const [j, port] of (container.ports ?? []).entries()) {
      if ((port.hostPort ?? 0) === 0 || isFull(out)) continue;
      const key = `${port.protocol ?? ""}/${port.hostIP ?? ""}/${port.hostPort}`;
      if (taken.has(key)) out.push(duplicate(`${path}[${i}].ports[${j}].hostPort`, key));
      taken.add(key);
    }
  }
}

function checkMounts(out: Errors, path: string, container: EphemeralContainerCommon, volumes: Volumes): void {
  const mountPaths = new Set<string>();
  const deviceNames = new Set(container.volumeDevices?.map((device) => device.name));
  const devicePaths = new Set(container.volumeDevices?.map((device) => device.devicePath));
  eachItem(out, container.volumeMounts, path, (mount, at) => {
    if (mount.name === "") out.push(required(`${at}.name`));
    if (!volumes.has(mount.name)) out.push(fieldNotFound(`${at}.name`, mount.name));
    if (mount.mountPath === "") out.push(required(`${at}.mountPath`));
    if (mountPaths.has(mount.mountPath)) out.push(invalid(`${at}.mountPath`, mount.mountPath, "must be unique"));
    mountPaths.add(mount.mountPath);
    if (deviceNames.has(mount.name)) {
      out.push(invalid(`${at}.name`, mount.name, "must not already exist in volumeDevices"));
    }
    if (devicePaths.has(mount.mountPath)) {
      const why = "must not already exist as a path in volumeDevices";
      out.push(invalid(`${at}.mountPath`, mount.mountPath, why));
    }
    checkMountDetails(out, path, at, mount, container);
  });
}

/** Sub-paths and propagation; some of these paths have no index: so upstream. */
function checkMountDetails(
  out: Errors,
  path: string,
  at: string,
  mount: VolumeMount,
  container: EphemeralContainerCommon,
): void {
  if (!empty(mount.subPath)) checkDescendingPath(out, `${path}.subPath`, mount.subPath);
  if (!empty(mount.subPathExpr)) {
    if (!empty(mount.subPath)) {
      const why = "subPathExpr and subPath are mutually exclusive";
      out.push(invalid(`${at}.subPathExpr`, mount.subPathExpr, why));
    }
    checkDescendingPath(out, `${path}.subPathExpr`, mount.subPathExpr);
  }
  const propagation = mount.mountPropagation;
  if (propagation === undefined) return;
  if (!propagations.includes(propagation)) {
    out.push(notSupported(`${path}.mountPropagation`, propagation, propagations));
  }
  if (propagation === "Bidirectional" && container.securityContext?.privileged !== true) {
    const why = "Bidirectional mount propagation is available only to privileged containers";
    out.push(forbiddenField(`${path}.mountPropagation`, why));
  }
}

function checkDevices(out: Errors, path: string, container: EphemeralContainerCommon, volumes: Volumes): void {
  const mountNames = new Set(container.volumeMounts?.map((mount) => mount.name));
  const mountPaths = new Set(container.volumeMounts?.map((mount) => mount.mountPath));
  const names = new Set<string>();
  const paths = new Set<string>();
  eachItem(out, container.volumeDevices, path, (device, at) => {
    checkDeviceVolume(out, at, device, volumes, names);
    if (device.name !== "") names.add(device.name);
    const { devicePath } = device;
    if (devicePath === "") out.push(required(`${at}.devicePath`));
    if (paths.has(devicePath)) out.push(invalid(`${at}.devicePath`, devicePath, "must be unique"));
    if (devicePath.split("/").includes("..")) {
      out.push(invalid(`${at}.devicePath`, devicePath, "can not contain backsteps ('..')"));
    } else paths.add(devicePath);
    if (mountNames.has(device.name)) {
      out.push(invalid(`${at}.name`, device.name, "must not already exist in volumeMounts"));
    }
    if (mountPaths.has(devicePath)) {
      out.push(invalid(`${at}.devicePath`, devicePath, "must not already exist as a path in volumeMounts"));
    }
  });
}

function checkDeviceVolume(
  out: Errors,
  path: string,
  { name }: VolumeDevice,
  volumes: Volumes,
  names: ReadonlySet<string>,
): void {
  const volume = volumes.get(name);
  if (name === "") out.push(required(`${path}.name`));
  if (names.has(name)) out.push(invalid(`${path}.name`, name, "must be unique"));
  if (volume === undefined) out.push(fieldNotFound(`${path}.name`, name));
  else if (volume.persistentVolumeClaim === undefined && volume.ephemeral === undefined) {
    const why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
    out.push(invalid(`${path}.name`, name, why));
  }
}

/** A change of containers: as many as before, with images. False ends the checks of the pod. */
export function checkContainerChange(
  out: Errors,
  path: string,
  containers: readonly Container[] = [],
  old: readonly Container[] = [],
): boolean {
  if (containers.length !== old.length) {
    out.push(forbiddenField(path, "pod updates may not add or remove containers"));
    return false;
  }
  for (const [i, { image }] of containers.entries()) {
    if (empty(image) && !isFull(out)) out.push(required(`${path}[${i}].image`));
  }
  checkImageSpaces(out, path, containers);
  return true;
}
