// Client certificates (ATTACKS E01) and the headers of proxies (E02 to E04): who is believed, and who is not.
import "reflect-metadata";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as x509 from "@peculiar/x509";
import t, { type Test } from "tap";
import { isAccepted, type PeerCertificates } from "../../src/authn/authenticator.ts";
import { certificateAuthenticator } from "../../src/authn/certificates.ts";
import { requestHeaderAuthenticator } from "../../src/authn/requestheader.ts";
import { systemClock } from "../../src/base/clock.ts";
import { Bundle } from "../../src/pki/bundle.ts";
import {
  authority,
  authorityExtensions,
  client,
  clientAuth,
  type Issued,
  issue,
  serverAuth,
} from "../support/certificates.ts";

const nodeOf = ({ certificate }: Issued) => new X509Certificate(Buffer.from(certificate.rawData));

const peerOf = (leaf: Issued, ...others: Issued[]): PeerCertificates => ({
  leaf: nodeOf(leaf),
  others: () => others.map(nodeOf),
});

function bundleOf(t: Test, ...issued: Issued[]): Bundle {
  const directory = mkdtempSync(join(tmpdir(), "orch-ca-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, "ca.crt");
  writeFileSync(path, issued.map(({ cert }) => cert).join("\n"));
  return new Bundle(path);
}

const dev: x509.JsonName = [{ O: ["dev"] }, { O: ["ops"] }, { CN: ["alice"] }];

const usage = (...list: string[]) => [new x509.ExtendedKeyUsageExtension(list)];

t.test("E01: certificateAuthenticator() believes chains to its authorities, for clients", async (t) => {
  const root = await authority("root");
  const middle = await authority("middle", root);
  const short = await authority("short", root, 0);
  const below = await authority("below", short);
  const check = certificateAuthenticator(bundleOf(t, root), systemClock);
  const twin = await authority("root");
  const foreign = await authority("other");
  const leaf = await client(middle, dev);
  // A stranger of the same name who says that its key is the root's.
  const rootId = await x509.SubjectKeyIdentifierExtension.create(root.certificate.publicKey);
  const claims = await issue({ subject: [{ CN: ["root"] }], extensions: [...authorityExtensions(), rootId] });
  const claimed = {
    extensions: [...usage(clientAuth), await x509.AuthorityKeyIdentifierExtension.create(root.certificate.publicKey)],
  };
  const cases: [string, PeerCertificates | undefined, RegExp | "alice" | undefined][] = [
    ["nothing", undefined, undefined],
    ["a client", peerOf(await client(root, dev)), "alice"],
    ["through an intermediate", peerOf(leaf, middle), "alice"],
    ["a chain with its root", peerOf(leaf, middle, root), "alice"],
    ["without usages", peerOf(await client(root, dev, { extensions: [] })), "alice"],
    ["for anything", peerOf(await client(root, dev, { extensions: usage("2.5.29.37.0") })), "alice"],
    ["the intermediate is missing", peerOf(leaf), /unknown authority/],
    ["for servers", peerOf(await client(root, dev, { extensions: usage(serverAuth) })), /key usage/],
    ["another authority", peerOf(await client(foreign, dev)), /unknown authority/],
    ["another authority, sent along", peerOf(await client(foreign, dev), foreign), /unknown authority/],
    ["an authority of the same name", peerOf(await client(twin, dev), twin), /unknown authority/],
    ["self-signed, with the root's name", peerOf(await issue({ subject: [{ CN: ["root"] }] })), /unknown authority/],
    ["ended", peerOf(await client(root, dev, { from: -3, until: -1 })), /expired or is not yet valid/],
    ["not yet", peerOf(await client(root, dev, { from: 1, until: 2 })), /expired or is not yet valid/],
    ["below a path length of 0", peerOf(await client(below, dev), below, short), /unknown authority/],
    ["within a path length of 0", peerOf(await client(short, dev), short), "alice"],
    ["SHA-1", peerOf(await client(root, dev, { hash: "SHA-1" })), /insecure algorithm/],
    ["control characters", peerOf(await client(root, [{ CN: ["alice\0.evil"] }])), /malformed/],
    ["no name", peerOf(await client(root, [{ O: ["dev"] }])), undefined],
    ["an empty name", peerOf(await client(root, [{ O: ["dev"] }, { CN: [""] }])), undefined],
    ["an authority with the root's key id", peerOf(await client(claims, dev, claimed), claims), /unknown authority/],
    ["the same, its certificate left at home", peerOf(await client(claims, dev, claimed)), /unknown authority/],
    [
      "an unknown critical extension",
      peerOf(await client(root, dev, { extensions: [new x509.Extension("1.2.3.4", true, new Uint8Array([5, 0]))] })),
      /unhandled critical extension/,
    ],
  ];
  for (const [what, peer, expected] of cases) {
    const outcome = await check.authenticate({ headers: [], peer });
    if (expected === undefined) t.equal(outcome, undefined, what);
    else if (expected === "alice") {
      t.ok(isAccepted(outcome), what);
      t.same(isAccepted(outcome) ? outcome.user : outcome, {
        name: "alice",
        uid: "",
        groups: ["dev", "ops"],
        extra: new Map(),
      });
    } else t.match((outcome as { reasons: string[] }).reasons?.[0], expected, what);
  }
});

t.test(
  "E01: certificateAuthenticator() believes a handshake that verified under its bundle, not the leaf",
  async (t) => {
    const root = await authority("root");
    const between = await issue({ issuer: root, subject: [{ CN: ["middle"] }], extensions: authorityExtensions() });
    const bundle = bundleOf(t, root);
    const check = certificateAuthenticator(bundle, systemClock);
    const small = {
      name: "RSASSA-PKCS1-v1_5",
      hash: "SHA-256",
      modulusLength: 1024,
      publicExponent: new Uint8Array([1, 0, 1]),
    };
    const cases: [string, Issued, string, string | RegExp][] = [
      ["under an authority that is not shown", await client(between, dev), bundle.pem, "alice"],
      ["verified under another bundle", await client(between, dev), bundleOf(t, between).pem, /unknown authority/],
      ["SHA-1", await client(root, dev, { hash: "SHA-1" }), bundle.pem, /insecure algorithm/],
      ["1024 bits", await client(root, dev, { algorithm: small }), bundle.pem, /too small/],
      ["for servers", await client(root, dev, { extensions: usage(serverAuth) }), bundle.pem, /key usage/],
      ["ended since", await client(root, dev, { from: -3, until: -1 }), bundle.pem, /expired/],
    ];
    for (const [what, leaf, verifiedBy, expected] of cases) {
      const outcome = await check.authenticate({ headers: [], peer: { ...peerOf(leaf), verifiedBy } });
      const found = isAccepted(outcome) ? outcome.user.name : (outcome as { reasons?: string[] }).reasons?.[0];
      t.match(found, expected, what);
    }
  },
);

t.test("E14: certificateAuthenticator() judges what a handshake verified before by the bundle of now", async (t) => {
  const removed = await authority("removed");
  const kept = await authority("kept");
  const bundle = bundleOf(t, removed, kept);
  const check = certificateAuthenticator(bundle, systemClock);
  const verifiedBy = bundle.pem;
  const old = { ...peerOf(await client(removed, dev)), verifiedBy };
  const good = { ...peerOf(await client(kept, dev)), verifiedBy };
  const late = { ...peerOf(await client(removed, dev)), verifiedBy };
  t.ok(isAccepted(await check.authenticate({ headers: [], peer: old })), "believed before");
  writeFileSync(bundle.path, kept.cert);
  t.equal(bundle.reload(), undefined);
  // A front that could not read its serving certificate goes on with the handshakes of the old bundle.
  for (const peer of [old, late]) t.notOk(isAccepted(await check.authenticate({ headers: [], peer })), "not any more");
  t.ok(isAccepted(await check.authenticate({ headers: [], peer: good })), "under an authority that stayed");
});

t.test("E01: certificateAuthenticator() refuses what only looks like an authority", async (t) => {
  const root = await authority("root");
  const check = certificateAuthenticator(bundleOf(t, root), systemClock);
  const refusedChain = async (what: string, leaf: Issued, ...others: Issued[]): Promise<void> => {
    const outcome = await check.authenticate({ headers: [], peer: peerOf(leaf, ...others) });
    t.match((outcome as { reasons?: string[] }).reasons?.[0], /^x509: /, what);
  };
  const leafAsAuthority = await client(root, [{ CN: ["mallory"] }]);
  await refusedChain("signed by a leaf", await client(leafAsAuthority, dev), leafAsAuthority);
  const subject: x509.JsonName = [{ CN: ["middle"] }];
  const kinds: [string, x509.Extension[]][] = [
    ["CA:FALSE", [new x509.BasicConstraintsExtension(false, undefined, true)]],
    [
      "may not sign certificates",
      [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      ],
    ],
    ["for servers", [...authorityExtensions(), new x509.ExtendedKeyUsageExtension([serverAuth])]],
    ["name constraints", [...authorityExtensions(), new x509.Extension("2.5.29.30", false, new Uint8Array([48, 0]))]],
  ];
  for (const [what, extensions] of kinds) {
    const middle = await issue({ issuer: root, subject, extensions });
    await refusedChain(what, await client(middle, dev), middle);
  }
  const late = await issue({ issuer: root, subject, extensions: authorityExtensions(), from: -3, until: -1 });
  await refusedChain("an intermediate that ended", await client(late, dev), late);
  const algorithm = {
    name: "RSASSA-PKCS1-v1_5",
    hash: "SHA-256",
    modulusLength: 1024,
    publicExponent: new Uint8Array([1, 0, 1]),
  };
  await refusedChain("1024 bits", await client(root, dev, { algorithm }));
  const many = await Promise.all(Array.from({ length: 12 }, (_, index) => authority(`a${index}`)));
  const between = await authority("between", root);
  await refusedChain("a long chain", await client(between, dev), between, ...many);
});

t.test("E01: certificateAuthenticator() takes the last of two names, and every organization", async (t) => {
  const root = await authority("root");
  const check = certificateAuthenticator(bundleOf(t, root), systemClock);
  const organizations = Array.from({ length: 500 }, (_, index) => ({ O: [`group ${index}`] }));
  const peer = peerOf(await client(root, [{ CN: ["first"] }, ...organizations, { CN: ["zoë"] }]));
  const outcome = await check.authenticate({ headers: [], peer });
  if (!isAccepted(outcome)) throw new Error("Refused");
  t.equal(outcome.user.name, "zoë");
  t.equal(outcome.user.groups.length, 500);
  t.equal(await check.authenticate({ headers: [], peer }), outcome, "found once for a connection");
});

t.test("E14: certificateAuthenticator() follows its file, and the clock", async (t) => {
  const before = await authority("before");
  const after = await authority("after");
  const bundle = bundleOf(t, before);
  let now = Date.now();
  const check = certificateAuthenticator(bundle, { ...systemClock, now: () => now });
  const old = peerOf(await client(before, dev));
  const fresh = peerOf(await client(after, dev));
  const good = async (peer: PeerCertificates) => isAccepted(await check.authenticate({ headers: [], peer }));
  t.same([await good(old), await good(fresh)], [true, false]);
  writeFileSync(bundle.path, after.cert);
  t.equal(bundle.reload(), undefined);
  t.same([await good(old), await good(fresh)], [false, true], "on the same connections");
  writeFileSync(bundle.path, "nothing");
  t.equal(bundle.reload(), "it holds no certificate");
  t.same([await good(old), await good(fresh)], [false, true], "what was known stays");
  now += 2 * 24 * 60 * 60 * 1000;
  t.equal(await good(fresh), false, "it ends while the connection lasts");
});

/** The headers a proxy is configured with, a proxy, and whom its headers make of a request. */
async function proxied(t: Test) {
  const proxies = await authority("proxies");
  const names = { username: ["X-Remote-User", "X-User"], group: ["X-Remote-Group"], extraPrefix: ["X-Remote-Extra-"] };
  const bundle = bundleOf(t, proxies);
  const proxy = peerOf(await client(proxies, [{ CN: ["front"] }]));
  const check = requestHeaderAuthenticator({ ...names, allowed: [] }, bundle, systemClock);
  const read = async (...headers: [string, string][]) => {
    const outcome = await check.authenticate({ headers, peer: proxy });
    return isAccepted(outcome) ? outcome.user : undefined;
  };
  return { proxies, names, bundle, proxy, read };
}

t.test("E02: requestHeaderAuthenticator() believes headers behind the right certificate only", async (t) => {
  const { proxies, names, bundle, proxy } = await proxied(t);
  const users = await authority("users");
  const other = peerOf(await client(proxies, [{ CN: ["aside"] }]));
  const user = peerOf(await client(users, [{ CN: ["front"] }]));
  const sent: [string, string][] = [["x-remote-user", "bob"]];
  const cases: [string, PeerCertificates | undefined, string[], [string, string][], string | undefined | RegExp][] = [
    ["the proxy", proxy, ["front"], sent, "bob"],
    ["any name", other, [], sent, "bob"],
    ["a name that is not listed", other, ["front"], sent, /not in the allowed list/],
    ["a user's certificate", user, ["front"], sent, /unknown authority/],
    ["a user's certificate, any name", user, [], sent, /unknown authority/],
    ["no certificate", undefined, ["front"], sent, undefined],
    ["no certificate, any name", undefined, [], sent, undefined],
    ["the proxy without headers", proxy, ["front"], [], undefined],
  ];
  for (const [what, peer, allowed, headers, expected] of cases) {
    const outcome = await requestHeaderAuthenticator({ ...names, allowed }, bundle, systemClock).authenticate({
      headers,
      peer,
    });
    if (isAccepted(outcome)) t.equal(outcome.user.name, expected, what);
    else if (outcome === undefined) t.equal(expected, undefined, what);
    else t.match(outcome.reasons[0], expected ?? /^never$/, what);
  }
  const clipping = requestHeaderAuthenticator({ ...names, allowed: ["front"] }, bundle, systemClock);
  t.equal(
    await clipping.authenticate({ headers: sent, peer: proxy, clipsValues: true }),
    undefined,
    "nothing is believed on a front that clips values",
  );
  // All of certificate, list and headers must be right, in every way they can be put together.
  for (const peer of [proxy, user, undefined]) {
    for (const allowed of [["front"], ["aside"], []]) {
      for (const headers of [sent, []]) {
        const check = requestHeaderAuthenticator({ ...names, allowed }, bundle, systemClock);
        const isRight = peer === proxy && allowed[0] !== "aside" && headers.length > 0;
        t.equal(isAccepted(await check.authenticate({ headers, peer })), isRight);
      }
    }
  }
});

t.test("E04: requestHeaderAuthenticator() reads names as they are, and each value for itself", async (t) => {
  const { read } = await proxied(t);
  const sent: [string, string] = ["x-remote-user", "bob"];
  t.equal((await read(["x-user", "eve"], ["x-remote-user", "bob"]))?.name, "bob", "in the order of the flag");
  t.equal((await read(["x-remote-user", ""], ["x-user", "eve"]))?.name, "eve", "the first with a value");
  for (const name of ["x_remote_user", "x-remote-user ", " x-remote-user", "x-remote-users", "x-remote"]) {
    t.equal(await read([name, "bob"]), undefined, JSON.stringify(name));
  }
  t.equal((await read(sent, ["x-remote-user", "eve"]))?.name, "bob", "the first of two");
  t.same(
    (await read(sent, ["x-remote-group", "a,b"], ["x-remote-group", "c"], ["x-remote-group", ""]))?.groups,
    ["a,b", "c"],
    "a comma parts nothing",
  );
  const extra = (
    await read(
      sent,
      ["x-remote-extra-Scopes%2Fx".toLowerCase(), "1"],
      ["x-remote-extra-scopes%2fx", "2"],
      ["x-remote-extra-__proto__", "3"],
    )
  )?.extra;
  t.same(
    extra,
    new Map([
      ["scopes/x", ["1", "2"]],
      ["__proto__", ["3"]],
    ]),
  );
});

t.test("E03: requestHeaderAuthenticator() knows no uid, as the release served", async (t) => {
  const { read } = await proxied(t);
  for (const name of ["x-remote-uid", "x-remote-user-uid"]) {
    t.same(await read(["x-remote-user", "bob"], [name, "7"]), { name: "bob", uid: "", groups: [], extra: new Map() });
  }
});
