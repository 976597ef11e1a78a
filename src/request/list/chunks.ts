// What the formats of a list have in common.
import type { Chunks } from "../answer/stream.ts";

/** The chunks of a list. */
export interface ListChunks extends Chunks {
  /** The first chunk takes longer than others should wait: it is made as a piece of long work (exchange/longreads.ts). */
  readonly isLong: boolean;
  /** Adds up the bytes of the list; true: there is more to do, in another turn. Called before next(), until it is done. */
  measure?(): boolean;
}

/** Items that are made, and not copied, at once: about half a millisecond. */
export const dearItemsAtOnce = 16;
