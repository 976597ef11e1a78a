// The files authentication and TLS take besides the serving certificate: checked before anything is started, and read
// once by the main thread so that every front has the same.
import { createPrivateKey, createPublicKey, generateKeyPair, X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Identity, identities } from "../api/identity.ts";
import { createSigner } from "../authn/accountkeys.ts";
import { parsePublicKeys } from "../authn/jwt.ts";
import type { AuthnMaterial } from "../authn/table.ts";
import { parseTokens, type TokenUser } from "../authn/tokens.ts";
import type { Config } from "../config/config.ts";
import { loadFileCheck } from "../config/filecheck.ts";
import type { NamedCertificate, TlsFiles } from "../http/listener.ts";
import type { Connection } from "../outbound/client.ts";
import { readConnection } from "../outbound/connection.ts";
import { readCertificates } from "../pki/bundle.ts";
import { finishPair, readIfThere, writePair, writePrivate } from "../pki/files.ts";
import { BootFault, mending } from "./fault.ts";

/** What the flags' files hold. */
export interface AuthnFiles {
  readonly tokens: readonly TokenUser[];
  /** PEM of --service-account-key-file and of what stands for it. */
  readonly accountKeys: string;
  /** PEM; empty: to be made. */
  readonly signingKey: string;
  /** PEM of the token controller's; empty: the signing key. */
  readonly privateKey: string;
  readonly named: readonly NamedCertificate[];
  readonly oidcAuthorities: string;
  readonly webhook: Connection | undefined;
}

/** Reads and checks everything. Throws BootFault. */
export async function checkAuthnFiles(config: Config): Promise<AuthnFiles> {
  const { clientCaFile, requestHeader, accounts, oidc, tokenWebhook } = config.authn;
  if (clientCaFile !== "") checkAuthorities("--client-ca-file", clientCaFile);
  if (requestHeader !== undefined) checkAuthorities("--requestheader-client-ca-file", requestHeader.caFile);
  return {
    tokens: readTokens(config.tokenAuthFile),
    accountKeys: readAccountKeys(config),
    signingKey: readSigner("--service-account-signing-key-file", accounts.signingKeyFile),
    privateKey: readSigner("--service-account-private-key-file", accounts.privateKeyFile),
    named: config.tls.named.map(nameCertificate),
    oidcAuthorities: oidc === undefined || oidc.caFile === "" ? "" : readAuthorities("--oidc-ca-file", oidc.caFile),
    webhook:
      tokenWebhook === undefined ? undefined : await connect(tokenWebhook.configFile, identities[config.identity]),
  };
}

function read(flag: string, path: string): string {
  return mending(`cannot read ${flag} ${path}`, () => readFileSync(path, "utf8"));
}

function readTokens(path: string): TokenUser[] {
  if (path === "") return [];
  const tokens = parseTokens(read("--token-auth-file", path));
  if (typeof tokens === "string") throw new BootFault(`--token-auth-file ${path}: ${tokens}`);
  return tokens;
}

function checkAuthorities(flag: string, path: string): void {
  readAuthorities(flag, path);
}

function readAuthorities(flag: string, path: string): string {
  read(flag, path);
  const found = readCertificates(path);
  if (typeof found === "string") throw new BootFault(`${flag} ${path}: ${found}`);
  return found.pem;
}

async function connect(path: string, { spell }: Identity): Promise<Connection> {
  const connection = readConnection(path, await loadFileCheck(spell));
  if (typeof connection === "string") throw new BootFault(`--authentication-token-webhook-config-file ${connection}`);
  return connection;
}

/** The key files; without any, the key of the serving certificate (the document). */
function readAccountKeys(config: Config): string {
  const { keyFiles } = config.authn.accounts;
  const flag = "--service-account-key-file";
  const texts = keyFiles.map((path) => {
    const text = read(flag, path);
    const keys = parsePublicKeys(text);
    if (typeof keys === "string") throw new BootFault(`${flag} ${path}: ${keys}`);
    return text;
  });
  if (keyFiles.length > 0 || config.tlsPrivateKeyFile === "") return texts.join("\n");
  const text = readFileSync(config.tlsPrivateKeyFile, "utf8");
  return typeof parsePublicKeys(text) === "string" ? "" : text;
}

