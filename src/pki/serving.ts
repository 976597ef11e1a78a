// The certificate a server without configuration answers with: made once, kept in the data directory, reused over
// restarts so that clients keep trusting it, and replaced before it ends or when the server got a new name.
import { mkdirSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Identity } from "../api/identity.ts";
import type { Clock } from "../base/clock.ts";
import { readIfThere, writePrivate } from "./files.ts";
import { authorityHolds, type Credential, createAuthority, issueServing, servingHolds } from "./x509.ts";

/** Where the generated certificates are. */
export interface ServingFiles {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
}

const dayMs = 24 * 60 * 60 * 1000;
/** The authority outlives what trusts it; a serving certificate lasts a year, as the reference's. */
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
 * files. Keys have mode 0600. Throws what the file system throws.
 */
export async function keepServing(directory: string, names: readonly string[], clock: Clock): Promise<ServingFiles> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const files = {
    caFile: join(directory, "ca.crt"),
    certFile: join(directory, "serving.crt"),
    keyFile: join(directory, "serving.key"),
  };
  const authority = await keepAuthority(files.caFile, join(directory, "ca.key"), clock);
  const until = new Date(clock.now() + renewMs);
  const kept = readCredential(files.certFile, files.keyFile);
  if (kept !== undefined && check(() => servingHolds(authority.certificate, kept, names, until))) return files;
  const serving = await issueServing(authority, names, validity(clock, servingMs));
  writePrivate(files.keyFile, serving.key, 0o600);
  writePrivate(files.certFile, serving.certificate, 0o644);
  return files;
}

async function keepAuthority(certFile: string, keyFile: string, clock: Clock): Promise<Credential> {
  const kept = readCredential(certFile, keyFile);
  if (kept !== undefined && check(() => authorityHolds(kept, new Date(clock.now() + servingMs)))) return kept;
  const authority = await createAuthority(`orch-ca@${Math.floor(clock.now() / 1000)}`, validity(clock, authorityMs));
  writePrivate(keyFile, authority.key, 0o600);
  writePrivate(certFile, authority.certificate, 0o644);
  return authority;
}

function validity(clock: Clock, ms: number): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(clock.now() - skewMs), notAfter: new Date(clock.now() + ms) };
}

function readCredential(certFile: string, keyFile: string): Credential | undefined {
  const certificate = readIfThere(certFile);
  const key = readIfThere(keyFile);
  return certificate === undefined || key === undefined ? undefined : { certificate, key };
}

/** A file that does not parse (cut short, edited) is replaced like one that ended. */
function check(holds: () => boolean): boolean {
  try {
    return holds();
  } catch {
    return false;
  }
}
