// Written by scripts/gen from proto/: do not edit.
import type { RawJson } from "../../schema.ts";
import type * as meta_v1 from "../meta/v1.ts";

/** core/v1.AWSElasticBlockStoreVolumeSource. */
export interface AWSElasticBlockStoreVolumeSource {
  volumeID: string;
  fsType?: string | undefined;
  partition?: number | undefined;
  readOnly?: boolean | undefined;
}

/** core/v1.Affinity. */
export interface Affinity {
  nodeAffinity?: NodeAffinity | undefined;
  podAffinity?: PodAffinity | undefined;
  podAntiAffinity?: PodAntiAffinity | undefined;
}

/** core/v1.AttachedVolume. */
export interface AttachedVolume {
  name: string;
  devicePath: string;
}

/** core/v1.AvoidPods. */
export interface AvoidPods {
  preferAvoidPods?: PreferAvoidPodsEntry[] | undefined;
}

/** core/v1.AzureDiskVolumeSource. */
export interface AzureDiskVolumeSource {
  diskName: string;
  diskURI: string;
  cachingMode?: string | undefined;
  fsType?: string | undefined;
  readOnly?: boolean | undefined;
  kind?: string | undefined;
}

/** core/v1.AzureFilePersistentVolumeSource. */
export interface AzureFilePersistentVolumeSource {
  secretName: string;
  shareName: string;
  readOnly?: boolean | undefined;
  secretNamespace?: string | undefined;
}

/** core/v1.AzureFileVolumeSource. */
export interface AzureFileVolumeSource {
  secretName: string;
  shareName: string;
  readOnly?: boolean | undefined;
}

/** core/v1.Binding. */
export interface Binding {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  target: ObjectReference;
}

/** core/v1.CSIPersistentVolumeSource. */
export interface CSIPersistentVolumeSource {
  driver: string;
  volumeHandle: string;
  readOnly?: boolean | undefined;
  fsType?: string | undefined;
  volumeAttributes?: Map<string, string> | undefined;
  controllerPublishSecretRef?: SecretReference | undefined;
  nodeStageSecretRef?: SecretReference | undefined;
  nodePublishSecretRef?: SecretReference | undefined;
  controllerExpandSecretRef?: SecretReference | undefined;
}

/** core/v1.CSIVolumeSource. */
export interface CSIVolumeSource {
  driver: string;
  readOnly?: boolean | undefined;
  fsType?: string | undefined;
  volumeAttributes?: Map<string, string> | undefined;
  nodePublishSecretRef?: LocalObjectReference | undefined;
}

/** core/v1.Capabilities. */
export interface Capabilities {
  add?: string[] | undefined;
  drop?: string[] | undefined;
}

/** core/v1.CephFSPersistentVolumeSource. */
export interface CephFSPersistentVolumeSource {
  monitors?: string[] | undefined;
  path?: string | undefined;
  user?: string | undefined;
  secretFile?: string | undefined;
  secretRef?: SecretReference | undefined;
  readOnly?: boolean | undefined;
}

/** core/v1.CephFSVolumeSource. */
export interface CephFSVolumeSource {
  monitors?: string[] | undefined;
  path?: string | undefined;
  user?: string | undefined;
  secretFile?: string | undefined;
  secretRef?: LocalObjectReference | undefined;
  readOnly?: boolean | undefined;
}

/** core/v1.CinderPersistentVolumeSource. */
export interface CinderPersistentVolumeSource {
  volumeID: string;
  fsType?: string | undefined;
  readOnly?: boolean | undefined;
  secretRef?: SecretReference | undefined;
}

/** core/v1.CinderVolumeSource. */
export interface CinderVolumeSource {
  volumeID: string;
  fsType?: string | undefined;
  readOnly?: boolean | undefined;
  secretRef?: LocalObjectReference | undefined;
}

/** core/v1.ClientIPConfig. */
export interface ClientIPConfig {
  timeoutSeconds?: number | undefined;
}

/** core/v1.ComponentCondition. */
export interface ComponentCondition {
  type: string;
  status: string;
  message?: string | undefined;
  error?: string | undefined;
}

/** core/v1.ComponentStatus. */
export interface ComponentStatus {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  conditions?: ComponentCondition[] | undefined;
}

/** core/v1.ComponentStatusList. */
export interface ComponentStatusList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: ComponentStatus[] | undefined;
}

/** core/v1.ConfigMap. */
export interface ConfigMap {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  immutable?: boolean | undefined;
  data?: Map<string, string> | undefined;
  binaryData?: Map<string, string | null> | undefined;
}

/** core/v1.ConfigMapEnvSource. */
export interface ConfigMapEnvSource extends LocalObjectReference {
  optional?: boolean | undefined;
}

/** core/v1.ConfigMapKeySelector. */
export interface ConfigMapKeySelector extends LocalObjectReference {
  key: string;
  optional?: boolean | undefined;
}

/** core/v1.ConfigMapList. */
export interface ConfigMapList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: ConfigMap[] | undefined;
}

/** core/v1.ConfigMapNodeConfigSource. */
export interface ConfigMapNodeConfigSource {
  namespace: string;
  name: string;
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  kubeletConfigKey: string;
}

/** core/v1.ConfigMapProjection. */
export interface ConfigMapProjection extends LocalObjectReference {
  items?: KeyToPath[] | undefined;
  optional?: boolean | undefined;
}

/** core/v1.ConfigMapVolumeSource. */
export interface ConfigMapVolumeSource extends LocalObjectReference {
  items?: KeyToPath[] | undefined;
  defaultMode?: number | undefined;
  optional?: boolean | undefined;
}

/** core/v1.Container. */
export interface Container {
  name: string;
  image?: string | undefined;
  command?: string[] | undefined;
  args?: string[] | undefined;
  workingDir?: string | undefined;
  ports?: ContainerPort[] | undefined;
  envFrom?: EnvFromSource[] | undefined;
  env?: EnvVar[] | undefined;
  resources: ResourceRequirements;
  volumeMounts?: VolumeMount[] | undefined;
  volumeDevices?: VolumeDevice[] | undefined;
  livenessProbe?: Probe | undefined;
  readinessProbe?: Probe | undefined;
  startupProbe?: Probe | undefined;
  lifecycle?: Lifecycle | undefined;
  terminationMessagePath?: string | undefined;
  terminationMessagePolicy?: string | undefined;
  imagePullPolicy?: string | undefined;
  securityContext?: SecurityContext | undefined;
  stdin?: boolean | undefined;
  stdinOnce?: boolean | undefined;
  tty?: boolean | undefined;
}

