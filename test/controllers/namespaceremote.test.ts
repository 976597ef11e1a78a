// Namespaces whose content is partly held by extension servers: real ones, that do what they are told, fail, hang or lie.
import type { ServerResponse } from "node:http";
import type { Test } from "tap";
import { NamespaceController } from "../../src/controllers/namespace.ts";
import { reconcilerOf } from "../support/controllers.ts";
import { definition, definitions, establishedIn, runDefinitions } from "../support/definitions.ts";
import {
  type Answering,
  type ExtensionServer,
  makeService,
  openExtension,
  register,
  say,
} from "../support/extension.ts";
import { type InProcess, until } from "../support/inprocess.ts";
import { scenario } from "../support/scenario.ts";

const group = "ext.example.com";
const root = `/apis/${group}/v1`;
const space = "/api/v1/namespaces/n";
const apiService = `/apis/apiregistration.k8s.io/v1/apiservices/v1.${group}`;
const merge = { "content-type": "application/merge-patch+json" };
const unable = "the server is currently unable to handle the request";

/** An extension server's objects, by namespace and name, with their finalizers. */
class Fake {
  readonly objects = new Map<string, string[]>();
  verbs = ["create", "delete", "deletecollection", "get", "list"];
  /** Asked first; true: it answered. */
  before: (path: string, method: string, response: ServerResponse) => boolean = () => false;

  readonly answer: Answering = (_request, response, { method, url }) => {
    const [path = "", query = ""] = url.split("?");
    if (this.before(path, method, response)) return;
    if (path === root) return say(response, this.list());
    const [namespace = "", name] = path.slice(`${root}/namespaces/`.length).split("/flunders/");
    const space = namespace.replace(/\/flunders$/, "");
    if (method === "GET") return say(response, this.#page(space, new URLSearchParams(query)));
    if (name === undefined && !this.verbs.includes("deletecollection")) return say(response, {}, 405);
    for (const key of [...this.objects.keys()].filter((one) =>
      name === undefined ? one.startsWith(`${space}/`) : one === `${space}/${name}`,
    ))
      if (this.objects.get(key)?.length === 0) this.objects.delete(key);
    return say(response, { kind: "Status", status: "Success" });
  };

  list(): object {
    const flunders = { name: "flunders", namespaced: true, kind: "Flunder", verbs: this.verbs };
    const others = [
      { name: "flunders/status", namespaced: true, kind: "Flunder", verbs: ["get"] },
      { name: "fischers", namespaced: false, kind: "Fischer", verbs: this.verbs },
      { name: "readings", namespaced: true, kind: "Reading", verbs: ["get", "list"] },
    ];
    return { kind: "APIResourceList", apiVersion: "v1", groupVersion: `${group}/v1`, resources: [flunders, ...others] };
  }

  #page(namespace: string, query: URLSearchParams): object {
    const all = [...this.objects].filter(([key]) => key.startsWith(`${namespace}/`));
    const from = Number(query.get("continue") ?? 0);
    const to = from + Number(query.get("limit"));
    const items = all.slice(from, to).map(([key, finalizers]) => {
      const metadata = {
        namespace,
        name: key.slice(namespace.length + 1),
        ...(finalizers.length > 0 ? { finalizers } : {}),
      };
      return { metadata };
    });
    return { kind: "PartialObjectMetadataList", metadata: to < all.length ? { continue: String(to) } : {}, items };
  }
}

interface World {
  readonly server: InProcess;
  readonly fake: Fake;
  readonly extension: ExtensionServer;
  /** Messages of conditions that say something is wrong or left. */
  told(): Promise<string[]>;
  gone(): Promise<boolean>;
}

function running(name: string, check: (t: Test, world: World) => Promise<void>): void {
  scenario(name, async (t, server) => {
    const fake = new Fake();
    const extension = await openExtension(fake.answer);
    const controller = reconcilerOf(new NamespaceController(server.server), server.server.clock);
    controller.start();
    await makeService(server);
    await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
    type Condition = { status: string; message: string };
    const told = async (): Promise<string[]> =>
      ((await server.call("GET", space)).json.status?.conditions ?? [])
        .filter(({ status }: Condition) => status === "True")
        .map(({ message }: Condition) => message);
    const gone = (): Promise<boolean> => until(async () => (await server.call("GET", space)).code === 404, 20_000);
    try {
      await check(t, { server, fake, extension, told, gone });
    } finally {
      await controller.stop();
      extension.close();
    }
  });
}

function registered({ server, extension: { port, authority } }: World, available = true): Promise<void> {
  return register(server, { group, port, authority, available });
}

