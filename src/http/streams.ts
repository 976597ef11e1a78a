// Shared parts of the fronts' streamed responses.
import type { AnswerStream } from "../request/exchange/transport.ts";

/** The stream of a handler whose client has closed. */
export const goneStream: AnswerStream = { write: () => true, onDrain: () => {}, end: () => {}, abort: () => {} };