/** core/v1.ContainerImage. */
export interface ContainerImage {
  names?: string[] | undefined;
  sizeBytes?: number | bigint | undefined;
}

/** core/v1.ContainerPort. */
export interface ContainerPort {
  name?: string | undefined;
  hostPort?: number | undefined;
  containerPort: number;
  protocol?: string | undefined;
  hostIP?: string | undefined;
}

/** core/v1.ContainerState. */
export interface ContainerState {
  waiting?: ContainerStateWaiting | undefined;
  running?: ContainerStateRunning | undefined;
  terminated?: ContainerStateTerminated | undefined;
}

/** core/v1.ContainerStateRunning. */
export interface ContainerStateRunning {
  startedAt?: string | undefined;
}

/** core/v1.ContainerStateTerminated. */
export interface ContainerStateTerminated {
  exitCode: number;
  signal?: number | undefined;
  reason?: string | undefined;
  message?: string | undefined;
  startedAt?: string | undefined;
  finishedAt?: string | undefined;
  containerID?: string | undefined;
}

/** core/v1.ContainerStateWaiting. */
export interface ContainerStateWaiting {
  reason?: string | undefined;
  message?: string | undefined;
}

/** core/v1.ContainerStatus. */
export interface ContainerStatus {
  name: string;
  state: ContainerState;
  lastState: ContainerState;
  ready: boolean;
  restartCount: number;
  image: string;
  imageID: string;
  containerID?: string | undefined;
  started?: boolean | undefined;
}

/** core/v1.DaemonEndpoint. */
export interface DaemonEndpoint {
  Port: number;
}

/** core/v1.DownwardAPIProjection. */
export interface DownwardAPIProjection {
  items?: DownwardAPIVolumeFile[] | undefined;
}

/** core/v1.DownwardAPIVolumeFile. */
export interface DownwardAPIVolumeFile {
  path: string;
  fieldRef?: ObjectFieldSelector | undefined;
  resourceFieldRef?: ResourceFieldSelector | undefined;
  mode?: number | undefined;
}

/** core/v1.DownwardAPIVolumeSource. */
export interface DownwardAPIVolumeSource {
  items?: DownwardAPIVolumeFile[] | undefined;
  defaultMode?: number | undefined;
}

/** core/v1.EmptyDirVolumeSource. */
export interface EmptyDirVolumeSource {
  medium?: string | undefined;
  sizeLimit?: string | undefined;
}

/** core/v1.EndpointAddress. */
export interface EndpointAddress {
  ip: string;
  hostname?: string | undefined;
  nodeName?: string | undefined;
  targetRef?: ObjectReference | undefined;
}

/** core/v1.EndpointPort. */
export interface EndpointPort {
  name?: string | undefined;
  port: number;
  protocol?: string | undefined;
  appProtocol?: string | undefined;
}

/** core/v1.EndpointSubset. */
export interface EndpointSubset {
  addresses?: EndpointAddress[] | undefined;
  notReadyAddresses?: EndpointAddress[] | undefined;
  ports?: EndpointPort[] | undefined;
}

/** core/v1.Endpoints. */
export interface Endpoints {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  subsets?: EndpointSubset[] | undefined;
}

/** core/v1.EndpointsList. */
export interface EndpointsList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: Endpoints[] | undefined;
}

/** core/v1.EnvFromSource. */
export interface EnvFromSource {
  prefix?: string | undefined;
  configMapRef?: ConfigMapEnvSource | undefined;
  secretRef?: SecretEnvSource | undefined;
}

/** core/v1.EnvVar. */
export interface EnvVar {
  name: string;
  value?: string | undefined;
  valueFrom?: EnvVarSource | undefined;
}

/** core/v1.EnvVarSource. */
export interface EnvVarSource {
  fieldRef?: ObjectFieldSelector | undefined;
  resourceFieldRef?: ResourceFieldSelector | undefined;
  configMapKeyRef?: ConfigMapKeySelector | undefined;
  secretKeyRef?: SecretKeySelector | undefined;
}

/** core/v1.EphemeralContainer. */
export interface EphemeralContainer extends EphemeralContainerCommon {
  targetContainerName?: string | undefined;
}

/** core/v1.EphemeralContainerCommon. */
export interface EphemeralContainerCommon {
  name: string;
  image?: string | undefined;
  command?: string[] | undefined;
  args?: string[] | undefined;
  workingDir?: string | undefined;
  ports?: ContainerPort[] | undefined;
  envFrom?: EnvFromSource[] | undefined;
  env?: EnvVar[] | undefined;
  resources: ResourceRequirements;
  volumeMounts?: VolumeMount[] | undefined;
  volumeDevices?: VolumeDevice[] | undefined;
  livenessProbe?: Probe | undefined;
  readinessProbe?: Probe | undefined;
  startupProbe?: Probe | undefined;
  lifecycle?: Lifecycle | undefined;
  terminationMessagePath?: string | undefined;
  terminationMessagePolicy?: string | undefined;
  imagePullPolicy?: string | undefined;
  securityContext?: SecurityContext | undefined;
  stdin?: boolean | undefined;
  stdinOnce?: boolean | undefined;
  tty?: boolean | undefined;
}

/** core/v1.EphemeralVolumeSource. */
export interface EphemeralVolumeSource {
  volumeClaimTemplate?: PersistentVolumeClaimTemplate | undefined;
}

/** core/v1.Event. */
export interface Event {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  involvedObject: ObjectReference;
  reason?: string | undefined;
  message?: string | undefined;
  source: EventSource;
  firstTimestamp?: string | undefined;
  lastTimestamp?: string | undefined;
  count?: number | undefined;
  type?: string | undefined;
  eventTime?: string | undefined;
  series?: EventSeries | undefined;
  action?: string | undefined;
  related?: ObjectReference | undefined;
  reportingComponent: string;
  reportingInstance: string;
}

/** core/v1.EventList. */
export interface EventList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: Event[] | undefined;
}

