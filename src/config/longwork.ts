// The time of a turn that the long work of this thread has, whoever's it is: a request that works in slices of its own
// would hold up the others for as many slices as there are such requests.
import { Turn } from "../base/turn.ts";
import { limits } from "./limits.ts";

/** Shared by whatever a thread does for requests that takes long; lists have theirs (request/exchange/longreads.ts). */
export const longWork = new Turn(limits.sliceMsMax);
