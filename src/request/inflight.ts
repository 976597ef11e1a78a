// How many requests a front serves at once: the reference's plain limit, which watches are not part of and
// administrators pass. Beyond it a request is refused at once instead of making all of them slow.
import type { User } from "../api/user.ts";
import type { RequestKind } from "../observe/requests.ts";

/** Group that is never refused. */
const mastersGroup = "system:masters";

/** Counts the requests under way by kind. */
export class Inflight {
  readonly #max: Readonly<Record<"readOnly" | "mutating", number>>;
  readonly #under = { readOnly: 0, mutating: 0 };

  /** Most requests of each kind at once; 0 is no limit. */
  constructor(readOnlyMax: number, mutatingMax: number) {
    this.#max = {
      readOnly: readOnlyMax || Number.POSITIVE_INFINITY,
      mutating: mutatingMax || Number.POSITIVE_INFINITY,
    };
  }

  /** Takes a place for a request. Returns how to give it back; undefined: there is none. */
  enter(kind: RequestKind, user: User): (() => void) | undefined {
    if (kind === "long") return () => undefined;
    if (this.#under[kind] >= this.#max[kind] && !user.groups.includes(mastersGroup)) return undefined;
    this.#under[kind]++;
    return () => {
      this.#under[kind]--;
    };
  }
}
