// What admission and validation promise, asked of the server as its own process: what people with the roles of the start
// may write (ATTACKS D03, D04), and that what was accepted is stored as it was answered, byte for byte (D12).
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { eventually, startServer, type TestServer } from "../support/server.ts";

const merge = { "content-type": "application/merge-patch+json" };
const core = "/api/v1/namespaces/default";
const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

// CVE-2021-25740: who writes endpoints sends a balancer's traffic into namespaces of others.
t.test("D03: the roles of the start let no user write endpoints or slices of them", { timeout: 120_000 }, async (t) => {
  const tokens = join(t.testdir({}), "tokens.csv");
  const people = ["admin", "edit", "view"];
  writeFileSync(tokens, people.map((name) => `token-of-${name},${name},${name}\n`).join(""));
  const server = await startServer(["--identity=kubernetes", `--token-auth-file=${tokens}`]);
  t.teardown(() => server.stop());
  const apiGroup = "rbac.authorization.k8s.io";
  for (const name of people) {
    const binding = {
      metadata: { name },
      roleRef: { apiGroup, kind: "ClusterRole", name },
      subjects: [{ apiGroup, kind: "User", name }],
    };
    t.equal((await server.call("POST", `${rbac}/namespaces/default/rolebindings`, binding)).code, 201);
  }
  const as = (name: string) => ({ authorization: `Bearer token-of-${name}` });
  // The roles are gathered a moment after the start.
  const gathered = async (name: string): Promise<boolean> =>
    (await server.call("GET", `${core}/services`, undefined, as(name))).code === 200;
  for (const name of people) t.ok(await eventually(() => gathered(name)), `${name} may read`);

  const endpoints = { metadata: { name: "e" }, subsets: [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 80 }] }] };
  const slice = { metadata: { name: "s" }, addressType: "IPv4", endpoints: [{ addresses: ["10.0.0.1"] }], ports: [] };
  const service = { metadata: { name: "web" }, spec: { type: "LoadBalancer", ports: [{ port: 80 }] } };
  t.equal((await server.call("POST", `${core}/endpoints`, endpoints)).code, 201);
  t.equal((await server.call("POST", slices, slice)).code, 201);
  for (const name of ["admin", "edit"]) {
    const made = await server.call("POST", `${core}/services`, { ...service, metadata: { name } }, as(name));
    t.equal(made.code, 201, `${name} does write services`);
  }
  const apply = { "content-type": "application/apply-patch+yaml" };
  const whole = { apiVersion: "v1", kind: "Endpoints", ...endpoints };
  const ways: [string, string, unknown, Record<string, string>][] = [
    ["POST", `${core}/endpoints`, { ...endpoints, metadata: { name: "mine" } }, {}],
    ["PUT", `${core}/endpoints/e`, endpoints, {}],
    ["PATCH", `${core}/endpoints/e`, { subsets: null }, merge],
    ["PATCH", `${core}/endpoints/e?fieldManager=m&force=true`, whole, apply],
    ["DELETE", `${core}/endpoints/e`, undefined, {}],
    ["DELETE", `${core}/endpoints`, undefined, {}],
    ["POST", slices, { ...slice, metadata: { name: "mine" } }, {}],
    ["PUT", `${slices}/s`, slice, {}],
    ["PATCH", `${slices}/s`, { endpoints: [] }, merge],
    ["DELETE", `${slices}/s`, undefined, {}],
    ["DELETE", slices, undefined, {}],
    // D04: an address of a balancer's is not its user's to say.
    ["PATCH", `${core}/services/edit/status`, { status: { loadBalancer: { ingress: [{ ip: "1.2.3.4" }] } } }, merge],
  ];
  const before = (await server.call("GET", `${core}/endpoints/e`)).text;
  for (const name of people) {
    for (const [method, path, body, headers] of ways) {
      const { code } = await server.call(method, path, body, { ...as(name), ...headers });
      t.equal(code, 403, `${name}: ${method} ${path}`);
    }
    t.equal((await server.call("GET", `${core}/endpoints`, undefined, as(name))).code, 200, `${name} reads them`);
  }
  t.equal((await server.call("GET", `${core}/endpoints/e`)).text, before);
});