running("a namespace goes with what an extension server holds of it, and nothing else", async (t, world) => {
  const { server, fake, extension, gone } = world;
  for (let at = 0; at < 250; at++) fake.objects.set(`n/f${at}`, []);
  fake.objects.set("other/f", []);
  await registered(world);
  await server.call("DELETE", space);
  t.ok(await gone());
  t.strictSame([...fake.objects.keys()], ["other/f"]);
  const deletes = extension.seen.filter(({ method }) => method === "DELETE");
  t.strictSame([...new Set(deletes.map(({ url }) => url))], [`${root}/namespaces/n/flunders`]);
  const user = "system:serviceaccount:kube-system:namespace-controller";
  t.match(deletes[0]?.headers, { "x-remote-user": [user], "x-remote-group": ["system:masters"] });
  t.match(JSON.parse(deletes[0]?.body ?? ""), { kind: "DeleteOptions", propagationPolicy: "Background" });
});

running("objects are deleted one by one where a collection cannot be", async (t, world) => {
  const { server, fake, gone } = world;
  fake.verbs = ["delete", "list"];
  for (let at = 0; at < 250; at++) fake.objects.set(`n/f${at}`, []);
  await registered(world);
  await server.call("DELETE", space);
  t.ok(await gone());
  t.equal(fake.objects.size, 0);
});

running("finalizers of an extension server's objects keep the namespace, and are told", async (t, world) => {
  const { server, fake, told, gone } = world;
  fake.objects.set("n/held", ["example.com/hold"]);
  for (let at = 0; at < 120; at++) fake.objects.set(`n/f${at}`, []);
  await registered(world);
  await server.call("DELETE", space);
  t.ok(await until(async () => (await told()).length > 0));
  t.strictSame(await told(), [
    `Some resources are remaining: flunders.${group} has 1 resource instances`,
    "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
  ]);
  fake.objects.set("n/held", []);
  // Nothing tells of that: it is looked at again in half of the fifteen seconds.
  server.aheadMs += 8_000;
  server.nowMs += 8_000;
  t.ok(await gone());
});

running(
  "while an extension server is not available its namespaces wait, without their known content",
  async (t, world) => {
    const { server, fake, told, gone } = world;
    fake.objects.set("n/f", []);
    await server.call("POST", `${space}/configmaps`, { metadata: { name: "m" } });
    await registered(world, false);
    await server.call("DELETE", space);
    const failing = `Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: ${group}/v1: ${unable}`;
    t.ok(await until(async () => (await told()).length > 0));
    t.strictSame(await told(), [failing]);
    t.equal((await server.call("GET", `${space}/configmaps/m`)).code, 404, "known content is gone");
    t.strictSame((await server.call("GET", space)).json.spec.finalizers, ["kubernetes"]);
    for (let times = 0; times < 20; times++) {
      server.aheadMs += 60_000;
      await server.call("GET", space);
    }
    t.equal((await server.call("GET", space)).code, 200, "however often it is tried");
    const { json } = await server.call("GET", apiService);
    const conditions = [{ type: "Available", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }];
    await server.call("PUT", `${apiService}/status`, { ...json, status: { conditions } });
    t.ok(await gone(), "it goes once the server is back");
    t.equal(fake.objects.size, 0);
  },
);

running("an APIService that is removed keeps no namespace", async (t, world) => {
  const { server, told, gone } = world;
  await registered(world, false);
  await server.call("DELETE", space);
  t.ok(await until(async () => (await told()).length > 0));
  await server.call("DELETE", apiService);
  t.ok(await gone());
});

/** What an extension server answers instead of its list, and what is told of it. */
const faults: readonly (readonly [
  what: string,
  answer: (response: ServerResponse, fake: Fake) => void,
  told: RegExp,
])[] = [
  [
    "404",
    (response) => say(response, {}, 404),
    /ext\.example\.com\/v1: the server could not find the requested resource$/,
  ],
  ["500", (response) => say(response, {}, 500), /an error on the server \("unknown"\) has prevented/],
  ["418", (response) => say(response, {}, 418), /the server responded with the status code 418 but did not return/],
  ["a cut connection", (response) => response.destroy(), /: the server is currently unable to handle the request$/],
  ["no JSON", (response) => response.end("<html>"), /^ext\.example\.com\/v1: it is no JSON$/],
  ["another list", (response) => say(response, { kind: "List" }), /^ext\.example\.com\/v1: it is no APIResourceList$/],
  [
    "the list of another group",
    (response, fake) => say(response, { ...fake.list(), groupVersion: "a/b/c" }),
    /^ext\.example\.com\/v1: it is the list of another group version$/,
  ],
  ["too much", (response) => response.end(" ".repeat(2 << 20)), /unable to handle the request$/],
];
for (const [what, answer, text] of faults) {
  running(`discovery that is answered with ${what} keeps the namespace until it succeeds`, async (t, world) => {
    const { server, fake, told, gone } = world;
    fake.objects.set("n/f", []);
    fake.before = (path, _method, response) => {
      if (path !== root) return false;
      answer(response, fake);
      return true;
    };
    await registered(world);
    await server.call("DELETE", space);
    t.ok(await until(async () => (await told()).length > 0));
    t.match((await told())[0], text);
    t.equal(fake.objects.size, 1);
    fake.before = () => false;
    t.ok(await gone());
    t.equal(fake.objects.size, 0);
  });
}

