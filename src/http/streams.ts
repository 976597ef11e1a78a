// Shared parts of the fronts' streamed responses.
import { assert } from "../base/assert.ts";
import type { AnswerStream } from "../request/exchange/transport.ts";

/** The stream of a handler whose client has closed. */
export const goneStream: AnswerStream = { write: () => true, onDrain: () => {}, end: () => {}, abort: () => {} };

/** A stream of so many bytes: it is cut where it ends before, and writing more throws. */
export function ofLength(stream: AnswerStream, length: number): AnswerStream {
  let left = length;
  return {
    write: (chunk) => {
      left -= chunk.length;
      assert(left >= 0, `A body of ${length} bytes has ${-left} more`);
      return stream.write(chunk);
    },
    onDrain: (drained) => stream.onDrain(drained),
    end: () => (left > 0 ? stream.abort() : stream.end()),
    abort: () => stream.abort(),
  };
}
