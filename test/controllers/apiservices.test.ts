// APIServices of what a server serves itself: made at the start, put back, removed, or left alone, by their label.
import type { Test } from "tap";
import t from "tap";
import { nextTurn } from "../../src/base/turn.ts";
import { limits } from "../../src/config/limits.ts";
import { Corrections } from "../../src/controllers/corrections.ts";
import type { Reconciler } from "../../src/controllers/reconciler.ts";
import { apiService, apiServices, conditionOf, managed, runRegistration } from "../support/apiservices.ts";
import { definition, definitions, establishedIn, goneFrom, runDefinitions } from "../support/definitions.ts";
import { type InProcess, until } from "../support/inprocess.ts";
import { scenario } from "../support/scenario.ts";

const merge = { "content-type": "application/merge-patch+json" };
const widgets = "v1.example.com";

/** The controller as a process has it: another one after a restart. */
class Running {
  readonly reports: string[] = [];
  readonly #server: InProcess;
  #registration: Reconciler;
  readonly #definitions: Reconciler;

  constructor(server: InProcess) {
    this.#server = server;
    this.#definitions = runDefinitions(server, this.reports);
    this.#registration = runRegistration(server, this.reports);
  }

  /** Until nothing is to be done. */
  idle(): Promise<void> {
    return this.#registration.idle();
  }

  async restart(meanwhile: () => Promise<unknown> = () => Promise.resolve()): Promise<void> {
    await this.#registration.stop();
    await meanwhile();
    this.#registration = runRegistration(this.#server, this.reports);
    await this.idle();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#registration.stop(), this.#definitions.stop()]);
  }
}

function running(title: string, check: (t: Test, server: InProcess, running: Running) => Promise<void>): void {
  scenario(title, async (t, server) => {
    const work = new Running(server);
    try {
      await work.idle();
      await check(t, server, work);
      t.same(work.reports, []);
    } finally {
      await work.stop();
    }
  });
}

