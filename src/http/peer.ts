// The certificates a client presented, read once per connection and only when somebody asks.
import { X509Certificate } from "node:crypto";
import type { DetailedPeerCertificate, TLSSocket } from "node:tls";
import type { PeerCertificates } from "../authn/authenticator.ts";
import { limits } from "../config/limits.ts";

const known = new WeakMap<TLSSocket, PeerCertificates | "none">();

/** What the client of a connection presented; undefined for nothing. */
export function presentedBy(socket: TLSSocket): PeerCertificates | undefined {
  let peer = known.get(socket);
  if (peer === undefined) known.set(socket, (peer = read(socket) ?? "none"));
  return peer === "none" ? undefined : peer;
}

function read(socket: TLSSocket): PeerCertificates | undefined {
  const leaf = socket.getPeerX509Certificate();
  return leaf === undefined ? undefined : { leaf, others: () => readOthers(socket) };
}

/** What a client sent besides its own certificate: dear to read, and rarely there. */
function readOthers(socket: TLSSocket): X509Certificate[] {
  const found: X509Certificate[] = [];
  let last: DetailedPeerCertificate = socket.getPeerCertificate(true);
  // A self-signed certificate is its own issuer; without the issuer there is none.
  while (found.length <= limits.chainCertificatesMax) {
    const next: DetailedPeerCertificate | undefined = last.issuerCertificate;
    if (next?.raw === undefined || next.raw.equals(last.raw)) break;
    found.push(new X509Certificate(next.raw));
    last = next;
  }
  return found;
}
