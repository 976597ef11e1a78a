// The longest turn of a front, request by request, with objects near the limits.
import t from "tap";
import { leastOf } from "../support/cost.ts";
import { type InProcess, until } from "../support/inprocess.ts";
import { ask, longestTurn, openWithPool, type Sent } from "../support/turns.ts";

t.setTimeout(600_000);

type Json = Record<string, unknown>;

/** Bytes of the JSON of an object; with its field managers it stays below the 1.5 MiB the store takes. */
const mostBytes = 1_400_000;

const core = "/api/v1/namespaces/default";

/** What grows in an object: as many items as fit. */
function items<T>(bytes: number, make: (index: number) => T): T[] {
  const each = JSON.stringify(make(1000)).length + 1;
  return Array.from({ length: Math.floor(bytes / each) }, (_, index) => make(index));
}

function entries(bytes: number, value: string): Json {
  return Object.fromEntries(items(bytes, (index) => [`key-${index}`, value]).map(([key, v]) => [key, v]));
}

const containers = (bytes: number): object[] => [
  { name: "c", image: "i", env: items(bytes, (index) => ({ name: `VARIABLE_${index}`, value: `value ${index}` })) },
];

/** A kind with an object of about so many bytes. */
interface Subject {
  readonly path: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly make: (bytes: number) => Json;
  /** Bytes of the object where its managers take as much again. */
  readonly bytes?: number;
}

const subjects: Readonly<Record<string, Subject>> = {
  "a config map of one text": {
    path: `${core}/configmaps`,
    apiVersion: "v1",
    kind: "ConfigMap",
    bytes: 1_040_000,
    make: (bytes) => ({ data: { text: 'line "of" text\n'.repeat(bytes / 15) } }),
  },
  "a config map of keys": {
    path: `${core}/configmaps`,
    apiVersion: "v1",
    kind: "ConfigMap",
    bytes: mostBytes * 0.6,
    make: (bytes) => ({ data: entries(bytes, "some value") }),
  },
  "a pod": {
    path: `${core}/pods`,
    apiVersion: "v1",
    kind: "Pod",
    bytes: mostBytes * 0.4,
    make: (bytes) => ({ spec: { containers: containers(bytes) } }),
  },
};

/** Kinds with something of their own to default, validate or evaluate, taken through the steps that do it. */
const further: Readonly<Record<string, Subject>> = {
  "a deployment": {
    path: "/apis/apps/v1/namespaces/default/deployments",
    apiVersion: "apps/v1",
    kind: "Deployment",
    bytes: mostBytes * 0.4,
    make: (bytes) => ({
      spec: {
        selector: { matchLabels: { a: "b" } },
        template: { metadata: { labels: { a: "b" } }, spec: { containers: containers(bytes) } },
      },
    }),
  },
  "a role": {
    path: "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    make: (bytes) => ({
      rules: items(bytes, (index) => ({ apiGroups: ["g"], resources: [`things-${index}`], verbs: ["get"] })),
    }),
  },
  "an endpoint slice": {
    path: "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    make: () => ({
      addressType: "IPv4",
      endpoints: Array.from({ length: 1000 }, (_, index) => ({
        addresses: [`10.0.${index >> 8}.${index & 255}`],
        deprecatedTopology: entries(1000, "some value"),
      })),
      ports: [{ port: 80 }],
    }),
  },
  endpoints: {
    path: `${core}/endpoints`,
    apiVersion: "v1",
    kind: "Endpoints",
    bytes: mostBytes * 0.9,
    make: (bytes) => ({
      subsets: [
        {
          addresses: items(bytes, (index) => ({ ip: `10.0.${(index >> 8) & 255}.${index & 255}` })),
          ports: [{ port: 80 }],
        },
      ],
    }),
  },
  "a network policy": {
    path: "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    make: (bytes) => ({
      spec: {
        podSelector: {},
        ingress: [
          { from: items(bytes, (index) => ({ ipBlock: { cidr: `10.${(index >> 8) & 255}.${index & 255}.0/24` } })) },
        ],
      },
    }),
  },
};

const accepts = {
  JSON: "application/json",
  YAML: "application/yaml",
  protobuf: "application/vnd.kubernetes.protobuf",
  Table: "application/json;as=Table;g=meta.k8s.io;v=v1",
  metadata: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
};

/** A request of a subject, each time another one. */
type Step = (server: InProcess, subject: Subject, round: number) => Promise<() => Promise<Sent>>;

const json = { "content-type": "application/json" };

function documentOf(
  { apiVersion, kind, make, bytes = mostBytes }: Subject,
  name: string,
  more: Json = {},
): Record<string, Json> {
  const made = make(bytes);
  const metadata = {
    ...(made["metadata"] as Json | undefined),
    name,
    ...more,
  };
  return { apiVersion, kind, ...made, metadata } as unknown as Record<string, Json>;
}

const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

function creates(query: string): Step {
  return (server, subject, round) => {
    const body = bytesOf(documentOf(subject, `c${query.length}-${round}`));
    return Promise.resolve(() => ask(server, "POST", `${subject.path}${query}`, body, json));
  };
}

function gets(format: keyof typeof accepts, more: string): Step {
  return (server, subject) => {
    const target = `${subject.path}/o1${more}`;
    return Promise.resolve(() => ask(server, "GET", target, undefined, { accept: accepts[format] }));
  };
}

function lists(accept: string): Step {
  return (server, subject) => Promise.resolve(() => ask(server, "GET", subject.path, undefined, { accept }));
}

