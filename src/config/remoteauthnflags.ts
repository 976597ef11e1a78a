// The flags of authentication by others: OpenID Connect and token webhooks. Names, defaults and rules are upstream's.
import { parseDuration } from "./duration.ts";
import type { Flag, FlagValues } from "./flag.ts";

const group = "Authentication";

/** Algorithms an identity provider may sign with: asymmetric ones only. */
const signingAlgorithms = ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512"] as const;

/** Flags that name an identity provider or a webhook. */
export const remoteAuthnFlags = [
  {
    name: "oidc-issuer-url",
    group,
    type: "string",
    default: "",
    brief: "OpenID Connect provider",
    help: "URL of an OpenID Connect provider whose ID tokens are accepted; https only.",
  },
  {
    name: "oidc-client-id",
    group,
    type: "string",
    default: "",
    brief: "audience of its tokens",
    help: "Audience of these tokens; required with --oidc-issuer-url.",
  },
  {
    name: "oidc-ca-file",
    group,
    type: "string",
    default: "",
    help: "PEM file of certificate authorities of the provider. Default: those of the system.",
  },
  {
    name: "oidc-username-claim",
    group,
    type: "string",
    default: "sub",
    help: "Claim with the user name; claims other than sub and email may not be unique.",
  },
  {
    name: "oidc-username-prefix",
    group,
    type: "string",
    default: "",
    help: "Prefix of user names; - for none. Default: <issuer>#, and none for the claim email.",
  },
  { name: "oidc-groups-claim", group, type: "string", default: "", help: "Claim with the groups: a string or a list." },
  { name: "oidc-groups-prefix", group, type: "string", default: "", help: "Prefix of groups." },
  {
    name: "oidc-signing-algs",
    group,
    type: "list",
    default: "RS256",
    help: "Accepted signature algorithms: RS256, RS384, RS512, ES256, ES384, ES512, PS256, PS384, PS512.",
  },
  {
    name: "oidc-required-claim",
    group,
    type: "list",
    default: "",
    help: "claim=value that a token must have. May be repeated.",
  },
  {
    name: "authentication-token-webhook-config-file",
    group,
    type: "string",
    default: "",
    brief: "kubeconfig of a token webhook",
    help: "Kubeconfig of a service that reviews tokens.",
  },
  {
    name: "authentication-token-webhook-cache-ttl",
    group,
    type: "duration",
    default: "2m0s",
    min: 0,
    max: 86_400_000,
    help: "How long its answers are cached.",
  },
  {
    name: "authentication-token-webhook-version",
    group,
    type: "string",
    default: "v1beta1",
    choices: ["v1beta1", "v1"],
    help: "Version of the TokenReview that is sent to it.",
  },
] as const satisfies readonly Flag[];

/** An identity provider and how its tokens are read. */
export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  /** Empty: the system's authorities. */
  readonly caFile: string;
  readonly usernameClaim: string;
  readonly usernamePrefix: string;
  /** Empty: no groups. */
  readonly groupsClaim: string;
  readonly groupsPrefix: string;
  readonly algorithms: readonly string[];
  readonly requiredClaims: ReadonlyMap<string, string>;
}

/** A service that reviews tokens. */
export interface TokenWebhookConfig {
  readonly configFile: string;
  readonly cacheMs: number;
  readonly version: "v1" | "v1beta1";
}

/** Reads the flags of OpenID Connect; undefined: none. Returns an error message of one line for invalid ones. */
export function readOidc(values: FlagValues): OidcConfig | undefined | string {
  const text = (name: string): string => values.get(`oidc-${name}`) ?? "";
  const list = (name: string): string[] => text(name).split(",").filter(Boolean);
  const issuer = text("issuer-url");
  const clientId = text("client-id");
  if ((issuer === "") !== (clientId === "")) return "--oidc-issuer-url and --oidc-client-id belong together";
  if (issuer === "") return undefined;
  if (!URL.canParse(issuer) || new URL(issuer).protocol !== "https:")
    return "--oidc-issuer-url must begin with https://";
  const algorithms = list("signing-algs");
  const unknown = algorithms.find((name) => !signingAlgorithms.some((known) => known === name));
  if (unknown !== undefined) return `--oidc-signing-algs: unsupported signing alg: ${JSON.stringify(unknown)}`;
  if (algorithms.length === 0) return "--oidc-signing-algs must name an algorithm";
  const requiredClaims = new Map<string, string>();
  for (const entry of list("required-claim")) {
    const mark = entry.indexOf("=");
    if (mark < 1) return `--oidc-required-claim must be claim=value: ${JSON.stringify(entry)}`;
    requiredClaims.set(entry.slice(0, mark), entry.slice(mark + 1));
  }
  const usernameClaim = text("username-claim");
  if (usernameClaim === "") return "--oidc-username-claim must not be empty";
  const given = text("username-prefix");
  const usernamePrefix = given === "-" ? "" : given === "" && usernameClaim !== "email" ? `${issuer}#` : given;
  return {
    issuer,
    clientId,
    caFile: text("ca-file"),
    usernameClaim,
    usernamePrefix,
    groupsClaim: text("groups-claim"),
    groupsPrefix: text("groups-prefix"),
    algorithms,
    requiredClaims,
  };
}

/** Reads the flags of the token webhook; undefined: none. */
export function readTokenWebhook(values: FlagValues): TokenWebhookConfig | undefined {
  const text = (name: string): string => values.get(`authentication-token-webhook-${name}`) ?? "";
  const configFile = text("config-file");
  if (configFile === "") return undefined;
  const version = text("version") === "v1" ? "v1" : "v1beta1";
  return { configFile, cacheMs: parseDuration(text("cache-ttl")) ?? 0, version };
}
