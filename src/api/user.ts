// The user of a request, as authenticated, and the server's own users for its own requests.
import type { Identity } from "./identity.ts";

/** A user; all values are opaque to authentication and mean something to authorizers only. */
export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
}

/** The user of the server's own writes; a component with a name of its own passes it, in canonical spelling. */
export function systemUser(identity: Identity, name = "system:apiserver"): User {
  return { name: identity.spell(name), uid: "", groups: ["system:masters"], extra: new Map() };
}
