// How a front thread asks for changes: one message port to the store thread, requests batched per turn of the loop.
import type { Owner } from "../base/shares.ts";
import type { Change, Outcome } from "./store.ts";

/** A front's way to write. */
export interface StoreClient {
  /**
   * Requests one change, charged to `owner`; absent: the server itself. Resolves after the change is durable and
   * published to the shared log. The bytes are copied before it returns. Rejects with StoreError "unavailable" when the
   * store died: whether the change was made is then not known until the next start.
   */
  commit(change: Change, owner?: Owner): Promise<Outcome>;
}
