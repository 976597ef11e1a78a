// Signing requests with bytes changed, cut and doubled, and signed anew so that nothing stops them early: the task that
// signs refuses or issues, never throws, and what it issues is a certificate of the authority that says no more than the
// signer allows. ORCH_FUZZ_SEED and ORCH_FUZZ_ROUNDS repeat and lengthen a run.
import { X509Certificate } from "node:crypto";
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import { createScheme } from "../../src/api/scheme.ts";
import { limits } from "../../src/config/limits.ts";
import { type SignInput, type SignOutput, signTask } from "../../src/controllers/certificates/signtask.ts";
import { type Authority, parseAuthority } from "../../src/pki/authority.ts";
import { readCertificate } from "../../src/pki/certificate.ts";
import { faultOfSigningRequest } from "../../src/pki/csr.ts";
import { childrenOf, type Element, element, readElement } from "../../src/pki/der.ts";
import { serialNumber } from "../../src/pki/issue.ts";
import { createAuthority } from "../../src/pki/x509.ts";
import { leastCostOf } from "../support/cost.ts";
import { draws, fuzzRun } from "../support/random.ts";
import {
  commonName,
  nodeSubject,
  organization,
  type RequestShape,
  requestDer,
  requestPem,
  signedAnew,
} from "../support/signing.ts";

const { seed, rounds } = fuzzRun(4_000);
t.comment(`ORCH_FUZZ_SEED=${seed} ORCH_FUZZ_ROUNDS=${rounds}`);

const client = "kubernetes.io/kube-apiserver-client";
const nodeClient = "kubernetes.io/kube-apiserver-client-kubelet";
const usagesOf = new Map([
  [client, ["client auth"]],
  [nodeClient, ["client auth", "digital signature", "key encipherment"]],
  ["kubernetes.io/legacy-unknown", ["cert sign", "any"]],
]);
const context = { scheme: createScheme({ identity: identities.kubernetes }) };

async function openAuthority(): Promise<Authority> {
  const times = { notBefore: new Date(Date.now() - 1e9), notAfter: new Date(Date.now() + 1e11) };
  const { certificate, key } = await createAuthority("ca", times);
  const authority = parseAuthority(certificate, key);
  if (typeof authority === "string") throw new Error(authority);
  return authority;
}

function inputOf(authority: Authority, pem: Uint8Array, signer = client): SignInput {
  const usages = usagesOf.get(signer) ?? [];
  return { signer, request: pem, usages, lifeMs: 1e9, nowMs: Date.now(), serial: serialNumber(), authority };
}

function issuedBy(output: SignOutput): X509Certificate | undefined {
  return output.refused === undefined ? new X509Certificate(output.certificate) : undefined;
}

const shapes: readonly RequestShape[] = [
  { subject: nodeSubject },
  {
    subject: [...nodeSubject, ["550406", "CH", 0x13], ["550407", "Z\u00fcrich"]],
    names: [
      [0x82, "a.b"],
      [0x87, Buffer.of(1, 2, 3, 4)],
    ],
  },
  {
    names: [
      [0x81, "a@b"],
      [0x86, "spiffe://a/b?c#d"],
      [0x88, Buffer.of(0x2a)],
    ],
  },
  {
    subject: [
      [organization, "\0s\0y", 0x1e],
      [commonName, "x", 0x14],
    ],
    extensions: [
      element(0x30, element(0x06, Buffer.of(0x55, 0x1d, 0x13)), element(0x04, Buffer.from("30030101ff", "hex"))),
    ],
  },
];

/** Every element within another. */
function elementsIn(der: Buffer, within: Element): Element[] {
  const isParent = (within.tag & 0x20) !== 0 || within.tag === 0x04;
  const children = isParent ? (childrenOf(der, within) ?? []) : [];
  return children.flatMap((child) => [child, ...elementsIn(der, child)]);
}