/** core/v1.EventSeries. */
export interface EventSeries {
  count?: number | undefined;
  lastObservedTime?: string | undefined;
}

/** core/v1.EventSource. */
export interface EventSource {
  component?: string | undefined;
  host?: string | undefined;
}

/** core/v1.ExecAction. */
export interface ExecAction {
  command?: string[] | undefined;
}

/** core/v1.FCVolumeSource. */
export interface FCVolumeSource {
  targetWWNs?: string[] | undefined;
  lun?: number | undefined;
  fsType?: string | undefined;
  readOnly?: boolean | undefined;
  wwids?: string[] | undefined;
}

/** core/v1.FlexPersistentVolumeSource. */
export interface FlexPersistentVolumeSource {
  driver: string;
  fsType?: string | undefined;
  secretRef?: SecretReference | undefined;
  readOnly?: boolean | undefined;
  options?: Map<string, string> | undefined;
}

/** core/v1.FlexVolumeSource. */
export interface FlexVolumeSource {
  driver: string;
  fsType?: string | undefined;
  secretRef?: LocalObjectReference | undefined;
  readOnly?: boolean | undefined;
  options?: Map<string, string> | undefined;
}

/** core/v1.FlockerVolumeSource. */
export interface FlockerVolumeSource {
  datasetName?: string | undefined;
  datasetUUID?: string | undefined;
}

/** core/v1.GCEPersistentDiskVolumeSource. */
export interface GCEPersistentDiskVolumeSource {
  pdName: string;
  fsType?: string | undefined;
  partition?: number | undefined;
  readOnly?: boolean | undefined;
}

/** core/v1.GRPCAction. */
export interface GRPCAction {
  port: number;
  service?: string | undefined;
}

/** core/v1.GitRepoVolumeSource. */
export interface GitRepoVolumeSource {
  repository: string;
  revision?: string | undefined;
  directory?: string | undefined;
}

/** core/v1.GlusterfsPersistentVolumeSource. */
export interface GlusterfsPersistentVolumeSource {
  endpoints: string;
  path: string;
  readOnly?: boolean | undefined;
  endpointsNamespace?: string | undefined;
}

/** core/v1.GlusterfsVolumeSource. */
export interface GlusterfsVolumeSource {
  endpoints: string;
  path: string;
  readOnly?: boolean | undefined;
}

/** core/v1.HTTPGetAction. */
export interface HTTPGetAction {
  path?: string | undefined;
  port: number | string;
  host?: string | undefined;
  scheme?: string | undefined;
  httpHeaders?: HTTPHeader[] | undefined;
}

/** core/v1.HTTPHeader. */
export interface HTTPHeader {
  name: string;
  value: string;
}

/** core/v1.HostAlias. */
export interface HostAlias {
  ip?: string | undefined;
  hostnames?: string[] | undefined;
}

/** core/v1.HostPathVolumeSource. */
export interface HostPathVolumeSource {
  path: string;
  type?: string | undefined;
}

/** core/v1.ISCSIPersistentVolumeSource. */
export interface ISCSIPersistentVolumeSource {
  targetPortal: string;
  iqn: string;
  lun: number;
  iscsiInterface?: string | undefined;
  fsType?: string | undefined;
  readOnly?: boolean | undefined;
  portals?: string[] | undefined;
  chapAuthDiscovery?: boolean | undefined;
  chapAuthSession?: boolean | undefined;
  secretRef?: SecretReference | undefined;
  initiatorName?: string | undefined;
}

/** core/v1.ISCSIVolumeSource. */
export interface ISCSIVolumeSource {
  targetPortal: string;
  iqn: string;
  lun: number;
  iscsiInterface?: string | undefined;
  fsType?: string | undefined;
  readOnly?: boolean | undefined;
  portals?: string[] | undefined;
  chapAuthDiscovery?: boolean | undefined;
  chapAuthSession?: boolean | undefined;
  secretRef?: LocalObjectReference | undefined;
  initiatorName?: string | undefined;
}

/** core/v1.KeyToPath. */
export interface KeyToPath {
  key: string;
  path: string;
  mode?: number | undefined;
}

/** core/v1.Lifecycle. */
export interface Lifecycle {
  postStart?: LifecycleHandler | undefined;
  preStop?: LifecycleHandler | undefined;
}

/** core/v1.LifecycleHandler. */
export interface LifecycleHandler {
  exec?: ExecAction | undefined;
  httpGet?: HTTPGetAction | undefined;
  tcpSocket?: TCPSocketAction | undefined;
}

/** core/v1.LimitRange. */
export interface LimitRange {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: LimitRangeSpec;
}

/** core/v1.LimitRangeItem. */
export interface LimitRangeItem {
  type: string;
  max?: Map<string, string> | undefined;
  min?: Map<string, string> | undefined;
  default?: Map<string, string> | undefined;
  defaultRequest?: Map<string, string> | undefined;
  maxLimitRequestRatio?: Map<string, string> | undefined;
}

/** core/v1.LimitRangeList. */
export interface LimitRangeList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: LimitRange[] | undefined;
}

/** core/v1.LimitRangeSpec. */
export interface LimitRangeSpec {
  limits?: LimitRangeItem[] | undefined;
}

/** core/v1.List. */
export interface List {
  metadata: meta_v1.ListMeta;
  items?: RawJson[] | undefined;
}

/** core/v1.LoadBalancerIngress. */
export interface LoadBalancerIngress {
  ip?: string | undefined;
  hostname?: string | undefined;
  ports?: PortStatus[] | undefined;
}

/** core/v1.LoadBalancerStatus. */
export interface LoadBalancerStatus {
  ingress?: LoadBalancerIngress[] | undefined;
}

/** core/v1.LocalObjectReference. */
export interface LocalObjectReference {
  name?: string | undefined;
}

/** core/v1.LocalVolumeSource. */
export interface LocalVolumeSource {
  path: string;
  fsType?: string | undefined;
}

/** core/v1.NFSVolumeSource. */
export interface NFSVolumeSource {
  server: string;
  path: string;
  readOnly?: boolean | undefined;
}

/** core/v1.Namespace. */
export interface Namespace {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: NamespaceSpec;
  status: NamespaceStatus;
}

/** core/v1.NamespaceCondition. */
export interface NamespaceCondition {
  type: string;
  status: string;
  lastTransitionTime?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
}

