// What plugins are asked, and when: every way to change something, and every subresource, once per half with the right
// old and new objects (ATTACKS A05; CVE-2016-1905 was a patch that was not admitted).
import t, { type Test as Tap } from "tap";
import type { AdmissionPlugin, Attributes } from "../../src/admission/plugin.ts";
import type { Counted } from "../../src/admission/table.ts";
import { forbidden, type Status } from "../../src/api/status.ts";
import { writeValue } from "../../src/codec/engine/json.ts";
import { type InProcess, openInProcess } from "../support/inprocess.ts";
import { signingRequest } from "../support/signing.ts";

const space = "/api/v1/namespaces/default";
const deployments = "/apis/apps/v1/namespaces/default/deployments";
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const [merge, strategic, json, apply] = [
  { "content-type": "application/merge-patch+json" },
  { "content-type": "application/strategic-merge-patch+json" },
  { "content-type": "application/json-patch+json" },
  { "content-type": "application/apply-patch+yaml" },
];

/** One question, in short: half, operation, target, objects by kind and a mark in them, options. */
class Recorder implements AdmissionPlugin {
  readonly asked: string[] = [];
  /** What a plugin shall refuse, by half. */
  refuses: "mutate" | "validate" | undefined;
  warns = false;
  /** What it then says of an object; left out: which half it was. */
  says: ((attributes: Attributes) => string) | undefined;

  mutate(attributes: Attributes): Status | undefined {
    return this.#take("mutate", attributes);
  }

  validate(attributes: Attributes): Status | undefined {
    return this.#take("validate", attributes);
  }

  take(): string[] {
    return this.asked.splice(0);
  }

  #take(half: "mutate" | "validate", attributes: Attributes): Status | undefined {
    const { operation, resource, subresource, namespace, name, object, old, options, dryRun, notes } = attributes;
    const target = `${resource.resource}${subresource === "" ? "" : `/${subresource}`} ${namespace}/${name}`;
    const said = [half, operation, target, `${mark(old)}→${mark(object)}`];
    if (options instanceof Map && options.size > 0) said.push(writeValue(options));
    if (dryRun) said.push("dry");
    this.asked.push(said.join(" "));
    if (this.warns) notes.warnings.push(this.says?.(attributes) ?? `${half} was here`);
    return this.refuses === half ? forbidden(resource, name, `${half} says no`) : undefined;
  }
}

/** An object's kind and what tells its state: a label, replicas, a target. */
function mark(object: unknown): string {
  if (object === undefined) return "-";
  const { kind, metadata, spec, target, ports, command, path } = object as { [key: string]: unknown };
  const { labels, annotations } = (metadata ?? {}) as {
    labels?: Map<string, string>;
    annotations?: Map<string, string>;
  };
  const { replicas, ephemeralContainers } = (spec ?? {}) as { replicas?: number; ephemeralContainers?: unknown[] };
  const state = [
    labels?.get("m"),
    annotations?.get("m"),
    replicas,
    ephemeralContainers?.length,
    (target as { name?: string } | undefined)?.name,
    ports,
    command,
    path,
  ];
  return `${String(kind)}(${state.filter((part) => part !== undefined).join(" ")})`;
}

async function open(): Promise<[InProcess, Recorder]> {
  const server = await openInProcess("kubernetes");
  const recorder = new Recorder();
  (server.writers.admission.plugins as Counted[]).push({ plugin: recorder, took: undefined });
  return [server, recorder];
}

const both = (question: string): string[] => [`mutate ${question}`, `validate ${question}`];

type Row = readonly [method: string, path: string, body: unknown, headers: Record<string, string>, question: string];

async function check(t: Tap, [server, recorder]: [InProcess, Recorder], rows: readonly Row[]): Promise<void> {
  for (const [method, path, body, headers, question] of rows) {
    const { code, text } = await server.call(method, path, body, headers);
    const said = recorder.take();
    t.same(
      said,
      both(question),
      `${method} ${path} ${headers["content-type"] ?? ""} ${code} ${code > 299 ? text : ""}`,
    );
  }
}

const map = (m: string): object => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", labels: { m } } });
const maps = `${space}/configmaps`;

