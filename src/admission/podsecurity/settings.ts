// PodSecurityConfiguration: the policy of namespaces without labels, and who is exempt.
import { isVersion, modes, openPolicy, type Policy, parseLevel, type Rule } from "./policy.ts";

/** The configuration of the plugin. */
export interface Settings {
  readonly defaults: Policy;
  readonly exemptions: {
    readonly users: ReadonlySet<string>;
    readonly namespaces: ReadonlySet<string>;
    readonly runtimeClasses: ReadonlySet<string>;
  };
}

/** Reads the configuration, JSON text; a text says what is wrong with it. */
export function readSettings(text: string | undefined): Settings | string {
  const { kind, defaults = {}, exemptions = {} } = (text === undefined ? {} : JSON.parse(text)) as Document;
  if (kind !== undefined && kind !== "PodSecurityConfiguration") {
    return `kind must be PodSecurityConfiguration, not ${JSON.stringify(kind)}`;
  }
  const said = new Map(Object.entries(defaults ?? {}));
  const rules = new Map<string, Rule>();
  for (const mode of modes) {
    const level = said.get(mode) ?? openPolicy[mode].level;
    const version = said.get(`${mode}-version`) ?? openPolicy[mode].version;
    const known = typeof level === "string" ? parseLevel(level) : undefined;
    if (known === undefined) return `defaults.${mode} must be one of privileged, baseline, restricted`;
    if (typeof version !== "string" || !isVersion(version))
      return `defaults.${mode}-version must be "latest" or "v1.x"`;
    rules.set(mode, { level: known, version });
  }
  const exempt = new Map(Object.entries(exemptions ?? {}));
  const sets: Set<string>[] = [];
  for (const key of ["usernames", "namespaces", "runtimeClasses"]) {
    const list = exempt.get(key) ?? [];
    if (!Array.isArray(list) || !list.every((item) => typeof item === "string" && item !== "")) {
      return `exemptions.${key} must be a list of names`;
    }
    sets.push(new Set(list as string[]));
  }
  const [users = new Set<string>(), namespaces = new Set<string>(), runtimeClasses = new Set<string>()] = sets;
  const [enforce, audit, warn] = modes.map((mode) => rules.get(mode) ?? openPolicy[mode]);
  const policy = {
    enforce: enforce ?? openPolicy.enforce,
    audit: audit ?? openPolicy.audit,
    warn: warn ?? openPolicy.warn,
  };
  return { defaults: policy, exemptions: { users, namespaces, runtimeClasses } };
}

interface Document {
  readonly kind?: unknown;
  readonly defaults?: object | null;
  readonly exemptions?: object | null;
}
