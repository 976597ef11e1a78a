// Chains of client certificates: which hold, and what it costs to find out, before the client is authenticated.
import "reflect-metadata";
import { generateKeyPairSync, webcrypto, X509Certificate } from "node:crypto";
import * as x509 from "@peculiar/x509";
import t, { type Test } from "tap";
import { limits } from "../../src/config/limits.ts";
import { type ChainTimes, findChain } from "../../src/pki/chain.ts";
import { authority, authorityExtensions, client, type Issued, issue } from "../support/certificates.ts";

const nodeOf = ({ certificate }: Issued): X509Certificate => new X509Certificate(Buffer.from(certificate.rawData));
const dev: x509.JsonName = [{ O: ["dev"] }, { CN: ["alice"] }];
const dayMs = 24 * 60 * 60 * 1000;
const unknown = "x509: certificate signed by unknown authority";

/** Counts the signature checks of this thread. */
function counted(t: Test): { count: number } {
  const checks = { count: 0 };
  const { verify } = X509Certificate.prototype;
  X509Certificate.prototype.verify = function (this: X509Certificate, key) {
    checks.count += 1;
    return verify.call(this, key);
  };
  t.teardown(() => {
    X509Certificate.prototype.verify = verify;
  });
  return checks;
}

function find(roots: readonly Issued[], leaf: Issued, ...others: Issued[]): ChainTimes | string {
  const sent = others.map(nodeOf);
  return findChain({ leaf: nodeOf(leaf), others: () => sent }, roots.map(nodeOf), Date.now());
}

/** An authority with a key of another one: a cross-signed certificate. */
async function crossed(of: Issued, issuer: Issued, more: { from?: number; until?: number } = {}): Promise<Issued> {
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: "0b",
    subject: of.certificate.subjectName,
    issuer: issuer.certificate.subjectName,
    notBefore: new Date(Date.now() + (more.from ?? -1) * dayMs),
    notAfter: new Date(Date.now() + (more.until ?? 10) * dayMs),
    signingAlgorithm: { name: "ECDSA", hash: "SHA-256" } as never,
    publicKey: of.keys.publicKey,
    signingKey: issuer.keys.privateKey,
    extensions: authorityExtensions(),
  });
  return { ...of, certificate, cert: certificate.toString("pem") };
}

t.test("findChain() finds the way over intermediates in any order, and the length of paths counts", async (t) => {
  const root = await authority("root");
  const chain: Issued[] = [];
  for (let depth = 0; depth < limits.chainCertificatesMax; depth++) {
    chain.push(await authority(`level ${depth}`, chain.at(-1) ?? root));
  }
  const leaf = await client(chain.at(-1) as Issued, dev);
  t.type(find([root], leaf, ...chain.toReversed()), "object");
  t.type(find([root], leaf, ...chain), "object", "the other way round");
  t.type(find([root], leaf, ...chain, root, ...chain.slice(3)), "string", "too many");
  t.equal(find([root], leaf, ...chain.slice(1)), unknown, "one is missing");
  t.type(find([chain[2] as Issued], leaf, ...chain), "object", "one of them is a root");

  const short = await authority("short", root, 1);
  const one = await authority("one", short);
  const two = await authority("two", one);
  t.type(find([root], await client(one, dev), one, short), "object");
  t.equal(find([root], await client(two, dev), two, one, short), unknown, "one too many");
  t.equal(find([short], await client(two, dev), two, one), unknown, "a root's length counts as well");
});

t.test("findChain() believes no issuer that is none", async (t) => {
  const root = await authority("root");
  const middle = await authority("middle", root);
  const twin = await authority("middle", await authority("other"));
  const subject: x509.JsonName = [{ CN: ["middle"] }];
  const usage = new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true);
  const plain = await issue({
    subject,
    issuer: root,
    extensions: [new x509.BasicConstraintsExtension(false, undefined, true), usage],
  });
  const bare = await issue({ subject, issuer: root, extensions: [] });
  const identifier = await x509.AuthorityKeyIdentifierExtension.create(middle.certificate.publicKey);
  const cases: [string, Issued, Issued[], string | undefined][] = [
    ["CA:FALSE", await client(plain, dev), [plain], unknown],
    ["no basic constraints", await client(bare, dev), [bare], unknown],
    ["the right name and another key", await client(middle, dev), [twin], unknown],
    ["the right key by another name", await client(middle, dev), [await authority("middles", root)], unknown],
    ["a key identifier of another key", await client(twin, dev, { extensions: [identifier] }), [twin, middle], unknown],
    ["the right one behind a twin", await client(middle, dev), [twin, middle], undefined],
  ];
  for (const [what, leaf, others, expected] of cases) {
    const found = find([root], leaf, ...others);
    t.equal(typeof found === "string" ? found : undefined, expected, what);
  }
});

