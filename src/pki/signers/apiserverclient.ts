// kube-apiserver-client: certificates of any client of the server. Admission keeps system:masters out of its requests.
import type { Signer } from "./signer.ts";

const required = "client auth";
const allowed: ReadonlySet<string> = new Set([required, "digital signature", "key encipherment"]);

/** Signs for clients: any subject, any names, no usage beyond a client's. */
export const apiserverClient: Signer = {
  name: "kubernetes.io/kube-apiserver-client",
  faultOf({ usages }) {
    for (const usage of usages) if (!allowed.has(usage)) return `invalid usage for client certificate: ${usage}`;
    return usages.includes(required) ? undefined : `missing required usage for client certificate: ${required}`;
  },
};