/** core/v1.NamespaceList. */
export interface NamespaceList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: Namespace[] | undefined;
}

/** core/v1.NamespaceSpec. */
export interface NamespaceSpec {
  finalizers?: string[] | undefined;
}

/** core/v1.NamespaceStatus. */
export interface NamespaceStatus {
  phase?: string | undefined;
  conditions?: NamespaceCondition[] | undefined;
}

/** core/v1.Node. */
export interface Node {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: NodeSpec;
  status: NodeStatus;
}

/** core/v1.NodeAddress. */
export interface NodeAddress {
  type: string;
  address: string;
}

/** core/v1.NodeAffinity. */
export interface NodeAffinity {
  requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector | undefined;
  preferredDuringSchedulingIgnoredDuringExecution?: PreferredSchedulingTerm[] | undefined;
}

/** core/v1.NodeCondition. */
export interface NodeCondition {
  type: string;
  status: string;
  lastHeartbeatTime?: string | undefined;
  lastTransitionTime?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
}

/** core/v1.NodeConfigSource. */
export interface NodeConfigSource {
  configMap?: ConfigMapNodeConfigSource | undefined;
}

/** core/v1.NodeConfigStatus. */
export interface NodeConfigStatus {
  assigned?: NodeConfigSource | undefined;
  active?: NodeConfigSource | undefined;
  lastKnownGood?: NodeConfigSource | undefined;
  error?: string | undefined;
}

/** core/v1.NodeDaemonEndpoints. */
export interface NodeDaemonEndpoints {
  kubeletEndpoint: DaemonEndpoint;
}

/** core/v1.NodeList. */
export interface NodeList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: Node[] | undefined;
}

/** core/v1.NodeProxyOptions. */
export interface NodeProxyOptions {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  path?: string | undefined;
}

/** core/v1.NodeResources. */
export interface NodeResources {
  capacity?: Map<string, string> | undefined;
}

/** core/v1.NodeSelector. */
export interface NodeSelector {
  nodeSelectorTerms?: NodeSelectorTerm[] | undefined;
}

/** core/v1.NodeSelectorRequirement. */
export interface NodeSelectorRequirement {
  key: string;
  operator: string;
  values?: string[] | undefined;
}

/** core/v1.NodeSelectorTerm. */
export interface NodeSelectorTerm {
  matchExpressions?: NodeSelectorRequirement[] | undefined;
  matchFields?: NodeSelectorRequirement[] | undefined;
}

/** core/v1.NodeSpec. */
export interface NodeSpec {
  podCIDR?: string | undefined;
  podCIDRs?: string[] | undefined;
  providerID?: string | undefined;
  unschedulable?: boolean | undefined;
  taints?: Taint[] | undefined;
  configSource?: NodeConfigSource | undefined;
  externalID?: string | undefined;
}

/** core/v1.NodeStatus. */
export interface NodeStatus {
  capacity?: Map<string, string> | undefined;
  allocatable?: Map<string, string> | undefined;
  phase?: string | undefined;
  conditions?: NodeCondition[] | undefined;
  addresses?: NodeAddress[] | undefined;
  daemonEndpoints: NodeDaemonEndpoints;
  nodeInfo: NodeSystemInfo;
  images?: ContainerImage[] | undefined;
  volumesInUse?: string[] | undefined;
  volumesAttached?: AttachedVolume[] | undefined;
  config?: NodeConfigStatus | undefined;
}

/** core/v1.NodeSystemInfo. */
export interface NodeSystemInfo {
  machineID: string;
  systemUUID: string;
  bootID: string;
  kernelVersion: string;
  osImage: string;
  containerRuntimeVersion: string;
  kubeletVersion: string;
  kubeProxyVersion: string;
  operatingSystem: string;
  architecture: string;
}

/** core/v1.ObjectFieldSelector. */
export interface ObjectFieldSelector {
  apiVersion?: string | undefined;
  fieldPath: string;
}

/** core/v1.ObjectReference. */
export interface ObjectReference {
  kind?: string | undefined;
  namespace?: string | undefined;
  name?: string | undefined;
  uid?: string | undefined;
  apiVersion?: string | undefined;
  resourceVersion?: string | undefined;
  fieldPath?: string | undefined;
}

/** core/v1.PersistentVolume. */
export interface PersistentVolume {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: PersistentVolumeSpec;
  status: PersistentVolumeStatus;
}

/** core/v1.PersistentVolumeClaim. */
export interface PersistentVolumeClaim {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: PersistentVolumeClaimSpec;
  status: PersistentVolumeClaimStatus;
}

/** core/v1.PersistentVolumeClaimCondition. */
export interface PersistentVolumeClaimCondition {
  type: string;
  status: string;
  lastProbeTime?: string | undefined;
  lastTransitionTime?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
}

/** core/v1.PersistentVolumeClaimList. */
export interface PersistentVolumeClaimList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: PersistentVolumeClaim[] | undefined;
}

/** core/v1.PersistentVolumeClaimSpec. */
export interface PersistentVolumeClaimSpec {
  accessModes?: string[] | undefined;
  selector?: meta_v1.LabelSelector | undefined;
  resources: ResourceRequirements;
  volumeName?: string | undefined;
  storageClassName?: string | undefined;
  volumeMode?: string | undefined;
  dataSource?: TypedLocalObjectReference | undefined;
  dataSourceRef?: TypedLocalObjectReference | undefined;
}

/** core/v1.PersistentVolumeClaimStatus. */
export interface PersistentVolumeClaimStatus {
  phase?: string | undefined;
  accessModes?: string[] | undefined;
  capacity?: Map<string, string> | undefined;
  conditions?: PersistentVolumeClaimCondition[] | undefined;
  allocatedResources?: Map<string, string> | undefined;
  resizeStatus?: string | undefined;
}

/** core/v1.PersistentVolumeClaimTemplate. */
export interface PersistentVolumeClaimTemplate {
  metadata: meta_v1.ObjectMeta;
  spec: PersistentVolumeClaimSpec;
}

/** core/v1.PersistentVolumeClaimVolumeSource. */
export interface PersistentVolumeClaimVolumeSource {
  claimName: string;
  readOnly?: boolean | undefined;
}

