// Users who present a client certificate: the subject's common name is the user, every organization a group. Which
// authorities are believed is looked up at every request, so that a changed bundle and an ended certificate count at
// once also on connections that were open before (ATTACKS E01, E13, E14).
import type { Clock } from "../base/clock.ts";
import type { Bundle } from "../pki/bundle.ts";
import type { CertificateParts } from "../pki/certificate.ts";
import { type ChainTimes, findChain, partsOf } from "../pki/chain.ts";
import { type Accepted, type Authenticator, type PeerCertificates, type Refused, refused } from "./authenticator.ts";
import { type AuthnEvents, noEvents } from "./events.ts";

type Subject = Pick<CertificateParts, "commonName" | "organizations">;

/** The cached result for a connection's certificates, valid for one bundle. */
interface Finding {
  readonly version: number;
  readonly found: { readonly times: ChainTimes; readonly subject: Subject } | Refused;
}

/** Verifies certificates against one bundle, once per connection and version of the bundle. */
export class CertificateCheck {
  readonly #bundle: Bundle;
  readonly #clock: Clock;
  readonly #findings = new WeakMap<PeerCertificates, Finding>();

  constructor(bundle: Bundle, clock: Clock) {
    this.#bundle = bundle;
    this.#clock = clock;
  }

  /** The subject of certificates that hold now; a refusal for others. */
  check(peer: PeerCertificates): Subject | Refused {
    const { version } = this.#bundle;
    let finding = this.#findings.get(peer);
    if (finding?.version !== version) {
      finding = { version, found: this.#find(peer) };
      this.#findings.set(peer, finding);
    }
    const { found } = finding;
    if ("reasons" in found) return found;
    const now = this.#clock.now();
    if (now < found.times.from || now > found.times.until) {
      return refused("x509: certificate has expired or is not yet valid");
    }
    return found.subject;
  }

  /** When certificates that were believed end, in milliseconds since 1970. */
  until(peer: PeerCertificates): number {
    const found = this.#findings.get(peer)?.found;
    return found === undefined || "reasons" in found ? 0 : found.times.until;
  }

  #find(peer: PeerCertificates): Finding["found"] {
    // Where the handshake found the way, over intermediates that are not shown, the rules for the leaf itself are left: as
    // long as the bundle is the one it verified under, and not only the file. A front whose new serving certificate cannot
    // be read continues to verify under the old bundle.
    const isVerified = peer.verifiedBy === this.#bundle.pem;
    const times = findChain(peer, isVerified ? [peer.leaf] : this.#bundle.certificates, this.#clock.now());
    if (typeof times === "string") return refused(times);
    const subject = partsOf(peer.leaf);
    return subject === undefined ? refused("x509: malformed certificate") : { times, subject };
  }
}

/** Knows the users of certificates under a bundle of authorities. */
export function certificateAuthenticator(bundle: Bundle, clock: Clock, events: AuthnEvents = noEvents): Authenticator {
  const check = new CertificateCheck(bundle, clock);
  const users = new WeakMap<Subject, Accepted>();
  return {
    authenticate: ({ peer }) => {
      if (peer === undefined) return undefined;
      const subject = check.check(peer);
      if ("reasons" in subject) return subject;
      if (subject.commonName === "") return undefined;
      events.certificate((check.until(peer) - clock.now()) / 1000);
      let accepted = users.get(subject);
      if (accepted === undefined) {
        const { commonName: name, organizations: groups } = subject;
        accepted = { user: { name, uid: "", groups, extra: new Map() } };
        users.set(subject, accepted);
      }
      return accepted;
    },
  };
}
