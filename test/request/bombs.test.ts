// Small requests that cost a front seconds once, through the whole request path: each is refused with what is wrong, at
// a cost that its size explains.
import { limits } from "../../src/config/limits.ts";
import { calmMs, costOf } from "../support/cost.ts";
import type { Answer } from "../support/inprocess.ts";
import { scenario } from "../support/scenario.ts";

const core = "/api/v1/namespaces/default";

/** The answer, and the CPU of this thread it took in milliseconds, as `calmMs` has it. */
async function timed(msMax: number, ask: () => Promise<Answer>): Promise<{ answer: Answer; ms: number }> {
  let answer: Answer | undefined;
  const ms = await costOf(async () => {
    answer = await ask();
  });
  return { answer: answer as Answer, ms: calmMs(ms, msMax) };
}

const list = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

scenario("F09: what is larger than the store takes is refused before it is validated", async (t, server) => {
  const pod = (name: string, count: number): object => ({
    metadata: { name },
    spec: { containers: list(count, (index) => ({ name: `c${index}`, image: "i" })) },
  });
  await server.call("POST", `${core}/pods`, pod("warm", 100));
  const answer = await server.call("POST", `${core}/pods`, pod("Not a name", 30_000));
  t.match([answer.code, answer.json.message], [413, /limit is 1572864/], "the name is not looked at");
  const fits = await server.call("POST", `${core}/pods`, pod("Not a name", 1000));
  t.equal(fits.code, 422);
});

scenario("F10: node ports are counted before any of them is claimed", async (t, server) => {
  const ports = list(5_000, (index) => ({ name: `p${index}`, port: index + 1 }));
  const body = { metadata: { name: "s" }, spec: { type: "NodePort", ports, selector: { a: "b" } } };
  const changes = server.store.changes.length;
  const { answer, ms } = await timed(3_000, () => server.call("POST", `${core}/services`, body));
  t.match([answer.code, answer.json.message], [422, /spec.ports: Too many: 5000: must have at most 2768 items/]);
  t.ok(ms < 3000, `${ms} ms, where claiming took seconds`);
  const left = server.store.changes.slice(changes).filter(({ prefix }) => prefix.includes("nodeports"));
  t.same(left, [], "nothing was claimed");
  const many = { ...body, spec: { ...body.spec, ports: ports.slice(0, 1000) } };
  t.equal((await server.call("POST", `${core}/services`, many)).code, 201);
});

scenario("F12: keys of managed fields that nest deep are a 422", async (t, server) => {
  const deep = (lead: string): object => {
    const key = `${lead}${"[".repeat(20_000)}${"]".repeat(20_000)}`;
    const named = lead === "k:" ? `k:{"a":${key.slice(2)}}` : key;
    const entry = { operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1", manager: "m" };
    return { metadata: { name: "c", managedFields: [{ ...entry, fieldsV1: { "f:data": { [named]: {} } } }] } };
  };
  for (const lead of ["k:", "v:"]) {
    const created = await server.call("POST", `${core}/configmaps`, deep(lead));
    t.match([created.code, created.json.message], [422, /metadata.managedFields\[0\].fieldsV1: Forbidden: /]);
  }
  t.equal((await server.call("POST", `${core}/configmaps`, { metadata: { name: "c" } })).code, 201);
  t.equal((await server.call("PUT", `${core}/configmaps/c`, deep("v:"))).code, 422);
  const merge = { "content-type": "application/merge-patch+json" };
  t.equal((await server.call("PATCH", `${core}/configmaps/c`, deep("k:"), merge)).code, 422);
});

/** A message of protobuf: the field `number` with these bytes, in the envelope of a kind. */
function field(number: number, bytes: Buffer): Buffer {
  const size: number[] = [];
  for (let rest = bytes.length; ; rest = Math.floor(rest / 128)) {
    size.push(rest < 128 ? rest : (rest % 128) + 128);
    if (rest < 128) break;
  }
  return Buffer.concat([Buffer.from([number * 8 + 2, ...size]), bytes]);
}

/** An object with `count` empty owner references, two bytes each. */
function ownersBomb(apiVersion: string, kind: string, count: number): Buffer {
  const type = Buffer.concat([field(1, Buffer.from(apiVersion)), field(2, Buffer.from(kind))]);
  // ownerReferences is the 13th field of ObjectMeta, metadata the first of every object.
  const raw = field(1, Buffer.from(Array.from({ length: count }, () => [13 * 8 + 2, 0]).flat()));
  return Buffer.concat([Buffer.from("k8s\0"), field(1, type), field(2, raw)]);
}

const proto = { "content-type": "application/vnd.kubernetes.protobuf" };

scenario("F16: questions, options and actions have a body limit of their own", async (t, server) => {
  const paths: readonly (readonly [method: string, path: string])[] = [
    ["POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"],
    ["POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews"],
    ["POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"],
    ["POST", `/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews`],
    ["POST", "/apis/authentication.k8s.io/v1/tokenreviews"],
    ["POST", `${core}/pods/p/binding`],
    ["POST", `${core}/bindings`],
    ["POST", `${core}/pods/p/eviction`],
    ["POST", `${core}/serviceaccounts/a/token`],
    ["DELETE", `${core}/pods/p`],
    ["DELETE", `${core}/pods`],
  ];
  const bomb = ownersBomb("authorization.k8s.io/v1", "SelfSubjectAccessReview", 1_500_000);
  const few = Buffer.alloc(limits.smallBodyBytesMax - 1, " ");
  for (const [method, path] of paths) {
    const { answer, ms } = await timed(500, () => server.call(method, path, bomb, proto));
    t.match([answer.code, answer.json.message], [413, /limit is 65536$/], `${method} ${path}`);
    t.ok(ms < 500, `${ms} ms, where it took 5.8 s`);
    t.not((await server.call(method, path, few, { "content-type": "application/json" })).code, 413, path);
  }
});

scenario("bodies of too many values are refused while they are read, in every format", async (t, server) => {
  const count = limits.bodyValuesMax + 1;
  const items = (item: string): string => Array.from({ length: count }, () => item).join(",");
  const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[${items("{}")}]}}`;
  const yaml = `apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n${"  - {}\n".repeat(count)}`;
  const merge = "application/merge-patch+json";
  await server.call("POST", `${core}/configmaps`, { metadata: { name: "c" } });
  const cases: readonly (readonly [method: string, path: string, body: string | Buffer, type: string])[] = [
    ["POST", `${core}/pods`, pod, "application/json"],
    ["POST", `${core}/pods`, yaml, "application/yaml"],
    ["POST", `${core}/pods`, ownersBomb("v1", "Pod", count), "application/vnd.kubernetes.protobuf"],
    ["PUT", `${core}/configmaps/c`, pod, "application/json"],
    ["PATCH", `${core}/configmaps/c`, `{"a":[${items("0")}]}`, merge],
    ["PATCH", `${core}/configmaps/c`, `[${items("[]")}]`, "application/json-patch+json"],
    ["PATCH", `${core}/configmaps/c`, `{"a":[${items("[]")}]}`, "application/strategic-merge-patch+json"],
    ["PATCH", `${core}/configmaps/c?fieldManager=m`, yaml, "application/apply-patch+yaml"],
    ["PATCH", `${core}/configmaps/c?fieldManager=m`, pod, "application/apply-patch+yaml"],
  ];
  for (const [method, path, body, type] of cases) {
    const answer = await server.call(method, path, Buffer.from(body), { "content-type": type });
    t.match([answer.code, answer.json.message], [413, /limit is 250000 values/], `${method} ${type}`);
  }
});
