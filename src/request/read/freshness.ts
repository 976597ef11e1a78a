// "Not older than": waits until the view has reached a resource version, at most upstream's three seconds. "Most recent",
// where other servers write the same data: waits until the logs have reached the revision that the store says is newest.
import { refuse, Status } from "../../api/status.ts";
import type { LogView } from "../../cache/view/view.ts";
import { limits } from "../../config/limits.ts";
import type { TraceSpans } from "../../observe/spans.ts";
import type { StoreClient } from "../../storage/client.ts";
import { StoreError } from "../../storage/store.ts";

const stepMs = 20;

/** Asks the store, and answers its newest revision when the logs hold it; 504 when that does not happen in time. */
export type AskNewest = () => Promise<number | Status>;

/** As AskNewest, in `msLeft` at most. */
export async function untilRecent(
  recent: NonNullable<StoreClient["recent"]>,
  msLeft: number,
  spans?: TraceSpans,
): Promise<number | Status> {
  try {
    return await recent(Math.min(Math.max(0, msLeft), limits.recentMsMax), spans);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return unavailable(error);
  }
}

/** As untilRecent() within its bound; undefined: no other server writes the data, and the logs hold what is newest. */
export function newestOf({ recent }: StoreClient): AskNewest | undefined {
  return recent && (() => untilRecent(recent, limits.recentMsMax));
}

/** 504 for a read that a store cannot answer now. */
export function unavailable({ message }: StoreError): Status {
  const text = "Timeout: the store does not answer, please try again later";
  return new Status(504, "Timeout", text, { retryAfterSeconds: 1 }, message);
}

/**
 * Drains the view until it holds everything up to `revision`; the 504 of upstream when that does not happen in time.
 * `newest`: what other servers wrote may have to be waited for.
 */
export async function waitForRevision(
  view: LogView,
  revision: number,
  aborted: () => boolean,
  newest?: AskNewest,
): Promise<number | Status> {
  let reached = view.drain();
  if (reached < revision && newest !== undefined) {
    const late = await newest();
    if (late instanceof Status) return late;
    reached = view.drain();
  }
  for (let waitedMs = 0; reached < revision && waitedMs < limits.freshnessWaitMsMax; waitedMs += stepMs) {
    await new Promise((resolve) => setTimeout(resolve, stepMs));
    if (aborted()) break;
    reached = view.drain();
  }
  return reached >= revision ? reached : tooLarge(revision, reached);
}

/** Whether a version did not come, rather than a store's answer. */
export function isTooLarge({ details }: Status): boolean {
  return details?.causes !== undefined;
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
