// Which authorities sign requests: those the flags name, checked before anything is started, or the server's own, which is
// made with its other credentials. Clients that the own one signs for are recognized without a flag.
import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { signerNames } from "../config/signingflags.ts";
import { AuthorityBundle, type AuthorityFiles, ownAuthorityIn, readAuthority } from "../pki/authority.ts";
import { apiserverClient } from "../pki/signers/apiserverclient.ts";
import { BootFault } from "./fault.ts";

/** Whether the server's own authority signs requests. */
export function needsOwnAuthority({ controllers, signing }: Config): boolean {
  return controllers.includes("csrsigning") && signing.pairs === undefined;
}

/** The files of the authority of each signer that signs, by its canonical name. */
export function signingFilesOf(config: Config): ReadonlyMap<string, AuthorityFiles> {
  if (!config.controllers.includes("csrsigning")) return new Map();
  if (config.signing.pairs !== undefined) return config.signing.pairs;
  const own = ownAuthorityIn(join(config.dataDir, "pki"));
  return new Map(signerNames.map((name) => [name, own]));
}

/** Checks the authorities that flags name. Throws BootFault. */
export function checkSigningFiles({ signing }: Config): void {
  for (const { flag, ...files } of new Set(signing.pairs?.values())) {
    const read = readAuthority(files);
    if (typeof read === "string") throw new BootFault(`${flag} ${files.certFile}: ${read}`);
  }
}

/** Opens the authorities of all signers; signers of the same files share one. */
export function openAuthorities(config: Config): ReadonlyMap<string, AuthorityBundle> {
  const byFile = new Map<string, AuthorityBundle>();
  const found = new Map<string, AuthorityBundle>();
  for (const [signer, files] of signingFilesOf(config)) {
    const key = `${files.certFile}\0${files.keyFile}`;
    const bundle = byFile.get(key) ?? new AuthorityBundle(files);
    byFile.set(key, bundle);
    found.set(signer, bundle);
  }
  // Main read them a moment ago: one that is gone since fails its requests, and is looked at again when it changes.
  for (const bundle of byFile.values()) bundle.reload();
  return found;
}

/** Where the server signs for its clients and no flag says whom to trust, it trusts itself. */
export function trustingOwn(config: Config): Config {
  if (config.authn.clientCaFile !== "" || !needsOwnAuthority(config)) return config;
  const clientCaFile = signingFilesOf(config).get(apiserverClient.name)?.certFile ?? "";
  return { ...config, authn: { ...config.authn, clientCaFile } };
}
