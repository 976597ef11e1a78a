// Every object of a server on an embedded store, by way of a snapshot, on an etcd and back.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Etcd } from "../support/etcd/etcd.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { command } from "./saves.ts";
import { differences, type Seen } from "./witness.ts";

/** What a way there and back led to. */
export interface RoundTrip {
  readonly faults: readonly string[];
  readonly kinds: number;
  readonly objects: number;
}

/** Kinds whose objects the server keeps by itself, with times in them. */
const own = new Set(["leases", "events", "componentstatuses"]);

/** Fills a store with so many objects, and compares all there are after each step. */
export async function roundTrip(dir: string, objects: number): Promise<RoundTrip> {
  mkdirSync(dir, { recursive: true });
  const file = join(dir, "first");
  const first = await startServer([]);
  await fill(first, objects);
  const all = await everything(first);
  await first.stop("SIGTERM", false);
  await command(["snapshot", "save", file, `--data-dir=${first.dir}`]);
  const etcd = await Etcd.open();
  const faults: string[] = [];
  try {
    await command(["snapshot", "restore", file, `--etcd-servers=${etcd.endpoints.join()}`]);
    const second = await startServer(etcd.flags(), first.dir);
    faults.push(...compare("in etcd", all, await everything(second)));
    await second.stop("SIGTERM", false);
    await command(["snapshot", "save", join(dir, "second"), `--etcd-servers=${etcd.endpoints.join()}`]);
    await command(["snapshot", "restore", join(dir, "second"), `--data-dir=${join(dir, "back")}`]);
    const third = await startServer([], join(dir, "back"));
    faults.push(...compare("back", all, await everything(third)));
    await third.stop();
  } finally {
    await etcd.close();
    await first.stop();
  }
  const counts = [...all.values()].map(({ size }) => size);
  return { faults, kinds: counts.filter((size) => size > 0).length, objects: counts.reduce((sum, size) => sum + size) };
}

async function fill(server: TestServer, objects: number): Promise<void> {
  for (let index = 0; index < objects; index += 1) {
    const metadata = { name: `o-${index}`, labels: { index: String(index) } };
    const of = [
      ["configmaps", { metadata, data: { value: "v".repeat(index % 3000) } }],
      ["secrets", { metadata, stringData: { value: `secret ${index}` } }],
      ["serviceaccounts", { metadata }],
      // There are 254 addresses.
      ["services", { metadata, spec: { ...(index < 500 ? {} : { clusterIP: "None" }), ports: [{ port: 80 }] } }],
    ] as const;
    const [kind, body] = of[index % of.length] as (typeof of)[number];
    const { code, text } = await server.call("POST", `/api/v1/namespaces/default/${kind}`, body);
    if (code !== 201) throw new Error(text);
  }
}

/** All objects by the path of their list; within it by namespace and name. */
async function everything(server: TestServer): Promise<Map<string, Map<string, Seen>>> {
  const groups = (await server.call("GET", "/apis")).json.groups as { preferredVersion: { groupVersion: string } }[];
  const paths = ["/api/v1", ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)];
  const all = new Map<string, Map<string, Seen>>();
  for (const path of paths) {
    const { resources } = (await server.call("GET", path)).json as { resources: { name: string; verbs: string[] }[] };
    for (const { name, verbs } of resources) {
      if (!verbs.includes("list") || own.has(name)) continue;
      const { items } = (await server.call("GET", `${path}/${name}`)).json as { items: Seen[] };
      const nameOf = ({ metadata }: Seen): string =>
        `${(metadata as { namespace?: string }).namespace ?? ""}/${metadata.name}`;
      all.set(`${path}/${name}`, new Map(items.map((item) => [nameOf(item), item])));
    }
  }
  return all;
}

function compare(
  where: string,
  all: ReadonlyMap<string, ReadonlyMap<string, Seen>>,
  now: ReadonlyMap<string, ReadonlyMap<string, Seen>>,
): string[] {
  return [...all].flatMap(([path, expected]) =>
    differences(expected, now.get(path) ?? new Map(), true).map((text) => `${where}, ${path}: ${text}`),
  );
}
