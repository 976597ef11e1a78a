// ResourceQuotaConfiguration: resources that may be used only where a quota allows it.
import type { Identity } from "../../api/identity.ts";
import type { Scope } from "../../kinds/quota/scopes.ts";
import type { LimitedResource } from "./rules.ts";

/** Reads the configuration, JSON text; a text says what is wrong with it. */
export function readLimitedResources(settings: string | undefined, identity: Identity): LimitedResource[] | string {
  if (settings === undefined) return [];
  const document = JSON.parse(settings) as { kind?: unknown; limitedResources?: unknown };
  if (
    document.kind !== undefined &&
    document.kind !== "ResourceQuotaConfiguration" &&
    document.kind !== "Configuration"
  ) {
    return `kind must be ResourceQuotaConfiguration, not ${JSON.stringify(document.kind)}`;
  }
  const list = document.limitedResources ?? [];
  if (!Array.isArray(list)) return "limitedResources must be a list";
  const found: LimitedResource[] = [];
  for (const [index, item] of list.entries()) {
    const { apiGroup = "", resource, matchContains = [], matchScopes = [] } = item as { [key: string]: unknown };
    const at = `limitedResources[${index}]`;
    if (typeof resource !== "string" || resource === "") return `${at}.resource must be a name`;
    if (typeof apiGroup !== "string") return `${at}.apiGroup must be a text`;
    if (!isTexts(matchContains)) return `${at}.matchContains must be a list of texts`;
    if (!isScopes(matchScopes)) return `${at}.matchScopes must be a list of scopeName, operator and values`;
    const group = apiGroup === "" ? "" : identity.spell(apiGroup);
    found.push({ group, resource, contains: matchContains, scopes: matchScopes });
  }
  return found;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isScopes(value: unknown): value is Scope[] {
  const isScope = (item: unknown): boolean => {
    const { scopeName, operator, values = [] } = (item ?? {}) as { [key: string]: unknown };
    return typeof scopeName === "string" && typeof operator === "string" && isTexts(values);
  };
  return Array.isArray(value) && value.every(isScope);
}
