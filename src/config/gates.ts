// Feature gates: every gate of the release by its stage, and the grammar of --feature-gates. The effect of a gate is
// decided where it is switched: code asks whether the set of gates that are on has its name.

/** How far a feature has come. */
export type GateStage = "Alpha" | "Beta" | "GA" | "Deprecated";

/** A gate. */
export interface Gate {
  readonly name: string;
  readonly stage: GateStage;
  /** On by default. */
  readonly on: boolean;
}

/** The result of --feature-gates. */
export interface Gates {
  /** The gates that are on. */
  readonly on: ReadonlySet<string>;
  /** Warnings about deprecated gates. */
  readonly notes: readonly string[];
}

/** Switches off token secrets for each new account. Upstream has it since 1.24, on: decision 105. */
export const noTokenSecrets = "LegacyServiceAccountTokenNoAutoGeneration";

const stages: readonly { readonly stage: GateStage; readonly on: boolean; readonly names: string }[] = [
  {
    stage: "Alpha",
    on: false,
    names: `
    AnyVolumeDataSource APIServerIdentity APIServerTracing AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyAlphaOptions
    CSIMigrationPortworx csiMigrationRBD CSIVolumeHealth CustomCPUCFSQuotaPeriod CustomResourceValidationExpressions DisableCloudProviders
    DisableKubeletCloudCredentialProviders ExpandedDNSConfig GracefulNodeShutdownBasedOnPodPriority
    GRPCContainerProbe HonorPVReclaimPolicy HPAContainerMetrics HPAScaleToZero IdentifyPodOS
    InTreePluginAWSUnregister InTreePluginAzureDiskUnregister InTreePluginAzureFileUnregister
    InTreePluginGCEUnregister InTreePluginOpenStackUnregister InTreePluginPortworxUnregister
    InTreePluginRBDUnregister InTreePluginvSphereUnregister JobReadyPods KubeletCredentialProviders
    KubeletInUserNamespace LocalStorageCapacityIsolationFSQuotaMonitoring MemoryQoS MixedProtocolLBService
    NodeSwap OpenAPIEnums OpenAPIV3 PodAndContainerStatsFromCRI ProcMountType ProxyTerminatingEndpoints
    QOSReserved ReadWriteOncePod RecoverVolumeExpansionFailure SeccompDefault ServerSideFieldValidation
    StatefulSetAutoDeletePVC VolumeCapacityPriority WinDSR`,
  },
  {
    stage: "Beta",
    on: true,
    names: `
    APIListChunking APIPriorityAndFairness APIResponseCompression AppArmor ControllerManagerLeaderMigration
    CPUManager CPUManagerPolicyBetaOptions CPUManagerPolicyOptions CSIInlineVolume CSIMigration CSIMigrationAWS
    CSIMigrationAzureDisk CSIMigrationGCE CSIMigrationOpenStack CSIStorageCapacity CSRDuration
    DaemonSetUpdateSurge DefaultPodTopologySpread DelegateFSGroupToCSIDriver DevicePlugins
    DisableAcceleratorUsageMetrics DownwardAPIHugePages EfficientWatchResumption
    EndpointSliceTerminatingCondition EphemeralContainers ExpandCSIVolumes ExpandInUsePersistentVolumes
    ExpandPersistentVolumes GracefulNodeShutdown IndexedJob JobMutableNodeSchedulingDirectives
    KubeletPodResources KubeletPodResourcesGetAllocatable LocalStorageCapacityIsolation LogarithmicScaleDown
    MemoryManager NetworkPolicyEndPort NonPreemptingPriority PodAffinityNamespaceSelector PodDeletionCost
    PodOverhead PodSecurity PreferNominatedNode RemainingItemCount RemoveSelfLink
    RotateKubeletServerCertificate ServiceInternalTrafficPolicy ServiceLBNodePortControl
    ServiceLoadBalancerClass SizeMemoryBackedVolumes StatefulSetMinReadySeconds SuspendJob TopologyManager
    WindowsHostProcessContainers WinOverlay`,
  },
  {
    stage: "Beta",
    on: false,
    names: `
    CSIMigrationAzureFile CSIMigrationvSphere ExperimentalHostUserNamespaceDefaulting JobTrackingWithFinalizers
    LegacyServiceAccountTokenNoAutoGeneration ProbeTerminationGracePeriod TopologyAwareHints`,
  },
  {
    stage: "GA",
    on: true,
    names: `
    AdvancedAuditing BoundServiceAccountTokenVolume ConfigurableFSGroupPolicy CSIServiceAccountToken
    CSIVolumeFSGroupPolicy DryRun EndpointSlice EndpointSliceNodeName EndpointSliceProxying ExecProbeTimeout
    GenericEphemeralVolume HugePageStorageMediumSize ImmutableEphemeralVolumes IngressClassNamespacedParams
    IPv6DualStack NamespaceDefaultLabelName PodDisruptionBudget RootCAConfigMap RuntimeClass ServerSideApply
    SetHostnameAsFQDN StorageObjectInUseProtection TokenRequest TTLAfterFinished VolumeSubpath WarningHeaders
    WatchBookmark WindowsEndpointSliceProxying`,
  },
  {
    stage: "Deprecated",
    on: false,
    names: `
    DynamicKubeletConfig StreamingProxyRedirects`,
  },
  {
    stage: "Deprecated",
    on: true,
    names: `
    ValidateProxyRedirects`,
  },
];