/** core/v1.PersistentVolumeList. */
export interface PersistentVolumeList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: PersistentVolume[] | undefined;
}

/** core/v1.PersistentVolumeSource. */
export interface PersistentVolumeSource {
  gcePersistentDisk?: GCEPersistentDiskVolumeSource | undefined;
  awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource | undefined;
  hostPath?: HostPathVolumeSource | undefined;
  glusterfs?: GlusterfsPersistentVolumeSource | undefined;
  nfs?: NFSVolumeSource | undefined;
  rbd?: RBDPersistentVolumeSource | undefined;
  iscsi?: ISCSIPersistentVolumeSource | undefined;
  cinder?: CinderPersistentVolumeSource | undefined;
  cephfs?: CephFSPersistentVolumeSource | undefined;
  fc?: FCVolumeSource | undefined;
  flocker?: FlockerVolumeSource | undefined;
  flexVolume?: FlexPersistentVolumeSource | undefined;
  azureFile?: AzureFilePersistentVolumeSource | undefined;
  vsphereVolume?: VsphereVirtualDiskVolumeSource | undefined;
  quobyte?: QuobyteVolumeSource | undefined;
  azureDisk?: AzureDiskVolumeSource | undefined;
  photonPersistentDisk?: PhotonPersistentDiskVolumeSource | undefined;
  portworxVolume?: PortworxVolumeSource | undefined;
  scaleIO?: ScaleIOPersistentVolumeSource | undefined;
  local?: LocalVolumeSource | undefined;
  storageos?: StorageOSPersistentVolumeSource | undefined;
  csi?: CSIPersistentVolumeSource | undefined;
}

/** core/v1.PersistentVolumeSpec. */
export interface PersistentVolumeSpec extends PersistentVolumeSource {
  capacity?: Map<string, string> | undefined;
  accessModes?: string[] | undefined;
  claimRef?: ObjectReference | undefined;
  persistentVolumeReclaimPolicy?: string | undefined;
  storageClassName?: string | undefined;
  mountOptions?: string[] | undefined;
  volumeMode?: string | undefined;
  nodeAffinity?: VolumeNodeAffinity | undefined;
}

/** core/v1.PersistentVolumeStatus. */
export interface PersistentVolumeStatus {
  phase?: string | undefined;
  message?: string | undefined;
  reason?: string | undefined;
}

/** core/v1.PhotonPersistentDiskVolumeSource. */
export interface PhotonPersistentDiskVolumeSource {
  pdID: string;
  fsType?: string | undefined;
}

/** core/v1.Pod. */
export interface Pod {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: PodSpec;
  status: PodStatus;
}

/** core/v1.PodAffinity. */
export interface PodAffinity {
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[] | undefined;
  preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[] | undefined;
}

/** core/v1.PodAffinityTerm. */
export interface PodAffinityTerm {
  labelSelector?: meta_v1.LabelSelector | undefined;
  namespaces?: string[] | undefined;
  topologyKey: string;
  namespaceSelector?: meta_v1.LabelSelector | undefined;
}

/** core/v1.PodAntiAffinity. */
export interface PodAntiAffinity {
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[] | undefined;
  preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[] | undefined;
}

/** core/v1.PodAttachOptions. */
export interface PodAttachOptions {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  stdin?: boolean | undefined;
  stdout?: boolean | undefined;
  stderr?: boolean | undefined;
  tty?: boolean | undefined;
  container?: string | undefined;
}

/** core/v1.PodCondition. */
export interface PodCondition {
  type: string;
  status: string;
  lastProbeTime?: string | undefined;
  lastTransitionTime?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
}

/** core/v1.PodDNSConfig. */
export interface PodDNSConfig {
  nameservers?: string[] | undefined;
  searches?: string[] | undefined;
  options?: PodDNSConfigOption[] | undefined;
}

/** core/v1.PodDNSConfigOption. */
export interface PodDNSConfigOption {
  name?: string | undefined;
  value?: string | undefined;
}

/** core/v1.PodExecOptions. */
export interface PodExecOptions {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  stdin?: boolean | undefined;
  stdout?: boolean | undefined;
  stderr?: boolean | undefined;
  tty?: boolean | undefined;
  container?: string | undefined;
  command?: string[] | undefined;
}

/** core/v1.PodIP. */
export interface PodIP {
  ip?: string | undefined;
}

/** core/v1.PodList. */
export interface PodList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: Pod[] | undefined;
}

/** core/v1.PodLogOptions. */
export interface PodLogOptions {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  container?: string | undefined;
  follow?: boolean | undefined;
  previous?: boolean | undefined;
  sinceSeconds?: number | bigint | undefined;
  sinceTime?: string | undefined;
  timestamps?: boolean | undefined;
  tailLines?: number | bigint | undefined;
  limitBytes?: number | bigint | undefined;
  insecureSkipTLSVerifyBackend?: boolean | undefined;
}

/** core/v1.PodOS. */
export interface PodOS {
  name: string;
}

/** core/v1.PodPortForwardOptions. */
export interface PodPortForwardOptions {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  ports?: number[] | undefined;
}

/** core/v1.PodProxyOptions. */
export interface PodProxyOptions {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  path?: string | undefined;
}

/** core/v1.PodReadinessGate. */
export interface PodReadinessGate {
  conditionType: string;
}

/** core/v1.PodSecurityContext. */
export interface PodSecurityContext {
  seLinuxOptions?: SELinuxOptions | undefined;
  windowsOptions?: WindowsSecurityContextOptions | undefined;
  runAsUser?: number | bigint | undefined;
  runAsGroup?: number | bigint | undefined;
  runAsNonRoot?: boolean | undefined;
  supplementalGroups?: (number | bigint)[] | undefined;
  fsGroup?: number | bigint | undefined;
  sysctls?: Sysctl[] | undefined;
  fsGroupChangePolicy?: string | undefined;
  seccompProfile?: SeccompProfile | undefined;
}

/** core/v1.PodSignature. */
export interface PodSignature {
  podController?: meta_v1.OwnerReference | undefined;
}

