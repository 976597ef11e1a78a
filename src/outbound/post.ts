// Posts of JSON to peers that may be unavailable for a moment: transient failures are retried, after a
// pause that grows by half each time (upstream: webhook.WithExponentialBackoff).
import type { Owner } from "../base/shares.ts";
import { limits } from "../config/limits.ts";
import { type Answer, CallFailure, type OutboundClient, type Traced } from "./client.ts";

/** How much longer each pause is (upstream: 1.5). */
const factor = 1.5;

const headers = { "Content-Type": "application/json", Accept: "application/json" };

/** How one post is tried. All times are milliseconds. */
export interface Terms {
  /** Between the first two tries. */
  readonly pauseMs: number;
  /** How long the next call may last. */
  callMs(): number;
  /** Time left for all of it; default: without end. No try begins that has none. */
  leftMs?(): number;
  /** Whether another try may help; default: mayPass(). */
  mayHelp?(outcome: Answer | CallFailure): boolean;
  /** The user it is charged to; default: the server itself. */
  readonly owner?: Owner | undefined;
  /** The trace each try is a span of; left out: none. */
  readonly traced?: Traced | undefined;
  /** Waits; default: by a timer that keeps no process alive. */
  readonly pause?: ((ms: number) => Promise<void>) | undefined;
}

/**
 * Posts a body, up to `limits.postTriesMax` times. Resolves with the result of the last try, or a failure
 * "late" where there was no time for another that might have helped; never rejects.
 */
export async function post(
  client: Pick<OutboundClient, "call">,
  body: string | Uint8Array,
  { pauseMs, callMs, leftMs, mayHelp = mayPass, owner, traced, pause = sleep }: Terms,
): Promise<Answer | CallFailure> {
  let waitMs = pauseMs;
  let why = "there is no time left";
  for (let tries = 1; leftMs === undefined || leftMs() > 0; tries++) {
    const timed = leftMs === undefined ? { timeoutMs: callMs() } : { timeoutMs: callMs(), leftMs };
    const outcome = await client.call({ method: "POST", headers, body, owner, traced, ...timed });
    if (tries >= limits.postTriesMax || !mayHelp(outcome)) return outcome;
    why = outcome instanceof CallFailure ? outcome.message : `it answered ${outcome.code}`;
    if (leftMs !== undefined && waitMs >= leftMs()) break;
    await pause(Math.round(waitMs));
    waitMs *= factor;
  }
  // The peer might have answered a try there was no time for.
  return new CallFailure("late", why);
}

/** Whether a failure may be transient: the peer is unavailable, overloaded or broken. */
export function mayPass(outcome: Answer | CallFailure): boolean {
  if (outcome instanceof CallFailure) return !final.has(outcome.failure);
  return outcome.code === 429 || outcome.code >= 500;
}

/** Another try fails in the same way, or makes it worse. */
const final: ReadonlySet<CallFailure["failure"]> = new Set(["closed", "busy", "late"]);

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
