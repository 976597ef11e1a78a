// The flags of authentication and of TLS beyond the one certificate: names, defaults and rules are upstream's.
import { parseDuration } from "./duration.ts";
import type { Flag, FlagValues } from "./flag.ts";
import { type OidcConfig, readOidc, readTokenWebhook, type TokenWebhookConfig } from "./remoteauthnflags.ts";

const group = "Authentication";

/** Flags that say how TLS is spoken. */
export const tlsFlags = [
  {
    name: "tls-min-version",
    group: "Serving",
    type: "string",
    default: "",
    choices: ["", "VersionTLS12", "VersionTLS13"],
    help: "Minimum TLS version; default VersionTLS12. Requires the node front.",
  },
  {
    name: "tls-cipher-suites",
    group: "Serving",
    type: "list",
    default: "",
    help: "Cipher suites of TLS 1.2 by their IANA names, comma-separated. Default: those of the TLS library. Requires the node front.",
  },
  {
    name: "tls-sni-cert-key",
    group: "Serving",
    type: "list",
    default: "",
    help: "Certificate and key for clients that ask for another server name: cert.pem,key.pem or cert.pem,key.pem:name,*.name. May be repeated. Requires the node front.",
  },
] as const satisfies readonly Flag[];

/** Flags that say how users are recognized. */
export const authnFlags = [
  {
    name: "anonymous-auth",
    group,
    type: "bool",
    default: "true",
    brief: "serve requests without credentials",
    help: "Serve requests without credentials as system:anonymous; never with --authorization-mode=AlwaysAllow. Invalid credentials get 401.",
  },
  {
    name: "token-auth-file",
    group,
    type: "string",
    default: "",
    brief: "static tokens, CSV",
    help: 'CSV file of static tokens: token,user,uid,"group1,group2".',
  },
  {
    name: "client-ca-file",
    group,
    type: "string",
    default: "",
    brief: "authorities of client certificates, PEM",
    help: "PEM file of certificate authorities. A client with a certificate signed by one is the user of its common name, in the groups of its organizations. Default: the server's own authority where it signs for clients (see --cluster-signing-cert-file), else none.",
  },
  {
    name: "enable-bootstrap-token-auth",
    group,
    type: "bool",
    default: "false",
    help: "Accept secrets of the bootstrap token type in the system namespace as tokens.",
  },
  {
    name: "api-audiences",
    group,
    type: "list",
    default: "",
    help: "Audiences of this server. Default: the issuers of service account tokens.",
  },
  {
    name: "service-account-key-file",
    group,
    type: "list",
    default: "",
    brief: "keys of service account tokens, PEM",
    help: "PEM files of RSA or ECDSA keys, public or private, that verify service account tokens. May be repeated. The signing key is always among them.",
  },
  {
    name: "service-account-signing-key-file",
    group,
    type: "string",
    default: "",
    brief: "key that signs these tokens, PEM",
    help: "PEM file of the private key that signs service account tokens. Default: one is generated in the data directory.",
  },
  {
    name: "service-account-private-key-file",
    group,
    type: "string",
    default: "",
    help: "PEM file of the private key with which the token controller signs the tokens in secrets; tokens signed with it are accepted. Default: the signing key.",
  },
  {
    name: "service-account-issuer",
    group,
    type: "list",
    default: "",
    brief: "issuer of these tokens",
    help: "Issuers of service account tokens. May be repeated; the first one issues new tokens. Default: https://<identity>.default.svc.",
  },
  {
    name: "service-account-jwks-uri",
    group,
    type: "string",
    default: "",
    help: "URL of the key set in the discovery document. Default: /openid/v1/jwks of this server.",
  },
  {
    name: "service-account-lookup",
    group,
    type: "bool",
    default: "true",
    help: "Reject a token from a secret when the secret or its service account was deleted.",
  },
  {
    name: "service-account-max-token-expiration",
    group,
    type: "duration",
    default: "0s",
    min: 0,
    max: 2 ** 32 * 1000,
    help: "Maximum lifetime of a requested token; longer requests are shortened. 0 disables the limit, otherwise at least 1h.",
  },
  {
    name: "service-account-extend-token-expiration",
    group,
    type: "bool",
    default: "true",
    help: "Let tokens that are injected into pods live for a year, and record their use after the time that was requested.",
  },
  {
    name: "requestheader-client-ca-file",
    group,
    type: "string",
    default: "",
    brief: "authorities of authenticating proxies, PEM",
    help: "PEM file of certificate authorities of proxies that may name the user in headers. Requires the node front.",
  },
  {
    name: "requestheader-allowed-names",
    group,
    type: "list",
    default: "",
    help: "Common names of the certificates of these proxies. Default: any name.",
  },
  {
    name: "requestheader-username-headers",
    group,
    type: "list",
    default: "",
    help: "Headers with the user name, such as X-Remote-User; the first one with a value is used.",
  },
  {
    name: "requestheader-group-headers",
    group,
    type: "list",
    default: "",
    help: "Headers with groups, such as X-Remote-Group; all values are used.",
  },
  {
    name: "requestheader-extra-headers-prefix",
    group,
    type: "list",
    default: "",
    help: "Prefixes of headers with extra attributes, such as X-Remote-Extra-.",
  },
] as const satisfies readonly Flag[];

