// Why a connection failed, in upstream's words where it has some: they are shown in conditions and answers, and people
// look for them. Never bytes the peer sent.
import { hostPort } from "../base/network.ts";

/** Where was connected to. */
interface Peer {
  readonly host: string;
  readonly port: number;
}

/** What the system says, in Go's words. */
const dialFaults: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "connect: connection refused"],
  ["EHOSTUNREACH", "connect: no route to host"],
  ["ENETUNREACH", "connect: network is unreachable"],
  ["ETIMEDOUT", "connect: connection timed out"],
  ["EADDRNOTAVAIL", "connect: cannot assign requested address"],
  ["EINVAL", "connect: invalid argument"],
]);

const otherFaults: ReadonlyMap<string, string> = new Map([
  ["ECONNRESET", "EOF"],
  ["EPIPE", "EOF"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "x509: certificate signed by unknown authority"],
  ["UNABLE_TO_GET_ISSUER_CERT", "x509: certificate signed by unknown authority"],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "x509: certificate signed by unknown authority"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "x509: certificate signed by unknown authority"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "x509: certificate signed by unknown authority"],
  ["CERT_HAS_EXPIRED", "x509: certificate has expired or is not yet valid"],
  ["CERT_NOT_YET_VALID", "x509: certificate has expired or is not yet valid"],
]);

/** The reason of a failure to connect, or to get an answer, in one line. */
export function reasonOf(error: NodeJS.ErrnoException, { host, port }: Peer): string {
  const { code = "" } = error;
  const dial = dialFaults.get(code);
  if (dial !== undefined) return `dial tcp ${hostPort(host, port)}: ${dial}`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return `dial tcp: lookup ${host}: no such host`;
  return otherFaults.get(code) ?? error.message.split("\n", 1)[0] ?? "unknown";
}
