// Ingresses of extensions/v1beta1 and networking.k8s.io/v1beta1, whose backends name a service in two fields, and the kinds
// beside them.
import type { IngressBackend as OldBackend, Ingress as OldIngress } from "../../api/gen/extensions/v1beta1.ts";
import type { Ingress, IngressBackend, NetworkPolicy } from "../../api/gen/networking/v1.ts";
import type { OlderVersion } from "./version.ts";

const networking = ["networking.k8s.io", "v1"] as const;
const ingress = {
  kinds: ["Ingress"],
  message: "extensions/v1beta1.Ingress",
  successor: networking,
  succeed: fromIngress,
};

/** Versions of the kinds of networking. */
export const olderNetworking: readonly OlderVersion[] = [
  { group: "extensions", version: "v1beta1", ...ingress },
  { group: "networking.k8s.io", version: "v1beta1", ...ingress },
  {
    group: "extensions",
    version: "v1beta1",
    kinds: ["NetworkPolicy"],
    successor: networking,
    succeed: fromNetworkPolicy,
    undefaulted: true,
  },
  { group: "networking.k8s.io", version: "v1beta1", kinds: ["IngressClass"], successor: networking, undefaulted: true },
];

function fromIngress(object: OldIngress): Ingress {
  const { backend, rules, ...spec } = object.spec;
  return {
    ...object,
    spec: {
      ...spec,
      defaultBackend: backend && fromBackend(backend),
      rules: rules?.map(({ http, ...rule }) => ({
        ...rule,
        http: http && {
          paths: http.paths?.map(({ pathType = "ImplementationSpecific", backend: to, ...path }) => ({
            ...path,
            pathType,
            backend: fromBackend(to),
          })),
        },
      })),
    },
  };
}

/** Which directions it is about has a default, as in the successor; the protocol of ports has none. */
function fromNetworkPolicy(object: NetworkPolicy): NetworkPolicy {
  const { spec } = object;
  if (!spec.policyTypes?.length) spec.policyTypes = spec.egress?.length ? ["Ingress", "Egress"] : ["Ingress"];
  return object;
}

/** A service is one where it has a name or a port; 0 is none. */
function fromBackend({ serviceName = "", servicePort, resource }: OldBackend): IngressBackend {
  if (serviceName === "" && servicePort === 0) return { resource };
  const port = typeof servicePort === "string" ? { name: servicePort } : { number: servicePort };
  return { resource, service: { name: serviceName, port } };
}
