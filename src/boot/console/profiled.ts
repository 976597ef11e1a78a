// What a thread of any kind does when main asks for its CPU profile.
import { flameOf, takeProfile } from "../../observe/profile.ts";
import type { FromThread, ToThread } from "../messages.ts";

/** Takes the profile of this thread; without a tree where the runtime takes none. */
export async function profiled({
  id,
  seconds,
}: Extract<ToThread, { readonly kind: "profile" }>): Promise<Extract<FromThread, { readonly kind: "profiled" }>> {
  const tree = await takeProfile(seconds).then(flameOf, () => undefined);
  return { kind: "profiled", id, tree };
}
