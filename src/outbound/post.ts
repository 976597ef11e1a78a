// Posts of JSON to peers that may be away for a moment: what failed for a reason that may pass is tried again, after a
// pause that grows by half each time (reference: webhook.WithExponentialBackoff).
import { limits } from "../config/limits.ts";
import { type Answer, CallFailure, type OutboundClient } from "./client.ts";

/** How much longer each pause is (reference: 1.5). */
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
  /** Waits; default: by a timer that keeps no process alive. */
  readonly pause?: ((ms: number) => Promise<void>) | undefined;
}

/** Posts a body, up to `limits.postTriesMax` times. Resolves with what the last try came to; never rejects. */
export async function post(
  client: Pick<OutboundClient, "call">,
  body: string | Uint8Array,
  { pauseMs, callMs, leftMs = () => Number.POSITIVE_INFINITY, mayHelp = mayPass, pause = sleep }: Terms,
): Promise<Answer | CallFailure> {
  let outcome: Answer | CallFailure = new CallFailure("timeout", "there is no time left");
  let waitMs = pauseMs;
  for (let tries = 1; ; tries++) {
    const timeoutMs = Math.min(callMs(), leftMs());
    if (timeoutMs <= 0) return outcome;
    outcome = await client.call({ method: "POST", headers, body, timeoutMs });
    if (tries >= limits.postTriesMax || !mayHelp(outcome) || waitMs >= leftMs()) return outcome;
    await pause(Math.round(waitMs));
    waitMs *= factor;
  }
}

/** Whether what went wrong may be over at the next try: the peer is away, overloaded or broken. */
export function mayPass(outcome: Answer | CallFailure): boolean {
  if (outcome instanceof CallFailure) return outcome.failure !== "closed";
  return outcome.code === 429 || outcome.code >= 500;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
