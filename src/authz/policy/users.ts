// The roles for users of namespaces: admin, edit and view, each aggregated from the roles labelled for it, and
// the server's own rules. Names and permissions are upstream's.
import { may, type RoleLine } from "./line.ts";

/** The roles for people, in canonical spelling. */
export const userRoles: readonly RoleLine[] = [
  { role: "admin", gathers: ["admin"], rules: [] },
  { role: "edit", gathers: ["edit"], joins: ["admin"], rules: [] },
  {
    role: "system:aggregate-to-admin",
    joins: ["admin"],
    rules: [
      may("create", "authorization.k8s.io", "localsubjectaccessreviews"),
      may(
        "create delete deletecollection get list patch update watch",
        "rbac.authorization.k8s.io",
        "rolebindings roles",
      ),
    ],
  },
  {
    role: "system:aggregate-to-edit",
    joins: ["edit"],
    rules: [
      may("get list watch", "core", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
      may("impersonate", "core", "serviceaccounts"),
      may(
        "create delete deletecollection patch update",
        "core",
        "pods pods/attach pods/exec pods/portforward pods/proxy",
      ),
      may(
        "create delete deletecollection patch update",
        "core",
        "configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy",
      ),
      may(
        "create delete deletecollection patch update",
        "apps",
        "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale",
      ),
      may("create delete deletecollection patch update", "autoscaling", "horizontalpodautoscalers"),
      may("create delete deletecollection patch update", "batch", "cronjobs jobs"),
      may(
        "create delete deletecollection patch update",
        "extensions",
        "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale",
      ),
      may("create delete deletecollection patch update", "policy", "poddisruptionbudgets"),
      may("create delete deletecollection patch update", "networking.k8s.io", "ingresses networkpolicies"),
    ],
  },
  {
    role: "system:aggregate-to-view",
    joins: ["view"],
    rules: [
      may(
        "get list watch",
        "core",
        "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status",
      ),
      may(
        "get list watch",
        "core",
        "bindings events limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status",
      ),
      may("get list watch", "core", "namespaces"),
      may("get list watch", "discovery.k8s.io", "endpointslices"),
      may(
        "get list watch",
        "apps",
        "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status",
      ),
      may("get list watch", "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
      may("get list watch", "batch", "cronjobs cronjobs/status jobs jobs/status"),
      may(
        "get list watch",
        "extensions",
        "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale",
      ),
      may("get list watch", "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
      may("get list watch", "networking.k8s.io", "ingresses ingresses/status networkpolicies"),
    ],
  },
  { role: "view", gathers: ["view"], joins: ["edit"], rules: [] },
];
