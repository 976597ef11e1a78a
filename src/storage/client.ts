// How a front thread asks for changes, and for what a store knows that its logs do not: one message port to the store
// thread, requests batched per turn of the loop.
import type { Owner } from "../base/shares.ts";
import type { TraceSpans } from "../observe/spans.ts";
import type { Change, Outcome, PastPage, PastRequest } from "./store.ts";

/** A front's way to the store. */
export interface StoreClient {
  /**
   * Requests one change, charged to `owner`; absent: the server itself. Resolves after the change is durable and
   * published to the shared log. The bytes are copied before it returns. Rejects with StoreError "unavailable" when the
   * store died: whether the change was made is then not known until the next start.
   */
  commit(change: Change, owner?: Owner): Promise<Outcome>;
  /**
   * Resolves with a revision when the logs here hold everything up to it: it is at least every revision that any server
   * acknowledged before the call. Rejects with StoreError "unavailable" when that does not happen within `msMax`.
   * Undefined: no other server writes to the store, and the logs always hold all that is acknowledged.
   */
  readonly recent?: ((msMax: number, spans?: TraceSpans) => Promise<number>) | undefined;
  /** Store.listAt(). Undefined: the store has no past but what the logs hold. */
  readonly past?: ((request: PastRequest, spans?: TraceSpans) => Promise<PastPage>) | undefined;
}
