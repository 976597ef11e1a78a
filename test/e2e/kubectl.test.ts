// Unmodified kubectl against the server as its own process: the one on this machine's path and, where packages can be
// had, Debian's older one, unpacked into a folder of its own. Where one is missing, a comment says so.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { Kubectl } from "../support/programs/kubectl.ts";
import { eventually, startServer, type TestServer } from "../support/server.ts";
import { changes } from "./kubectlchanges.ts";

const folder = mkdtempSync(join(tmpdir(), "orch-kubectl-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

/** The kubectl on the path; undefined where there is none. */
function pathKubectl(): string | undefined {
  const { status } = spawnSync("kubectl", ["version", "--client", "-o", "json"], { stdio: "ignore" });
  return status === 0 ? "kubectl" : undefined;
}

/** Debian's kubectl, downloaded and unpacked but not installed; a text without a slash says why not. */
function debianKubectl(): string {
  if (process.getuid?.() !== 0) return "not root";
  const download = spawnSync("apt-get", ["download", "kubernetes-client"], {
    cwd: folder,
    encoding: "utf8",
    timeout: 60_000,
  });
  const file = readdirSync(folder).find((name) => name.endsWith(".deb"));
  if (download.status !== 0 || file === undefined) return "apt-get has no kubernetes-client";
  spawnSync("dpkg", ["-x", file, "unpacked"], { cwd: folder });
  const binary = join(folder, "unpacked", "usr", "bin", "kubectl");
  return existsSync(binary) ? binary : "the package holds no kubectl";
}

const object = (data: object, metadata: object = {}): string =>
  JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m", ...metadata }, data });

/** What is run, and what it must print or, with a mark in front, exit unsuccessfully with. */
type Step = readonly [words: string, out: RegExp | "fails", input?: string];

/** Who may do what, as an administrator asks and grants it. */
const accessSession: readonly Step[] = [
  ["auth can-i create pods", /^yes$/m],
  ["auth can-i create pods --as=ann", "fails"],
  ["get cm -n one --as=ann", "fails"],
  ["get cm -n one --as=ann --as-group=system:masters", /^literal/m],
  [
    "create rolebinding ann -n one --clusterrole=edit --user=ann",
    /^rolebinding\.rbac\.authorization\.k8s\.io\/ann created$/m,
  ],
  ["auth can-i create pods -n one --as=ann", /^yes$/m],
  ["auth can-i create pods -n default --as=ann", "fails"],
  ["auth can-i get /version --as=ann", /^yes$/m],
  [
    "auth can-i --list -n one --as=ann",
    /^pods +\[\] +\[\] +\[create delete deletecollection patch update get list watch\]$/m,
  ],
  ["get cm -n one --as=ann", /^literal/m],
  ["create role r -n one --verb=get --resource=nodes --as=ann", "fails"],
  ["create rolebinding b -n one --clusterrole=cluster-admin --user=ann --as=ann", "fails"],
  ["get clusterrole view -o jsonpath={.rules[0].verbs}", /^\["get","list","watch"\]$/],
  ["describe clusterrolebinding cluster-admin", /^ +Group +system:masters/m],
  ["delete rolebinding ann -n one", /deleted/],
  ["get cm -n one --as=ann", "fails"],
];

function session(file: string): readonly Step[] {
  return [
    ["version -o json", /"serverVersion": \{[^}]*"major": "1",\s*"minor": "23"/],
    ["cluster-info", /127\.0\.0\.1/],
    ["api-versions", /^apps\/v1$/m],
    ["api-resources", /^deployments +deploy +apps\/v1 +true +Deployment$/m],
    ["api-resources --namespaced=false --verbs=list -o name", /^namespaces$/m],
    ["get --raw /readyz?verbose", /healthz check passed/],
    ["get --raw /api/v1/namespaces/default", /^\{"kind":"Namespace","apiVersion":"v1"/],
    ["get ns", /^default/m],
    ["get nodes", /^$/],
    ["get things", "fails"],
    ["create ns one", /^namespace\/one created$/m],
    ["create ns one", "fails"],
    ["create -n one configmap literal --from-literal=a=b", /^configmap\/literal created$/m],
    ...accessSession,
    ["create -n one -f - --validate=false", /^configmap\/m created$/m, object({ a: "1" })],
    ["create -n one -f - --validate=false", "fails", object({ a: "1" })],
    [`create -n one -f ${file} --validate=false`, /^deployment\.apps\/web created\nservice\/web created$/m],
    ["get -n one cm,deploy,svc -o name", /^configmap\/literal\nconfigmap\/m\ndeployment\.apps\/web\nservice\/web$/m],
    ["get -n one cm m -o jsonpath={.data.a}", /^1$/],
    ["get -n one cm m -o yaml", /^data:\n {2}a: "1"$/m],
    ["get -A cm -l app=none", /^$/],
    ["get -n one cm --field-selector metadata.name=m -o name", /^configmap\/m$/m],
    ["replace -n one -f - --validate=false", /^configmap\/m replaced$/m, object({ a: "2" }, { namespace: "one" })],
    ['patch -n one cm m --type=merge -p {"data":{"b":"3"}}', /^configmap\/m patched$/m],
    ['patch -n one cm m --type=json -p [{"op":"remove","path":"/data/a"}]', /^configmap\/m patched$/m],
    ["get -n one cm m -o jsonpath={.data}", /^\{"b":"3"\}$/],
    ['patch -n one cm none --type=merge -p {"data":{"b":"3"}}', "fails"],
    ["wait -n one cm/m --for=condition=Ready --timeout=1s", "fails"],
    ["delete -n one cm m --wait=false", /^configmap "m" deleted/m],
    ["get -n one cm m", "fails"],
    ["delete -n one deploy,svc --all", /^deployment\.apps "web" deleted[^\n]*\nservice "web" deleted/m],
    ["delete ns one --timeout=30s", /^namespace "one" deleted$/m],
    ["get ns one", "fails"],
  ];
}

const manifest = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "web:1", ports: [{containerPort: 80}]}]
---
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  selector: {app: web}
  ports: [{port: 80}]
`;

/** Follows a collection with `get -w` while it changes. */
async function watches(t: Test, server: TestServer, kubectl: Kubectl): Promise<void> {
  const maps = "/api/v1/namespaces/default/configmaps";
  await server.call("POST", maps, { metadata: { name: "first" } });
  const watching = kubectl.start("get cm -w -o name");
  let out = "";
  watching.stdout?.on("data", (chunk: Buffer) => (out += chunk.toString()));
  t.ok(await eventually(() => out.includes("configmap/first\n"), 20_000), "get -w shows what is there");
  await server.call("POST", maps, { metadata: { name: "second" } });
  t.ok(await eventually(() => out.includes("configmap/second\n"), 20_000), "and what comes");
  const closed = new Promise((resolve) => watching.once("close", resolve));
  watching.kill("SIGINT");
  await closed;
  await server.call("DELETE", `${maps}/first`);
  const watched = async (count: number): Promise<boolean> => {
    const series = /registered_watchers\{group="",kind="ConfigMap",version="v1"\} (\d+)\n/g;
    const watchers = [...(await server.metrics()).matchAll(series)].map(([, each]) => Number(each));
    return watchers.length > 0 && watchers.reduce((sum, each) => sum + each) === count;
  };
  t.ok(await eventually(() => watched(0)), "no client watches");
  const waiting = kubectl.run("wait cm/second --for=delete --timeout=30s");
  t.ok(await eventually(() => watched(1), 20_000), "wait watches");
  await server.call("DELETE", `${maps}/second`);
  t.equal((await waiting).code, 0, "wait sees the end of an object");
}

/** Waits for a condition that a controller sets. */
async function waits(t: Test, server: TestServer, kubectl: Kubectl): Promise<void> {
  const pods = "/api/v1/namespaces/default/pods";
  await server.call("POST", pods, { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } });
  const waiting = kubectl.run("wait pod/p --for=condition=Ready --timeout=30s");
  const status = { status: { conditions: [{ type: "Ready", status: "True" }] } };
  const merge = { "content-type": "application/merge-patch+json" };
  t.equal((await server.call("PATCH", `${pods}/p/status`, status, merge)).code, 200);
  t.match((await waiting).out, /^pod\/p condition met$/m, "wait sees a condition");
}

/** Validation by the client or, by request, in the server: both begin with the schemas. */
async function validates(t: Test, server: TestServer, kubectl: Kubectl): Promise<void> {
  if ((await server.call("GET", "/openapi/v2")).code !== 200) {
    t.comment("not run: create with validation, because the server has no /openapi/v2 yet");
    return;
  }
  const { out, errors } = await kubectl.run("create -f -", object({ a: "1" }));
  t.match(out, /^configmap\/m created$/m, `create with validation: ${errors}`);
}

async function works(t: Test, binary: string, name: string): Promise<void> {
  const server = await startServer(["--identity=kubernetes", "--controllers=*"]);
  t.teardown(() => server.stop("SIGKILL"));
  const kubectl = new Kubectl(binary, server, folder, name);
  const file = join(folder, "web.yaml");
  writeFileSync(file, manifest);
  const { out } = await kubectl.run("version --client -o json");
  t.comment(`${name}: ${/"gitVersion": "([^"]+)"/.exec(out)?.[1] ?? "version unknown"}`);
  for (const [words, wanted, input] of session(file)) {
    const { code, out, errors } = await kubectl.run(words, input);
    const said = wanted === "fails" ? code !== 0 : code === 0 && wanted.test(out);
    t.ok(said, said ? words : `${words}: exit ${code}\n${out.slice(0, 1000)}\n${errors.slice(0, 1000)}`);
  }
  await watches(t, server, kubectl);
  await waits(t, server, kubectl);
  await validates(t, server, kubectl);
  await changes(t, server, kubectl, folder);
}

t.test("kubectl on the path works", { timeout: 180_000 }, async (t) => {
  const binary = pathKubectl();
  if (binary === undefined) t.comment("not run: there is no kubectl on the path");
  else await works(t, binary, "path");
  t.end();
});

t.test("Debian's older kubectl works", { timeout: 180_000 }, async (t) => {
  const binary = debianKubectl();
  if (binary.includes("/")) await works(t, binary, "debian");
  else t.comment(`not run: ${binary}`);
  t.end();
});
