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
  const chain: X509Certificate[] = [];
  let next: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  // An empty object stands for none; a self-signed certificate is its own issuer.
  while (next?.raw !== undefined && chain.length <= limits.chainCertificatesMax) {
    const certificate = new X509Certificate(next.raw);
    if (chain.some(({ raw }) => raw.equals(certificate.raw))) break;
    chain.push(certificate);
    next = next.issuerCertificate;
  }
  return chain.length === 0 ? undefined : { chain };
}