/** Which headers of which proxies name users. */
export interface RequestHeaderConfig {
  readonly caFile: string;
  readonly allowed: readonly string[];
  readonly username: readonly string[];
  readonly group: readonly string[];
  readonly extraPrefix: readonly string[];
}

/** Keys and issuers of service account tokens. */
export interface AccountsConfig {
  readonly keyFiles: readonly string[];
  /** Empty: made in the data directory. */
  readonly signingKeyFile: string;
  /** Of the token controller; empty: the signing key. */
  readonly privateKeyFile: string;
  /** Empty: the identity's. */
  readonly issuers: readonly string[];
  /** Empty: on this server. */
  readonly keySetUrl: string;
  readonly lookup: boolean;
  /** 0: no limit. */
  readonly lifetimeSecondsMax: number;
  readonly extends: boolean;
}

/** How users are recognized. */
export interface AuthnConfig {
  readonly anonymous: boolean;
  /** Empty: none. */
  readonly clientCaFile: string;
  readonly requestHeader: RequestHeaderConfig | undefined;
  readonly bootstrapTokens: boolean;
  readonly oidc: OidcConfig | undefined;
  readonly tokenWebhook: TokenWebhookConfig | undefined;
  /** Empty: the issuers. */
  readonly audiences: readonly string[];
  readonly accounts: AccountsConfig;
}

/** How TLS is spoken, beside the one certificate. */
export interface TlsConfig {
  readonly minVersion: "TLSv1.2" | "TLSv1.3";
  /** OpenSSL names by `:`; empty: the library's. */
  readonly ciphers: string;
  readonly named: readonly NamedFiles[];
}

/** A certificate, its key and the names it is for; no names: those in it. */
export interface NamedFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly names: readonly string[];
}

