// Certificates that are issued, as openssl reads them: the chain holds, and what they say is what upstream's say.
import { spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { type Authority, AuthorityBundle, parseAuthority } from "../../src/pki/authority.ts";
import { readCertificate } from "../../src/pki/certificate.ts";
import { faultOfSignature, readSigningRequest } from "../../src/pki/csr.ts";
import { issueCertificate, serialNumber, validityOf } from "../../src/pki/issue.ts";
import {
  commonName,
  keysOf,
  nodeSubject,
  organization,
  type RequestShape,
  requestDer,
  requestPem,
} from "../support/signing.ts";

/** Tests that need openssl are skipped, visibly, where there is none. */
const skip = spawnSync("openssl", ["version"]).status === 0 ? false : "no openssl here";

const folder = mkdtempSync(join(tmpdir(), "orch-issue-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

const pem = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${der.toString("base64").replace(/.{64}(?!$)/g, "$&\n")}\n-----END CERTIFICATE-----\n`;

function openssl(...words: string[]): string {
  const { stdout, stderr } = spawnSync("openssl", words, { cwd: folder, encoding: "utf8" });
  return stdout + stderr;
}

const keyOptions: Readonly<Record<string, readonly string[]>> = {
  rsa: ["-newkey", "rsa:2048"],
  "P-224": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp224r1"],
  "P-256": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
  "P-384": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp384r1"],
  "P-521": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp521r1"],
  ed25519: ["-newkey", "ed25519"],
};

/** A self-signed authority of openssl's making. */
function authorityOf(type: string, days = 3650, more: readonly string[] = []): { certFile: string; keyFile: string } {
  const [certFile, keyFile] = [`${type}-${days}.crt`, `${type}-${days}.key`];
  const extensions = [
    "-addext",
    "basicConstraints=critical,CA:TRUE",
    "-addext",
    "keyUsage=critical,keyCertSign,cRLSign",
  ];
  const words = ["req", "-x509", "-nodes", ...(keyOptions[type] ?? []), "-keyout", keyFile, "-out", certFile];
  const options = [
    "-days",
    String(days),
    "-subj",
    "/O=Ünit & Co/CN=test-ca",
    "-utf8",
    ...(more.length > 0 ? more : extensions),
  ];
  const said = openssl(...words, ...options);
  const files = { certFile: join(folder, certFile), keyFile: join(folder, keyFile) };
  if (new AuthorityBundle(files).reload() !== undefined && more.length === 0) throw new Error(said);
  return files;
}

function open(files: { certFile: string; keyFile: string }): Authority {
  const bundle = new AuthorityBundle(files);
  const fault = bundle.reload();
  if (fault !== undefined || bundle.authority === undefined) throw new Error(fault);
  return bundle.authority;
}

const usages = ["digital signature", "key encipherment", "client auth"];
const nowMs = Math.floor(Date.now() / 1000) * 1000;
const yearMs = 365 * 86_400_000;

function issue(authority: Authority, shape: RequestShape, asked = usages, lifeMs = yearMs): Buffer {
  const request = readSigningRequest(requestPem(requestDer(shape)));
  if (typeof request === "string") throw new Error(request);
  if (faultOfSignature(request) !== undefined) throw new Error(faultOfSignature(request));
  const times = validityOf(nowMs, lifeMs, authority.notAfter);
  return issueCertificate(authority, request, { usages: asked, serial: serialNumber(), ...times });
}

/** openssl's text of a certificate, blanks made one. */
function textOf(t: Test, der: Buffer, certFile: string, strict = true): string {
  writeFileSync(join(folder, "leaf.crt"), pem(der));
  t.match(
    openssl("verify", ...(strict ? ["-x509_strict"] : []), "-CAfile", certFile, "leaf.crt"),
    /^leaf\.crt: OK$/m,
    "openssl verifies the chain",
  );
  return openssl("x509", "-in", "leaf.crt", "-noout", "-text", "-nameopt", "RFC2253").replace(/\s+/g, " ");
}

t.test("openssl verifies certificates of every key under authorities of every key", { skip }, (t) => {
  for (const type of Object.keys(keyOptions)) {
    const files = authorityOf(type);
    const authority = open(files);
    for (const key of ["rsa", "ed25519", "P-224", "P-256", "P-384", "P-521"] as const) {
      const der = issue(authority, { key, subject: nodeSubject });
      const text = textOf(t, der, files.certFile);
      t.match(text, "Subject: CN=system:node:n1,O=system:nodes", `${key} under ${type}`);
      const shown = new X509Certificate(der);
      t.ok(shown.publicKey.equals(keysOf(key).publicKey), "the key of the request");
      t.ok(shown.verify(new X509Certificate(openssl("x509", "-in", files.certFile)).publicKey));
    }
  }
  t.end();
});

t.test("certificates say what upstream's say, in its order", { skip }, (t) => {
  const files = authorityOf("P-256");
  const shape: RequestShape = {
    subject: [
      [commonName, "first"],
      ["550405", "17"],
      ["550411", "8000"],
      ["550409", "Main"],
      ["550408", "ZH"],
      ["550407", "Zürich"],
      ["55040b", "unit"],
      [organization, "team", 0x13],
      [organization, "other & co", 0x13],
      [organization, "\0x\0y", 0x1e],
      ["550406", "CH", 0x13],
      ["2a864886f70d010901", "a@b.c", 0x16],
      [commonName, "dev*user"],
    ],
    names: [
      [0x86, "spiffe://a/b"],
      [0x87, Buffer.from("fd000000000000000000000000000007", "hex")],
      [0x87, Buffer.from([10, 0, 0, 7])],
      [0x81, "dev@example.com"],
      [0x82, "a.example.com"],
      [0x88, Buffer.from("2a03", "hex")],
    ],
  };
  const text = textOf(t, issue(open(files), shape), files.certFile);
  t.match(
    text,
    "Subject: serialNumber=17,CN=dev*user,postalCode=8000,street=Main,ST=ZH,L=Z\\C3\\BCrich,OU=unit,O=other & co+O=team+O=xy,C=CH",
    "rebuilt, in order; several organizations are one part, in order of their bytes",
  );
  t.match(text, "Version: 3 (0x2)");
  t.match(text, "Issuer: CN=test-ca,O=\\C3\\9Cnit & Co");
  const extensions = text.slice(text.indexOf("X509v3 extensions:"));
  t.match(
    extensions,
    /^X509v3 extensions: X509v3 Key Usage: critical Digital Signature, Key Encipherment X509v3 Extended Key Usage: TLS Web Client Authentication X509v3 Basic Constraints: critical CA:FALSE X509v3 Authority Key Identifier: [0-9A-F:]+ X509v3 Subject Alternative Name: DNS:a\.example\.com, email:dev@example\.com, IP Address:FD00:0:0:0:0:0:0:7, IP Address:10\.0\.0\.7, URI:spiffe:\/\/a\/b Signature/,
  );
  const few = textOf(t, issue(open(files), { names: [[0x82, "a"]] }, ["client auth"]), files.certFile);
  t.match(
    few,
    /extensions: X509v3 Extended Key Usage: TLS Web Client Authentication X509v3 Basic Constraints/,
    "no usage has a bit",
  );
  t.match(few, "X509v3 Subject Alternative Name: critical DNS:a", "critical where there is no subject");
  const all = [
    "decipher only",
    "cert sign",
    "crl sign",
    "s/mime",
    "email protection",
    "netscape sgc",
    "any",
    "timestamping",
    "server auth",
  ];
  const many = textOf(t, issue(open(files), {}, all), files.certFile, false);
  t.match(many, "X509v3 Key Usage: critical Certificate Sign, CRL Sign, Decipher Only");
  t.match(
    many,
    "Extended Key Usage: Any Extended Key Usage, TLS Web Server Authentication, E-mail Protection, Time Stamping, Netscape Server Gated Crypto",
  );
  t.match(many, "CA:FALSE", "no CA, whatever is asked");
  t.end();
});

t.test(
  "issueCertificate() leaves out what names no authority, and serials are positive and never alike",
  { skip },
  (t) => {
    const plain = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "subjectKeyIdentifier=none"];
    const files = authorityOf("P-384", 3650, plain);
    const text = textOf(t, issue(open(files), { subject: nodeSubject }), files.certFile, false);
    t.notMatch(text, "Authority Key Identifier", "an authority without a key identifier");
    const serials = new Set<string>();
    for (let round = 0; round < 100; round++) {
      const { serialNumber: serial } = new X509Certificate(issue(open(files), { subject: nodeSubject }));
      t.match(serial, /^[4-7][0-9A-F]{31}$/);
      serials.add(serial);
    }
    t.equal(serials.size, 100);
    t.end();
  },
);

t.test("validityOf() backdates as upstream, and ends no later than the authority", (t) => {
  const [minute, hour] = [60_000, 3_600_000];
  for (const [lifeMs, authorityUntil, from, until] of [
    [10 * minute, Infinity, -5 * minute, 10 * minute],
    [8 * hour - 1000, Infinity, -5 * minute, 8 * hour - 1000],
    [8 * hour, Infinity, -5 * minute, 8 * hour - 5 * minute],
    [yearMs, Infinity, -5 * minute, yearMs - 5 * minute],
    [yearMs, 30 * 24 * hour, -5 * minute, 30 * 24 * hour],
    [24 * hour, 30 * 24 * hour, -5 * minute, 24 * hour - 5 * minute],
    [10 * minute, 1000, -5 * minute, 1000],
  ] as const) {
    t.same(validityOf(0, lifeMs, authorityUntil), { notBefore: from, notAfter: until }, `${lifeMs} ms`);
  }
  t.end();
});

t.test("times beyond 2049 have four digits of the year", { skip }, (t) => {
  const files = authorityOf("ed25519", 36_500);
  for (const [lifeMs, year] of [
    [yearMs, ""],
    [60 * yearMs, "20[89]\\d"],
  ] as const) {
    const der = issue(open(files), { subject: nodeSubject }, usages, lifeMs);
    const until = nowMs + lifeMs - 300_000;
    t.equal(Date.parse(new X509Certificate(der).validTo), until);
    t.match(textOf(t, der, files.certFile), new RegExp(`Not After : \\w+ +\\d+ [\\d:]+ ${year}`));
  }
  t.end();
});

t.test("parseAuthority() takes authorities that can sign, and says what is wrong with others", { skip }, (t) => {
  const read = (type: string, days: number, more: readonly string[] = []): [string, string] => {
    const files = authorityOf(type, days, more);
    return [openssl("x509", "-in", files.certFile), openssl("pkey", "-in", files.keyFile)];
  };
  const [cert, key] = read("P-256", 10);
  const [other, otherKey] = read("rsa", 10);
  t.type(parseAuthority(cert, key), "object");
  const leaf = read("P-256", 11, ["-addext", "basicConstraints=critical,CA:FALSE"]);
  const noSigner = read("P-256", 12, ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=cRLSign"]);
  keyCurve("secp256k1");
  for (const [what, certificate, pair, fault] of [
    ["nothing", "", key, "of its certificate: it holds no certificate"],
    ["two", cert + other, key, "it must hold one certificate, and holds 2"],
    ["another's key", cert, otherKey, "its key does not belong to its certificate"],
    ["no key", cert, cert, "its key cannot be read"],
    ["no CA", ...leaf, /^its certificate is not one of an authority/],
    ["a CA that may not sign", ...noSigner, /^its certificate is not one of an authority/],
    [
      "a curve of others",
      ...read("secp256k1", 10, ["-addext", "basicConstraints=CA:TRUE"]),
      /^its key is of no supported type/,
    ],
  ] as const) {
    t.match(parseAuthority(certificate, pair), fault, what);
  }
  t.end();
});

/** Lets authorityOf() make keys on a curve no authority may have. */
function keyCurve(name: string): void {
  (keyOptions as Record<string, readonly string[]>)[name] = ["-newkey", "ec", "-pkeyopt", `ec_paramgen_curve:${name}`];
}

t.test("a certificate is read by this server's own reader", { skip }, (t) => {
  const parts = readCertificate(issue(open(authorityOf("P-256")), { subject: nodeSubject }));
  t.match(parts, { commonName: "system:node:n1", organizations: ["system:nodes"], soundlySigned: true });
  t.end();
});

t.test("names are read from a certificate as they were from its request", { skip }, (t) => {
  const authority = open(authorityOf("P-256"));
  const rows: readonly [what: string, text: string | Buffer, tag: number, read: string][] = [
    ["a byte order mark", "\ufeffsystem:masters", 0x0c, "\ufeffsystem:masters"],
    ["two of them", "\ufeff\ufeffadmin", 0x0c, "\ufeff\ufeffadmin"],
    ["one in another type", Buffer.from("\ufeffa", "utf16le").swap16(), 0x1e, "\ufeffa"],
    ["blanks", " a ", 0x0c, " a "],
    ["beyond ASCII", "\u00fc\u{1f600}", 0x0c, "\u00fc\u{1f600}"],
    ["Latin", Buffer.from("\u00fc\u00a0", "latin1"), 0x14, "\u00fc\u00a0"],
    ["what needs quotes", "a,O=b+CN=c", 0x0c, "a,O=b+CN=c"],
  ];
  for (const [what, text, tag, read] of rows) {
    const subject = [
      [commonName, text, tag],
      [organization, text, tag],
    ] as const;
    const request = readSigningRequest(requestPem(requestDer({ subject })));
    t.strictSame(typeof request !== "string" && request.subject.get(organization), [read], what);
    t.match(readCertificate(issue(authority, { subject })), { commonName: read, organizations: [read] }, what);
  }
  t.end();
});

t.test("AuthorityBundle keeps the authority it has while its files hold none", { skip }, (t) => {
  const files = authorityOf("P-256", 20);
  const bundle = new AuthorityBundle(files);
  t.equal(bundle.reload(), undefined);
  const { authority } = bundle;
  const next = authorityOf("P-384", 20);
  writeFileSync(files.certFile, openssl("x509", "-in", next.certFile));
  t.match(bundle.reload(), /does not belong/, "half of a new pair");
  t.equal(bundle.authority, authority);
  writeFileSync(files.keyFile, openssl("pkey", "-in", next.keyFile));
  t.equal(bundle.reload(), undefined);
  t.equal(bundle.authority?.digest, "sha384");
  rmSync(files.keyFile);
  t.match(bundle.reload(), /cannot be read: ENOENT/);
  t.equal(bundle.authority?.digest, "sha384");
  t.end();
});
