// Backups under load: a server writes at a steady pace while its store is saved, again and again; what is restored from each
// save must be, object by object, what a watcher saw at the save's revision.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { findEtcdctl } from "../support/etcd/binary.ts";
import { Etcd } from "../support/etcd/etcd.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { orch } from "../support/servers/command.ts";
import { Load, type LoadFigures } from "./load.ts";
import { byName, differences, Witness } from "./witness.ts";

const namespace = "/api/v1/namespaces/default";
const maps = `${namespace}/configmaps`;

/** What a run is to be. */
export interface SaveRun {
  /** A folder of its own. */
  readonly dir: string;
  readonly perSecond: number;
  readonly saves: number;
}

/** What a run found. */
export interface SaveResult {
  readonly faults: readonly string[];
  /** Of each save: while it was made. */
  readonly saves: readonly (LoadFigures & { readonly revision: number; readonly objects: number })[];
  /** Before the first save. */
  readonly before: LoadFigures;
}

const objects = 5000;
const settleMs = 5000;

/** A save that was made. */
interface Saved {
  readonly file: string;
  readonly revision: number;
  readonly load: LoadFigures;
}

/** Where a store is, and how it is saved and restored. */
interface Place {
  readonly server: TestServer;
  /** Saves it; its revision. */
  readonly save: (file: string) => Promise<number>;
  /** A server on what was saved, and how it ends. */
  readonly restored: (file: string, dir: string) => Promise<{ server: TestServer; end: () => Promise<void> }>;
}

/** An embedded store, saved by the program's own command. */
export async function savesOfEmbedded(run: SaveRun): Promise<SaveResult> {
  const server = await startServer([]);
  try {
    return await runOn(run, {
      server,
      save: (file) => saveWith(["snapshot", "save", file, `--data-dir=${server.dir}`]),
      restored: async (file, dir) => {
        await command(["snapshot", "restore", file, `--data-dir=${dir}`]);
        const again = await startServer([], dir);
        return { server: again, end: async () => void (await again.stop()) };
      },
    });
  } finally {
    await server.stop();
  }
}

/** An etcd, saved as etcd's own tools do. */
export async function savesOfEtcd(run: SaveRun): Promise<SaveResult> {
  const etcd = await Etcd.open();
  const server = await startServer(etcd.flags());
  try {
    return await runOn(run, {
      server,
      save: async (file) => {
        await (etcd.members[0] as (typeof etcd.members)[number]).gateway.save(file);
        return revisionOf(file);
      },
      restored: async (file, dir) => {
        const other = await Etcd.open();
        await other.restore(file);
        const again = await startServer(other.flags());
        return {
          server: again,
          end: async () => {
            await again.stop();
            await other.close();
            rmSync(dir, { recursive: true, force: true });
          },
        };
      },
    });
  } finally {
    await server.stop();
    await etcd.close();
  }
}

async function runOn({ dir, perSecond, saves }: SaveRun, { server, save, restored }: Place): Promise<SaveResult> {
  const witness = await Witness.open(server, maps);
  const contentOf = (count: number): object => ({ data: { value: `v${count}`, padding: "p".repeat(count % 1500) } });
  const load = new Load(server, { collection: maps, perSecond, objects, contentOf });
  // Each object was written by then.
  await sleep((objects * 1000) / perSecond + settleMs);
  const startMs = performance.now();
  await sleep(settleMs);
  const before = load.figures(startMs, performance.now());
  const made: Saved[] = [];
  for (let index = 0; index < saves; index += 1) {
    const file = join(dir, `saved-${index}`);
    const fromMs = performance.now();
    const revision = await save(file);
    made.push({ file, revision, load: load.figures(fromMs, performance.now()) });
  }
  await load.stop();
  await witness.reach(made.at(-1)?.revision ?? 0);
  const faults = [...load.errors.slice(0, 20), ...witness.faults];
  witness.close();
  const found = [];
  for (const [index, { file, revision, load: figures }] of made.entries()) {
    const { server: again, end } = await restored(file, join(dir, `restored-${index}`));
    const { items } = (await again.call("GET", maps)).json;
    const wrong = differences(witness.at(revision), byName(items));
    faults.push(...wrong.slice(0, 20).map((text) => `save ${index}, revision ${revision}: ${text}`));
    found.push({ ...figures, revision, objects: items.length });
    await end();
  }
  return { faults, saves: found, before };
}

/** The revision of an etcd's snapshot. */
function revisionOf(file: string): number {
  const args = ["snapshot", "status", file, "--write-out=json"];
  const env = { PATH: process.env["PATH"], ETCDCTL_API: "3" };
  const { status, stdout, stderr } = spawnSync(findEtcdctl() as string, args, { encoding: "utf8", env });
  if (status !== 0) throw new Error(`etcdctl snapshot status: ${stderr}`);
  return JSON.parse(stdout).revision;
}

async function saveWith(args: readonly string[]): Promise<number> {
  return Number(/revision (\d+)/.exec(await command(args))?.[1]);
}

/** Runs a command of the program, which must succeed; what it printed. */
export async function command(args: readonly string[]): Promise<string> {
  const { code, out, err } = await orch(...args);
  if (code !== 0) throw new Error(`${args.join(" ")}: ${err}`);
  return out;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
