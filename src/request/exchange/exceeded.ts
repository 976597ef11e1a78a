// The refusal of a user that holds its share of something.
import { refuse, type Status } from "../../api/status.ts";
import type { Owner, Shares } from "../../base/shares.ts";

/** 429 for an owner that cannot hold more of something; the message names the bound. */
export function exceeded(shares: Shares, { name }: Owner): Status {
  const { what, max, used } = shares;
  const who = `user ${JSON.stringify(name)} holds ${shares.heldBy(name)}, all users hold ${used} of at most ${max}`;
  return refuse("TooManyRequests", `too many ${what}: ${who}, please try again later`, { retryAfterSeconds: 1 });
}
