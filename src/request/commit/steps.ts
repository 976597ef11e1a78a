// Between two steps of a write of what is big: each step takes some of the time a thread may be held up.
import type { User } from "../../api/user.ts";
import { laneOf } from "../../authz/owner.ts";
import { longWork } from "../../config/longwork.ts";
import type { StoreAccess } from "./writerequest.ts";

/** Resolves in a later turn, when it is the turn of the write's user. */
export function othersFirst(
  { scheme }: Pick<StoreAccess, "scheme">,
  { user }: { readonly user?: User | undefined },
): Promise<void> {
  return longWork.later(laneOf(scheme.identity, user));
}
