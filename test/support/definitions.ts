// Definitions of custom resources for tests, and waiting for what becomes of them.
import type { IdentityName } from "../../src/api/identity.ts";
import { defaultGates } from "../../src/config/gates.ts";
import { DefinitionController } from "../../src/controllers/definitions.ts";
import type { Reconciler } from "../../src/controllers/reconciler.ts";
import { reconcilerOf } from "./controllers.ts";
import { type InProcess, openInProcess, until } from "./inprocess.ts";

/** The collection of definitions. */
export const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** A definition that takes any object; `more` goes into its names, `meta` into its metadata. */
export function definition(
  plural: string,
  kind: string,
  group = "example.com",
  more: object = {},
  meta: object = {},
): object {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, ...meta },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, kind, ...more },
      versions: [{ name: "v1", served: true, storage: true, schema, subresources: { status: {} } }],
    },
  };
}

/** The conditions of a definition, `type status reason`; empty when it is not there. */
export async function conditionsOf(server: InProcess, name: string): Promise<string[]> {
  const { json } = await server.call("GET", `${definitions}/${name}`);
  const conditions = (json?.status?.conditions ?? []) as { type: string; status: string; reason: string }[];
  return conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`);
}

/** Waits until a definition says something of itself. */
export function told(server: InProcess, name: string, condition: string): Promise<boolean> {
  return until(async () => (await conditionsOf(server, name)).includes(condition));
}

/** Waits until a definition is established. */
export function establishedIn(server: InProcess, name: string): Promise<boolean> {
  return told(server, name, "Established True InitialNamesAccepted");
}

/** Waits until a definition is gone. */
export function goneFrom(server: InProcess, name: string, limitMs = 5000): Promise<boolean> {
  return until(async () => (await server.call("GET", `${definitions}/${name}`)).code === 404, limitMs);
}

/** Runs the controller of definitions; `reports` gets what it complains about. Stop it before the server. */
export function runDefinitions(server: InProcess, reports: string[]): Reconciler {
  const controller = new DefinitionController(server.writers, server.objects);
  const reconciler = reconcilerOf(controller, server.server.clock, (message) => void reports.push(message));
  reconciler.start();
  return reconciler;
}

/** A server that serves what a definition defines; `more` gates are on. */
export async function openDefined(
  sent: object,
  identity: IdentityName = "kubernetes",
  more: readonly string[] = [],
): Promise<InProcess & { readonly stop: () => Promise<void> }> {
  const server = await openInProcess(identity, { gates: new Set([...defaultGates, ...more]) });
  const reports: string[] = [];
  const controller = runDefinitions(server, reports);
  const made = await server.call("POST", definitions, sent);
  const { name } = made.json.metadata;
  if (!(await establishedIn(server, name))) throw new Error(`${made.text}\n${await conditionsOf(server, name)}`);
  const stop = async (): Promise<void> => {
    await controller.stop();
    server.close();
    if (reports.length > 0) throw new Error(reports.join("\n"));
  };
  return Object.assign(server, { stop });
}

/** A definition of `widgets.example.com` with these versions, each with a name. The first one is stored. */
export function widgets(...versions: object[]): object {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "widgets", kind: "Widget" },
      versions: versions.map((version, index) => ({ served: true, storage: index === 0, ...version })),
    },
  };
}
