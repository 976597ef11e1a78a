// Every verb on every resource and subresource by twelve users, over both fronts: what was authorized must be what
// storage was asked for, and a refusal must leave storage alone. The same for paths that are encoded in odd ways
// (ATTACKS A02, A06, A07).
import { Agent, request } from "node:http";
import t, { type Test } from "tap";
import type { Resource } from "../../src/api/scheme.ts";
import type { User } from "../../src/api/user.ts";
import { type Attributes, type Authorizer, inOrder, masters } from "../../src/authz/authorizer.ts";
import { NodeAuthorizer } from "../../src/authz/node.ts";
import { Rbac } from "../../src/authz/rbac.ts";
import type { Fanout, WatchRequest } from "../../src/cache/fanout/fanout.ts";
import type { LogView } from "../../src/cache/view/view.ts";
import type { Server, ServerParts } from "../../src/request/call/context.ts";
import { createHandler } from "../../src/request/handle.ts";
import { pinnedName } from "../../src/request/route/selectors.ts";
import { createWriteServices } from "../../src/request/write/services.ts";
import { type FrontUnderTest, fronts, Stand } from "../http/fronts.ts";
import { type InProcess, openInProcess } from "../support/inprocess.ts";

t.setTimeout(600_000);

const noRegistrations = { register: () => Promise.resolve(false), giveUp: () => Promise.resolve(false) };

const apiGroup = "rbac.authorization.k8s.io";

/** What storage was asked for. An empty name: a collection. */
interface Touch {
  readonly prefix: string;
  readonly namespace: string;
  readonly name: string;
  readonly how: "read" | "scan" | "watch" | "write";
}

type Wanted = Omit<Attributes, "user" | "path">;

/** A user, and an opinion of our own on what they may: told from the question alone. */
interface Person {
  readonly user: User;
  readonly may: (asked: Attributes) => boolean;
  /** Rules of a cluster role; `in`: the namespace it is bound in. */
  readonly rules?: readonly Record<string, readonly string[]>[];
  readonly in?: string;
  /** Bound by group instead of name. */
  readonly group?: string;
}

const all = ["*"];
const reading = ["get", "list", "watch"];
const writing = ["create", "update", "patch", "delete", "deletecollection"];

function person(name: string, may: Person["may"], more: Partial<Person> & { groups?: string[] } = {}): Person {
  const { groups = [], ...rest } = more;
  return { user: { name, uid: "", groups: [...groups, "system:authenticated"], extra: new Map() }, may, ...rest };
}

function rule(verbs: readonly string[], resources: readonly string[], more: Record<string, readonly string[]> = {}) {
  return { verbs, apiGroups: all, resources, ...more };
}

const people: readonly Person[] = [
  person("admin", () => true, { groups: ["system:masters"] }),
  person("stranger", () => false),
  {
    user: { name: "system:anonymous", uid: "", groups: ["system:unauthenticated"], extra: new Map() },
    may: () => false,
  },
  person("reader", ({ verb, isResource }) => isResource && reading.includes(verb), { rules: [rule(reading, all)] }),
  person("writer", ({ verb, isResource }) => isResource && writing.includes(verb), { rules: [rule(writing, all)] }),
  person("local", ({ namespace, isResource }) => isResource && namespace === "a", { rules: [rule(all, all)], in: "a" }),
  person("elsewhere", ({ namespace, isResource }) => isResource && namespace === "b", {
    rules: [rule(all, all)],
    in: "b",
  }),
  person("named", ({ name, isResource }) => isResource && name === "x", {
    rules: [rule(all, all, { resourceNames: ["x"] })],
  }),
  person("states", ({ subresource }) => subresource === "status", { rules: [rule(all, ["*/status"])] }),
  person("scaler", ({ subresource }) => subresource === "scale", { rules: [rule(all, ["*/scale"])] }),
  person("member", ({ verb, resource, subresource }) => verb === "get" && resource === "pods" && subresource === "", {
    groups: ["ops"],
    group: "ops",
    rules: [rule(["get"], ["pods"])],
  }),
  person("system:node:n1", mayNode, { groups: ["system:nodes"] }),
];

