// An etcd that is restored from an older snapshot under two servers: revisions that were given out are given out again, so
// neither server may go on. Until it has ended, nothing it answers is of the older state.
import { mkdirSync } from "node:fs";
import { Etcd } from "../support/etcd/etcd.ts";
import { eventually, type TestServer } from "../support/server.ts";
import { collection } from "./clients.ts";
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

/** Asks and writes on both servers through a restore, which each must notice. */
export async function runRestore(dir: string, pick: (n: number) => number): Promise<RestoreResult> {
  mkdirSync(dir, { recursive: true });
  const etcd = await Etcd.open({ members: 3 });
  const causes: string[] = [];
  const servers = new SharedServers(dir, etcd, {
    up: () => undefined,
    down: () => undefined,
    ended: (_index, _code, errors) => causes.push(errors),
  });
  servers.isSupervised = false;
  try {
    const all: TestServer[] = [];
    for (let index = 0; index < serverCount; index += 1) all.push(await servers.start(index));
    const [server] = all as [TestServer];
    await server.call("POST", "/api/v1/namespaces", { metadata: { name: "crash" } });
    await server.call("POST", collection, { metadata: { name: "kept" } });
    const snapshot = await etcd.snapshot();
    let newest = 0;
    for (let write = 0; write < lostWrites; write += 1) {
      const { json } = await server.call("POST", collection, { metadata: { name: `lost-${write}` } });
      newest = Number(json.metadata.resourceVersion);
    }
    const witness = new Witness(newest);
    for (const [index, each] of all.entries())
      for (let asker = 0; asker < 4; asker += 1) void witness.ask(each, `${index}-${asker}`, pick);
    await etcd.restore(snapshot);
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
    const found = await (servers.at(0) as TestServer).call("GET", `${collection}/kept`);
    if (found.code !== 200) witness.violations.push(`After the restore a get is answered ${found.code}: ${found.text}`);
    return { violations: witness.violations, ended: causes.length, detectedMs, refused: witness.refused };
  } finally {
    await servers.close();
    await etcd.close();
  }
}

/** Clients that know a revision and note every answer that is older. */
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
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  }
}