t.test("A05: plugins are asked once about every write of an object", async (t) => {
  const chain = await open();
  await check(t, chain, [
    ["POST", maps, map("1"), {}, "create configmaps default/a -→ConfigMap(1)"],
    ["PUT", `${maps}/a`, map("2"), {}, "update configmaps default/a ConfigMap(1)→ConfigMap(2)"],
    ["PATCH", `${maps}/a`, map("3"), merge, "update configmaps default/a ConfigMap(2)→ConfigMap(3)"],
    ["PATCH", `${maps}/a`, map("4"), strategic, "update configmaps default/a ConfigMap(3)→ConfigMap(4)"],
    [
      "PATCH",
      `${maps}/a`,
      [{ op: "replace", path: "/metadata/labels/m", value: "5" }],
      json,
      "update configmaps default/a ConfigMap(4)→ConfigMap(5)",
    ],
    [
      "PATCH",
      `${maps}/a?fieldManager=x&force=true`,
      map("6"),
      apply,
      'update configmaps default/a ConfigMap(5)→ConfigMap(6) {"fieldManager":"x"}',
    ],
    [
      "PATCH",
      `${maps}/made?fieldManager=x&dryRun=All`,
      { ...map("7"), metadata: { name: "made", labels: { m: "7" } } },
      apply,
      'create configmaps default/made -→ConfigMap(7) {"dryRun":["All"],"fieldManager":"x"} dry',
    ],
    [
      "DELETE",
      `${maps}/a`,
      { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Background" },
      {},
      'delete configmaps default/a ConfigMap(6)→- {"propagationPolicy":"Background"}',
    ],
    // A PUT creates where the kind allows that.
    [
      "PUT",
      "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/r",
      { metadata: { name: "r", labels: { m: "1" } } },
      {},
      "create roles default/r -→Role(1)",
    ],
  ]);
  chain[0].close();
});

t.test(
  "A05: plugins are asked once about each object of a deletecollection, and about none that stays as it is",
  async (t) => {
    const [server, recorder] = await open();
    for (const name of ["a", "b"]) await server.call("POST", maps, { metadata: { name, labels: { m: name } } });
    recorder.take();
    await server.call("DELETE", `${maps}?dryRun=All`);
    t.equal(recorder.take().length, 4);
    await server.call("DELETE", maps);
    t.same(
      recorder.take().sort(),
      ["a", "b"].flatMap((name) => both(`delete configmaps default/${name} ConfigMap(${name})→-`)).sort(),
    );
    await server.call("DELETE", `${maps}/none`);
    t.same(recorder.take(), [], "what is not there");
    const pod = { metadata: { name: "p" }, spec: { nodeName: "n", containers: [{ name: "c", image: "i" }] } };
    await server.call("POST", `${space}/pods`, pod);
    await server.call("DELETE", `${space}/pods/p`);
    recorder.take();
    t.equal((await server.call("DELETE", `${space}/pods/p`)).code, 200);
    t.same(recorder.take(), [], "a pod whose end cannot be brought nearer");
    const services = `${space}/services`;
    await server.call("POST", services, { metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } });
    await server.call("POST", `${space}/endpoints`, { metadata: { name: "s" } });
    recorder.take();
    await server.call("DELETE", `${services}/s`);
    t.same(recorder.take(), both("delete services default/s Service()→-"), "its endpoints go unasked");
    t.equal((await server.call("GET", `${space}/endpoints/s`)).code, 404);
    const wrong = { preconditions: { uid: "x" } };
    t.equal((await server.call("DELETE", `${space}/pods/p?gracePeriodSeconds=1`, wrong)).code, 409);
    t.same(recorder.take(), [], "another object than was meant");
    await server.call("DELETE", `${space}/pods/p?gracePeriodSeconds=0`);
    t.same(recorder.take(), both('delete pods default/p Pod()→- {"gracePeriodSeconds":0}'));
    server.close();
  },
);

t.test("what plugins say of the objects of a deletecollection is told once, in its answer", async (t) => {
  const [server, recorder] = await open();
  for (const name of ["a", "b", "c"]) await server.call("POST", maps, { metadata: { name } });
  recorder.warns = true;
  const accepted = ["application/json", "application/yaml", "application/json;as=Table;v=v1;g=meta.k8s.io"];
  for (const accept of accepted) {
    const { code, headers } = await server.call("DELETE", `${maps}?dryRun=All`, undefined, { accept });
    t.equal(code, 200);
    const warnings = headers.filter(([name]) => name === "Warning").map(([, value]) => value);
    t.same(warnings, ['299 - "mutate was here"', '299 - "validate was here"'], accept);
  }
  recorder.says = ({ name }) => `of ${name} ${"x".repeat(2_000)}`;
  const { headers } = await server.call("DELETE", maps);
  const warnings = headers.filter(([name]) => name === "Warning").map(([, value]) => value);
  t.equal(warnings.length, 3, "one of each object");
  t.ok(
    warnings.every((text) => text.length < 300),
    "and cut, because they are long together",
  );
  server.close();
});

