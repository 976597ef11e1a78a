// What OpenAPI says about the further parts of pods, in our own words: the many kinds of volumes, placement, and
// identities of processes. Data for openapitexts.ts.

/** A message, what it is, and what its fields mean. */
export type MessageEntry = readonly [message: string, text: string, fields?: Readonly<Record<string, string>>];

const fsType = "The file system of the volume, as in ext4 or xfs.";
const readOnly = "The volume cannot be written to.";
const partition = "Number of the partition to mount; 0 or nothing mounts the whole disk.";
const defaultMode = "Mode bits of files that say nothing else, as in 420 (which is 0644).";
const optional = "The pod may start without it.";
const required = "What must hold for a pod to be placed. Not looked at again once it runs.";
const preferred = "What is wished for, with weights: the node with the largest sum wins.";

/** Disks and shares of clouds and storage systems. */
const volumes: readonly MessageEntry[] = [
  [
    "core/v1.VolumeSource",
    "What is in a volume: one of these.",
    {
      hostPath: "A file or directory of the node.",
      emptyDir: "A directory that lives as long as the pod.",
      secret: "Keys of a Secret as files.",
      configMap: "Keys of a ConfigMap as files.",
      nfs: "A directory of an NFS server.",
      persistentVolumeClaim: "The volume bound to a claim of this namespace.",
      downwardAPI: "Fields of the pod as files.",
      projected: "Several sources in one directory.",
      csi: "A volume made for the pod by a CSI driver.",
      ephemeral: "A claim made for the pod, and deleted with it.",
      gcePersistentDisk: "A disk of Google's cloud.",
      awsElasticBlockStore: "A disk of Amazon's cloud.",
      gitRepo: "A clone of a repository. Deprecated: clone into an emptyDir from an init container.",
      iscsi: "A disk reached over iSCSI.",
      glusterfs: "A volume of a Gluster cluster.",
      rbd: "A block device of a Ceph cluster.",
      flexVolume: "A volume a program on the node mounts. Deprecated: use csi.",
      cinder: "A disk of an OpenStack cloud.",
      cephfs: "A file system of a Ceph cluster.",
      flocker: "A volume of a Flocker cluster.",
      fc: "A disk reached over Fibre Channel.",
      azureFile: "A file share of Microsoft's cloud.",
      vsphereVolume: "A disk of a vSphere installation.",
      quobyte: "A volume of a Quobyte installation.",
      azureDisk: "A disk of Microsoft's cloud.",
      photonPersistentDisk: "A disk of a Photon controller.",
      portworxVolume: "A volume of a Portworx cluster.",
      scaleIO: "A volume of a ScaleIO installation.",
      storageos: "A volume of a StorageOS cluster.",
    },
  ],
  [
    "core/v1.GCEPersistentDiskVolumeSource",
    "A disk of Google's cloud.",
    { pdName: "Name of the disk.", fsType, partition, readOnly },
  ],
  [
    "core/v1.AWSElasticBlockStoreVolumeSource",
    "A disk of Amazon's cloud.",
    { volumeID: "Id of the disk.", fsType, partition, readOnly },
  ],
  [
    "core/v1.GitRepoVolumeSource",
    "A clone of a repository, made when the pod starts.",
    {
      repository: "Address of the repository.",
      revision: "The commit to check out.",
      directory: "Folder to clone into, relative and without `..`; `.` is the volume itself.",
    },
  ],
  [
    "core/v1.NFSVolumeSource",
    "A folder of an NFS server.",
    { server: "Name or address of the server.", path: "The folder it exports.", readOnly },
  ],
  [
    "core/v1.ISCSIVolumeSource",
    "A disk reached over iSCSI.",
    {
      targetPortal: "Address of the portal, with a port unless it is 860 or 3260.",
      iqn: "Qualified name of the target.",
      lun: "Number of the unit.",
      iscsiInterface: "Interface to use. Default: default, which is TCP.",
      fsType,
      readOnly,
      portals: "Further portals, for more than one path to the disk.",
      chapAuthDiscovery: "Whether discovery authenticates by CHAP.",
      chapAuthSession: "Whether sessions authenticate by CHAP.",
      secretRef: "The Secret with the CHAP credentials.",
      initiatorName: "Name of the initiator.",
    },
  ],
  [
    "core/v1.GlusterfsVolumeSource",
    "A volume of a Gluster cluster.",
    { endpoints: "Name of the Endpoints with the addresses of the cluster.", path: "The volume.", readOnly },
  ],
  [
    "core/v1.RBDVolumeSource",
    "A block device of a Ceph cluster.",
    {
      monitors: "Addresses of the monitors.",
      image: "Name of the image.",
      fsType,
      pool: "The pool of the image. Default: rbd.",
      user: "User of the cluster. Default: admin.",
      keyring: "File with the user's key. Default: /etc/ceph/keyring.",
      secretRef: "The Secret with the user's key; goes before keyring.",
      readOnly,
    },
  ],
  [
    "core/v1.FlexVolumeSource",
    "A volume a program on the node mounts.",
    {
      driver: "Name of the program.",
      fsType,
      secretRef: "A Secret the program is given.",
      readOnly,
      options: "What else the program is given.",
    },
  ],
  [
    "core/v1.CinderVolumeSource",
    "A disk of an OpenStack cloud.",
    { volumeID: "Id of the disk.", fsType, readOnly, secretRef: "The Secret with the credentials of the cloud." },
  ],
  [
    "core/v1.CephFSVolumeSource",
    "A file system of a Ceph cluster.",
    {
      monitors: "Addresses of the monitors.",
      path: "The folder to mount. Default: /.",
      user: "User of the cluster. Default: admin.",
      secretFile: "File with the user's key. Default: /etc/ceph/user.secret.",
      secretRef: "The Secret with the user's key; goes before secretFile.",
      readOnly,
    },
  ],
  [
    "core/v1.FlockerVolumeSource",
    "A volume of a Flocker cluster.",
    { datasetName: "Name of the dataset. Deprecated.", datasetUUID: "Id of the dataset." },
  ],
  [
    "core/v1.FCVolumeSource",
    "A disk reached over Fibre Channel.",
    {
      targetWWNs: "World-wide names of the target.",
      lun: "Number of the unit.",
      fsType,
      readOnly,
      wwids: "World-wide ids of the disk, instead of names and unit.",
    },
  ],
  [
    "core/v1.AzureFileVolumeSource",
    "A file share of Microsoft's cloud.",
    { secretName: "Name of the Secret with account and key.", shareName: "Name of the share.", readOnly },
  ],
  [
    "core/v1.VsphereVirtualDiskVolumeSource",
    "A disk of a vSphere installation.",
    {
      volumePath: "Path of the disk.",
      fsType,
      storagePolicyName: "Name of the storage policy.",
      storagePolicyID: "Id of the storage policy.",
    },
  ],
  [
    "core/v1.QuobyteVolumeSource",
    "A volume of a Quobyte installation.",
    {
      registry: "Addresses of the registry, as host:port.",
      volume: "Name of the volume.",
      readOnly,
      user: "User to mount as.",
      group: "Group to mount as.",
      tenant: "Tenant the volume belongs to.",
    },
  ],
  [
    "core/v1.AzureDiskVolumeSource",
    "A disk of Microsoft's cloud.",
    {
      diskName: "Name of the disk.",
      diskURI: "Address of the disk.",
      cachingMode: "How the host caches: None, ReadOnly or ReadWrite.",
      fsType,
      readOnly,
      kind: "Shared, Dedicated or Managed: what account the disk is in.",
    },
  ],
  ["core/v1.PhotonPersistentDiskVolumeSource", "A disk of a Photon controller.", { pdID: "Id of the disk.", fsType }],
  [
    "core/v1.PortworxVolumeSource",
    "A volume of a Portworx cluster.",
    { volumeID: "Id of the volume.", fsType, readOnly },
  ],
  [
    "core/v1.ScaleIOVolumeSource",
    "A volume of a ScaleIO installation.",
    {
      gateway: "Address of the gateway.",
      system: "Name of the storage system.",
      secretRef: "The Secret with user and password.",
      sslEnabled: "Whether the gateway is spoken to over TLS.",
      protectionDomain: "Name of the protection domain.",
      storagePool: "Name of the storage pool.",
      storageMode: "ThickProvisioned or ThinProvisioned (the default).",
      volumeName: "Name of the volume.",
      fsType,
      readOnly,
    },
  ],
  [
    "core/v1.StorageOSVolumeSource",
    "A volume of a StorageOS cluster.",
    {
      volumeName: "Name of the volume.",
      volumeNamespace: "Namespace of the volume there. Default: that of the pod.",
      fsType,
      readOnly,
      secretRef: "The Secret with the credentials of the cluster.",
    },
  ],
  [
    "core/v1.CSIVolumeSource",
    "A volume a driver on the node makes for the pod and removes with it.",
    {
      driver: "Name of the driver.",
      readOnly,
      fsType,
      volumeAttributes: "What the driver is told.",
      nodePublishSecretRef: "A Secret the driver is given.",
    },
  ],
  [
    "core/v1.EphemeralVolumeSource",
    "A volume that is claimed for the pod and goes with it.",
    { volumeClaimTemplate: "The claim that is made: named <pod>-<volume>, owned by the pod." },
  ],
  [
    "core/v1.PersistentVolumeClaimTemplate",
    "A claim to be made.",
    { metadata: "Labels and annotations of the claim.", spec: "What is claimed." },
  ],
  [
    "core/v1.PersistentVolumeClaimSpec",
    "What volume is needed.",
    {
      accessModes: "How it will be mounted: ReadWriteOnce, ReadOnlyMany, ReadWriteMany.",
      volumeName: "The volume that is claimed.",
      storageClassName: "The StorageClass it comes from; the empty text is none.",
      volumeMode: "Filesystem (the default) or Block.",
      dataSource: "What the volume is filled from: a snapshot or another claim.",
      dataSourceRef: "The same for any kind of source, where that is switched on.",
    },
  ],
  [
    "core/v1.TypedLocalObjectReference",
    "Names an object of some kind in the same namespace.",
    { apiGroup: "Group of the kind; nothing is the core group.", name: "Name of the object." },
  ],
];

