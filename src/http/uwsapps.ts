// The apps of a uws front: the build reads certificate files once, so that every change of them makes another app, and
// which one a connection belongs to says under which authorities its client was verified.
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { parseCertificates } from "../pki/bundle.ts";
import type { TlsFiles } from "./listener.ts";
import type { Openings } from "./openings.ts";
import { VerifiedPeers } from "./peer.ts";
import { type App, addressText, type Library } from "./uwsbuild.ts";

/** What the files of a listener hold: PEM. */
interface Held {
  readonly cert: string;
  readonly key: string;
  /** Empty: clients are not asked for certificates. */
  readonly authorities: string;
}

const nothing: Held = { cert: "", key: "", authorities: "" };

/** One app, and the authorities its handshakes verify clients under. */
export interface Generation {
  readonly app: App;
  /** What it was opened with; nothing for one without TLS. */
  readonly held: Held;
  /** The clients its handshakes verified. */
  readonly peers: VerifiedPeers;
  /** False: these authorities were replaced, and certificates verified by them are no longer accepted. */
  isTrusted: boolean;
}

/**
 * Opens an app. Throws an Error that says which file does not serve: the build itself reports none, and reads the files
 * once more, so that files that change meanwhile do not serve either.
 */
export function openGeneration(uws: Library, tls: TlsFiles | undefined): Generation {
  if (tls === undefined) return generationOf(uws.App(), nothing);
  const held = read(tls);
  check(tls, held);
  const { keyFile, certFile, clientCaFile } = tls;
  const files = { key_file_name: keyFile, cert_file_name: certFile };
  const app = uws.SSLApp(clientCaFile === undefined ? files : { ...files, ca_file_name: clientCaFile });
  if (!areSame(held, read(tls))) {
    app.close();
    throw new Error(`${certFile} or ${keyFile} changed while they were read`);
  }
  return generationOf(app, held);
}

function generationOf(app: App, held: Held): Generation {
  return { app, held, peers: new VerifiedPeers(held.authorities), isTrusted: true };
}

/** Whether the files hold what an app was opened with. Throws where one cannot be read. */
export function isCurrent({ held }: Generation, tls: TlsFiles): boolean {
  return areSame(held, read(tls));
}

function read({ certFile, keyFile, clientCaFile }: TlsFiles): Held {
  const authorities = clientCaFile === undefined ? "" : readFileSync(clientCaFile, "utf8");
  return { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8"), authorities };
}

function areSame(one: Held, other: Held): boolean {
  return one.cert === other.cert && one.key === other.key && one.authorities === other.authorities;
}

function check({ clientCaFile }: TlsFiles, { cert, key, authorities }: Held): void {
  createSecureContext({ cert, key });
  if (clientCaFile === undefined) return;
  const found = parseCertificates(authorities);
  if (typeof found === "string") throw new Error(`${clientCaFile}: ${found}`);
}

/** Counts the connections of an app, and closes those that are too many. */
export function countConnections(app: App, openings: Openings): void {
  app.filter((res, change) => {
    // Which one was closed the build does not say: it has no address any more.
    if (change < 0) return openings.closed();
    const remote = addressText(res.getRemoteAddress());
    // The hook of its first request takes this one's place: it hears of the end of those that never asked.
    if (openings.opened(remote)) res.onAborted(() => openings.heard(remote));
    else res.close();
  });
}