t.test("A05: plugins are asked about every subresource, with an object of its kind", async (t) => {
  const chain = await open();
  const [server, recorder] = chain;
  const containers = [{ name: "c", image: "i" }];
  const pod = { metadata: { name: "p", labels: { m: "1" } }, spec: { containers } };
  const template = { metadata: { labels: { a: "b" } }, spec: { containers } };
  const deployment = {
    metadata: { name: "d" },
    spec: { replicas: 1, selector: { matchLabels: { a: "b" } }, template },
  };
  await server.call("POST", `${space}/pods`, pod);
  await server.call("POST", deployments, deployment);
  await server.call("POST", "/api/v1/nodes", { metadata: { name: "n" } });
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "ns" } });
  recorder.take();
  const debug = { spec: { ephemeralContainers: [{ name: "d", image: "i" }] } };
  const bind = { apiVersion: "v1", kind: "Binding", metadata: { name: "p" }, target: { name: "n" } };
  const evict = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p", labels: { m: "e" } } };
  const scale = (replicas: number): object => ({
    apiVersion: "autoscaling/v1",
    kind: "Scale",
    metadata: { name: "d", namespace: "default" },
    spec: { replicas },
  });
  const finalize = {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "ns" },
    spec: { finalizers: ["kubernetes"] },
  };
  await check(t, chain, [
    [
      "PATCH",
      `${space}/pods/p/status`,
      { status: { phase: "Running" } },
      merge,
      "update pods/status default/p Pod(1)→Pod(1)",
    ],
    [
      "PATCH",
      `${space}/pods/p/ephemeralcontainers`,
      debug,
      strategic,
      "update pods/ephemeralcontainers default/p Pod(1)→Pod(1 1)",
    ],
    [
      "POST",
      `${space}/pods/p/binding?dryRun=All`,
      bind,
      {},
      'create pods/binding default/p -→Binding(n) {"dryRun":["All"]} dry',
    ],
    ["POST", `${space}/bindings`, bind, {}, "create bindings default/p -→Binding(n)"],
    ["PUT", `${deployments}/d/scale`, scale(2), {}, "update deployments/scale default/d Scale(1)→Scale(2)"],
    [
      "PATCH",
      `${deployments}/d/scale`,
      { spec: { replicas: 3 } },
      merge,
      "update deployments/scale default/d Scale(2)→Scale(3)",
    ],
    [
      "PATCH",
      `${deployments}/d/scale?fieldManager=x&force=true`,
      scale(4),
      apply,
      'update deployments/scale default/d Scale(3)→Scale(4) {"fieldManager":"x"}',
    ],
    [
      "PATCH",
      `${deployments}/d/status`,
      { status: { replicas: 1 } },
      merge,
      "update deployments/status default/d Deployment(4)→Deployment(4)",
    ],
    ["PUT", "/api/v1/namespaces/ns/finalize", finalize, {}, "update namespaces/finalize /ns Namespace()→Namespace()"],
    [
      "POST",
      `${space}/serviceaccounts/default/token`,
      { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 1 } },
      {},
      "create serviceaccounts/token default/default -→TokenRequest()",
    ],
    [
      "POST",
      `${space}/pods/p/exec?command=ls&command=-l&stdin=true`,
      undefined,
      {},
      "connect pods/exec default/p -→PodExecOptions(ls,-l)",
    ],
    ["GET", `${space}/pods/p/attach`, undefined, {}, "connect pods/attach default/p -→PodAttachOptions()"],
    [
      "POST",
      `${space}/pods/p/portforward?ports=80&ports=81`,
      undefined,
      {},
      "connect pods/portforward default/p -→PodPortForwardOptions(80,81)",
    ],
    ["GET", `${space}/pods/p/proxy/a/b`, undefined, {}, "connect pods/proxy default/p -→PodProxyOptions(/a/b)"],
    ["GET", `${space}/services/s/proxy`, undefined, {}, "connect services/proxy default/s -→ServiceProxyOptions()"],
    ["GET", "/api/v1/nodes/n/proxy/x", undefined, {}, "connect nodes/proxy /n -→NodeProxyOptions(/x)"],
    ["POST", `${space}/pods/p/eviction`, evict, {}, "create pods/eviction default/p -→Eviction(e)"],
  ]);
  server.close();
});

