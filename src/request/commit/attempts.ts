// The tries of a write. Each runs on what the logs here hold, and its commit holds only while that is still so. Where
// other servers write the same data the logs may be behind what those have acknowledged. What the store decided holds all
// the same; what was decided by reading is answered only if there was nothing newer to read:
//
//   try ──► committed ───────────────────────────────────────────────► answer
//     ├───► the object is at another revision ─► wait until it is here ─► try again
//     ├───► refused ─► ask the store what its newest revision is ─► it was here ─► answer
//     │                                                         └─► wait until it is ─► one more try ─► answer
//     └───► in doubt ─► 504, and no further try: the change may have been made, or be made later
import { isStatus, refuse, Status, timedOut } from "../../api/status.ts";
import { nextTurn } from "../../base/turn.ts";
import { untilRecent } from "../read/freshness.ts";
import type { StoreAccess } from "./writerequest.ts";

/** What tries need of a front. */
type Trying = Pick<StoreAccess, "store" | "views" | "clock">;

/** Another client changed the object first: the write starts over. */
export const changed = "changed";

/**
 * The store did not say whether it made a change. Thrown past all that settles a try: what was charged or claimed for the
 * change may be in use, and its reconciler finds out.
 */
export class InDoubt extends Error {
  override name = "InDoubt";
}

/** 504 for it. There is no word of when to come again, which clients take as leave to send the change once more. */
function doubtful({ message }: InDoubt): Status {
  const text = "Timeout: the store did not say in time whether the change was made: it may have been, or still be made";
  return new Status(504, "Timeout", text, {}, message);
}

/** 503 for a change that was certainly not made, because something else could not be written before it. */
export const storeUnavailable = refuse("ServiceUnavailable", "the store is not available", { retryAfterSeconds: 1 });

/**
 * Runs `attempt` until it ends otherwise than by another client's change, and once more when it was refused for what was
 * read and something newer was to be had; 504 past the deadline, and where a change is in doubt.
 */
export function untilUnchanged<T>(
  writers: Trying,
  deadline: number,
  attempt: () => Promise<T | typeof changed>,
): Promise<T | Status> {
  return onNewest(writers, deadline, () => tries(writers, deadline, attempt));
}

/** The same without a look at what is newest: for what is more than these tries, and looks by itself. */
export async function tries<T>(
  { clock }: Pick<Trying, "clock">,
  deadline: number,
  attempt: () => Promise<T | typeof changed>,
): Promise<T | Status> {
  for (;;) {
    try {
      const result = await attempt();
      if (result !== changed) return result;
    } catch (error) {
      if (error instanceof InDoubt) return doubtful(error);
      throw error;
    }
    // The change that won is published by now or will be in a turn of the loop or two.
    await nextTurn();
    if (clock.monotonic() >= deadline) return timedOut;
  }
}

/**
 * What `run` answers; when it is refused and the store has something newer than it can have read, what it answers after
 * that is here. A Status when the store does not say. `run` changes nothing where it is refused.
 */
export function onNewest<T>(writers: Trying, deadline: number, run: () => Promise<T | Status>): Promise<T | Status> {
  return writers.store.recent === undefined ? run() : runOnNewest(writers, deadline, run);
}

async function runOnNewest<T>(writers: Trying, deadline: number, run: () => Promise<T | Status>): Promise<T | Status> {
  const read = writers.views.revision;
  const result = await run();
  if (!isStatus(result) || !isOfState(result)) return result;
  const newest = await newestOf(writers, deadline);
  if (isStatus(newest)) return newest;
  return newest <= read ? result : run();
}

const decided = new WeakSet<Status>();

/** Marks a refusal as the store's own decision: there is nothing newer to decide it by. */
export function decidedByStore(status: Status): Status {
  decided.add(status);
  return status;
}

/** Whether what is stored may be the reason of a refusal: not where there is no room or no time, or the store refused. */
function isOfState(status: Status): boolean {
  const { code, success } = status;
  return !success && !decided.has(status) && code !== 413 && code !== 429 && code !== 503 && code !== 504;
}

/**
 * Waits until the logs here hold all that any server acknowledged before the call; at once where there is no other server.
 * 504 when the store does not say in time.
 */
export async function catchUp(writers: Trying, deadline: number): Promise<Status | undefined> {
  if (writers.store.recent === undefined) return undefined;
  const newest = await newestOf(writers, deadline);
  return isStatus(newest) ? newest : undefined;
}

/** The store's newest revision, which the logs here hold; 504 when it does not say in time. */
async function newestOf({ store, views, clock }: Trying, deadline: number): Promise<number | Status> {
  return store.recent === undefined ? views.revision : untilRecent(store.recent, deadline - clock.monotonic());
}
