// The operations on a custom kind beside those on a built-in kind whose objects have the same fields and size: config maps
// of 2 KiB, and deployments, whose schema is taken from the server's own OpenAPI document. Rounds of the two take turns.
import { connect, type TLSSocket } from "node:tls";
import { assert } from "../../src/base/assert.ts";
import { definition, version } from "../../test/support/published.ts";
import { benchGroup, schemaFrom } from "../corpus/definition.ts";
import { podText } from "../corpus/pod.ts";
import { type Subject, subjectCpuUs } from "../harness/peer.ts";
import { record, round, wait } from "../results.ts";
import { type Address, RestClient } from "./rest.ts";

type Json = Record<string, unknown>;

const clientCount = 16;
const warmRounds = 6;
const rounds = 9;
const operationsPerRound = 800;
const watcherCount = 100;
const changesPerRound = 200;
/** Objects that are changed under watches. */
const watchedCount = 16;

/** A collection, and what its objects say. */
interface Kind {
  readonly path: string;
  readonly apiVersion: string;
  readonly kind: string;
}

/** A built-in kind, the custom one that looks like it, and what both say beside their metadata. */
interface Pair {
  readonly name: string;
  readonly kinds: readonly [builtIn: Kind, custom: Kind];
  readonly content: (index: number) => Json;
  /** How many there are in the lists that are read. */
  readonly listed: readonly number[];
}

const apiVersion = `${benchGroup}/v1`;

const pairs: readonly Pair[] = [
  {
    name: "config map of 2 KiB",
    kinds: [
      { path: "/api/v1/namespaces/default/configmaps", apiVersion: "v1", kind: "ConfigMap" },
      { path: `/apis/${apiVersion}/namespaces/default/settings`, apiVersion, kind: "Setting" },
    ],
    content: (index) => ({ data: { pad: "p".repeat(1800), index: String(index) } }),
    listed: [1000, 10_000],
  },
  {
    name: "deployment",
    kinds: [
      { path: "/apis/apps/v1/namespaces/default/deployments", apiVersion: "apps/v1", kind: "Deployment" },
      { path: `/apis/${apiVersion}/namespaces/default/rollouts`, apiVersion, kind: "Rollout" },
    ],
    content: (index) => {
      const { spec } = JSON.parse(podText(index)) as { spec: Json };
      const labels = { app: "web", tier: index % 2 === 0 ? "front" : "back" };
      const template = { metadata: { labels }, spec };
      return { spec: { replicas: 3, selector: { matchLabels: labels }, template } };
    },
    listed: [1000],
  },
];

/** Measures every operation of every pair. */
export async function compareKinds(server: Subject): Promise<void> {
  await define(server);
  for (const pair of pairs) {
    await withClients(server, (clients) => writes(server, clients, pair));
    await withClients(server, (clients) => watches(server, clients, pair));
    let there = 0;
    for (const count of pair.listed) {
      const from = there;
      await withClients(server, (clients) => fill(clients, pair, from, count));
      there = count;
      await lists(server, pair, count);
    }
  }
}

/** Connections of their own for each step: servers close those that were idle for long. */
async function withClients(server: Address, work: (clients: readonly RestClient[]) => Promise<void>): Promise<void> {
  const clients = Array.from({ length: clientCount }, () => new RestClient(server));
  await work(clients);
  for (const client of clients) client.close();
}

/** Has the custom kinds served. */
async function define(server: Address): Promise<void> {
  const client = new RestClient(server);
  await send(client, 200, "GET", "/openapi/v2");
  const { definitions } = JSON.parse(client.text()) as { definitions: Record<string, Json> };
  for (const [kind, model] of [
    ["Setting", "io.k8s.api.core.v1.ConfigMap"],
    ["Rollout", "io.k8s.api.apps.v1.Deployment"],
  ] as const) {
    const versions = [version("v1", schemaFrom(definitions, model), { subresources: { status: {} } })];
    if (kind === "Setting") delete (versions[0] as Json)["subresources"];
    const body = JSON.stringify(definition(kind, { group: benchGroup, versions }));
    await send(client, 201, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body);
  }
  for (const { kinds } of pairs) {
    for (let tries = 0; (await client.send("GET", kinds[1].path)) !== 200; tries += 1) {
      assert(tries < 300, `${kinds[1].path} is not served`);
      await wait(100);
    }
  }
  await wait(2000);
  client.close();
}