/** What a node may of what the matrix asks: its role, less what only pods of its own could give it. */
function mayNode({ verb, group, resource, subresource, isResource }: Attributes): boolean {
  if (!isResource || group === "events.k8s.io") return false;
  const plain = subresource === "";
  switch (resource) {
    case "services":
    case "runtimeclasses":
    case "csidrivers":
      return plain && reading.includes(verb);
    case "endpoints":
      return plain && verb === "get";
    case "nodes":
      return plain ? [...reading, "create", "update", "patch"].includes(verb) : isStatusWrite(verb, subresource);
    case "pods":
      if (subresource === "eviction") return verb === "create";
      return plain ? [...reading, "create", "delete"].includes(verb) : isStatusWrite(verb, subresource);
    case "events":
      return plain && ["create", "update", "patch"].includes(verb);
    case "certificatesigningrequests":
      return plain && ["create", ...reading].includes(verb);
    case "tokenreviews":
    case "subjectaccessreviews":
    case "localsubjectaccessreviews":
      return verb === "create";
    case "csinodes":
      return plain && verb === "create";
    default:
      return false;
  }
}

function isStatusWrite(verb: string, subresource: string): boolean {
  return subresource === "status" && (verb === "update" || verb === "patch");
}

/** A server whose storage and authorizer are watched. */
class Watched {
  readonly inner: InProcess;
  readonly touches: Touch[] = [];
  readonly asked: Attributes[] = [];
  readonly verdicts: boolean[] = [];
  readonly server: Server;
  readonly #views = new Map<string, LogView>();

  constructor(inner: InProcess) {
    this.inner = inner;
    const { server } = inner;
    const { identity } = server;
    const modes: Authorizer = inOrder([
      masters,
      new NodeAuthorizer(identity, server.objects),
      new Rbac(identity, server.objects),
    ]);
    const views = server.views;
    const parts: ServerParts = {
      ...server,
      authn: {
        ...server.authn,
        authenticate: ({ headers }) => people[Number(headers.find(([name]) => name === "x-person")?.[1])]?.user,
      },
      authorizer: {
        authorize: async (attributes) => {
          const decision = await modes.authorize(attributes);
          this.asked.push(attributes);
          this.verdicts.push(decision.verdict === "allow");
          return decision;
        },
      },
      views: {
        ...noRegistrations,
        log: (prefix) => this.#watchedView(views.log(prefix)),
        find: (prefix) => this.#watchedView(views.log(prefix)),
        revision: 0,
      },
      fanout: this.#watchedFanout(server.fanout),
      store: {
        commit: (change) => {
          const key = change.key.slice(change.prefix.length + 1);
          const [namespace, name] = key.includes("/") ? key.split("/") : ["", key];
          this.touches.push({ prefix: change.prefix, namespace: namespace ?? "", name: name ?? "", how: "write" });
          return inner.store.commit(change);
        },
      } as Server["store"],
    };
    this.server = { ...parts, writers: createWriteServices(parts) };
  }

  forget(): void {
    this.touches.length = 0;
    this.asked.length = 0;
    this.verdicts.length = 0;
  }

  #watchedView(view: LogView): LogView {
    const { prefix } = view;
    const known = this.#views.get(prefix);
    if (known !== undefined) return known;
    const note = (how: Touch["how"], namespace: string, name: string): void =>
      void this.touches.push({ prefix, namespace, name, how });
    const watched = new Proxy(view, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          if (property === "get" || property === "getAt") note("read", String(args[0]), String(args[1]));
          if (property === "scan") note("scan", String(args[0]), "");
          return (value as (...all: unknown[]) => unknown).apply(target, args);
        };
      },
    });
    this.#views.set(prefix, watched);
    return watched;
  }

  #watchedFanout(fanout: Fanout): Fanout {
    const watch = ({ view, namespace, selector, sink, ended }: WatchRequest): (() => void) => {
      this.touches.push({ prefix: view.prefix, namespace, name: pinnedName(selector) ?? "", how: "watch" });
      sink.end();
      ended?.();
      return () => undefined;
    };
    return { watch, watcherCount: fanout.watcherCount } as unknown as Fanout;
  }
}

