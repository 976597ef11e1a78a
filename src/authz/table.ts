// The authorization modes by name, and the authorizer a server's flags ask for.
import type { Identity } from "../api/identity.ts";
import type { Objects } from "../cache/objects.ts";
import type { AuthorizationConfig } from "../config/config.ts";
import { type Authorizer, alwaysAllow, alwaysDeny, inOrder, masters } from "./authorizer.ts";
import { Rbac } from "./rbac.ts";

/** What authorizers may use of a front. */
export interface AuthorizerSources {
  readonly identity: Identity;
  readonly objects: Objects;
}

type Mode = AuthorizationConfig["modes"][number];

const modes: Readonly<Record<Mode, (sources: AuthorizerSources) => Authorizer>> = {
  AlwaysAllow: () => alwaysAllow,
  AlwaysDeny: () => alwaysDeny,
  RBAC: ({ identity, objects }) => new Rbac(identity, objects),
};

/** The modes of a configuration in their order, after the administrators' group. */
export function createAuthorizer(config: AuthorizationConfig, sources: AuthorizerSources): Authorizer {
  return inOrder([masters, ...config.modes.map((mode) => modes[mode](sources))]);
}