/** The items of a list flag. */
export function readList(list: string): string[] {
  return list
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/** Reads the flags of authentication. Returns the one line to print when they contradict each other. */
export function readAuthn(values: FlagValues): AuthnConfig | string {
  const text = (name: string): string => values.get(name) ?? "";
  const list = (name: string): string[] => readList(text(name));
  const accounts = readAccounts(values);
  if (typeof accounts === "string") return accounts;
  const requestHeader = readRequestHeader(values);
  if (typeof requestHeader === "string") return requestHeader;
  const oidc = readOidc(values);
  if (typeof oidc === "string") return oidc;
  // As upstream: with AlwaysAllow, anonymous requests are rejected.
  const modes = readList(values.get("authorization-mode") ?? "AlwaysAllow");
  return {
    anonymous: isTrue(text("anonymous-auth")) && !modes.includes("AlwaysAllow"),
    clientCaFile: text("client-ca-file"),
    requestHeader,
    oidc,
    tokenWebhook: readTokenWebhook(values),
    bootstrapTokens: isTrue(text("enable-bootstrap-token-auth")),
    audiences: list("api-audiences"),
    accounts,
  };
}

function isTrue(text: string): boolean {
  return /^(?:1|t|true)$/i.test(text);
}

function readAccounts(values: FlagValues): AccountsConfig | string {
  const text = (name: string): string => values.get(name) ?? "";
  const issuers = readList(text("service-account-issuer"));
  for (const issuer of issuers) {
    // RFC 7519 2: a text with a colon is a URI.
    if (issuer.includes(":") && !URL.canParse(issuer)) {
      return `--service-account-issuer ${JSON.stringify(issuer)} contained a ':' but is not a valid URL`;
    }
  }
  const lifetimeMsMax = milliseconds(text("service-account-max-token-expiration"));
  if (lifetimeMsMax !== 0 && lifetimeMsMax < 3_600_000) {
    return "--service-account-max-token-expiration must be 0 or at least 1h";
  }
  return {
    keyFiles: readList(text("service-account-key-file")),
    signingKeyFile: text("service-account-signing-key-file"),
    privateKeyFile: text("service-account-private-key-file"),
    issuers,
    keySetUrl: text("service-account-jwks-uri"),
    lookup: isTrue(text("service-account-lookup")),
    lifetimeSecondsMax: Math.floor(lifetimeMsMax / 1000),
    extends: isTrue(text("service-account-extend-token-expiration")),
  };
}

function milliseconds(text: string): number {
  return parseDuration(text) ?? 0;
}

function readRequestHeader(values: FlagValues): RequestHeaderConfig | undefined | string {
  const list = (name: string): string[] => readList(values.get(`requestheader-${name}`) ?? "");
  const caFile = values.get("requestheader-client-ca-file") ?? "";
  const username = list("username-headers");
  if (caFile === "") {
    return username.length === 0 ? undefined : "--requestheader-username-headers needs --requestheader-client-ca-file";
  }
  if (username.length === 0) return "--requestheader-client-ca-file needs --requestheader-username-headers";
  const group = list("group-headers");
  const extraPrefix = list("extra-headers-prefix");
  for (const name of [...username, ...group, ...extraPrefix]) {
    if (!/^[A-Za-z0-9-]+$/.test(name)) return `--requestheader: ${JSON.stringify(name)} is no header name`;
  }
  return { caFile, allowed: list("allowed-names"), username, group, extraPrefix };
}

/** Reads the flags of TLS. Returns the one line to print when they cannot be. */
export function readTls(values: FlagValues): TlsConfig | string {
  const ciphers: string[] = [];
  for (const name of readList(values.get("tls-cipher-suites") ?? "")) {
    const known = cipherNames.get(name);
    if (known === undefined) return `--tls-cipher-suites: there is no ${JSON.stringify(name)}`;
    ciphers.push(known);
  }
  const named = readNamed(values.get("tls-sni-cert-key") ?? "");
  if (typeof named === "string") return named;
  const minVersion = values.get("tls-min-version") === "VersionTLS13" ? "TLSv1.3" : "TLSv1.2";
  return { minVersion, ciphers: ciphers.join(":"), named };
}

/** `cert,key[:name,name]`, several joined by commas: a part with a colon ends a pair and begins its names. */
function readNamed(text: string): NamedFiles[] | string {
  const found: { certFile: string; keyFile: string; names: string[] }[] = [];
  const parts = readList(text);
  for (let at = 0; at < parts.length; ) {
    const certFile = parts[at] ?? "";
    const second = parts[at + 1];
    if (second === undefined) return "--tls-sni-cert-key: expected a certificate and a key, separated by a comma";
    const colon = second.indexOf(":");
    const names = colon < 0 ? [] : [second.slice(colon + 1)];
    at += 2;
    // Names have no slash and no ending of a file.
    while (colon >= 0 && at < parts.length && !/[/]|\.(?:pem|crt|cer|key)$/.test(parts[at] ?? "")) {
      names.push(parts[at++] ?? "");
    }
    found.push({ certFile, keyFile: colon < 0 ? second : second.slice(0, colon), names: names.filter(Boolean) });
  }
  return found;
}

/** Cipher suites by IANA and OpenSSL name: those of TLS 1.2 with forward secrecy; those of TLS 1.3 are always there. */
const cipherNames: ReadonlyMap<string, string> = new Map([
  ["TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"],
  ["TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"],
  ["TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256"],
  ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"],
  ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"],
  ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"],
  ["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"],
  ["TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"],
  ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"],
  ["TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305"],
  ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"],
  ["TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA"],
  ["TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA"],
  ["TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA"],
  ["TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA"],
]);
