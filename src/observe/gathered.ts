// Pages that tell of every thread. The main thread makes them, text and compression, because it serves no requests: a front
// pays for taking its own snapshot, and for sending what comes back.
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";

const compress = promisify(gzip);

/** A CPU profile of a thread, as a flame graph. */
export interface ProfileWish {
  readonly thread: string;
  readonly seconds: number;
}

/** Pages that are made of what other threads tell. */
export type GatheredPage = "metrics" | "console" | ProfileWish;

/** One of them. */
export interface Gathered {
  /** Of HTTP: 200; 404 where there is no such thread, 429 while another profile is taken. */
  readonly code: number;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly isGzipped: boolean;
}

/** Puts a page into bytes of its own, which may be handed to another thread; gzipped by a thread of the runtime's pool. */
export async function gatheredOf(text: string, gzips: boolean, code = 200): Promise<Gathered> {
  if (!gzips) return { code, body: owned(Buffer.from(text)), isGzipped: false };
  return { code, body: owned(await compress(text, { level: constants.Z_BEST_SPEED })), isGzipped: true };
}

/** Small buffers of Node share memory, which cannot be handed over. */
function owned(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const copy = new Uint8Array(bytes.length);
  copy.set(bytes);
  return copy;
}
