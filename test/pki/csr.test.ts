import "reflect-metadata";
import { webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";
import t from "tap";
import { faultOfSigningRequest } from "../../src/pki/csr.ts";
import { nextPemBlock } from "../../src/pki/pem.ts";

const algorithms = [
  { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  { name: "ECDSA", namedCurve: "P-384", hash: "SHA-384" },
  { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256", publicExponent: new Uint8Array([1, 0, 1]), modulusLength: 2048 },
];

async function request(algorithm: (typeof algorithms)[number]): Promise<string> {
  x509.cryptoProvider.set(webcrypto);
  const keys = await webcrypto.subtle.generateKey(algorithm as EcKeyGenParams, true, ["sign", "verify"]);
  const made = await x509.Pkcs10CertificateRequestGenerator.create({
    name: "CN=dev",
    keys,
    signingAlgorithm: algorithm,
  });
  return made.toString("pem");
}

type EcKeyGenParams = Parameters<typeof webcrypto.subtle.generateKey>[0] & { name: "ECDSA"; namedCurve: string };

t.test("faultOfSigningRequest() accepts requests signed by their own key", async (t) => {
  for (const algorithm of algorithms) {
    t.equal(faultOfSigningRequest(Buffer.from(await request(algorithm))), undefined, JSON.stringify(algorithm.name));
  }
});

t.test("faultOfSigningRequest() refuses what is not one, at every length and with any byte changed", async (t) => {
  const pem = await request({ name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" });
  for (const text of [
    "",
    "junk",
    pem.replaceAll("CERTIFICATE REQUEST", "CERTIFICATE"),
    "-----BEGIN CERTIFICATE REQUEST-----\n",
  ]) {
    t.match(faultOfSigningRequest(Buffer.from(text)), "PEM block type must be CERTIFICATE REQUEST");
  }
  const der = nextPemBlock(pem)?.block.bytes ?? Buffer.alloc(0);
  const wrap = (bytes: Buffer) =>
    Buffer.from(
      `-----BEGIN CERTIFICATE REQUEST-----\n${bytes.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`,
    );
  for (let length = 0; length < der.length; length++) {
    if (faultOfSigningRequest(wrap(der.subarray(0, length))) === undefined) t.fail(`${length} bytes are no request`);
  }
  for (let index = 0; index < der.length; index++) {
    const broken = Buffer.from(der);
    broken[index] = (broken[index] ?? 0) ^ 0x01;
    if (faultOfSigningRequest(wrap(broken)) === undefined) t.fail(`Byte ${index} is signed`);
  }
  t.equal(faultOfSigningRequest(wrap(der)), undefined);
});

t.test("nextPemBlock() finds blocks one after the other", (t) => {
  const text = "noise\n-----BEGIN A-----\nK: v\n\neA==\n-----END A-----\n-----BEGIN B-----\neQ==\n-----END B-----\n";
  const first = nextPemBlock(text);
  t.match(first?.block, { type: "A", hasHeaders: true });
  t.equal(first?.block.bytes.toString(), "x");
  const second = nextPemBlock(first?.rest ?? "");
  t.match(second?.block, { type: "B", hasHeaders: false });
  t.equal(nextPemBlock(second?.rest ?? ""), undefined);
  t.equal(nextPemBlock("-----BEGIN A-----\neA==\n-----END B-----\n"), undefined);
  t.end();
});

t.test("nextPemBlock() takes no longer for text made to confuse it", (t) => {
  const lines = "-----BEGIN A-----\n".repeat(150_000);
  // Quadratic work on these would outlast the test runner's patience.
  for (const text of [
    lines,
    `${lines}-----END B-----\n`,
    "-----END A-----\n".repeat(150_000),
    `-----BEGIN A-----\n${"a: b\n".repeat(500_000)}`,
  ]) {
    t.equal(nextPemBlock(text), undefined);
  }
  t.equal(nextPemBlock(`${lines}eA==\n-----END A-----\n`)?.block.bytes.toString(), "x");
  t.end();
});
