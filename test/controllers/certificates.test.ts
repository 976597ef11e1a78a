// Approver, signer and cleaner over the whole write path and a real pool: who is approved, what is signed, once and in
// turns, and when requests go.
import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { IdentityName } from "../../src/api/identity.ts";
import type { Attributes } from "../../src/authz/authorizer.ts";
import { openPool } from "../../src/boot/pool.ts";
import { limits } from "../../src/config/limits.ts";
import { signerNames } from "../../src/config/signingflags.ts";
import { RequestApprover } from "../../src/controllers/certificates/csrapproving.ts";
import { RequestCleaner } from "../../src/controllers/certificates/csrcleaner.ts";
import { RequestSigner } from "../../src/controllers/certificates/csrsigning.ts";
import type { Controller, Reconciler } from "../../src/controllers/reconciler.ts";
import { AuthorityBundle } from "../../src/pki/authority.ts";
import { writePair } from "../../src/pki/files.ts";
import { createAuthority } from "../../src/pki/x509.ts";
import { reconcilerOf } from "../support/controllers.ts";
import { type Answer, type InProcess, openInProcess, until } from "../support/inprocess.ts";
import { commonName, nodeSubject, type RequestShape, requestDer, requestPem } from "../support/signing.ts";

const usual = { runtimeConfig: new Map<string, boolean>(), gates: new Set<string>(), release: 23 };
const merge = { "content-type": "application/merge-patch+json" };
const client = "kubernetes.io/kube-apiserver-client";
const nodeClient = "kubernetes.io/kube-apiserver-client-kubelet";
const nodeUsages = ["client auth", "digital signature", "key encipherment"];
const dayMs = 86_400_000;

/** A server with an authority and the means to sign. */
class Signed {
  readonly server: InProcess;
  readonly path: string;
  readonly bundle: AuthorityBundle;
  readonly pool;
  readonly troubles: string[] = [];
  readonly #t: Test;
  readonly #running: Reconciler[] = [];

  constructor(t: Test, server: InProcess, bundle: AuthorityBundle) {
    this.#t = t;
    this.server = server;
    this.bundle = bundle;
    this.path = `/apis/${this.spell("certificates.k8s.io")}/v1/certificatesigningrequests`;
    this.pool = openPool({ identity: server.scheme.identity.identity, ...usual });
    t.teardown(async () => {
      await this.stop();
      await this.pool.close();
      server.close();
    });
  }

  static async open(t: Test, identity: IdentityName = "kubernetes"): Promise<Signed> {
    const folder = mkdtempSync(join(tmpdir(), "orch-signing-"));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const server = await openInProcess(identity);
    server.nowMs = Date.now();
    const files = { certFile: join(folder, "ca.crt"), keyFile: join(folder, "ca.key") };
    await writeAuthority(files, server.nowMs + 3_650 * dayMs);
    const bundle = new AuthorityBundle(files);
    t.equal(bundle.reload(), undefined);
    return new Signed(t, server, bundle);
  }

  spell(name: string): string {
    return this.server.scheme.identity.spell(name);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.splice(0).map((reconciler) => reconciler.stop()));
  }

  run(controller: Controller | undefined): Reconciler {
    if (controller === undefined) throw new Error("Signing requests are served");
    const reconciler = reconcilerOf(controller, this.server.server.clock, (message, cause) => {
      this.troubles.push(`${message}: ${cause instanceof Error ? cause.message : JSON.stringify(cause)}`);
    });
    this.#running.push(reconciler);
    reconciler.start();
    return reconciler;
  }

  signer(lifeMsMax = 365 * dayMs): RequestSigner | undefined {
    const authorities = new Map(signerNames.map((name) => [name, this.bundle]));
    return RequestSigner.of(this.server.server, { authorities, lifeMsMax, pool: this.pool });
  }

  async create(name: string, shape: RequestShape = {}, spec: object = {}, user?: string): Promise<Answer> {
    const request = requestPem(requestDer(shape)).toString("base64");
    const whole = { request, signerName: this.spell(client), usages: ["client auth"], ...spec };
    const before = this.server.user;
    if (user !== undefined) this.server.user = { name: user, uid: "", groups: [], extra: new Map() };
    const made = await this.server.call("POST", this.path, { metadata: { name }, spec: whole });
    this.server.user = before;
    this.#t.equal(made.code, 201, made.text.slice(0, 300));
    return made;
  }

  decide(name: string, type = "Approved"): Promise<Answer> {
    const status = { conditions: [{ type, status: "True", reason: "Test", message: "m" }] };
    return this.server.call("PATCH", `${this.path}/${name}/approval`, { status }, merge);
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
  async status(name: string): Promise<any> {
    return (await this.server.call("GET", `${this.path}/${name}`)).json.status;
  }

  async certificate(name: string): Promise<X509Certificate | undefined> {
    const text = (await this.status(name))?.certificate;
    return text === undefined ? undefined : new X509Certificate(Buffer.from(text, "base64"));
  }

  issued(name: string): Promise<boolean> {
    return until(async () => (await this.certificate(name)) !== undefined, 30_000);
  }

  async there(name: string): Promise<boolean> {
    return (await this.server.call("GET", `${this.path}/${name}`)).code === 200;
  }
}