/** What an extension server does instead of deleting, and what is told of it. */
const refusals: readonly (readonly [
  what: string,
  method: string,
  answer: (response: ServerResponse) => void,
  told: string,
])[] = [
  [
    "refuses",
    "DELETE",
    (response) => say(response, { message: "secret of the peer" }, 403),
    `Failed to delete all resource types, 1 remaining: the server responded with the status code 403 but did not return more information (delete flunders.${group})`,
  ],
  [
    "does nothing",
    "DELETE",
    (response) => say(response, {}),
    `Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace: n for gvr: ${group}/v1, Resource=flunders`,
  ],
  [
    "lists no names",
    "GET",
    (response) => say(response, { items: [{ metadata: { name: ".." } }] }),
    `Failed to delete all resource types, 1 remaining: ${unable} (get flunders.${group})`,
  ],
];
for (const [what, on, answer, text] of refusals) {
  running(`an extension server that ${what} keeps the namespace until its objects are gone`, async (t, world) => {
    const { server, fake, told, gone } = world;
    fake.objects.set("n/f", []);
    fake.before = (path, method, response) => {
      if (path === root || method !== on) return false;
      answer(response);
      return true;
    };
    await registered(world);
    await server.call("DELETE", space);
    t.ok(await until(async () => (await told()).includes(text)), (await told()).join("\n"));
    fake.before = () => false;
    t.ok(await gone());
    t.equal(fake.objects.size, 0);
  });
}

running("an extension server that hangs holds up nothing but its own namespaces' end", async (t, world) => {
  const { server, fake, gone } = world;
  const waiting: ServerResponse[] = [];
  fake.before = (_path, _method, response) => waiting.push(response) > 0;
  await registered(world);
  for (const name of ["a", "b", "c"]) {
    await server.call("POST", "/api/v1/namespaces", { metadata: { name } });
    await server.call("POST", `/api/v1/namespaces/${name}/configmaps`, { metadata: { name: "m" } });
    await server.call("DELETE", `/api/v1/namespaces/${name}`);
  }
  await server.call("DELETE", space);
  for (const name of ["a", "b", "c"])
    t.ok(await until(async () => (await server.call("GET", `/api/v1/namespaces/${name}/configmaps/m`)).code === 404));
  t.ok(await until(() => waiting.length >= 4), "each is asked about");
  fake.before = () => false;
  for (const response of waiting) response.destroy();
  t.ok(await gone());
});

running("kinds that are defined while a namespace ends are emptied, too", async (t, { server, gone }) => {
  const reports: string[] = [];
  const defining = runDefinitions(server, reports);
  await server.call("POST", `${space}/configmaps`, { metadata: { name: "m", finalizers: ["example.com/x"] } });
  await server.call("POST", definitions, definition("widgets", "Widget"));
  t.ok(await establishedIn(server, "widgets.example.com"));
  const widgets = "/apis/example.com/v1/namespaces/n/widgets";
  const metadata = { name: "w", finalizers: ["example.com/y"] };
  const made = await server.call("POST", widgets, { apiVersion: "example.com/v1", kind: "Widget", metadata });
  t.equal(made.code, 201, made.text);
  await server.call("DELETE", space);
  const messages = async (): Promise<string> => JSON.stringify((await server.call("GET", space)).json.status);
  t.ok(await until(async () => /widgets\.example\.com has 1 resource instances/.test(await messages())));
  for (const path of [`${space}/configmaps/m`, `${widgets}/w`])
    await server.call("PATCH", path, { metadata: { finalizers: null } }, merge);
  t.ok(await gone());
  await defining.stop();
  t.strictSame(reports, []);
});
