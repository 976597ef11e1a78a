// What was done to the log is compared with what RBAC grants: every verb of writing, every form of patch, subresources
// and dry runs, on objects that are there and on objects that are not, by users who each hold one right only.
import t, { type Test } from "tap";
import type { Resource } from "../../../src/api/scheme.ts";
import type { User } from "../../../src/api/user.ts";
import { type Attributes, type Authorizer, inOrder, masters } from "../../../src/authz/authorizer.ts";
import { Rbac } from "../../../src/authz/rbac.ts";
import {
  type Access,
  type Operation,
  RequestPermit,
  UnauthorizedAccess,
} from "../../../src/request/exchange/permit.ts";
import { type Change, changeTypes } from "../../../src/storage/store.ts";
import { type Answer, type InProcess, openInProcess } from "../../support/inprocess.ts";
import { signingRequest } from "../../support/signing.ts";

const apiGroup = "rbac.authorization.k8s.io";

/** A user with one rule. */
interface Person {
  readonly name: string;
  readonly verbs: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
}

const all = ["*"];
const people: readonly Person[] = [
  { name: "everything", verbs: all, resources: all },
  { name: "creator", verbs: ["create"], resources: all },
  { name: "updater", verbs: ["update"], resources: all },
  { name: "patcher", verbs: ["patch"], resources: all },
  { name: "deleter", verbs: ["delete"], resources: all },
  { name: "clearer", verbs: ["deletecollection"], resources: all },
  { name: "namer", verbs: ["create", "patch"], resources: all, resourceNames: ["y"] },
  {
    name: "parts",
    verbs: all,
    resources: ["*/status", "*/scale", "*/finalize", "*/approval", "*/ephemeralcontainers"],
  },
  { name: "mover", verbs: ["create"], resources: ["pods/eviction", "pods/binding"] },
];

/** Whether a rule allows something, told from its text alone. */
function may({ verbs, resources, resourceNames = [] }: Person, asked: Omit<Attributes, "user">): boolean {
  const { verb, resource, subresource, name } = asked;
  const full = subresource === "" ? resource : `${resource}/${subresource}`;
  const matches = (one: string): boolean =>
    one === "*" || one === full || (subresource !== "" && one === `*/${subresource}`);
  if (resourceNames.length > 0 && !resourceNames.includes(name)) return false;
  return (verbs.includes("*") || verbs.includes(verb)) && resources.some(matches);
}

const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } };
const selector = { matchLabels: { a: "b" } };
const roleRef = { apiGroup, kind: "ClusterRole", name: "everything" };
const webhook = {
  name: "a.b.c",
  clientConfig: { url: "https://127.0.0.1:1/" },
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
};

const request = Buffer.from(await signingRequest("CN=dev")).toString("base64");

/** What kinds need besides a name, by plural. */
const contents: Readonly<Record<string, object>> = {
  pods: { spec: template.spec },
  podtemplates: { template },
  replicationcontrollers: { spec: { selector: selector.matchLabels, template } },
  services: { spec: { ports: [{ port: 80 }] } },
  persistentvolumes: {
    spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/x" } },
  },
  persistentvolumeclaims: {
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  },
  deployments: { spec: { selector, template } },
  replicasets: { spec: { selector, template } },
  daemonsets: { spec: { selector, template } },
  statefulsets: { spec: { selector, template, serviceName: "s" } },
  controllerrevisions: { revision: 1, data: {} },
  jobs: { spec: { template: { spec: { ...template.spec, restartPolicy: "Never" } } } },
  cronjobs: {
    spec: {
      schedule: "* * * * *",
      jobTemplate: { spec: { template: { spec: { ...template.spec, restartPolicy: "Never" } } } },
    },
  },
  horizontalpodautoscalers: { spec: { maxReplicas: 2, scaleTargetRef: { kind: "Deployment", name: "x" } } },
  rolebindings: { roleRef },
  clusterrolebindings: { roleRef },
  networkpolicies: { spec: { podSelector: {} } },
  ingresses: { spec: { defaultBackend: { service: { name: "s", port: { number: 80 } } } } },
  ingressclasses: { spec: { controller: "a.b/c" } },
  storageclasses: { provisioner: "a.b/c" },
  csidrivers: { spec: {} },
  csinodes: { spec: { drivers: [] } },
  volumeattachments: { spec: { attacher: "a", nodeName: "n", source: { persistentVolumeName: "x" } } },
  priorityclasses: { value: 1 },
  runtimeclasses: { handler: "h" },
  endpointslices: { addressType: "IPv4", endpoints: [] },
  validatingwebhookconfigurations: { webhooks: [webhook] },
  mutatingwebhookconfigurations: { webhooks: [webhook] },
  poddisruptionbudgets: { spec: { selector, minAvailable: 1 } },
  csistoragecapacities: { storageClassName: "x" },
  podsecuritypolicies: {
    spec: Object.fromEntries(
      ["seLinux", "runAsUser", "supplementalGroups", "fsGroup"].map((name) => [name, { rule: "RunAsAny" }]),
    ),
  },
  flowschemas: { spec: { priorityLevelConfiguration: { name: "x" }, matchingPrecedence: 100 } },
  prioritylevelconfigurations: {
    spec: { type: "Limited", limited: { assuredConcurrencyShares: 1, limitResponse: { type: "Reject" } } },
  },
  certificatesigningrequests: { spec: { request, signerName: "a.b/c", usages: ["client auth"] } },
};

