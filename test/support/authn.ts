// Authentication for tests: defaults of the flags, and a signing key of this process.
import { generateKeyPairSync } from "node:crypto";
import type { Scheme } from "../../src/api/scheme.ts";
import type { User } from "../../src/api/user.ts";
import type { Credentials } from "../../src/authn/authenticator.ts";
import { type AuthnEvents, noEvents } from "../../src/authn/events.ts";
import {
  type Authentication,
  type AuthnMaterial,
  type AuthnOptions,
  createAuthentication,
} from "../../src/authn/table.ts";
import type { TokenUser } from "../../src/authn/tokens.ts";
import type { Clock } from "../../src/base/clock.ts";
import { Objects } from "../../src/cache/view/objects.ts";
import type { Views } from "../../src/cache/view/view.ts";
import { type AuthnConfig, readAuthn } from "../../src/config/authnflags.ts";
import { isFlagFault, parseFlags } from "../../src/config/flags.ts";

/** The key tokens are signed with, PEM. */
export const testSigningKey = generateKeyPairSync("ec", { namedCurve: "P-256" })
  .privateKey.export({ type: "pkcs8", format: "pem" })
  .toString();

/** What flags mean to authentication. */
export function authnConfig(...args: string[]): AuthnConfig {
  const values = parseFlags(args);
  const config = isFlagFault(values) ? values.fault : readAuthn(values);
  if (typeof config === "string") throw new Error(config);
  return config;
}

const noFiles = {
  accountKeys: testSigningKey,
  signingKey: testSigningKey,
  privateKey: "",
  oidcAuthorities: "",
  webhook: undefined,
};

/** The user that credentials authenticate; undefined: none. */
export async function whoIs(authn: Authentication, credentials: Credentials): Promise<User | undefined> {
  const sender = await authn.authenticate(credentials);
  return sender === "overloaded" ? undefined : sender;
}

/** Authentication over the objects of `views`. */
export function testAuthentication(
  scheme: Scheme,
  views: Views,
  clock: Clock,
  config: AuthnConfig = authnConfig(),
  tokens: readonly TokenUser[] = [],
  more: Partial<AuthnMaterial> = {},
  events: Partial<AuthnEvents> = {},
  newest?: AuthnOptions["newest"],
): Authentication {
  const options: AuthnOptions = {
    config,
    material: { ...noFiles, tokens, ...more },
    identity: scheme.identity,
    objects: new Objects(scheme, views),
    clock,
    serverAddress: "127.0.0.1:6443",
    events: { ...noEvents, ...events },
    newest,
  };
  return createAuthentication(options);
}
