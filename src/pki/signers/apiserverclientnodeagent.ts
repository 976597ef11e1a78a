// kube-apiserver-client-kubelet: certificates by which nodes are clients of the server. The approver recognizes requests
// by the same rules.
import { commonNameOf, isNodesOrganization, nodeFaults, nodePrefix, type Signer, usagesFault } from "./signer.ts";

const usagesWanted = ["client auth", "digital signature", "key encipherment"];

/** Signs for nodes as clients: the subject of a node, and no other name. */
export const apiserverClientNodeAgent: Signer = {
  name: "kubernetes.io/kube-apiserver-client-kubelet",
  faultOf({ request, usages }) {
    const { dns, email, ip, uri } = request.names;
    if (!isNodesOrganization(request)) return nodeFaults.organization;
    if (dns.length > 0) return "DNS subjectAltNames are not allowed";
    if (email.length > 0) return "Email subjectAltNames are not allowed";
    if (ip.length > 0) return "IP subjectAltNames are not allowed";
    if (uri.length > 0) return "URI subjectAltNames are not allowed";
    if (!commonNameOf(request).startsWith(nodePrefix)) return nodeFaults.commonName;
    return usagesFault(usages, usagesWanted);
  },
};
