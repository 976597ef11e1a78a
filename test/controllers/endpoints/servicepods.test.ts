// Which pods a service selects: against a model, through changes of both; and what a change of a pod costs.
import t from "tap";
import { ServicePods } from "../../../src/controllers/endpoints/servicepods.ts";
import type { Controller, Queue } from "../../../src/controllers/reconciler.ts";
import { storedKind } from "../../../src/controllers/storedkind.ts";
import { reconcilerOf } from "../../support/controllers.ts";
import { makePod, merge } from "../../support/endpoints.ts";
import { type InProcess, openInProcess, until } from "../../support/inprocess.ts";
import { draws, fuzzRun } from "../../support/random.ts";

/** A controller that does nothing but look, and what it looked at. */
class Looker implements Controller {
  readonly pods: ServicePods;
  readonly follows;
  readonly seen: string[] = [];
  /** Names of pods by service, as of the last look. */
  readonly found = new Map<string, string>();

  constructor({ writers }: InProcess) {
    const [services, pods] = [storedKind(writers, "", "v1", "services"), storedKind(writers, "", "v1", "pods")];
    this.pods = new ServicePods(writers, services, pods);
    this.follows = this.pods.follows();
  }

  async all(queue: Queue): Promise<void> {
    await this.pods.rebuild(queue);
    await queue.scan(this.pods.services, (_at, key) => queue.add(key));
  }

  async work(key: string, queue: Queue): Promise<undefined> {
    if (!this.pods.isComplete) return undefined;
    this.seen.push(key);
    this.found.delete(key);
    const found = await this.pods.find(key, queue);
    if (found?.selecting === undefined) return undefined;
    const backends = await this.pods.backends(found.selecting, queue);
    const names = backends.map(({ name }) => name).sort();
    this.found.set(key, names.join());
    return undefined;
  }
}

const core = (namespace: string): string => `/api/v1/namespaces/${namespace}`;

t.test("ServicePods has each service's pods, whatever changes", async (t) => {
  const { seed, rounds } = fuzzRun(6);
  for (let round = 0; round < rounds; round += 1) {
    const server = await openInProcess();
    const looker = new Looker(server);
    const looking = reconcilerOf(looker, server.server.clock);
    const { next, chance, pick } = draws(seed + round);
    await server.call("POST", "/api/v1/namespaces", { metadata: { name: "other" } });
    const namespaces = ["default", "other"];
    const pods = new Map<string, Record<string, string>>();
    const services = new Map<string, Record<string, string>>();
    const labels = (): Record<string, string> =>
      Object.fromEntries(["a", "b", "c"].filter(() => chance(60)).map((key) => [key, String(next(2))]));
    const put = async (kind: "pods" | "services", namespace: string, name: string): Promise<void> => {
      const model = kind === "pods" ? pods : services;
      const drawn = labels();
      const path = `${core(namespace)}/${kind}`;
      const known = model.get(`${namespace}/${name}`);
      model.set(`${namespace}/${name}`, drawn);
      const containers = [{ name: "c", image: "i" }];
      // A merge patch takes off what is not there any more.
      const all = { ...Object.fromEntries(Object.keys(known ?? {}).map((key) => [key, null])), ...drawn };
      const [metadata, spec] =
        kind === "pods"
          ? [{ name, labels: known === undefined ? drawn : all }, { containers }]
          : [{ name }, { ports: [{ port: 80 }], selector: known === undefined ? drawn : all }];
      if (known === undefined) await server.call("POST", path, { metadata, spec });
      else await server.call("PATCH", `${path}/${name}`, kind === "pods" ? { metadata } : { spec }, merge);
    };
    if (chance(50)) looking.start();
    for (let step = 0; step < 150; step += 1) {
      const [namespace, number] = [pick(namespaces), next(8)];
      const kind = chance(70) ? "pods" : "services";
      const name = `${kind.slice(0, 3)}${number}`;
      if (chance(75)) await put(kind, namespace, name);
      else {
        (kind === "pods" ? pods : services).delete(`${namespace}/${name}`);
        await server.call("DELETE", `${core(namespace)}/${kind}/${name}?gracePeriodSeconds=0`);
      }
      if (step === 75) looking.start();
    }
    const model = new Map<string, string>();
    for (const [key, selector] of services) {
      if (Object.keys(selector).length === 0) continue;
      const space = key.slice(0, key.indexOf("/") + 1);
      const names = [...pods]
        .filter(([pod, own]) => pod.startsWith(space) && Object.entries(selector).every(([l, v]) => own[l] === v))
        .map(([pod]) => pod.slice(space.length));
      model.set(key, names.sort().join());
    }
    const text = (of: ReadonlyMap<string, string>): string =>
      [...of]
        .map((entry) => entry.join(":"))
        .sort()
        .join(" ");
    await until(() => {
      server.aheadMs += 100;
      return text(looker.found) === text(model);
    });
    t.equal(text(looker.found), text(model), `seed ${seed + round}`);
    await looking.stop();
    server.close();
  }
});

t.test("a change of a pod leads to its own services alone", async (t) => {
  const server = await openInProcess();
  const looker = new Looker(server);
  const looking = reconcilerOf(looker, server.server.clock);
  const labels = { labels: { app: "a7", tier: "web" } };
  for (let index = 0; index < 50; index += 1) {
    const spec = { ports: [{ port: 80 }], selector: { app: `a${index}`, tier: "web" } };
    await server.call("POST", `${core("default")}/services`, { metadata: { name: `s${index}` }, spec });
  }
  looking.start();
  await until(() => looker.seen.length >= 50);
  await looking.idle();
  looker.seen.length = 0;
  await makePod(server, "p1", labels);
  await makePod(server, "p2", { labels: { tier: "web" } });
  await until(() => {
    server.aheadMs += 100;
    return looker.found.get("default/s7") === "p1";
  });
  t.same([...new Set(looker.seen)], ["default/s7"]);
  await looking.stop();
  server.close();
});
