// Runs specs of upstream's own end-to-end suite (v1.23) against a fresh server, with upstream's controller manager and
// scheduler at work: the ones that need no node and no running pod. Some of them use kubectl.
//
//   node scripts/upstream-e2e.mjs --controller-manager=PATH --scheduler=PATH --e2e-test=PATH [--focus=TEXT]... [--verbose]
//     [--controllers-of=upstream|orch]
//
// All specs run twice: what both the server and the controller manager have controllers for is done by the controller
// manager, then by the server; `--controllers-of` runs one of the two.
// The paths may also be given as ORCH_UPSTREAM_CONTROLLER_MANAGER, ORCH_UPSTREAM_SCHEDULER and ORCH_UPSTREAM_E2E_TEST.
// Without them nothing runs, and a line says so. `--focus` narrows the list down to specs whose name holds one
// of the texts.
import { createWriteStream, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { spawnBound } from "./bound.mjs";
import { build, install, program } from "./install.mjs";

/**
 * Specs by group: the text of the group, then the specs in it. What is behind the name (`[Conformance]`) is left out.
 * Not here for good: "works for CRD with validation schema" looks for upstream's prose in `kubectl explain`, and "health
 * handlers should contain necessary checks" for checks that could never fail here (DECISIONS 93).
 */
const specs = [
  [
    "[sig-api-machinery] API priority and fairness",
    // The other two of the group are left out by upstream itself ("until flakiness is resolved").
    ["should ensure that requests can be classified by adding FlowSchema and PriorityLevelConfiguration"],
  ],
  [
    "[sig-api-machinery] CustomResourceDefinition Watch [Privileged:ClusterAdmin]",
    ["CustomResourceDefinition Watch watch on custom resource definition objects"],
  ],
  [
    "[sig-api-machinery] CustomResourceDefinition resources [Privileged:ClusterAdmin]",
    [
      "Simple CustomResourceDefinition creating/deleting custom resource definition objects works ",
      "Simple CustomResourceDefinition getting/updating/patching custom resource definition status sub-resource works ",
      "Simple CustomResourceDefinition listing custom resource definition objects works ",
      "custom resource defaulting for requests and from storage works ",
      "should include custom resource definition resources in discovery documents",
    ],
  ],
  [
    "[sig-api-machinery] CustomResourcePublishOpenAPI [Privileged:ClusterAdmin]",
    [
      "removes definition from spec when one version gets changed to not be served",
      "updates the published spec when one version gets renamed",
      "works for CRD preserving unknown fields at the schema root",
      "works for CRD preserving unknown fields in an embedded object",
      "works for CRD without validation schema",
      "works for multiple CRDs of different groups",
      "works for multiple CRDs of same group and version but different kinds",
      "works for multiple CRDs of same group but different versions",
    ],
  ],
  [
    "[sig-api-machinery] CustomResourceValidationRules " +
      "[Privileged:ClusterAdmin][Alpha][Feature:CustomResourceValidationExpressions]",
    [
      "MUST NOT fail validation for create of a custom resource that satisfies the x-kubernetes-validator rules",
      "MUST fail create of a custom resource definition that contains a x-kubernetes-validator rule that refers to a " +
        "property that do not exist",
      "MUST fail validation for create of a custom resource that does not satisfy the x-kubernetes-validator rules",
    ],
  ],
  [
    "[sig-api-machinery] Discovery",
    ["Custom resource should have storage version hash", "should validate PreferredVersion for each APIGroup"],
  ],
  [
    "[sig-api-machinery] Garbage collector",
    [
      "should delete RS created by deployment when not orphaning",
      "should delete jobs and pods created by cronjob",
      "should delete pods created by rc when not orphaning",
      "should keep the rc around until all its pods are deleted if the deleteOptions says so",
      "should not be blocked by dependency circle",
      "should not delete dependents that have both valid owner and owner that's waiting for dependents to be deleted",
      "should orphan RS created by deployment when deleteOptions.PropagationPolicy is Orphan",
      "should orphan pods created by rc if delete options say so",
      "should orphan pods created by rc if deleteOptions.OrphanDependents is nil",
      "should support cascading deletion of custom resources",
      "should support orphan deletion of custom resources",
    ],
  ],
  ["[sig-api-machinery] Generated clientset", ["should create v1 cronJobs, delete cronJobs, watch cronJobs"]],
  [
    "[sig-api-machinery] Namespaces [Serial]",
    [
      "should delete fast enough (90 percent of 100 namespaces in 150 seconds)",
      "should ensure that all services are removed when a namespace is deleted",
      "should patch a Namespace",
    ],
  ],
  [
    "[sig-api-machinery] ResourceQuota",
    [
      "should be able to update and delete ResourceQuota.",
      "should create a ResourceQuota and capture the life of a configMap.",
      "should create a ResourceQuota and capture the life of a custom resource.",
      "should create a ResourceQuota and capture the life of a persistent volume claim",
      "should create a ResourceQuota and capture the life of a persistent volume claim with a storage class",
      "should create a ResourceQuota and capture the life of a pod.",
      "should create a ResourceQuota and capture the life of a replica set.",
      "should create a ResourceQuota and capture the life of a replication controller.",
      "should create a ResourceQuota and capture the life of a secret.",
      "should create a ResourceQuota and capture the life of a service.",
      "should create a ResourceQuota and ensure its status is promptly calculated.",
      "should verify ResourceQuota with best effort scope.",
      "should verify ResourceQuota with cross namespace pod affinity scope using scope-selectors.",
      "should verify ResourceQuota with terminating scopes.",
    ],
  ],
  [
    "[sig-api-machinery] Server request timeout",
    [
      "default timeout should be used if the specified timeout in the request URL is 0s",
      "should return HTTP status code 400 if the user specifies an invalid timeout in the request URL",
      "the request should be served with a default timeout if the specified timeout in the request URL exceeds maximum " +
        "allowed",
    ],
  ],
  [
    "[sig-api-machinery] ServerSideApply",
    [
      "should create an applied object if it does not already exist",
      "should give up ownership of a field if forced applied by a controller",
      "should ignore conflict errors if force apply is used",
      "should not remove a field if an owner unsets the field but other managers still have ownership of the field",
      "should remove a field if it is owned but removed in the apply request",
      "should work for CRDs",
      "should work for subresources",
    ],
  ],
  ["[sig-api-machinery] Servers with support for API chunking", ["should return chunks of results for list calls"]],
  [
    "[sig-api-machinery] Servers with support for Table transformation",
    [
      "should return a 406 for a backend which does not implement metadata",
      "should return chunks of table results for list calls",
      "should return generic metadata details across all namespaces for nodes",
      "should return pod details",
    ],
  ],
  [
    "[sig-api-machinery] Watchers",
    [
      "should be able to restart watching from the last resource version observed by the previous watch",
      "should be able to start watching from a specific resource version",
      "should observe add, update, and delete watch notifications on configmaps",
      "should observe an object deletion if it stops meeting the requirements of the selector",
      "should receive events on concurrent watches in same order",
    ],
  ],
  [
    "[sig-api-machinery] client-go should negotiate watch and report errors with accept",
    [
      '"application/json"',
      '"application/json,application/vnd.kubernetes.protobuf"',
      '"application/vnd.kubernetes.protobuf"',
      '"application/vnd.kubernetes.protobuf,application/json"',
    ],
  ],
  ["[sig-api-machinery] server version", ["should find the server version"]],
  [
    "[sig-cli] Kubectl client Kubectl client-side validation",
    [
      "should create/apply a CR with unknown fields for CRD with no validation schema",
      "should create/apply a valid CR for CRD with validation schema",
      "should create/apply a valid CR with arbitrary-extra properties for CRD with partially-specified validation schema",
    ],
  ],
  [
    "[sig-auth] Certificates API [Privileged:ClusterAdmin]",
    ["should support CSR API operations", "should support building a client with a CSR"],
  ],
  [
    "[sig-auth] ServiceAccounts",
    [
      "should allow opting out of API token automount",
      "should ensure a single API token exists",
      "should guarantee kube-root-ca.crt exist in any namespace",
      "should run through the lifecycle of a ServiceAccount",
    ],
  ],
  [
    "[sig-instrumentation] Events API",
    [
      "should delete a collection of events",
      "should ensure that an event can be fetched, patched, deleted, and listed",
    ],
  ],
  [
    "[sig-instrumentation] Events",
    [
      "should delete a collection of events",
      "should ensure that an event can be fetched, patched, deleted, and listed",
    ],
  ],
  ["[sig-instrumentation] MetricsGrabber", ["should grab all metrics from API server."]],
  [
    "[sig-apps] CronJob",
    [
      "should remove from active list jobs that have been deleted",
      "should replace jobs when ReplaceConcurrent",
      "should support CronJob API operations",
    ],
  ],
  [
    "[sig-apps] DisruptionController",
    [
      "Listing PodDisruptionBudgets for all namespaces should list and delete a collection of PodDisruptionBudgets",
      "should create a PodDisruptionBudget",
    ],
  ],
  ["[sig-apps] Job", ["should fail when exceeds active deadline"]],
  ["[sig-apps] ReplicaSet", ["should surface a failure condition on a common issue like exceeded quota"]],
  ["[sig-apps] ReplicationController", ["should surface a failure condition on a common issue like exceeded quota"]],
  [
    "[sig-node] ConfigMap",
    [
      "should fail to create ConfigMap with empty key",
      "should run through a ConfigMap lifecycle",
      "should update ConfigMap successfully",
    ],
  ],
  ["[sig-node] Lease", ["lease API should be available"]],
  [
    "[sig-node] PodTemplates",
    ["should delete a collection of pod templates", "should run the lifecycle of PodTemplates"],
  ],
  [
    "[sig-node] Pods Extended",
    ["Pods Set QOS Class should be set on Pods with matching resource requests and limits for memory and cpu"],
  ],
  [
    "[sig-node] RuntimeClass",
    [
      "should reject a Pod requesting a RuntimeClass with conflicting node selector",
      "should support RuntimeClasses API operations",
    ],
  ],
  ["[sig-node] Secrets", ["should fail to create secret due to empty secret key", "should patch a secret"]],
  ["[sig-node] Sysctls [LinuxOnly] [NodeConformance]", ["should reject invalid sysctls"]],
  [
    "[sig-network] EndpointSlice",
    [
      "should create and delete Endpoints and EndpointSlices for a Service with a selector specified",
      "should have Endpoints and EndpointSlices pointing to API Server",
      "should support creating EndpointSlice API operations",
    ],
  ],
  [
    "[sig-network] EndpointSliceMirroring",
    ["should mirror a custom Endpoints resource through create update and delete"],
  ],
  ["[sig-network] Ingress API", ["should support creating Ingress API operations"]],
  ["[sig-network] IngressClass API", ["should support creating IngressClass API operations"]],
  ["[sig-network] Netpol API", ["should support creating NetworkPolicy API operations"]],
  ["[sig-network] Networking", ["should provide unchanging, static URL paths for kubernetes api services"]],
  [
    "[sig-network] Services",
    [
      "should check NodePort out-of-range",
      "should complete a service status lifecycle",
      "should delete a collection of services",
      "should find a service from listing all namespaces",
      "should prevent NodePort collisions",
      "should provide secure master service",
      "should test the lifecycle of an Endpoint",
    ],
  ],
];

/** Controllers that both have, by upstream's names. */
const shared = [
  ...["namespace", "resourcequota", "clusterrole-aggregation"],
  ...["serviceaccount", "root-ca-cert-publisher", "serviceaccount-token"],
  ...["garbagecollector", "ttl-after-finished", "pvc-protection", "pv-protection", "podgc"],
  ...["endpoint", "endpointslice", "endpointslicemirroring"],
  ...["csrapproving", "csrsigning", "csrcleaner"],
];

const { values: flags } = parseArgs({
  options: {
    "controllers-of": { type: "string" },
    "controller-manager": { type: "string" },
    scheduler: { type: "string" },
    "e2e-test": { type: "string" },
    focus: { type: "string", multiple: true, default: [""] },
    verbose: { type: "boolean", default: false },
    "no-build": { type: "boolean", default: false },
  },
});
const given = (flag, variable) => flags[flag] ?? process.env[variable];
const paths = {
  controllerManager: given("controller-manager", "ORCH_UPSTREAM_CONTROLLER_MANAGER"),
  scheduler: given("scheduler", "ORCH_UPSTREAM_SCHEDULER"),
  e2e: given("e2e-test", "ORCH_UPSTREAM_E2E_TEST"),
};
if (Object.values(paths).some((path) => path === undefined)) {
  console.log("upstream-e2e: not run; give the programs: --controller-manager=PATH --scheduler=PATH --e2e-test=PATH");
  process.exit(0);
}
for (const path of Object.values(paths)) {
  if (existsSync(path)) continue;
  console.error(`upstream-e2e: there is no ${path}`);
  process.exit(2);
}
// A test of this script runs on what is built.
if (!flags["no-build"]) {
  install();
  build();
}

const sides = flags["controllers-of"] === undefined ? ["upstream", "orch"] : [flags["controllers-of"]];
if (sides.some((side) => side !== "upstream" && side !== "orch")) {
  console.error(`upstream-e2e: --controllers-of is upstream or orch, not ${sides}`);
  process.exit(2);
}

const wanted = specs.flatMap(([group, names]) => names.map((name) => `${group} ${name}`));
const chosen = wanted.filter((name) => flags.focus.some((text) => name.includes(text)));
/** Logs and data of a run. */
let dir = "";
let data = "";
/** What was started, last first. */
const children = [];

function start(name, program, args) {
  if (isEnded) throw new Error("the run was ended");
  const log = createWriteStream(join(dir, `${name}.log`));
  const child = spawnBound("KILL", program, args, { stdio: ["ignore", "pipe", "pipe"] });
  child.isServer = program === process.execPath;
  child.stderr.pipe(log, { end: false });
  child.stdout.pipe(log, { end: false });
  children.unshift(child);
  return child;
}

/** The server is asked to end; upstream's programs hold nothing, and some of them wait on after SIGTERM. */
async function stop(child, signal = child.isServer ? "SIGTERM" : "SIGKILL") {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  await ended;
}

/** Starts the server; resolves with it when it is ready. */
async function serve(...more) {
  const args = [program, "--identity=kubernetes", `--data-dir=${data}`, "--secure-port=0"];
  // A documentation address (RFC 5737): what the service leads to must not be the loopback.
  const child = start("server", process.execPath, [...args, "--advertise-address=192.0.2.1", ...more]);
  const base = await new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (chunk) => {
      text += chunk;
      const ready = /^ready: (\S+)$/m.exec(text);
      if (ready !== null) resolve(ready[1]);
    });
    child.once("exit", (code) => reject(new Error(`the server ended with ${code} before it was ready, see ${dir}`)));
  });
  return { child, base };
}