/** Events have other words in each of their groups. */
function eventOf(group: string): object {
  if (group === "") return { involvedObject: { namespace: "a" }, reason: "r" };
  const how = {
    action: "a",
    reportingController: "a.b/c",
    reportingInstance: "i",
    eventTime: "2026-01-02T03:04:05.000000Z",
  };
  return { regarding: { namespace: "a" }, reason: "r", type: "Normal", ...how };
}

function rootOf({ group, version, namespaced }: Resource): string {
  return `${group === "" ? `/api/${version}` : `/apis/${group}/${version}`}${namespaced ? "/namespaces/a" : ""}`;
}

function objectOf({ group, apiVersion, kind, resource, namespaced }: Resource, name: string): Record<string, unknown> {
  const metadata = { name, ...(namespaced ? { namespace: "a" } : {}) };
  return { apiVersion, kind, metadata, ...(resource === "events" ? eventOf(group) : contents[resource]) };
}

interface Case {
  readonly resource: Resource;
  readonly method: string;
  readonly path: string;
  /** What the method means to authorization. */
  readonly verb: string;
  readonly subresource: string;
  /** Empty: a collection. */
  readonly name: string;
  readonly body?: unknown;
  readonly type?: string;
}

const patches: readonly (readonly [type: string, body: (whole: object) => unknown])[] = [
  ["application/merge-patch+json", () => ({ metadata: { labels: { c: "d" } } })],
  ["application/strategic-merge-patch+json", () => ({ metadata: { labels: { c: "d" } } })],
  ["application/json-patch+json", () => [{ op: "add", path: "/metadata/annotations", value: { c: "d" } }]],
  ["application/apply-patch+yaml", (whole) => whole],
];

/** Every way to change something of a kind; the query of an apply names its manager. */
function casesOf(resource: Resource): Case[] {
  const base = `${rootOf(resource)}/${resource.resource}`;
  const created = objectOf(resource, "y");
  const cases: Omit<Case, "resource">[] = [
    { method: "POST", path: base, verb: "create", subresource: "", name: "", body: created },
    { method: "DELETE", path: base, verb: "deletecollection", subresource: "", name: "" },
  ];
  for (const name of ["x", "y"]) {
    for (const subresource of ["", ...resource.subresources.map((one) => one.name)]) {
      const path = subresource === "" ? `${base}/${name}` : `${base}/${name}/${subresource}`;
      const at = { path, subresource, name };
      const whole =
        subresource === "" || subresource === "status" ? objectOf(resource, name) : sentTo(subresource, name);
      cases.push({ ...at, method: "PUT", verb: "update", body: whole });
      for (const [type, bodyOf] of patches) {
        const apply = type.includes("apply") ? { path: `${path}?fieldManager=m&force=true` } : {};
        cases.push({ ...at, ...apply, method: "PATCH", verb: "patch", body: bodyOf(whole), type });
      }
      if (subresource !== "") cases.push({ ...at, method: "POST", verb: "create", body: whole });
      cases.push({ ...at, method: "DELETE", verb: "delete" });
    }
  }
  const both = cases.flatMap((one) => [
    one,
    { ...one, path: `${one.path}${one.path.includes("?") ? "&" : "?"}dryRun=All` },
  ]);
  return both.map((one) => ({ resource, ...one }));
}

