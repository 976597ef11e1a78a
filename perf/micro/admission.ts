// What admission costs a pod create: the default set with an account, a limit range, webhooks that do not match, quotas
// that do not bind. Expected: below 60 us for a whole pod.
// Run: node dist/perf/micro/admission.js [rounds]. One line of JSON per case, ns of CPU time per operation: median, least
// and greatest. CPU time, because this machine is shared.
import { AdmissionResult } from "../../src/admission/plugin.ts";
import { admit, createAdmission } from "../../src/admission/table.ts";
import type { ApiObject } from "../../src/api/object.ts";
import { decodeStored } from "../../src/codec/engine/stored.ts";
import { applyDefaults } from "../../src/kinds/defaults.ts";
import { admissionMeter } from "../../src/observe/admission.ts";
import { Registry } from "../../src/observe/metrics.ts";
import { openInProcess } from "../../test/support/inprocess.ts";
import { largePodBody, podAccount } from "../corpus/pod.ts";

const rounds = Number(process.argv[2] ?? 7);
const count = 4_000;

const server = await openInProcess("kubernetes", { admission: {} });
const pods = server.scheme.find("", "v1", "pods");
if (pods === undefined) throw new Error("Pods are served");
const resource = pods;
const { server: front } = server;
// As a front has them, counted and all.
const admission = createAdmission(
  { ...front, config: front.admission, commit: unused, create: unused },
  admissionMeter(new Registry(), front.clock),
);

function unused(): never {
  throw new Error("Nothing is written");
}

for (const account of [podAccount, { metadata: { name: "default" } }]) {
  await server.call("POST", "/api/v1/namespaces/default/serviceaccounts", account);
}

/** A pod as plugins get it: decoded and defaulted. */
function podOf(text: string): ApiObject {
  const object = decodeStored(resource, Buffer.from(text));
  applyDefaults(resource, object, server.scheme.identity);
  return object;
}

const bare =
  '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i:1"}]}}';

function attributesOf(object: ApiObject) {
  return {
    operation: "create",
    resource,
    subresource: "",
    namespace: "default",
    name: "p",
    object,
    old: undefined,
    user: server.user,
    dryRun: false,
    deadline: Number.POSITIVE_INFINITY,
    options: new Map(),
    notes: new AdmissionResult(),
  } as const;
}

async function measure(name: string, text: string): Promise<void> {
  const found: number[] = [];
  for (let round = 0; round < rounds; round++) {
    // Plugins change what they are given: each write has a pod of its own, made before the clock starts.
    const writes = Array.from({ length: count }, () => attributesOf(podOf(text)));
    const start = process.cpuUsage();
    for (const write of writes) {
      const refused = await admit(admission, write);
      if (refused !== undefined) throw new Error(refused.message);
    }
    const spent = process.cpuUsage(start);
    found.push(((spent.user + spent.system) * 1000) / count);
  }
  const [least, greatest] = [Math.min(...found), Math.max(...found)];
  const median = found.toSorted((a, b) => a - b)[found.length >> 1] ?? 0;
  console.log(
    JSON.stringify({ case: name, ns: Math.round(median), least: Math.round(least), greatest: Math.round(greatest) }),
  );
}

await measure("default set, bare pod", bare);
await measure("default set, 5 KiB pod", largePodBody(0));
const limits = [{ type: "Container", default: { cpu: "1", memory: "1Gi" }, max: { cpu: "64", memory: "64Gi" } }];
const range = { metadata: { name: "lr" }, spec: { limits } };
if ((await server.call("POST", "/api/v1/namespaces/default/limitranges", range)).code !== 201)
  throw new Error("No range");
await measure("default set and a limit range, 5 KiB pod", largePodBody(0));
for (let index = 0; index < 100; index++) {
  for (const kind of ["mutating", "validating"]) {
    const made = await server.call("POST", `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations`, {
      metadata: { name: `c-${index}` },
      webhooks: [
        {
          name: "a.example.com",
          clientConfig: { url: "https://127.0.0.1:1/" },
          rules: [{ apiGroups: ["apps"], apiVersions: ["v1"], resources: ["deployments"], operations: ["*"] }],
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
        },
      ],
    });
    if (made.code !== 201) throw new Error(made.text);
  }
}
await measure("the same and 200 webhook configurations that do not match, 5 KiB pod", largePodBody(0));
server.close();