/** core/v1.PodSpec. */
export interface PodSpec {
  volumes?: Volume[] | undefined;
  initContainers?: Container[] | undefined;
  containers?: Container[] | undefined;
  ephemeralContainers?: EphemeralContainer[] | undefined;
  restartPolicy?: string | undefined;
  terminationGracePeriodSeconds?: number | bigint | undefined;
  activeDeadlineSeconds?: number | bigint | undefined;
  dnsPolicy?: string | undefined;
  nodeSelector?: Map<string, string> | undefined;
  serviceAccountName?: string | undefined;
  serviceAccount?: string | undefined;
  automountServiceAccountToken?: boolean | undefined;
  nodeName?: string | undefined;
  hostNetwork?: boolean | undefined;
  hostPID?: boolean | undefined;
  hostIPC?: boolean | undefined;
  shareProcessNamespace?: boolean | undefined;
  securityContext?: PodSecurityContext | undefined;
  imagePullSecrets?: LocalObjectReference[] | undefined;
  hostname?: string | undefined;
  subdomain?: string | undefined;
  affinity?: Affinity | undefined;
  schedulerName?: string | undefined;
  tolerations?: Toleration[] | undefined;
  hostAliases?: HostAlias[] | undefined;
  priorityClassName?: string | undefined;
  priority?: number | undefined;
  dnsConfig?: PodDNSConfig | undefined;
  readinessGates?: PodReadinessGate[] | undefined;
  runtimeClassName?: string | undefined;
  enableServiceLinks?: boolean | undefined;
  preemptionPolicy?: string | undefined;
  overhead?: Map<string, string> | undefined;
  topologySpreadConstraints?: TopologySpreadConstraint[] | undefined;
  setHostnameAsFQDN?: boolean | undefined;
  os?: PodOS | undefined;
}

/** core/v1.PodStatus. */
export interface PodStatus {
  phase?: string | undefined;
  conditions?: PodCondition[] | undefined;
  message?: string | undefined;
  reason?: string | undefined;
  nominatedNodeName?: string | undefined;
  hostIP?: string | undefined;
  podIP?: string | undefined;
  podIPs?: PodIP[] | undefined;
  startTime?: string | undefined;
  initContainerStatuses?: ContainerStatus[] | undefined;
  containerStatuses?: ContainerStatus[] | undefined;
  qosClass?: string | undefined;
  ephemeralContainerStatuses?: ContainerStatus[] | undefined;
}

/** core/v1.PodStatusResult. */
export interface PodStatusResult {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  status: PodStatus;
}

/** core/v1.PodTemplate. */
export interface PodTemplate {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  template: PodTemplateSpec;
}

/** core/v1.PodTemplateList. */
export interface PodTemplateList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: PodTemplate[] | undefined;
}

/** core/v1.PodTemplateSpec. */
export interface PodTemplateSpec {
  metadata: meta_v1.ObjectMeta;
  spec: PodSpec;
}

/** core/v1.PortStatus. */
export interface PortStatus {
  port: number;
  protocol: string;
  error?: string | undefined;
}

/** core/v1.PortworxVolumeSource. */
export interface PortworxVolumeSource {
  volumeID: string;
  fsType?: string | undefined;
  readOnly?: boolean | undefined;
}

/** core/v1.Preconditions. */
export interface Preconditions {
  uid?: string | undefined;
}

/** core/v1.PreferAvoidPodsEntry. */
export interface PreferAvoidPodsEntry {
  podSignature: PodSignature;
  evictionTime?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
}

/** core/v1.PreferredSchedulingTerm. */
export interface PreferredSchedulingTerm {
  weight: number;
  preference: NodeSelectorTerm;
}

/** core/v1.Probe. */
export interface Probe extends ProbeHandler {
  initialDelaySeconds?: number | undefined;
  timeoutSeconds?: number | undefined;
  periodSeconds?: number | undefined;
  successThreshold?: number | undefined;
  failureThreshold?: number | undefined;
  terminationGracePeriodSeconds?: number | bigint | undefined;
}

/** core/v1.ProbeHandler. */
export interface ProbeHandler {
  exec?: ExecAction | undefined;
  httpGet?: HTTPGetAction | undefined;
  tcpSocket?: TCPSocketAction | undefined;
  grpc?: GRPCAction | undefined;
}

/** core/v1.ProjectedVolumeSource. */
export interface ProjectedVolumeSource {
  sources?: VolumeProjection[] | undefined;
  defaultMode?: number | undefined;
}

/** core/v1.QuobyteVolumeSource. */
export interface QuobyteVolumeSource {
  registry: string;
  volume: string;
  readOnly?: boolean | undefined;
  user?: string | undefined;
  group?: string | undefined;
  tenant?: string | undefined;
}

/** core/v1.RBDPersistentVolumeSource. */
export interface RBDPersistentVolumeSource {
  monitors?: string[] | undefined;
  image: string;
  fsType?: string | undefined;
  pool?: string | undefined;
  user?: string | undefined;
  keyring?: string | undefined;
  secretRef?: SecretReference | undefined;
  readOnly?: boolean | undefined;
}

/** core/v1.RBDVolumeSource. */
export interface RBDVolumeSource {
  monitors?: string[] | undefined;
  image: string;
  fsType?: string | undefined;
  pool?: string | undefined;
  user?: string | undefined;
  keyring?: string | undefined;
  secretRef?: LocalObjectReference | undefined;
  readOnly?: boolean | undefined;
}

/** core/v1.RangeAllocation. */
export interface RangeAllocation {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  range: string;
  data?: string | undefined;
}

/** core/v1.ReplicationController. */
export interface ReplicationController {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: ReplicationControllerSpec;
  status: ReplicationControllerStatus;
}

/** core/v1.ReplicationControllerCondition. */
export interface ReplicationControllerCondition {
  type: string;
  status: string;
  lastTransitionTime?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
}

/** core/v1.ReplicationControllerList. */
export interface ReplicationControllerList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: ReplicationController[] | undefined;
}

/** core/v1.ReplicationControllerSpec. */
export interface ReplicationControllerSpec {
  replicas?: number | undefined;
  minReadySeconds?: number | undefined;
  selector?: Map<string, string> | undefined;
  template?: PodTemplateSpec | undefined;
}

/** core/v1.ReplicationControllerStatus. */
export interface ReplicationControllerStatus {
  replicas: number;
  fullyLabeledReplicas?: number | undefined;
  readyReplicas?: number | undefined;
  availableReplicas?: number | undefined;
  observedGeneration?: number | bigint | undefined;
  conditions?: ReplicationControllerCondition[] | undefined;
}

