import { tested } from "../refused.ts";

const from = (peer: object) => ({ spec: { ingress: [{ from: [peer] }] } });
const ports = (port: object) => ({ spec: { egress: [{ ports: [port] }] } });
tested("networking.k8s.io", "v1", "networkpolicies", [
  ["no source", from({}), ["Required spec.ingress[0].from[0]"]],
  [
    "a block and pods",
    from({ ipBlock: { cidr: "10.0.0.0/8" }, podSelector: {} }),
    ["Forbidden spec.ingress[0].from[0]"],
  ],
  ["a bad block", from({ ipBlock: { cidr: "10.0.0.0" } }), ["Invalid spec.ingress[0].from[0].ipBlock.cidr"]],
  [
    "a hole outside the block",
    from({ ipBlock: { cidr: "10.0.0.0/8", except: ["11.0.0.0/9", "10.1.0.0/16"] } }),
    ["Invalid spec.ingress[0].from[0].ipBlock.except[0]"],
  ],
  [
    "a hole as large as the block",
    from({ ipBlock: { cidr: "10.0.0.0/8", except: ["10.0.0.0/8"] } }),
    ["Invalid spec.ingress[0].from[0].ipBlock.except[0]"],
  ],
  ["a range upside down", ports({ port: 80, endPort: 79 }), ["Invalid spec.egress[0].ports[0].endPort"]],
  ["a range from a name", ports({ port: "http", endPort: 79 }), ["Invalid spec.egress[0].ports[0].endPort"]],
  ["a range from nothing", ports({ endPort: 79 }), ["Invalid spec.egress[0].ports[0].endPort"]],
  ["a protocol", ports({ port: 80, protocol: "X" }), ["NotSupported spec.egress[0].ports[0].protocol"]],
  ["unknown policy types", { spec: { policyTypes: ["X", "Egress"] } }, ["NotSupported spec.policyTypes[0]"]],
]);
