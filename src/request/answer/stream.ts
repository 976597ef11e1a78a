// Answers that are written chunk by chunk, under backpressure and with a turn of the loop between chunks, so that
// other requests are served while a long one is written.
import type { Status } from "../../api/status.ts";
import type { Hold } from "../../cache/view/view.ts";
import { limits } from "../../config/limits.ts";
import { longReads } from "../exchange/longreads.ts";
import type { AnswerStream } from "../exchange/transport.ts";
import { gzipHeaders, gzipOpening, gzipStream, headersOf, type Reply } from "./response.ts";

/** The chunks of one answer, in order; each is valid until any answer's next one is asked for. */
export interface Chunks {
  /** True after the last chunk. */
  readonly done: boolean;
  /** Waited for before each next(), where it is there; a Status says why the answer cannot go on. */
  readonly prepare?: (() => Promise<Status | undefined>) | undefined;
  next(): Uint8Array;
  /** Bytes of all of them together, where that is known when the first one is there. */
  readonly length?: number | undefined;
}

const scratch = new Uint8Array(limits.listChunkBytes);

/**
 * Where the chunks of all large lists of this thread are put together: fronts take a copy of what the peer does not take
 * at once, so that an unread list keeps no more than that. What is not a stream must be copied from here.
 */
export function sharedScratch(): Uint8Array {
  return scratch;
}

/**
 * Streams `first` and what follows it. Cuts the connection when what is read goes away before it was written, when the
 * peer takes nothing for `stallMs`, and when it has not taken all by the end of a request's time: a reader that does not
 * read must not keep its place among the requests under way.
 */
export async function sendChunks(
  reply: Reply,
  chunks: Chunks,
  first: Uint8Array,
  hold: Hold,
  contentType: string,
  gzip: boolean,
  stallMs: number = limits.stallMsMax,
): Promise<void> {
  reply.answered(200, -1);
  const headers = headersOf(reply, contentType, gzip ? gzipHeaders : []);
  const raw = reply.exchange.stream(200, headers, gzip ? { opening: gzipOpening } : { length: chunks.length });
  await writeChunks(reply, gzip ? gzipStream(raw) : raw, chunks, first, () => hold.expired, stallMs);
}

/** Chunks of which some are made elsewhere. */
export interface SlowChunks {
  readonly done: boolean;
  readonly prepare?: undefined;
  next(): Uint8Array | Promise<Uint8Array>;
}

/** Writes `first` and what follows it, as sendChunks() says; `isGone`: what is read has gone away. */
export async function writeChunks(
  reply: Reply,
  stream: AnswerStream,
  chunks: Chunks | SlowChunks,
  first: Uint8Array,
  isGone: () => boolean = () => false,
  stallMs: number = limits.stallMsMax,
): Promise<void> {
  const end = performance.now() + limits.requestMsMax;
  let aborted = false;
  const writable = drains(stream);
  reply.exchange.onAbort(() => {
    aborted = true;
    writable.wake();
  });
  const write = (chunk: Uint8Array): boolean => {
    reply.sent?.(chunk.length);
    return writable.write(chunk);
  };
  const isOver = (): boolean => isGone() || performance.now() > end;
  // Made and written in one piece: what it is made in may be used for another answer afterwards.
  const piece = (): boolean | undefined | Promise<Uint8Array> => {
    if (aborted || isOver()) return undefined;
    const chunk = chunks.next();
    return chunk instanceof Promise ? chunk : write(chunk);
  };
  try {
    for (let ready = write(first); !(chunks.done && ready); ) {
      // The last chunk is waited for as well: until it is taken it is this request that holds it.
      const moved = ready || (await writable.wait(stallMs));
      if (aborted) break;
      // A reader this slow gets an incomplete answer it can see; with the hold, the slices are gone.
      if (!moved || isOver()) return stream.abort();
      if (chunks.done) break;
      // Too late for another answer: the client sees that this one is incomplete.
      const refused = chunks.prepare === undefined ? undefined : await chunks.prepare();
      if (refused !== undefined) return stream.abort();
      const made = await longReads.do<boolean | undefined | Uint8Array>(piece, reply.lane);
      if (aborted) break;
      if (made === undefined) return stream.abort();
      ready = typeof made === "boolean" ? made : write(made);
    }
  } catch (error) {
    // A fault of ours: the client must not wait for the rest.
    stream.abort();
    throw error;
  }
  // The client is gone: only what packs is left to be let go.
  if (aborted) stream.abort();
  else stream.end();
}

/** Writes, and waits for "writable again", which may come before it is waited for; false: it did not come in time. */
function drains(stream: AnswerStream): {
  write(chunk: Uint8Array): boolean;
  wait(ms: number): Promise<boolean>;
  wake(): void;
} {
  let isWritable = true;
  let wake: () => void = () => undefined;
  stream.onDrain(() => {
    isWritable = true;
    wake();
  });
  return {
    write: (chunk) => {
      isWritable = false;
      return stream.write(chunk);
    },
    wait: (ms) =>
      new Promise((resolve) => {
        if (isWritable) return resolve(true);
        const timer = setTimeout(resolve, ms, false);
        wake = () => {
          clearTimeout(timer);
          resolve(true);
        };
      }),
    wake: () => wake(),
  };
}
