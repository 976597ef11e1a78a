// A key of encryption at rest is exchanged while secrets are written at a steady pace: by the steps of OPERATING.md, with the
// file read again while the servers run. At the end nothing is under the former key, and nothing is plain.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { documentOf, keyOf, type ProviderItem } from "../storage/encryption/fixture.ts";
import { Etcd } from "../support/etcd/etcd.ts";
import { rangeOf } from "../support/etcd/gateway.ts";
import { eventually, shareKeys, startServer, type TestServer } from "../support/server.ts";
import { Load, type LoadFigures } from "./load.ts";

const secrets = "/api/v1/namespaces/default/secrets";
const flag = "--encryption-provider-config";
/** In every secret. */
const canary = "canary-in-each-secret";
const objects = 1000;
const stepMs = 5000;
const reloadMsMax = 120_000;

/** What a rotation led to. */
export interface RotationResult {
  readonly faults: readonly string[];
  readonly load: LoadFigures;
  /** Secrets that were written anew, and how long that took. */
  readonly rewritten: number;
  readonly rewriteMs: number;
  /** Writes of that which lost against the load, and were made by it. */
  readonly conflicts: number;
  /** Values in the store at the end, by the provider and key they begin with. */
  readonly values: Readonly<Record<string, number>>;
}

const aes = (...names: string[]): ProviderItem => ({
  aescbc: { keys: names.map((name) => keyOf(name, name.charCodeAt(0))) },
});

/** Exchanges it on a server with an embedded store, or on two servers of an etcd. */
export async function rotate(dir: string, perSecond: number, isOnEtcd: boolean): Promise<RotationResult> {
  const file = join(dir, "encryption.json");
  const configure = (...names: string[]): void => {
    const document = { ...documentOf([["secrets"], aes(...names)]), apiVersion: "apiserver.config.orch.io/v1" };
    writeFileSync(file, JSON.stringify(document));
  };
  configure("a");
  const etcd = isOnEtcd ? await Etcd.open() : undefined;
  const flags = [`${flag}=${file}`, `${flag}-automatic-reload`, ...(etcd?.flags() ?? [])];
  const servers = [await startServer(flags)];
  const [{ dir: home }] = servers as [TestServer];
  try {
    if (isOnEtcd) {
      shareKeys(home, join(home, "second"));
      servers.push(await startServer(flags, join(home, "second")));
    }
    return await run({ servers, etcd, perSecond, flags, configure });
  } finally {
    for (const server of servers.toReversed()) await server.stop("SIGKILL");
    await etcd?.close();
  }
}

interface Parts {
  /** Those that run. */
  readonly servers: TestServer[];
  readonly etcd: Etcd | undefined;
  readonly perSecond: number;
  readonly flags: readonly string[];
  readonly configure: (...names: string[]) => void;
}

