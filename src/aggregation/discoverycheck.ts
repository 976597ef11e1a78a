// Whether an extension server answers: it is asked for the document of its group version, as upstream does, by one
// attempt, and by more at once where the first fails or takes long. Its code counts; the body is not read.
import { within } from "../base/within.ts";
import { limits } from "../config/limits.ts";
import { checkUrl, OutboundClient } from "../outbound/client.ts";
import { discoveryCall, discoveryFault, type Extensions } from "./extensions.ts";
import { isNoTarget, type RemoteVersion } from "./target.ts";

/** Undefined: it answers. Else why it does not, as the condition of its APIService says it: nothing the peer sent. */
export async function checkDiscovery(
  extensions: Pick<Extensions, "discoveryTarget">,
  remote: RemoteVersion,
  signal: AbortSignal,
): Promise<string | undefined> {
  const clients: OutboundClient[] = [];
  const end = (): void => {
    for (const client of clients) client.close();
  };
  // Each finds the address anew: with endpoints, it may be another one.
  const attempt = async (): Promise<string | undefined> => {
    const target = extensions.discoveryTarget(remote);
    if (isNoTarget(target)) return target.message;
    // What may be the name of a service outside need not be a host.
    const fault = checkUrl(target.url);
    if (fault !== undefined) return `failing or missing response from ${target.url}: it ${fault}`;
    if (signal.aborted) return "the server is shutting down";
    const client = new OutboundClient(target);
    clients.push(client);
    return discoveryFault(remote, target, await client.call({ ...discoveryCall(remote), codeOnly: true }));
  };
  signal.addEventListener("abort", end);
  try {
    const first = attempt();
    if ((await within(first, limits.discoveryHeadStartMs)) === undefined) return undefined;
    const others = Array.from({ length: limits.discoveryAttempts - 1 }, attempt);
    return await firstWell([first, ...others]);
  } finally {
    signal.removeEventListener("abort", end);
    end();
  }
}

/** Undefined as soon as one is; else the last fault, when all have failed. */
function firstWell(attempts: readonly Promise<string | undefined>[]): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    let left = attempts.length;
    for (const attempt of attempts) {
      attempt.then((fault) => {
        left -= 1;
        if (fault === undefined || left === 0) resolve(fault);
      }, reject);
    }
  });
}
