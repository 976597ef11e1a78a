// As whom webhooks are called: which user of the file is taken for which host, and real HTTPS webhooks that ask for a
// client certificate or a token.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import t, { type Test } from "tap";
import { loginFor, readWebhookLogins } from "../../../src/admission/webhook/logins.ts";
import { identities } from "../../../src/api/identity.ts";
import { readAdmissionFile } from "../../../src/boot/admissionfile.ts";
import { checkedBefore } from "../../../src/config/filecheck.ts";
import type { Login } from "../../../src/outbound/connection.ts";
import { authority, client } from "../../support/certificates.ts";
import { type InProcess, openInProcess } from "../../support/inprocess.ts";
import { openPeer, sayJson } from "../../support/peer.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const settingsFor = (kubeConfigFile: string): string =>
  JSON.stringify({ apiVersion: "apiserver.config.k8s.io/v1", kind: "WebhookAdmissionConfiguration", kubeConfigFile });

t.test("loginFor() takes the user named for a host and port, then wider ones", async (t) => {
  const login = (token: string): Login => ({ authorization: token });
  const byName = new Map(
    [
      "hook.a.svc",
      "hook.a.svc:8443",
      "*.b.svc",
      "*.b.svc:8443",
      "*.svc",
      "www.example.com:443",
      "10.0.0.1",
      "constructor",
      "mine",
    ].map((name) => [name, login(name)]),
  );
  for (const [host, port, expected] of [
    ["hook.a.svc", 443, "hook.a.svc"],
    ["hook.a.svc", 8443, "hook.a.svc:8443"],
    ["hook.a.svc", 9443, undefined],
    ["x.b.svc", 443, "*.b.svc"],
    ["x.b.svc", 8443, "*.b.svc:8443"],
    ["x.y.b.svc", 443, "*.b.svc"],
    ["x.c.svc", 443, "*.svc"],
    ["svc", 443, undefined],
    ["www.example.com", 443, "www.example.com:443"],
    ["www.example.com", 444, undefined],
    ["10.0.0.1", 443, "10.0.0.1"],
    ["__proto__", 443, undefined],
  ] as const) {
    t.equal(loginFor({ byName, current: "" }, host, port).authorization, expected, `${host}:${port}`);
    const wide = new Map([...byName, ["*", login("*")]]);
    t.equal(loginFor({ byName: wide, current: "mine" }, host, port).authorization, expected ?? "*", `${host}, a star`);
    t.equal(loginFor({ byName, current: "mine" }, host, port).authorization, expected ?? "mine", `${host}, a context`);
  }
  t.same(loginFor({ byName: new Map(), current: "" }, "a.b.svc", 443), {});
});

t.test("the start says in one line what is wrong with the logins of webhooks", async (t) => {
  const dir = t.testdir({
    bad: "users: 5",
    half: "users: [{name: a, user: {client-certificate-data: YQ==}}]",
    garbage: "users: [{name: a, user: {client-certificate-data: YQ==, client-key-data: YQ==}}]",
    exec: "users: [{name: a, user: {exec: {command: x}}}]",
    provider: "users: [{name: a, user: {auth-provider: {name: x}}}]",
    context: "current-context: x",
    token: "users: [{name: a, user: {tokenFile: none}}]",
    good: 'users: [{name: a, user: {token: x}}, {name: "*"}]',
  });
  const cases: [settings: string, why: RegExp][] = [
    [
      "{}",
      /apiVersion: is missing; it must be one of apiserver\.config\.k8s\.io\/v1, .*; kind: is missing; it must be/,
    ],
    [settingsFor(""), /kubeConfigFile: must be a string that is not empty, not ""$/],
    [settingsFor("a/b"), /kubeConfigFile: must be an absolute path, not "a\/b"$/],
    [settingsFor(join(dir, "none")), /cannot read .*none: /],
    [settingsFor(join(dir, "bad")), /bad: users: must be a list, not a number$/],
    [settingsFor(join(dir, "half")), /client-certificate and client-key belong together$/],
    [settingsFor(join(dir, "garbage")), /user "a": its certificate and key cannot be used: [^\n]+$/],
    [settingsFor(join(dir, "exec")), /user "a": exec is not supported$/],
    [settingsFor(join(dir, "provider")), /user "a": auth-provider is not supported$/],
    [settingsFor(join(dir, "context")), /it has no context "x"$/],
    [settingsFor(join(dir, "token")), /cannot read .*none: /],
  ];
  const file = join(dir, "admission.yaml");
  for (const [settings, why] of cases) {
    writeFileSync(
      file,
      JSON.stringify({
        apiVersion: "apiserver.config.k8s.io/v1",
        kind: "AdmissionConfiguration",
        plugins: [{ name: "ValidatingAdmissionWebhook", configuration: JSON.parse(settings) as object }],
      }),
    );
    await t.rejects(readAdmissionFile(file, identities.kubernetes), { name: "BootFault", message: why });
  }
  const [logins, old] = [
    readWebhookLogins(settingsFor(join(dir, "good")), checkedBefore),
    readWebhookLogins(
      JSON.stringify({
        apiVersion: "apiserver.config.orch.io/v1alpha1",
        kind: "WebhookAdmission",
        kubeConfigFile: join(dir, "good"),
      }),
      checkedBefore,
    ),
  ];
  for (const found of [logins, old]) t.same(typeof found === "string" ? found : [...found.byName.keys()], ["a", "*"]);
});

