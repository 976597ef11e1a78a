// TLS of both fronts (ATTACKS H08): versions, and on the node front who a client's certificate says it is.
import "reflect-metadata";
import { webcrypto, X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, connect } from "node:tls";
import * as x509 from "@peculiar/x509";
import t, { type Test } from "tap";
import { systemClock } from "../../src/base/clock.ts";
import type { Listener } from "../../src/http/listener.ts";
import { listenNode } from "../../src/http/node.ts";
import { findChain } from "../../src/pki/chain.ts";
import { keepServing, type ServingFiles } from "../../src/pki/serving.ts";
import { createAuthority } from "../../src/pki/x509.ts";
import type { Handler } from "../../src/request/transport.ts";
import { fronts } from "./fronts.ts";

const dayMs = 24 * 60 * 60 * 1000;

async function files(t: Test): Promise<ServingFiles & { directory: string }> {
  const directory = mkdtempSync(join(tmpdir(), "orch-tls-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return { directory, ...(await keepServing(directory, ["localhost", "127.0.0.1"], systemClock)) };
}

/** Sends one request; resolves with the answer's body, or the error's code. */
function ask(listener: Listener, options: ConnectionOptions): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port: listener.port, servername: "localhost", ...options }, () => {
      socket.write("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    });
    let text = "";
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.on("close", () => resolve(text.slice(text.indexOf("\r\n\r\n") + 4)));
  });
}

for (const front of fronts.filter(({ secure }) => secure)) {
  t.test(`${front.name} speaks TLS 1.2 and 1.3 and nothing older`, async (t) => {
    const { caFile, ...tls } = await files(t);
    const handle: Handler = (exchange) => exchange.send(200, [], "served");
    const listener = await front.listen({ host: "127.0.0.1", port: 0, tls, handle });
    t.teardown(() => listener.close());
    const ca = readFileSync(caFile);
    for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
      t.equal(await ask(listener, { ca, minVersion: version, maxVersion: version }), "served", version);
    }
    const weak = { ca, ciphers: "DEFAULT@SECLEVEL=0" };
    for (const version of ["TLSv1", "TLSv1.1"] as const) {
      t.match(
        await ask(listener, { ...weak, minVersion: version, maxVersion: version }),
        /^(ERR_SSL|ECONNRESET|$)/,
        version,
      );
    }
  });
}

interface Client {
  readonly cert: string;
  readonly key: string;
}

/** A certificate for `commonName` under `authority`; `purpose` is its extended key usage. */
async function clientCertificate(
  authority: { certificate: string; key: string },
  commonName: string,
  purpose: string,
  notAfter: Date,
): Promise<Client> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const issuer = new x509.X509Certificate(authority.certificate);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: "0a",
    subject: [{ CN: [commonName], O: ["dev"] }],
    issuer: issuer.subjectName,
    notBefore: new Date(Date.now() - 2 * dayMs),
    notAfter,
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: await webcrypto.subtle.importKey(
      "pkcs8",
      x509.PemConverter.decodeFirst(authority.key),
      algorithm,
      false,
      ["sign"],
    ),
    extensions: [new x509.ExtendedKeyUsageExtension([purpose])],
  });
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { cert: certificate.toString("pem"), key: x509.PemConverter.encode(key, "PRIVATE KEY") };
}

t.test("node hands on what clients present, and ends no handshake over it", async (t) => {
  const { caFile, directory, ...tls } = await files(t);
  const validity = { notBefore: new Date(Date.now() - 3 * dayMs), notAfter: new Date(Date.now() + dayMs) };
  const trusted = await createAuthority("clients", validity);
  const foreign = await createAuthority("others", validity);
  const forged = await createAuthority("clients", validity);
  const handle: Handler = (exchange) => {
    const { peer } = exchange;
    const found = peer === undefined ? "nobody" : findChain(peer, [new X509Certificate(trusted.certificate)]);
    const late = typeof found !== "string" && found.until < Date.now();
    exchange.send(200, [], typeof found === "string" ? found : late ? "late" : (peer?.leaf.subject ?? ""));
  };
  const listener = await listenNode({
    host: "127.0.0.1",
    port: 0,
    tls: { ...tls, asksClients: true },
    handle,
    headMsMax: 1_000,
  });
  t.teardown(() => listener.close());
  const ca = readFileSync(caFile);
  const clientAuth = "1.3.6.1.5.5.7.3.2";
  const serverAuth = "1.3.6.1.5.5.7.3.1";
  const cases: [string, Client | undefined, RegExp][] = [
    ["a good one", await clientCertificate(trusted, "alice", clientAuth, validity.notAfter), /CN=alice/],
    ["none", undefined, /^nobody$/],
    [
      "one of another authority",
      await clientCertificate(foreign, "mallory", clientAuth, validity.notAfter),
      /unknown authority/,
    ],
    ["a forged one", await clientCertificate(forged, "mallory", clientAuth, validity.notAfter), /unknown authority/],
    ["one for servers", await clientCertificate(trusted, "server", serverAuth, validity.notAfter), /key usage/],
    ["one that ended", await clientCertificate(trusted, "late", clientAuth, new Date(Date.now() - dayMs)), /^late$/],
  ];
  for (const [what, client, expected] of cases) {
    for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
      const answer = await ask(listener, { ca, minVersion: version, maxVersion: version, ...client });
      t.match(answer, expected, `${what}, ${version}`);
    }
  }
});