/** Every gate, by name. */
export const gates: ReadonlyMap<string, Gate> = new Map(
  stages
    .flatMap(({ stage, on, names }) =>
      names
        .trim()
        .split(/\s+/)
        .map((name): Gate => ({ name, stage, on })),
    )
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((gate) => [gate.name, gate]),
);

/** The default gates. */
export const defaultGates: ReadonlySet<string> = new Set([...gates.values()].filter(({ on }) => on).map((g) => g.name));

/** Names that mean all gates of a stage that are not listed themselves. */
const whole: ReadonlyMap<string, GateStage> = new Map([
  ["AllAlpha", "Alpha"],
  ["AllBeta", "Beta"],
]);

/**
 * Reads --feature-gates. Returns an error message for an unknown gate, or one whose feature is there for
 * good and cannot be switched off any more (the document: disabling a non-operational gate fails).
 */
export function readGates(wishes: ReadonlyMap<string, boolean>): Gates | string {
  const on = new Set(defaultGates);
  const notes: string[] = [];
  const set = (name: string, value: boolean): void => void (value ? on.add(name) : on.delete(name));
  for (const [name, stage] of whole) {
    const value = wishes.get(name);
    if (value === undefined) continue;
    for (const gate of gates.values()) if (gate.stage === stage && !wishes.has(gate.name)) set(gate.name, value);
  }
  for (const [name, value] of wishes) {
    if (whole.has(name)) continue;
    const gate = gates.get(name);
    if (gate === undefined) return `unrecognized feature gate: ${name}`;
    const { stage } = gate;
    if (stage === "GA" && value !== gate.on) {
      return `cannot set feature gate ${name} to ${value}, feature is locked to ${gate.on}`;
    }
    if (stage === "GA") notes.push(`Setting GA feature gate ${name}=${value}. It will be removed in a future release.`);
    if (stage === "Deprecated") {
      notes.push(`Setting deprecated feature gate ${name}=${value}. It will be removed in a future release.`);
    }
    set(name, value);
  }
  return { on, notes };
}

/** The gates for --help, one per line: those that may still be set, with stage and default. */
export function gateLines(): string[] {
  const line = (name: string, stage: GateStage, on: boolean): string =>
    `${name}=true|false (${stage.toUpperCase()} - default=${on})`;
  const all = [...whole].map(([name, stage]) => line(name, stage, false));
  for (const { name, stage, on } of gates.values()) if (stage !== "GA") all.push(line(name, stage, on));
  return all;
}

/** Stands among the gates, where every part of a write sees it, while --allow-privileged is false. No gate of a flag. */
export const forbidsPrivileged = "--allow-privileged=false";
