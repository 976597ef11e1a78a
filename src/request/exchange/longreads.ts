// Reads that take many turns of the loop, all lists of this thread: they share the time of a turn, so that other requests
// wait for a few milliseconds of them and not for as many as there are lists.
import { Pieces } from "../../base/turn.ts";
import { limits } from "../../config/limits.ts";

/** Where walks, measures and chunks of lists are done, piece by piece. */
export const longReads = new Pieces(limits.longReadsMsMax);
