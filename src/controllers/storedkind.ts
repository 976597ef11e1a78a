// The kinds that controllers work on: as they are stored, and the logs of their objects.
import type { Resource, Scheme } from "../api/scheme.ts";
import { assert } from "../base/assert.ts";
import type { LogView, Views } from "../cache/view/view.ts";

/** A kind and the log of its objects. */
export interface StoredKind {
  /** The version it is stored in. */
  readonly resource: Resource;
  readonly view: LogView;
}

/** What kinds are found in. */
interface Served {
  readonly scheme: Pick<Scheme, "identity" | "find">;
  readonly views: Pick<Views, "log">;
}

/** A kind by group (in upstream's spelling), version and plural; undefined: it is not served, or not stored. */
export function findStored(
  { scheme, views }: Served,
  group: string,
  version: string,
  plural: string,
): StoredKind | undefined {
  const resource = scheme.find(group === "" ? "" : scheme.identity.spell(group), version, plural)?.stored;
  return resource?.prefix === undefined ? undefined : { resource, view: views.log(resource.prefix) };
}

/** The same of a kind that cannot be switched off, or that the caller knows to be served. Throws AssertionFailure. */
export function storedKind(served: Served, group: string, version: string, plural: string): StoredKind {
  const found = findStored(served, group, version, plural);
  assert(found !== undefined, `${plural} are served and stored`);
  return found;
}