async function writeAuthority(files: { certFile: string; keyFile: string }, notAfterMs: number): Promise<void> {
  const times = { notBefore: new Date(notAfterMs - 3_700 * dayMs), notAfter: new Date(notAfterMs) };
  const { certificate, key } = await createAuthority(`ca-${notAfterMs}`, times);
  writePair(files.keyFile, files.certFile, key, certificate);
}

for (const identity of ["kubernetes", "orch"] as const) {
  t.test(`${identity}: requests are signed once they are approved, or fail with the reason`, async (t) => {
    const signed = await Signed.open(t, identity);
    await signed.create("before", { subject: [[commonName, "a"]] });
    await signed.decide("before");
    signed.run(signed.signer());
    t.ok(await signed.issued("before"), "approved before the start");
    await signed.create("a", { subject: [[commonName, "a"]] });
    await signed.create("refused", {}, { usages: ["server auth"] });
    await signed.create("denied");
    await signed.create("foreign", {}, { signerName: "example.com/a" });
    await signed.create("node", { subject: nodeSubject }, { signerName: signed.spell(nodeClient), usages: nodeUsages });
    await signed.create("nul", { subject: [[commonName, "admin\0x"]] });
    for (const name of ["a", "refused", "foreign", "node", "nul"]) t.equal((await signed.decide(name)).code, 200);
    await signed.decide("denied", "Denied");
    for (const name of ["a", "node"]) t.ok(await signed.issued(name), name);
    const failed = async (name: string): Promise<object> =>
      (await signed.status(name)).conditions.find(({ type }: { type: string }) => type === "Failed");
    t.ok(await until(async () => (await failed("refused")) !== undefined));
    t.match(await failed("refused"), {
      status: "True",
      reason: "SignerValidationFailure",
      message: "invalid usage for client certificate: server auth",
      lastUpdateTime: String,
    });
    t.ok(await until(async () => (await failed("nul")) !== undefined));
    t.match(await failed("nul"), { message: /control characters/ });
    for (const name of ["denied", "foreign", "refused", "nul"])
      t.equal(await signed.certificate(name), undefined, name);
    const issuer = new X509Certificate(readFileSync(signed.bundle.files.certFile));
    const certificate = await signed.certificate("node");
    t.ok(certificate?.verify(issuer.publicKey));
    t.equal(certificate?.subject, "O=system:nodes\nCN=system:node:n1");
    t.same(signed.troubles, []);
  });
}

t.test("a certificate lives as long as its request, the server and its authority say", async (t) => {
  const signed = await Signed.open(t);
  signed.run(signed.signer(10 * dayMs));
  const lifeOf = async (name: string, spec: object): Promise<number> => {
    await signed.create(name, {}, spec);
    await signed.decide(name);
    t.ok(await signed.issued(name));
    const certificate = await signed.certificate(name);
    const from = Date.parse(certificate?.validFrom ?? "");
    t.equal(from, Math.floor(signed.server.nowMs / 1000) * 1000 - 300_000);
    return (Date.parse(certificate?.validTo ?? "") - from) / 1000;
  };
  t.equal(await lifeOf("default", {}), 864_000);
  t.equal(await lifeOf("less", { expirationSeconds: 600 }), 900);
  t.equal(await lifeOf("more", { expirationSeconds: 86_400_000 }), 864_000);
  await writeAuthority(signed.bundle.files, signed.server.nowMs + dayMs);
  t.equal(signed.bundle.reload(), undefined, "the authority is exchanged while the server runs");
  const certificate = new X509Certificate(readFileSync(signed.bundle.files.certFile));
  t.equal(await lifeOf("capped", {}), 86_400 + 300);
  t.equal((await signed.certificate("capped"))?.validTo, certificate.validTo);
});

