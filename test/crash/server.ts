// The server's crash test: kills under 16 writers and 8 reconnecting watchers, then the offline check of everything
// they lived through against the store. Used by server.test.ts and, for long runs, by scripts/crash.ts.
import { join } from "node:path";
import { eventually, startServer, type TestServer } from "../support/server.ts";
import { check, type Truth } from "./check.ts";
import { Clients, collection, storePrefix } from "./clients.ts";
import { readTruth } from "./cycle.ts";

/** What a run found. */
export interface ServerRun {
  readonly violations: readonly string[];
  readonly surprises: readonly string[];
  readonly kills: number;
  readonly acknowledged: number;
  readonly inDoubt: number;
  readonly events: number;
  readonly watches: number;
  readonly lists: number;
  readonly readyMsMax: number;
}

/** What happens around each SIGKILL. */
export interface Blow {
  /** Just before it. */
  readonly cut?: () => Promise<void>;
  /** Between it and the next start. */
  readonly between?: () => void;
}

/** Kills the server on `dir` `kills` times at random moments, and once more at the end. */
export async function runServer(
  dir: string,
  kills: number,
  pick: (n: number) => number,
  blow: Blow = {},
): Promise<ServerRun> {
  const clients = new Clients(pick);
  let server = await start(dir, 0);
  const port = Number(new URL(server.base).port);
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "crash" } });
  clients.up(server);
  const running = clients.run(16, 8);
  let readyMsMax = 0;
  for (let i = 0; i < kills; i++) {
    await new Promise((resolve) => setTimeout(resolve, 50 + pick(700)));
    if (blow.cut !== undefined) {
      clients.fail();
      await blow.cut();
    }
    clients.down();
    await server.stop("SIGKILL", false);
    blow.between?.();
    const killedAt = performance.now();
    server = await start(dir, port);
    readyMsMax = Math.max(readyMsMax, performance.now() - killedAt);
    clients.up(server);
    if (i % 100 === 99) console.error(`${i + 1} kills`);
  }
  await settle(server, clients);
  clients.stop();
  await server.stop("SIGKILL", false);
  await running;
  return {
    ...judge(await readTruth(join(dir, "store"), storePrefix), clients),
    kills,
    readyMsMax: Math.round(readyMsMax),
  };
}

function start(dir: string, port: number): Promise<TestServer> {
  return startServer(["--log-level=error"], dir, { port });
}

/** Nobody is left behind: a last change reaches every watcher. */
async function settle(server: TestServer, clients: Clients): Promise<void> {
  const last = await server.call("POST", collection, { metadata: { name: "last" }, data: { value: "last" } });
  const revision = Number(last.json.metadata.resourceVersion);
  const settled = await eventually(() => clients.behind(revision).length === 0);
  if (!settled) clients.surprises.push(`I7: ${clients.behind(revision).join(", ")} never saw ${revision}`);
}

function judge(truth: Truth, clients: Clients): Omit<ServerRun, "kills" | "readyMsMax"> {
  const { lines, surprises } = clients;
  const count = (t: string): number => lines.reduce((sum, line) => sum + (line.t === t ? 1 : 0), 0);
  const last = { t: "ask", id: -1, op: "create", key: `${storePrefix}last`, token: "last", expected: 0 } as const;
  return {
    violations: check(truth, [...lines, last]),
    surprises,
    acknowledged: count("ack"),
    inDoubt: count("ask") - count("ack") - count("no"),
    events: count("event"),
    watches: count("open"),
    lists: count("list"),
  };
}