/** What is projected into files and variables. */
const projections: readonly MessageEntry[] = [
  [
    "core/v1.DownwardAPIVolumeSource",
    "Files that hold what the pod knows of itself.",
    { defaultMode, items: "The files." },
  ],
  [
    "core/v1.DownwardAPIVolumeFile",
    "A file that holds a field of the pod or an amount of a container.",
    { path: "Path of the file, relative and without `..`.", mode: "Mode bits of the file." },
  ],
  ["core/v1.ProjectedVolumeSource", "Several sources in one folder.", { sources: "The sources.", defaultMode }],
  [
    "core/v1.VolumeProjection",
    "One source of a projected volume. Exactly one of these.",
    {
      secret: "Keys of a Secret.",
      downwardAPI: "What the pod knows of itself.",
      configMap: "Keys of a ConfigMap.",
      serviceAccountToken: "A token of the pod's ServiceAccount.",
    },
  ],
  ["core/v1.SecretProjection", "Keys of a Secret as files.", { optional }],
  ["core/v1.ConfigMapProjection", "Keys of a ConfigMap as files.", { optional }],
  ["core/v1.DownwardAPIProjection", "What the pod knows of itself as files.", { items: "The files." }],
  [
    "core/v1.ServiceAccountTokenProjection",
    "A token that is renewed in time and bound to the pod.",
    {
      audience: "Whom the token is for. Default: this API server.",
      expirationSeconds: "How long it is valid: at least 600 seconds. Default: an hour.",
      path: "Path of the file.",
    },
  ],
  ["core/v1.ConfigMapEnvSource", "All keys of a ConfigMap as variables.", { optional }],
  ["core/v1.SecretEnvSource", "All keys of a Secret as variables.", { optional }],
  [
    "core/v1.VolumeDevice",
    "A block device in a container.",
    { name: "Name of a volume of the pod that is a claim.", devicePath: "Path of the device in the container." },
  ],
];

