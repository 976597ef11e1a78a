// The authorization modes by name, and what a server's flags ask for.
import type { Identity } from "../api/identity.ts";
import type { Objects } from "../cache/objects.ts";
import type { AuthorizationConfig } from "../config/config.ts";
import { type Authorizer, alwaysAllow, alwaysDeny, inOrder, masters } from "./authorizer.ts";
import { Rbac } from "./rbac.ts";
import type { Roles } from "./rules.ts";

/** What authorizers may use of a front. */
export interface AuthorizerSources {
  readonly identity: Identity;
  readonly objects: Objects;
}

type Mode = AuthorizationConfig["modes"][number];

const modes: Readonly<Record<Mode, (sources: AuthorizerSources, rbac: Rbac) => Authorizer>> = {
  AlwaysAllow: () => alwaysAllow,
  AlwaysDeny: () => alwaysDeny,
  RBAC: (_sources, rbac) => rbac,
};

/** What a front authorizes by. */
export interface Authorization {
  /** Decides about every request, and what admission asks. */
  readonly authorizer: Authorizer;
  /** Who holds which rules; there in every mode, for writes of roles and bindings. */
  readonly roles: Roles;
}

/** The modes of a configuration in their order, after the administrators' group. */
export function createAuthorization(config: AuthorizationConfig, sources: AuthorizerSources): Authorization {
  const rbac = new Rbac(sources.identity, sources.objects);
  return { authorizer: inOrder([masters, ...config.modes.map((mode) => modes[mode](sources, rbac))]), roles: rbac };
}
