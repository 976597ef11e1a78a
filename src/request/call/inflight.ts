// Seats: how many requests a front serves at once (upstream's max-requests-inflight), divided among users. Watches take
// none and administrators need none. Beyond its share a user is refused at once instead of making all requests slow.
import { type Owner, Shares } from "../../base/shares.ts";
import type { RequestKind } from "../../observe/requests.ts";

const nothing = (): void => undefined;

/** The seats of one front, by kind of request. */
export class Inflight {
  /** Requests that only read. */
  readonly readOnly: Shares;
  readonly mutating: Shares;

  /** Most requests of each kind at once; 0 is no limit. */
  constructor(readOnlyMax: number, mutatingMax: number) {
    this.readOnly = new Shares("reading requests", readOnlyMax || Number.POSITIVE_INFINITY);
    this.mutating = new Shares("changing requests", mutatingMax || Number.POSITIVE_INFINITY);
  }

  /** Takes a seat for a request. Returns how to give it back; undefined: its owner gets no further one now. */
  enter(kind: RequestKind, owner: Owner): (() => void) | undefined {
    if (kind === "long" || owner.level === "masters") return nothing;
    return this[kind].take(owner);
  }
}
