// Certificates of an etcd for tests: an authority, one certificate for all members and one for their clients.
import "reflect-metadata";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as x509 from "@peculiar/x509";
import { authority, clientAuth, issue, serverAuth } from "../certificates.ts";
import type { EtcdTls } from "./gateway.ts";

/** What members and their clients need. */
export interface EtcdCertificates {
  /** Flags of every member. */
  readonly flags: readonly string[];
  /** Of the user `etcdUser`. */
  readonly client: EtcdTls;
  /** Of no user: the gateway takes no certificate that names one. */
  readonly operator: EtcdTls;
}

/** The user that the certificate of clients names. */
export const etcdUser = "orch";

/** Makes them in a folder, for members at these addresses. */
export async function makeCertificates(folder: string, addresses: readonly string[]): Promise<EtcdCertificates> {
  mkdirSync(folder, { mode: 0o700 });
  const keep = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const ca = await authority("etcd");
  // A member is a client of the others, and of itself behind its gateway. A common name would be taken for a user's.
  const names = ["127.0.0.1", ...addresses].map((value) => ({ type: "ip" as const, value }));
  const extensions = [
    new x509.ExtendedKeyUsageExtension([serverAuth, clientAuth]),
    new x509.SubjectAlternativeNameExtension(names),
  ];
  const member = await issue({ issuer: ca, subject: [{ O: ["member"] }], extensions });
  const caFile = keep("ca.crt", ca.cert);
  const clientOf = async (name: string, subject: x509.JsonName): Promise<EtcdTls> => {
    const usage = new x509.ExtendedKeyUsageExtension([clientAuth]);
    const { cert, key } = await issue({ issuer: ca, subject, extensions: [usage] });
    const [certFile, keyFile] = [keep(`${name}.crt`, cert), keep(`${name}.key`, key)];
    return { caFile, certFile, keyFile, ca: ca.cert, cert, key };
  };
  const pair = [keep("member.crt", member.cert), keep("member.key", member.key)];
  const side = (prefix: string): string[] => [
    `--${prefix}trusted-ca-file=${caFile}`,
    `--${prefix}cert-file=${pair[0]}`,
    `--${prefix}key-file=${pair[1]}`,
    `--${prefix}client-cert-auth`,
  ];
  return {
    flags: [...side(""), ...side("peer-")],
    client: await clientOf("client", [{ CN: [etcdUser] }]),
    operator: await clientOf("operator", [{ O: ["operator"] }]),
  };
}
