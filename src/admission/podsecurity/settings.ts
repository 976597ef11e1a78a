// PodSecurityConfiguration: the policy of namespaces without labels, and who is exempt.
import type { PodSecuritySettings } from "../../config/files/plugins.ts";
import { type modes, openPolicy, type Policy, type Rule } from "./policy.ts";

/** The configuration of the plugin. */
export interface Settings {
  readonly defaults: Policy;
  readonly exemptions: {
    readonly users: ReadonlySet<string>;
    readonly namespaces: ReadonlySet<string>;
    readonly runtimeClasses: ReadonlySet<string>;
  };
}

/** Reads the configuration, JSON text that main checked. */
export function readSettings(text: string | undefined): Settings {
  const { defaults = {}, exemptions = {} } = JSON.parse(text ?? "{}") as PodSecuritySettings;
  const ruleOf = (mode: (typeof modes)[number]): Rule => {
    const { level, version } = openPolicy[mode];
    return { level: defaults[mode] ?? level, version: defaults[`${mode}-version`] ?? version };
  };
  return {
    defaults: { enforce: ruleOf("enforce"), audit: ruleOf("audit"), warn: ruleOf("warn") },
    exemptions: {
      users: new Set(exemptions.usernames),
      namespaces: new Set(exemptions.namespaces),
      runtimeClasses: new Set(exemptions.runtimeClasses),
    },
  };
}