async function open(t: Test): Promise<Watched> {
  const inner = await openInProcess();
  t.teardown(() => inner.close());
  const post = async (path: string, body: object): Promise<void> => {
    const { code, text } = await inner.call("POST", path, body);
    if (code !== 201) throw new Error(text);
  };
  for (const name of ["a", "b", "x"]) await post("/api/v1/namespaces", { metadata: { name } });
  for (const namespace of ["a", "b"]) {
    for (const resource of ["configmaps", "serviceaccounts", "endpoints"]) {
      await post(`/api/v1/namespaces/${namespace}/${resource}`, { metadata: { name: "x" } });
    }
    const spec = { containers: [{ name: "c", image: "i" }] };
    await post(`/api/v1/namespaces/${namespace}/pods`, { metadata: { name: "x" }, spec });
  }
  for (const { user, rules, in: namespace, group } of people) {
    if (rules === undefined) continue;
    const { name } = user;
    await post(`/apis/${apiGroup}/v1/clusterroles`, { metadata: { name }, rules });
    const subject = group === undefined ? { kind: "User", apiGroup, name } : { kind: "Group", apiGroup, name: group };
    const binding = { metadata: { name }, roleRef: { apiGroup, kind: "ClusterRole", name }, subjects: [subject] };
    const where = namespace === undefined ? "clusterrolebindings" : `namespaces/${namespace}/rolebindings`;
    await post(`/apis/${apiGroup}/v1/${where}`, binding);
  }
  return new Watched(inner);
}

/** Sends a request; resolves with its code, 0 when the connection was closed instead. */
function send(port: number, agent: Agent, who: number, method: string, path: string, body?: string): Promise<number> {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const headers = {
    Host: "localhost",
    "X-Person": String(who),
    ...(body === undefined ? {} : { "Content-Type": type, "Content-Length": String(body.length) }),
  };
  return new Promise((resolve) => {
    const asked = request({ host: "127.0.0.1", port, agent, method, path, headers }, (answer) => {
      answer.resume();
      answer.on("close", () => resolve(answer.statusCode ?? 0));
    });
    asked.on("error", () => resolve(0));
    asked.end(body);
  });
}

interface Case {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly wanted: Wanted;
}

/** Everything that can be asked of a resource and its subresources, and what that means to authorization. */
function casesOf(resource: Resource): Case[] {
  const { group, version, namespaced } = resource;
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const base = `${root}${namespaced ? "/namespaces/a" : ""}/${resource.resource}`;
  // The namespace of a namespace is itself.
  const isNamespace = group === "" && resource.resource === "namespaces";
  const at = (verb: string, name: string, subresource = ""): Wanted => {
    const namespace = namespaced ? "a" : isNamespace ? name : "";
    return { verb, isResource: true, group, version, resource: resource.resource, subresource, namespace, name };
  };
  const labels = JSON.stringify({ metadata: { labels: { a: "b" } } });
  const named = (name: string): string => JSON.stringify({ metadata: { name } });
  const cases: Case[] = [
    { method: "GET", path: base, wanted: at("list", "") },
    { method: "HEAD", path: base, wanted: at("list", "") },
    { method: "GET", path: `${base}?watch=1`, wanted: at("watch", "") },
    { method: "GET", path: `${base}/x?watch=1`, wanted: at("watch", "x") },
    { method: "HEAD", path: `${base}/x?watch=1`, wanted: at("watch", "x") },
    { method: "GET", path: `${base}?fieldSelector=metadata.name%3Dx`, wanted: { ...at("list", ""), name: "x" } },
    {
      method: "GET",
      path: `${base}?watch=true&fieldSelector=metadata.name%3Dx`,
      wanted: { ...at("watch", ""), name: "x" },
    },
    { method: "POST", path: `${base}?dryRun=All`, body: named("y"), wanted: at("create", "") },
    { method: "DELETE", path: `${base}?dryRun=All`, wanted: at("deletecollection", "") },
    { method: "PUT", path: base, body: named("x"), wanted: at("update", "") },
  ];
  for (const subresource of ["", ...resource.subresources.map(({ name }) => name)]) {
    const path = subresource === "" ? `${base}/x` : `${base}/x/${subresource}`;
    for (const [method, verb, body] of [
      ["GET", "get", undefined],
      ["HEAD", "get", undefined],
      ["POST", "create", named("x")],
      ["PUT", "update", named("x")],
      ["PATCH", "patch", labels],
      ["DELETE", "delete", undefined],
    ] as const) {
      const query = method === "GET" || method === "HEAD" ? "" : "?dryRun=All";
      cases.push({
        method,
        path: `${path}${query}`,
        ...(body === undefined ? {} : { body }),
        wanted: at(verb, "x", subresource),
      });
    }
  }
  return cases;
}

