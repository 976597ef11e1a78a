// Requests with one part that grows, beside what test/fuzz/cost.test.ts draws from the schemas: patches of every type,
// selectors, headers, bodies with keys over and over. Each may cost what its size costs.
import t from "tap";
import { excessOf } from "../support/cost.ts";
import { type InProcess, openInProcess } from "../support/inprocess.ts";

const core = "/api/v1/namespaces/default";
const json = { "content-type": "application/json" };
const jsonPatch = { "content-type": "application/json-patch+json" };
const mergePatch = { "content-type": "application/merge-patch+json" };
const strategic = { "content-type": "application/strategic-merge-patch+json" };
const apply = { "content-type": "application/apply-patch+yaml" };

const list = <T>(bytes: number, make: (index: number) => T): T[] => {
  const each = JSON.stringify(make(10)).length + 1;
  return Array.from({ length: Math.ceil(bytes / each) }, (_, index) => make(index));
};

/** A request whose cost is measured. */
interface Ask {
  readonly method: string;
  readonly target: string;
  readonly body?: string | object;
  readonly headers?: Record<string, string>;
}

/** A kind of request: what it is at a size in bytes. */
type Shape = readonly [name: string, ask: (bytes: number) => Ask];

const patch = (target: string, body: object | string, headers: Record<string, string>): Ask => ({
  method: "PATCH",
  target: `${core}/${target}`,
  body,
  headers,
});
const pod = (containers: object[]): object => ({ spec: { containers } });
const owner = (index: number): object => ({ apiVersion: "v1", kind: "Pod", name: `n${index}`, uid: `u${index}` });
const manager = (operation: string) => (index: number) => ({
  manager: `m${index}`,
  operation,
  apiVersion: "v1",
  fieldsType: "FieldsV1",
  fieldsV1: { "f:data": { [`f:k${index}`]: {} } },
});

const patches: readonly Shape[] = [
  [
    "JSON patch: adds",
    (n) =>
      patch(
        "configmaps/c",
        list(n, (i) => ({ op: "add", path: `/data/k${i}`, value: "v" })),
        jsonPatch,
      ),
  ],
  [
    "JSON patch: tests",
    (n) =>
      patch(
        "configmaps/c",
        list(n, () => ({ op: "test", path: "/data/a", value: "b" })),
        jsonPatch,
      ),
  ],
  [
    "JSON patch: inserts in front",
    (n) =>
      patch(
        "configmaps/c",
        [
          { op: "add", path: "/metadata/finalizers", value: [] },
          ...list(n, (i) => ({ op: "add", path: "/metadata/finalizers/0", value: `a/${i}` })),
        ],
        jsonPatch,
      ),
  ],
  [
    "JSON patch: copies of what grows",
    (n) =>
      patch(
        "configmaps/c",
        list(n, (i) => ({ op: "copy", from: "/metadata", path: `/metadata/annotations/x${i}` })),
        jsonPatch,
      ),
  ],
  [
    "JSON patch: a long pointer",
    (n) => patch("configmaps/c", [{ op: "test", path: "/a~1".repeat(n / 4), value: 1 }], jsonPatch),
  ],
  [
    "merge patch: nulls",
    (n) => patch("configmaps/c", { data: Object.fromEntries(list(n, (i) => [`k${i}`, null])) }, mergePatch),
  ],
  ["strategic: items", (n) => patch("pods/p", pod(list(n, (i) => ({ name: `c${i}`, image: "i" }))), strategic)],
  ["strategic: the same item", (n) => patch("pods/p", pod(list(n, () => ({ name: "c", image: "i" }))), strategic)],
  [
    "strategic: items taken out",
    (n) => patch("pods/p", pod(list(n, (i) => ({ $patch: "delete", name: `c${i}` }))), strategic),
  ],
  [
    "strategic: order",
    (n) =>
      patch(
        "pods/p",
        { spec: { "$setElementOrder/containers": list(n, (i) => ({ name: `c${i}` })), containers: [{ name: "c" }] } },
        strategic,
      ),
  ],
  [
    "strategic: keys kept",
    (n) => patch("pods/p", { spec: { $retainKeys: list(n, (i) => `k${i}`), nodeName: "n" } }, strategic),
  ],
  [
    "strategic: values taken out",
    (n) =>
      patch(
        "configmaps/c",
        {
          metadata: {
            "$deleteFromPrimitiveList/finalizers": list(n, (i) => `a/${i}`),
            finalizers: list(n, (i) => `b/${i}`),
          },
        },
        strategic,
      ),
  ],
  [
    "apply: items",
    (n) =>
      patch(
        "pods/a?fieldManager=m",
        { apiVersion: "v1", kind: "Pod", ...pod(list(n, (i) => ({ name: `c${i}`, image: "i" }))) },
        apply,
      ),
  ],
  [
    "apply: the same item",
    (n) =>
      patch(
        "pods/a?fieldManager=m",
        { apiVersion: "v1", kind: "Pod", ...pod(list(n, () => ({ name: "c", image: "i" }))) },
        apply,
      ),
  ],
];