/** core/v1.ResourceFieldSelector. */
export interface ResourceFieldSelector {
  containerName?: string | undefined;
  resource: string;
  divisor: string;
}

/** core/v1.ResourceQuota. */
export interface ResourceQuota {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: ResourceQuotaSpec;
  status: ResourceQuotaStatus;
}

/** core/v1.ResourceQuotaList. */
export interface ResourceQuotaList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: ResourceQuota[] | undefined;
}

/** core/v1.ResourceQuotaSpec. */
export interface ResourceQuotaSpec {
  hard?: Map<string, string> | undefined;
  scopes?: string[] | undefined;
  scopeSelector?: ScopeSelector | undefined;
}

/** core/v1.ResourceQuotaStatus. */
export interface ResourceQuotaStatus {
  hard?: Map<string, string> | undefined;
  used?: Map<string, string> | undefined;
}

/** core/v1.ResourceRequirements. */
export interface ResourceRequirements {
  limits?: Map<string, string> | undefined;
  requests?: Map<string, string> | undefined;
}

/** core/v1.SELinuxOptions. */
export interface SELinuxOptions {
  user?: string | undefined;
  role?: string | undefined;
  type?: string | undefined;
  level?: string | undefined;
}

/** core/v1.ScaleIOPersistentVolumeSource. */
export interface ScaleIOPersistentVolumeSource {
  gateway: string;
  system: string;
  secretRef?: SecretReference | undefined;
  sslEnabled?: boolean | undefined;
  protectionDomain?: string | undefined;
  storagePool?: string | undefined;
  storageMode?: string | undefined;
  volumeName?: string | undefined;
  fsType?: string | undefined;
  readOnly?: boolean | undefined;
}

/** core/v1.ScaleIOVolumeSource. */
export interface ScaleIOVolumeSource {
  gateway: string;
  system: string;
  secretRef?: LocalObjectReference | undefined;
  sslEnabled?: boolean | undefined;
  protectionDomain?: string | undefined;
  storagePool?: string | undefined;
  storageMode?: string | undefined;
  volumeName?: string | undefined;
  fsType?: string | undefined;
  readOnly?: boolean | undefined;
}

/** core/v1.ScopeSelector. */
export interface ScopeSelector {
  matchExpressions?: ScopedResourceSelectorRequirement[] | undefined;
}

/** core/v1.ScopedResourceSelectorRequirement. */
export interface ScopedResourceSelectorRequirement {
  scopeName: string;
  operator: string;
  values?: string[] | undefined;
}

/** core/v1.SeccompProfile. */
export interface SeccompProfile {
  type: string;
  localhostProfile?: string | undefined;
}

/** core/v1.Secret. */
export interface Secret {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  immutable?: boolean | undefined;
  data?: Map<string, string | null> | undefined;
  stringData?: Map<string, string> | undefined;
  type?: string | undefined;
}

/** core/v1.SecretEnvSource. */
export interface SecretEnvSource extends LocalObjectReference {
  optional?: boolean | undefined;
}

/** core/v1.SecretKeySelector. */
export interface SecretKeySelector extends LocalObjectReference {
  key: string;
  optional?: boolean | undefined;
}

/** core/v1.SecretList. */
export interface SecretList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: Secret[] | undefined;
}

/** core/v1.SecretProjection. */
export interface SecretProjection extends LocalObjectReference {
  items?: KeyToPath[] | undefined;
  optional?: boolean | undefined;
}

/** core/v1.SecretReference. */
export interface SecretReference {
  name?: string | undefined;
  namespace?: string | undefined;
}

/** core/v1.SecretVolumeSource. */
export interface SecretVolumeSource {
  secretName?: string | undefined;
  items?: KeyToPath[] | undefined;
  defaultMode?: number | undefined;
  optional?: boolean | undefined;
}

/** core/v1.SecurityContext. */
export interface SecurityContext {
  capabilities?: Capabilities | undefined;
  privileged?: boolean | undefined;
  seLinuxOptions?: SELinuxOptions | undefined;
  windowsOptions?: WindowsSecurityContextOptions | undefined;
  runAsUser?: number | bigint | undefined;
  runAsGroup?: number | bigint | undefined;
  runAsNonRoot?: boolean | undefined;
  readOnlyRootFilesystem?: boolean | undefined;
  allowPrivilegeEscalation?: boolean | undefined;
  procMount?: string | undefined;
  seccompProfile?: SeccompProfile | undefined;
}

/** core/v1.SerializedReference. */
export interface SerializedReference {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  reference: ObjectReference;
}

/** core/v1.Service. */
export interface Service {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: ServiceSpec;
  status: ServiceStatus;
}

/** core/v1.ServiceAccount. */
export interface ServiceAccount {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  secrets?: ObjectReference[] | undefined;
  imagePullSecrets?: LocalObjectReference[] | undefined;
  automountServiceAccountToken?: boolean | undefined;
}

/** core/v1.ServiceAccountList. */
export interface ServiceAccountList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: ServiceAccount[] | undefined;
}

/** core/v1.ServiceAccountTokenProjection. */
export interface ServiceAccountTokenProjection {
  audience?: string | undefined;
  expirationSeconds?: number | bigint | undefined;
  path: string;
}

/** core/v1.ServiceList. */
export interface ServiceList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: Service[] | undefined;
}

/** core/v1.ServicePort. */
export interface ServicePort {
  name?: string | undefined;
  protocol?: string | undefined;
  appProtocol?: string | undefined;
  port: number;
  targetPort: number | string;
  nodePort?: number | undefined;
}

/** core/v1.ServiceProxyOptions. */
export interface ServiceProxyOptions {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  path?: string | undefined;
}

/** core/v1.ServiceSpec. */
export interface ServiceSpec {
  ports?: ServicePort[] | undefined;
  selector?: Map<string, string> | undefined;
  clusterIP?: string | undefined;
  clusterIPs?: string[] | undefined;
  type?: string | undefined;
  externalIPs?: string[] | undefined;
  sessionAffinity?: string | undefined;
  loadBalancerIP?: string | undefined;
  loadBalancerSourceRanges?: string[] | undefined;
  externalName?: string | undefined;
  externalTrafficPolicy?: string | undefined;
  healthCheckNodePort?: number | undefined;
  publishNotReadyAddresses?: boolean | undefined;
  sessionAffinityConfig?: SessionAffinityConfig | undefined;
  ipFamilies?: string[] | undefined;
  ipFamilyPolicy?: string | undefined;
  allocateLoadBalancerNodePorts?: boolean | undefined;
  loadBalancerClass?: string | undefined;
  internalTrafficPolicy?: string | undefined;
}