t.test("an authority that ended signs nothing; a new one signs what waited", async (t) => {
  const signed = await Signed.open(t);
  await writeAuthority(signed.bundle.files, signed.server.nowMs - 1000);
  t.equal(signed.bundle.reload(), undefined);
  signed.run(signed.signer());
  await signed.create("a");
  await signed.decide("a");
  t.ok(await until(() => signed.troubles.length > 0));
  t.match(signed.troubles[0], /^Request a cannot be signed: the authority in .* ended at /);
  t.equal((await signed.status("a")).conditions.length, 1, "nothing is written to the request");
  await writeAuthority(signed.bundle.files, signed.server.nowMs + dayMs);
  signed.bundle.reload();
  signed.server.aheadMs += limits.reconcileRetryMsMax;
  t.ok(await signed.issued("a"));
});

t.test("two signers at once, and races with others: one certificate, and none after a denial", async (t) => {
  const signed = await Signed.open(t);
  const { store } = signed.server;
  for (const signer of [signed.signer(), signed.signer()]) signed.run(signer);
  for (let i = 0; i < 20; i++) await signed.create(`r${i}`);
  await Promise.all(Array.from({ length: 20 }, (_, i) => signed.decide(`r${i}`)));
  for (let i = 0; i < 20; i++) t.ok(await signed.issued(`r${i}`));
  const seen = new Map<string, Set<string>>();
  for (const { key, body } of store.changes) {
    const certificate = /"certificate":"([^"]+)"/.exec(Buffer.from(body).toString())?.[1];
    if (certificate !== undefined) seen.set(key, (seen.get(key) ?? new Set()).add(certificate));
  }
  t.equal(seen.size, 20);
  for (const [key, certificates] of seen) t.equal(certificates.size, 1, key);
  await signed.create("again");
  const { uid } = (await signed.server.call("GET", `${signed.path}/again`)).json.metadata;
  let isFirst = true;
  store.before = async (change) => {
    if (!isFirst || !Buffer.from(change.body).toString().includes('"certificate":"')) return undefined;
    isFirst = false;
    // The request is deleted, and made anew without approval, before the certificate is committed.
    await signed.server.call("DELETE", `${signed.path}/again`);
    await signed.create("again");
    return undefined;
  };
  await signed.decide("again");
  t.ok(await until(() => !isFirst));
  await signed.stop();
  store.before = undefined;
  const { metadata, status } = (await signed.server.call("GET", `${signed.path}/again`)).json;
  t.not(metadata.uid, uid);
  t.same(status, {}, "the new request was not approved");
});

t.test("many requests of one user do not hold up those of others, and all are signed", async (t) => {
  const signed = await Signed.open(t);
  const many = Number(process.env["ORCH_CERTIFICATES"] ?? 400);
  const request = requestPem(requestDer({ subject: [[commonName, "x"]] })).toString("base64");
  const spec = { request, signerName: client, usages: ["client auth"] };
  const make = async (name: string, user: string): Promise<void> => {
    signed.server.user = { name: user, uid: "", groups: [], extra: new Map() };
    await signed.server.call("POST", signed.path, { metadata: { name }, spec });
    await signed.decide(name);
  };
  for (let i = 0; i < many; i++) await make(`flood-${i}`, "flood");
  // Its signing starts the thread that is left for others, which takes as long as the machine likes.
  await make("first", "first");
  const order: string[] = [];
  let isThere = (): void => undefined;
  const other = new Promise<void>((resolve) => {
    isThere = resolve;
  });
  signed.server.store.before = async (change) => {
    if (!Buffer.from(change.body).toString().includes('"certificate":"')) return undefined;
    order.push(change.key.split("/").at(-1) ?? "");
    // The other one comes while the flood is signed, and all of that is known.
    if (order.length > 10) await other;
    return undefined;
  };
  const begunMs = performance.now();
  const signer = signed.run(signed.signer());
  t.ok(await until(() => order.length > 10 && order.includes("first")));
  await make("other", "other");
  isThere();
  t.ok(await until(() => order.length === many + 2, 120_000), `${order.length} signed`);
  t.comment(`${many} signed in ${Math.round(performance.now() - begunMs)} ms`);
  t.ok(order.indexOf("other") < many / 2, `the other one's was number ${order.indexOf("other")}`);
  await signer.idle();
  t.same(signed.troubles, []);
});