/** What is looked at beside the object a request names: owners of what is evicted, nodes of pods, names in bodies. */
function isBeside({ prefix, how }: Touch, { resource, subresource }: Attributes): boolean {
  if (subresource === "eviction") return prefix === "/registry/poddisruptionbudgets" && how !== "write";
  if (resource === "bindings") return prefix === "/registry/pods";
  // Claims of addresses and ports.
  return resource === "services" && prefix.startsWith("/registry/ranges/");
}

/** What is wrong with what storage was asked for in the name of what was authorized; undefined: nothing. */
function difference(watched: Watched, code: number): string | undefined {
  const { asked, verdicts, touches, server } = watched;
  const [first] = asked;
  if (first === undefined) return touches.length === 0 ? undefined : "storage was asked, authorization was not";
  if (verdicts[0] !== true) {
    if (touches.length > 0) return `refused, and storage was asked: ${JSON.stringify(touches)}`;
    return code === 403 ? undefined : `refused, and answered ${code}`;
  }
  // There is no way to a node yet.
  if (code === 503 && first.subresource === "proxy") return undefined;
  if (code === 403 || code >= 500)
    return asked.length > 1 && code === 403 ? undefined : `allowed, and answered ${code}`;
  if (touches.length === 0) return undefined;
  const resource = server.scheme.find(first.group, first.version, first.resource);
  if (!first.isResource || resource === undefined)
    return `storage was asked about nothing served: ${JSON.stringify(touches)}`;
  const namespace = resource.namespaced ? first.namespace : "";
  const wrong = touches.find((touch) => {
    if (isBeside(touch, first)) return false;
    if (touch.prefix !== resource.prefix || touch.namespace !== namespace) return true;
    const collection = ["list", "watch", "deletecollection"].includes(first.verb);
    if (touch.how === "scan") return !collection;
    // An object that is made has the name in its body; who may list all may ask for one.
    return first.name !== touch.name && first.verb !== "create" && !(collection && first.name === "");
  });
  return wrong === undefined ? undefined : `authorized ${told(first)}, storage was asked ${JSON.stringify(wrong)}`;
}

function told({ verb, group, version, resource, subresource, namespace, name, isResource }: Wanted): string {
  return [verb, isResource, group, version, resource, subresource, namespace, name].join("|");
}

async function withFront(
  t: Test,
  front: FrontUnderTest,
): Promise<{ watched: Watched; ask: (who: number, one: Omit<Case, "wanted">) => Promise<number> }> {
  const watched = await open(t);
  const stand = await Stand.open(front, undefined, createHandler(watched.server));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(async () => {
    agent.destroy();
    await stand.close();
  });
  const ask = async (who: number, { method, path, body }: Omit<Case, "wanted">): Promise<number> => {
    watched.forget();
    return send(stand.target.port, agent, who, method, path, body);
  };
  return { watched, ask };
}

const plain = fronts.filter(({ secure }) => !secure);

for (const front of plain) {
  t.test(`A07: ${front.name}: what is authorized is what storage is asked for, for every verb and user`, async (t) => {
    const { watched, ask } = await withFront(t, front);
    const { scheme } = watched.server;
    const preferred = scheme.resources.filter(
      (resource) =>
        !scheme.groups.some(
          ({ group, versions }) =>
            group === resource.group &&
            versions[0] !== resource.version &&
            scheme.find(group, versions[0] ?? "", resource.resource) !== undefined,
        ),
    );
    let count = 0;
    const wrong: string[] = [];
    for (const one of preferred.flatMap(casesOf)) {
      for (const [who, { user, may }] of people.entries()) {
        const code = await ask(who, one);
        count += 1;
        const [first] = watched.asked;
        const label = `${user.name}: ${one.method} ${one.path}: `;
        if (first === undefined) wrong.push(`${label}no authorizer was asked, ${code}`);
        else if (told(first) !== told(one.wanted)) wrong.push(`${label}${told(first)} instead of ${told(one.wanted)}`);
        else if (watched.verdicts[0] !== may(first))
          wrong.push(`${label}${told(first)} was ${watched.verdicts[0] === true ? "allowed" : "refused"}`);
        const different = difference(watched, code);
        if (different !== undefined) wrong.push(`${label}${different}`);
      }
    }
    t.strictSame(wrong.slice(0, 20), [], `${wrong.length} of ${count}`);
    t.ok(count > 8_000, `${count} requests`);
    t.strictSame(watched.inner.faults, []);
  });

  t.test(`A06: ${front.name}: oddly written paths are authorized as they run`, async (t) => {
    const { watched, ask } = await withFront(t, front);
    const wrong: string[] = [];
    let ran = 0;
    const paths = oddPaths();
    t.equal(paths.length, 300);
    for (const path of paths) {
      for (const who of ["admin", "reader", "local", "named"].map((name) =>
        people.findIndex(({ user }) => user.name === name),
      )) {
        for (const method of ["GET", "DELETE"]) {
          const code = await ask(who, { method, path });
          const different = difference(watched, code);
          if (different !== undefined) wrong.push(`${people[who]?.user.name}: ${method} ${path}: ${different}`);
          if (watched.touches.length > 0) ran += 1;
        }
      }
    }
    t.strictSame(wrong.slice(0, 20), [], `${wrong.length} differ`);
    t.ok(ran > 100, `${ran} of them reach storage`);
    t.strictSame(watched.inner.faults, []);
  });
}

