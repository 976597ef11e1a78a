// Selectors of a request: grammar from api/selector.ts, and which fields a kind lets clients select by.

import type { Identity } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import type { FieldRequirement, Selector } from "../../api/selector.ts";
import { parseFieldSelector, parseLabelSelector } from "../../api/selector.ts";
import { badRequest, isStatus, type Status } from "../../api/status.ts";
import { limits } from "../../config/limits.ts";
import type { Strategy } from "../../kinds/strategy.ts";
import { strategyOf } from "../../kinds/table.ts";
import { type ListOptions, validateListOptions } from "./listoptions.ts";

/** Everything. */
export const everything: Selector = { labels: [], fields: [] };

/**
 * What a list, watch or deletecollection selects: its selectors are read (400), then its options are checked together
 * (422), then the fields are looked up (400), in upstream's order and with its texts.
 */
export function selectionOf(options: ListOptions, resource: Resource, identity: Identity): Selector | Status {
  const { labelSelector, fieldSelector } = options;
  const parsed = parseSelectors(labelSelector, fieldSelector);
  if (isStatus(parsed)) return parsed;
  return validateListOptions(options, identity) ?? knownFields(parsed, resource, strategyOf(resource, identity));
}

function parseSelectors(labels: string, fields: string): Selector | Status {
  if (labels === "" && fields === "") return everything;
  const labelRequirements = parseLabelSelector(labels);
  if ("error" in labelRequirements) return badRequest(labelRequirements.error);
  const fieldRequirements = parseFieldSelector(fields);
  if ("error" in fieldRequirements) return badRequest(fieldRequirements.error);
  const count = labelRequirements.length + fieldRequirements.length;
  if (count > limits.selectorRequirementsMax) {
    return badRequest(`a selector has at most ${limits.selectorRequirementsMax} requirements, this one has ${count}`);
  }
  return { labels: labelRequirements, fields: fieldRequirements };
}

/** The selector with fields under the names they are stored by. */
function knownFields(selector: Selector, resource: Resource, strategy: Strategy<ApiObject>): Selector | Status {
  if (selector.fields.length === 0) return selector;
  const known: FieldRequirement[] = [];
  for (const requirement of selector.fields) {
    const field = storedField(requirement.field, resource, strategy);
    if (field === undefined) return badRequest(unknownField(requirement.field, resource, strategy));
    known.push({ ...requirement, field });
  }
  return { labels: selector.labels, fields: known };
}

function storedField(field: string, resource: Resource, strategy: Strategy<ApiObject>): string | undefined {
  if (field === "metadata.name") return field;
  // A kind without namespaces that names the fields it is selected by has none of them.
  if (field === "metadata.namespace")
    return resource.namespaced || strategy.fieldLabels === undefined ? field : undefined;
  return strategy.fieldLabels?.get(field);
}

function unknownField(field: string, resource: Resource, strategy: Strategy<ApiObject>): string {
  if (strategy.fieldLabels === undefined) {
    return `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`;
  }
  return resource.kind === "Job"
    ? `field label ${JSON.stringify(field)} not supported for ${resource.kind}`
    : `field label not supported: ${field}`;
}

/** The name a selector pins with `metadata.name=x`; undefined when it does not. */
export function pinnedName(selector: Selector): string | undefined {
  return selector.fields.find((r) => r.field === "metadata.name" && r.operator === "=")?.value;
}
