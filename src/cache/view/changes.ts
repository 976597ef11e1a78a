// Following a log on demand: the changes since the last call. For readers that keep derived state in step
// with a log and look when they need it; watches follow through cache/follow.ts.

import { type Location, recordTypes } from "../shared/record.ts";
import type { LogView } from "./view.ts";

/**
 * Calls `take` for every change from a position on up to `end` (left out: the head), oldest first; moves are no changes,
 * and handed on where `moves` says so, for readers that remember locations.
 * False: some were recycled (earlier ones were passed on), and the reader has to start from the present state.
 * Wants a drain() before.
 */
export function eachChange(
  view: LogView,
  from: number,
  take: (at: Location, type: number) => void,
  end?: number,
  moves = false,
): boolean {
  for (let position = from; position < (end ?? view.head); position++) {
    const at = view.at(position);
    if (at === 0) return false;
    const type = view.typeOf(at);
    if (moves || type !== recordTypes.move) take(at, type);
  }
  return true;
}
