// Answers that are written chunk by chunk, under backpressure and with a turn of the loop between chunks, so that
// other requests are served while a long one is written.
import type { Hold } from "../cache/view.ts";
import { gzipHeaders, gzipOpening, gzipStream, headersOf, type Reply } from "./respond.ts";
import type { AnswerStream } from "./transport.ts";

/** The chunks of one answer, in order; each is valid until the next one is asked for. */
export interface Chunks {
  /** True after the last chunk. */
  readonly done: boolean;
  next(): Uint8Array;
}

/** Streams `first` and what follows it. Cuts the connection when what is read goes away before it was written. */
export async function sendChunks(
  reply: Reply,
  chunks: Chunks,
  first: Uint8Array,
  hold: Hold,
  contentType: string,
  gzip: boolean,
): Promise<void> {
  reply.answered(200, -1);
  const headers = headersOf(reply, contentType, gzip ? gzipHeaders : []);
  const raw = reply.exchange.stream(200, headers, gzip ? gzipOpening : undefined);
  const stream = gzip ? gzipStream(raw) : raw;
  let aborted = false;
  const writable = drains(stream);
  reply.exchange.onAbort(() => {
    aborted = true;
    writable.wake();
  });
  for (let chunk = first; !aborted; chunk = chunks.next()) {
    const ready = stream.write(chunk);
    if (chunks.done) break;
    await (ready ? new Promise<void>((resolve) => setImmediate(resolve)) : writable.wait());
    // The slices are gone: a reader this slow gets an incomplete answer it can see.
    if (hold.expired) return stream.abort();
  }
  if (!aborted) stream.end();
}

/** Waits for "writable again". */
function drains(stream: AnswerStream): { wait(): Promise<void>; wake(): void } {
  let wake: () => void = () => undefined;
  stream.onDrain(() => wake());
  return {
    wait: () =>
      new Promise((resolve) => {
        wake = resolve;
      }),
    wake: () => wake(),
  };
}
