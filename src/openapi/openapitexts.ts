// What OpenAPI says about kinds and fields, in our own words: for those people look up most. A field without a text
// has that of its type, or of every field of its name.
import type { ScalarDefinition } from "./openapinames.ts";
import { podTexts } from "./openapipodtexts.ts";

/** What a message is; undefined: nothing is written about it. */
export function messageText(message: string): string | undefined {
  return texts.get(message)?.text;
}

/** What a field means. */
export function fieldText(message: string, field: string): string | undefined {
  const own = texts.get(message)?.fields.get(field) ?? texts.get(twins.get(message) ?? "")?.fields.get(field);
  return own ?? common.get(field);
}

interface MessageText {
  readonly text: string;
  readonly fields: ReadonlyMap<string, string>;
}

/** Definitions of scalars. */
export const scalarTexts: Readonly<Record<ScalarDefinition, string>> = {
  Time: "A point in time as RFC 3339 text in UTC, to the second.",
  MicroTime: "A point in time as RFC 3339 text in UTC, to the microsecond.",
  Duration: 'A length of time as text: "300ms", "1h30m".',
  FieldsV1:
    'A set of fields as JSON: "f:<name>" is a field, "k:<keys>" an item of a list by its keys, "v:<value>" an item by ' +
    'its value, "i:<index>" an item by its place, and "." the thing itself.',
  Patch: "A change to an object, in one of the patch formats.",
  Quantity:
    'An amount with an optional unit: "500m" is a half, "2k" two thousand, "1Gi" 1024 to the third. It is a fixed-point ' +
    "number, never rounded down.",
  IntOrString: "A whole number, or a text: usually a percentage or a name.",
  RawExtension: "Any object; what may stand here is up to whoever reads it.",
  JSON: "Any JSON value.",
};

/** Parameters of requests. */
export const parameterTexts: Readonly<Record<string, string>> = {
  name: "Name of the object.",
  namespace: "Namespace of the objects.",
  pretty: 'If "true", the answer is indented.',
  allowWatchBookmarks: "A watch may send bookmarks: events that only say how far it is.",
  continue: "Goes on with a list that was cut by limit: the token of the answer before.",
  dryRun: 'With "All" everything is done but the change itself.',
  fieldManager: "Name of whoever makes the change: at most 128 printable characters. Required for apply.",
  fieldSelector: "Only objects with these values of fields.",
  fieldValidation:
    'What happens to fields that are unknown or come twice: "Ignore" drops them, "Warn" drops them with a warning, ' +
    '"Strict" refuses the request.',
  force: "An apply takes over fields of other managers. Only for apply.",
  gracePeriodSeconds: "How long the object gets to end, in seconds; 0 is at once.",
  labelSelector: "Only objects with these labels.",
  limit: "At most this many items; the answer then has a token to go on with.",
  orphanDependents: "Old form of propagationPolicy: whether dependents lose their owner instead of being deleted.",
  propagationPolicy:
    'What becomes of dependents: "Orphan" keeps them, "Background" deletes them afterwards, "Foreground" before.',
  resourceVersion: "How new the answer must be, or where a watch begins.",
  resourceVersionMatch: 'How resourceVersion is meant: "NotOlderThan" or "Exact".',
  sendInitialEvents: "A watch begins with the objects there are, and a bookmark that says where they end.",
  timeoutSeconds: "The answer, or the watch, ends after this.",
  watch: "Changes as they happen instead of a list.",
};

/** Fields that mean the same wherever they are. */
const common = new Map([
  ["kind", "Name of the type of the object, in CamelCase. It cannot be changed."],
  ["apiVersion", "Group and version of the type of the object: how the other fields are to be read."],
  ["metadata", "What every object has: name, labels, owners and the like."],
  ["spec", "What is wanted."],
  ["status", "What was last observed. Written by the system."],
  ["items", "The objects of the list."],
  ["conditions", "Where the object stands, aspect by aspect."],
  ["lastTransitionTime", "When the condition last went from one status to another."],
  ["reason", "One word in CamelCase for why."],
  ["message", "The same for people to read."],
  ["observedGeneration", "The metadata.generation that was last seen by the controller."],
  ["selector", "Which objects this is about, by their labels."],
]);

