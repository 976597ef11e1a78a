// What a front answers from: views of the logs, the store's client, the handler, and what it is counted and logged by.
import type { FamilySnapshot } from "../observe/metrics.ts";
import type { Handler } from "../request/transport.ts";
import { createAuthenticator } from "../authn/tokens.ts";
import type { FrontData } from "./messages.ts";

/** One front's server, as the thread that runs it sees it. */
export interface FrontServer {
  readonly handle: Handler;
  /** The server is going down: /readyz says so from now on. */
  shutdown(): void;
  /** Ends watches in the order they began, at most `perSecond`, each with a last bookmark. */
  endWatches(perSecond: number): Promise<void>;
  /** Metrics of this thread. */
  families(): FamilySnapshot[];
  /** The metrics of every thread, asked for by `gather`. */
  gathered(id: number, snapshots: readonly (readonly FamilySnapshot[])[]): void;
  close(): void;
}

/** Opens everything. `gather` asks main for the metrics of every thread. */
export async function openServer(data: FrontData, _gather: (id: number) => void): Promise<FrontServer> {
  const authenticate = createAuthenticator(data.tokens);
  let down = false;
  return Promise.resolve({
    handle: (exchange) => {
      if (authenticate(exchange.headers) === undefined) exchange.send(401, [], "Unauthorized\n");
      else if (exchange.path === "/readyz") exchange.send(down ? 500 : 200, [], down ? "shutting down" : "ok");
      else exchange.send(404, [], "Not built yet\n");
    },
    shutdown: () => {
      down = true;
    },
    endWatches: () => Promise.resolve(),
    families: () => [],
    gathered: () => {},
    close: () => {
      data.logPort.close();
      data.storePort.close();
    },
  });
}
