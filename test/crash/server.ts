// The server's crash test: kills under 16 writers and 8 reconnecting watchers, then the offline check of everything
// they lived through against the store. Used by server.test.ts and, for long runs, by scripts/crash.ts.
import { join } from "node:path";
import { startServer, type TestServer } from "../support/server.ts";
import { Clients, namespace, storePrefix } from "./clients.ts";
import { readTruth } from "./cycle.ts";
import { type Judgement, judge, settle } from "./verdict.ts";

/** What a run found. */
export interface ServerRun extends Judgement {
  readonly surprises: readonly string[];
  readonly kills: number;
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
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
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
    ...judge(await readTruth(join(dir, "store"), storePrefix), clients.lines),
    surprises: clients.surprises,
    kills,
    readyMsMax: Math.round(readyMsMax),
  };
}

function start(dir: string, port: number): Promise<TestServer> {
  return startServer(["--log-level=error"], dir, { port });
}
