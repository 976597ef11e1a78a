// kubelet-serving: certificates that nodes serve with. Whether the names are the node's is for the approver to decide.
import { commonNameOf, isNodesOrganization, nodeFaults, nodePrefix, type Signer, usagesFault } from "./signer.ts";

const usagesWanted = ["digital signature", "key encipherment", "server auth"];

/** Signs for nodes as servers: the subject of a node, and the hosts and addresses it serves at. */
export const nodeAgentServing: Signer = {
  name: "kubernetes.io/kubelet-serving",
  faultOf({ request, usages }) {
    const { dns, email, ip, uri } = request.names;
    if (!isNodesOrganization(request)) return nodeFaults.organization;
    if (dns.length === 0 && ip.length === 0) return "DNS or IP subjectAltName is required";
    if (email.length > 0) return "Email subjectAltNames are not allowed";
    if (uri.length > 0) return "URI subjectAltNames are not allowed";
    if (!commonNameOf(request).startsWith(nodePrefix)) return nodeFaults.commonName;
    return usagesFault(usages, usagesWanted);
  },
};
