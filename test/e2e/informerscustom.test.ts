// Informers on a custom resource at two versions, while its objects change, its schema gets a field and a column, and
// another version becomes the one objects are stored in; and watches that are opened again where they ended, which see
// each change once.
import { request } from "node:https";
import {
  CustomObjectsApi,
  KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  makeInformer,
} from "@kubernetes/client-node";
import t from "tap";
import { definitions } from "../support/definitions.ts";
import { random } from "../support/random.ts";
import { eventually, startServer, type TestServer } from "../support/server.ts";

t.setTimeout(300_000);

type Json = Record<string, unknown>;

interface Gadget extends KubernetesObject {
  readonly spec?: Json;
}

const group = "example.com";
const plural = "gadgets";
const versions = ["v1", "v2"];
const changesInAll = 5000;
const merge = { "content-type": "application/merge-patch+json" };

function pathOf(version: string): string {
  return `/apis/${group}/${version}/namespaces/default/${plural}`;
}

interface Shape {
  /** The version objects are stored in. */
  readonly stored: string;
  /** There is one more field, with a default, and one more column. */
  readonly isLarger: boolean;
}

function definition({ stored, isLarger }: Shape): Json {
  const color = { color: { type: "string", default: "red" } };
  const spec = { type: "object", properties: { size: { type: "integer", default: 1 }, ...(isLarger ? color : {}) } };
  const size = { name: "Size", type: "integer", jsonPath: ".spec.size" };
  const columns = isLarger ? [size, { name: "Color", type: "string", jsonPath: ".spec.color" }] : [size];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, kind: "Gadget" },
      versions: versions.map((name) => ({
        name,
        served: true,
        storage: name === stored,
        schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
        additionalPrinterColumns: columns,
      })),
    },
  };
}

/** An informer, and what its events said, which must fit together. */
class Observer {
  readonly version: string;
  readonly faults: string[] = [];
  readonly #byEvents = new Map<string, number>();
  readonly #informer;
  #isOver = false;

  constructor(server: TestServer, version: string) {
    this.version = version;
    const config = new KubeConfig();
    config.loadFromFile(server.kubeconfig);
    const api = config.makeApiClient(CustomObjectsApi);
    const list = async () =>
      (await api.listNamespacedCustomObject({
        group,
        version,
        namespace: "default",
        plural,
      })) as KubernetesListObject<Gadget>;
    this.#informer = makeInformer<Gadget>(config, pathOf(version), list);
    this.#informer.on("add", (object) => this.#note("add", object));
    this.#informer.on("update", (object) => this.#note("update", object));
    this.#informer.on("delete", (object) => this.#note("delete", object));
    this.#informer.on("error", () => {
      // It reports its own end as an error, too.
      setTimeout(() => {
        if (!this.#isOver) void this.start();
      }, 20);
    });
  }

  #note(event: "add" | "update" | "delete", { apiVersion, metadata }: Gadget): void {
    const { name = "", resourceVersion = "" } = metadata ?? {};
    const [before, now] = [this.#byEvents.get(name), Number(resourceVersion)];
    if (apiVersion !== `${group}/${this.version}`) this.faults.push(`${event} of ${apiVersion}`);
    if ((event === "add") !== (before === undefined)) this.faults.push(`${event} ${name} after ${before}`);
    if (before !== undefined && now <= before) this.faults.push(`${event} ${name} at ${now} after ${before}`);
    if (event === "delete") this.#byEvents.delete(name);
    else this.#byEvents.set(name, now);
  }

  async start(): Promise<void> {
    // A definition that changes does not refuse what it served before.
    await this.#informer.start().catch((error: unknown) => void this.faults.push(String(error)));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#informer.stop();
  }

  /** What it holds. */
  objects(): readonly Gadget[] {
    return this.#informer.list();
  }

  /** By its events alone. */
  summary(): string {
    return [...this.#byEvents]
      .map(([name, version]) => `${name}=${version}`)
      .sort()
      .join();
  }
}

