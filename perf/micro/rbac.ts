// CPU of one RBAC decision with 1,000 bindings of either kind and as many roles. `node dist/perf/micro/rbac.js [rounds]`
// prints one JSON line per case, `rbac/<what is asked>`, with the best and the median of nine runs.
// Expected: below 20 us, whoever asks; below 2 us for a user with a handful of bindings.
import type { Attributes } from "../../src/authz/authorizer.ts";
import { Rbac } from "../../src/authz/rbac.ts";
import { openInProcess } from "../../test/support/inprocess.ts";

const rounds = Number(process.argv[2] ?? 20_000);
const count = 1000;
const runs = 9;
const apiGroup = "rbac.authorization.k8s.io";
const api = `/apis/${apiGroup}/v1`;

const server = await openInProcess();
const rbac = new Rbac(server.scheme.identity, server.objects);

async function write(resource: string, body: object): Promise<void> {
  const answer = await server.call("POST", `${api}/${resource}`, body);
  if (answer.code !== 201) throw new Error(answer.text);
}

for (let index = 0; index < count; index += 1) {
  const name = `r${index}`;
  const verbs = ["get", "list", "watch"];
  const rules = [{ verbs, apiGroups: ["", "apps"], resources: [`things${index}`, "others"] }];
  await write("clusterroles", { metadata: { name }, rules });
  const roleRef = { apiGroup, kind: "ClusterRole", name };
  const subjects = [
    { kind: "User", name: `user${index}`, apiGroup },
    { kind: "Group", name: `group${index % 100}`, apiGroup },
    { kind: "Group", name: "everybody", apiGroup },
  ];
  await write("clusterrolebindings", { metadata: { name }, roleRef, subjects: subjects.slice(0, 2) });
  await write("namespaces/default/rolebindings", { metadata: { name }, roleRef, subjects: subjects.slice(2) });
}

function asked(name: string, groups: readonly string[], namespace: string, resource: string): Attributes {
  const user = { name, uid: "", groups, extra: new Map() };
  const rest = { group: "", version: "v1", subresource: "", name: "x", path: "" };
  return { user, verb: "get", isResource: true, resource, namespace, ...rest };
}

/** What was measured must be used, or the engine may leave it out. */
let consumed = 0;

function measure(name: string, attributes: Attributes): void {
  const times: number[] = [];
  for (let run = 0; run < runs + 2; run += 1) {
    // CPU rather than wall time: the machine may be busy with others.
    const start = process.cpuUsage();
    for (let round = 0; round < rounds; round += 1) {
      if (rbac.authorize(attributes).verdict === "allow") consumed += 1;
    }
    const { user, system } = process.cpuUsage(start);
    times.push((user + system) / rounds);
  }
  // The first two runs warm up.
  const sorted = times.slice(2).sort((a, b) => a - b);
  const rounded = (value: number | undefined): number => Math.round((value ?? 0) * 100) / 100;
  console.log(
    JSON.stringify({ case: `rbac/${name}`, usBest: rounded(sorted[0]), usMedian: rounded(sorted[runs >> 1]) }),
  );
}

const groups = ["group7", "group8", "system:authenticated"];
measure("allowed by one of 21 grants", asked("user3", groups, "", "things807"));
measure("nothing allows, 21 grants", asked("user3", groups, "", "nothing"));
measure("nobody", asked("nobody", ["system:authenticated"], "default", "nothing"));
measure("allowed by the last of 1,000 grants", asked("nobody", ["everybody"], "default", `things${count - 1}`));
measure("nothing allows, 1,000 grants", asked("nobody", ["everybody"], "default", "nothing"));
if (consumed === 0) console.log("nothing was measured");
server.close();
