// Names of OpenAPI definitions: upstream's, derived from its packages, spelled in the identity.
import type { Identity } from "../api/identity.ts";

/** Packages whose types live elsewhere than among the API's own. */
const packages = new Map([
  ["meta", "apimachinery.pkg.apis.meta"],
  ["apiextensions", "apiextensions-apiserver.pkg.apis.apiextensions"],
  ["apiregistration", "kube-aggregator.pkg.apis.apiregistration"],
  ["runtime", "apimachinery.pkg.runtime"],
  ["version", "apimachinery.pkg.version"],
]);

/** Types that are scalars here and definitions in OpenAPI. */
export const scalarDefinitions = {
  Time: "apimachinery.pkg.apis.meta.v1.Time",
  MicroTime: "apimachinery.pkg.apis.meta.v1.MicroTime",
  Duration: "apimachinery.pkg.apis.meta.v1.Duration",
  FieldsV1: "apimachinery.pkg.apis.meta.v1.FieldsV1",
  Patch: "apimachinery.pkg.apis.meta.v1.Patch",
  Quantity: "apimachinery.pkg.api.resource.Quantity",
  IntOrString: "apimachinery.pkg.util.intstr.IntOrString",
  RawExtension: "apimachinery.pkg.runtime.RawExtension",
  JSON: "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
} as const;

/** One of the scalars that are definitions. */
export type ScalarDefinition = keyof typeof scalarDefinitions;

/** `io.k8s.` or `io.orch.`: the domain turned around. */
function domain(identity: Identity): string {
  return `${identity.spell("k8s.io").split(".").reverse().join(".")}.`;
}

/**
 * `io.k8s.api.core.v1.Pod` of `core/v1.Pod`; `com.example.v1.Widget` of `example.com/v1.Widget`: only groups of custom
 * resources have a dot here.
 */
export function definitionName(identity: Identity, message: string): string {
  const custom = message.indexOf("/");
  const group = message.slice(0, Math.max(custom, 0));
  if (group.includes(".")) return `${group.split(".").reverse().join(".")}.${message.slice(custom + 1)}`;
  const slash = message.search(/[/.]/);
  const pack = message.slice(0, slash);
  return `${domain(identity)}${packages.get(pack) ?? `api.${pack}`}.${message.slice(slash + 1)}`;
}

/** Name of the definition of a scalar. */
export function scalarDefinitionName(identity: Identity, scalar: ScalarDefinition): string {
  return domain(identity) + scalarDefinitions[scalar];
}
