// APIServices for tests, the controllers that keep them, and waiting for what becomes of them.
import type { APIServiceCondition } from "../../src/api/gen/apiregistration/v1.ts";
import { RegistrationController } from "../../src/controllers/apiservices.ts";
import { AvailabilityController } from "../../src/controllers/availability.ts";
import type { Reconciler } from "../../src/controllers/reconciler.ts";
import { availabilityMeter } from "../../src/observe/apiservices.ts";
import { Registry } from "../../src/observe/metrics.ts";
import { reconcilerOf } from "./controllers.ts";
import { type InProcess, until } from "./inprocess.ts";

/** The collection of APIServices. */
export const apiServices = "/apis/apiregistration.k8s.io/v1/apiservices";

/** The label of those a server keeps. */
export const managed = "kube-aggregator.kubernetes.io/automanaged";

/** An APIService of `v1.<group>`; `spec` and `metadata` are added to what it must have. */
export function apiService(group: string, spec: object = {}, metadata: object = {}): object {
  return {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: `v1.${group}`, ...metadata },
    spec: { group, version: "v1", groupPriorityMinimum: 500, versionPriority: 10, ...spec },
  };
}

/** One behind a service of the namespace `default`. */
export function remoteApiService(group: string, service: string, port = 443): object {
  return apiService(group, { service: { namespace: "default", name: service, port }, insecureSkipTLSVerify: true });
}

/** A service of the namespace `default` that is another name of this host. */
export function outsideService(name: string, externalName = "127.0.0.1"): object {
  return { metadata: { name }, spec: { type: "ExternalName", externalName } };
}

/** The condition of an APIService. */
export async function conditionOf(server: InProcess, name: string): Promise<APIServiceCondition | undefined> {
  const { json } = await server.call("GET", `${apiServices}/${name}`);
  return (json?.status?.conditions ?? []).find(({ type }: APIServiceCondition) => type === "Available");
}

/** Waits until the condition has this reason. */
export function becomes(server: InProcess, name: string, reason: string, limitMs = 5000): Promise<boolean> {
  return until(async () => (await conditionOf(server, name))?.reason === reason, limitMs);
}

/** Runs the controller that keeps APIServices; `reports` gets what it complains about. Stop it before the server. */
export function runRegistration({ server }: InProcess, reports: string[]): Reconciler {
  const controller = new RegistrationController(server);
  const reconciler = reconcilerOf(controller, server.clock, (message) => void reports.push(message));
  reconciler.start();
  return reconciler;
}

/** Runs the controller that looks whether they are available. */
export function runAvailability({ server }: InProcess, reports: string[], metrics = new Registry()): Reconciler {
  const controller = new AvailabilityController(server, { meter: availabilityMeter(metrics) });
  const reconciler = reconcilerOf(controller, server.clock, (message) => void reports.push(message));
  reconciler.start();
  return reconciler;
}