t.test("A05: plugins are asked about approvals, and not about reads or what is not there", async (t) => {
  const chain = await open();
  const [server, recorder] = chain;
  const request = Buffer.from(await signingRequest("CN=dev")).toString("base64");
  const spec = { request, signerName: "example.com/a", usages: ["client auth"] };
  await server.call("POST", requests, { metadata: { name: "r", labels: { m: "1" } }, spec });
  recorder.take();
  const status = { conditions: [{ type: "Approved", status: "True", reason: "x", message: "y" }] };
  const target = "certificatesigningrequests/approval /r CertificateSigningRequest(1)→CertificateSigningRequest(1)";
  await check(t, chain, [["PATCH", `${requests}/r/approval`, { status }, merge, `update ${target}`]]);
  await server.call("GET", `${space}/pods/p/log`);
  t.same(recorder.take(), [], "a log is a read");
  t.equal((await server.call("PUT", `${requests}/none/approval`, { metadata: { name: "none" } })).code, 404);
  t.same(recorder.take(), [], "what is not there");
  server.close();
});

t.test("a refusal of either half stops every write and carries the warnings", async (t) => {
  const [server, recorder] = await open();
  await server.call("POST", maps, map("1"));
  await server.call("POST", `${space}/pods`, {
    metadata: { name: "p" },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  recorder.warns = true;
  const before = server.store.changes.length;
  const bind = { apiVersion: "v1", kind: "Binding", metadata: { name: "p" }, target: { name: "n" } };
  const evict = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" } };
  for (const half of ["mutate", "validate"] as const) {
    recorder.refuses = half;
    for (const [method, path, body, headers] of [
      ["POST", maps, { metadata: { generateName: "x-" } }, {}],
      ["PUT", `${maps}/a`, map("2"), {}],
      ["PATCH", `${maps}/a`, map("2"), merge],
      ["PATCH", `${maps}/a?fieldManager=x&force=true`, map("2"), apply],
      ["DELETE", `${maps}/a`, undefined, {}],
      ["DELETE", maps, undefined, {}],
      ["POST", `${space}/pods/p/binding`, bind, {}],
      ["POST", `${space}/pods/p/eviction`, evict, {}],
      ["GET", `${space}/pods/p/exec`, undefined, {}],
    ] as const) {
      const answer = await server.call(method, path, body, headers);
      t.equal(answer.code, 403, `${half} ${method} ${path}`);
      t.ok(answer.json.message.endsWith(`is forbidden: ${half} says no`), answer.text);
      const warnings = answer.headers.filter(([name]) => name === "Warning").map(([, value]) => value);
      t.ok(warnings.includes('299 - "mutate was here"'), `${half} ${method} ${path}: ${warnings}`);
    }
  }
  const odd = { metadata: { name: "odd" }, datum: {} };
  const { headers } = await server.call("POST", `${maps}?fieldValidation=Warn`, odd);
  const warnings = headers.filter(([name]) => name === "Warning").map(([, value]) => value);
  t.same(warnings.slice(0, 2), ['299 - "unknown field \\"datum\\""', '299 - "mutate was here"'], "its fields, first");
  t.equal(server.store.changes.length, before, "nothing was stored");
  server.close();
});

t.test("plugins see the state that was there, again after each lost race", async (t) => {
  const [server, recorder] = await open();
  await server.call("POST", maps, map("1"));
  recorder.take();
  let races = 2;
  server.store.before = () => {
    if (races === 0) return undefined;
    races -= 1;
    return { actual: 1 };
  };
  await server.call("PATCH", `${maps}/a`, { metadata: { labels: { m: "2" } } }, merge);
  const question = both("update configmaps default/a ConfigMap(1)→ConfigMap(2)");
  t.same(recorder.take(), [...question, ...question, ...question]);
  server.close();
});

t.test("a dry run asks every plugin and leaves nothing behind", async (t) => {
  const [server, recorder] = await open();
  await server.call("POST", maps, map("1"));
  recorder.take();
  const before = server.store.changes.length;
  for (const [method, path, body, headers] of [
    ["POST", maps, { metadata: { name: "b" } }, {}],
    ["PUT", `${maps}/a`, map("2"), {}],
    ["PATCH", `${maps}/a`, map("2"), merge],
    ["DELETE", `${maps}/a`, undefined, {}],
  ] as const) {
    await server.call(method, `${path}?dryRun=All`, body, headers);
    const asked = recorder.take();
    t.equal(asked.length, 2, method);
    t.ok(
      asked.every((question) => question.endsWith(' {"dryRun":["All"]} dry')),
      asked.join(),
    );
  }
  t.equal(server.store.changes.length, before);
  server.close();
});
