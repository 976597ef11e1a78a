// Where objects of custom resources are kept. A file of its own: threads that count logs know no more of definitions.
import type { CustomResourceDefinition } from "../../api/gen/apiextensions/v1.ts";

/** The kind of definitions themselves: group in canonical spelling, version and resource. */
export const definitionsKind = ["apiextensions.k8s.io", "v1", "customresourcedefinitions"] as const;

/** Where objects of a definition are kept: `/registry/<group>/<plural>`, as upstream has it. */
export function prefixOf({ spec }: CustomResourceDefinition): string {
  return `/registry/${spec.group}/${spec.names.plural}`;
}

/** `widgets.example.com` of `/registry/example.com/widgets`; undefined: no custom resource is kept there. */
export function definedAt(prefix: string): string | undefined {
  const [group = "", plural = ""] = prefix.split("/").slice(2);
  return group.includes(".") && plural !== "" ? `${plural}.${group}` : undefined;
}

/** The prefix of the objects of a definition of this name: `<plural>.<group>`, and neither part can change. */
export function prefixOfDefinition(name: string): string {
  return `/registry/${groupOfDefinition(name)}/${name.slice(0, Math.max(0, name.indexOf(".")))}`;
}

/** The group a definition of this name is in. */
export function groupOfDefinition(name: string): string {
  return name.slice(name.indexOf(".") + 1);
}