function summaryOf(objects: readonly Gadget[]): string {
  return objects
    .map(({ metadata }) => `${metadata?.name}=${metadata?.resourceVersion}`)
    .sort()
    .join();
}

/** A watch that is opened again where it ended, and all it saw. */
class Follower {
  readonly seen: string[] = [];
  readonly faults: string[] = [];
  /** How often it was opened. */
  opened = 0;
  readonly #server: TestServer;
  readonly #version: string;
  #at: string;
  #isOver = false;
  #close: () => void = () => undefined;

  constructor(server: TestServer, version: string, at: string) {
    this.#server = server;
    this.#version = version;
    this.#at = at;
    this.#open();
  }

  #open(): void {
    this.opened += 1;
    const { base, token, ca } = this.#server;
    const target = `${base}${pathOf(this.#version)}?watch=1&allowWatchBookmarks=true&resourceVersion=${this.#at}`;
    let rest = "";
    const asked = request(target, { headers: { authorization: `Bearer ${token}` }, ca }, (answer) => {
      if (answer.statusCode !== 200) this.faults.push(`${answer.statusCode}`);
      answer.setEncoding("utf8");
      answer.on("data", (chunk: string) => {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) this.#take(JSON.parse(line) as { type: string; object: Gadget });
      });
      answer.on("close", () => {
        if (rest !== "") this.faults.push(`cut off at ${rest}`);
        if (!this.#isOver) this.#open();
      });
    });
    asked.on("error", (error) => this.#isOver || this.faults.push(error.message));
    asked.end();
    this.#close = () => asked.destroy();
  }

