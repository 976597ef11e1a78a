// The apps of a uws front: the build reads certificate files once, so that every change of them makes another app, and
// which one a connection belongs to says under which authorities its client was verified.
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { readCertificates } from "../pki/bundle.ts";
import type { TlsFiles } from "./listener.ts";
import type { Openings } from "./openings.ts";
import { VerifiedPeers } from "./peer.ts";
import { type App, addressOf, type Library } from "./uwsbuild.ts";

/** One app, and the authorities its handshakes verify clients under. */
export interface Generation {
  readonly app: App;
  /** PEM; empty: clients are not asked for certificates. */
  readonly authorities: string;
  /** The clients its handshakes verified. */
  readonly peers: VerifiedPeers;
  /** False: these authorities were replaced, and certificates verified by them are no longer accepted. */
  isTrusted: boolean;
}

/** Opens an app. Throws where a file does not serve. */
export function openGeneration(uws: Library, tls: TlsFiles | undefined): Generation {
  if (tls === undefined) return { app: uws.App(), authorities: "", peers: new VerifiedPeers(""), isTrusted: true };
  const { keyFile, certFile, clientCaFile } = tls;
  // Before the build does: a change between the two is seen as one at the next look.
  const authorities = clientCaFile === undefined ? "" : readFileSync(clientCaFile, "utf8");
  const files = { key_file_name: keyFile, cert_file_name: certFile };
  const app = uws.SSLApp(clientCaFile === undefined ? files : { ...files, ca_file_name: clientCaFile });
  return { app, authorities, peers: new VerifiedPeers(authorities), isTrusted: true };
}

/** Returns an error message for invalid certificate files; the build itself reports none. */
export function faultOf({ certFile, keyFile, clientCaFile }: TlsFiles): string | undefined {
  try {
    createSecureContext({ cert: readFileSync(certFile), key: readFileSync(keyFile) });
  } catch (error) {
    return (error as Error).message;
  }
  if (clientCaFile === undefined) return undefined;
  const read = readCertificates(clientCaFile);
  return typeof read === "string" ? `${clientCaFile}: ${read}` : undefined;
}

/** Counts the connections of an app, and closes those that are too many. */
export function countConnections(app: App, openings: Openings): void {
  app.filter((res, change) => {
    // Which one was closed the build does not say: it has no address any more.
    if (change < 0) return openings.closed();
    const remote = addressOf(res);
    // The hook of its first request takes this one's place: it hears of the end of those that never asked.
    if (openings.opened(remote)) res.onAborted(() => openings.heard(remote));
    else res.close();
  });
}
