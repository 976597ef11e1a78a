// Connection files: what they say, and one line for what is wrong with them.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import { loadFileCheck } from "../../src/config/filecheck.ts";
import { readConnection } from "../../src/outbound/connection.ts";

const check = await loadFileCheck(identities.orch.spell);

function fileOf(text: string): string {
  const path = join(t.testdir({}), "connection.yaml");
  writeFileSync(path, text);
  return path;
}

const cluster = "clusters:\n- name: c\n  cluster:\n    server: https://peer.example:8443/hook\n";

t.test("readConnection() reads the current context's cluster and user", async (t) => {
  const path = join(t.testdir({ "ca.pem": "CA", token: "secret\n" }), "connection.yaml");
  writeFileSync(
    path,
    `apiVersion: v1
kind: Config
current-context: here
contexts:
- name: there
  context: {cluster: other, user: other}
- name: here
  context: {cluster: c, user: u}
clusters:
- name: other
  cluster: {server: "https://other.example"}
- name: c
  cluster:
    server: https://peer.example/hook
    certificate-authority: ca.pem
    tls-server-name: name.example
users:
- name: u
  user: {tokenFile: token}
- name: other
  user: {username: a, password: b}
`,
  );
  t.match(readConnection(path, check), {
    url: "https://peer.example/hook",
    authorities: "CA",
    serverName: "name.example",
    authorization: "Bearer secret",
    insecure: false,
  });
});

t.test("readConnection() takes the only cluster where no context is named, and certificates as data", async (t) => {
  const data = (text: string): string => Buffer.from(text).toString("base64");
  const user = `users:\n- name: u\n  user:\n    client-certificate-data: ${data("CERT")}\n    client-key-data: ${data("KEY")}\n`;
  const found = readConnection(fileOf(cluster + user), check);
  t.match(found, { url: "https://peer.example:8443/hook", certificate: "CERT", key: "KEY" });
});

t.test("readConnection() says in one line what is wrong", async (t) => {
  t.match(readConnection("/nowhere/file", check), /^cannot read \/nowhere\/file: /);
  t.match(readConnection(fileOf("{"), check), /connection.yaml: /);
  t.match(readConnection(fileOf("kind: Config\n"), check), /it names no cluster$/);
  t.match(readConnection(fileOf(`current-context: x\n${cluster}`), check), /it has no context "x"$/);
  t.match(readConnection(fileOf(cluster.replace("https:", "ftp:")), check), /server must begin with https:/);
  t.match(readConnection(fileOf(`clusters: 5\n`), check), /connection.yaml: clusters: must be a list, not a number$/);
  const half = "users:\n- name: u\n  user: {client-certificate-data: QQ==}\n";
  t.match(readConnection(fileOf(cluster + half), check), /client-certificate and client-key belong together$/);
  const lost = "users:\n- name: u\n  user: {tokenFile: lost}\n";
  t.match(readConnection(fileOf(cluster + lost), check), /cannot read .*lost: /);
});
