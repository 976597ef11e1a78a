// TLS of both fronts (ATTACKS H08): versions, and on the node front who a client's certificate says it is.
import "reflect-metadata";
import { webcrypto, X509Certificate } from "node:crypto";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, connect } from "node:tls";
import * as x509 from "@peculiar/x509";
import t, { type Test } from "tap";
import { systemClock } from "../../src/base/clock.ts";
import type { Listener, ListenOptions } from "../../src/http/listener.ts";
import { listenNode } from "../../src/http/node.ts";
import { listenUws } from "../../src/http/uws.ts";
import { loadsUws, loadUws } from "../../src/http/uwsbuild.ts";
import { findChain } from "../../src/pki/chain.ts";
import { keepServing, type ServingFiles } from "../../src/pki/serving.ts";
import { createAuthority } from "../../src/pki/x509.ts";
import type { Handler } from "../../src/request/exchange/transport.ts";
import { type Issued, authority as issueAuthority, client as issueClient } from "../support/certificates.ts";
import { fronts } from "./fronts.ts";
import { Wire } from "./toy.ts";

const dayMs = 24 * 60 * 60 * 1000;
const clientAuth = "1.3.6.1.5.5.7.3.2";
const serverAuth = "1.3.6.1.5.5.7.3.1";
const validity = { notBefore: new Date(Date.now() - 3 * dayMs), notAfter: new Date(Date.now() + dayMs) };

