// Reads that take many turns of the loop, all lists of this thread: they share the time of a turn, so that other requests
// wait for a few milliseconds of them and not for as many as there are lists. Users take turns in it.
import { type Status, timedOut } from "../../api/status.ts";
import { Pieces } from "../../base/turn.ts";
import { limits } from "../../config/limits.ts";

/** Where walks, measures and chunks of lists are done, piece by piece. */
export const longReads = new Pieces(limits.longReadsMsMax);

/**
 * Goes on with an owner's long read until `step` says that it is done; 504 when `isGone` says that nobody or nothing is
 * there to go on for.
 */
export async function readOn(step: () => boolean, isGone: () => boolean, owner = ""): Promise<Status | undefined> {
  for (;;) {
    const done = await longReads.do(() => (isGone() ? timedOut : step()), owner);
    if (done === true) return undefined;
    if (done !== false) return done;
  }
}