/** Who processes are. */
const identities: readonly MessageEntry[] = [
  [
    "core/v1.SELinuxOptions",
    "The SELinux label of a process.",
    { user: "The user part.", role: "The role part.", type: "The type part.", level: "The level part." },
  ],
  [
    "core/v1.WindowsSecurityContextOptions",
    "Rights and identities on Windows.",
    {
      gmsaCredentialSpecName: "Name of the GMSA credential spec.",
      gmsaCredentialSpec: "The spec itself, which an admission webhook fills in.",
      runAsUserName: "User the process runs as.",
      hostProcess: "Run as a process of the host. All containers of a pod or none.",
    },
  ],
  [
    "core/v1.SeccompProfile",
    "Which system calls are allowed.",
    {
      type: "RuntimeDefault, Localhost or Unconfined.",
      localhostProfile: "File of the profile on the node, for Localhost.",
    },
  ],
  ["core/v1.Sysctl", "A parameter of the kernel.", { name: "Name of the parameter.", value: "Its value." }],
  ["core/v1.PodOS", "Operating system of a pod.", { name: "linux or windows." }],
];

/** Where pods go. */
const placement: readonly MessageEntry[] = [
  [
    "core/v1.NodeAffinity",
    "Which nodes a pod may or would rather run on.",
    {
      requiredDuringSchedulingIgnoredDuringExecution: required,
      preferredDuringSchedulingIgnoredDuringExecution: preferred,
    },
  ],
  [
    "core/v1.NodeSelector",
    "Nodes of which one term must hold.",
    { nodeSelectorTerms: "The terms: one of them is enough." },
  ],
  [
    "core/v1.NodeSelectorTerm",
    "Requirements that must all hold. An empty term holds for no node.",
    { matchExpressions: "Requirements of labels.", matchFields: "Requirements of fields; only metadata.name." },
  ],
  [
    "core/v1.NodeSelectorRequirement",
    "A requirement of one label or field.",
    {
      key: "The label or field.",
      operator: "In, NotIn, Exists, DoesNotExist, Gt or Lt.",
      values: "Values for In and NotIn; one whole number for Gt and Lt; none for the others.",
    },
  ],
  [
    "core/v1.PreferredSchedulingTerm",
    "A wish with a weight.",
    { weight: "How much it counts: 1 to 100.", preference: "The nodes that are wished for." },
  ],
  [
    "core/v1.PodAffinity",
    "Which pods a pod wants to be near.",
    {
      requiredDuringSchedulingIgnoredDuringExecution: required,
      preferredDuringSchedulingIgnoredDuringExecution: preferred,
    },
  ],
  [
    "core/v1.PodAntiAffinity",
    "Which pods a pod wants to be away from.",
    {
      requiredDuringSchedulingIgnoredDuringExecution: required,
      preferredDuringSchedulingIgnoredDuringExecution: preferred,
    },
  ],
  [
    "core/v1.PodAffinityTerm",
    "Some pods, and what being near them means.",
    {
      labelSelector: "The pods.",
      namespaces: "Namespaces of the pods. Default: that of this pod.",
      topologyKey: "Label of nodes: near is where its value is the same.",
      namespaceSelector: "Further namespaces by their labels; an empty one means all.",
    },
  ],
  [
    "core/v1.WeightedPodAffinityTerm",
    "A wish with a weight.",
    { weight: "How much it counts: 1 to 100.", podAffinityTerm: "The pods and what near means." },
  ],
  ["core/v1.PodDNSConfigOption", "An option of the resolver.", { name: "Name of the option.", value: "Its value." }],
  ["core/v1.PodReadinessGate", "A condition a pod must have to be ready.", { conditionType: "Type of the condition." }],
];

