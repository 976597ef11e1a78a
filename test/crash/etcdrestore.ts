// An etcd that is restored from an older snapshot under two servers: revisions that were given out are given out again, so
// neither server may go on. Until it has ended, nothing it answers is of the older state. Or both are paused until another
// program has written more than was lost, so that no revision they see tells of the restore.
import { setTimeout as pause } from "node:timers/promises";
import { Etcd } from "../support/etcd/etcd.ts";
import { eventually, type TestServer } from "../support/server.ts";
import { collection, namespace } from "./clients.ts";
import { SharedServers, serverCount } from "./etcdservers.ts";

/** What a restore led to. */
export interface RestoreResult {
  /** Answers of the older state by a server that knew the newer one, and servers that went on. */
  readonly violations: readonly string[];
  /** Servers that ended by themselves. */
  readonly ended: number;
  /** Time from the restored cluster's first answer to the end of the last server, ms. */
  readonly detectedMs: number;
  /** Answers that were refused meanwhile. */
  readonly refused: number;
}

const endMsMax = 60_000;
const lostWrites = 30;
/** Time in which a watch at a version that was lost must be told so, ms. */
const expiredMsMax = 20_000;

/**
 * Asks and writes on both servers through a restore, which each must notice; `isOvertaken`: another program writes more
 * than was lost before they can.
 */
export async function runRestore(
  dir: string,
  pick: (n: number) => number,
  isOvertaken = false,
): Promise<RestoreResult> {
  const etcd = await Etcd.open({ members: 3 });
  const causes: string[] = [];
  const servers = new SharedServers(dir, etcd, { ended: (_index, _code, errors) => causes.push(errors) });
  servers.isSupervised = false;
  try {
    const all = await servers.startAll([namespace]);
    const [server] = all as [TestServer];
    await server.call("POST", collection, { metadata: { name: "kept" } });
    const snapshot = await etcd.snapshot();
    let newest = 0;
    for (let write = 0; write < lostWrites; write += 1) {
      const { json } = await server.call("POST", collection, { metadata: { name: `lost-${write}` } });
      newest = Number(json.metadata.resourceVersion);
    }
    // What is asked of paused servers they read after all of it.
    if (isOvertaken) for (const each of all) each.kill("SIGSTOP");
    const witness = new Witness(isOvertaken ? Number.POSITIVE_INFINITY : newest);
    for (const [index, each] of all.entries())
      for (let asker = 0; asker < 4; asker += 1) void witness.ask(each, `${index}-${asker}`, pick);
    await etcd.restore(snapshot);
    if (isOvertaken) {
      // Others renew leases of theirs.
      const most = newest + 5 * lostWrites;
      for (let revision = 0; revision < most; ) revision = await etcd.put("/registry/other", String(revision));
      for (const each of all) each.kill("SIGCONT");
    }
    const restoredMs = performance.now();
    const hasEnded = (): boolean => causes.length === serverCount;
    if (!(await eventually(hasEnded, endMsMax)))
      witness.violations.push(`I3: ${serverCount - causes.length} servers went on on an older state`);
    const detectedMs = Math.round(performance.now() - restoredMs);
    witness.isOver = true;
    for (const cause of causes)
      if (!/restored from an older state|another cluster/.test(cause)) witness.violations.push(`It ended by: ${cause}`);
    // New processes know the older state alone, and serve it.
    for (let index = 0; index < serverCount; index += 1)
      if (servers.at(index) === undefined) await servers.start(index);
    const again = servers.at(0) as TestServer;
    for (const [name, expected] of [
      ["kept", 200],
      ["lost-0", 404],
    ] as const) {
      const { code, text } = await again.call("GET", `${collection}/${name}`);
      if (code !== expected) witness.violations.push(`After the restore a get of ${name} is answered ${code}: ${text}`);
    }
    const told = await firstOf(again, newest + 1_000_000);
    if (told !== "410") witness.violations.push(`A watch at a version of the lost state is told ${told}`);
    return { violations: witness.violations, ended: causes.length, detectedMs, refused: witness.refused };
  } finally {
    await servers.close();
    await etcd.close();
  }
}

/** What a watch at a version is told first: the code of an error, or the type of an event. */
async function firstOf(server: TestServer, version: number): Promise<string> {
  let told: string | undefined;
  const close = server.watch(`${collection}?watch=true&resourceVersion=${version}`, ({ type, object }) => {
    told ??= type === "ERROR" ? String(object["code"]) : type;
  });
  await eventually(() => told !== undefined, expiredMsMax);
  close();
  return told ?? "nothing";
}

/** Clients that know a revision and note every answer that is older; of a revision without end: every answer. */
class Witness {
  readonly violations: string[] = [];
  refused = 0;
  isOver = false;
  readonly #newest: number;
  #writes = 0;

  constructor(newest: number) {
    this.#newest = newest;
  }

  /** Lists and writes until the server is gone. */
  async ask(server: TestServer, name: string, pick: (n: number) => number): Promise<void> {
    while (!this.isOver) {
      try {
        const isWrite = pick(2) === 0;
        const { code, json } = isWrite
          ? await server.call("POST", collection, { metadata: { name: `late-${name}-${this.#writes++}` } })
          : await server.call("GET", collection);
        const revision = Number(json?.metadata?.resourceVersion ?? 0);
        if (code >= 300) this.refused += 1;
        else if (revision < this.#newest || (isWrite && revision === this.#newest))
          this.violations.push(
            `I3: a ${isWrite ? "write" : "list"} was answered at ${revision} though ${this.#newest} was known`,
          );
      } catch {
        // The connection broke: it ends, or it is paused by its end.
        if (server.process.exitCode !== null || server.process.signalCode !== null) return;
        await pause(5);
      }
    }
  }
}
