// A node joins with nothing but a bootstrap token: it finds the cluster without credentials, believes what it found
// because the token signed it, asks as the token's user for a certificate, which the server approves and signs, and is
// a node from then on.
import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { CoreV1Api, KubeConfig } from "@kubernetes/client-node";
import t, { type Test } from "tap";
import { until } from "../support/inprocess.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { takeoverMsMax } from "../support/servers/storage.ts";
import { keysOf, nodeSubject, requestDer, requestPem } from "../support/signing.ts";

t.setTimeout(300_000);

const flags = [
  "--identity=kubernetes",
  "--enable-bootstrap-token-auth",
  "--enable-admission-plugins=NodeRestriction",
  "--controllers=*,bootstrapsigner,tokencleaner,-endpoint,-endpointslice,-endpointslicemirroring",
];
const secrets = "/api/v1/namespaces/kube-system/secrets";
const info = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-public";
const [id, secret] = ["join01", "0123456789abcdef"];

interface Answer {
  readonly code: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
  readonly json: any;
}

/** One request of a node, on a connection of its own; without an authority it trusts any server. */
function ask(url: string, ca: string | undefined, token?: string, body?: object): Promise<Answer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(text === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
  };
  const trust = ca === undefined ? { rejectUnauthorized: false } : { ca };
  return new Promise((resolve, reject) => {
    const method = text === undefined ? "GET" : "POST";
    const sent = request(url, { method, agent: false, headers, ...trust }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () => {
        resolve({ code: answer.statusCode ?? 0, json: JSON.parse(Buffer.concat(chunks).toString()) });
      });
    });
    sent.on("error", reject);
    sent.end(text);
  });
}

/** Whether a token signed a text: what clients do is to sign it themselves, and to compare. */
function isSigned(data: Record<string, string>, id: string, secret: string): boolean {
  const signature = data[`jws-kubeconfig-${id}`] ?? "";
  const [header = "", payload, sum] = signature.split(".");
  if (payload !== "" || Buffer.from(header, "base64url").toString() !== `{"alg":"HS256","kid":"${id}"}`) return false;
  const signed = `${header}.${Buffer.from(data["kubeconfig"] ?? "").toString("base64url")}`;
  return createHmac("sha256", secret).update(signed).digest("base64url") === sum;
}

/** What an operator does once, for all nodes: a token, and leave to read. */
async function prepare(server: TestServer): Promise<void> {
  const usages = { "usage-bootstrap-signing": "true", "usage-bootstrap-authentication": "true" };
  const groups = { "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token" };
  const stringData = { "token-id": id, "token-secret": secret, ...usages, ...groups };
  const metadata = { name: `bootstrap-token-${id}` };
  await server.call("POST", secrets, { metadata, type: "bootstrap.kubernetes.io/token", stringData });
  const name = "cluster-info-reader";
  const rule = { apiGroups: [""], resources: ["configmaps"], resourceNames: ["cluster-info"], verbs: ["get"] };
  await server.call("POST", `${roles}/roles`, { metadata: { name }, rules: [rule] });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name };
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "system:anonymous" }];
  await server.call("POST", `${roles}/rolebindings`, { metadata: { name }, roleRef, subjects });
}