/** A server whose webhooks log in as a file says, and what its webhooks heard of the caller. */
async function open(t: Pick<Test, "teardown" | "testdir">, users: (port: number) => object[], mutual?: string) {
  const heard: (string | undefined)[] = [];
  const peer = await openPeer(
    (body, response, request) => {
      const subject = (request.socket as TLSSocket).getPeerCertificate().subject;
      heard.push((subject as { CN?: string } | undefined)?.CN ?? request.headers.authorization);
      const { kind, apiVersion, request: asked } = JSON.parse(body);
      sayJson(response, { kind, apiVersion, response: { uid: asked.uid, allowed: true } });
    },
    ["127.0.0.1", "hook.default.svc"],
    mutual,
  );
  const file = join(t.testdir({}), "logins.yaml");
  writeFileSync(file, JSON.stringify({ users: users(peer.port) }));
  const settings = new Map(["ValidatingAdmissionWebhook"].map((plugin) => [plugin, settingsFor(file)]));
  const server = await openInProcess("kubernetes", { admission: { settings } });
  t.teardown(() => {
    server.close();
    peer.close();
  });
  return { server, peer, heard };
}

async function register(server: InProcess, kind: string, clientConfig: object): Promise<void> {
  const rules = [{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["*"] }];
  const webhook = { name: "a.example.com", clientConfig, rules, sideEffects: "None", admissionReviewVersions: ["v1"] };
  const path = `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations`;
  const made = await server.call("POST", path, { metadata: { name: "c" }, webhooks: [webhook] });
  if (made.code !== 201) throw new Error(made.text);
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

t.test("a webhook that demands a client certificate gets the one named for it", async (t) => {
  const root = await authority("root");
  const login = async (name: string) => {
    const { cert, key } = await client(root, [{ CN: [name] }]);
    return { "client-certificate-data": base64(cert), "client-key-data": base64(key) };
  };
  const [named, other] = [await login("the-server"), await login("another")];
  const { server, peer, heard } = await open(
    t,
    (port) => [
      { name: "*", user: other },
      { name: `127.0.0.1:${port}`, user: named },
    ],
    root.cert,
  );
  await register(server, "validating", { url: peer.url, caBundle: base64(peer.authority) });
  const made = await server.call("POST", maps, { metadata: { name: "a" } });
  t.equal(made.code, 201, made.text);
  t.same(heard, ["the-server"]);

  const stranger = await open(t, () => [{ name: "elsewhere", user: named }], root.cert);
  await register(stranger.server, "validating", { url: stranger.peer.url, caBundle: base64(stranger.peer.authority) });
  const refused = await stranger.server.call("POST", maps, { metadata: { name: "a" } });
  t.equal(refused.code, 500, "who shows no certificate is not answered");
  t.same(stranger.heard, []);
});

t.test("a webhook of a service is sent the token named for it, and only webhooks of that plugin are", async (t) => {
  const { server, peer, heard } = await open(t, (port) => [
    { name: `hook.default.svc:${port}`, user: { token: "of-the-service" } },
    { name: "*.0.0.1", user: { token: "of-no-port" } },
  ]);
  const service = { metadata: { name: "hook" }, spec: { type: "ExternalName", externalName: "localhost" } };
  t.equal((await server.call("POST", "/api/v1/namespaces/default/services", service)).code, 201);
  const { port } = peer;
  const clientConfig = { service: { namespace: "default", name: "hook", port }, caBundle: base64(peer.authority) };
  await register(server, "validating", clientConfig);
  t.equal((await server.call("POST", maps, { metadata: { name: "a" } })).code, 201);
  t.same(heard, ["Bearer of-the-service"]);
  await register(server, "mutating", { url: peer.url, caBundle: base64(peer.authority) });
  t.equal((await server.call("POST", maps, { metadata: { name: "b" } })).code, 201);
  t.same(heard.slice(1), [undefined, "Bearer of-the-service"], "the other plugin has no file");
});