/** core/v1.ServiceStatus. */
export interface ServiceStatus {
  loadBalancer: LoadBalancerStatus;
  conditions?: meta_v1.Condition[] | undefined;
}

/** core/v1.SessionAffinityConfig. */
export interface SessionAffinityConfig {
  clientIP?: ClientIPConfig | undefined;
}

/** core/v1.StorageOSPersistentVolumeSource. */
export interface StorageOSPersistentVolumeSource {
  volumeName?: string | undefined;
  volumeNamespace?: string | undefined;
  fsType?: string | undefined;
  readOnly?: boolean | undefined;
  secretRef?: ObjectReference | undefined;
}

/** core/v1.StorageOSVolumeSource. */
export interface StorageOSVolumeSource {
  volumeName?: string | undefined;
  volumeNamespace?: string | undefined;
  fsType?: string | undefined;
  readOnly?: boolean | undefined;
  secretRef?: LocalObjectReference | undefined;
}

/** core/v1.Sysctl. */
export interface Sysctl {
  name: string;
  value: string;
}

/** core/v1.TCPSocketAction. */
export interface TCPSocketAction {
  port: number | string;
  host?: string | undefined;
}

/** core/v1.Taint. */
export interface Taint {
  key: string;
  value?: string | undefined;
  effect: string;
  timeAdded?: string | undefined;
}

/** core/v1.Toleration. */
export interface Toleration {
  key?: string | undefined;
  operator?: string | undefined;
  value?: string | undefined;
  effect?: string | undefined;
  tolerationSeconds?: number | bigint | undefined;
}

/** core/v1.TopologySelectorLabelRequirement. */
export interface TopologySelectorLabelRequirement {
  key: string;
  values?: string[] | undefined;
}

/** core/v1.TopologySelectorTerm. */
export interface TopologySelectorTerm {
  matchLabelExpressions?: TopologySelectorLabelRequirement[] | undefined;
}

/** core/v1.TopologySpreadConstraint. */
export interface TopologySpreadConstraint {
  maxSkew: number;
  topologyKey: string;
  whenUnsatisfiable: string;
  labelSelector?: meta_v1.LabelSelector | undefined;
}

/** core/v1.TypedLocalObjectReference. */
export interface TypedLocalObjectReference {
  apiGroup?: string | undefined;
  kind: string;
  name: string;
}

/** core/v1.Volume. */
export interface Volume extends VolumeSource {
  name: string;
}

/** core/v1.VolumeDevice. */
export interface VolumeDevice {
  name: string;
  devicePath: string;
}

/** core/v1.VolumeMount. */
export interface VolumeMount {
  name: string;
  readOnly?: boolean | undefined;
  mountPath: string;
  subPath?: string | undefined;
  mountPropagation?: string | undefined;
  subPathExpr?: string | undefined;
}

/** core/v1.VolumeNodeAffinity. */
export interface VolumeNodeAffinity {
  required?: NodeSelector | undefined;
}

/** core/v1.VolumeProjection. */
export interface VolumeProjection {
  secret?: SecretProjection | undefined;
  downwardAPI?: DownwardAPIProjection | undefined;
  configMap?: ConfigMapProjection | undefined;
  serviceAccountToken?: ServiceAccountTokenProjection | undefined;
}

/** core/v1.VolumeSource. */
export interface VolumeSource {
  hostPath?: HostPathVolumeSource | undefined;
  emptyDir?: EmptyDirVolumeSource | undefined;
  gcePersistentDisk?: GCEPersistentDiskVolumeSource | undefined;
  awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource | undefined;
  gitRepo?: GitRepoVolumeSource | undefined;
  secret?: SecretVolumeSource | undefined;
  nfs?: NFSVolumeSource | undefined;
  iscsi?: ISCSIVolumeSource | undefined;
  glusterfs?: GlusterfsVolumeSource | undefined;
  persistentVolumeClaim?: PersistentVolumeClaimVolumeSource | undefined;
  rbd?: RBDVolumeSource | undefined;
  flexVolume?: FlexVolumeSource | undefined;
  cinder?: CinderVolumeSource | undefined;
  cephfs?: CephFSVolumeSource | undefined;
  flocker?: FlockerVolumeSource | undefined;
  downwardAPI?: DownwardAPIVolumeSource | undefined;
  fc?: FCVolumeSource | undefined;
  azureFile?: AzureFileVolumeSource | undefined;
  configMap?: ConfigMapVolumeSource | undefined;
  vsphereVolume?: VsphereVirtualDiskVolumeSource | undefined;
  quobyte?: QuobyteVolumeSource | undefined;
  azureDisk?: AzureDiskVolumeSource | undefined;
  photonPersistentDisk?: PhotonPersistentDiskVolumeSource | undefined;
  projected?: ProjectedVolumeSource | undefined;
  portworxVolume?: PortworxVolumeSource | undefined;
  scaleIO?: ScaleIOVolumeSource | undefined;
  storageos?: StorageOSVolumeSource | undefined;
  csi?: CSIVolumeSource | undefined;
  ephemeral?: EphemeralVolumeSource | undefined;
}

/** core/v1.VsphereVirtualDiskVolumeSource. */
export interface VsphereVirtualDiskVolumeSource {
  volumePath: string;
  fsType?: string | undefined;
  storagePolicyName?: string | undefined;
  storagePolicyID?: string | undefined;
}

/** core/v1.WeightedPodAffinityTerm. */
export interface WeightedPodAffinityTerm {
  weight: number;
  podAffinityTerm: PodAffinityTerm;
}

/** core/v1.WindowsSecurityContextOptions. */
export interface WindowsSecurityContextOptions {
  gmsaCredentialSpecName?: string | undefined;
  gmsaCredentialSpec?: string | undefined;
  runAsUserName?: string | undefined;
  hostProcess?: boolean | undefined;
}