t.test("requests of any bytes are refused or signed, and nothing throws", async (t) => {
  const authority = await openAuthority();
  const { next, pick } = draws(seed);
  const counts = { issued: 0, refused: 0 };
  const texts = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    const whole = requestDer(pick(shapes));
    const info = whole.subarray(0);
    const body = readElement(info, readElement(info, 0)?.start ?? 0) as Element;
    const signed = Buffer.from(info.subarray(body.at, body.end));
    for (let changes = next(3); changes >= 0; changes--) {
      const top = readElement(signed, 0);
      const at = next(signed.length);
      const inner = top === undefined ? [] : elementsIn(signed, top);
      const { at: from, end } = inner.length === 0 ? { at, end: at + 1 } : pick(inner);
      const kind = next(5);
      if (kind === 0) signed[at] = (signed[at] ?? 0) ^ (1 << next(8));
      else if (kind === 1) signed[from] = next(256);
      else if (kind === 2) signed.fill(next(256), from + 2, Math.min(end, from + 2 + next(8)));
      else if (kind === 3) signed.copyWithin(from, next(signed.length), next(signed.length));
      else signed[from + 1] = next(256);
    }
    const der = signedAnew(signed);
    const pem = requestPem(next(10) === 0 ? der.subarray(0, next(der.length)) : der);
    const signer = pick([...usagesOf.keys()]);
    const output = await signTask.work(inputOf(authority, pem, signer), context);
    const certificate = issuedBy(output);
    if (certificate === undefined) {
      counts.refused++;
      texts.add(output.refused ?? "");
      continue;
    }
    counts.issued++;
    const parts = readCertificate(certificate.raw);
    if (faultOfSigningRequest(pem) !== undefined) t.fail("signed what no client may create");
    if (parts === undefined) t.fail(`no certificate of ours: ${certificate.raw.toString("hex")}`);
    if (certificate.ca) t.fail("an authority");
    const { organizations = [] } = parts ?? {};
    if (signer === nodeClient && organizations.join() !== "system:nodes") t.fail(organizations.join());
  }
  t.comment(JSON.stringify(counts), `${texts.size} refusals`);
  t.ok(counts.issued > rounds / 50, "some are signed");
  t.ok(texts.size > 5);
});

t.test("what is no request is refused", async (t) => {
  const authority = await openAuthority();
  const bad: readonly [what: string, pem: Buffer, refused: RegExp | string][] = [
    ["nothing", Buffer.alloc(0), /^PEM block type/],
    ["junk", Buffer.from([0, 255, 1, 254]), /^PEM block type/],
    ["another block", Buffer.from("-----BEGIN CERTIFICATE-----\neA==\n-----END CERTIFICATE-----\n"), /^PEM block type/],
    ["another's signature", requestPem(wrongSignature()), "x509: signature verification failed"],
    ["a curve of others", requestPem(requestDer({ key: "secp256k1" })), "x509: unsupported elliptic curve"],
    [
      "too long",
      Buffer.concat([requestPem(requestDer({})), Buffer.alloc(limits.signedRequestBytesMax, 10)]),
      /^the request is longer/,
    ],
    ["a control character", requestPem(requestDer({ subject: [[commonName, "a\0b"]] })), /control characters/],
    ["a name of one", requestPem(requestDer({ names: [[0x82, "a\0b"]] })), /control characters/],
    ["no ASCII", requestPem(requestDer({ names: [[0x82, "\u00fc"]] })), /^x509: SAN is malformed/],
    [
      "an odd address",
      requestPem(requestDer({ names: [[0x87, Buffer.alloc(5)]] })),
      "x509: cannot parse IP address of length 5",
    ],
    ["a URI with blanks", requestPem(requestDer({ names: [[0x86, "a b"]] })), 'x509: cannot parse URI "a b"'],
    ["no UTF-8", requestPem(requestDer({ subject: [[commonName, Buffer.of(0xff)]] })), /invalid UTF-8/],
    ["no printable", requestPem(requestDer({ subject: [[commonName, "a@b", 0x13]] })), /invalid character/],
  ];
  for (const [what, pem, refused] of bad) {
    t.match(await signTask.work(inputOf(authority, pem), context), { refused }, what);
  }
});

function wrongSignature(): Buffer {
  const der = requestDer({});
  der[der.length - 1] = (der[der.length - 1] ?? 0) ^ 1;
  return der;
}

t.test("many names are signed up to a bound, and refused beyond it in the time their bytes take", async (t) => {
  const authority = await openAuthority();
  const namesOf = (count: number): NonNullable<RequestShape["names"]> =>
    Array.from({ length: count }, (_, i) => [0x82, `n${i}.example.com`] as const);
  const some = requestPem(requestDer({ names: namesOf(1_000) }));
  t.equal(issuedBy(await signTask.work(inputOf(authority, some), context))?.subjectAltName?.split(",").length, 1_000);
  for (const [what, shape] of [
    ["names", { names: Array.from({ length: 400_000 }, () => [0x82, ""] as const) }],
    ["attributes", { subject: Array.from({ length: 80_000 }, () => [organization, ""] as const) }],
    ["extensions", { extensions: Array.from({ length: 400_000 }, () => Buffer.of(0x30, 0)) }],
  ] as const) {
    const pem = requestPem(requestDer(shape));
    const ms = await leastCostOf(200, () => t.match(faultOfSigningRequest(pem), /^more than 5000 names$|^asn1/, what));
    t.ok(ms <= 200, `${pem.length} bytes of ${what}: ${ms.toFixed(0)} ms`);
  }
});