/** The node asks for a certificate, writes its kubeconfig, and registers itself. */
async function checkCertificate(t: Test, server: TestServer, url: string, ca: string): Promise<void> {
  const group = "system:bootstrappers:kubeadm:default-node-token";
  const may = [
    ["join", "system:node-bootstrapper"],
    ["approve", "system:certificates.k8s.io:certificatesigningrequests:nodeclient"],
  ];
  for (const [name, role] of may) {
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role };
    const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: group }];
    await server.call("POST", bindings, { metadata: { name }, roleRef, subjects });
  }
  await server.caughtUp();
  const spec = {
    request: requestPem(requestDer({ subject: nodeSubject })).toString("base64"),
    signerName: "kubernetes.io/kube-apiserver-client-kubelet",
    usages: ["digital signature", "key encipherment", "client auth"],
  };
  const asked = {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: "n1" },
    spec,
  };
  const token = `${id}.${secret}`;
  t.equal((await ask(url + requests, ca, token, asked)).code, 201, "the token's user asks for a certificate");
  let certificate = "";
  const isSigned = async (): Promise<boolean> => {
    certificate = (await ask(`${url}${requests}/n1`, ca, token)).json.status?.certificate ?? "";
    return certificate !== "";
  };
  t.ok(await until(isSigned, 60_000), "approved and signed by the server");
  const key = keysOf("P-256").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const file = join(server.dir, "node.kubeconfig");
  writeFileSync(file, nodeKubeconfig(url, ca, certificate, key), { mode: 0o600 });
  const config = new KubeConfig();
  config.loadFromFile(file);
  const client = config.makeApiClient(CoreV1Api);
  const name = "n1";
  const node = await client.createNode({ body: { metadata: { name } } });
  t.equal(node.metadata?.name, name, "it registers itself");
  await t.rejects(client.createNode({ body: { metadata: { name: "other" } } }), { code: 403 }, "and no other");
}

function nodeKubeconfig(server: string, ca: string, certificate: string, key: string): string {
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const cluster = { server, "certificate-authority-data": base64(ca) };
  const user = { "client-certificate-data": certificate, "client-key-data": base64(key) };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster }],
    users: [{ name: "n", user }],
    contexts: [{ name: "n", context: { cluster: "c", user: "n" } }],
    "current-context": "n",
  });
}

t.test("a node joins the cluster with a bootstrap token alone", async (t) => {
  const server = await startServer(flags);
  t.teardown(() => server.stop());
  t.equal((await ask(server.base + info, undefined)).code, 403, "not granted unless the operator does");
  await prepare(server);
  let found: Record<string, string> = {};
  const discover = async (): Promise<boolean> => {
    const { code, json } = await ask(server.base + info, undefined);
    found = json.data ?? {};
    return code === 200 && isSigned(found, id, secret);
  };
  t.ok(await until(discover, 30_000), "signed by the token");
  t.notOk(isSigned(found, id, "another-secret00"));
  t.notOk(isSigned({ ...found, kubeconfig: `${found["kubeconfig"]} ` }, id, secret));
  const url = /^ {4}server: (\S+)$/m.exec(found["kubeconfig"] ?? "")?.[1] ?? "";
  const authority = /^ {4}certificate-authority-data: (\S+)$/m.exec(found["kubeconfig"] ?? "")?.[1] ?? "";
  const ca = Buffer.from(authority, "base64").toString();
  t.equal(ca, server.ca);
  const ports = server.parts.map(({ base }) => new URL(base).port);
  t.ok(ports.includes(new URL(url).port), "the address of a server");
  const spec = {
    resourceAttributes: { verb: "get", resource: "configmaps", namespace: "kube-public", name: "cluster-info" },
  };
  const reviews = `${url}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`;
  const asked = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec };
  t.equal((await ask(reviews, ca, `${id}.${secret}`, asked)).code, 201, "the token's user, at a server it verified");
  t.equal((await ask(reviews, ca, `${id}.another-secret0`, asked)).code, 401);
  await checkCertificate(t, server, url, ca);
  // The token goes, and with it what it signed; also where the server is killed at that moment.
  await server.call("DELETE", `${secrets}/bootstrap-token-${id}`);
  await server.stop("SIGKILL", false);
  const next = await startServer(flags, server.dir);
  t.teardown(() => next.stop());
  const isGone = async (): Promise<boolean> => {
    const { code, json } = await ask(next.base + info, next.ca);
    return code === 200 && json.data[`jws-kubeconfig-${id}`] === undefined;
  };
  t.ok(await until(isGone, Math.max(30_000, takeoverMsMax)), "no signature is left of it");
  t.equal((await ask(`${next.base}/api`, next.ca, `${id}.${secret}`)).code, 401);
});
