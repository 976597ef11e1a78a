// The streamed answers of a listener in the order they were started, and how they are ended when a server goes down:
// at a bounded rate, so that thousands of watchers do not reconnect in the same second.
import type { AnswerStream } from "../request/transport.ts";

/** Streams under way, oldest first. */
export class OpenStreams extends Set<AnswerStream> {}

/** What a handler writes to when nobody reads any more. */
export const goneStream: AnswerStream = { write: () => true, onDrain: () => {}, end: () => {}, abort: () => {} };

/** How often a slice of the streams is ended, in milliseconds. */
const paceMs = 20;

/** Ends the streams oldest first, at most `perSecond`; resolves when none is left. */
export function endPaced(streams: Set<AnswerStream>, perSecond: number): Promise<void> {
  const perTick = Math.max(1, Math.ceil((perSecond * paceMs) / 1000));
  return new Promise((resolve) => {
    const tick = (): void => {
      let left = perTick;
      for (const stream of streams) {
        if (left-- === 0) break;
        stream.end();
      }
      if (streams.size === 0) resolve();
      else setTimeout(tick, paceMs);
    };
    tick();
  });
}