function sentTo(subresource: string, name: string): object {
  const metadata = { name, namespace: "a" };
  switch (subresource) {
    case "scale":
      return { apiVersion: "autoscaling/v1", kind: "Scale", metadata, spec: { replicas: 3 } };
    case "eviction":
      return { apiVersion: "policy/v1", kind: "Eviction", metadata };
    case "binding":
      return { apiVersion: "v1", kind: "Binding", metadata, target: { kind: "Node", name: "n" } };
    case "token":
      return { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    default:
      return { metadata: { name } };
  }
}

/** A server whose log is put back after each request. */
class Stage {
  readonly server: InProcess;
  readonly asked: Attributes[] = [];
  readonly #first = new Map<string, Change>();
  readonly #rbac: Authorizer;

  constructor(server: InProcess) {
    this.server = server;
    this.#rbac = inOrder([masters, new Rbac(server.scheme.identity, server.objects)]);
    server.authorizer = {
      authorize: async (attributes) => {
        const decision = await this.#rbac.authorize(attributes);
        if (decision.verdict === "allow") this.asked.push(attributes);
        return decision;
      },
    };
  }

  /** From here on what is stored is what every request finds. */
  settle(): void {
    for (const change of this.server.store.changes) {
      if (change.type === changeTypes.delete) this.#first.delete(change.key);
      else this.#first.set(change.key, change);
    }
  }

  /** One request by one user: its answer, and what it did to the log. */
  async ask(user: User, { method, path, body, type }: Case): Promise<{ answer: Answer; done: readonly Change[] }> {
    const { server } = this;
    const from = server.store.changes.length;
    this.asked.length = 0;
    server.user = user;
    const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
    const answer = await server.call(method, path, body, headers);
    const done = server.store.changes.slice(from);
    this.#undo(done, from);
    return { answer, done };
  }

  #undo(done: readonly Change[], from: number): void {
    const last = new Map(done.map((change, index) => [change.key, { change, revision: from + index + 1 }]));
    for (const [key, { change, revision }] of last) {
      const first = this.#first.get(key);
      const gone = change.type === changeTypes.delete;
      const expected = gone ? 0 : revision;
      const { create, update, delete: remove } = changeTypes;
      if (first !== undefined) this.server.store.apply({ ...first, type: gone ? create : update, expected });
      else if (!gone) this.server.store.apply({ ...change, type: remove, expected });
    }
  }
}

async function open(t: Test): Promise<Stage> {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const stage = new Stage(server);
  const post = async (path: string, body: object): Promise<void> => {
    const { code, text } = await server.call("POST", path, body);
    if (code !== 201) throw new Error(`${path}: ${text}`);
  };
  await post("/api/v1/namespaces", { metadata: { name: "a" } });
  for (const { name, verbs, resources, resourceNames } of people) {
    const rules = [{ verbs, apiGroups: all, resources, ...(resourceNames === undefined ? {} : { resourceNames }) }];
    await post(`/apis/${apiGroup}/v1/clusterroles`, { metadata: { name }, rules });
    const subjects = [{ kind: "User", apiGroup, name }];
    const binding = { metadata: { name }, roleRef: { ...roleRef, name }, subjects };
    await post(`/apis/${apiGroup}/v1/clusterrolebindings`, binding);
  }
  return stage;
}

/** The stored kinds, each at one version. */
function kindsOf({ scheme }: InProcess): Resource[] {
  return scheme.resources
    .filter((resource) => resource.stored === resource || (resource.stored?.group ?? "") !== resource.group)
    .filter(({ stored }) => stored !== undefined);
}

/** What the server does of its own to keep its books. */
function isBeside({ key }: Change, { resource, subresource }: Case): boolean {
  if (key.startsWith("/registry/ranges/")) return resource.resource === "services";
  if (key.startsWith("/registry/poddisruptionbudgets/")) return subresource === "eviction";
  return resource.resource === "services" && key.startsWith("/registry/services/endpoints/");
}

/** What a request is to authorization. */
function sentAs({ resource, verb, subresource, name }: Case): Omit<Attributes, "user"> {
  const { group, version } = resource;
  const isNamespace = group === "" && resource.resource === "namespaces";
  const namespace = resource.namespaced ? "a" : isNamespace ? name : "";
  return {
    verb,
    isResource: true,
    group,
    version,
    resource: resource.resource,
    subresource,
    namespace,
    name,
    path: "",
  };
}

/** What must have been allowed for a change, all of it. */
function needed({ type, key }: Change, one: Case): Omit<Attributes, "user">[] {
  const sent = sentAs(one);
  if (type !== changeTypes.create || one.verb === "create") return [sent];
  return [sent, { ...sent, verb: "create", subresource: "", name: nameIn(key) }];
}