t.test("findChain() ends with authorities that signed each other, and prefers a chain that holds", async (t) => {
  const root = await authority("root");
  const [a, b] = [await authority("a"), await authority("b")];
  const loop = [await crossed(a, b), await crossed(b, a)];
  t.equal(find([root], await client(a, dev), ...loop), unknown);
  t.type(find([root], await client(a, dev), ...loop, await crossed(b, root)), "object", "a way out of the loop");

  const late = await crossed(a, root, { from: -3, until: -1 });
  const good = await crossed(a, b);
  const leaf = await client(a, dev);
  for (const others of [
    [late, good, await crossed(b, root)],
    [await crossed(b, root), good, late],
  ]) {
    const found = find([root], leaf, ...others);
    t.ok(typeof found !== "string" && found.until > Date.now(), "the longer way holds");
  }
  const found = find([root], leaf, late);
  t.ok(typeof found !== "string" && found.until < Date.now(), "it is known when it ended");
});

t.test("findChain() checks few signatures, whatever is sent (ATTACKS F07)", async (t) => {
  const root = await authority("same");
  const same = await Promise.all(Array.from({ length: 10 }, () => authority("same")));
  const stranger = await authority("same");
  const checks = counted(t);
  const cost = (roots: readonly Issued[], leaf: Issued, ...others: Issued[]): [string, number] => {
    checks.count = 0;
    const found = find(roots, leaf, ...others);
    return [typeof found === "string" ? found : "found", checks.count];
  };
  const lost = await client(stranger, dev, { extensions: [] });
  t.strictSame(cost([root], lost, ...same), [unknown, 11], "no authority signed it");
  t.strictSame(cost([root], await client(root, dev), ...same), ["found", 1], "the root did");

  // Ten authorities of one name that all signed each other: every order of them is a way.
  const net = [...same.slice(0, 9), await crossed(same[9] as Issued, root)];
  const [told, count] = cost([stranger], await client(same[0] as Issued, dev), ...net);
  t.equal(told, unknown);
  t.ok(count <= limits.chainSignaturesMax, `${count} checks`);

  // One key behind ten certificates: each of them is an issuer of each.
  const clones = await Promise.all(Array.from({ length: 10 }, () => crossed(root, root)));
  const [outcome, many] = cost([stranger], await client(root, dev), ...clones);
  t.match(outcome, /unknown authority|attempts limit/);
  t.ok(many <= limits.chainSignaturesMax, `${many} checks`);

  // Many roots of one name, as after years of new ones: no more than the limit, and a word about it.
  const roots = await Promise.all(Array.from({ length: 40 }, () => authority("same")));
  t.strictSame(cost(roots, lost), [
    "x509: signature check attempts limit reached while verifying certificate chain",
    limits.chainSignaturesMax,
  ]);
});

t.test("findChain() believes no RSA key that takes long to check", async (t) => {
  const root = await authority("root");
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  const rsa = async (publicExponent: number): Promise<ChainTimes | string> => {
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048, publicExponent });
    const spki = publicKey.export({ type: "spki", format: "der" });
    const key = await webcrypto.subtle.importKey("spki", spki, algorithm, true, ["verify"]);
    const certificate = await x509.X509CertificateGenerator.create({
      subject: dev,
      issuer: root.certificate.subjectName,
      notAfter: new Date(Date.now() + dayMs),
      signingAlgorithm: { name: "ECDSA", hash: "SHA-256" } as never,
      publicKey: key,
      signingKey: root.keys.privateKey,
    });
    return findChain(
      { leaf: new X509Certificate(Buffer.from(certificate.rawData)), others: () => [] },
      [nodeOf(root)],
      Date.now(),
    );
  };
  t.type(await rsa(65_537), "object");
  // A prime above 2^31.
  t.equal(await rsa(2_147_483_659), "x509: RSA key of 2048 bits is too large");
});
