// Roles for the components of a cluster: discovery, signers, nodes, the scheduler, the controllers' own process. Names
// and permissions are upstream's.
import { may, type RoleLine, visit } from "./line.ts";

/** The roles for the system's parts, in canonical spelling. */
export const systemRoles: readonly RoleLine[] = [
  { role: "cluster-admin", rules: [may("*", "*", "*"), visit("*", "*")] },
  {
    role: "system:auth-delegator",
    rules: [
      may("create", "authentication.k8s.io", "tokenreviews"),
      may("create", "authorization.k8s.io", "subjectaccessreviews"),
    ],
  },
  {
    role: "system:basic-user",
    rules: [may("create", "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews")],
  },
  {
    role: "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
    rules: [may("create", "certificates.k8s.io", "certificatesigningrequests/nodeclient")],
  },
  {
    role: "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
    rules: [may("create", "certificates.k8s.io", "certificatesigningrequests/selfnodeclient")],
  },
  {
    role: "system:certificates.k8s.io:kube-apiserver-client-approver",
    rules: [may("approve", "certificates.k8s.io", "signers", "kubernetes.io/kube-apiserver-client")],
  },
  {
    role: "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver",
    rules: [may("approve", "certificates.k8s.io", "signers", "kubernetes.io/kube-apiserver-client-kubelet")],
  },
  {
    role: "system:certificates.k8s.io:kubelet-serving-approver",
    rules: [may("approve", "certificates.k8s.io", "signers", "kubernetes.io/kubelet-serving")],
  },
  {
    role: "system:certificates.k8s.io:legacy-unknown-approver",
    rules: [may("approve", "certificates.k8s.io", "signers", "kubernetes.io/legacy-unknown")],
  },
  {
    role: "system:discovery",
    rules: [visit("get", "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/")],
  },
  {
    role: "system:heapster",
    rules: [
      may("get list watch", "core", "events namespaces nodes pods"),
      may("get list watch", "extensions", "deployments"),
    ],
  },
  { role: "system:kube-aggregator", rules: [may("get list watch", "core", "endpoints services")] },
  {
    role: "system:kube-controller-manager",
    rules: [
      may("create patch update", "core events.k8s.io", "events"),
      may("create", "coordination.k8s.io", "leases"),
      may("get update", "coordination.k8s.io", "leases", "kube-controller-manager"),
      may("create", "core", "endpoints"),
      may("get update", "core", "endpoints", "kube-controller-manager"),
      may("create", "core", "secrets serviceaccounts"),
      may("delete", "core", "secrets"),
      may("get", "core", "configmaps namespaces secrets serviceaccounts"),
      may("update", "core", "secrets serviceaccounts"),
      may("create", "authentication.k8s.io", "tokenreviews"),
      may("create", "authorization.k8s.io", "subjectaccessreviews"),
      may("list watch", "*", "*"),
      may("create", "core", "serviceaccounts/token"),
    ],
  },
  { role: "system:kube-dns", rules: [may("list watch", "core", "endpoints services")] },
  {
    role: "system:kube-scheduler",
    rules: [
      may("create patch update", "core events.k8s.io", "events"),
      may("create", "coordination.k8s.io", "leases"),
      may("get update", "coordination.k8s.io", "leases", "kube-scheduler"),
      may("create", "core", "endpoints"),
      may("get update", "core", "endpoints", "kube-scheduler"),
      may("get list watch", "core", "nodes"),
      may("delete get list watch", "core", "pods"),
      may("create", "core", "bindings pods/binding"),
      may("patch update", "core", "pods/status"),
      may("get list watch", "core", "replicationcontrollers services"),
      may("get list watch", "apps extensions", "replicasets"),
      may("get list watch", "apps", "statefulsets"),
      may("get list watch", "policy", "poddisruptionbudgets"),
      may("get list watch", "core", "persistentvolumeclaims persistentvolumes"),
      may("create", "authentication.k8s.io", "tokenreviews"),
      may("create", "authorization.k8s.io", "subjectaccessreviews"),
      may("get list watch", "storage.k8s.io", "csinodes"),
      may("get list watch", "core", "namespaces"),
      may("get list watch", "storage.k8s.io", "csidrivers"),
      may("get list watch", "storage.k8s.io", "csistoragecapacities"),
    ],
  },
  {
    role: "system:kubelet-api-admin",
    rules: [
      may("get list watch", "core", "nodes"),
      may("proxy", "core", "nodes"),
      may("*", "core", "nodes/log nodes/metrics nodes/proxy nodes/spec nodes/stats"),
    ],
  },
  {
    role: "system:monitoring",
    rules: [visit("get", "/healthz /healthz/* /livez /livez/* /metrics /readyz /readyz/*")],
  },
  {
    role: "system:node",
    rules: [
      may("create", "authentication.k8s.io", "tokenreviews"),
      may("create", "authorization.k8s.io", "localsubjectaccessreviews subjectaccessreviews"),
      may("get list watch", "core", "services"),
      may("create get list watch", "core", "nodes"),
      may("patch update", "core", "nodes/status"),
      may("patch update", "core", "nodes"),
      may("create patch update", "core", "events"),
      may("get list watch", "core", "pods"),
      may("create delete", "core", "pods"),
      may("patch update", "core", "pods/status"),
      may("create", "core", "pods/eviction"),
      may("get list watch", "core", "configmaps secrets"),
      may("get", "core", "persistentvolumeclaims persistentvolumes"),
      may("get", "core", "endpoints"),
      may("create get list watch", "certificates.k8s.io", "certificatesigningrequests"),
      may("create delete get patch update", "coordination.k8s.io", "leases"),
      may("get", "storage.k8s.io", "volumeattachments"),
      may("create", "core", "serviceaccounts/token"),
      may("get patch update", "core", "persistentvolumeclaims/status"),
      may("get list watch", "storage.k8s.io", "csidrivers"),
      may("create delete get patch update", "storage.k8s.io", "csinodes"),
      may("get list watch", "node.k8s.io", "runtimeclasses"),
    ],
  },
  {
    role: "system:node-bootstrapper",
    rules: [may("create get list watch", "certificates.k8s.io", "certificatesigningrequests")],
  },
  {
    role: "system:node-problem-detector",
    rules: [
      may("get", "core", "nodes"),
      may("patch", "core", "nodes/status"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    role: "system:node-proxier",
    rules: [
      may("list watch", "core", "endpoints services"),
      may("get list watch", "core", "nodes"),
      may("create patch update", "core events.k8s.io", "events"),
      may("list watch", "discovery.k8s.io", "endpointslices"),
    ],
  },
  {
    role: "system:persistent-volume-provisioner",
    rules: [
      may("create delete get list watch", "core", "persistentvolumes"),
      may("get list update watch", "core", "persistentvolumeclaims"),
      may("get list watch", "storage.k8s.io", "storageclasses"),
      may("watch", "core", "events"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  { role: "system:public-info-viewer", rules: [visit("get", "/healthz /livez /readyz /version /version/")] },
  {
    role: "system:service-account-issuer-discovery",
    rules: [visit("get", "/.well-known/openid-configuration /openid/v1/jwks")],
  },
  {
    role: "system:volume-scheduler",
    rules: [
      may("get list patch update watch", "core", "persistentvolumes"),
      may("get list watch", "storage.k8s.io", "storageclasses"),
      may("get list patch update watch", "core", "persistentvolumeclaims"),
    ],
  },
];
