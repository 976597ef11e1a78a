// What admission costs a pod create: webhooks that do not match, quotas that do not bind.
// Run: node dist/perf/micro/admission.js [rounds]. One line of JSON per case, ns of CPU time per operation: median, least
// and greatest. CPU time, because this machine is shared.
import { Notes } from "../../src/admission/plugin.ts";
import { mutate, validate } from "../../src/admission/table.ts";
import type { ApiObject } from "../../src/api/object.ts";
import { openInProcess } from "../../test/support/inprocess.ts";

const rounds = Number(process.argv[2] ?? 7);
const count = 50_000;

const server = await openInProcess("kubernetes");
const pods = server.scheme.find("", "v1", "pods");
if (pods === undefined) throw new Error("Pods are served");
const { admission } = server.writers;

function attributes() {
  const object = { kind: "Pod", apiVersion: "v1", metadata: { name: "p" }, spec: { containers: [] } } as ApiObject;
  return {
    operation: "create",
    resource: pods as NonNullable<typeof pods>,
    subresource: "",
    namespace: "default",
    name: "p",
    object,
    old: undefined,
    user: server.user,
    dryRun: false,
    deadline: Number.POSITIVE_INFINITY,
    options: new Map(),
    notes: new Notes(),
  } as const;
}

async function measure(name: string): Promise<void> {
  const found: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = process.cpuUsage();
    for (let index = 0; index < count; index++) {
      const write = attributes();
      if ((await mutate(admission, write)) ?? (await validate(admission, write))) throw new Error("It was refused");
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

await measure("all plugins, no configuration");
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
await measure("all plugins, 200 webhook configurations that do not match");
server.close();
