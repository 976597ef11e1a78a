// Whether an extension server answers: it is asked for the document of its group version, as upstream does, by one
// attempt, and by more at once where the first fails or takes long. Its code counts; the body is not read.
import { within } from "../base/within.ts";
import { limits } from "../config/limits.ts";
import { CallFailure } from "../outbound/client.ts";
import { askPeer } from "./askpeer.ts";
import { discoveryCall, discoveryFault, type Extensions } from "./extensions.ts";
import type { RemoteVersion } from "./target.ts";

/** Undefined: it answers. Else why it does not, as the condition of its APIService says it: nothing the peer sent. */
export async function checkDiscovery(
  extensions: Pick<Extensions, "discoveryTarget">,
  remote: RemoteVersion,
  signal: AbortSignal,
): Promise<string | undefined> {
  const over = new AbortController();
  const end = (): void => over.abort();
  signal.addEventListener("abort", end);
  if (signal.aborted) end();
  // Each finds the address anew: with endpoints, it may be another one.
  const attempt = async (): Promise<string | undefined> => {
    const fault = await askPeer(extensions.discoveryTarget(remote), over.signal, async (client, target) =>
      discoveryFault(remote, target, await client.call({ ...discoveryCall(remote), codeOnly: true })),
    );
    return fault instanceof CallFailure ? fault.message : fault;
  };
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
