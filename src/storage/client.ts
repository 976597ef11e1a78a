// How a front thread asks for changes: one message port to the store thread, requests batched per turn of the loop.
import type { Owner } from "../base/shares.ts";
import type { Change, Mismatch, Refusal } from "./store.ts";

/** What became of a change: its revision, a mismatch, or the store's refusal. */
export type Outcome = { readonly revision: number } | Mismatch | Refusal;

/** A front's way to write. */
export interface StoreClient {
  /**
   * Asks for one change, whose place in the queue `owner` is charged; left out: the server itself. Resolves after the change is durable and published to the shared log. The bytes are copied
   * before it returns. Rejects with StoreError "unavailable" when the store died: whether the change was made is then
   * not known until the next start.
   */
  commit(change: Change, owner?: Owner): Promise<Outcome>;
}