function of(message: string, text: string, fields: Readonly<Record<string, string>> = {}): [string, MessageText] {
  return [message, { text, fields: new Map(Object.entries(fields)) }];
}

/** Messages whose fields mean what those of another one do. */
const twins: ReadonlyMap<string, string> = new Map([["core/v1.EphemeralContainerCommon", "core/v1.Container"]]);

const texts = new Map<string, MessageText>([
  ...podTexts.map((entry) => of(...entry)),
  of("core/v1.Pod", "Containers that run together on one node: the smallest thing that can be run.", {
    spec: "What is to run, and how.",
    status: "How it is running. May lag behind.",
  }),
  of("core/v1.PodSpec", "What a pod runs, where, and with which rights.", {
    volumes: "Volumes the containers of the pod may mount.",
    initContainers:
      "Containers that run before the others, one after the other, each to its successful end. They cannot have " +
      "probes or lifecycle handlers.",
    containers: "The containers of the pod: at least one. None can be added or removed later.",
    ephemeralContainers: "Containers added to a running pod to look into it. Set through the subresource only.",
    restartPolicy: "Whether containers that ended are started again: Always (the default), OnFailure or Never.",
    terminationGracePeriodSeconds:
      "Seconds the containers get between being told to end and being killed; 0 is at once. Default: 30.",
    activeDeadlineSeconds: "Seconds the pod may be active on its node before it is made to fail.",
    dnsPolicy: "How names are resolved: ClusterFirst (the default), ClusterFirstWithHostNet, Default or None.",
    nodeSelector: "Labels a node must have for the pod to run there.",
    serviceAccountName: "The ServiceAccount the pod runs as.",
    serviceAccount: "Old name of serviceAccountName.",
    automountServiceAccountToken: "Whether a token of the ServiceAccount is mounted.",
    nodeName: "The node the pod is to run on. The scheduler fills it in when it is empty.",
    hostNetwork: "Use the network of the node. Ports must then be named in the containers.",
    hostPID: "Use the process namespace of the node.",
    hostIPC: "Use the IPC namespace of the node.",
    shareProcessNamespace: "All containers see each other's processes. Not together with hostPID.",
    securityContext: "Rights and identities all containers have, unless they say otherwise.",
    imagePullSecrets: "Secrets of this namespace to pull images with.",
    hostname: "Host name of the pod. Default: a name made by the system.",
    subdomain: "With it the full host name is <hostname>.<subdomain>.<namespace>.svc.<cluster domain>.",
    affinity: "Rules about which nodes the pod may or would rather run on.",
    schedulerName: "The scheduler that places the pod.",
    tolerations: "Taints of nodes that do not keep the pod away.",
    hostAliases: "Lines for the hosts file of the pod.",
    priorityClassName: "Name of the PriorityClass the pod's priority comes from.",
    priority: "The priority; higher is more important. Set from priorityClassName.",
    dnsConfig: "Name servers, search domains and options beside those of dnsPolicy.",
    readinessGates: "Conditions that must be true, beside ready containers, for the pod to be ready.",
    runtimeClassName: "The RuntimeClass the pod runs with.",
    enableServiceLinks: "Whether services are told of in environment variables. Default: true.",
    preemptionPolicy: "Whether pods of lower priority may be removed for this one: PreemptLowerPriority or Never.",
    overhead: "Resources the runtime needs for itself. Set from the RuntimeClass.",
    topologySpreadConstraints: "How pods are to be spread over zones, nodes and the like.",
    setHostnameAsFQDN: "The host name is the full one.",
    os: "Operating system of the containers. Some fields can only be set for one of them.",
  }),
  of("core/v1.PodStatus", "How a pod is running. May lag behind.", {
    phase: "In one word: Pending, Running, Succeeded, Failed or Unknown.",
    conditions: "Whether the pod is scheduled, initialized, ready and so on.",
    message: "Why the pod is in this state, for people to read.",
    reason: "Why the pod is in this state, in one word: Evicted.",
    nominatedNodeName: "The node where room is being made for the pod.",
    hostIP: "Address of the node.",
    podIP: "Address of the pod.",
    podIPs: "Addresses of the pod, at most one for each of IPv4 and IPv6; the first is podIP.",
    startTime: "When the node took the pod over, before images are pulled.",
    initContainerStatuses: "Each init container; the last successful one has ready set.",
    containerStatuses: "Each container.",
    qosClass: "Quality of service, by the resources asked for: Guaranteed, Burstable or BestEffort.",
    ephemeralContainerStatuses: "Each ephemeral container.",
  }),
  of("core/v1.PodCondition", "One aspect of where a pod stands.", {
    type: "PodScheduled, Initialized, ContainersReady, Ready, or one of one's own.",
    status: "True, False or Unknown.",
    lastProbeTime: "When it was last looked at.",
  }),
  of("core/v1.PodList", "A list of pods."),
  of("core/v1.PodTemplateSpec", "What pods are made from.", {
    metadata: "Metadata of the pods.",
    spec: "What the pods run.",
  }),
  of("core/v1.Container", "One container of a pod.", {
    name: "Name of the container, a DNS label; unique in the pod. It cannot be changed.",
    image: "The image to run.",
    command:
      "What is run instead of the image's entry point; no shell. $(NAME) stands for a variable of the container.",
    args: "Arguments instead of the image's. $(NAME) stands for a variable of the container.",
    workingDir: "Directory to run in. Default: the image's.",
    ports: "Ports the container listens on. For information: a port that is not listed can be reached as well.",
    envFrom: "Where all variables of a set come from. What env says counts more.",
    env: "Variables of the environment.",
    resources: "What the container needs and may use of CPU, memory and the like.",
    volumeMounts: "Where volumes of the pod appear in the container.",
    volumeDevices: "Which block devices appear in the container.",
    livenessProbe: "When it fails, the container is restarted.",
    readinessProbe: "When it fails, the container is taken out of services.",
    startupProbe: "Until it succeeds no other probe runs; when it fails, the container is restarted.",
    lifecycle: "What is done after the start and before the end of the container.",
    terminationMessagePath: "File the container writes its last words to. Default: /dev/termination-log.",
    terminationMessagePolicy: "Where the last words come from: File, or FallbackToLogsOnError.",
    imagePullPolicy: "Always, IfNotPresent or Never. Default: Always for the tag latest, else IfNotPresent.",
    securityContext: "Rights and identities of the container; they count more than those of the pod.",
    stdin: "Keeps a standard input for the container.",
    stdinOnce: "The standard input is closed when its first client leaves.",
    tty: "The standard input is a terminal; needs stdin.",
  }),
  of("core/v1.EphemeralContainer", "A container added to a running pod to look into it. It is never restarted.", {
    targetContainerName: "The container whose processes it sees.",
  }),
  of("core/v1.ContainerPort", "A port of a container.", {
    name: "Name of the port, for services to refer to; unique in the pod.",
    hostPort: "Port of the node that leads here. Mostly not needed.",
    containerPort: "Number of the port, from 1 to 65535.",
    protocol: "TCP (the default), UDP or SCTP.",
    hostIP: "Address of the node the hostPort is bound to.",
  }),
  of("core/v1.EnvVar", "A variable of the environment.", {
    name: "Name of the variable.",
    value: "Its value. $(NAME) stands for a variable set before; $$ for a dollar sign.",
    valueFrom: "Where its value comes from. Not together with value.",
  }),
  of("core/v1.EnvVarSource", "Where the value of a variable comes from: one of these.", {
    fieldRef: "A field of the pod: metadata.name, metadata.labels['<key>'], spec.nodeName, status.podIP and others.",
    resourceFieldRef: "A limit or request of a container.",
    configMapKeyRef: "A key of a ConfigMap.",
    secretKeyRef: "A key of a Secret of the pod's namespace.",
  }),
  of("core/v1.EnvFromSource", "Where a set of variables comes from: one of these.", {
    prefix: "Put before each name.",
    configMapRef: "All keys of a ConfigMap.",
    secretRef: "All keys of a Secret.",
  }),
  of("core/v1.ObjectFieldSelector", "A field of an object.", {
    apiVersion: 'Version the path is written for. Default: "v1".',
    fieldPath: "Path of the field.",
  }),
  of("core/v1.ResourceFieldSelector", "A resource of a container.", {
    containerName: "The container; required in volumes.",
    resource: "limits.cpu, requests.memory and the like.",
    divisor: 'The unit of the outcome. Default: "1".',
  }),
  of("core/v1.ConfigMapKeySelector", "A key of a ConfigMap.", {
    name: "Name of the ConfigMap.",
    key: "The key.",
    optional: "Whether it may be missing.",
  }),
  of("core/v1.SecretKeySelector", "A key of a Secret.", {
    name: "Name of the Secret.",
    key: "The key.",
    optional: "Whether it may be missing.",
  }),
  of("core/v1.LocalObjectReference", "An object of the same namespace.", { name: "Its name." }),
  of("core/v1.ResourceRequirements", "What a container needs and may use.", {
    limits: "The most it may use.",
    requests: "The least it needs: where it is placed depends on it. Default: the limits.",
  }),
  of("core/v1.VolumeMount", "Where a volume appears in a container.", {
    name: "Name of a volume of the pod.",
    readOnly: "Whether it cannot be written to.",
    mountPath: "Where it appears. No colons.",
    subPath: "Path within the volume that appears. Default: its root.",
    mountPropagation: "Whether mounts are passed on: None (the default), HostToContainer or Bidirectional.",
    subPathExpr: "Like subPath, with $(NAME) for variables of the container. Not together with subPath.",
  }),
  of("core/v1.Volume", "A volume of a pod: a name and one source.", {
    name: "Name of the volume, a DNS label; unique in the pod.",
  }),
  of("core/v1.ConfigMapVolumeSource", "Keys of a ConfigMap as files.", {
    name: "Name of the ConfigMap.",
    items: "Which keys, and where. Default: all, each in a file of its name.",
    defaultMode: "Permission bits of the files. Default: 0644.",
    optional: "Whether the ConfigMap or its keys may be missing.",
  }),
  of("core/v1.SecretVolumeSource", "Keys of a Secret as files.", {
    secretName: "Name of the Secret.",
    items: "Which keys, and where. Default: all, each in a file of its name.",
    defaultMode: "Permission bits of the files. Default: 0644.",
    optional: "Whether the Secret or its keys may be missing.",
  }),
  of("core/v1.KeyToPath", "A key and the file it is written to.", {
    key: "The key.",
    path: 'Path of the file, relative and without "..".',
    mode: "Permission bits of the file. Default: defaultMode.",
  }),
  of("core/v1.EmptyDirVolumeSource", "A directory that lives as long as its pod.", {
    medium: '"" is the disk of the node, "Memory" its memory.',
    sizeLimit: "The most it may hold.",
  }),
  of("core/v1.HostPathVolumeSource", "A file or directory of the node.", {
    path: "Its path.",
    type: "What it must be, or what is made: Directory, DirectoryOrCreate, File, FileOrCreate, Socket and others.",
  }),
  of("core/v1.PersistentVolumeClaimVolumeSource", "The volume bound to a claim.", {
    claimName: "Name of the claim, in the pod's namespace.",
    readOnly: "Whether it cannot be written to.",
  }),
  of("core/v1.Probe", "How a container is asked whether it is well: one way to ask, and how often.", {
    initialDelaySeconds: "Seconds after the start before it is asked first.",
    timeoutSeconds: "Seconds it has to answer. Default: 1.",
    periodSeconds: "Seconds between two tries. Default: 10.",
    successThreshold: "Successes in a row that make it well again. Default: 1; for liveness and startup always 1.",
    failureThreshold: "Failures in a row that make it unwell. Default: 3.",
    terminationGracePeriodSeconds: "Seconds it gets to end after the probe failed. Default: those of the pod.",
  }),
  of("core/v1.ProbeHandler", "A way to ask a container: one of these.", {
    exec: "Runs a command in the container; 0 is success.",
    httpGet: "Makes an HTTP request; 200 to 399 is success.",
    tcpSocket: "Connects to a port.",
    grpc: "Calls the health service of gRPC.",
  }),
  of("core/v1.LifecycleHandler", "What is done: one of these.", {
    exec: "Runs a command in the container.",
    httpGet: "Makes an HTTP request.",
    tcpSocket: "Not supported; kept for old objects.",
  }),
  of("core/v1.Lifecycle", "What is done in the life of a container.", {
    postStart: "Right after its start. When it fails, the container is ended.",
    preStop: "Before it is told to end. The grace period runs meanwhile.",
  }),
  of("core/v1.HTTPGetAction", "An HTTP request.", {
    path: "Path of the request.",
    port: "Number or name of a port of the container.",
    host: "Host to connect to. Default: the address of the pod.",
    scheme: "HTTP (the default) or HTTPS.",
    httpHeaders: "Headers of the request.",
  }),
  of("core/v1.HTTPHeader", "A header of a request.", { name: "Its name.", value: "Its value." }),
  of("core/v1.TCPSocketAction", "A connection.", {
    port: "Number or name of a port of the container.",
    host: "Host to connect to. Default: the address of the pod.",
  }),
  of("core/v1.ExecAction", "A command.", { command: "The command and its arguments; no shell." }),
  of("core/v1.GRPCAction", "A call of gRPC.", {
    port: "Number of the port.",
    service: "Service to ask for.",
  }),
  of("core/v1.SecurityContext", "Rights and identities of a container; they count more than those of its pod.", {
    capabilities: "Capabilities to add and to drop.",
    privileged: "Runs with the rights of root of the node.",
    seLinuxOptions: "SELinux labels.",
    windowsOptions: "What there is for Windows.",
    runAsUser: "User id. Default: the image's.",
    runAsGroup: "Group id.",
    runAsNonRoot: "Refuses to start as user 0.",
    readOnlyRootFilesystem: "The root filesystem cannot be written to.",
    allowPrivilegeEscalation: "Whether a process may get more rights than its parent.",
    procMount: "How /proc is mounted: Default or Unmasked.",
    seccompProfile: "System calls that are allowed.",
  }),
  of("core/v1.PodSecurityContext", "Rights and identities of all containers of a pod.", {
    runAsUser: "User id of the containers' processes.",
    runAsGroup: "Group id of the containers' processes.",
    runAsNonRoot: "Refuses to start containers as user 0.",
    supplementalGroups: "Further groups of the containers' first processes.",
    fsGroup: "Group that owns the volumes that support it.",
    sysctls: "Kernel parameters of the pod.",
    fsGroupChangePolicy: "When owners of volumes are changed: Always (the default) or OnRootMismatch.",
    seccompProfile: "System calls that are allowed.",
    seLinuxOptions: "SELinux labels.",
    windowsOptions: "What there is for Windows.",
  }),
  of("core/v1.Capabilities", "Capabilities of a container.", { add: "To be added.", drop: "To be dropped." }),
  of("core/v1.ContainerStatus", "How a container is running.", {
    name: "Name of the container.",
    state: "Its state now.",
    lastState: "How it last ended.",
    ready: "Whether its readiness probe succeeds.",
    restartCount: "How often it was restarted.",
    image: "The image it runs.",
    imageID: "The same, exactly.",
    containerID: "Its id, as <type>://<id>.",
    started: "Whether its startup probe has succeeded.",
  }),
  of("core/v1.ContainerState", "State of a container: one of these. Default: waiting.", {
    waiting: "Not running yet.",
    running: "Running.",
    terminated: "At its end.",
  }),
  of("core/v1.Affinity", "Rules about where a pod runs.", {
    nodeAffinity: "By labels of nodes.",
    podAffinity: "Near certain pods.",
    podAntiAffinity: "Away from certain pods.",
  }),
  of("core/v1.Toleration", "A taint that does not keep a pod away.", {
    key: "Key of the taint. Empty with Exists: all keys.",
    operator: "Equal (the default) or Exists.",
    value: "Value of the taint; empty with Exists.",
    effect: "NoSchedule, PreferNoSchedule or NoExecute. Empty: all.",
    tolerationSeconds: "How long NoExecute is borne. Default: for ever.",
  }),
  of("core/v1.TopologySpreadConstraint", "How pods are spread over a topology.", {
    maxSkew: "The most the numbers of pods may differ.",
    topologyKey: "Label of nodes whose values are the places.",
    whenUnsatisfiable: "DoNotSchedule (the default) or ScheduleAnyway.",
    labelSelector: "Pods that are counted.",
  }),
  of("core/v1.HostAlias", "A line of the hosts file.", { ip: "The address.", hostnames: "Names of the address." }),
  of("core/v1.PodDNSConfig", "How names are resolved.", {
    nameservers: "Addresses of name servers.",
    searches: "Search domains.",
    options: "Options of the resolver.",
  }),

  of("core/v1.Service", "A name and an address for a set of pods, and the ports to reach them.", {
    spec: "Which pods, and how they are reached.",
    status: "What was set up for the service.",
  }),
  of("core/v1.ServiceSpec", "Which pods a service leads to, and how.", {
    ports: "Ports of the service.",
    selector: "Labels of the pods. Empty: the endpoints are not kept by the server.",
    clusterIP: 'Address of the service. "None" means none (headless); empty lets the system choose.',
    clusterIPs: "Addresses of the service, at most one for each of IPv4 and IPv6; the first is clusterIP.",
    type: "ClusterIP (the default), NodePort, LoadBalancer or ExternalName. Each of the first three includes those before it.",
    externalIPs: "Further addresses, of nodes, at which the service is reached. Not looked after by the system.",
    sessionAffinity: "ClientIP keeps a client with its pod. Default: None.",
    loadBalancerIP: "Address asked of the load balancer, if it supports that.",
    loadBalancerSourceRanges: "Ranges of clients the load balancer lets through, if it supports that.",
    externalName: "The name an ExternalName service stands for.",
    externalTrafficPolicy: "Local keeps outside traffic on its node, and the client's address. Default: Cluster.",
    healthCheckNodePort: "Port for health checks of the load balancer, with the policy Local.",
    publishNotReadyAddresses: "Pods that are not ready are included.",
    sessionAffinityConfig: "Details of sessionAffinity.",
    ipFamilies: "IPv4, IPv6 or both, as clusterIPs has them.",
    ipFamilyPolicy: "SingleStack, PreferDualStack or RequireDualStack.",
    allocateLoadBalancerNodePorts: "Whether a load balancer gets node ports. Default: true.",
    loadBalancerClass: "Class of load balancer. It cannot be changed.",
    internalTrafficPolicy: "Local keeps inside traffic on its node. Default: Cluster.",
  }),
  of("core/v1.ServicePort", "A port of a service.", {
    name: "Name of the port. May be left out when there is one only.",
    protocol: "TCP (the default), UDP or SCTP.",
    appProtocol: "Protocol of the application.",
    port: "Number of the port of the service.",
    targetPort: "Number or name of the port of the pods. Default: port.",
    nodePort: "Port of every node that leads here. Default: the system chooses, where the type has one.",
  }),
  of("core/v1.ServiceStatus", "What was set up for a service.", {
    loadBalancer: "State of the load balancer.",
  }),
  of("core/v1.LoadBalancerStatus", "State of a load balancer.", { ingress: "Where it is reached." }),
  of("core/v1.LoadBalancerIngress", "A place a load balancer is reached at.", {
    ip: "Its address.",
    hostname: "Its name.",
    ports: "Its ports.",
  }),

  of("apps/v1.Deployment", "Pods of one template, kept at a number and replaced step by step when it changes.", {
    spec: "How many pods of which template, and how they are replaced.",
    status: "How far it is.",
  }),
  of("apps/v1.DeploymentSpec", "How many pods of which template, and how they are replaced.", {
    replicas: "Number of pods. Default: 1.",
    selector: "Pods that are counted: must fit the labels of the template. It cannot be changed.",
    template: "What the pods are made from. restartPolicy must be Always.",
    strategy: "How old pods are replaced.",
    minReadySeconds: "Seconds a pod must be ready to count as available. Default: 0.",
    revisionHistoryLimit: "Old ReplicaSets kept to go back to. Default: 10.",
    paused: "Changes of the template wait.",
    progressDeadlineSeconds: "Seconds without progress after which it counts as failed. Default: 600.",
  }),
  of("apps/v1.DeploymentStrategy", "How old pods are replaced.", {
    type: "RollingUpdate (the default) or Recreate.",
    rollingUpdate: "Details of RollingUpdate.",
  }),
  of("apps/v1.RollingUpdateDeployment", "How pods are replaced step by step.", {
    maxUnavailable: "Pods that may be missing meanwhile: a number or a percentage. Default: 25%.",
    maxSurge: "Pods there may be above the number wanted: a number or a percentage. Default: 25%.",
  }),
  of("apps/v1.DeploymentStatus", "How far a deployment is.", {
    replicas: "Pods there are.",
    updatedReplicas: "Pods of the newest template.",
    readyReplicas: "Pods that are ready.",
    availableReplicas: "Pods that have been ready for minReadySeconds.",
    unavailableReplicas: "Pods that are still missing.",
    collisionCount: "Names of ReplicaSets that were taken.",
  }),
  of("apps/v1.DeploymentCondition", "One aspect of where a deployment stands.", {
    type: "Available, Progressing or ReplicaFailure.",
    status: "True, False or Unknown.",
    lastUpdateTime: "When it was last written.",
  }),
  of("apps/v1.ReplicaSet", "Pods of one template, kept at a number. Mostly made by a Deployment."),
  of("apps/v1.StatefulSet", "Pods with names and volumes that stay theirs, started and replaced in order."),
  of("apps/v1.DaemonSet", "One pod of a template on every node that fits."),
  of("batch/v1.Job", "Pods that run until a number of them succeeded."),
  of("batch/v1.CronJob", "Jobs started by a schedule."),

  of("core/v1.ConfigMap", "Values for pods to use, by key.", {
    immutable: "Once true, the values and this field cannot be changed.",
    data: "Texts by key. Keys are letters, digits, '-', '_' and '.'.",
    binaryData: "Bytes by key, as base64. No key may be in data as well.",
  }),
  of("core/v1.Secret", "Confidential values for pods to use, by key.", {
    immutable: "Once true, the values and this field cannot be changed.",
    data: "Bytes by key, as base64.",
    stringData: "Texts by key, which are put into data. Never shown.",
    type: "What kind of secret it is: which keys it must have depends on it. It cannot be changed.",
  }),
  of("core/v1.Namespace", "A space of names for objects."),
  of("core/v1.Node", "A machine pods run on."),
  of("core/v1.ServiceAccount", "An identity for pods."),
  of("core/v1.Event", "Something that happened to an object."),
  of("core/v1.PersistentVolume", "A piece of storage."),
  of("core/v1.PersistentVolumeClaim", "A wish for a piece of storage."),
  of("networking/v1.Ingress", "Rules that lead HTTP requests from outside to services."),
  of("networking/v1.NetworkPolicy", "Which traffic pods may have."),
  of("rbac/v1.Role", "Rights within a namespace."),
  of("rbac/v1.ClusterRole", "Rights in the whole cluster."),
  of("rbac/v1.RoleBinding", "Who has the rights of a role within a namespace."),
  of("rbac/v1.ClusterRoleBinding", "Who has the rights of a ClusterRole in the whole cluster."),

  of("meta/v1.ObjectMeta", "What every object has.", {
    name: "Name of the object; unique among those of its kind in its namespace. It cannot be changed.",
    generateName: "Beginning of a name the server makes up when name is empty.",
    namespace: 'The namespace the name is unique in. Empty means "default"; kinds of the whole cluster have none.',
    selfLink: "No longer used.",
    uid: "Identifies the object over all time and space. Set by the server.",
    resourceVersion:
      "Version of the object in the store: to notice changes by others. Opaque; to be sent back as it was received.",
    generation: "Counts changes of what is wanted. Set by the server.",
    creationTimestamp: "When the object was created. Set by the server.",
    deletionTimestamp:
      "When the object will be deleted; set by the server once deletion was asked for, and never unset.",
    deletionGracePeriodSeconds: "Seconds from the request to the deletion.",
    labels: "Keys and values to find and group objects by.",
    annotations: "Keys and values for tools to keep; objects are not found by them.",
    ownerReferences: "Objects this one depends on. When all are gone, it is deleted.",
    finalizers: "What must be done before the object goes: it stays until the list is empty.",
    clusterName: "No longer used.",
    managedFields: "Who manages which fields. Kept by the server.",
  }),
  of("meta/v1.ListMeta", "What every list has.", {
    selfLink: "No longer used.",
    resourceVersion: "Version the list shows: where a watch can begin.",
    continue: "Token to go on with when there is more.",
    remainingItemCount: "How many more there are, if that is known.",
  }),
  of("meta/v1.OwnerReference", "An object another one depends on: in the same namespace, or in none.", {
    apiVersion: "Its group and version.",
    kind: "Its kind.",
    name: "Its name.",
    uid: "Its uid.",
    controller: "Whether it is the one that controls the dependent.",
    blockOwnerDeletion: "Whether it stays, when deleted in the foreground, until the dependent is gone.",
  }),
  of("meta/v1.ManagedFieldsEntry", "Fields of one manager.", {
    manager: "Who.",
    operation: "How they came to be: Apply or Update.",
    apiVersion: "Version the fields are written in.",
    time: "When the entry was last changed.",
    fieldsType: 'Always "FieldsV1".',
    fieldsV1: "The fields.",
    subresource: "The subresource they were written through; empty for the object itself.",
  }),
  of(
    "meta/v1.LabelSelector",
    "Which objects are meant, by their labels. All parts must hold; an empty one means all.",
    {
      matchLabels: "Labels and the values they must have.",
      matchExpressions: "Other requirements.",
    },
  ),
  of("meta/v1.LabelSelectorRequirement", "A requirement about one label.", {
    key: "Key of the label.",
    operator: "In, NotIn, Exists or DoesNotExist.",
    values: "Values for In and NotIn.",
  }),
  of("meta/v1.Status", "How a request ended, where that is no object.", {
    status: '"Success" or "Failure".',
    message: "What happened, for people to read.",
    reason: "Why it failed, in one word.",
    details: "More about it.",
    code: "The HTTP code.",
  }),
  of("meta/v1.DeleteOptions", "How an object is to be deleted.", {
    gracePeriodSeconds: "How long it gets to end, in seconds; 0 is at once.",
    preconditions: "What must hold for it to be deleted.",
    orphanDependents: "Old form of propagationPolicy.",
    propagationPolicy: "What becomes of dependents: Orphan, Background or Foreground.",
    dryRun: 'With "All" nothing is deleted.',
  }),
  of("meta/v1.Condition", "One aspect of where an object stands.", {
    type: "Which aspect.",
    status: "True, False or Unknown.",
  }),
]);
