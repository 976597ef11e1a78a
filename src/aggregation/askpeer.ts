// What the server asks extension servers of its own accord: over connections that last as long as it takes.
import { CallFailure, type Connection, checkUrl, OutboundClient } from "../outbound/client.ts";
import { isNoTarget, type NoTarget } from "./target.ts";

/**
 * Opens connections to an extension server for as long as `ask` takes, or until `signal` is aborted, which ends the calls
 * under way. A failure: it has no address, or the signal was aborted before.
 */
export async function askPeer<T>(
  target: Connection | NoTarget,
  signal: AbortSignal | undefined,
  ask: (client: OutboundClient, target: Connection) => Promise<T>,
): Promise<T | CallFailure> {
  if (isNoTarget(target)) return new CallFailure("unreachable", target.message);
  // What may be the name of a service outside need not be a host.
  const fault = checkUrl(target.url);
  if (fault !== undefined)
    return new CallFailure("unreachable", `failing or missing response from ${target.url}: it ${fault}`);
  if (signal?.aborted === true) return new CallFailure("closed", "the server is shutting down");
  const client = new OutboundClient(target);
  const end = (): void => client.close();
  signal?.addEventListener("abort", end);
  try {
    return await ask(client, target);
  } finally {
    signal?.removeEventListener("abort", end);
    end();
  }
}