async function run({ servers, etcd, perSecond, flags, configure }: Parts): Promise<RotationResult> {
  const contentOf = (count: number): object => ({ stringData: { value: `${canary} ${count}` } });
  const own = { perSecond: Math.ceil(perSecond / servers.length), objects, contentOf };
  const loads = [];
  for (const [index, server] of servers.entries()) {
    // Each server writes objects of its own.
    const namespace = `load-${index}`;
    await server.call("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
    loads.push(new Load(server, { ...own, collection: `/api/v1/namespaces/${namespace}/secrets` }));
  }
  const [server] = servers as [TestServer];
  await atOnce(Array.from({ length: objects }).keys(), async (index) => {
    const idle = { metadata: { name: `idle-${index}` }, ...contentOf(index) };
    const { code, text } = await server.call("POST", secrets, idle);
    if (code !== 201) throw new Error(text);
  });
  const startMs = performance.now();
  await sleep(stepMs);
  const step = async (...names: string[]): Promise<void> => {
    const before = await Promise.all(servers.map(reloads));
    configure(...names);
    const isRead = async (): Promise<boolean> =>
      (await Promise.all(servers.map(reloads))).every((count, index) => count > (before[index] as number));
    if (!(await eventually(isRead, reloadMsMax))) throw new Error(`Keys ${names.join()} are not read`);
    await sleep(stepMs);
  };
  if (servers.length > 1) await step("a", "b");
  await step("b", "a");
  const rewriteStartMs = performance.now();
  const { rewritten, conflicts } = await rewriteAll(server);
  const rewriteMs = Math.round(performance.now() - rewriteStartMs);
  await step("b");
  const endMs = performance.now();
  for (const load of loads) await load.stop();
  const faults = loads.flatMap(({ errors }) => errors.slice(0, 20));
  const list = (await server.call("GET", "/api/v1/secrets")).json.items as { data: { value: string } }[];
  const wrong = list.filter(({ data }) => !Buffer.from(data.value, "base64").toString().startsWith(canary));
  if (list.length < objects || wrong.length > 0) faults.push(`${wrong.length} of ${list.length} secrets are wrong`);
  // The state alone is looked at: history under the former key is forgotten by the start with the new one.
  for (const each of servers) await each.stop("SIGTERM", false);
  const again = await startServer(flags, server.dir);
  servers.splice(0, servers.length, again);
  const { length } = (await again.call("GET", "/api/v1/secrets")).json.items;
  if (length !== list.length)
    faults.push(`${length} of ${list.length} secrets are there after a start with the new key alone`);
  const values = etcd === undefined ? {} : await valuesOf(etcd);
  const former = Object.keys(values).filter((head) => !head.startsWith("k8s:enc:aescbc:v1:b:"));
  if (former.length > 0) faults.push(`values under ${former.join()}`);
  if (isPlain(server.dir, etcd)) faults.push("a plain value is in the store");
  const figures = loads.map((load) => load.figures(startMs, endMs));
  return { faults, load: sum(figures), rewritten, rewriteMs, conflicts, values };
}

/** How often a server has read the file again. */
async function reloads(server: TestServer): Promise<number> {
  const line = /^apiserver_encryption_config_controller_automatic_reloads_total\{.*status="success".*\} (\d+)$/m;
  return Number(line.exec(await server.metrics())?.[1] ?? 0);
}

/** Writes every secret as it is, as `kubectl get | kubectl replace` does. */
async function rewriteAll(server: TestServer): Promise<{ rewritten: number; conflicts: number }> {
  const { items } = (await server.call("GET", "/api/v1/secrets")).json as {
    items: { metadata: { namespace: string; name: string } }[];
  };
  let rewritten = 0;
  let conflicts = 0;
  await atOnce(items, async (item) => {
    const { namespace, name } = item.metadata;
    const { code, text } = await server.call("PUT", `/api/v1/namespaces/${namespace}/secrets/${name}`, item);
    if (code === 200) rewritten += 1;
    // The load has written or deleted it since, with the new key.
    else if (code === 409 || code === 404) conflicts += 1;
    else throw new Error(`${code}: ${text}`);
  });
  return { rewritten, conflicts };
}

/** Does something for each item, eight at a time. */
async function atOnce<Item>(items: Iterable<Item>, work: (item: Item) => Promise<void>): Promise<void> {
  const next = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let item = next.next(); item.done !== true; item = next.next()) await work(item.value);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

/** How many values of secrets an etcd has, by what they begin with. */
async function valuesOf(etcd: Etcd): Promise<Record<string, number>> {
  const { kvs = [] } = await etcd.call("/v3/kv/range", rangeOf("/registry/secrets/"), 60_000);
  const counts = new Map<string, number>();
  for (const { value } of kvs as { value: string }[]) {
    const head = /^(?:[\w]+:){5}/.exec(Buffer.from(value, "base64").toString("latin1"))?.[0] ?? "plain";
    counts.set(head, (counts.get(head) ?? 0) + 1);
  }
  return Object.fromEntries(counts);
}

/** Whether what is in each secret is in any file of the store, as it is or in base64. */
function isPlain(dir: string, etcd: Etcd | undefined): boolean {
  const folder = etcd === undefined ? join(dir, "store") : (etcd.members[0] as (typeof etcd.members)[number]).dataDir;
  const forms = [canary, Buffer.from(canary).toString("base64").slice(0, -4)];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .some((entry) => {
      const bytes = readFileSync(join(entry.parentPath, entry.name));
      return forms.some((form) => bytes.includes(form));
    });
}

function sum(all: readonly LoadFigures[]): LoadFigures {
  const of = (name: keyof LoadFigures): number => all.reduce((total, figures) => total + figures[name], 0);
  const most = (name: keyof LoadFigures): number => Math.max(...all.map((figures) => figures[name]));
  return {
    seconds: most("seconds"),
    writes: of("writes"),
    perSecond: of("perSecond"),
    perSecondMin: of("perSecondMin"),
    p50Ms: most("p50Ms"),
    p99Ms: most("p99Ms"),
    maxMs: most("maxMs"),
  };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