async function files(t: Test): Promise<ServingFiles & { directory: string }> {
  const directory = mkdtempSync(join(tmpdir(), "orch-tls-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return { directory, ...(await keepServing(directory, ["localhost", "127.0.0.1"], systemClock)) };
}

/** A listener that answers every request with "served". */
async function serving(t: Test, listen: (options: ListenOptions) => Promise<Listener>) {
  const { caFile, certFile, keyFile } = await files(t);
  const handle: Handler = (exchange) => exchange.send(200, [], "served");
  const listener = await listen({ host: "127.0.0.1", port: 0, tls: { certFile, keyFile }, handle });
  t.teardown(() => listener.close());
  return { listener, certFile, ca: readFileSync(caFile) };
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
    const { listener, ca } = await serving(t, front.listen);
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

for (const front of fronts.filter(({ secure }) => secure)) {
  t.test(`${front.name} agrees to HTTP/1.1 and to no later version`, async (t) => {
    const { listener, ca } = await serving(t, front.listen);
    t.equal(await ask(listener, { ca, ALPNProtocols: ["h2", "http/1.1"] }), "served", "both are offered");
    const agreed = await new Promise((resolve) => {
      const options = { host: "127.0.0.1", port: listener.port, servername: "localhost", ca };
      const socket = connect({ ...options, ALPNProtocols: ["h2"] }, () => {
        resolve(socket.alpnProtocol);
        socket.destroy();
      });
      socket.on("error", () => resolve(false));
    });
    t.equal(agreed, false, "HTTP/2 alone is");
  });
}

interface Client {
  readonly cert: string;
  readonly key: string;
}

/** A certificate for `commonName` under `authority`; `purpose` is its extended key usage, or it is an authority's. */
async function clientCertificate(
  authority: { certificate: string; key: string },
  commonName: string,
  purpose: string | "authority",
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
    extensions: [
      purpose === "authority"
        ? new x509.BasicConstraintsExtension(true, undefined, true)
        : new x509.ExtendedKeyUsageExtension([purpose]),
    ],
  });
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { cert: certificate.toString("pem"), key: x509.PemConverter.encode(key, "PRIVATE KEY") };
}

/** Certificates of alice below one and two intermediates, with what a client sends along. */
async function issuedUnder(authority: { certificate: string; key: string }) {
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const pkcs8 = x509.PemConverter.decodeFirst(authority.key);
  const privateKey = await webcrypto.subtle.importKey("pkcs8", pkcs8, algorithm, true, ["sign"]);
  const certificate = new x509.X509Certificate(authority.certificate);
  const keys = { privateKey, publicKey: privateKey };
  const root: Issued = { certificate, cert: authority.certificate, key: authority.key, keys };
  const first = await issueAuthority("first", root);
  const second = await issueAuthority("second", first);
  const dev: x509.JsonName = [{ O: ["dev"] }, { CN: ["alice"] }];
  const [one, two] = [await issueClient(first, dev), await issueClient(second, dev)];
  const sent = (leaf: Issued, ...others: Issued[]): Client => ({
    cert: [leaf, ...others].map(({ cert }) => cert).join("\n"),
    key: leaf.key,
  });
  const many = await Promise.all(Array.from({ length: 11 }, (_, index) => issueAuthority(`more ${index}`)));
  return {
    one: sent(one, first),
    two: sent(two, second, first, root),
    shuffled: sent(two, first, root, second),
    short: sent(two, first),
    many: sent(one, ...many, first),
  };
}

t.test("node hands on what clients present, and ends no handshake over it", async (t) => {
  const { caFile, directory, ...tls } = await files(t);
  const trusted = await createAuthority("clients", validity);
  const foreign = await createAuthority("others", validity);
  const forged = await createAuthority("clients", validity);
  const handle: Handler = (exchange) => {
    const { peer } = exchange;
    const found =
      peer === undefined ? "nobody" : findChain(peer, [new X509Certificate(trusted.certificate)], Date.now());
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
  const under = { ...(await issuedUnder(trusted)) };
  const cases: [string, Client | undefined, RegExp][] = [
    ["one through an intermediate", under.one, /CN=alice/],
    ["one through two, with the root", under.two, /CN=alice/],
    ["the same in another order", under.shuffled, /CN=alice/],
    ["the same with one missing", under.short, /unknown authority/],
    ["one with too many", under.many, /unknown authority/],
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

/** A uws front that verifies clients under the authorities of a file, and says who asks. */
async function verifying(t: Test, authorities: string) {
  const { caFile, directory, ...tls } = await files(t);
  const clientCaFile = join(directory, "clients.crt");
  writeFileSync(clientCaFile, authorities);
  const handle: Handler = (exchange) => {
    const { peer } = exchange;
    const subject =
      peer === undefined
        ? "no certificate"
        : `${peer.verifiedBy === readFileSync(clientCaFile, "utf8")} ${peer.leaf.subject}`;
    if (exchange.path === "/stream") exchange.stream(200, []);
    else exchange.send(200, [], subject.replaceAll("\n", " "));
  };
  const listener = await listenUws({ host: "127.0.0.1", port: 0, tls: { ...tls, clientCaFile }, handle });
  t.teardown(() => listener.close());
  return { listener, clientCaFile, certFile: tls.certFile, ca: readFileSync(caFile, "utf8") };
}

if (loadsUws()) {
  t.test("uws verifies in the handshake what clients present", async (t) => {
    const trusted = await createAuthority("clients", validity);
    const foreign = await createAuthority("others", validity);
    const forged = await createAuthority("clients", validity);
    const { listener, ca } = await verifying(t, trusted.certificate);
    const between = await clientCertificate(trusted, "between", "authority", validity.notAfter);
    const under = { certificate: between.cert, key: between.key };
    const deep = await clientCertificate(under, "deep", clientAuth, validity.notAfter);
    const ended = new Date(Date.now() - dayMs);
    const refusedAs = /^(ERR_SSL|ECONNRESET|EPIPE)/;
    const cases: [string, Client | undefined, RegExp][] = [
      ["a good one", await clientCertificate(trusted, "alice", clientAuth, validity.notAfter), /^true CN=alice/],
      ["none", undefined, /^no certificate$/],
      ["of another authority", await clientCertificate(foreign, "mallory", clientAuth, validity.notAfter), refusedAs],
      ["a forged one", await clientCertificate(forged, "mallory", clientAuth, validity.notAfter), refusedAs],
      ["one for servers", await clientCertificate(trusted, "server", serverAuth, validity.notAfter), refusedAs],
      ["one that ended", await clientCertificate(trusted, "late", clientAuth, ended), refusedAs],
      ["one through another, which is sent", { ...deep, cert: `${deep.cert}\n${between.cert}` }, /^true CN=deep/],
      ["one through another, which is not", deep, refusedAs],
    ];
    for (const [what, client, expected] of cases) {
      for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
        const answer = await ask(listener, { ca, minVersion: version, maxVersion: version, ...client });
        t.match(answer, expected, `${what}, ${version}`);
      }
    }
  });

  t.test("uws ends what clients under replaced authorities have open", async (t) => {
    const before = await createAuthority("clients", validity);
    const after = await createAuthority("clients", validity);
    const { listener, clientCaFile, certFile, ca } = await verifying(t, before.certificate);
    const alice = await clientCertificate(before, "alice", clientAuth, validity.notAfter);
    const bob = await clientCertificate(after, "bob", clientAuth, validity.notAfter);
    const target = { port: listener.port, ca };
    const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    const opened = async (client: Client | undefined, path: string): Promise<Wire> => {
      const wire = await Wire.open(target, client);
      t.teardown(() => wire.cut());
      wire.send(get(path));
      t.ok(await wire.until((w) => w.received.includes("\r\n\r\n")), path);
      return wire;
    };
    const [idle, watching] = [await opened(alice, "/"), await opened(alice, "/stream")];
    const others = [await opened(undefined, "/"), await opened(undefined, "/stream")] as const;

    t.equal(listener.reload(), undefined);
    t.match(await ask(listener, { ca, ...alice }), /alice/, "files that are the same replace nothing");
    appendFileSync(certFile, "\n");
    t.equal(listener.reload(), undefined);
    t.match(await ask(listener, { ca, ...alice }), /alice/);
    t.equal(idle.closed || watching.closed, false, "another serving certificate ends nothing");
    writeFileSync(clientCaFile, "nothing");
    t.match(listener.reload(), /holds no certificate/, "a file without any changes nothing");
    t.match(await ask(listener, { ca, ...alice }), /alice/);

    writeFileSync(clientCaFile, after.certificate);
    t.equal(listener.reload(), undefined);
    t.ok(await watching.until((w) => w.closed), "a stream ends");
    idle.send(get("/again"));
    t.ok(await idle.until((w) => w.closed), "a connection without one ends");
    t.equal(idle.received.split("HTTP/1.1 200").length - 1, 1, "without a further answer");
    t.match(await ask(listener, { ca, ...alice }), /^(ERR_SSL|ECONNRESET|EPIPE|$)/, "who was known is not");
    t.match(await ask(listener, { ca, ...bob }), /^true CN=bob/, "who is known now is");
    others[0].send(get("/again"));
    t.ok(await others[0].until((w) => w.received.split("HTTP/1.1 200").length === 3), "who showed none goes on");
    t.notOk(others[1].closed, "and so does their stream");
  });

  t.test("uws serves connections that wait to be accepted while the certificate is replaced", async (t) => {
    const { listener, certFile, ca } = await serving(t, listenUws);
    // The kernel has opened them when this turn ends; the loop of the front accepts them in a later one.
    const waiting = Array.from({ length: 20 }, () => ask(listener, { ca }));
    await new Promise<void>((resolve) => process.nextTick(resolve));
    appendFileSync(certFile, "\n");
    t.equal(listener.reload(), undefined);
    t.same(new Set(await Promise.all(waiting)), new Set(["served"]));
  });

  t.test("uws goes on as before where the port is not to be had for a replaced certificate", async (t) => {
    const { listener, certFile, ca } = await serving(t, listenUws);
    const uws = loadUws();
    const { SSLApp } = uws;
    let openCount = 0;
    uws.SSLApp = (options) => {
      const app = SSLApp(options);
      const close = app.close.bind(app);
      openCount++;
      app.listen = (_host, _port, opened) => {
        opened(false);
        return app;
      };
      app.close = () => {
        openCount--;
        return close();
      };
      return app;
    };
    t.teardown(() => {
      uws.SSLApp = SSLApp;
    });
    appendFileSync(certFile, "\n");
    for (let attempt = 0; attempt < 3; attempt++) t.match(listener.reload(), /^Cannot listen on 127\.0\.0\.1:\d+$/);
    t.equal(openCount, 0, "and leaves no app open");
    t.equal(await ask(listener, { ca }), "served");
    uws.SSLApp = SSLApp;
    t.equal(listener.reload(), undefined, "it is tried again");
    t.equal(await ask(listener, { ca }), "served");
  });

  t.test("uws resumes no session under replaced authorities", async (t) => {
    const before = await createAuthority("clients", validity);
    const after = await createAuthority("others", validity);
    const { listener, clientCaFile, ca } = await verifying(t, before.certificate);
    const alice = await clientCertificate(before, "alice", clientAuth, validity.notAfter);
    let session: Buffer | undefined;
    const asked = (): Promise<string> =>
      new Promise((resolve) => {
        const options = { host: "127.0.0.1", port: listener.port, servername: "localhost", ca, ...alice };
        const socket = connect(session === undefined ? options : { ...options, session }, () => {
          socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        });
        socket.on("session", (found: Buffer) => {
          session = found;
        });
        socket.on("data", (chunk: Buffer) => {
          resolve(`${socket.isSessionReused()} ${chunk.toString().split("\r\n\r\n")[1]}`);
          setTimeout(() => socket.destroy(), 50);
        });
        socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
        socket.on("close", () => resolve("closed"));
      });
    t.match(await asked(), /^false true CN=alice/);
    await new Promise((resolve) => setTimeout(resolve, 100));
    t.match(await asked(), /^(true|false) true CN=alice/, "as long as they hold it may be");
    await new Promise((resolve) => setTimeout(resolve, 100));
    writeFileSync(clientCaFile, after.certificate);
    t.equal(listener.reload(), undefined);
    t.match(await asked(), /^(ERR_SSL|ECONNRESET|EPIPE|closed)/);
  });
}
