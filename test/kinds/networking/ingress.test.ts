import { tested } from "../refused.ts";

const service = (name: string, port: object) => ({ service: { name, port } });
const path = (of: object) => ({ spec: { rules: [{ http: { paths: [of] } }] } });
const backend = service("web", { number: 80 });
const at = "spec.rules[0].http.paths[0]";
tested("networking.k8s.io", "v1", "ingresses", [
  ["a good one", path({ path: "/a", pathType: "Prefix", backend }), []],
  ["a host that is an address", { spec: { rules: [{ host: "10.0.0.1" }] } }, ["Invalid spec.rules[0].host"]],
  ["a wildcard in the middle", { spec: { rules: [{ host: "a.*.b" }] } }, ["Invalid spec.rules[0].host"]],
  ["a wildcard at the start", { spec: { rules: [{ host: "*.b" }] } }, []],
  ["no type of path", path({ path: "/a", backend }), [`Required ${at}.pathType`]],
  ["an unknown type of path", path({ path: "/a", pathType: "X", backend }), [`NotSupported ${at}.pathType`]],
  ["a relative path", path({ path: "a", pathType: "Exact", backend }), [`Invalid ${at}.path`]],
  [
    "steps back",
    path({ path: "/a/../b/..", pathType: "Exact", backend }),
    [`Invalid ${at}.path`, `Invalid ${at}.path`],
  ],
  [
    "any path where the implementation decides",
    path({ path: "/a//b", pathType: "ImplementationSpecific", backend }),
    [],
  ],
  ["no backend", path({ path: "/", pathType: "Exact" }), [`Invalid ${at}.backend`]],
  [
    "two ports",
    path({ path: "/", pathType: "Exact", backend: service("w", { name: "a", number: 1 }) }),
    [`Invalid ${at}.backend`],
  ],
  ["no port", path({ path: "/", pathType: "Exact", backend: service("w", {}) }), [`Required ${at}.backend`]],
  [
    "a bad service",
    { spec: { defaultBackend: service("1w", { number: 99999 }) } },
    ["Invalid spec.defaultBackend.service.name", "Invalid spec.defaultBackend.service.port.number"],
  ],
  [
    "tls",
    { spec: { defaultBackend: backend, tls: [{ hosts: ["A"], secretName: "B" }] } },
    ["Invalid spec.tls[0].hosts[0]", "Invalid spec.tls[0].secretName"],
  ],
]);