function patches(type: string, query: string, make: (whole: Json, round: number) => unknown): Step {
  return (server, subject, round) => {
    const whole = documentOf(subject, "o1", { annotations: { round: `${type}${round}` } }) as Json;
    delete (whole["metadata"] as Json)["managedFields"];
    const body = bytesOf(make(whole, round));
    const target = `${subject.path}/o1${query}`;
    return Promise.resolve(() => ask(server, "PATCH", target, body, { "content-type": type }));
  };
}

function watches(accept: string): Step {
  return (server, subject, round) => {
    const body = bytesOf([{ op: "add", path: "/metadata/labels", value: { watched: `${accept.length}-${round}` } }]);
    const type = { "content-type": "application/json-patch+json" };
    return Promise.resolve(async () => {
      const watch = ask(server, "GET", `${subject.path}?watch=1&timeoutSeconds=60`, undefined, { accept });
      await until(() => server.fanout.watcherCount === 1);
      await ask(server, "PATCH", `${subject.path}/o1`, body, type);
      for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
      await server.fanout.closeAll(1000);
      return watch;
    });
  };
}

/** Reads, patches and deletes of the further kinds are what they are for the others. */
const furtherSteps: readonly string[] = [
  "create",
  "strict create",
  "update",
  "strategic patch",
  "apply",
  "get as Table",
];

const steps: Readonly<Record<string, Step>> = {
  create: creates(""),
  "dry run": creates("?dryRun=All"),
  "strict create": creates("?fieldValidation=Strict"),
  "create of protobuf": async (server, subject, round) => {
    const target = `${subject.path}?dryRun=All`;
    const made = bytesOf(documentOf(subject, `p${round}`));
    const { chunks } = await ask(server, "POST", target, made, { ...json, accept: accepts.protobuf });
    return () => ask(server, "POST", target, Buffer.concat(chunks), { "content-type": accepts.protobuf });
  },
  "create of YAML": (server, subject, round) => {
    const body = bytesOf(documentOf(subject, `y${round}`));
    return Promise.resolve(() =>
      ask(server, "POST", `${subject.path}?dryRun=All`, body, { "content-type": "application/yaml" }),
    );
  },
  update: (server, subject, round) => {
    const body = bytesOf(documentOf(subject, "o1", { annotations: { round: `update${round}` } }));
    return Promise.resolve(() => ask(server, "PUT", `${subject.path}/o1`, body, json));
  },
  "JSON patch": patches("application/json-patch+json", "", (_, round) => [
    { op: "add", path: "/metadata/annotations", value: { round: `json${round}` } },
  ]),
  "merge patch": patches("application/merge-patch+json", "", (whole) => whole),
  "strategic patch": patches("application/strategic-merge-patch+json", "", (whole) => whole),
  apply: patches("application/apply-patch+yaml", "?fieldManager=m&force=true", (whole) => whole),
  "get as JSON": gets("JSON", ""),
  "get as pretty JSON": gets("JSON", "?pretty=true"),
  "get as YAML": gets("YAML", ""),
  "get as protobuf": gets("protobuf", ""),
  "get as Table": gets("Table", ""),
  "get as metadata": gets("metadata", ""),
  "list as JSON": lists(accepts.JSON),
  "list as YAML": lists(accepts.YAML),
  "list as protobuf": lists(accepts.protobuf),
  "list as Table": lists(accepts.Table),
  "list as metadata": lists("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
  "watch as JSON": watches(accepts.JSON),
  "watch as protobuf": watches(`${accepts.protobuf};stream=watch`),
  "watch as Table": watches(accepts.Table),
  delete: async (server, subject, round) => {
    const { code } = await ask(server, "POST", subject.path, bytesOf(documentOf(subject, `d${round}`)), json);
    if (code !== 201) throw new Error(`${code}`);
    return () => ask(server, "DELETE", `${subject.path}/d${round}`);
  },
  deletecollection: async (server, subject, round) => {
    for (const index of [1, 2, 3]) {
      const made = documentOf(subject, `l${index}-${round}`, { labels: { gone: "1" } });
      await ask(server, "POST", subject.path, bytesOf(made), json);
    }
    return () => ask(server, "DELETE", `${subject.path}?labelSelector=gone%3D1`);
  },
};

/** What the longest turn may take on a machine as fast as the one these bounds were found on, in milliseconds. */
const turnMsMax = 20;

/** What takes half of that on a calm machine, and how long it may: these bounds only go down (DECISIONS 61). */
const known: Readonly<Record<string, number>> = { "watch as Table": 30, deletecollection: 30 };

for (const [name, subject] of Object.entries({ ...subjects, ...further })) {
  t.test(`no turn of a front is longer than it may be: ${name}`, async (t) => {
    const { server, close } = await openWithPool();
    t.teardown(close);
    for (const index of [1, 2, 3]) {
      const made = await ask(server, "POST", subject.path, bytesOf(documentOf(subject, `o${index}`)), json);
      t.equal(made.code, 201, Buffer.concat(made.chunks).toString("utf8", 0, 200));
    }
    for (const [step, prepare] of Object.entries(steps)) {
      if (name in further && !furtherSteps.includes(step)) continue;
      const bound = known[step] ?? turnMsMax;
      let round = 0;
      const least = await leastOf(bound, async () => {
        const run = await prepare(server, subject, round);
        round += 1;
        return longestTurn(async () => {
          const { code } = await run();
          if (code >= 300 && code !== 413) t.fail(`${step}: ${code}`);
        });
      });
      t.ok(least <= bound, `${step}: ${least.toFixed(1)} ms of ${bound}`);
    }
    t.same(server.faults, []);
  });
}