  #take({ type, object: { apiVersion, metadata } }: { type: string; object: Gadget }): void {
    const { name, resourceVersion = "" } = metadata ?? {};
    if (type === "ERROR" || apiVersion !== `${group}/${this.#version}`) this.faults.push(`${type} ${apiVersion}`);
    if (Number(resourceVersion) < Number(this.#at)) this.faults.push(`${resourceVersion} after ${this.#at}`);
    this.#at = resourceVersion;
    if (type !== "BOOKMARK") this.seen.push(`${type} ${name} ${resourceVersion}`);
  }

  close(): void {
    this.#isOver = true;
    this.#close();
  }
}

/** What was written: the versions of creates and updates, and how many deletes there were. */
interface Written {
  readonly versions: Set<number>;
  deletes: number;
  readonly codes: Map<number, number>;
}

/** Runs so many random creates, updates, patches and deletes over 200 names, eight at a time, by either version. */
async function change(server: TestServer, next: (n: number) => number, count: number, written: Written): Promise<void> {
  let left = count;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const version = versions[next(2)] ?? "";
      const [path, name, kind] = [pathOf(version), `g${next(200)}`, next(10)];
      const object = {
        apiVersion: `${group}/${version}`,
        kind: "Gadget",
        metadata: { name },
        spec: { size: next(1e6) },
      };
      const answer =
        kind < 5
          ? await server.call("POST", path, object)
          : kind < 8
            ? await server.call("PATCH", `${path}/${name}`, { spec: { size: next(1e6) } }, merge)
            : await server.call("DELETE", `${path}/${name}`);
      written.codes.set(answer.code, (written.codes.get(answer.code) ?? 0) + 1);
      if (answer.code >= 300) continue;
      if (kind < 8) written.versions.add(Number(answer.json.metadata.resourceVersion));
      else written.deletes += 1;
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

async function define(server: TestServer, shape: Shape): Promise<void> {
  const path = `${definitions}/${plural}.${group}`;
  const { spec } = definition(shape);
  const { code, text } = await server.call("PATCH", path, { spec }, merge);
  if (code !== 200) throw new Error(text);
}

async function open(server: TestServer): Promise<void> {
  const made = await server.call("POST", definitions, definition({ stored: "v1", isLarger: false }));
  if (made.code !== 201) throw new Error(made.text);
  const isServed = async (): Promise<boolean> =>
    (await server.call("GET", `${definitions}/${plural}.${group}`)).json.status.conditions?.[1]?.status === "True";
  if (!(await eventually(isServed, 20_000))) throw new Error("not established");
}

t.test(
  "informers of two versions stay in step through 5,000 changes, a new schema and another storage version",
  async (t) => {
    const server = await startServer(["--identity=kubernetes", "--front-workers=2"]);
    t.teardown(() => server.stop());
    await open(server);
    const { json: empty } = await server.call("GET", pathOf("v1"));
    const followers = versions.map((version) => new Follower(server, version, empty.metadata.resourceVersion));
    const observers = versions.map((version) => new Observer(server, version));
    for (const observer of observers) await observer.start();
    const written: Written = { versions: new Set(), deletes: 0, codes: new Map() };
    const next = random(20261123);
    const listed = async (version: string): Promise<Gadget[]> => (await server.call("GET", pathOf(version))).json.items;
    const agree = async (): Promise<boolean> => {
      const now = summaryOf(await listed("v1"));
      return observers.every((each) => each.summary() === now && summaryOf(each.objects()) === now);
    };

    // The definition changes while objects do.
    const third = Math.ceil(changesInAll / 3);
    await change(server, next, third, written);
    await Promise.all([change(server, next, third, written), define(server, { stored: "v1", isLarger: true })]);
    t.ok(await eventually(agree), "in step with another schema");
    await Promise.all([change(server, next, third, written), define(server, { stored: "v2", isLarger: true })]);
    t.ok(await eventually(agree), "in step with another storage version");
    const { json: stored } = await server.call("GET", `${definitions}/${plural}.${group}`);
    t.same(stored.status.storedVersions, ["v1", "v2"]);

    // What was cached before a default came is as it was; a change makes it as it is read now.
    const touch = { metadata: { labels: { touched: "1" } } };
    for (const { metadata } of await listed("v1")) {
      const { json } = await server.call("PATCH", `${pathOf("v2")}/${metadata?.name}`, touch, merge);
      written.versions.add(Number(json.metadata.resourceVersion));
    }
    t.ok(await eventually(agree), "in step after all were touched");
    const byName = (a: Gadget, b: Gadget): number => ((a.metadata?.name ?? "") < (b.metadata?.name ?? "") ? -1 : 1);
    for (const observer of observers) {
      const items = (await listed(observer.version)).toSorted(byName);
      // Items of a list need not say what they are.
      const held = observer.objects().toSorted(byName);
      t.same(JSON.parse(JSON.stringify(held)), items, `all of them at ${observer.version}`);
      t.ok(items.length > 20 && items.every(({ spec }) => spec?.["color"] === "red"));
      t.same(observer.faults, []);
    }

    const wanted = written.versions.size + written.deletes;
    t.ok(await eventually(() => followers.every(({ seen }) => seen.length >= wanted)), "every change is seen");
    for (const follower of followers) {
      follower.close();
      t.same(follower.faults, []);
      t.equal(follower.seen.length, wanted, "and none twice");
      t.ok(follower.opened > 1, "a watch ends with the definition it was opened by");
    }
    const [one, two] = followers.map(({ seen }) => seen);
    t.same(one, two, "the same at both versions, in one order");
    const kept = (one ?? []).filter((line) => !line.startsWith("DELETED")).map((line) => Number(line.split(" ")[2]));
    t.same(
      kept.toSorted((a, b) => a - b),
      [...written.versions].sort((a, b) => a - b),
    );
    t.same(
      [...written.codes.keys()].filter((code) => ![200, 201, 404, 409].includes(code)),
      [],
    );
    for (const observer of observers) await observer.stop();
    t.notMatch(server.errors(), /"level":"(?:error|fatal)"/);
  },
);
