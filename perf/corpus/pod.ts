// Pods as those of a controller: a running one of about 5 KiB, and the bodies that create some.

/** Number `index` of a set of pods that differ as pods do. `padding` bytes of annotation bring it to a wished size. */
export function podText(index: number, padding = 0): string {
  const name = `web-7d4b9c6f5-${(index * 7919).toString(36).padStart(5, "x")}`;
  const uid = `00000000-1111-2222-3333-${String(index).padStart(12, "0")}`;
  const container = (n: number): object => ({
    name: `app-${n}`,
    image: `registry.example/team/app-${n}:v1.${index % 100}.3`,
    command: ["/bin/app", "--config=/etc/app/config.yaml", "--verbose"],
    ports: [
      { name: "http", containerPort: 8080, protocol: "TCP" },
      { name: "metrics", containerPort: 9090, protocol: "TCP" },
    ],
    env: [
      { name: "POD_NAME", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } } },
      { name: "LEVEL", value: "info" },
      { name: "TOKEN", valueFrom: { secretKeyRef: { name: "app-token", key: "token" } } },
    ],
    resources: { limits: { cpu: "500m", memory: "512Mi" }, requests: { cpu: "250m", memory: "256Mi" } },
    volumeMounts: [
      { name: "config", mountPath: "/etc/app" },
      { name: "token", readOnly: true, mountPath: "/var/run/secrets/serviceaccount" },
    ],
    livenessProbe: {
      httpGet: { path: "/healthz", port: "http", scheme: "HTTP" },
      initialDelaySeconds: 10,
      timeoutSeconds: 1,
      periodSeconds: 10,
      successThreshold: 1,
      failureThreshold: 3,
    },
    readinessProbe: {
      httpGet: { path: "/ready", port: 8080, scheme: "HTTP" },
      timeoutSeconds: 1,
      periodSeconds: 5,
      successThreshold: 1,
      failureThreshold: 3,
    },
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: "IfNotPresent",
    securityContext: { runAsUser: 1000, allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
  });
  const status = (n: number): object => ({
    name: `app-${n}`,
    state: { running: { startedAt: "2026-11-21T10:00:05Z" } },
    lastState: {},
    ready: true,
    restartCount: 0,
    image: `registry.example/team/app-${n}:v1.${index % 100}.3`,
    imageID: `registry.example/team/app-${n}@sha256:${"0123456789abcdef".repeat(4)}`,
    containerID: `containerd://${"fedcba9876543210".repeat(4)}`,
    started: true,
  });
  const condition = (type: string): object => ({
    type,
    status: "True",
    lastProbeTime: null,
    lastTransitionTime: "2026-11-21T10:00:06Z",
  });
  return JSON.stringify({
    kind: "Pod",
    apiVersion: "v1",
    metadata: {
      name,
      generateName: "web-7d4b9c6f5-",
      namespace: `team-${index % 50}`,
      uid,
      resourceVersion: String(1_000_000 + index),
      creationTimestamp: "2026-11-21T10:00:00Z",
      labels: { app: "web", "pod-template-hash": "7d4b9c6f5", tier: index % 2 === 0 ? "front" : "back" },
      annotations: { "example.com/checksum": "a1b2c3d4e5f6", "example.com/note": "x".repeat(padding) },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          name: "web-7d4b9c6f5",
          uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      volumes: [
        { name: "config", configMap: { name: "web-config", defaultMode: 420 } },
        {
          name: "token",
          projected: {
            sources: [
              { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
              { configMap: { name: "root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
            ],
            defaultMode: 420,
          },
        },
      ],
      containers: [container(0), container(1)],
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      dnsPolicy: "ClusterFirst",
      serviceAccountName: "web",
      serviceAccount: "web",
      nodeName: `node-${index % 1000}`,
      securityContext: { fsGroup: 2000 },
      schedulerName: "default-scheduler",
      tolerations: [
        { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
        { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
      ],
      priority: 0,
      enableServiceLinks: true,
      preemptionPolicy: "PreemptLowerPriority",
    },
    status: {
      phase: "Running",
      conditions: [
        condition("Initialized"),
        condition("Ready"),
        condition("ContainersReady"),
        condition("PodScheduled"),
      ],
      hostIP: "10.0.0.1",
      podIP: `10.1.${index % 200}.7`,
      podIPs: [{ ip: `10.1.${index % 200}.7` }],
      startTime: "2026-11-21T10:00:00Z",
      containerStatuses: [status(0), status(1)],
      qosClass: "Burstable",
    },
  });
}

/** Bring what is stored of a pod to 5 KiB, and the body of a large one. */
const [padding, largePadding] = [300, 1700];

/** What the server sets is left out of a body. */
function bodyOf(
  pod: { metadata: Record<string, unknown>; status?: unknown },
  name: string,
  more: Readonly<Record<string, string>>,
): string {
  const { labels, annotations } = pod.metadata;
  pod.metadata = { name, labels: { ...(labels as object), ...more }, annotations };
  delete pod.status;
  return JSON.stringify(pod);
}

/**
 * The body of a create: pod `index` under a name of its own; labels in `more` are added. With one container its spec is
 * 2 KiB, and 5 KiB are stored with managed fields: the pods of the figures to reach.
 */
export function podBody(index: number, name = `p${index}`, more: Readonly<Record<string, string>> = {}): string {
  const pod = JSON.parse(podText(index, padding)) as {
    metadata: Record<string, unknown>;
    spec: { containers: unknown[] };
  };
  pod.spec.containers.length = 1;
  return bodyOf(pod, name, more);
}

/** The same with two containers and a long annotation: 5 KiB of body, 9 KiB stored. */
export function largePodBody(index: number, name = `p${index}`, more: Readonly<Record<string, string>> = {}): string {
  return bodyOf(JSON.parse(podText(index, largePadding)) as { metadata: Record<string, unknown> }, name, more);
}

/** The service account those pods name; it adds nothing to them. */
export const podAccount = { metadata: { name: "web" }, automountServiceAccountToken: false } as const;
