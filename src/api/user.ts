// Who makes a request, as authentication found out, and who the server is when it makes one itself.
import type { Identity } from "./identity.ts";

/** A user; all values are opaque to authentication and mean something to authorizers only. */
export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
}

/** Who writes on the server's own behalf; a part of it with a name of its own gives that, in canonical spelling. */
export function systemUser(identity: Identity, name = "system:apiserver"): User {
  return { name: identity.spell(name), uid: "", groups: ["system:masters"], extra: new Map() };
}
