// The certificate a server without configuration answers with: made once, kept in the data directory, reused over
// restarts so that clients keep trusting it, and replaced before it ends or when the server got a new name. Half of a pair,
// or one that cannot be read, is never replaced: clients trust the old one, and the operator may still have it.
import { mkdirSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Identity } from "../api/identity.ts";
import type { Clock } from "../base/clock.ts";
import { type AuthorityFiles, ownAuthorityIn } from "./authority.ts";
import { finishPair, readIfThere, writePair } from "./files.ts";
import { authorityHolds, type Credential, faultOfPair, servingHolds } from "./pair.ts";

/** Where the generated certificates are. */
export interface ServingFiles {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** Incomplete certificate files. The message is one line with the remedy. */
export class TrustFault extends Error {
  override name = "TrustFault";
}

const dayMs = 24 * 60 * 60 * 1000;
/** The authority outlives its certificates; a serving certificate lasts a year, as upstream's. */
const authorityMs = 3650 * dayMs;
const servingMs = 365 * dayMs;
/** A certificate that ends sooner than this is replaced at start. */
const renewMs = 30 * dayMs;
/** Clocks of clients may be a little behind. */
const skewMs = 60 * 60 * 1000;

/**
 * Every name the server may be reached by: on this machine, by `addresses`, and as a service, in the spelling of the
 * identity.
 */
export function servingNames(addresses: readonly string[], identity: Identity): string[] {
  const service = identity.spell("kubernetes");
  const names = new Set(["localhost", hostname(), service]);
  for (const suffix of ["default", "default.svc", "default.svc.cluster.local"]) names.add(`${service}.${suffix}`);
  names.add("127.0.0.1");
  names.add("::1");
  for (const address of addresses) names.add(address);
  return [...names];
}

/**
 * Makes sure that `directory` holds an authority and a serving certificate for `names` that stay valid, and gives their
 * files. Keys have mode 0600. Throws TrustFault where half of a pair is lost or unreadable, and errors of the file
 * system.
 */
export async function keepServing(directory: string, names: readonly string[], clock: Clock): Promise<ServingFiles> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const files = filesIn(directory);
  const authority = await keepAuthority(ownAuthorityIn(directory), clock);
  await keepCertificate(authority, files, names, clock);
  return files;
}

/**
 * Makes sure that `directory` holds an authority that stays valid, where the serving certificate is the operator's. Throws
 * as keepServing().
 */
export async function keepOwnAuthority(directory: string, clock: Clock): Promise<void> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  await keepAuthority(ownAuthorityIn(directory), clock);
}

/**
 * Replaces the serving certificate in `directory` when it expires soon, under the existing authority: a server
 * calls it while it runs, and its listeners read the files again. True: it was replaced. Throws as keepServing().
 */
export async function renewServing(directory: string, names: readonly string[], clock: Clock): Promise<boolean> {
  const files = filesIn(directory);
  const authority = readPair(files.caFile, ownAuthorityIn(directory).keyFile, forAuthority);
  if (authority === undefined) throw new TrustFault(`${files.caFile} is missing: restore it and ${directory}/ca.key`);
  return keepCertificate(authority, files, names, clock);
}

function filesIn(directory: string): ServingFiles {
  return {
    caFile: ownAuthorityIn(directory).certFile,
    certFile: join(directory, "serving.crt"),
    keyFile: join(directory, "serving.key"),
  };
}

async function keepCertificate(
  authority: Credential,
  { certFile, keyFile }: ServingFiles,
  names: readonly string[],
  clock: Clock,
): Promise<boolean> {
  const until = new Date(clock.now() + renewMs);
  const kept = readPair(certFile, keyFile, "to have both made anew");
  if (kept !== undefined && servingHolds(authority.certificate, kept, names, until)) return false;
  const { issueServing } = await import("./x509.ts");
  const serving = await issueServing(authority, names, validity(clock, servingMs));
  writePair(keyFile, certFile, serving.key, serving.certificate);
  return true;
}

async function keepAuthority({ certFile, keyFile }: AuthorityFiles, clock: Clock): Promise<Credential> {
  const kept = readPair(certFile, keyFile, forAuthority);
  if (kept !== undefined && authorityHolds(kept, new Date(clock.now() + servingMs))) return kept;
  const { createAuthority } = await import("./x509.ts");
  const authority = await createAuthority(`orch-ca@${Math.floor(clock.now() / 1000)}`, validity(clock, authorityMs));
  writePair(keyFile, certFile, authority.key, authority.certificate);
  return authority;
}

function validity(clock: Clock, ms: number): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(clock.now() - skewMs), notAfter: new Date(clock.now() + ms) };
}

const forAuthority = "to have both made anew, which every client must then trust";

/** Both halves; undefined when neither exists. `mend`: the effect of removing them. */
function readPair(certFile: string, keyFile: string, mend: string): Credential | undefined {
  finishPair(keyFile, certFile);
  const certificate = read(certFile);
  const key = read(keyFile);
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate === undefined || key === undefined) {
    const [lost, left] = key === undefined ? [keyFile, certFile] : [certFile, keyFile];
    throw new TrustFault(`${lost} is missing beside ${left}: restore it, or remove ${left} too ${mend}`);
  }
  const fault = faultOfPair({ certificate, key });
  if (fault === undefined) return { certificate, key };
  const what = fault === "certificate" ? `${certFile} holds no certificate that can be read` : wrongKey(fault);
  throw new TrustFault(`${what}: restore it, or remove ${certFile} and ${keyFile} ${mend}`);

  function wrongKey(wrong: "key" | "match"): string {
    if (wrong === "key") return `${keyFile} holds no private key that can be read`;
    return `the key in ${keyFile} does not belong to the certificate in ${certFile}`;
  }
}

function read(path: string): string | undefined {
  try {
    return readIfThere(path);
  } catch (error) {
    throw new TrustFault(`cannot read ${path}: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  }
}
