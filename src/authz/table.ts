// The authorization modes by name, and their configuration by flags.
import type { Identity } from "../api/identity.ts";
import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import type { Objects } from "../cache/view/objects.ts";
import type { AuthorizationConfig } from "../config/config.ts";
import { Abac } from "./abac.ts";
import { type Authorizer, alwaysAllow, alwaysDeny, inOrder, masters } from "./authorizer.ts";
import type { AuthorizationFiles } from "./files.ts";
import { NodeAuthorizer } from "./node.ts";
import { may, visit } from "./policy/line.ts";
import { Rbac } from "./rbac.ts";
import type { HeldRules, Roles, RuleResolver } from "./rules.ts";
import { WebhookAuthorizer } from "./webhook.ts";

/** Services of a front for authorizers. */
export interface AuthorizerSources {
  readonly identity: Identity;
  readonly objects: Objects;
  readonly clock: Clock;
  readonly config: AuthorizationConfig;
  readonly files: AuthorizationFiles;
}

/** One mode: decides, and lists the rules of a user as far as it can. */
interface Mode extends Authorizer, RuleResolver {}

const everything: HeldRules = { rules: [may("*", "*", "*"), visit("*", "*")], errors: [] };
const nothing: HeldRules = { rules: [], errors: [] };

const modes: Readonly<Record<AuthorizationConfig["modes"][number], (sources: AuthorizerSources, rbac: Rbac) => Mode>> =
  {
    AlwaysAllow: () => ({ ...alwaysAllow, rulesFor: () => everything }),
    AlwaysDeny: () => ({ ...alwaysDeny, rulesFor: () => nothing }),
    Node: ({ identity, objects }) => new NodeAuthorizer(identity, objects),
    RBAC: (_sources, rbac) => rbac,
    ABAC: ({ files }) => new Abac(files.policies),
    Webhook: ({ identity, clock, config, files: { webhook } }) => {
      assert(webhook !== undefined, "The mode has its file");
      return new WebhookAuthorizer(identity, clock, config, webhook);
    },
  };

/** The authorization of a front. */
export interface Authorization {
  /** Decides about every request, and the questions of admission. */
  readonly authorizer: Authorizer;
  /** The rules of a user, as far as the modes can list them. */
  readonly rules: RuleResolver;
  /** The RBAC rules of users; present in every mode, for writes of roles and bindings. */
  readonly roles: Roles;
}

/** The modes of a configuration in their order, after the administrators' group. */
export function createAuthorization(sources: AuthorizerSources): Authorization {
  const rbac = new Rbac(sources.identity, sources.objects);
  const asked = sources.config.modes.map((mode) => modes[mode](sources, rbac));
  return { authorizer: inOrder([masters, ...asked]), rules: together(asked), roles: rbac };
}

/** The rules of all modes, one after the other. */
function together(resolvers: readonly RuleResolver[]): RuleResolver {
  return {
    rulesFor(user, namespace) {
      const held = resolvers.map((resolver) => resolver.rulesFor(user, namespace));
      return {
        rules: held.flatMap(({ rules }) => rules),
        errors: held.flatMap(({ errors }) => errors),
        incomplete: held.some(({ incomplete }) => incomplete === true),
      };
    },
  };
}