t.test("requests of nodes are approved by permission, for themselves or for any", async (t) => {
  const signed = await Signed.open(t, "orch");
  const allowed = new Set<string>();
  const asked: string[] = [];
  signed.server.authorizer = {
    authorize({ user, verb, group, version, resource, subresource }: Attributes) {
      if (!subresource.endsWith("nodeclient")) return { verdict: "allow", reason: "" };
      asked.push(`${user.name} ${verb} ${group}/${version} ${resource}/${subresource}`);
      return { verdict: allowed.has(`${user.name} ${subresource}`) ? "allow" : "none", reason: "" };
    },
  };
  const spec = { signerName: signed.spell(nodeClient), usages: nodeUsages };
  const shape = { subject: nodeSubject };
  const approver = signed.run(RequestApprover.of(signed.server.server));
  const decision = async (name: string): Promise<object | undefined> => (await signed.status(name)).conditions?.[0];
  allowed.add("system:node:n1 selfnodeclient").add("installer nodeclient");
  await signed.create("self", shape, spec, "system:node:n1");
  await signed.create("installer", shape, spec, "installer");
  t.ok(await until(async () => (await decision("self")) !== undefined && (await decision("installer")) !== undefined));
  const common = { type: "Approved", status: "True", reason: "AutoApproved", lastUpdateTime: String };
  t.match(await decision("self"), {
    ...common,
    message: "Auto approving self kubelet client certificate after SubjectAccessReview.",
  });
  t.match(await decision("installer"), {
    ...common,
    message: "Auto approving kubelet client certificate after SubjectAccessReview.",
  });
  const resource = "create certificates.orch.io/* certificatesigningrequests";
  t.same(asked, [`system:node:n1 ${resource}/selfnodeclient`, `installer ${resource}/nodeclient`]);
  await signed.create("stranger", shape, spec, "system:node:n2");
  await signed.create("usages", shape, { ...spec, usages: ["client auth"] }, "installer");
  await signed.create("names", { ...shape, names: [[0x82, "n1"]] }, spec, "installer");
  await signed.create("signer", shape, { usages: nodeUsages }, "installer");
  await signed.create("denied", shape, spec, "system:node:n2");
  await signed.decide("denied", "Denied");
  t.ok(await until(() => asked.includes(`system:node:n2 ${resource}/nodeclient`)));
  await approver.idle();
  for (const name of ["stranger", "usages", "names", "signer"]) t.equal(await decision(name), undefined, name);
  allowed.add("system:node:n2 nodeclient");
  signed.server.aheadMs += limits.approvalLookMsMax;
  t.ok(await until(async () => (await decision("stranger")) !== undefined), "a grant that is made later counts");
  t.match(await decision("denied"), { type: "Denied" });
  t.same(signed.troubles, []);
});

t.test("requests go an hour after their decision, a day without one, and with their certificate", async (t) => {
  const signed = await Signed.open(t);
  const names = ["pending", "denied", "failed", "issued", "short", "approved", "late"] as const;
  for (const name of names) await signed.create(name, {}, name === "short" ? { expirationSeconds: 600 } : {});
  const signer = signed.run(signed.signer());
  for (const name of ["issued", "short"]) {
    await signed.decide(name);
    t.ok(await signed.issued(name));
  }
  await signer.stop();
  await signed.decide("denied", "Denied");
  await signed.decide("failed", "Failed");
  await signed.decide("approved");
  const cleaner = signed.run(RequestCleaner.of(signed.server.server));
  const left = async (): Promise<string[]> => {
    const found = [];
    for (const name of names) if (await signed.there(name)) found.push(name);
    return found;
  };
  const pass = async (ms: number): Promise<void> => {
    // What is under way has looked at the clock already.
    await cleaner.idle();
    signed.server.nowMs += ms;
    signed.server.aheadMs += ms;
  };
  await pass(600_000 - 2_000);
  t.same(await left(), names, "not before its time");
  await pass(2_001);
  t.ok(await until(async () => !(await signed.there("short"))), "its certificate ended");
  // A decision an hour before the day is over.
  await pass(3_600_000 - 600_000 - 3_000);
  t.same(
    await left(),
    names.filter((name) => name !== "short"),
  );
  await pass(4_000);
  t.ok(await until(async () => (await left()).join() === "pending,approved,late"), "an hour after their decision");
  await pass(dayMs - 3_600_000 - 4_000);
  t.same(await left(), ["pending", "approved", "late"]);
  await signed.decide("late", "Denied");
  await pass(4_000);
  t.ok(await until(async () => !(await signed.there("pending"))), "a day without a decision");
  t.same(await left(), ["approved", "late"]);
  await pass(3_600_000);
  t.ok(await until(async () => !(await signed.there("late"))), "an hour after the last change");
  await pass(30 * dayMs);
  t.same(await left(), ["approved"], "one that its signer has not signed yet stays (upstream)");
  t.same(signed.troubles, []);
});
