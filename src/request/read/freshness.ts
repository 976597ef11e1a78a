// "Not older than": waits until the view has reached a resource version, at most upstream's three seconds.
import { refuse, Status } from "../../api/status.ts";
import type { LogView } from "../../cache/view/view.ts";
import { limits } from "../../config/limits.ts";

const stepMs = 20;

/** Drains the view until it holds everything up to `revision`; the 504 of upstream when that does not happen in time. */
export async function waitForRevision(
  view: LogView,
  revision: number,
  aborted: () => boolean,
): Promise<number | Status> {
  let reached = view.drain();
  for (let waitedMs = 0; reached < revision && waitedMs < limits.freshnessWaitMsMax; waitedMs += stepMs) {
    await new Promise((resolve) => setTimeout(resolve, stepMs));
    if (aborted()) break;
    reached = view.drain();
  }
  return reached >= revision ? reached : tooLarge(revision, reached);
}

/** As upstream answers paged lists, which it does not wait for: no word of when to come again. */
export function withoutRetry({ code, reason, message, details }: Status): Status {
  const { retryAfterSeconds: _, ...rest } = details ?? {};
  return new Status(code, reason, message, rest);
}

/** 504 for a resource version beyond the newest. */
export function tooLarge(revision: number, current: number): Status {
  return refuse("Timeout", `Timeout: Too large resource version: ${revision}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  });
}
