// kubectl of this machine with custom resources: definitions and then their objects, as operators and Helm's charts come.
// Where there is no kubectl, a comment says so.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { Json } from "../support/ecosystem/parts.ts";
import { ecosystem, edited, type Published } from "../support/ecosystem.ts";
import { Kubectl } from "../support/programs/kubectl.ts";
import { eventually, startServer, type TestServer } from "../support/server.ts";

t.setTimeout(300_000);

const folder = mkdtempSync(join(tmpdir(), "orch-kubectl-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
const isThere = spawnSync("kubectl", ["version", "--client"], { stdio: "ignore" }).status === 0;
if (!isThere) t.comment("not run: there is no kubectl on the path");

/** What is run; what it must print, or say when it fails; what it reads, and the editor it has. */
interface Step {
  readonly words: string;
  readonly out?: RegExp;
  readonly fails?: RegExp;
  readonly input?: string;
  readonly editor?: string;
}

async function runs(t: Test, kubectl: Kubectl, steps: readonly Step[]): Promise<void> {
  for (const { words, out: wanted, fails, input, editor } of steps) {
    const { code, out, errors } = await kubectl.run(words, input, editor === undefined ? {} : { KUBE_EDITOR: editor });
    const fits = fails === undefined ? code === 0 && (wanted?.test(out) ?? true) : code !== 0 && fails.test(errors);
    t.ok(fits, fits ? words : `${words}: exit ${code}\n${out.slice(0, 1000)}\n${errors.slice(0, 1000)}`);
  }
}

function kindOf(plural: string): Published {
  const found = ecosystem().find((each) => each.plural === plural);
  if (found === undefined) throw new Error(plural);
  return found;
}

const certificates = kindOf("certificates");
const monitors = kindOf("prometheuses");
const routes = kindOf("httproutes");
const one = certificates.object("one", 0);

function stream(...objects: readonly Json[]): string {
  return objects.map((object) => JSON.stringify(object)).join("\n");
}

async function start(t: Test, name: string): Promise<readonly [TestServer, Kubectl]> {
  const server = await startServer(["--identity=kubernetes", "--front-workers=2"]);
  t.teardown(() => server.stop());
  return [server, new Kubectl("kubectl", server, folder, name)];
}

/** As upstream, a definition has `conditions: null` at first, which `kubectl wait` takes for a fault. */
async function waitsFor(t: Test, kubectl: Kubectl, name: string): Promise<void> {
  const words = `wait --for condition=established --timeout=20s crd/${name}`;
  t.ok(await eventually(async () => (await kubectl.run(words)).code === 0, 30_000), words);
}

/** Definitions and objects, from the first to the last. */
async function lives(t: Test, kubectl: Kubectl): Promise<void> {
  const status = { conditions: [certificates.list.items[0]] };
  const editor = join(folder, "editor.sh");
  writeFileSync(editor, '#!/bin/sh\nsed -i "s/one-tls/two-tls/" "$1"\n');
  chmodSync(editor, 0o755);
  const patched = (patch: unknown): string => JSON.stringify(patch);
  const statusPatch = `--subresource=status --type=merge -p ${patched({ status })}`;
  const duration = [{ op: "add", path: "/spec/duration", value: "1h" }];
  const other = [{ op: "test", path: "/spec/duration", value: "2h" }];
  await runs(t, kubectl, [
    { words: "get cert", fails: /the server doesn't have a resource type "cert"/ },
    { words: "apply -f -", input: stream(certificates.definition), out: /certificates\.certs\.example\.dev created$/m },
  ]);
  await waitsFor(t, kubectl, certificates.name);
  await runs(t, kubectl, [
    {
      words: "apply -f -",
      input: stream(certificates.definition),
      // Rules in CEL are dropped without their gate, so that they are sent again.
      out: /certificates\.certs\.example\.dev (?:unchanged|configured)$/m,
    },
    {
      words: "api-resources --api-group=certs.example.dev -o wide",
      out: /^certificates +cert,certs +certs\.example\.dev\/v1 +true +Certificate +\S*watch\S* +certs-all$/m,
    },
    { words: "api-versions", out: /^certs\.example\.dev\/v1$/m },
    { words: "apply -f -", input: stream(one), out: /^certificate\.certs\.example\.dev\/one created$/m },
    { words: "apply -f -", input: stream(one), out: /^certificate\.certs\.example\.dev\/one unchanged$/m },
    { words: "diff -f -", input: stream(one) },
    { words: "get cert", out: /^NAME +READY +SECRET +AGE\none +one-tls +\S+$/m },
    { words: "get certs -o wide", out: /^NAME +READY +SECRET +ISSUER +STATUS +AGE\none +one-tls +ca +\S+$/m },
    { words: "get certs-all -o name", out: /^certificate\.certs\.example\.dev\/one$/m },
    { words: "get certificates.v1.certs.example.dev one -o jsonpath={.spec.privateKey.encoding}", out: /^PKCS1$/ },
    { words: "get cert one -o yaml", out: /^ {2}usages:\n {2}- digital signature\n {2}- key encipherment$/m },
    { words: "describe cert one", out: /^ {2}Private Key:\n {4}Encoding: +PKCS1$/m },
    { words: "edit cert one", editor, out: /^certificate\.certs\.example\.dev\/one edited$/m },
    { words: "get cert one -o jsonpath={.spec.secretName}", out: /^two-tls$/ },
    { words: "label cert one a=b", out: /labeled$/m },
    { words: "annotate cert one a=b", out: /annotated?$/m },
    { words: "get cert -l a=b -o name", out: /\/one$/m },
    { words: 'patch cert one --type=merge -p {"spec":{"commonName":"x"}}', out: /patched$/m },
    { words: `patch cert one --type=json -p ${patched(duration)}`, out: /patched$/m },
    { words: `patch cert one --type=json -p ${patched(other)}`, fails: /The request is invalid/ },
    {
      words: 'patch cert one -p {"spec":{"commonName":"y"}}',
      fails: /application\/strategic-merge-patch\+json is not supported by certs\.example\.dev\/v1, Kind=Certificate/,
    },
    { words: `patch cert one ${statusPatch}`, out: /patched$/m },
    { words: "wait --for=condition=Ready cert/one --timeout=10s", out: /condition met$/m },
    { words: "get cert one", out: /^one +True +two-tls/m },
    { words: "replace -f -", input: stream(one), out: /replaced$/m },
    { words: "get cert one -o jsonpath={.spec.secretName}:{.status.conditions[0].type}", out: /^one-tls:Ready$/ },
    { words: "scale cert one --replicas=2", fails: /not ?found/i },
    { words: "delete cert one --dry-run=server", out: /deleted \(server dry run\)/ },
    { words: "delete cert --all", out: /^certificate\.certs\.example\.dev "one" deleted/m },
    { words: "get cert", out: /^$/ },
  ]);
}

/** The words the schemas are for: what a field is, and that a wrong one is told before it is sent. */
async function explains(t: Test, kubectl: Kubectl): Promise<void> {
  const misspelt = edited(one, ["spec.dnsName", "x"]);
  const mistyped = edited(one, ["spec.renewBeforePercentage", "1"]);
  await runs(t, kubectl, [
    { words: "explain cert", out: /^KIND: +Certificate\nVERSION: +(?:certs\.example\.dev\/)?v1$[\s\S]*^ +spec\s/m },
    { words: "explain cert.spec.privateKey.encoding", out: /FIELD: +encoding <string>[\s\S]*encoding / },
    { words: "explain certificates --recursive", out: /privateKey\s+<Object>[\s\S]*rotationPolicy\s+<string>/ },
    { words: "explain cert.spec.nothing", fails: /field "?nothing"? does not exist/ },
    { words: "apply --validate=true -f -", input: stream(misspelt), fails: /unknown field "(?:spec\.)?dnsName"/ },
    { words: "apply --validate=true -f -", input: stream(mistyped), fails: /renewBeforePercentage.*string.*integer/ },
    {
      words: "create --validate=false -f -",
      input: stream(mistyped),
      fails: /spec\.renewBeforePercentage: Invalid value: "string"/,
    },
    { words: "create --validate=false -f -", input: stream(misspelt), out: /created$/m },
    { words: "get cert one -o jsonpath={.spec.dnsName}", out: /^$/ },
    { words: "delete cert one", out: /deleted/ },
  ]);
}

/** What is too large for an annotation is applied by the server; and it has a size. */
async function scales(t: Test, kubectl: Kubectl): Promise<void> {
  const definition = stream(monitors.definition);
  await runs(t, kubectl, [
    {
      words: "apply -f -",
      input: definition,
      fails: /metadata\.annotations: Too long: must have at most 262144 bytes/,
    },
    { words: "apply --server-side -f -", input: definition, out: /serverside-applied$/m },
  ]);
  await waitsFor(t, kubectl, monitors.name);
  await runs(t, kubectl, [
    { words: "apply --server-side -f -", input: stream(monitors.object("one", 0)), out: /serverside-applied$/m },
    { words: "get prom", out: /^NAME +VERSION +DESIRED +READY +RECONCILED +AGE\none +v2\.0\.0 +1 +\S+$/m },
    { words: "explain prom.spec.containers.resources.limits", out: /limits <map\[string\]\S+>/ },
    { words: "scale prom one --replicas=3 --current-replicas=1", out: /scaled$/m },
    { words: "scale prom one --replicas=4 --current-replicas=1", fails: /Expected replicas to be 1, was 3/ },
    { words: "get prom one --subresource=scale -o jsonpath={.spec.replicas}", out: /^3$/ },
    {
      words: "apply --server-side -f -",
      input: stream(edited(monitors.object("one", 0), ["spec.replicas", 1])),
      // The size that kubectl scale wrote has no manager, as upstream has it.
      out: /serverside-applied$/m,
    },
    {
      words: "apply --server-side -f -",
      input: stream(edited(monitors.object("one", 0), ["spec.retention", "x"])),
      fails: /spec\.retention in body should match/,
    },
    { words: "delete prom one", out: /deleted/ },
    { words: `delete crd ${monitors.name} ${certificates.name}`, out: /deleted/ },
  ]);
}

/** A chart's objects in one stream with their definitions, in either order. */
async function installs(t: Test, server: TestServer, kubectl: Kubectl): Promise<void> {
  const chart = [routes, kindOf("clusterqueues"), kindOf("workloads")];
  const objects = chart.map(({ object }) => object("charted", 0));
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "charted" } };
  const missing = /no matches for kind "HTTPRoute" in version "routes\.networking\.k8s\.io\/v1"/;
  await runs(t, kubectl, [
    { words: "apply -f -", input: stream(...objects, map), fails: missing },
    { words: "get cm charted", out: /^charted/m },
    {
      words: "create -f -",
      input: stream(...chart.map(({ definition }) => definition)),
      out: /httproutes\S+ created\n\S+ created\n\S+ created$/m,
    },
  ]);
  for (const { name } of chart) await waitsFor(t, kubectl, name);
  await runs(t, kubectl, [
    {
      words: "apply -f -",
      input: stream(...objects, map),
      out: /httproute\S+ created\nclusterqueue\S+ created\nworkload\S+ created\nconfigmap\S+ \S+/,
    },
    { words: "get hr,cq,wl -o name", out: /^httproute\S+\nclusterqueue\S+\nworkload\S+$/m },
    { words: "get batchqueue -o name", out: /^clusterqueue\S+\nworkload\S+$/m },
    { words: "get httproutes.v1beta1.routes.networking.k8s.io charted -o jsonpath={.apiVersion}", out: /v1beta1$/ },
    { words: "explain httproute --api-version=routes.networking.k8s.io/v1beta1", out: /VERSION: +\S*v1beta1$/m },
    { words: `delete crd ${chart.map(({ name }) => name).join(" ")}`, out: /^\S+ "workloads\S+ deleted/m },
  ]);
  const both = chart.flatMap(({ definition, object }) => [definition, object("charted", 1)]);
  // One that does not remember what was served before.
  const fresh = new Kubectl("kubectl", server, folder, "fresh");
  await runs(t, fresh, [{ words: "apply --server-side -f -", input: stream(...both), fails: missing }]);
  for (const { name } of chart) await waitsFor(t, fresh, name);
  await runs(t, fresh, [
    { words: "apply --server-side -f -", input: stream(...both), out: /^workload\S+ serverside-applied$/m },
  ]);
  t.notMatch(server.errors(), /"level":"(?:error|fatal)"/);
}

t.test("kubectl defines, changes, shows, explains and scales custom resources", async (t) => {
  if (!isThere) return;
  const [server, kubectl] = await start(t, "custom");
  await lives(t, kubectl);
  await explains(t, kubectl);
  await scales(t, kubectl);
  t.notMatch(server.errors(), /"level":"(?:error|fatal)"/);
});

t.test("a chart that brings its definitions is installed, and told what it has to wait for", async (t) => {
  if (!isThere) return;
  const [server, kubectl] = await start(t, "charts");
  await installs(t, server, kubectl);
});