/** A node that is ready and has room for no pod: pods stay unassigned, and go at once when they are deleted. */
const node = {
  metadata: { name: "ready-node" },
  status: { conditions: [{ type: "Ready", status: "True", reason: "Ready", message: "" }], capacity: { pods: "0" } },
};

function call(base, method, path, body) {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${readFileSync(join(data, "admin.token"), "utf8").trim()}`,
      "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json",
    };
    const sent = request(base + path, { method, headers, rejectUnauthorized: false }, (answer) => {
      answer.resume();
      answer.on("end", () => resolve(answer.statusCode));
    });
    sent.on("error", reject);
    sent.end(JSON.stringify(body));
  });
}

/** Runs the specs; resolves with the names that passed and failed. */
function runSpecs(base) {
  // Some names have two blanks in a row.
  const escaped = chosen.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(" ", " +"));
  const e2e = start("e2e", paths.e2e, [
    `--kubeconfig=${join(data, "kubeconfig")}`,
    `--host=${base}`,
    // Behind a name stand its marks, or nothing.
    `-ginkgo.focus=(${escaped.join("|")})( +\\[|$)`,
    "-ginkgo.noColor",
    "--provider=skeleton",
    "--allowed-not-ready-nodes=-1",
    "--minStartupPods=0",
    "--system-daemonsets-startup-timeout=1s",
    "--node-schedulable-timeout=1s",
  ]);
  const passed = [];
  const failed = [];
  const lines = createInterface({ input: e2e.stdout });
  lines.on("line", (line) => {
    const point = /\{"msg":"(PASSED|FAILED) (.*?)","total"/.exec(line);
    if (flags.verbose) console.log(line);
    if (point === null) return;
    const [, result, name] = point;
    (result === "PASSED" ? passed : failed).push(name);
    console.log(`${result === "PASSED" ? "ok" : "FAILED"} ${name}`);
  });
  return new Promise((resolve) => e2e.once("exit", (code) => resolve({ code, passed, failed })));
}

/** `--controllers` of one that leaves what both have to the other, or of one that does it. */
function controllersOf(does, ...never) {
  return `--controllers=${["*", ...never.concat(does ? [] : shared).map((name) => `-${name}`)].join()}`;
}

/** Runs all specs with the shared controllers on one side; resolves with whether all passed. */
async function run(side) {
  console.log(`controllers of ${side}:`);
  dir = mkdtempSync(join(tmpdir(), `orch-upstream-e2e-${side}-`));
  data = join(dir, "data");
  let result;
  try {
    // The authority is made at the first start; with it, certificates of its making are users.
    await stop((await serve("--controllers=")).child);
    const authority = join(data, "pki", "ca.crt");
    const gates = "--feature-gates=CustomResourceValidationExpressions=true";
    // No agent says that the node is well.
    const ours = controllersOf(side === "orch", "nodelifecycle");
    const { base } = await serve(`--client-ca-file=${authority}`, gates, ours);
    await call(base, "POST", "/api/v1/nodes", node);
    // A new node is tainted until a controller says that it is ready.
    const code = await call(base, "PATCH", "/api/v1/nodes/ready-node", { spec: { taints: null } });
    if (code !== 200) throw new Error(`the node was answered ${code}`);
    const common = [`--kubeconfig=${join(data, "kubeconfig")}`, "--leader-elect=false", "--secure-port=0"];
    start("controller-manager", paths.controllerManager, [
      ...common,
      controllersOf(side === "upstream", "nodelifecycle"),
      `--root-ca-file=${authority}`,
      `--cluster-signing-cert-file=${authority}`,
      `--cluster-signing-key-file=${join(data, "pki", "ca.key")}`,
      `--service-account-private-key-file=${join(data, "pki", "service-account.key")}`,
    ]);
    start("scheduler", paths.scheduler, common);
    result = await runSpecs(base);
  } catch (error) {
    // The handler of the signal ends this process.
    if (isEnded) await new Promise(() => undefined);
    throw error;
  } finally {
    for (const child of children.splice(0)) await stop(child);
  }
  if (isEnded) await new Promise(() => undefined);
  const { passed, failed } = result;
  const done = passed.length + failed.length;
  for (const name of failed) console.log(`failed: ${name}`);
  if (done !== chosen.length) console.log(`${chosen.length} specs were asked for, ${done} ran`);
  console.log(`${passed.length} passed, ${failed.length} failed`);
  const isGood = failed.length === 0 && done === chosen.length;
  if (isGood) rmSync(dir, { recursive: true, force: true });
  else console.log(`logs: ${dir}`);
  return isGood;
}

/** A run that is ended ends what it started, and keeps nothing. */
let isEnded = false;
for (const [signal, number] of [
  ["SIGHUP", 1],
  ["SIGINT", 2],
  ["SIGTERM", 15],
]) {
  process.on(signal, async () => {
    if (isEnded) return;
    isEnded = true;
    console.log(`upstream-e2e: ended by ${signal}`);
    // A start that is under way may add one meanwhile.
    while (children.length > 0) await stop(children.shift(), "SIGKILL");
    if (dir !== "") rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    process.exit(128 + number);
  });
}

let isGood = true;
for (const side of sides) isGood = (await run(side)) && isGood;
process.exit(isGood ? 0 : 1);