/** How often an APIService was written. */
function writes(server: InProcess, name?: string): number {
  const all = server.store.changes.filter(({ prefix }) => prefix.endsWith("/apiservices"));
  return name === undefined ? all.length : all.filter(({ key }) => key.endsWith(`/${name}`)).length;
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
async function read(server: InProcess, name: string): Promise<any> {
  const { code, json } = await server.call("GET", `${apiServices}/${name}`);
  return code === 200 ? json : undefined;
}

function patch(server: InProcess, name: string, change: object): Promise<unknown> {
  return server.call("PATCH", `${apiServices}/${name}`, change, merge);
}

running(
  "those of built-in group versions are made at the start, and a restart writes nothing",
  async (t, server, work) => {
    const { json } = await server.call("GET", `${apiServices}?labelSelector=${managed}%3Donstart`);
    const names = json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
    t.equal(names.length, 29);
    t.ok(names.includes("v1.") && names.includes("v2beta2.autoscaling"));
    t.notOk(names.includes("v1.apiregistration.k8s.io"));
    t.match(await read(server, "v1."), { spec: { version: "v1", groupPriorityMinimum: 18000, versionPriority: 1 } });
    t.match(await conditionOf(server, "v1.apps"), { status: "True", reason: "Local" });
    t.equal(writes(server), 29);
    await work.restart();
    t.equal(writes(server), 29);
  },
);

running("those of built-in group versions are put right at a start, and not between", async (t, server, work) => {
  await patch(server, "v1.apps", { spec: { groupPriorityMinimum: 5 } });
  await server.call("DELETE", `${apiServices}/v1.batch`);
  await work.idle();
  t.equal((await read(server, "v1.apps")).spec.groupPriorityMinimum, 5);
  t.equal(await read(server, "v1.batch"), undefined);
  t.equal((await server.call("GET", "/apis/batch/v1")).code, 200, "it is served all the same");
  const { json } = await server.call("GET", "/apis/batch");
  t.same(
    json.versions.map(({ version }: { version: string }) => version),
    ["v1", "v1beta1"],
  );
  await patch(server, "v1.policy", { metadata: { labels: { [managed]: null } }, spec: { versionPriority: 3 } });
  await work.restart();
  t.equal((await read(server, "v1.apps")).spec.groupPriorityMinimum, 17_800);
  t.ok(await read(server, "v1.batch"));
  t.equal((await read(server, "v1.policy")).spec.versionPriority, 3, "it has no label");
});

running(
  "what is labelled for the start and served no more goes at a start, if it was there then",
  async (t, server, work) => {
    const left = { labels: { [managed]: "onstart" } };
    await server.call("POST", apiServices, apiService("later.example.com", {}, left));
    await work.idle();
    t.ok(await read(server, "v1.later.example.com"), "it is another server's");
    await work.restart(() => server.call("POST", apiServices, apiService("before.example.com", {}, left)));
    t.equal(await read(server, "v1.before.example.com"), undefined);
    t.equal(await read(server, "v1.later.example.com"), undefined, "it was there at this start");
    await server.call("POST", apiServices, apiService("before.example.com", {}, left));
    await work.idle();
    t.ok(await read(server, "v1.before.example.com"), "once");
  },
);

running(
  "those of definitions are made, put back and removed; without the label they are left alone",
  async (t, server) => {
    await server.call("POST", definitions, definition("widgets", "Widget"));
    t.ok(await until(async () => (await read(server, widgets)) !== undefined));
    const made = await read(server, widgets);
    t.same(made.spec, { group: "example.com", version: "v1", groupPriorityMinimum: 1000, versionPriority: 100 });
    t.same(made.metadata.labels, { [managed]: "true" });
    await patch(server, widgets, { spec: { groupPriorityMinimum: 1500 }, metadata: { labels: { mine: "1" } } });
    t.ok(await until(async () => (await read(server, widgets)).spec.groupPriorityMinimum === 1000));
    t.same((await read(server, widgets)).metadata.labels, { [managed]: "true", mine: "1" });
    await server.call("DELETE", `${apiServices}/${widgets}`);
    t.ok(await until(async () => (await read(server, widgets)) !== undefined));
    await patch(server, widgets, { metadata: { labels: { [managed]: null } }, spec: { versionPriority: 55 } });
    await server.call("DELETE", `${definitions}/widgets.example.com`);
    t.ok(await goneFrom(server, "widgets.example.com"));
    t.equal((await read(server, widgets)).spec.versionPriority, 55);
    const { json } = await server.call("GET", "/apis/example.com");
    t.same(json.versions, [{ groupVersion: "example.com/v1", version: "v1" }], "listed, as it is an APIService");
    t.equal((await server.call("GET", "/apis/example.com/v1")).text, "404 page not found\n");
  },
);

running("one stays as long as a definition defines its group version", async (t, server, work) => {
  for (const [plural, kind] of [
    ["widgets", "Widget"],
    ["gadgets", "Gadget"],
  ] as const) {
    await server.call("POST", definitions, definition(plural, kind));
    t.ok(await establishedIn(server, `${plural}.example.com`));
  }
  t.ok(await until(async () => (await read(server, widgets)) !== undefined));
  await server.call("DELETE", `${definitions}/widgets.example.com`);
  t.ok(await goneFrom(server, "widgets.example.com"));
  await work.idle();
  t.ok(await read(server, widgets));
  t.equal(writes(server, widgets), 1);
  const versions = [version("v2", true), { ...version("v1", false), served: false }];
  await server.call("PATCH", `${definitions}/gadgets.example.com`, { spec: { versions } }, merge);
  t.ok(await until(async () => (await read(server, "v2.example.com")) !== undefined));
  t.ok(await until(async () => (await read(server, widgets)) === undefined), "no definition has the version");
  await server.call("DELETE", `${definitions}/gadgets.example.com`);
  t.ok(await until(async () => (await read(server, "v2.example.com")) === undefined));
  t.equal((await server.call("GET", "/apis/example.com")).code, 404);
});

function version(name: string, storage: boolean): object {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return { name, served: true, storage, schema };
}

running(
  "one of a version that is not served, or of a definition without names, is not made",
  async (t, server, work) => {
    await server.call("POST", definitions, definition("widgets", "Widget"));
    t.ok(await establishedIn(server, "widgets.example.com"));
    const other = definition("others", "Widget") as { spec: { versions: object[] } };
    other.spec.versions = [version("v7", true), { ...version("v8", false), served: false }];
    await server.call("POST", definitions, other);
    const told = async (): Promise<boolean> =>
      (await server.call("GET", `${definitions}/others.example.com`)).json.status.conditions?.length > 0;
    t.ok(await until(told));
    await work.idle();
    t.equal(await read(server, "v7.example.com"), undefined);
    await server.call("DELETE", `${definitions}/widgets.example.com`);
    t.ok(await until(async () => (await read(server, "v7.example.com")) !== undefined));
    t.equal(await read(server, "v8.example.com"), undefined);
  },
);

running("what says that a server keeps it, and nothing defines, is deleted", async (t, server) => {
  await server.call("POST", apiServices, apiService("mine.example.com"));
  await server.call("POST", apiServices, apiService("stale.example.com", {}, { labels: { [managed]: "true" } }));
  t.ok(await until(async () => (await read(server, "v1.stale.example.com")) === undefined));
  t.ok(await read(server, "v1.mine.example.com"));
  t.equal(writes(server, "v1.mine.example.com"), 1);
});

running("another program that changes it back is answered more and more seldom", async (t, server, work) => {
  await server.call("POST", definitions, definition("widgets", "Widget"));
  t.ok(await until(async () => (await read(server, widgets)) !== undefined));
  const priority = async (): Promise<number> => (await read(server, widgets)).spec.groupPriorityMinimum;
  // The first write is that which made it.
  for (let round = 1; round < limits.correctionsFree; round += 1) {
    await patch(server, widgets, { spec: { groupPriorityMinimum: 1500 } });
    t.ok(await until(async () => (await priority()) === 1000));
  }
  const before = writes(server, widgets);
  for (let round = 0; round < 20; round += 1) {
    await patch(server, widgets, { spec: { groupPriorityMinimum: 1500 + round } });
    await work.idle();
    await nextTurn();
  }
  t.equal(writes(server, widgets) - before, 20);
  server.aheadMs += limits.correctionMsMin;
  t.ok(await until(async () => (await priority()) === 1000));
});

running(
  "a write that is lost to another is done again, and a refused one is reported and tried again",
  async (t, server, work) => {
    let races = 3;
    server.store.before = ({ prefix, type }) => {
      if (!prefix.endsWith("/apiservices") || races === 0) return undefined;
      races -= 1;
      return races > 1 ? { refused: "full", message: `test ${type}` } : undefined;
    };
    await server.call("POST", definitions, definition("widgets", "Widget"));
    t.ok(await until(() => work.reports.length > 0));
    server.aheadMs += limits.reconcileRetryMsMax;
    t.ok(await until(async () => (await read(server, widgets)) !== undefined));
    t.match(work.reports.splice(0), [/APIService "v1\.example\.com" cannot be put right/]);
    server.store.before = undefined;
  },
);

running("definitions that come and go leave nothing, and each write had a reason", async (t, server, work) => {
  const count = 60;
  const before = (await server.call("GET", "/apis")).text;
  const groups = Array.from({ length: count }, (_, at) => `g${at}.example.com`);
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(groups.map((group) => server.call("POST", definitions, definition("widgets", "Widget", group))));
    for (const group of groups) t.ok(await establishedIn(server, `widgets.${group}`));
    const { json } = await server.call("GET", "/apis");
    const listed = new Set(json.groups.map(({ name }: { name: string }) => name));
    t.ok(groups.every((group) => listed.has(group)));
    await Promise.all(groups.map((group) => server.call("DELETE", `${definitions}/widgets.${group}`)));
    for (const group of groups) t.ok(await goneFrom(server, `widgets.${group}`));
  }
  t.ok(await until(async () => (await server.call("GET", apiServices)).json.items.length === 29));
  await work.idle();
  t.ok(writes(server) <= 29 + 3 * 2 * count, "one to make it and one to delete it");
  t.equal((await server.call("GET", "/apis")).text, before);
});