function nameIn(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1);
}

/** What is wrong with what came of a request; undefined: nothing. */
function fault(
  stage: Stage,
  person: Person,
  one: Case,
  { answer, done }: Awaited<ReturnType<Stage["ask"]>>,
): string | undefined {
  const { code, text } = answer;
  // There is no way to a node yet.
  if (code >= 500 && !(code === 503 && one.subresource === "proxy")) return `${code} ${text}`;
  const changes = done.filter((change) => !isBeside(change, one));
  if (changes.length > 0 && one.path.includes("dryRun")) return "a dry run changed something";
  if (done.length > 0 && (code >= 300 || changes.length === 0)) return `answered ${code} and changed ${done[0]?.key}`;
  for (const change of changes) {
    for (const asked of needed(change, one)) {
      const what = `${asked.verb} ${asked.resource}/${asked.subresource} ${asked.name}`;
      if (!may(person, asked)) return `changed ${change.key} without the right to ${what}`;
      const same = (other: Attributes): boolean =>
        (["verb", "group", "resource", "subresource", "namespace", "name"] as const).every(
          (k) => other[k] === asked[k],
        );
      if (!stage.asked.some(same)) return `changed ${change.key} without asking for ${what}`;
    }
  }
  return undefined;
}

t.test("what was done to the log is what RBAC grants, for every verb, user and form, there or not", async (t) => {
  const stage = await open(t);
  const { server } = stage;
  const kinds = kindsOf(server);
  const present = new Set<Resource>();
  for (const kind of kinds) {
    const { code } = await server.call("POST", `${rootOf(kind)}/${kind.resource}`, objectOf(kind, "x"));
    if (code === 201 || code === 409) present.add(kind);
  }
  t.strictSame(
    kinds.filter((kind) => !present.has(kind)).map(({ group, resource }) => `${group}/${resource}`),
    // Their names say what they are of.
    ["apiregistration.k8s.io/apiservices", "apiextensions.k8s.io/customresourcedefinitions"],
    "all others can be made",
  );
  stage.settle();
  const wrong: string[] = [];
  const counts = { asked: 0, created: 0, updated: 0, removed: 0, madeOtherwise: 0, refusedAsCreate: 0 };
  for (const one of kinds.flatMap(casesOf)) {
    // The roles themselves must stay.
    if (one.verb === "deletecollection" && one.resource.group === apiGroup) continue;
    const codes = new Map<string, number>();
    for (const person of people) {
      const user: User = { name: person.name, uid: "", groups: ["system:authenticated"], extra: new Map() };
      const result = await stage.ask(user, one);
      codes.set(person.name, result.answer.code);
      counts.asked += 1;
      for (const { type } of result.done) {
        if (type === changeTypes.create) counts.created += 1;
        else if (type === changeTypes.update) counts.updated += 1;
        else counts.removed += 1;
        if (type === changeTypes.create && one.verb !== "create") counts.madeOtherwise += 1;
      }
      const why = fault(stage, person, one, result);
      const label = `${person.name}: ${one.method} ${one.path} (${one.type ?? "-"})`;
      if (why !== undefined) wrong.push(`${label}: ${why}`);
      const asCreate = one.verb !== "create" && result.answer.text.includes("cannot create resource");
      if (result.answer.code === 403 && asCreate && may(person, sentAs(one))) counts.refusedAsCreate += 1;
    }
    // A dry run is authorized as what it tries.
    if (codes.get("everything") === 201 && one.verb !== "create") {
      for (const name of ["updater", "patcher", "creator", "deleter", "clearer", "parts", "mover"]) {
        if (codes.get(name) !== 403) wrong.push(`${name}: ${one.method} ${one.path}: ${codes.get(name)}`);
      }
    }
  }
  t.strictSame(wrong.slice(0, 20), [], `${wrong.length} of ${counts.asked}`);
  t.strictSame(server.faults, []);
  t.ok(counts.asked > 10_000, `${counts.asked} requests`);
  t.ok(counts.madeOtherwise > 60, `${counts.madeOtherwise} objects made by PUT and apply`);
  t.ok(counts.refusedAsCreate > 60, `${counts.refusedAsCreate} refused`);
  t.ok(counts.updated > 200 && counts.removed > 100, JSON.stringify(counts));
});