function readSigner(flag: string, path: string): string {
  if (path === "") return "";
  const text = read(flag, path);
  const signer = createSigner(text);
  if (typeof signer === "string") throw new BootFault(`${flag} ${path}: ${signer}`);
  return text;
}

function nameCertificate({ certFile, keyFile, names }: Config["tls"]["named"][number]): NamedCertificate {
  const flag = "--tls-sni-cert-key";
  const text = read(flag, certFile);
  const certificate = mending(`${flag} ${certFile} holds no certificate`, () => new X509Certificate(text));
  const key = mending(`${flag} ${keyFile} holds no key`, () => createPrivateKey(read(flag, keyFile)));
  if (!certificate.checkPrivateKey(key)) {
    throw new BootFault(`the key in ${keyFile} does not belong to the certificate in ${certFile}`);
  }
  if (names.length > 0) return { certFile, keyFile, names };
  const own = [...(certificate.subjectAltName ?? "").matchAll(/DNS:([^,\s]+)/g)].map(([, name]) => name ?? "");
  return { certFile, keyFile, names: own };
}

const signingKeyBits = 2_048;

/** Makes or finds what the flags do not name, in a data directory that is ours. Throws BootFault. */
export async function keepAuthnMaterial(config: Config, files: AuthnFiles): Promise<AuthnMaterial> {
  const signingKey = files.signingKey === "" ? await keepSigningKey(join(config.dataDir, "pki")) : files.signingKey;
  const { tokens, oidcAuthorities, privateKey, webhook } = files;
  const accountKeys = [signingKey, privateKey, files.accountKeys].join("\n");
  return { tokens, accountKeys, signingKey, privateKey, oidcAuthorities, webhook };
}

async function keepSigningKey(directory: string): Promise<string> {
  const path = join(directory, "service-account.key");
  const publicPath = join(directory, "service-account.pub");
  const mend = "to have a new one made, which ends every token of a service account";
  mending(`cannot keep ${path}`, () => finishPair(path, publicPath));
  const kept = mending(`cannot read ${path}`, () => readIfThere(path));
  if (kept !== undefined) {
    if (typeof createSigner(kept) === "string") {
      throw new BootFault(
        `${path} holds no private key that can be read: restore it, or remove it and ${publicPath} ${mend}`,
      );
    }
    const text = createPublicKey(kept).export({ type: "spki", format: "pem" }).toString();
    if (!existsSync(publicPath)) mending(`cannot keep ${publicPath}`, () => writePrivate(publicPath, text, 0o644));
    return kept;
  }
  if (existsSync(publicPath)) {
    throw new BootFault(`${path} is missing beside ${publicPath}: restore it, or remove ${publicPath} too ${mend}`);
  }
  const { privateKey, publicKey } = await promisify(generateKeyPair)("rsa", { modulusLength: signingKeyBits });
  const text = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  mending(`cannot keep a key in ${directory}`, () => {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writePair(path, publicPath, text, publicKey.export({ type: "spki", format: "pem" }).toString());
  });
  return text;
}

/** How the fronts speak TLS with these certificates. */
export function tlsOf(config: Config, { certFile, keyFile }: TlsFiles, named: readonly NamedCertificate[]): TlsFiles {
  const { authn, tls } = config;
  return {
    certFile,
    keyFile,
    asksClients: authn.clientCaFile !== "" || authn.requestHeader !== undefined,
    ...(authn.clientCaFile === "" ? {} : { clientCaFile: authn.clientCaFile }),
    minVersion: tls.minVersion,
    ...(tls.ciphers === "" ? {} : { ciphers: tls.ciphers }),
    ...(named.length === 0 ? {} : { named }),
  };
}
