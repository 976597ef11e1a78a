// The default bindings, and the default roles of single namespaces. Names and permissions are upstream's.
import { account, type BindingLine, group, may, type RoleLine, user } from "./line.ts";

/** Cluster-wide bindings other than the controllers', in canonical spelling. */
export const clusterBindings: readonly BindingLine[] = [
  { binding: "cluster-admin", role: "cluster-admin", subjects: [group("system:masters")] },
  { binding: "system:basic-user", role: "system:basic-user", subjects: [group("system:authenticated")] },
  { binding: "system:discovery", role: "system:discovery", subjects: [group("system:authenticated")] },
  {
    binding: "system:kube-controller-manager",
    role: "system:kube-controller-manager",
    subjects: [user("system:kube-controller-manager")],
  },
  { binding: "system:kube-dns", role: "system:kube-dns", subjects: [account("kube-system", "kube-dns")] },
  { binding: "system:kube-scheduler", role: "system:kube-scheduler", subjects: [user("system:kube-scheduler")] },
  { binding: "system:monitoring", role: "system:monitoring", subjects: [group("system:monitoring")] },
  { binding: "system:node", role: "system:node", subjects: [] },
  { binding: "system:node-proxier", role: "system:node-proxier", subjects: [user("system:kube-proxy")] },
  {
    binding: "system:public-info-viewer",
    role: "system:public-info-viewer",
    subjects: [group("system:authenticated"), group("system:unauthenticated")],
  },
  {
    binding: "system:service-account-issuer-discovery",
    role: "system:service-account-issuer-discovery",
    subjects: [group("system:serviceaccounts")],
  },
  { binding: "system:volume-scheduler", role: "system:volume-scheduler", subjects: [user("system:kube-scheduler")] },
];

/** Roles of one namespace. */
export const namespaceRoles: readonly (RoleLine & { readonly namespace: string })[] = [
  {
    namespace: "kube-public",
    role: "system:controller:bootstrap-signer",
    rules: [
      may("get list watch", "core", "configmaps"),
      may("update", "core", "configmaps", "cluster-info"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
  {
    namespace: "kube-system",
    role: "extension-apiserver-authentication-reader",
    rules: [may("get list watch", "core", "configmaps", "extension-apiserver-authentication")],
  },
  {
    namespace: "kube-system",
    role: "system::leader-locking-kube-controller-manager",
    rules: [may("watch", "core", "configmaps"), may("get update", "core", "configmaps", "kube-controller-manager")],
  },
  {
    namespace: "kube-system",
    role: "system::leader-locking-kube-scheduler",
    rules: [may("watch", "core", "configmaps"), may("get update", "core", "configmaps", "kube-scheduler")],
  },
  {
    namespace: "kube-system",
    role: "system:controller:bootstrap-signer",
    rules: [may("get list watch", "core", "secrets")],
  },
  {
    namespace: "kube-system",
    role: "system:controller:cloud-provider",
    rules: [may("create get list watch", "core", "configmaps")],
  },
  {
    namespace: "kube-system",
    role: "system:controller:token-cleaner",
    rules: [
      may("delete get list watch", "core", "secrets"),
      may("create patch update", "core events.k8s.io", "events"),
    ],
  },
];

/** Bindings of one namespace. */
export const namespaceBindings: readonly (BindingLine & { readonly namespace: string })[] = [
  {
    namespace: "kube-public",
    binding: "system:controller:bootstrap-signer",
    role: "system:controller:bootstrap-signer",
    subjects: [account("kube-system", "bootstrap-signer")],
  },
  {
    namespace: "kube-system",
    binding: "system::extension-apiserver-authentication-reader",
    role: "extension-apiserver-authentication-reader",
    subjects: [user("system:kube-controller-manager"), user("system:kube-scheduler")],
  },
  {
    namespace: "kube-system",
    binding: "system::leader-locking-kube-controller-manager",
    role: "system::leader-locking-kube-controller-manager",
    subjects: [user("system:kube-controller-manager"), account("kube-system", "kube-controller-manager")],
  },
  {
    namespace: "kube-system",
    binding: "system::leader-locking-kube-scheduler",
    role: "system::leader-locking-kube-scheduler",
    subjects: [user("system:kube-scheduler"), account("kube-system", "kube-scheduler")],
  },
  {
    namespace: "kube-system",
    binding: "system:controller:bootstrap-signer",
    role: "system:controller:bootstrap-signer",
    subjects: [account("kube-system", "bootstrap-signer")],
  },
  {
    namespace: "kube-system",
    binding: "system:controller:cloud-provider",
    role: "system:controller:cloud-provider",
    subjects: [account("kube-system", "cloud-provider")],
  },
  {
    namespace: "kube-system",
    binding: "system:controller:token-cleaner",
    role: "system:controller:token-cleaner",
    subjects: [account("kube-system", "token-cleaner")],
  },
];