/** Three hundred spellings of forty paths. */
function oddPaths(): string[] {
  const names = ["x", "..", ".", "x%20y", "%2e%2e", "__proto__", "x.y", "X"];
  const bases = [
    ...names.map((name) => `/api/v1/namespaces/a/configmaps/${name}`),
    ...names.map((name) => `/api/v1/namespaces/${name}/configmaps/x`),
    "/api/v1/namespaces/a/pods/x/log",
    "/api/v1/namespaces/a/pods/x/status",
    "/api/v1/namespaces/a/pods/x/proxy/y/z",
    "/api/v1/namespaces/a/pods",
    "/api/v1/namespaces/a/nodes/x",
    "/api/v1/namespaces/a",
    "/api/v1/namespaces/a/status",
    "/api/v1/namespaces/a/namespaces/x",
    "/api/v1/namespaces",
    "/api/v1/watch/namespaces/a/configmaps/x?timeoutSeconds=-1",
    "/api/v1/proxy/namespaces/a/pods/x",
    "/api/v1/configmaps/x",
    "/api/v1/nodes/x",
    "/apis/apps/v1/namespaces/a/deployments/x/scale",
    "/apis/apps/v1/namespaces/a/deployments",
    "/apis/none.example/v1/namespaces/a/things/x",
    "/apis/apps/v9/namespaces/a/deployments/x",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/x",
    "/api/v1",
    "/version",
    "/openapi/v3",
    "/api/v1/namespaces/a/secrets?fieldSelector=metadata.name=../configmaps/x",
    "/api/v1/namespaces/a/secrets?fieldSelector=metadata.name=x&fieldSelector=metadata.name=y",
    "/api/v1/namespaces/a/configmaps?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi9iL3gifQ",
  ];
  const last = (path: string, mark: string): string => {
    const [before = "", ...query] = path.split("?");
    const slash = before.lastIndexOf("/");
    return [`${before.slice(0, slash)}${mark}${before.slice(slash + 1)}`, ...query].join("?");
  };
  const end = (path: string, mark: string): string => path.replace(/(?=\?|$)/, mark);
  const spellings: readonly ((path: string) => string)[] = [
    (path) => path,
    (path) => last(path, "%2F"),
    (path) => last(path, "%2f"),
    (path) => last(path, "%252f"),
    (path) => last(path, "//"),
    (path) => last(path, "/./"),
    (path) => last(path, "/../"),
    (path) => last(path, "/%2e%2e/"),
    (path) => last(path, "\\"),
    (path) => last(path, "%5c"),
    (path) => last(path, "%c0%af"),
    (path) => last(path, "/;/"),
    (path) => end(path, "/"),
    (path) => end(path, "%00"),
    (path) => end(path, "%2f"),
    (path) => end(path, ";a=b"),
    (path) => `/${path}`,
    (path) => path.replace("/api", "/%61pi"),
    (path) => path.replace("namespaces", "n%61mespaces"),
    (path) => path.replace("namespaces", "Namespaces"),
    (path) => path.replace("v1", "V1"),
  ];
  const made = new Set(spellings.flatMap((spell) => bases.map(spell)));
  // All of the plain ones, and every other of the rest as far as they are needed.
  const rest = [...made].slice(bases.length);
  return [...bases, ...rest.filter((_, index) => index % 2 === 0), ...rest.filter((_, index) => index % 2 === 1)].slice(
    0,
    300,
  );
}
