// The certificates a client presented, read once per connection, or once for all connections that present the same.
import { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import type { PeerCertificates } from "../authn/authenticator.ts";
import { limits } from "../config/limits.ts";

const known = new WeakMap<TLSSocket, PeerCertificates | "none">();

/** The certificate the client of a connection presented; undefined for none. */
export function presentedBy(socket: TLSSocket): PeerCertificates | undefined {
  let peer = known.get(socket);
  if (peer === undefined) known.set(socket, (peer = read(socket) ?? "none"));
  return peer === "none" ? undefined : peer;
}

function read(socket: TLSSocket): PeerCertificates | undefined {
  const leaf = socket.getPeerX509Certificate();
  if (leaf === undefined) return undefined;
  let others: readonly X509Certificate[] | undefined;
  return { leaf, others: () => (others ??= readOthers(leaf)) };
}

/** Clients' certificates by their PEM, for fronts that are handed no connection to remember them by. */
export class VerifiedPeers {
  readonly #authorities: string;
  readonly #known = new Map<string, PeerCertificates>();

  /** `authorities`: PEM of the bundle the handshakes verify under. */
  constructor(authorities: string) {
    this.#authorities = authorities;
  }

  /** Undefined for a certificate that cannot be read. */
  of(pem: string): PeerCertificates | undefined {
    let peer = this.#known.get(pem);
    if (peer !== undefined) return peer;
    try {
      peer = { leaf: new X509Certificate(pem), verifiedBy: this.#authorities, others: () => [] };
    } catch {
      return undefined;
    }
    // The oldest is evicted first.
    if (this.#known.size >= limits.peerCertificatesMax) this.#known.delete(this.#known.keys().next().value as string);
    this.#known.set(pem, peer);
    return peer;
  }
}

/**
 * The certificates a client sent besides its own, in its order. Node takes the chain from the connection when the leaf
 * is read, so that nothing else reads it again, and hangs each certificate on the one before as its issuer, whether it
 * is or not. One more than the bound is read, to detect that there are too many.
 */
function readOthers(leaf: X509Certificate): X509Certificate[] {
  const found: X509Certificate[] = [];
  let next = leaf.issuerCertificate;
  while (next !== undefined && found.length <= limits.chainCertificatesMax) {
    found.push(next);
    next = next.issuerCertificate;
  }
  return found;
}
