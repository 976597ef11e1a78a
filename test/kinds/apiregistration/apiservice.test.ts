import t from "tap";
import { tested } from "../refused.ts";
import { created, kind, now } from "../written.ts";

t.test("Registrations without a service are available from the start", (t) => {
  const registrations = kind("apiregistration.k8s.io", "v1", "apiservices");
  const status = created(registrations, { spec: { group: "g" } })["status"];
  t.hasStrict(status, {
    conditions: [{ type: "Available", status: "True", reason: "Local", lastTransitionTime: now }],
  });
  t.strictSame(created(registrations, { spec: { service: { name: "s" } } })["status"], {});
  t.end();
});

const registration = { group: "g", version: "v1", groupPriorityMinimum: 1, versionPriority: 1 };
tested("apiregistration.k8s.io", "v1", "apiservices", [
  [
    "trust without a service",
    { metadata: { name: "v1.g" }, spec: { ...registration, insecureSkipTLSVerify: true, caBundle: "eA==" } },
    ["Invalid spec.caBundle", "Invalid spec.insecureSkipTLSVerify"],
  ],
  [
    "trust twice",
    {
      metadata: { name: "v1.g" },
      spec: { ...registration, service: { name: "s", namespace: "n" }, insecureSkipTLSVerify: true, caBundle: "eA==" },
    },
    ["Invalid spec.insecureSkipTLSVerify"],
  ],
  [
    "a service without a name",
    { metadata: { name: "v1.g" }, spec: { ...registration, service: { port: 0 } } },
    ["Required spec.service.namespace", "Required spec.service.name", "Invalid spec.service.port"],
  ],
]);