async function send(client: RestClient, wanted: number, ...rest: Parameters<RestClient["send"]>): Promise<void> {
  const code = await client.send(...rest);
  assert(code === wanted, `${rest[0]} ${rest[1]} was answered ${code}: ${client.text().slice(0, 500)}`);
}

/** CPU of rounds of the two kinds in turns, and what is recorded of them. */
async function compare(
  server: Subject,
  name: string,
  perRound: number,
  run: (side: 0 | 1, round: number) => Promise<void>,
): Promise<void> {
  const used: [number[], number[]] = [[], []];
  for (let number = 0; number < warmRounds + rounds; number += 1) {
    for (const side of number % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const before = subjectCpuUs(server);
      await run(side, number);
      if (number >= warmRounds) used[side].push((subjectCpuUs(server) - before) / perRound);
    }
  }
  const ratios = used[1].map((us, index) => us / (used[0][index] ?? 1));
  record(`custom/${name}, ${server.name}`, {
    cpuUsBuiltIn: round(median(used[0]), 1),
    cpuUsCustom: round(median(used[1]), 1),
    ratio: round(median(ratios)),
  });
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function bodyOf({ kinds, content }: Pair, side: 0 | 1, index: number, metadata: Json): string {
  const { apiVersion, kind } = kinds[side];
  return JSON.stringify({ apiVersion, kind, metadata, ...content(index) });
}

/** Numbered operations of all clients. */
async function each(
  clients: readonly RestClient[],
  count: number,
  work: (client: RestClient, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const loop = async (client: RestClient): Promise<void> => {
    for (let index = next++; index < count; index = next++) await work(client, index);
  };
  await Promise.all(clients.map(loop));
}

async function writes(server: Subject, clients: readonly RestClient[], pair: Pair): Promise<void> {
  const { name, kinds } = pair;
  const per = operationsPerRound;
  const versions: [string[], string[]] = [[], []];
  const nameAt = (index: number): string => `w${index}`;
  await compare(server, `create a ${name}`, per, (side, number) =>
    each(clients, per, async (client, index) => {
      const body = bodyOf(pair, side, index, { name: nameAt(number * per + index), labels: { app: "web" } });
      await send(client, 201, "POST", kinds[side].path, body);
      if (number === 0) versions[side][index] = versionIn(client);
    }),
  );
  await compare(server, `get a ${name}`, per, (side) =>
    each(clients, per, (client, index) => send(client, 200, "GET", `${kinds[side].path}/${nameAt(index)}`)),
  );
  await compare(server, `update a ${name}`, per, (side, number) =>
    each(clients, per, async (client, index) => {
      const resourceVersion = versions[side][index];
      const metadata = { name: nameAt(index), resourceVersion, labels: { app: "web", n: String(number) } };
      await send(client, 200, "PUT", `${kinds[side].path}/${nameAt(index)}`, bodyOf(pair, side, index, metadata));
      versions[side][index] = versionIn(client);
    }),
  );
  const patch = "application/merge-patch+json";
  await compare(server, `merge patch of a ${name}`, per, (side, number) =>
    each(clients, per, (client, index) => {
      const body = `{"metadata":{"labels":{"n":"p${number}"}}}`;
      return send(client, 200, "PATCH", `${kinds[side].path}/${nameAt(index)}`, body, patch);
    }),
  );
  await compare(server, `delete a ${name}`, per, (side, number) =>
    each(clients, per, (client, index) =>
      send(client, 200, "DELETE", `${kinds[side].path}/${nameAt(number * per + index)}`, "{}"),
    ),
  );
  await applies(server, clients, pair);
}

async function applies(server: Subject, clients: readonly RestClient[], pair: Pair): Promise<void> {
  const { name, kinds } = pair;
  const per = operationsPerRound;
  const apply = (client: RestClient, side: 0 | 1, index: number, wanted: number, label: string): Promise<void> => {
    const path = `${kinds[side].path}/a${index}?fieldManager=applier`;
    const body = bodyOf(pair, side, index, { name: `a${index}`, labels: { app: "web", n: label } });
    return send(client, wanted, "PATCH", path, body, "application/apply-patch+yaml");
  };
  await compare(server, `apply of a new ${name}`, per, (side, number) =>
    each(clients, per, (client, index) => apply(client, side, number * per + index, 201, "new")),
  );
  await compare(server, `apply of a ${name} with one label changed`, per, (side, number) =>
    each(clients, per, (client, index) => apply(client, side, index, 200, `r${number}`)),
  );
  await each(clients, per * (warmRounds + rounds), async (client, index) => {
    for (const { path } of kinds) await send(client, 200, "DELETE", `${path}/a${index}`, "{}");
  });
}

/** The resource version an answer names first: its object's, or its list's. */
function versionIn(client: RestClient): string {
  return /"resourceVersion":"(\d+)"/.exec(client.text())?.[1] ?? "";
}

async function fill(clients: readonly RestClient[], pair: Pair, from: number, to: number): Promise<void> {
  await each(clients, to - from, async (client, offset) => {
    const index = from + offset;
    const name = `l${String(index).padStart(6, "0")}`;
    for (const side of [0, 1] as const) {
      const body = bodyOf(pair, side, index, { name, labels: { app: "web" } });
      await send(client, 201, "POST", pair.kinds[side].path, body);
    }
  });
}

async function lists(server: Subject, { name, kinds }: Pair, count: number): Promise<void> {
  for (const [form, accept] of [
    ["JSON", "application/json"],
    ["Table", "application/json;as=Table;v=v1;g=meta.k8s.io"],
  ] as const) {
    const clients = Array.from({ length: 4 }, () => new RestClient(server, accept));
    await compare(server, `list of ${count} of a ${name}, ${form}`, clients.length, (side) =>
      each(clients, clients.length, (client) => send(client, 200, "GET", `${kinds[side].path}?labelSelector=app`)),
    );
    for (const client of clients) client.close();
  }
}

/** Watchers of one collection that look for the mark of a change. */
class Watchers {
  readonly #sockets: TLSSocket[] = [];
  #left = 0;
  #mark = "";
  #done: () => void = () => undefined;

  /** Opens watches from now on. */
  async open(server: Address, path: string, version: string): Promise<void> {
    const { hostname, port } = new URL(server.base);
    const head = `Host: ${hostname}\r\nAuthorization: Bearer ${server.token}\r\nAccept: application/json\r\n\r\n`;
    const open = (): Promise<void> =>
      new Promise((resolve) => {
        const { ca, servername = "localhost" } = server;
        const socket = connect({ host: hostname, port: Number(port), ca, servername });
        let tail = "";
        socket.on("data", (chunk) => {
          resolve();
          const text = tail + chunk.toString("latin1");
          if (this.#mark !== "" && text.includes(this.#mark)) this.#found();
          tail = text.slice(-40);
        });
        socket.write(`GET ${path}?watch=1&resourceVersion=${version} HTTP/1.1\r\n${head}`);
        this.#sockets.push(socket);
      });
    await Promise.all(Array.from({ length: watcherCount }, open));
  }

  /** Resolves when every watcher got what has the mark. */
  waitFor(mark: string): Promise<void> {
    this.#left = watcherCount;
    this.#mark = mark;
    return new Promise((resolve) => {
      this.#done = resolve;
    });
  }

  #found(): void {
    this.#left -= 1;
    if (this.#left > 0) return;
    this.#mark = "";
    this.#done();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

async function watches(server: Subject, clients: readonly RestClient[], pair: Pair): Promise<void> {
  const { name, kinds } = pair;
  const watchers = [new Watchers(), new Watchers()] as const;
  const writers = clients.slice(0, 4);
  const patch = "application/merge-patch+json";
  for (const side of [0, 1] as const) {
    for (let index = 0; index < watchedCount; index += 1) {
      const body = bodyOf(pair, side, index, { name: `v${index}`, labels: { app: "web" } });
      await send(clients[0] as RestClient, 201, "POST", kinds[side].path, body);
    }
    await send(clients[0] as RestClient, 200, "GET", `${kinds[side].path}?limit=1`);
    await watchers[side].open(server, kinds[side].path, versionIn(clients[0] as RestClient));
  }
  await compare(server, `watch of ${watcherCount}, a ${name}`, watcherCount * changesPerRound, async (side, number) => {
    const mark = `mark-${side}-${number}-end`;
    const change = (client: RestClient, index: number, label: string): Promise<void> => {
      const body = `{"metadata":{"labels":{"n":"${label}"}}}`;
      return send(client, 200, "PATCH", `${kinds[side].path}/v${index % watchedCount}`, body, patch);
    };
    await each(writers, changesPerRound - 1, (client, index) => change(client, index, `${number}-${index}`));
    const seen = watchers[side].waitFor(mark);
    await change(writers[0] as RestClient, 0, mark);
    await seen;
  });
  for (const each of watchers) each.close();
}
