// How a front thread asks for changes: one message port to the store thread, requests batched per turn of the loop.
import type { Change, Mismatch } from "./store.ts";

/** What became of a change: its revision, a mismatch, or the store's refusal. */
export type Outcome =
  | { readonly revision: number }
  | Mismatch
  | { readonly refused: "full" | "too-large" | "unavailable"; readonly message: string };

/** A front's way to write. */
export interface StoreClient {
  /**
   * Asks for one change. Resolves after the change is durable and published to the shared log.
   * The byte arrays are transferred: do not touch them afterwards.
   */
  commit(change: Change): Promise<Outcome>;
}