scenario(
  "APIServices have the names and the label of the identity",
  async (t, server) => {
    const work = runRegistration(server, []);
    await work.idle();
    const path = "/apis/apiregistration.orch.io/v1/apiservices/v1.rbac.authorization.orch.io";
    const { json } = await server.call("GET", path);
    t.match(json, {
      metadata: { labels: { "kube-aggregator.orch.io/automanaged": "onstart" } },
      spec: { group: "rbac.authorization.orch.io", groupPriorityMinimum: 17_000 },
    });
    await work.stop();
  },
  "orch",
);

t.test("Corrections.take() doubles the pause while two disagree, and forgets", async (t) => {
  const corrections = new Corrections();
  let now = 0;
  const pauses: number[] = [];
  for (let at = 0; at < 14; at += 1) {
    const waitMs = corrections.take("a", "x", now);
    pauses.push(waitMs);
    now += waitMs;
    if (waitMs > 0) t.equal(corrections.take("a", "x", now), 0);
  }
  t.same(pauses.slice(0, 6), [0, 0, 0, 500, 1000, 2000]);
  t.equal(pauses.at(-1), limits.correctionMsMax);
  t.equal(corrections.take("a", "y", now), 0, "another outcome");
  t.equal(corrections.take("b", "x", now), 0, "another key");
  for (let at = 0; at < limits.correctionsFree; at += 1) corrections.take("b", "x", now);
  t.ok(corrections.take("b", "x", now) > 0);
  now += limits.correctionMsMax + limits.correctionForgetMs;
  t.same(
    [1, 2, 3].map(() => corrections.take("b", "x", now)),
    [0, 0, 0],
  );
  for (let at = 0; at <= limits.correctionsMax; at += 1) corrections.take(`k${at}`, "x", now);
  t.same(
    [1, 2, 3].map(() => corrections.take("b", "x", now)),
    [0, 0, 0],
    "the oldest of too many",
  );
});