const post = (target: string, body: object | string): Ask => ({
  method: "POST",
  target: `${core}/${target}`,
  body,
  headers: json,
});
const doubled = (n: number): string => `{"metadata":{"name":"d"},"data":{${list(n, () => '"k":"v"').join(",")}}}`;

const creates: readonly Shape[] = [
  [
    "managers of updates",
    (n) => post("configmaps?dryRun=All", { metadata: { name: "m", managedFields: list(n, manager("Update")) } }),
  ],
  [
    "managers of applies",
    (n) => post("configmaps?dryRun=All", { metadata: { name: "m", managedFields: list(n, manager("Apply")) } }),
  ],
  ["owners", (n) => post("configmaps?dryRun=All", { metadata: { name: "m", ownerReferences: list(n, owner) } })],
  [
    "the same owner",
    (n) => post("configmaps?dryRun=All", { metadata: { name: "m", ownerReferences: list(n, () => owner(1)) } }),
  ],
  ["a key over and over", (n) => post("configmaps?dryRun=All", doubled(n))],
  ["a key over and over, told", (n) => post("configmaps?dryRun=All&fieldValidation=Warn", doubled(n))],
  [
    "unknown fields, told",
    (n) => post("configmaps?dryRun=All&fieldValidation=Warn", Object.fromEntries(list(n, (i) => [`x${i}`, 1]))),
  ],
  [
    "keys that are numbers",
    (n) =>
      post("configmaps?dryRun=All", {
        metadata: { name: "m" },
        data: Object.fromEntries(list(n, (i) => [`${i * 65_536}`, ""])),
      }),
  ],
];

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
const definition = (schema: object, query = ""): Ask => ({
  method: "POST",
  target: `${definitions}${query}`,
  body: {
    metadata: { name: "xs.g.example" },
    spec: {
      group: "g.example",
      names: { plural: "xs", singular: "x", kind: "X", listKind: "XList" },
      scope: "Namespaced",
      versions: [
        { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", ...schema } } },
      ],
    },
  },
});

/** Faults that name what grows, once each. */
const refused: readonly Shape[] = [
  [
    "keys of a list in a schema, none of which is a property",
    (n) =>
      definition({
        properties: {
          l: {
            type: "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": list(n, (i) => `k${i}`),
            items: { type: "object" },
          },
        },
      }),
  ],
  [
    "faults below a long name in a schema",
    (n) =>
      definition({
        properties: {
          ["x".repeat(n / 2)]: {
            type: "object",
            properties: Object.fromEntries(list(n / 2, (i) => [`p${i}`, { type: "y" }])),
          },
        },
      }),
  ],
  [
    "unknown fields below a long name in a schema",
    (n) =>
      definition(
        { properties: { ["x".repeat(n / 2)]: Object.fromEntries(list(n / 2, (i) => [`u${i}`, 1])) } },
        "&fieldValidation=Strict",
      ),
  ],
  [
    "a key over and over below a long name in a schema",
    (n) => {
      const { body, ...rest } = definition({ properties: { ["x".repeat(n / 2)]: {} } }, "&fieldValidation=Strict");
      return { ...rest, body: JSON.stringify(body).replace("{}", `{${list(n / 2, () => '"type":""').join(",")}}`) };
    },
  ],
  [
    "items of one key below a long name, created",
    (n) => post("pods?dryRun=All", pod([{ name: "x".repeat(n / 2), env: list(n / 2, () => ({ name: "A" })) }])),
  ],
  [
    "items of one key below a long name, applied",
    (n) =>
      patch(
        "pods/a?fieldManager=m",
        {
          apiVersion: "v1",
          kind: "Pod",
          ...pod([{ name: "x".repeat(n / 2), env: list(n / 2, () => ({ name: "A" })) }]),
        },
        apply,
      ),
  ],
  [
    "items without a key below a long name, applied",
    (n) =>
      patch(
        "pods/a?fieldManager=m",
        { apiVersion: "v1", kind: "Pod", ...pod([{ name: "x".repeat(n / 2), volumeMounts: list(n / 2, () => ({})) }]) },
        apply,
      ),
  ],
  [
    "patterns of a schema",
    (n) =>
      definition({
        properties: Object.fromEntries(list(n, (i) => [`p${i}`, { type: "string", pattern: `((a{10}){10}){10}${i}` }])),
      }),
  ],
];

const get = (target: string, headers: Record<string, string> = {}): Ask => ({
  method: "GET",
  target: `${core}/${target}`,
  headers,
});
const long = (n: number, part: (index: number) => string): string => list(n, part).join(",");

/** These cannot outgrow a request's head. */
const heads: readonly Shape[] = [
  ["terms of a label selector", (n) => get(`configmaps?labelSelector=${long(n, (i) => `a${i}`)}`)],
  ["the same term", (n) => get(`configmaps?labelSelector=${long(n, () => "a%3Db")}`)],
  ["values of a set", (n) => get(`configmaps?labelSelector=a+in+(${long(n, (i) => `v${i}`)})`)],
  ["parentheses", (n) => get(`configmaps?labelSelector=${"(".repeat(n)}`)],
  ["terms of a field selector", (n) => get(`configmaps?fieldSelector=${long(n, (i) => `metadata.name!%3Da${i}`)}`)],
  ["parameters", (n) => get(`configmaps?${list(n, (i) => `p${i}=1`).join("&")}`)],
  ["escapes", (n) => get(`configmaps?labelSelector=${"%41".repeat(n / 3)}`)],
  ["a continue token", (n) => get(`configmaps?limit=1&continue=${"A".repeat(n)}`)],
  ["a timeout", (n) => get(`configmaps?timeout=${"1".repeat(n)}`)],
  ["a resource version", (n) => get(`configmaps?resourceVersion=${"1".repeat(n)}`)],
  ["media ranges", (n) => get("configmaps", { accept: long(n, (i) => `a/b${i};q=0.5`) })],
  ["parameters of a media range", (n) => get("configmaps", { accept: `a/b${";a=b".repeat(n / 4)}` })],
  ["quotes of a media range", (n) => get("configmaps", { accept: `a/b;c="${"\\".repeat(n)}` })],
  [
    "a content type",
    (n) => ({ ...post("configmaps", {}), headers: { "content-type": `application/json${";a=b".repeat(n / 4)}` } }),
  ],
  [
    "a user agent",
    (n) => ({
      ...post("configmaps?dryRun=All", { metadata: { name: "u" } }),
      headers: { ...json, "user-agent": "é".repeat(n) },
    }),
  ],
  ["segments of a path", (n) => get(`configmaps${"/x".repeat(n / 2)}`)],
  [
    "extras of an impersonated user",
    (n) =>
      get("configmaps", {
        "impersonate-user": "u",
        "impersonate-group": "a".repeat(n),
        "impersonate-extra-a": "%41".repeat(n / 3),
      }),
  ],
];

/** Measures each shape from a few KiB to `to` bytes. */
function measure(
  title: string,
  shapes: readonly Shape[],
  to: number,
  before: (server: InProcess) => Promise<unknown>,
): void {
  t.test(title, async (t) => {
    const server = await openInProcess();
    t.teardown(() => server.close());
    await before(server);
    for (const [name, ask] of shapes) {
      const excess = await excessOf(
        (size) => {
          const { body, ...rest } = ask(size);
          return { ...rest, text: typeof body === "object" ? JSON.stringify(body) : body };
        },
        ({ method, target, text, headers }) => server.call(method, target, text, headers ?? {}),
        2048,
        to,
      );
      t.equal(excess, undefined, name);
    }
    t.same(server.faults, []);
  });
}

const stored = async (server: InProcess): Promise<void> => {
  await server.call("POST", `${core}/configmaps`, {
    metadata: { name: "c", annotations: { a: "b" } },
    data: { a: "b" },
  });
  await server.call("POST", `${core}/pods`, { metadata: { name: "p" }, ...pod([{ name: "c", image: "i" }]) });
};

measure("patches cost what their size costs", patches, 256 * 1024, stored);
measure("what is created costs what its size costs", creates, 512 * 1024, stored);
measure("what is refused costs what its size costs", refused, 512 * 1024, stored);
measure("paths, queries and headers cost what their size costs", heads, 64 * 1024, stored);

t.test("a table of endpoints with many addresses and ports costs what its rows cost", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const make = async (size: number): Promise<string> => {
    const addresses = list(size / 2, (index) => ({ ip: `10.0.${(index >> 8) & 255}.${index & 255}` })).slice(0, 1000);
    const ports = list(size / 2, (index) => ({ name: `p${index}`, port: (index % 65_535) + 1 }));
    const body = { metadata: { name: `e${size}` }, subsets: [{ addresses, ports }] };
    t.equal((await server.call("POST", `${core}/endpoints`, body)).code, 201);
    return `${core}/endpoints/e${size}`;
  };
  const accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
  const excess = await excessOf(make, (path) => server.call("GET", path, undefined, { accept }), 2048, 512 * 1024);
  t.equal(excess, undefined);
});

t.test("an object with many finalizers is deleted at the cost of its size", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  let count = 0;
  const make = async (size: number): Promise<string> => {
    const name = `c${(count += 1)}`;
    const finalizers = list(size, (index) => `a/${index}`);
    await server.call("POST", `${core}/configmaps`, { metadata: { name, finalizers } });
    return `${core}/configmaps/${name}`;
  };
  const excess = await excessOf(make, (path) => server.call("DELETE", path), 2048, 512 * 1024);
  t.equal(excess, undefined);
});
