// What a server has to prove who it is and who may ask: serving certificate, tokens, and the client configuration of
// the administrator. All of it is kept in the data directory, readable by its owner only.
import { createPrivateKey, randomBytes, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ProxyCredentials } from "../aggregation/credentials.ts";
import type { Identity } from "../api/identity.ts";
import type { AuthnMaterial } from "../authn/table.ts";
import { hashToken, mastersGroup, type TokenUser } from "../authn/tokens.ts";
import type { Clock } from "../base/clock.ts";
import type { Config } from "../config/config.ts";
import { limits } from "../config/limits.ts";
import type { TlsFiles } from "../http/listener.ts";
import type { Logger } from "../observe/log.ts";
import { readIfThere, writePrivate } from "../pki/files.ts";
import { keepOwnAuthority, keepServing, renewServing, servingNames, TrustFault } from "../pki/serving.ts";
import { servingAddresses } from "./advertise.ts";
import { type AuthnFiles, checkAuthnFiles, keepAuthnMaterial, tlsOf } from "./authnfiles.ts";
import { BootFault, mending } from "./fault.ts";
import { checkSigningFiles, needsOwnAuthority } from "./signing.ts";

/** Credentials of a start. */
export interface Credentials {
  readonly tls: TlsFiles;
  /** PEM that clients verify the server with. */
  readonly ca: string;
  readonly authn: AuthnMaterial;
  readonly adminToken: string;
}

/** Checks what the flags point at before anything is started. Throws BootFault. */
export function checkFiles(config: Config): Promise<AuthnFiles> {
  if (config.tlsCertFile !== "") checkPair(config.tlsCertFile, config.tlsPrivateKeyFile);
  checkProxyCertificate(config);
  checkSigningFiles(config);
  return checkAuthnFiles(config);
}

/** What is presented to extension servers is looked at before anything is started. */
function checkProxyCertificate({ aggregation: { certFile, keyFile } }: Config): void {
  try {
    new ProxyCredentials(certFile, keyFile);
  } catch (error) {
    throw new BootFault((error as Error).message);
  }
}

function checkPair(certFile: string, keyFile: string): void {
  const certificate = mending(
    `cannot read --tls-cert-file ${certFile}`,
    () => new X509Certificate(readFileSync(certFile)),
  );
  const key = mending(`cannot read --tls-private-key-file ${keyFile}`, () => createPrivateKey(readFileSync(keyFile)));
  if (!certificate.checkPrivateKey(key))
    throw new BootFault(`the key in ${keyFile} does not belong to the certificate in ${certFile}`);
}

/** Makes or finds everything, in a data directory that is ours alone. Throws BootFault. */
export async function keepCredentials(
  config: Config,
  identity: Identity,
  files: AuthnFiles,
  clock: Clock,
): Promise<Credentials> {
  const adminToken = mending(`cannot keep a token in ${config.dataDir}`, () =>
    keepAdminToken(join(config.dataDir, "admin.token")),
  );
  const administrator: TokenUser = { hash: hashToken(adminToken), name: "admin", uid: "admin", groups: [mastersGroup] };
  const authn = await keepAuthnMaterial(config, { ...files, tokens: [administrator, ...files.tokens] });
  const directory = join(config.dataDir, "pki");
  try {
    if (config.tlsCertFile !== "") {
      if (needsOwnAuthority(config)) await keepOwnAuthority(directory, clock);
      const tls = tlsOf(config, { certFile: config.tlsCertFile, keyFile: config.tlsPrivateKeyFile }, files.named);
      return { tls, ca: readFileSync(config.tlsCertFile, "utf8"), authn, adminToken };
    }
    const { caFile, ...serving } = await keepServing(
      directory,
      servingNames(servingAddresses(config), identity),
      clock,
    );
    return { tls: tlsOf(config, serving, files.named), ca: readFileSync(caFile, "utf8"), authn, adminToken };
  } catch (error) {
    if (error instanceof TrustFault) throw new BootFault(error.message, { cause: error });
    return mending(`cannot keep certificates in ${directory}`, () => {
      throw error;
    });
  }
}

/**
 * Looks now and then whether the serving certificate of our own making ends soon, and has it replaced; listeners take it
 * from its file. Nothing happens where the operator's certificate serves. The timer keeps no process alive.
 */
export function keepRenewed(
  config: Config,
  identity: Identity,
  clock: Clock,
  log: Logger,
  everyMs: number = limits.certificateLookMs,
): NodeJS.Timeout | undefined {
  if (config.tlsCertFile !== "") return undefined;
  const directory = join(config.dataDir, "pki");
  const names = servingNames(servingAddresses(config), identity);
  const look = (): void => {
    renewServing(directory, names, clock).then(
      (renewed) => renewed && log.info({ directory }, "The serving certificate was replaced before its end"),
      (error: unknown) => log.error({ err: error }, "The serving certificate cannot be replaced"),
    );
  };
  return setInterval(look, everyMs).unref();
}

function keepAdminToken(path: string): string {
  const kept = readIfThere(path)?.trim() ?? "";
  if (kept.length >= 32) return kept;
  const token = randomBytes(32).toString("base64url");
  writePrivate(path, `${token}\n`, 0o600);
  return token;
}

/** Writes the administrator's client configuration. Returns its path. Throws BootFault. */
export function writeClientConfig(config: Config, serverUrl: string, credentials: Credentials): string {
  const path = resolve(config.dataDir, "kubeconfig");
  const name = config.identity;
  const text = [
    "apiVersion: v1",
    "kind: Config",
    "clusters:",
    `- name: ${name}`,
    "  cluster:",
    `    server: ${serverUrl}`,
    `    certificate-authority-data: ${Buffer.from(credentials.ca).toString("base64")}`,
    ...serverName(credentials.tls.certFile, serverUrl).map((host) => `    tls-server-name: ${host}`),
    "users:",
    "- name: admin",
    "  user:",
    `    token: ${credentials.adminToken}`,
    "contexts:",
    `- name: ${name}`,
    "  context:",
    `    cluster: ${name}`,
    "    user: admin",
    `current-context: ${name}`,
    "",
  ].join("\n");
  mending(`cannot write ${path}`, () => writePrivate(path, text, 0o600));
  return path;
}

/** The name to verify the certificate by, where it does not hold for the address that is connected to. */
function serverName(certFile: string, serverUrl: string): string[] {
  const certificate = new X509Certificate(readFileSync(certFile));
  const host = new URL(serverUrl).hostname.replace(/^\[|\]$/g, "");
  if (certificate.checkIP(host) !== undefined) return [];
  const name = /DNS:([^,\s*]+)/.exec(certificate.subjectAltName ?? "")?.[1];
  return name === undefined ? [] : [name];
}
