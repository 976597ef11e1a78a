// ResourceQuotaConfiguration: resources that may be used only where a quota allows it.
import type { Identity } from "../../api/identity.ts";
import type { QuotaSettings } from "../../config/files/plugins.ts";
import type { LimitedResource } from "./rules.ts";

/** Reads the configuration, JSON text that main checked. */
export function readLimitedResources(settings: string | undefined, { spell }: Identity): LimitedResource[] {
  const { limitedResources = [] } = JSON.parse(settings ?? "{}") as QuotaSettings;
  return limitedResources.map(({ apiGroup = "", resource, matchContains = [], matchScopes = [] }) => {
    return { group: apiGroup === "" ? "" : spell(apiGroup), resource, contains: matchContains, scopes: matchScopes };
  });
}
