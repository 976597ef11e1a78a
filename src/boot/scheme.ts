// The kinds a server serves, as its flags say: every thread makes the same ones.
import { identities } from "../api/identity.ts";
import { createScheme, type Scheme } from "../api/scheme.ts";
import type { Config } from "../config/config.ts";

/** The scheme of a configuration. */
export function schemeOf({
  identity,
  runtimeConfig,
  gates,
  release,
}: Pick<Config, "identity" | "runtimeConfig" | "gates" | "release">): Scheme {
  return createScheme({ identity: identities[identity], runtimeConfig, gates, release });
}