/** How pods and services are. */
const states: readonly MessageEntry[] = [
  ["core/v1.PodIP", "An address of a pod.", { ip: "The address." }],
  ["core/v1.ContainerStateWaiting", "A container that does not run yet."],
  ["core/v1.ContainerStateRunning", "A container that runs.", { startedAt: "Since when." }],
  [
    "core/v1.ContainerStateTerminated",
    "A container that ended.",
    {
      exitCode: "The code it ended with.",
      signal: "The signal that ended it.",
      startedAt: "When it started.",
      finishedAt: "When it ended.",
      containerID: "Its id, as <runtime>://<id>.",
    },
  ],
  [
    "core/v1.SessionAffinityConfig",
    "How a service keeps clients at one pod.",
    { clientIP: "By the address of the client." },
  ],
  [
    "core/v1.ClientIPConfig",
    "Clients by address.",
    { timeoutSeconds: "Seconds a client stays at its pod: up to a day. Default: 10800." },
  ],
  [
    "core/v1.PortStatus",
    "A port of a load balancer.",
    {
      port: "The port.",
      protocol: "TCP, UDP or SCTP.",
      error: "Why it does not work: a word, perhaps with a domain in front.",
    },
  ],
  ["core/v1.EphemeralContainerCommon", "What a container for looking into a pod may say."],
];

/** All of them. */
export const podTexts: readonly MessageEntry[] = [...volumes, ...projections, ...identities, ...placement, ...states];
