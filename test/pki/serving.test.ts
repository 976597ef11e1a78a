// The generated certificates: trusted by a client that has the authority, kept, and replaced in time.
import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, createServer } from "node:tls";
import t, { type Test } from "tap";
import { identities } from "../../src/api/identity.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { keepServing, renewServing, type ServingFiles, servingNames, TrustFault } from "../../src/pki/serving.ts";

const dayMs = 24 * 60 * 60 * 1000;

function scratch(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), "orch-pki-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, "pki");
}

/** Connects by `name` with the authority as the only trust. Resolves with the error, undefined when all is well. */
function handshake(files: ServingFiles, name: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer({ cert: readFileSync(files.certFile), key: readFileSync(files.keyFile) }, (s) =>
      s.end(),
    );
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      const done = (error: string | undefined) => {
        socket.destroy();
        server.close(() => resolve(error));
      };
      const options = { host: "127.0.0.1", port, ca: readFileSync(files.caFile) };
      const socket = connect(/^[\d.:]+$/.test(name) ? options : { ...options, servername: name }, () =>
        done(undefined),
      );
      socket.on("error", (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
    });
  });
}

t.test("servingNames() lists every way to reach a server", (t) => {
  const names = servingNames(["10.1.2.3"], identities.kubernetes);
  for (const name of ["localhost", "127.0.0.1", "::1", "10.1.2.3", "kubernetes", "kubernetes.default.svc"])
    t.ok(names.includes(name), name);
  t.ok(servingNames([], identities.orch).includes("orch.default"), "in the spelling of the identity");
  t.end();
});

t.test("keepServing() makes certificates that TLS clients trust", async (t) => {
  const directory = scratch(t);
  const names = servingNames([], identities.orch);
  const files = await keepServing(directory, names, systemClock);
  for (const name of ["localhost", "127.0.0.1", "orch.default.svc"])
    t.equal(await handshake(files, name), undefined, name);
  t.equal(await handshake(files, "example.com"), "ERR_TLS_CERT_ALTNAME_INVALID", "no other name");
  for (const key of ["serving.key", "ca.key"])
    t.equal(statSync(join(directory, key)).mode & 0o777, 0o600, `${key} is private`);
  const certificate = new X509Certificate(readFileSync(files.certFile));
  t.equal(certificate.publicKey.asymmetricKeyDetails?.namedCurve, "prime256v1");
  t.notOk(certificate.ca);
  t.ok(new X509Certificate(readFileSync(files.caFile)).ca);
});

t.test("keepServing() keeps what holds and replaces what does not", async (t) => {
  const directory = scratch(t);
  const at = (ms: number): Clock => ({ now: () => Date.now() + ms, monotonic: () => ms });
  const read = (files: ServingFiles) => [files.caFile, files.certFile].map((file) => readFileSync(file, "utf8"));
  const first = read(await keepServing(directory, ["localhost"], at(0)));
  t.same(read(await keepServing(directory, ["localhost"], at(0))), first, "a restart keeps both");
  const [ca, later] = read(await keepServing(directory, ["localhost"], at(340 * dayMs)));
  t.equal(ca, first[0], "a year later the authority stays");
  t.not(later, first[1], "and the serving certificate is new");
  const [, named] = read(await keepServing(directory, ["localhost", "other"], at(340 * dayMs)));
  t.not(named, later, "a new name needs a new certificate");
  const [renewed] = read(await keepServing(directory, ["localhost"], at(3600 * dayMs)));
  t.not(renewed, ca, "an authority near its end is replaced");
});

t.test("keepServing() replaces nothing of which half is lost or unreadable, and says what mends it", async (t) => {
  const lost = async (damage: (directory: string) => void, expected: RegExp): Promise<void> => {
    const directory = scratch(t);
    const { caFile } = await keepServing(directory, ["localhost"], systemClock);
    const before = readFileSync(caFile, "utf8");
    damage(directory);
    await t.rejects(keepServing(directory, ["localhost"], systemClock), TrustFault);
    await t.rejects(keepServing(directory, ["localhost"], systemClock), { message: expected });
    for (const file of ["ca.crt", "ca.crt.next"].map((name) => join(directory, name)))
      if (statSync(file, { throwIfNoEntry: false })) t.equal(readFileSync(file, "utf8"), before, "nothing changed");
  };
  await lost(
    (d) => rmSync(join(d, "ca.key")),
    /ca\.key is missing beside .*ca\.crt: restore it, or remove .*ca\.crt too/,
  );
  await lost((d) => rmSync(join(d, "ca.crt")), /ca\.crt is missing beside .*ca\.key: restore it/);
  await lost(
    (d) => writeFileSync(join(d, "ca.key"), "cut sho"),
    /ca\.key holds no private key .*every client must then/,
  );
  await lost((d) => rmSync(join(d, "serving.key")), /serving\.key is missing beside .*serving\.crt/);
  await lost((d) => writeFileSync(join(d, "serving.key"), "cut sho"), /serving\.key holds no private key/);
  await lost((d) => writeFileSync(join(d, "serving.crt"), "cut sho"), /serving\.crt holds no certificate/);
  await lost(
    (d) => writeFileSync(join(d, "serving.key"), readFileSync(join(d, "ca.key"))),
    /the key in .*serving\.key does not belong to the certificate in .*serving\.crt/,
  );
});

t.test("keepServing() goes on where a crash cut the replacement of a pair short", async (t) => {
  const directory = scratch(t);
  const { certFile, keyFile } = await keepServing(directory, ["localhost"], systemClock);
  const text = readFileSync(certFile, "utf8");
  renameSync(certFile, `${certFile}.next`);
  await keepServing(directory, ["localhost"], systemClock);
  t.equal(readFileSync(certFile, "utf8"), text, "the key was in its place: so is the certificate");
  for (const file of [certFile, keyFile]) writeFileSync(`${file}.next`, "of another pair");
  await keepServing(directory, ["localhost"], systemClock);
  t.equal(readFileSync(certFile, "utf8"), text, "the key was not: the old pair holds");
});

t.test(
  "renewServing() replaces the certificate of a running server before its end, under the same authority",
  async (t) => {
    const directory = scratch(t);
    const files = await keepServing(directory, ["localhost"], systemClock);
    const authority = readFileSync(files.caFile, "utf8");
    const late: Clock = { now: () => Date.now() + 340 * dayMs, monotonic: () => 0 };
    t.equal(await renewServing(directory, ["localhost"], systemClock), false);
    t.equal(await renewServing(directory, ["localhost"], late), true);
    t.ok(Date.parse(new X509Certificate(readFileSync(files.certFile)).validTo) > late.now() + 300 * dayMs);
    t.equal(readFileSync(files.caFile, "utf8"), authority);
  },
);