t.test("RequestPermit.check() lets pass what follows from what was allowed, and nothing else", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const { scheme } = server;
  const user: User = { name: "u", uid: "", groups: [], extra: new Map() };
  const asking = { isResource: true, group: "", version: "v1", subresource: "", namespace: "a", name: "x", path: "" };
  const rows: readonly (readonly [verb: string, what: string, name: string, operations: string])[] = [
    ["get", "pods", "x", "read"],
    ["list", "pods", "", "read"],
    ["create", "pods", "", "create"],
    ["update", "pods", "x", "update release"],
    ["patch", "pods/status", "x", "update release"],
    ["delete", "pods", "x", "update delete"],
    ["deletecollection", "pods", "", "update delete"],
    ["create", "pods/eviction", "x", "update delete"],
    ["create", "pods/binding", "x", "update"],
    ["create", "bindings", "", "update"],
    ["create", "pods/exec", "x", ""],
    ["delete", "pods/status", "x", ""],
    ["create", "serviceaccounts/token", "x", ""],
    ["impersonate", "pods", "x", ""],
  ];
  const pods = scheme.find("", "v1", "pods");
  const others = ["configmaps", "nodes"].map((name) => scheme.find("", "v1", name));
  const kinds: readonly Operation[] = ["read", "create", "update", "release", "delete"];
  for (const [verb, what, name, operations] of rows) {
    const [resource = "", subresource = ""] = what.split("/");
    const asked = { ...asking, verb, resource, subresource, name };
    const permit = new RequestPermit(scheme, masters, user, asked, undefined);
    const passes = (access: Access): boolean => {
      try {
        permit.check(access);
        return true;
      } catch (error) {
        t.ok(error instanceof UnauthorizedAccess);
        return false;
      }
    };
    if (pods === undefined) throw new Error("there are pods");
    const done = kinds.filter((operation) => passes({ operation, resource: pods, namespace: "a", name: "x" }));
    t.equal(done.join(" "), operations, `${verb} ${what}`);
    const elsewhere = kinds.filter((operation) => passes({ operation, resource: pods, namespace: "b", name: "x" }));
    const another = kinds.filter((operation) => passes({ operation, resource: pods, namespace: "a", name: "z" }));
    t.same(elsewhere, [], `${verb} ${what} in another namespace`);
    t.equal(another.join(" "), name === "" ? operations : "", `${verb} ${what} by another name`);
    for (const other of others) {
      if (other === undefined) throw new Error("there are others");
      const place = { resource: other, namespace: other.namespaced ? "a" : "", name: "x" };
      t.same(
        kinds.filter((operation) => passes({ operation, ...place })),
        [],
        `${verb} ${what}: ${other.resource}`,
      );
    }
  }
  t.end();
});

t.test("mayCreate() adds the create of the object a request names, as long as it is allowed", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const resource = server.scheme.find("events.k8s.io", "v1", "events");
  if (resource === undefined) throw new Error("there are events");
  const user: User = { name: "u", uid: "", groups: [], extra: new Map() };
  const group = "events.k8s.io";
  const at = { isResource: true, group, version: "v1", resource: "events", namespace: "a", name: "x", path: "/p" };
  let verdict: "allow" | "none" = "allow";
  const asked: Attributes[] = [];
  const authorizer: Authorizer = {
    authorize: (attributes) => {
      asked.push(attributes);
      return { verdict, reason: "" };
    },
  };
  const decided: string[] = [];
  const permit = new RequestPermit(server.scheme, authorizer, user, { ...at, verb: "patch", subresource: "" }, (one) =>
    decided.push(one.verdict),
  );
  // What is stored is stored by another group.
  const access: Access = { operation: "create", resource: resource.stored ?? resource, namespace: "a", name: "x" };
  t.throws(() => permit.check(access), UnauthorizedAccess);
  t.equal(await permit.mayCreate(), undefined);
  t.strictSame(asked, [{ ...at, verb: "create", subresource: "", user, spans: undefined }]);
  permit.check(access);
  t.throws(() => permit.check({ ...access, name: "y" }), UnauthorizedAccess);
  verdict = "none";
  const refused = await permit.mayCreate();
  t.equal(refused?.code, 403);
  const why = 'User "u" cannot create resource "events" in API group "events.k8s.io" in the namespace "a"';
  t.equal(refused?.message, `events.events.k8s.io "x" is forbidden: ${why}`);
  t.throws(() => permit.check(access), UnauthorizedAccess);
  t.strictSame(decided, ["allow", "none"]);
});
