// A version that is read from a store and not served. Upstream still has the types of versions it served in the past, because
// objects that were not written since are stored in them. Rules: upstream's defaults and conversions of that version.
import type { Identity } from "../../api/identity.ts";

/** One version of some kinds of a group. Groups and versions are in canonical spelling. */
export interface OlderVersion {
  readonly group: string;
  readonly version: string;
  readonly kinds: readonly string[];
  /** Message its objects are read as; left out: the successor's, whose fields and numbers are the same. */
  readonly message?: string;
  /** The version it becomes, of the same kind. */
  readonly successor: readonly [group: string, version: string];
  /**
   * Makes an object of the successor, with this version's own defaults where they are others. May change the object and
   * use it. Left out: it is one.
   */
  readonly succeed?: (object: never, identity: Identity) => object;
  /** Upstream still stores the kind in this version: an object in it is no reason to store it anew. */
  readonly kept?: true;
  /** This version has no defaults where the successor has some. */
  readonly undefaulted?: true;
}
