// One role for each controller of a cluster, bound to the service account of its name. Names and permissions are the
// reference's.
import { may, type RoleLine } from "./line.ts";

/** The roles of controllers, in canonical spelling. */
export const controllerRoles: readonly RoleLine[] = [
  {
    role: "system:controller:attachdetach-controller",
    rules: [
      may("list watch", "core", "persistentvolumeclaims persistentvolumes"),
      may("get list watch", "core", "nodes"),
      may("patch update", "core", "nodes/status"),
      may("list watch", "core", "pods"),
      may("create patch update", "core events.k8s.io", "events"),
      may("create delete get list watch", "storage.k8s.io", "volumeattachments"),
      may("get list watch", "storage.k8s.io", "csidrivers"),
      may("get list watch", "storage.k8s.io", "csinodes"),
    ],
  },
  {
    role: "system:controller:certificate-controller",
    rules: [
      may("delete get list watch", "certificates.k8s.io", "certificatesigningrequests"),
      may("update", "certificates.k8s.io", "certificatesigningrequests/approval certificatesigningrequests/status"),
      may("approve", "certificates.k8s.io", "signers", "kubernetes.io/kube-apiserver-client-kubelet"),
      may(
        "sign",
        "certificates.k8s.io",
        "signers",
        "kubernetes.io/kube-apiserver-client kubernetes.io/kube-apiserver-client-kubelet kubernetes.io/kubelet-serving kubernetes.io/legacy-unknown",
      ),
      may("create", "authorization.k8s.io", "subjectaccessreviews"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:clusterrole-aggregation-controller",
    rules: [may("escalate get list patch update watch", "rbac.authorization.k8s.io", "clusterroles")],
  },
  {
    role: "system:controller:cronjob-controller",
    rules: [
      may("get list update watch", "batch", "cronjobs"),
      may("create delete get list patch update watch", "batch", "jobs"),
      may("update", "batch", "cronjobs/status"),
      may("update", "batch", "cronjobs/finalizers"),
      may("delete list", "core", "pods"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:daemon-set-controller",
    rules: [
      may("get list watch", "apps extensions", "daemonsets"),
      may("update", "apps extensions", "daemonsets/status"),
      may("update", "apps extensions", "daemonsets/finalizers"),
      may("list watch", "core", "nodes"),
      may("create delete list patch watch", "core", "pods"),
      may("create", "core", "pods/binding"),
      may("create delete get list patch update watch", "apps", "controllerrevisions"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:deployment-controller",
    rules: [
      may("get list update watch", "apps extensions", "deployments"),
      may("update", "apps extensions", "deployments/status"),
      may("update", "apps extensions", "deployments/finalizers"),
      may("create delete get list patch update watch", "apps extensions", "replicasets"),
      may("get list update watch", "core", "pods"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:disruption-controller",
    rules: [
      may("get list watch", "apps extensions", "deployments"),
      may("get list watch", "apps extensions", "replicasets"),
      may("get list watch", "core", "replicationcontrollers"),
      may("get list watch", "policy", "poddisruptionbudgets"),
      may("get list watch", "apps", "statefulsets"),
      may("update", "policy", "poddisruptionbudgets/status"),
      may("get", "*", "*/scale"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:endpoint-controller",
    rules: [
      may("get list watch", "core", "pods services"),
      may("create delete get list update", "core", "endpoints"),
      may("create", "core", "endpoints/restricted"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:endpointslice-controller",
    rules: [
      may("get list watch", "core", "nodes pods services"),
      may("update", "core", "services/finalizers"),
      may("create delete get list update", "discovery.k8s.io", "endpointslices"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:endpointslicemirroring-controller",
    rules: [
      may("get list watch", "core", "endpoints services"),
      may("update", "core", "services/finalizers"),
      may("update", "core", "endpoints/finalizers"),
      may("create delete get list update", "discovery.k8s.io", "endpointslices"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:ephemeral-volume-controller",
    rules: [
      may("get list watch", "core", "pods"),
      may("update", "core", "pods/finalizers"),
      may("create get list watch", "core", "persistentvolumeclaims"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:expand-controller",
    rules: [
      may("get list patch update watch", "core", "persistentvolumes"),
      may("patch update", "core", "persistentvolumeclaims/status"),
      may("get list watch", "core", "persistentvolumeclaims"),
      may("get list watch", "storage.k8s.io", "storageclasses"),
      may("get", "core", "endpoints services"),
      may("get", "core", "secrets"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:generic-garbage-collector",
    rules: [
      may("delete get list patch update watch", "*", "*"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:horizontal-pod-autoscaler",
    rules: [
      may("get list watch", "autoscaling", "horizontalpodautoscalers"),
      may("update", "autoscaling", "horizontalpodautoscalers/status"),
      may("get update", "*", "*/scale"),
      may("list", "core", "pods"),
      may("get", "core", "services/proxy", "http:heapster: https:heapster:"),
      may("list", "metrics.k8s.io", "pods"),
      may("get list", "custom.metrics.k8s.io", "*"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:job-controller",
    rules: [
      may("get list patch update watch", "batch", "jobs"),
      may("update", "batch", "jobs/status"),
      may("update", "batch", "jobs/finalizers"),
      may("create delete list patch watch", "core", "pods"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:namespace-controller",
    rules: [
      may("delete get list watch", "core", "namespaces"),
      may("update", "core", "namespaces/finalize namespaces/status"),
      may("delete deletecollection get list", "*", "*"),
    ],
  },
  {
    role: "system:controller:node-controller",
    rules: [
      may("delete get list patch update", "core", "nodes"),
      may("patch update", "core", "nodes/status"),
      may("update", "core", "pods/status"),
      may("delete list", "core", "pods"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:persistent-volume-binder",
    rules: [
      may("create delete get list update watch", "core", "persistentvolumes"),
      may("update", "core", "persistentvolumes/status"),
      may("get list update watch", "core", "persistentvolumeclaims"),
      may("update", "core", "persistentvolumeclaims/status"),
      may("create delete get list watch", "core", "pods"),
      may("get list watch", "storage.k8s.io", "storageclasses"),
      may("create delete get update", "core", "endpoints"),
      may("create delete get", "core", "services"),
      may("get", "core", "secrets"),
      may("get list", "core", "nodes"),
      may("watch", "core", "events"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:pod-garbage-collector",
    rules: [may("delete list watch", "core", "pods"), may("get list", "core", "nodes")],
  },
  {
    role: "system:controller:pv-protection-controller",
    rules: [
      may("get list update watch", "core", "persistentvolumes"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:pvc-protection-controller",
    rules: [
      may("get list update watch", "core", "persistentvolumeclaims"),
      may("get list watch", "core", "pods"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:replicaset-controller",
    rules: [
      may("get list update watch", "apps extensions", "replicasets"),
      may("update", "apps extensions", "replicasets/status"),
      may("update", "apps extensions", "replicasets/finalizers"),
      may("create delete list patch watch", "core", "pods"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:replication-controller",
    rules: [
      may("get list update watch", "core", "replicationcontrollers"),
      may("update", "core", "replicationcontrollers/status"),
      may("update", "core", "replicationcontrollers/finalizers"),
      may("create delete list patch watch", "core", "pods"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:resourcequota-controller",
    rules: [
      may("list watch", "*", "*"),
      may("update", "core", "resourcequotas/status"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:root-ca-cert-publisher",
    rules: [may("create update", "core", "configmaps"), may("create patch update", "core events.k8s.io", "events")],
  },
  {
    role: "system:controller:route-controller",
    rules: [
      may("list watch", "core", "nodes"),
      may("patch", "core", "nodes/status"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:service-account-controller",
    rules: [may("create", "core", "serviceaccounts"), may("create patch update", "core events.k8s.io", "events")],
  },
  {
    role: "system:controller:service-controller",
    rules: [
      may("get list watch", "core", "services"),
      may("patch update", "core", "services/status"),
      may("list watch", "core", "nodes"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:statefulset-controller",
    rules: [
      may("list watch", "core", "pods"),
      may("get list watch", "apps", "statefulsets"),
      may("update", "apps", "statefulsets/status"),
      may("update", "apps", "statefulsets/finalizers"),
      may("create delete get patch update", "core", "pods"),
      may("create delete get list patch update watch", "apps", "controllerrevisions"),
      may("create get", "core", "persistentvolumeclaims"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:controller:ttl-after-finished-controller",
    rules: [may("delete get list watch", "batch", "jobs"), may("create patch update", "core events.k8s.io", "events")],
  },
  {
    role: "system:controller:ttl-controller",
    rules: [
      may("list patch update watch", "core", "nodes"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
];