/** Objects with what is easily lost on the way to the disk. */
const awkward: [path: string, object: object][] = [
  [
    `${core}/configmaps`,
    {
      metadata: {
        name: "texts",
        labels: { a: "" },
        annotations: { "x/y": '<&>\u2028\u0000"\\\n' },
      },
      data: { a: "", "b.c": "日本 🙂 \ud83d\ude00", constructor: "1", ["__proto__"]: "p", long: "x".repeat(100_000) },
      binaryData: { bin: Buffer.from([0, 255, 10, 13]).toString("base64") },
      immutable: false,
    },
  ],
  [`${core}/secrets`, { metadata: { name: "s" }, stringData: { a: "ü" }, data: { b: "" }, type: "x/y" }],
  [
    `${core}/pods`,
    {
      metadata: { name: "p", finalizers: ["a.example.com/b"] },
      spec: {
        activeDeadlineSeconds: 2147483647,
        terminationGracePeriodSeconds: 0,
        securityContext: { runAsUser: 2147483647, supplementalGroups: [0] },
        tolerations: [{ operator: "Exists", effect: "NoExecute", tolerationSeconds: -9223372036854775808n }],
        containers: [
          {
            name: "c",
            image: "i",
            args: ["", " ", "$(X)"],
            env: [{ name: "E", value: "" }],
            resources: { limits: { cpu: "0.10", memory: "1024Ki", "example.com/x": "1e3" } },
            livenessProbe: { httpGet: { path: "/", port: "http" }, timeoutSeconds: 7 },
            ports: [{ name: "http", containerPort: 80 }],
          },
        ],
      },
    },
  ],
  [
    "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    { metadata: { name: "l" }, spec: { holderIdentity: "h", renewTime: "2020-02-29T23:59:59.000001Z" } },
  ],
  [
    `${core}/resourcequotas`,
    { metadata: { name: "q" }, spec: { hard: { "requests.cpu": "1500m", pods: "010", "requests.storage": "1.5Gi" } } },
  ],
  [
    "/apis/apps/v1/namespaces/default/controllerrevisions",
    { metadata: { name: "r" }, data: { a: [1.5, 1e21, null, { b: {} }] }, revision: 9223372036854775807n },
  ],
];

function text(object: object): string {
  return JSON.stringify(object, (_key, value: unknown) => (typeof value === "bigint" ? `#${value}#` : value)).replace(
    /"#(-?\d+)#"/g,
    "$1",
  );
}

/** Creates upstream took, where the recordings are. */
function recorded(): [path: string, body: string][] {
  const folder = "../shared/transcripts/scenarios";
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".json")) : [];
  return files.flatMap((file, index) => {
    const { steps = [] } = JSON.parse(readFileSync(join(folder, file), "utf8")) as { steps?: Recorded[] };
    const expand = (value: string): string =>
      value.replaceAll("${suffix}", `x${index}`).replaceAll("${ns}", `g-x${index}`);
    return steps
      .filter(({ method, body, expect }) => method === "POST" && expect?.status === 201 && body?.metadata)
      .map(({ path = "", body }): [string, string] => [expand(path), expand(JSON.stringify(body))])
      .filter(([path, body]) => !path.includes("${") && !body.includes("${") && !path.includes("dryRun"));
  });
}

interface Recorded {
  readonly method?: string;
  readonly path?: string;
  readonly body?: { readonly metadata?: object };
  readonly expect?: { readonly status: number };
}

const versionOf = (object: { metadata?: { resourceVersion?: string } }): string =>
  object.metadata?.resourceVersion ?? "";

async function create(server: TestServer, [path, body]: [string, string]): Promise<[string, string] | undefined> {
  const namespace = /\/namespaces\/([^/]+)\//.exec(path)?.[1];
  if (namespace !== undefined && namespace !== "default") {
    await server.call("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
  }
  const { code, text: answer, json } = await server.call("POST", path, body, { "content-type": "application/json" });
  const name = json?.metadata?.name;
  if (code !== 201 || name === undefined || versionOf(json) === "") return undefined;
  return [`${path.split("?")[0]}/${name}`, answer];
}

t.test("D12: what was accepted is read from the disk as it was answered", { timeout: 240_000 }, async (t) => {
  // Controllers change objects on their own, a quota's status for one.
  const args = ["--identity=kubernetes", "--disable-admission-plugins=ServiceAccount", "--controllers="];
  const first = await startServer(args);
  t.teardown(() => first.stop("SIGKILL"));
  const accepted: [string, string][] = [];
  for (const [path, object] of awkward) {
    const made = await create(first, [path, text(object)]);
    t.ok(made, `${path} is accepted`);
    if (made !== undefined) accepted.push(made);
  }
  for (const wanted of recorded()) {
    const made = await create(first, wanted);
    if (made !== undefined) accepted.push(made);
  }
  await first.stop("SIGKILL", false);
  const second = await startServer(args, first.dir);
  t.teardown(() => second.stop());
  let compared = 0;
  for (const [path, answer] of accepted) {
    const read = await second.call("GET", path);
    // What a later step of a recording changed is another object.
    if (read.code !== 200 || versionOf(read.json) !== versionOf(JSON.parse(answer))) continue;
    compared += 1;
    if (read.text !== answer) t.equal(read.text, answer, path);
  }
  t.ok(compared >= awkward.length, `${compared} of ${accepted.length} objects compared`);
  t.comment(`${compared} of ${accepted.length}`);
});
