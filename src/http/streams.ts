// What the fronts' streamed answers have in common.
import type { AnswerStream } from "../request/exchange/transport.ts";

/** What a handler writes to when nobody reads any more. */
export const goneStream: AnswerStream = { write: () => true, onDrain: () => {}, end: () => {}, abort: () => {} };
