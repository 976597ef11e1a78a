// Selectors of a request: grammar from api/selector.ts, and which fields a kind lets clients select by.

import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import type { FieldRequirement, Selector } from "../api/selector.ts";
import { parseFieldSelector, parseLabelSelector } from "../api/selector.ts";
import { badRequest, type Status } from "../api/status.ts";
import { limits } from "../config/limits.ts";
import type { Strategy } from "../kinds/strategy.ts";

/** Everything. */
export const everything: Selector = { labels: [], fields: [] };

/** Parses both selectors of a request; 400 with the reference's text. */
export function parseSelectors(
  labels: string,
  fields: string,
  resource: Resource,
  strategy: Strategy<ApiObject>,
): Selector | Status {
  if (labels === "" && fields === "") return everything;
  const labelRequirements = parseLabelSelector(labels);
  if ("error" in labelRequirements) return badRequest(labelRequirements.error);
  const fieldRequirements = parseFieldSelector(fields);
  if ("error" in fieldRequirements) return badRequest(fieldRequirements.error);
  const count = labelRequirements.length + fieldRequirements.length;
  if (count > limits.selectorRequirementsMax) {
    return badRequest(`a selector has at most ${limits.selectorRequirementsMax} requirements, this one has ${count}`);
  }
  const known: FieldRequirement[] = [];
  for (const requirement of fieldRequirements) {
    const field = storedField(requirement.field, strategy);
    if (field === undefined) return badRequest(unknownField(requirement.field, resource, strategy));
    known.push({ ...requirement, field });
  }
  return { labels: labelRequirements, fields: known };
}

function storedField(field: string, strategy: Strategy<ApiObject>): string | undefined {
  if (field === "metadata.name" || field === "metadata.namespace") return field;
  return strategy.fieldLabels?.get(field);
}

function unknownField(field: string, resource: Resource, strategy: Strategy<ApiObject>): string {
  if (strategy.fieldLabels === undefined) {
    return `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`;
  }
  return resource.kind === "Event" || resource.kind === "Pod"
    ? `field label not supported: ${field}`
    : `field label ${JSON.stringify(field)} not supported for ${resource.kind}`;
}

/** The name a selector pins with `metadata.name=x`; undefined when it does not. */
export function pinnedName(selector: Selector): string | undefined {
  return selector.fields.find((r) => r.field === "metadata.name" && r.operator === "=")?.value;
}
